"""A lock for agents, which can be pickled and copied, to other processes or with an environment."""

from threading import Lock
from types import TracebackType


class CopyableLock:
    """A lock for threads. A copy of the agent that holds it has a lock of its own."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["CopyableLock"], tuple[()]]:
        return CopyableLock, ()

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()
