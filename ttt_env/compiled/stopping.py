"""Long computations that end before their time, because nobody waits for the result any more."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

_unwanted: ContextVar[Event | None] = ContextVar("unwanted", default=None)
_due: ContextVar[Event | None] = ContextVar("due", default=None)


class StoppedError(Exception):
    """The result of a computation is not wanted any more."""


@contextmanager
def stopped_by(event: Event) -> Iterator[None]:
    """Let setting this event, from any thread, end the searches and sweeps that this thread runs inside.

    They then raise `StoppedError` within some hundredths of a second; what they have found by then is lost.
    """
    token = _unwanted.set(event)
    try:
        yield
    finally:
        _unwanted.reset(token)


def check_wanted() -> None:
    """Raise `StoppedError` if the event of `stopped_by` is set. Long work calls this from time to time."""
    event = _unwanted.get()
    if event is not None and event.is_set():
        raise StoppedError("nobody waits for this any more")


@contextmanager
def due_by(event: Event) -> Iterator[None]:
    """Let setting this event, from any thread, end the time of the searches that this thread runs inside.

    A search for some seconds then returns, within some hundredths of one, the best that it has found.
    """
    token = _due.set(event)
    try:
        yield
    finally:
        _due.reset(token)


def is_due() -> bool:
    """True if the event of `due_by` is set: searches limited in seconds ask when they look at the clock."""
    event = _due.get()
    return event is not None and event.is_set()
