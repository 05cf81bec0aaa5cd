"""A running program that is sent lines and read line by line."""

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

_KEEPER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")))
_CHUNK = 1 << 16  # bytes
_LONGEST_LINE = 1 << 16  # bytes
_MOST_STDERR = 1 << 20  # bytes between two questions
_STDERR_BYTES = 900  # the last of them are kept
_LOOK_UP = 0.5  # seconds of a wait: Ctrl-C that comes just before one is noticed only after it
_GRACE = 1.0  # seconds for a program that has closed its output to end


class Said(NamedTuple):
    """One line of a program, or the reason why there is none.

    `text` is the line, or the start of one that is too long; else the end of what the program wrote to
    standard error, after its exit `status` if it has ended. "not started": nothing could be run.
    """

    outcome: Literal["line", "too much", "ended", "too late", "not started"]
    text: str
    status: int | None = None


class Program:
    """A running program that is sent lines on its standard input and read line by line.

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
        self._trouble, trouble = os.pipe()
        try:
            self._process = subprocess.Popen(
                [*_KEEPER, str(lifeline), str(trouble), str(memory or 0), *arguments],
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                cwd=folder,
                pass_fds=[lifeline, trouble],
                start_new_session=True,
            )
        except BaseException:
            os.close(self._lifeline)
            os.close(self._trouble)
            raise
        finally:
            os.close(lifeline)
            os.close(trouble)
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._in, self._out, self._err = (each.fileno() for each in pipes if each is not None)
        for descriptor in (self._in, self._out, self._err, self._trouble):
            os.set_blocking(descriptor, False)
        self._unread, self._stderr, self._n_stderr = bytearray(), bytearray(), 0
        self.n_lines = 0
        """The number of its lines that have been read."""

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def send(self, *lines: str) -> None:
        """Send it these lines. Whether it has taken them shows when it is read: nothing is raised here."""
        self._n_stderr = 0
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._in, "".join(f"{line}\n" for line in lines).encode())

    def read_line(self, deadline: float) -> Said:
        """The next line that it says until `deadline` by the monotonic clock; its last one may have no end.

        After anything but a line the program is of no further use, and has to be ended.
        """
        with self._listening() as selector:
            while b"\n" not in self._unread:
                left = deadline - time.monotonic()
                if left <= 0:
                    return self._said("too late")
                if self._n_stderr > _MOST_STDERR:
                    return self._said("too much")
                if len(self._unread) > _LONGEST_LINE:
                    return Said("too much", _text(self._unread[:_LONGEST_LINE]))
                if not self._hear(selector, min(left, _LOOK_UP)):
                    if self._unread:
                        break
                    return self._ended()
        line, _, self._unread = self._unread.partition(b"\n")
        self.n_lines += 1
        return Said("line", _text(line))

    def unread(self) -> str:
        """The lines that it has said by now and nobody has read; they are forgotten here."""
        with suppress(BlockingIOError):
            while len(self._unread) < _LONGEST_LINE and (chunk := os.read(self._out, _CHUNK)):
                self._unread += chunk
        return self._forgotten()

    def end_input(self) -> None:
        """Close its standard input, so that it ends."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def rest(self, deadline: float) -> str:
        """The unread lines that it says until it ends, or until `deadline` by the monotonic clock."""
        with self._listening() as selector:
            while (left := deadline - time.monotonic()) > 0 and len(self._unread) < _LONGEST_LINE:
                if not self._hear(selector, left):
                    break
        return self._forgotten()

    def _forgotten(self) -> str:
        text = _text(self._unread)
        self._unread.clear()
        return text

    @contextmanager
    def _listening(self) -> Iterator[selectors.BaseSelector]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            yield selector

    def _hear(self, selector: selectors.BaseSelector, seconds: float) -> bool:
        """Wait this long for more, and take it in; False once the output has ended."""
        ready = [key.fd for key, _ in selector.select(seconds)]
        if self._err in ready and not self._read_stderr():
            selector.unregister(self._err)
        if self._out in ready:
            chunk = os.read(self._out, _CHUNK)
            self._unread += chunk
            return bool(chunk)
        return True

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
        with suppress(BlockingIOError):
            if trouble := os.read(self._trouble, _CHUNK):
                return Said("not started", _text(trouble), self.status)
        return self._said("ended")

    def _said(self, outcome: Literal["ended", "too late", "too much"]) -> Said:
        status = self.status
        shown = "" if status is None else f"exit status {status}"
        return Said(outcome, ": ".join(filter(None, [shown, _text(self._stderr).strip()])), status)

    def kill(self) -> None:
        """Have it killed, and all that it has started; whoever asks it learns that it has ended."""
        with suppress(BrokenPipeError):
            os.write(self._lifeline, b".")

    def end(self) -> None:
        """Kill it, wait for its end, and let go of it."""
        self.kill()
        self._process.wait()
        os.close(self._lifeline)
        os.close(self._trouble)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _text(said: bytes | bytearray) -> str:
    return said.decode("utf-8", "replace")
