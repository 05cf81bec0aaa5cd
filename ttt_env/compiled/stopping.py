"""Long computations that end before their time, because nobody waits for the result any more."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

_stop_event: ContextVar[Event | None] = ContextVar("unwanted", default=None)


class StoppedError(Exception):
    """The result of a computation is not wanted any more."""


@contextmanager
def stopped_by(event: Event) -> Iterator[None]:
    """Let setting this event, from any thread, end the searches and sweeps that this thread runs inside.

    They then raise `StoppedError` within some hundredths of a second; what they have found by then is lost.
    """
    token = _stop_event.set(event)
    try:
        yield
    finally:
        _stop_event.reset(token)


def check_stopped() -> None:
    """Raise `StoppedError` if the event of `stopped_by` is set. Long work calls this from time to time."""
    event = _stop_event.get()
    if event is not None and event.is_set():
        raise StoppedError("nobody waits for this any more")
