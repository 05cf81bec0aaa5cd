"""Tasks shared out to processes of this machine or of a Ray cluster, whose results do not depend on these."""

import faulthandler
import os
import socket
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter
from types import ModuleType, TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias, get_args
from uuid import uuid4

from ttt_env.errors import ParameterError, TaskTimeoutError, WorkerError, shown
from ttt_env.rules.checks import as_integer, as_seconds, one_of

Backend = Literal["loky", "ray"]
Task = tuple[Any, ...]
Progress = Callable[[int, int], object]
"""A function that is told how many tasks are done, and how many there are."""

_BATCH_SECONDS = 0.5  # of work in one message to a process, beside which the message costs nothing
_ADDRESS_SECONDS = 5.0  # for a cluster to answer
_LAST_WORDS_SECONDS = 1.0  # for a process that hangs, to say so before it ends
_PATIENCE = 3  # how often a task is begun whose process ends before the task does
_RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # a cluster that is started here reports to nobody
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # under `uv run`, Ray would upload the working directory
}


# Each process is one worker: more threads in it would only wait for one another.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
        self.workers = None if workers is None else as_integer("workers", workers, "shared work", 1)
        if address is not None and backend != "ray":
            raise ParameterError(f"address={shown(address)}: only backend='ray' has one, not {backend!r}")
        self.address = address
        self._pool: _Pool | None = None
        self._stack = ExitStack()

    @property
    def are_here(self) -> bool:
        """Whether all tasks run in this process."""
        return self.backend == "loky" and self.workers in (None, 1)

    def __enter__(self) -> Self:
        if self.backend == "ray":
            ray = self._stack.enter_context(ray_cluster(self.address, self.workers))
            self._pool = _Ray(ray, self.workers)
        elif self.workers is not None and self.workers > 1:
            self._pool = self._stack.enter_context(_Loky(self.workers))
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
        """What `run` returns, one by one as they are done: the number of a task, and its result."""
        limit = None if timeout is None else as_seconds("timeout", timeout, "a task")
        if self._pool is not None:
            return _shared_out(self._pool, pickled(shown(function), function), tasks, named, limit)
        if limit is None:
            return _in_turn(function, tasks, named)
        raise ParameterError(
            f"timeout={shown(timeout)}: a task can only be ended in a process of its own: workers=2 or "
            "more, or backend='ray'"
        )


def pickled(name: str, value: object) -> bytes:
    """`value` as bytes. Raises `ParameterError` if it cannot be sent; messages call it `name`."""
    cloudpickle = _cloudpickle()
    try:
        sent: bytes = cloudpickle.dumps(value)
    except Exception as error:  # pickling runs the code of others
        raise ParameterError(
            f"{name} cannot be sent to another process: {type(error).__name__}: {error}"
        ) from error
    return sent


@contextmanager
def ray_cluster(address: str | None = None, cpus: int | None = None) -> Iterator[ModuleType]:
    """The module `ray`, connected to a cluster.

    Without an address this is the cluster that this process is connected to, else a new one on this machine
    with so many CPUs (None: all), which ends with the block, reports nothing to Ray's makers and has no
    dashboard. An address is "auto", for the cluster that runs on this machine or that `RAY_ADDRESS` names, or
    "host:port" of one that stays as it is. Nothing is uploaded: ttt_env and the modules of the agents have to
    be installed on all of its machines, in the same versions.

    Raises `ParameterError` if no cluster answers at the address within seconds; `ImportError` if Ray, of the
    extra `ray`, is not installed.
    """
    added = {name: value for name, value in _RAY_ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(added)
    try:
        ray = _ray()
        is_connected = ray.is_initialized()
        if is_connected:
            _check_connected_to(ray, address)
        elif address is None:
            ray.init(
                "local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="error"
            )
        else:
            _check_answers(address)
            try:
                ray.init(address, log_to_driver=False, logging_level="error")
            except ConnectionError as error:
                raise _no_cluster(address) from error
    finally:
        for name in added:
            del os.environ[name]
    try:
        yield ray
    finally:
        if not is_connected:
            ray.shutdown()


def _check_connected_to(ray: Any, address: str | None) -> None:
    """Raise `ParameterError` if Ray is connected to another cluster than the one at the address."""
    here = ray.get_runtime_context().gcs_address
    if address not in (None, "auto", here):
        raise ParameterError(
            f"address={shown(address)}: this process is connected to the Ray cluster at {here}; "
            "ray.shutdown() leaves it"
        )


def _check_answers(address: str) -> None:
    """Raise `ParameterError` unless something at the address speaks as a Ray cluster does.

    Ray itself would wait for minutes.
    """
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", address)
    if address == "auto":
        return
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if not (separator and host and port.isdecimal() and int(port) < 1 << 16):
        raise ParameterError(f'address={shown(address)}: "auto" or host:port of a Ray cluster is needed')
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _ADDRESS_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                connection.sendall(_HTTP2_GREETING)
                answer = connection.recv(9)
                if len(answer) < 4 or answer[3] != _HTTP2_SETTINGS:
                    raise _no_cluster(address)
    except OSError as error:
        raise _no_cluster(address) from error


# Ray speaks gRPC, and so HTTP/2 (RFC 9113): both sides greet the other with a frame of settings.
_HTTP2_SETTINGS = 4
_HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _HTTP2_SETTINGS, 0, 0, 0, 0, 0])


