"""A running program that is sent lines and read line by line."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

_END_GRACE = 1.0  # seconds for a program whose input has ended to say the rest, and to end
_KEEPER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")))
_CHUNK = 1 << 16  # bytes
_LONGEST_LINE = 1 << 16  # bytes
_MOST_STDERR = 1 << 20  # bytes between two questions
_STDERR_BYTES = 900  # the last of them are kept
_LOOK_UP = 0.5  # seconds of a wait: Ctrl-C that comes just before one is noticed only after it
_GRACE = 1.0  # seconds for a program that has closed its output to end
_OWN_SIGNALS = {
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL", "SIGBUS", "SIGSYS", "SIGTRAP")
    if hasattr(signal, name)
}
_OF_SHELLS = 128  # a shell whose program was ended by a signal exits with this and the signal's number


class NoLineError(Exception):
    """A program has said no line when one was due; it is of no further use, and has to be ended.

    `said` is the start of a line that is too long, or the end of what the program wrote to standard error,
    after its exit `status` if it has ended.
    """

    def __init__(
        self,
        why: Literal["timed out", "cannot be started", "ended", "flooded"],
        said: str,
        status: int | None = None,
    ) -> None:
        super().__init__(why, said, status)
        self.why, self.said, self.status = why, said, status

    @property
    def accident(self) -> str:
        """The event in words; of those who write too much it is no accident."""
        if self.why != "ended":
            return self.why
        killer = 0 if self.status is None else -self.status if self.status < 0 else self.status - _OF_SHELLS
        if killer > 0 and killer not in _OWN_SIGNALS and killer in set(signal.Signals):
            return f"was ended by {signal.Signals(killer).name}"
        return "crashed"


def _new_pipe() -> tuple[int, int]:
    """The two ends of a pipe, none of them numbered as a standard stream, which the program has instead."""
    import fcntl

    ends = os.pipe()
    reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends)
    for end in ends:
        os.close(end)
    return reads, writes


class Program:
    """A running program that is sent lines on its standard input and read line by line.

    It runs in the working directory `folder`, with at most `memory` MiB of address space for each of its
    processes, by default in ours and without a limit. No shell is used.

    It is started by a keeper (see `keeper.py`) in a session of its own, so that Ctrl-C does not reach it, and
    `end`, its own end and that of our process, however it comes, end what it has started as well. Raises
    `OSError` if nothing can be started.
    """

    def __init__(
        self, arguments: Sequence[str], folder: str | Path | None = None, memory: int | None = None
    ) -> None:
        pipe = subprocess.PIPE
        lifeline, self._lifeline = _new_pipe()
        self._trouble, trouble = _new_pipe()
        try:
            self._process = subprocess.Popen(
                [*_KEEPER, str(lifeline), str(trouble), str((memory or 0) << 20), *arguments],
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
        self._deadline, self._is_begun = time.monotonic(), False
        self.n_lines = 0
        """The number of its lines that have been read."""
        self.is_early = False
        """True if it had begun the line that was read last before it was sent anything since."""

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll()

    def send(self, *lines: str) -> None:
        """Send it these lines. Whether it has taken them shows when it is read: nothing is raised here."""
        self._n_stderr, self._is_begun = 0, bool(self._unread.strip())
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._in, "".join(f"{line}\n" for line in lines).encode())

    def allow(self, seconds: float) -> None:
        """Give it these seconds from now to say the lines that are read next."""
        self._deadline = time.monotonic() + seconds

    def read(self) -> str:
        """The next line that it says in its time; its last one may have no end. Raises `NoLineError`."""
        self.is_early, self._is_begun = self._is_begun, False
        with self._listening() as selector:
            while (line := self._line()) is None:
                left = self._deadline - time.monotonic()
                if left <= 0:
                    raise self._no_line("timed out")
                if self._n_stderr > _MOST_STDERR:
                    raise self._no_line("flooded")
                if not self._hear(selector, min(left, _LOOK_UP)):
                    if not self._unread:
                        raise self._ended()
                    self._unread += b"\n"
        self.n_lines += 1
        return line

    def _line(self) -> str | None:
        """Its next line, None while that has no end. Raises `NoLineError` if it is too long."""
        end = self._unread.find(b"\n", 0, _LONGEST_LINE + 1)
        if end < 0 and len(self._unread) > _LONGEST_LINE:
            raise NoLineError("flooded", _text(self._unread[:_LONGEST_LINE]))
        if end < 0:
            return None
        line = _text(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def unread(self) -> Iterator[str]:
        """The lines that it has said by now and nobody has read; one that has no end yet is left to `read`.

        Raises `NoLineError` after the start of a line that is too long, and if it goes on beyond its time.
        """
        try:
            yield from iter(self._line, None)
            with suppress(BlockingIOError):
                while chunk := os.read(self._out, _CHUNK):
                    self._unread += chunk
                    yield from iter(self._line, None)
                    if time.monotonic() > self._deadline:
                        raise self._no_line("timed out")
        except NoLineError as failure:
            if failure.why == "flooded":
                yield failure.said
            raise

    @property
    def has_input(self) -> bool:
        """True while it may be sent lines."""
        return self._process.stdin is not None and not self._process.stdin.closed

    def end_input(self, *lines: str) -> None:
        """Send it these last lines and close its standard input; it has a second to say the `rest`."""
        self.send(*lines)
        if self._process.stdin is not None:
            self._process.stdin.close()
        self.allow(_END_GRACE)

    def rest(self) -> Iterator[str]:
        """The unread lines that it says until it ends, or its time does, or the start of one is too long."""
        with self._listening() as selector, suppress(NoLineError):
            yield from iter(self._line, None)
            while (left := self._deadline - time.monotonic()) > 0 and self._hear(selector, left):
                yield from iter(self._line, None)
        if self._unread:
            yield _text(self._unread[:_LONGEST_LINE])

    @contextmanager
    def _listening(self) -> Iterator[selectors.BaseSelector]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            yield selector

    def _hear(self, selector: selectors.BaseSelector, seconds: float) -> bool:
        """Wait this long for more, and take it in; False once the output has ended."""
        ready = [key.fd for key, _ in selector.select(seconds)]
        if self._err in ready:  # read first, so that all that was written before a line is counted before it
            if not self._read_stderr():
                selector.unregister(self._err)
        elif self._out in ready:
            chunk = os.read(self._out, _CHUNK)
            self._unread += chunk
            return bool(chunk)
        return True

    def _read_stderr(self) -> bool:
        """Keep the end of what it has written to standard error; False once no more can come."""
        try:
            chunk = os.read(self._err, _CHUNK)
        except BlockingIOError:
            return True
        self._n_stderr += len(chunk)
        self._stderr = (self._stderr + chunk)[-_STDERR_BYTES:]
        return bool(chunk)

    def _ended(self) -> NoLineError:
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
                return NoLineError("cannot be started", _text(trouble), self.status)
        return self._no_line("ended")

    def _no_line(self, why: Literal["ended", "timed out", "flooded"]) -> NoLineError:
        status = self.status
        exit_status = "" if status is None else f"exit status {status}"
        said = ": ".join(filter(None, [exit_status, _text(self._stderr).strip()]))
        return NoLineError(why, said, status)

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
