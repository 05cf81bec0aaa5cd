"""A running program that is asked by lines."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

_CHUNK = 1 << 16  # bytes
_LONGEST_LINE = 1 << 16  # bytes of an answer
_STDERR_BYTES = 900  # the last of them are kept
_LOOK_UP = 0.5  # seconds of a wait: Ctrl-C that comes just before one is noticed only after it
_GRACE = 1.0  # seconds for a program that has closed its output to end


class Said(NamedTuple):
    """What came of a question.

    `text` is the line that was answered, or the start of a line that is too long; else what the program last
    wrote to standard error, and its exit status if it has ended.
    """

    outcome: Literal["line", "too long", "ended", "too late"]
    text: str


class Program:
    """A running program that is asked by lines over its standard input and output.

    It runs in a process group of its own, so that Ctrl-C does not reach it, and `end` ends what it has
    started as well. No shell is used. Raises `OSError` if it cannot be started.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            arguments, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._in, self._out, self._err = (each.fileno() for each in pipes if each is not None)
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        self._stderr = bytearray()
        self.n_answers = 0

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def ask(self, question: str, seconds: float) -> Said:
        """The line that it says to this line. What it has said since its last answer is dropped.

        After anything but a line the program is of no further use, and has to be ended.
        """
        deadline = time.monotonic() + seconds
        if self.n_answers:
            self._drop_output()
        try:
            os.write(self._in, question.encode() + b"\n")
        except BlockingIOError:
            return self._said("too late")  # its input is full of questions that it does not read
        except BrokenPipeError:
            pass  # it reads no more, and may still have said something
        line = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                ready = [key.fd for key, _ in selector.select(min(left, _LOOK_UP))]
                if self._err in ready and not self._read_stderr():
                    selector.unregister(self._err)
                if self._out in ready:
                    chunk = os.read(self._out, _CHUNK)
                    line += chunk
                    if b"\n" in chunk or (line and not chunk):
                        self.n_answers += 1
                        return Said("line", _text(line.partition(b"\n")[0]))
                    if not chunk:
                        return self._ended()
                    if len(line) > _LONGEST_LINE:
                        return Said("too long", _text(line))
        return self._said("too late")

    def _drop_output(self) -> None:
        with suppress(BlockingIOError):
            for _ in range(_LONGEST_LINE // _CHUNK + 1):
                if not os.read(self._out, _CHUNK):
                    return

    def _read_stderr(self) -> bool:
        """Keep the end of what it has written to standard error; whether more may come."""
        try:
            chunk = os.read(self._err, _CHUNK)
        except BlockingIOError:
            return True
        self._stderr = (self._stderr + chunk)[-_STDERR_BYTES:]
        return bool(chunk)

    def _ended(self) -> Said:
        deadline = time.monotonic() + _GRACE
        with selectors.DefaultSelector() as selector:
            selector.register(self._err, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                if selector.select(left) and not self._read_stderr():
                    break
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        return self._said("ended")

    def _said(self, outcome: Literal["ended", "too late"]) -> Said:
        status = "" if self.status is None else f"exit status {self.status}"
        return Said(outcome, ": ".join(filter(None, [status, _text(self._stderr).strip()])))

    def kill(self) -> None:
        """Kill it, and all that it has started in its group; whoever asks it learns that it has ended."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill it, wait for its end, and let go of it."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _text(said: bytes | bytearray) -> str:
    return said.decode("utf-8", "replace")
