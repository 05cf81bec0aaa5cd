"""Functions and agents that fail in every way, and the processes that a program leaves behind.

The functions are created inside of functions, so that they are pickled by value: other processes need not
import the tests.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ttt_env import Position

PATIENCE = 60.0  # seconds to wait for short tasks


def kills_its_process(folder: Path, times: int) -> Callable[[Any], Any]:
    """A function that returns its argument, but kills its process at the first `times` calls with 5."""

    def function(number: Any) -> Any:
        import uuid

        if number == 5 and len(list(folder.iterdir())) < times:
            (folder / uuid.uuid4().hex).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    return function


def hangs(folder: Path) -> Callable[[Any], Any]:
    """A function that returns its argument, but for 5 records its process id and never returns."""

    def function(number: Any) -> Any:
        import time

        if number == 5:
            (folder / str(os.getpid())).touch()
            while True:
                time.sleep(0.05)
        return number

    return function


def raises(error: Callable[[], Exception]) -> Callable[[Any], Any]:
    """A function that returns its argument, but raises an error for 5."""

    def function(number: Any) -> Any:
        if number == 5:
            raise error()
        return number

    return function


def fails_at_five(number: Any) -> Any:
    """Returns its argument, but raises for 5. Other processes import it by name."""
    if number == 5:
        raise ZeroDivisionError("oops")
    return number


def named(number: Any) -> str:
    """The name of a task in messages."""
    return f"the task of {number}"


def agent_that(act: Callable[[Any], Any]) -> Callable[[Position], int]:
    """An agent that plays the lowest cell, but in each game calls `act` with 5 once."""

    def agent(position: Any) -> int:
        act(5 if position.ply == 4 else 0)
        cell: int = position.legal_cells[0]
        return cell

    return agent


def is_running(pid: str | int) -> bool:
    """True if this process runs; a zombie does not."""
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


def have_ended(pids: str) -> bool:
    """True if there are such processes and all of them end within a minute."""
    return bool(pids) and all(map(is_over, pids.split()))


def is_over(pid: str | int) -> bool:
    """True if a process has ended or ends within a minute."""
    return eventually(lambda: not is_running(pid))


def eventually(condition: Callable[[], bool]) -> bool:
    """True if the condition becomes true within a minute."""
    have_ended = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > have_ended:
            return False
        time.sleep(0.002)
    return True


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Limit the size of files, as on a full disk; skips the test on Windows.

    Python ignores the signal and raises an error instead.
    """
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
