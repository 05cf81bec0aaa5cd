"""Engines in this process, engines of some lines of shell, and the games that they play."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Condition

import ttt_env
from ttt_env.engines.serving import Engine

OURS = [sys.executable, "-W", "error", "-m", "ttt_env.app", "engine"]
M433 = ttt_env.get_game("mnk-v0:m=4,n=3,k=3")
LARGE = ttt_env.get_game("mnk-v0:m=20,n=20,k=5")


class Heard(list[str]):
    """The lines that an engine has said so far; `until` waits for one, as it may be said by a thread."""

    def __init__(self) -> None:
        super().__init__()
        self._more = Condition()

    def __call__(self, line: str) -> None:
        with self._more:
            self.append(line)
            self._more.notify_all()

    def until(self, start: str) -> str:
        """The first line that begins like this, which is waited for."""

        def found() -> str | None:
            return next((line for line in self if line.startswith(start)), None)

        with self._more:
            line = self._more.wait_for(found, 120)
        assert line is not None, list(self)
        return line


def dialogue(make: Callable[[Heard], Engine], *lines: str) -> list[str]:
    """The engine's answers to these lines, after which its input ends."""
    heard = Heard()
    make(heard).serve(f"{line}\r\n" for line in lines)
    return heard


def logged(log: Path, n_lines: int) -> list[str]:
    """The lines that `tee` has written to a file, once there are so many: it passes them on first."""
    deadline = time.monotonic() + 60
    while len(lines := log.read_text().splitlines()) < n_lines and time.monotonic() < deadline:
        time.sleep(0.01)
    return lines


def shell(cases: str, before: str = "") -> list[str]:
    """A program that answers each line that it is sent by what `cases`, of a shell's `case`, do."""
    loop = f'while read -r line; do line=$(printf %s "$line"); case "$line" in {cases} esac; done'
    return ["sh", "-c", f"{before} {loop}"]
