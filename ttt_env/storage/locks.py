"""Locks, so that one process at a time writes to a file."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ttt_env.errors import ResultFileError
from ttt_env.storage.files import reason

try:
    import fcntl
except ImportError:  # Windows, where files are not locked
    fcntl = None  # type: ignore[assignment]


def lock(handle: int, wait: bool = False) -> None:
    """Lock an open file for this process until it is closed. Raises `BlockingIOError` if it is locked."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Keep other processes out of this block for the same path, by a lock file beside it.

    Raises `ResultFileError` if another process is in it, or if the lock file cannot be made.
    """
    beside = path.absolute().with_name(f".{path.name}.lock")
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
    except (OSError, ValueError) as error:
        raise ResultFileError(f"{path} cannot be written: {reason(error)}") from error
    with ExitStack() as stack:
        stack.callback(os.close, handle)
        try:
            lock(handle)
        except BlockingIOError as error:
            raise ResultFileError(f"{path}: another run is writing to it") from error
        stack.callback(beside.unlink, missing_ok=True)
        yield
