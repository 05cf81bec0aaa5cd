"""One interface of `map` over two libraries' pools of processes, which do not affect the results."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, Literal

from ttt_env.errors import ParameterError, WorkerError, brief, extra_for
from ttt_env.rules import Between, checked

Backend = Literal["loky", "ray"]
Progress = Callable[[int, int], object]
"""A function that is called with the number of finished tasks and the number of all tasks."""

MAX_WORKERS = 4096
_CHUNKS = 4  # of tasks for each process: a function is pickled once for each chunk


class Workers:
    """A pool of processes that share out tasks.

    With `backend="loky"` these are `workers` processes of this machine; None and 1 are this process alone.
    With `backend="ray"` they run on the cluster at `address`, by default on one that Ray starts on this
    machine; None is one for each of its CPUs. The connection to Ray stays open until `ray.shutdown()`.

    Raises `ParameterError` for an address without Ray; `ImportError`, by `map`, if loky, of the extra
    `tournament`, or Ray, of the extra `ray`, is not installed.
    """

    @checked
    def __init__(
        self,
        workers: Annotated[int, Between(1, MAX_WORKERS)] | None = None,
        backend: Backend = "loky",
        address: str | None = None,
    ) -> None:
        self.backend, self.workers = backend, workers
        if address is not None and backend != "ray":
            raise ParameterError(f"address={brief(address)}: only backend='ray' has one, not {backend!r}")
        self.address = address

    def map(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        *,
        named: Callable[..., str] = lambda *task: f"the task {brief(task)}",
        progress: Progress = lambda done, total: None,
    ) -> list[Any]:
        """`[function(*task) for task in tasks]`; an error in a task gets a note with `named(*task)`.

        Raises `WorkerError` if a process ends before its task does.
        """
        calls = [(named(*task), task) for task in tasks]
        results: list[Any] = []
        progress(0, len(tasks))
        with self._map_calls(partial(_call_with_note, function), calls) as (mapped, broken):
            try:
                for result in mapped:
                    results.append(result)
                    progress(len(results), len(tasks))
            except broken as error:
                unfinished = calls[len(results)][0]
                raise WorkerError(
                    f"a process that worked on {unfinished}, or on a task after it, ended: it was killed, "
                    "ran out of memory or crashed"
                ) from error
        return results

    @contextmanager
    def _map_calls(
        self, call: Callable[[Any], Any], calls: Sequence[Any]
    ) -> Iterator[tuple[Iterable[Any], type[Exception] | tuple[()]]]:
        """The results in the order of the calls, and the error class of a process that ended.

        If the block ends early, the work is cancelled.
        """
        if self.backend == "ray":
            with extra_for('backend="ray" needs', "ray"):
                from ray.exceptions import RayActorError
                from ray.util.multiprocessing import Pool
            pool = Pool(self.workers, ray_address=self.address)
            try:
                chunk = _chunk(len(calls), self.workers or len(calls))
                yield _raise_errors(pool.imap(call, calls, chunksize=chunk)), RayActorError
            finally:
                pool.terminate()
        elif self.workers in (None, 1):
            yield map(call, calls), ()
        else:
            with extra_for("workers need", "tournament"):
                import loky
            executor = loky.get_reusable_executor(self.workers)
            submit = partial(executor.map, call, calls, chunksize=_chunk(len(calls), self.workers))
            try:
                yield _submitted(submit), loky.BrokenProcessPool
            except BaseException:
                executor.shutdown(kill_workers=True)
                raise


def _submitted(submit: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """The results of calls that are submitted when the first one is wanted: a process may end even then."""
    yield from submit()


def _raise_errors(results: Iterable[Any]) -> Iterator[Any]:
    """The results of Ray's `imap`; raises the errors that it returns as results."""
    for result in results:
        error = getattr(result, "underlying", result)  # of Ray's PoolTaskError
        if isinstance(error, Exception):
            raise error
        yield result


def _call_with_note(function: Callable[..., Any], call: tuple[str, tuple[Any, ...]]) -> Any:
    name, task = call
    try:
        return function(*task)
    except Exception as error:
        error.add_note(f"in {name}")
        raise


def _chunk(n_calls: int, n_processes: int) -> int:
    return max(1, n_calls // (_CHUNKS * n_processes))