def _no_cluster(address: str) -> ParameterError:
    return ParameterError(
        f"address={shown(address)}: no Ray cluster answers there; `ray start --head` starts one, "
        "and without an address one is started for the time of the work"
    )


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError('backend="ray" needs the extra "ray": pip install "ttt-env[ray]"') from error
    return ray


def _loky() -> Any:
    try:
        import loky
    except ImportError as error:
        raise ImportError('workers need the extra "tournament": pip install "ttt-env[tournament]"') from error
    return loky


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError as error:
        raise ImportError('workers need the extra "tournament": pip install "ttt-env[tournament]"') from error
    return cloudpickle


class _Value(NamedTuple):
    """What a task returned."""

    value: Any


class _Failure(NamedTuple):
    """How a task failed: its error, where that can be sent, and the text of it."""

    error: bytes | None
    text: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        text, cloudpickle = "".join(traceback.format_exception(error)), _cloudpickle()
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
            else _cloudpickle().loads(self.error)
        )
        error.add_note(f"in {name}, in another process:\n{self.text}")
        return error


class _Late(NamedTuple):
    """That a task did not end within the seconds that it has."""

    seconds: float

    def of_task(self, name: str) -> Exception:
        """The error that names the task."""
        return TaskTimeoutError(f"{name} took longer than {self.seconds:g} s")


_Outcome: TypeAlias = _Value | _Failure | _Late


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
    pool: "_Pool", function: bytes, tasks: Sequence[Task], named: Callable[..., str], limit: float | None
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
                    _check_patience(lost, numbers, tasks, named)
                    continue
                outcomes, seconds = done
                for number, outcome in zip(numbers, outcomes, strict=False):
                    if not isinstance(outcome, _Value):
                        raise outcome.of_task(named(*tasks[number]))
                    yield number, outcome.value
                size = max(1, min(2 * size, int(len(numbers) * _BATCH_SECONDS / max(seconds, 1e-9))))
    finally:
        if running:
            pool.stop(list(running))


def _check_patience(
    lost: Counter[int], numbers: list[int], tasks: Sequence[Task], named: Callable[..., str]
) -> None:
    """Raise `WorkerError` if one of these tasks was lost too often."""
    for number in numbers:
        if lost[number] == _PATIENCE:
            raise WorkerError(
                f"{named(*tasks[number])}: the process that worked on it ended {_PATIENCE} times. It was "
                "killed, ran out of memory, crashed, or hung in compiled code"
            )


def _work(
    function: Callable[..., Any], tasks: list[Task], limit: float | None
) -> tuple[list[_Outcome], float]:
    """The outcomes of a batch, up to the first failure, and the seconds that it took; runs in a worker."""
    start, outcomes = perf_counter(), list[_Outcome]()
    for task in tasks:
        outcomes.append(_outcome(function, task) if limit is None else _limited(function, task, limit))
        if not isinstance(outcomes[-1], _Value):
            break
    return outcomes, perf_counter() - start


def _outcome(function: Callable[..., Any], task: Task) -> _Outcome:
    try:
        return _Value(function(*task))
    except Exception as error:
        return _Failure.of(error)


def _limited(function: Callable[..., Any], task: Task, limit: float) -> _Outcome:
    """The outcome of a task, or that it takes too long; this process then ends as soon as it has said so."""
    outcomes: list[_Outcome] = []
    thread = Thread(target=lambda: outcomes.append(_outcome(function, task)), daemon=True)
    # Compiled code of others may hang without letting any other thread run, but not this.
    faulthandler.dump_traceback_later(limit + _LAST_WORDS_SECONDS, exit=True)
    thread.start()
    thread.join(limit)
    if outcomes:
        faulthandler.cancel_dump_traceback_later()
        return outcomes[0]
    return _Late(limit)


