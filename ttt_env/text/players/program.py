"""A running program that is asked by lines."""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

_KEEPER = Path(__file__).with_name("keeper.py")
_CHUNK = 1 << 16  # bytes
_LONGEST_LINE = 1 << 16  # bytes of an answer
_MOST_STDERR = 1 << 20  # bytes between two answers
_STDERR_BYTES = 900  # the last of them are kept
_LOOK_UP = 0.5  # seconds of a wait: Ctrl-C that comes just before one is noticed only after it
_GRACE = 1.0  # seconds for a program that has closed its output to end


class Said(NamedTuple):
    """What came of a question.

    `text` is the line that was answered, or the start of what is too long; else what the program last wrote
    to standard error, and its exit status if it has ended.
    """

    outcome: Literal["line", "too much", "ended", "too late"]
    text: str


class Program:
    """A running program that is asked by lines over its standard input and output.

    It runs in the working directory `folder`, with at most `memory` bytes of address space for each of its
    processes, by default in ours and without a limit. No shell is used.

    It is started by a keeper (see `keeper.py`) in a session of its own, so that Ctrl-C does not reach it, and
    `end`, its own end and that of our process, however it comes, end what it has started as well. Raises
    `OSError` if nothing can be started.
    """

    def __init__(
        self, arguments: Sequence[str], folder: str | Path | None = None, memory: int | None = None
    ) -> None:
        pipe = subprocess.PIPE
        lifeline, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_KEEPER), str(lifeline), str(memory or 0), *arguments],
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                cwd=folder,
                pass_fds=[lifeline],
                start_new_session=True,
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(lifeline)
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._in, self._out, self._err = (each.fileno() for each in pipes if each is not None)
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        self._stderr, self._n_stderr = bytearray(), 0
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
        if self.n_answers and self._drop_output() >= _LONGEST_LINE:
            return Said("too much", "more after its last answer")
        try:
            os.write(self._in, question.encode() + b"\n")
        except BlockingIOError:
            return self._said("too late")  # its input is full of questions that it does not read
        except BrokenPipeError:
            pass  # it reads no more, and may still have said something
        line, self._n_stderr = bytearray(), 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                ready = [key.fd for key, _ in selector.select(min(left, _LOOK_UP))]
                if self._err in ready and not self._read_stderr():
                    selector.unregister(self._err)
                if self._n_stderr > _MOST_STDERR:
                    return self._said("too much")
                if self._out in ready and (said := self._heard(line)) is not None:
                    return said
        return self._said("too late")

    def _heard(self, line: bytearray) -> Said | None:
        """Add to the line what it has said; what came of the question, None while the line is unfinished."""
        chunk = os.read(self._out, _CHUNK)
        line += chunk
        if b"\n" in chunk or (line and not chunk):
            self.n_answers += 1
            return Said("line", _text(line.partition(b"\n")[0]))
        if not chunk:
            return self._ended()
        return Said("too much", _text(line)) if len(line) > _LONGEST_LINE else None

    def _drop_output(self) -> int:
        """How many bytes it has said since its last answer; no more are read than an answer may have."""
        n_dropped = 0
        with suppress(BlockingIOError):
            while n_dropped < _LONGEST_LINE and (chunk := os.read(self._out, _CHUNK)):
                n_dropped += len(chunk)
        return n_dropped

    def _read_stderr(self) -> bool:
        """Keep the end of what it has written to standard error; whether more may come."""
        try:
            chunk = os.read(self._err, _CHUNK)
        except BlockingIOError:
            return True
        self._n_stderr += len(chunk)
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
            self._process.wait(max(0.0, deadline - time.monotonic()))
        return self._said("ended")

    def _said(self, outcome: Literal["ended", "too late", "too much"]) -> Said:
        status = "" if self.status is None else f"exit status {self.status}"
        return Said(outcome, ": ".join(filter(None, [status, _text(self._stderr).strip()])))

    def kill(self) -> None:
        """Have it killed, and all that it has started; whoever asks it learns that it has ended."""
        with suppress(BrokenPipeError):
            os.write(self._lifeline, b".")

    def end(self) -> None:
        """Kill it, wait for its end, and let go of it."""
        self.kill()
        self._process.wait()
        os.close(self._lifeline)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _text(said: bytes | bytearray) -> str:
    return said.decode("utf-8", "replace")
