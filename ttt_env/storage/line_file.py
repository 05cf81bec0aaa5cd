"""Append-only files of JSON lines: what was written stays whole whenever a process is killed."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

from ttt_env.errors import ResultFileError
from ttt_env.storage.files import file_errors, open_regular, reason, write_atomically
from ttt_env.storage.locks import lock
from ttt_env.storage.parsing import parse_json, text_of

Value = TypeVar("Value")
Take: TypeAlias = Callable[[dict[str, Any]], Value]


class LineFile:
    """A file of JSON objects, one a line, to which one process at a time adds.

    The entry `format` comes first on the first line and begins with this `form`. If a process was killed
    while it wrote the last line, that line, which has no end, is not read, and is overwritten by the next
    one.

    All methods raise `ResultFileError`, which names the file and the line: for a file of something else,
    which `complaint` says in words, and for one that cannot be read, written or locked.
    """

    def __init__(self, path: Path, form: str, complaint: str) -> None:
        self.path = path.absolute()  # stays valid if the working directory changes
        self._beginning, self._complaint = f'{{"format": "{form}'.encode(), complaint
        self._end = self._size = 0
        self._handle: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_handle": None}  # a copy in another process has no lock

    def __del__(self) -> None:
        self.release()

    def __enter__(self) -> Self:
        self.reserve()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def read(self, take: Take[Value], header: Take[object] | None = None) -> list[Value]:
        """The values that `take` returns for the whole lines; none if there is no file.

        If `header` is given, the first line is passed to it instead. A `ResultFileError` that one of them
        raises gets the name of the file and the line.
        """
        values: list[Value] = []
        for number, data in enumerate(self._lines(), 1):
            try:
                if header is not None and number == 1:
                    header(data)
                else:
                    values.append(take(data))
            except ResultFileError as error:
                raise self._error(number, error) from error
        return values

    def _lines(self) -> list[dict[str, Any]]:
        content = self._content()
        *lines, unfinished = content.split(b"\n")
        objects = []
        for number, line in enumerate(lines, 1):
            try:
                objects.append(_object(line))
            except ResultFileError as error:
                raise self._error(number, error) from error
        self._end, self._size = len(content) - len(unfinished), len(content)
        return objects

    def _content(self) -> bytes:
        with file_errors(self.path, "read", ResultFileError):
            try:
                with open_regular(self.path) as file:
                    content = file.read()
            except FileNotFoundError:
                return b""
        if not content.startswith(self._beginning[: len(content)]):
            raise ResultFileError(f"{self.path} {self._complaint}")
        return content

    def _error(self, number: int, what: object) -> ResultFileError:
        return ResultFileError(f"{self.path}, line {number}: {what}")

    def reserve(self) -> bool:
        """Keep other processes from writing to the file until `release`, and make it if it is missing.

        Return whether its content differs from what was read, so that it has to be read again.
        """
        if self._handle is None:
            with file_errors(self.path, "written", ResultFileError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                lock(handle)
            except OSError as error:
                os.close(handle)
                is_taken = isinstance(error, BlockingIOError)
                why = "another run is writing to it" if is_taken else f"it cannot be locked: {reason(error)}"
                raise ResultFileError(f"{self.path}: {why}") from error
            self._handle = handle
        return os.fstat(self._handle).st_size != self._size

    def release(self) -> None:
        """Let others write to the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def clear(self) -> None:
        """Remove all content of the file, also where it cannot be read."""
        self.reserve()
        self._content()
        self._end = 0
        self._truncate()

    def add(self, data: Mapping[str, Any], is_synced: bool = False) -> None:
        """Add a line, whole or not at all; missing folders are made.

        The line survives the end of the process; with `is_synced` also a crash of the machine.
        """
        if self.reserve():
            self._lines()
        line = json.dumps(data, allow_nan=False).encode() + b"\n"
        assert self._handle is not None
        try:
            if self._size != self._end:
                self._truncate()
            rest = line
            while rest:  # a nearly full disk takes a part, and the next write fails
                rest = rest[os.write(self._handle, rest) :]
            if is_synced:
                os.fsync(self._handle)
        except BaseException as error:
            with suppress(OSError):
                self._truncate()
            if isinstance(error, OSError):
                raise ResultFileError(f"{self.path} cannot be written: {reason(error)}") from error
            raise
        self._end += len(line)
        self._size = self._end

    def _truncate(self) -> None:
        """Remove what follows the last whole line."""
        assert self._handle is not None
        os.ftruncate(self._handle, self._end)
        self._size = self._end


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of lines, such as published figures; none if there is no file.

    Raises `ResultFileError`, which names the line, for one that is not an object.
    """
    lines, content = [], b""
    if path.exists():
        with open_regular(path) as file:
            content = file.read()
    for number, text in enumerate(text_of(content).splitlines(), 1):
        try:
            lines.append(_object(text))
        except ResultFileError as error:
            raise ResultFileError(f"{path}, line {number}: {error}") from error
    return lines


def change_lines(path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Write what `change` returns for the lines of a file, whole or not at all.

    Several processes may do so at once; the folder is made if it is missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if os.name == "posix":  # elsewhere a folder cannot be opened
            handle = os.open(path.parent, os.O_RDONLY)
            stack.callback(os.close, handle)
            lock(handle, wait=True)
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in change(read_lines(path)))
        write_atomically(path, text.encode())


def _object(text: str | bytes) -> dict[str, Any]:
    line = parse_json(text)
    if not isinstance(line, dict):
        raise ResultFileError("it is not an object")
    return line
