"""How agents are pickled and copied, to other processes or with an environment."""

import copyreg
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ttt_env.agent.interface import Agent

_OWN = f"{__name__.partition('.')[0]}."


def made_anew(agent: "Agent", make: Callable[..., "Agent"], *arguments: object) -> tuple[Any, ...]:
    """For `__reduce__` of an agent of this package: the call that makes it anew, far shorter than its state.

    A subclass from elsewhere may have a constructor of its own and state of its own, so it is copied with all
    its attributes.
    """
    if type(agent).__module__.startswith(_OWN):
        return make, arguments
    given: tuple[Any, ...] = getattr(agent, "__getnewargs__", tuple)()
    return copyreg.__newobj__, (type(agent), *given), agent.__getstate__()  # type: ignore[attr-defined]


class Turns:
    """A lock by which several threads take turns. A copy of the agent that holds it has a lock of its own."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["Turns"], tuple[()]]:
        return Turns, ()

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()
