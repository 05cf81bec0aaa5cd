"""A running program that is sent lines and read line by line."""

import os
import selectors
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ttt_env.text.players.program import Program, Said

_CHUNK = 1 << 16  # bytes
_LONGEST_LINE = 1 << 16  # bytes
_MOST_STDERR = 1 << 20  # bytes between two questions
_LOOK_UP = 0.5  # seconds of a wait, so that Ctrl-C is noticed


class LineProgram(Program):
    """A running program that may say several lines to one that it is sent, and none to another."""

    def __init__(
        self, arguments: Sequence[str], folder: str | Path | None = None, memory: int | None = None
    ) -> None:
        super().__init__(arguments, folder, memory)
        self._unread = bytearray()

    def send(self, *lines: str) -> None:
        """Send it these lines. Whether it has taken them shows when it is read: nothing is raised here."""
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._in, "".join(f"{line}\n" for line in lines).encode())

    def drop_unread(self) -> None:
        """Forget what it has said and nobody has read: it is no answer to what comes."""
        self._unread.clear()
        self._n_stderr = 0
        self._drop_output()

    def read_line(self, deadline: float) -> Said:
        """The next line that it says until `deadline` by the monotonic clock.

        After anything but a line the program is of no further use, and has to be ended.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                left = deadline - time.monotonic()
                if left <= 0:
                    return self._said("too late")
                if self._n_stderr > _MOST_STDERR:
                    return self._said("too much")
                if len(self._unread) > _LONGEST_LINE:
                    return Said("too much", self._unread[:_LONGEST_LINE].decode("utf-8", "replace"))
                ready = [key.fd for key, _ in selector.select(min(left, _LOOK_UP))]
                if self._err in ready and not self._read_stderr():
                    selector.unregister(self._err)
                if self._out in ready:
                    chunk = os.read(self._out, _CHUNK)
                    if not chunk:
                        return self._ended()
                    self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return Said("line", line.decode("utf-8", "replace").strip())