class _Pool(Protocol):
    """Processes that batches of tasks are sent to."""

    size: int  # batches at a time
    is_lost_at_once: bool  # whether all batches are lost when one process ends

    def send(self, function: bytes) -> Any:
        """A key of the pickled function, by which each process gets it once."""

    def start(self, key: Any, tasks: list[Task], limit: float | None) -> Any:
        """A handle of a batch that has been sent."""

    def ended(self, handles: list[Any]) -> Iterable[Any]:
        """Those of the handles, at least one, whose batch is done or lost; waits for it."""

    def result(self, handle: Any) -> tuple[list[_Outcome], float] | None:
        """What `_work` returned; None if the batch was lost with its process."""

    def stop(self, handles: list[Any]) -> None:
        """End the processes that work on these batches."""


class _Loky:
    """Processes of this machine, which loky starts."""

    is_lost_at_once = True

    def __init__(self, size: int) -> None:
        self.size, self._loky = size, _loky()
        self._executor: Any = None

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory()
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(kill_workers=True)
        self._folder.cleanup()

    def send(self, function: bytes) -> str:
        path = Path(self._folder.name, uuid4().hex)
        path.write_bytes(function)
        return str(path)

    def start(self, key: str, tasks: list[Task], limit: float | None) -> Any:
        with suppress(BrokenProcessPool):
            return self._running().submit(_work_from_file, key, tasks, limit)
        self.stop([])  # a process has ended since the last look
        return self._running().submit(_work_from_file, key, tasks, limit)

    def ended(self, handles: list[Any]) -> Iterable[Any]:
        return wait(handles, return_when=FIRST_COMPLETED).done

    def result(self, handle: Any) -> tuple[list[_Outcome], float] | None:
        try:
            done: tuple[list[_Outcome], float] = handle.result()
        except BrokenProcessPool:
            return None
        return done

    def stop(self, handles: list[Any]) -> None:
        self._executor.shutdown(kill_workers=True)
        self._executor = None

    def _running(self) -> Any:
        if self._executor is None:
            self._executor = self._loky.ProcessPoolExecutor(self.size, env=dict.fromkeys(_THREADS, "1"))
        return self._executor


class _Ray:
    """The processes of a Ray cluster; Ray itself runs a batch again that is lost with one of them."""

    is_lost_at_once = False

    def __init__(self, ray: Any, size: int | None) -> None:
        self.size = size or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._ray, self._work = ray, ray.remote(num_cpus=1, max_retries=1)(_work_from_store)

    def send(self, function: bytes) -> Any:
        return self._ray.put(function)

    def start(self, key: Any, tasks: list[Task], limit: float | None) -> Any:
        return self._work.remote([key], tasks, limit)

    def ended(self, handles: list[Any]) -> Iterable[Any]:
        self._ray.wait(handles)
        ended: list[Any] = self._ray.wait(handles, num_returns=len(handles), timeout=0)[0]
        return ended

    def result(self, handle: Any) -> tuple[list[_Outcome], float] | None:
        errors = self._ray.exceptions
        try:
            done: tuple[list[_Outcome], float] = self._ray.get(handle)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.ObjectLostError,
            errors.OutOfMemoryError,
        ):
            return None
        return done

    def stop(self, handles: list[Any]) -> None:
        for handle in handles:
            self._ray.cancel(handle, force=True)


def _work_from_file(path: str, tasks: list[Task], limit: float | None) -> tuple[list[_Outcome], float]:
    return _work_of(lambda: _function_of_file(path), tasks, limit)


def _work_from_store(keys: list[Any], tasks: list[Task], limit: float | None) -> tuple[list[_Outcome], float]:
    return _work_of(lambda: _function_of_object(*keys), tasks, limit)


def _work_of(
    function: Callable[[], Callable[..., Any]], tasks: list[Task], limit: float | None
) -> tuple[list[_Outcome], float]:
    """`_work` of the function that has been sent; that it cannot be loaded here fails the first task."""
    try:
        loaded = function()
    except Exception as error:
        return [_Failure.of(error)], 0.0
    return _work(loaded, tasks, limit)


@lru_cache(maxsize=1)
def _function_of_file(path: str) -> Callable[..., Any]:
    function: Callable[..., Any] = _cloudpickle().loads(Path(path).read_bytes())
    return function


@lru_cache(maxsize=1)
def _function_of_object(key: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = _cloudpickle().loads(_ray().get(key))
    return function
