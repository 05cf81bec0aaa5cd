"""The work in one process: a batch of tasks, and the outcome of each of them."""

import faulthandler
import traceback
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from time import perf_counter
from typing import Any, NamedTuple, Self, TypeAlias

from ttt_env.errors import ParameterError, TaskTimeoutError, WorkerError, extra_for

Task = tuple[Any, ...]
_LAST_WORDS_SECONDS = 1.0  # for a process that hangs, to say so before it ends


def pickled(name: str, value: object) -> bytes:
    """`value` as bytes. Raises `ParameterError` if it cannot be sent; messages call it `name`."""
    cloudpickle = imported_cloudpickle()
    try:
        sent: bytes = cloudpickle.dumps(value)
    except Exception as error:  # pickling runs the code of others
        raise ParameterError(
            f"{name} cannot be sent to another process: {type(error).__name__}: {error}"
        ) from error
    return sent


def imported_cloudpickle() -> Any:
    """The module cloudpickle. Raises `ImportError` if it is not installed."""
    with extra_for("workers need", "tournament"):
        import cloudpickle
    return cloudpickle


class Value(NamedTuple):
    """The value that a task returned."""

    value: Any


class Failure(NamedTuple):
    """The failure of a task: its error, if that can be sent, and its text."""

    error: bytes | None
    text: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """The failure by this error, which is being handled."""
        text, cloudpickle = "".join(traceback.format_exception(error)), imported_cloudpickle()
        with suppress(Exception):  # errors of others need not survive pickling
            sent = cloudpickle.dumps(error)
            if isinstance(cloudpickle.loads(sent), type(error)):
                return cls(sent, text)
        return cls(None, text)

    def of_task(self, name: str) -> Exception:
        """The error, with a note that names the task."""
        error: Exception = (
            WorkerError(f"{name} failed: {self.text.splitlines()[-1]}")
            if self.error is None
            else imported_cloudpickle().loads(self.error)
        )
        error.add_note(f"in {name}, in another process:\n{self.text}")
        return error


class Late(NamedTuple):
    """A task that did not end within its time limit, in seconds."""

    seconds: float

    def of_task(self, name: str) -> Exception:
        """The error that names the task."""
        return TaskTimeoutError(f"{name} took longer than {self.seconds:g} s")


TaskOutcome: TypeAlias = Value | Failure | Late


def work_of(
    function: Callable[[], Callable[..., Any]], tasks: list[Task], limit: float | None
) -> tuple[list[TaskOutcome], float]:
    """The outcomes of a batch, up to the first failure, and the seconds that it took; runs in a worker.

    `function` loads what has been sent; that it cannot be loaded here fails the first task.
    """
    try:
        loaded = function()
    except Exception as error:
        return [Failure.of(error)], 0.0
    start, outcomes = perf_counter(), list[TaskOutcome]()
    for task in tasks:
        outcomes.append(_outcome(loaded, task) if limit is None else _limited(loaded, task, limit))
        if not isinstance(outcomes[-1], Value):
            break
    return outcomes, perf_counter() - start


def _outcome(function: Callable[..., Any], task: Task) -> TaskOutcome:
    try:
        return Value(function(*task))
    except Exception as error:
        return Failure.of(error)


def _limited(function: Callable[..., Any], task: Task, limit: float) -> TaskOutcome:
    """The outcome of a task, or that it takes too long; this process then ends as soon as it has said so."""
    outcomes: list[TaskOutcome] = []
    thread = Thread(target=lambda: outcomes.append(_outcome(function, task)), daemon=True)
    # Compiled code of others may hang without letting any other thread run, but not this.
    faulthandler.dump_traceback_later(limit + _LAST_WORDS_SECONDS, exit=True)
    thread.start()
    thread.join(limit)
    if outcomes:
        faulthandler.cancel_dump_traceback_later()
        return outcomes[0]
    return Late(limit)
