"""A bot process that is queried by lines of JSON: a line with the `id` of a question answers it."""

import os
import signal
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from ttt_env.bots.protocol import json_object

_LONGEST_LINE = 1 << 16  # bytes; a longer one is not an answer
_STDERR_BYTES = 900  # the last ones are kept
_N_OUTPUT_LINES = 10  # the last lines of its own output are kept
_GRACE = 1.0  # seconds for a process that has closed its output to end
_ENDED = None


class AccidentError(Exception):
    """A process has not answered and has to be ended.

    `outcome` is "timed out" or "crashed", None if it cannot be started; `reason` its last output.
    `is_clean_exit` is True for a process that has ended with status 0 after it had answered another question.
    """

    def __init__(self, outcome: str | None, reason: str, is_clean_exit: bool = False) -> None:
        super().__init__(outcome, reason)
        self.outcome, self.reason, self.is_clean_exit = outcome, reason, is_clean_exit


class Process:
    """A program that runs in the working directory `folder`, in a session of its own, without a shell.

    Ctrl-C does not reach it, and `end` kills its whole process group. On Linux it has at most `memory` MiB of
    address space. Raises `AccidentError` if it cannot be started.
    """

    def __init__(
        self, arguments: Sequence[str], folder: str | Path | None = None, memory: int | None = None
    ) -> None:
        try:
            with ThreadPoolExecutor(1) as thread:  # Ctrl-C cannot come between the start and `end`
                thread.submit(self._start, arguments, folder).result()
        except OSError as error:
            raise AccidentError(None, f"{arguments[0]} cannot be run: {error.strerror or error}") from error
        if memory and sys.platform == "linux":
            import resource

            with suppress(OSError):  # it has ended
                resource.prlimit(self._popen.pid, resource.RLIMIT_AS, (memory << 20, memory << 20))
        self._number: int | None = None
        self._n_answers = 0
        self._answers: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._output: deque[str] = deque(maxlen=_N_OUTPUT_LINES)
        self._stderr = b""
        self._readers = [
            Thread(target=read, name="reading", daemon=True)
            for read in (self._read_stdout, self._read_stderr)
        ]
        for reader in self._readers:
            reader.start()

    def _start(self, arguments: Sequence[str], folder: str | Path | None) -> None:
        pipe = subprocess.PIPE
        self._popen = subprocess.Popen(
            arguments, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, cwd=folder, start_new_session=True
        )
        self.end = weakref.finalize(self, _end, self._popen)
        """Kills the process and its whole group; also called when Python exits."""

    @property
    def has_ended(self) -> bool:
        """True if the process has ended."""
        return self._popen.poll() is not None

    def ask(self, line: str, number: int, seconds: float) -> dict[str, Any]:
        """Send the question with this number and return the answer. Raises `AccidentError` if none comes."""
        self._number = number
        self._output.clear()
        assert self._popen.stdin is not None
        with suppress(OSError):  # it has ended, as its output has
            self._popen.stdin.write(f"{line}\n".encode())
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            raise AccidentError("timed out", self._diagnostics(number)) from None
        finally:
            self._number = None
        if answer is _ENDED:
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(_GRACE)
            is_clean_exit = self._n_answers > 0 and self._popen.returncode == 0
            raise AccidentError("crashed", self._diagnostics(number), is_clean_exit)
        self._n_answers += 1
        return answer

    def _read_stdout(self) -> None:
        """Read its standard output: answers, and lines of its own."""
        assert self._popen.stdout is not None
        for line in _lines(self._popen.stdout):
            data = json_object(line)
            if data is not None and type(data.get("id")) is int and data["id"] == self._number:
                self._number = None
                self._answers.put(data)
            elif line.strip():
                self._output.append(line.strip())
        self._answers.put(_ENDED)
        self._popen.stdout.close()

    def _read_stderr(self) -> None:
        """Read its standard error, and keep the end."""
        assert self._popen.stderr is not None
        while chunk := self._popen.stderr.read(_LONGEST_LINE):
            self._stderr = (self._stderr + chunk)[-_STDERR_BYTES:]
        self._popen.stderr.close()

    def _diagnostics(self, number: int) -> str:
        """Its exit status, and the end of its output."""
        if self.has_ended:
            self._readers[1].join(_GRACE)
        status = self._popen.returncode
        reason = "" if status is None else f"exit status {status}"
        words = self._stderr.decode("utf-8", "replace").strip()
        if not words and self._output:
            words = f"it said {self._output[-1][:200]!r}"
            if "cell" in (json_object(self._output[-1]) or {}):
                words += f', without the "id": {number} of the question'
        return ": ".join(filter(None, [reason, words]))


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """The lines of a stream; a line that is too long comes in parts."""
    unread = b""
    while chunk := stream.read(_LONGEST_LINE):
        *lines, unread = (unread + chunk).split(b"\n")
        yield from (line.decode("utf-8-sig", "replace") for line in lines)
        unread = unread[:_LONGEST_LINE]
    if unread:
        yield unread.decode("utf-8-sig", "replace")


def _end(popen: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, signal.SIGKILL)
    popen.wait()
    assert popen.stdin is not None
    with suppress(OSError):
        popen.stdin.close()  # the reading threads close the others
