"""Safe access to files: only regular files are opened for reading, and only complete ones replace others."""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Literal

from ttt_env.errors import FileError, ParameterError, brief


def as_file_name(text: str) -> str:
    """The text as a part of a file's name, without `:`, `,` and `=`, which have a meaning in spec strings.

    >>> as_file_name("mnk-v0:m=4,n=3,k=3")
    'mnk-v0-m-4-n-3-k-3'
    """
    return re.sub(r"[^\w.]+", "-", text)


def open_regular(path: str | Path) -> BinaryIO:
    """Open the regular file at this path for reading.

    Raises `OSError` if there is none or it cannot be opened; also for a folder, and for a pipe or a device,
    which might never end. Raises `ParameterError` for anything but a path, such as the number of an open
    file.
    """
    check_regular(path)
    return Path(path).open("rb")


def check_regular(path: str | Path) -> None:
    """Raise the errors of `open_regular` unless this is a regular file, without opening it.

    A file that SQLite has open must not be opened and closed beside it: that drops the locks of the process.
    """
    _check_path(path)
    try:
        mode = os.stat(path).st_mode
    except ValueError as error:  # a null byte, or letters that file names cannot have
        raise OSError(str(error)) from error
    if not stat.S_ISREG(mode):
        raise OSError("it is a folder" if stat.S_ISDIR(mode) else "it is a pipe or a device, not a file")


def write_atomically(path: str | Path, content: bytes | Callable[[BufferedWriter], object]) -> None:
    """Write a file, or let `content` fill it, which replaces the one at this path when it is complete.

    Missing folders are made. A file that is replaced passes on its permissions; a read-only one is not
    replaced. Whenever the process is killed, the path has its old content or all of the new one. A symbolic
    link stays, and the file that it leads to is replaced. A pipe or a device cannot be replaced, and is
    written to.

    Raises `OSError`, which names `path`, if it cannot be written, `ParameterError` for anything but a path.
    """
    _check_path(path)

    def write(file: BufferedWriter) -> None:
        if callable(content):
            content(file)
        else:
            file.write(content)

    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a null byte, or letters that file names cannot have
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            with target.open("wb") as file:  # a folder refuses it
                write(file)
        else:
            _replace(target, write)
    except OSError as error:
        # A new error, because the one of a failed renaming names two files.
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error


def _check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"path={brief(path)}: expected the path of a file")


def _replace(target: Path, write: Callable[[BufferedWriter], object]) -> None:
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not mode & stat.S_IWUSR:  # replacing it would be writing to it
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    part = target.with_name(
        f".{target.name[:40]}.{token_hex(4)}.part"
    )  # other processes may write the same file
    try:
        with part.open("xb") as file:
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def file_errors(path: str | Path, done: Literal["read", "written"]) -> Iterator[None]:
    """Turn errors of this block about a file into a `FileError`, which says what cannot be done."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be {done}: {reason(error)}") from error


def reason(error: Exception) -> str:
    """The reason in an error about a file, without the path and the system's error number."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, UnicodeDecodeError):
        return "it is not text in UTF-8"
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
