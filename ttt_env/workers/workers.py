"""Tasks shared out to processes of this machine or of a Ray cluster, whose results do not depend on these."""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Literal, Self, get_args

from ttt_env.errors import ParameterError, WorkerError, shown
from ttt_env.rules import as_integer, as_positive, one_of
from ttt_env.workers.pools import LokyPool, Pool, RayPool, Task, Value, pickled, ray_cluster

Backend = Literal["loky", "ray"]
Progress = Callable[[int, int], object]
"""A function that is told how many tasks are done, and how many there are."""

_BATCH_SECONDS = 0.5  # of work in one message to a process, beside which the message costs nothing
_MOST_WORKERS = 4096
_PATIENCE = 3  # how often a task is begun whose process ends before the task does


class Workers:
    """Processes of this machine or of a Ray cluster that share out tasks.

    It is a context manager, so that several calls of `run` use the same processes; these, and a Ray cluster
    that was started for them, end with the block, however it ends.

    With the backend "loky", `workers` processes of this machine work; None and 1 are this process alone.
    With "ray", `workers` tasks at a time are worked on by the cluster at `address` (see `ray_cluster`); None
    is as many as the cluster has CPUs.

    Raises `ParameterError`, before anything is started, for an unknown backend, fewer than one worker, an
    address without Ray, or one at which no cluster answers; `ImportError` if loky, of the extra
    `tournament`, or Ray, of the extra `ray`, is not installed.
    """

    def __init__(
        self, workers: int | None = None, backend: Backend = "loky", address: str | None = None
    ) -> None:
        self.backend: Backend = one_of("backend", backend, get_args(Backend))
        self.workers = (
            None if workers is None else as_integer("workers", workers, "shared work", 1, _MOST_WORKERS)
        )
        if address is not None and backend != "ray":
            raise ParameterError(f"address={shown(address)}: only backend='ray' has one, not {backend!r}")
        self.address = address
        self._pool: Pool | None = None
        self._stack = ExitStack()

    def check_sendable(self, values: Mapping[str, object]) -> None:
        """Raise `ParameterError` if one of these, by what messages call it, cannot be sent to who works."""
        if self.backend == "ray" or self.workers not in (None, 1):  # else all tasks run in this process
            for name, value in values.items():
                pickled(name, value)

    def __enter__(self) -> Self:
        if self.backend == "ray":
            ray = self._stack.enter_context(ray_cluster(self.address, self.workers))
            self._pool = RayPool(ray, self.workers)
        elif self.workers is not None and self.workers > 1:
            self._pool = self._stack.enter_context(LokyPool(self.workers))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool = None
        self._stack.__exit__(kind, error, trace)

    def run(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Task],
        *,
        named: Callable[..., str] = lambda *task: f"the task {shown(task)}",
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> list[Any]:
        """`[function(*task) for task in tasks]`, computed in any order.

        The function is sent to each process once, so what is large should be bound to it; what a task
        consists of travels with the task. Tasks that are lost with a process or a machine are run again.
        Messages call a task what `named(*task)` returns.

        An error in a task is raised here, with a note that names the task, and ends all others. Raises
        `TaskTimeoutError` if a task takes longer than `timeout` seconds, and ends its process;
        `ParameterError` for a function that cannot be sent, and for a `timeout` if all tasks run in this
        process; `WorkerError` if the process that runs a task ends again and again.
        """
        results: list[Any] = [None] * len(tasks)
        outcomes = self.completed(function, tasks, named=named, timeout=timeout)
        if progress is not None:
            progress(0, len(tasks))
        for done, (number, result) in enumerate(outcomes, start=1):
            results[number] = result
            if progress is not None:
                progress(done, len(tasks))
        return results

    def completed(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Task],
        *,
        named: Callable[..., str] = lambda *task: f"the task {shown(task)}",
        timeout: float | None = None,
    ) -> Iterator[tuple[int, Any]]:
        """The results of `run`, one by one as they are done: the number of a task, and its result."""
        limit = None if timeout is None else as_positive("timeout", timeout, "a task")
        if self._pool is not None:
            return _shared_out(self._pool, pickled(shown(function), function), tasks, named, limit)
        if limit is None:
            return _in_turn(function, tasks, named)
        raise ParameterError(
            f"timeout={shown(timeout)}: a task can only be ended in a process of its own: workers=2 or "
            "more, or backend='ray'"
        )


def _in_turn(
    function: Callable[..., Any], tasks: Sequence[Task], named: Callable[..., str]
) -> Iterator[tuple[int, Any]]:
    """The number and the result of each task, run in this process."""
    for number, task in enumerate(tasks):
        try:
            yield number, function(*task)
        except Exception as error:
            error.add_note(f"in {named(*task)}")
            raise


def _shared_out(
    pool: Pool, function: bytes, tasks: Sequence[Task], named: Callable[..., str], limit: float | None
) -> Iterator[tuple[int, Any]]:
    """The number and the result of each task, in the order in which the pool is done with them.

    Tasks are sent in batches of about half a second, by what the last batch took, and smaller ones at the
    end, so that no process waits for long. Tasks that were lost come last, each by itself, so that one that
    ends its process takes no others with it.
    """
    key = pool.send(function)
    waiting, size = deque(range(len(tasks))), 1
    lost: Counter[int] = Counter()
    running: dict[Any, list[int]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < (1 if pool.is_lost_at_once and lost[waiting[0]] else pool.size):
                most = min(size, -(-len(waiting) // (2 * pool.size)))
                numbers = [waiting.popleft()]
                while len(numbers) < most and not lost[numbers[0]] and not lost[waiting[0]]:
                    numbers.append(waiting.popleft())
                running[pool.start(key, [tasks[number] for number in numbers], limit)] = numbers
            for handle in pool.ended(list(running)):
                numbers = running.pop(handle)
                done = pool.result(handle)
                if done is None:
                    lost.update(numbers)
                    waiting.extend(numbers)
                    if given_up := [named(*tasks[number]) for number in numbers if lost[number] == _PATIENCE]:
                        raise WorkerError(
                            f"{given_up[0]}: the process that worked on it ended {_PATIENCE} times. It was "
                            "killed, ran out of memory, crashed, or hung in compiled code"
                        )
                    continue
                outcomes, seconds = done
                for number, outcome in zip(numbers, outcomes, strict=False):
                    if not isinstance(outcome, Value):
                        raise outcome.of_task(named(*tasks[number]))
                    yield number, outcome.value
                size = max(1, min(2 * size, int(len(numbers) * _BATCH_SECONDS / max(seconds, 1e-9))))
    finally:
        if running:
            pool.stop(list(running))
