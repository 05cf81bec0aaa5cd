"""Cancelling long computations whose result is no longer needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

_stop_event: ContextVar[Event | None] = ContextVar("unwanted", default=None)


class StoppedError(Exception):
    """The computation was cancelled."""


@contextmanager
def stopped_by(event: Event) -> Iterator[None]:
    """Let this event, set by any thread, cancel the searches and sweeps of this thread inside the block.

    They then raise `StoppedError` within some hundredths of a second, and their results so far are lost.
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
        raise StoppedError("the computation was cancelled")
