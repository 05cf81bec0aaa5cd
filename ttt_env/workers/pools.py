"""Processes of this machine, by loky, or of a Ray cluster, and how one of them works on a batch of tasks."""

import faulthandler
import os
import socket
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter, sleep
from types import ModuleType
from typing import Any, NamedTuple, Self, TypeAlias
from uuid import uuid4

from ttt_env.errors import ParameterError, TaskTimeoutError, WorkerError, extra_for, shown

Task = tuple[Any, ...]
_LOOK_UP = 1.0  # seconds between two looks at the parent
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
    load: Callable[[Any], Callable[..., Any]], key: list[Any], tasks: list[Task], limit: float | None
) -> tuple[list[TaskOutcome], float]:
    """The outcomes of a batch, up to the first failure, and the seconds that it took; runs in a worker.

    `load` gives the function of the one `key`; that it cannot be loaded here fails the first task.
    """
    try:
        loaded = load(*key)
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
    except SystemExit as error:
        return Failure.of(WorkerError(f"it would end its process, by {error!r}"))
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


# Each process is one worker: more threads in it would only wait for one another.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _end_with(parent: int) -> None:
    """End this process within a second after its parent, which may be killed and then ends no worker."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(_LOOK_UP)
        os._exit(1)

    if os.getppid() == parent:
        Thread(target=watch, daemon=True).start()


class LokyPool:
    """Processes of this machine, which loky starts; they work on up to `size` batches of tasks at a time."""

    is_lost_at_once = True
    """True if all batches are lost when one process ends."""

    def __init__(self, size: int) -> None:
        with extra_for("workers need", "tournament"):
            import loky
        self.size, self._loky = size, loky
        self._executor: Any = None

    def __enter__(self) -> Self:
        self._folder = TemporaryDirectory()
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(kill_workers=True)
        self._folder.cleanup()

    def send(self, function: bytes) -> str:
        """A key of the pickled function, by which each process gets it once."""
        path = Path(self._folder.name, uuid4().hex)
        path.write_bytes(function)
        return str(path)

    def start(self, key: str, tasks: list[Task], limit: float | None) -> Any:
        """A handle of a batch that has been sent."""
        batch = work_of, _function_of_file, [key], tasks, limit
        with suppress(self._loky.BrokenProcessPool):
            return self._running().submit(*batch)
        self.stop([])  # a process has ended since the last look
        return self._running().submit(*batch)

    def ended(self, handles: list[Any]) -> Iterable[Any]:
        """Those of the handles, at least one, whose batch is done or lost; waits for it."""
        return wait(handles, return_when=FIRST_COMPLETED).done

    def result(self, handle: Any) -> tuple[list[TaskOutcome], float] | None:
        """The result of `work_of`; None if the batch was lost with its process."""
        try:
            done: tuple[list[TaskOutcome], float] = handle.result()
        except self._loky.BrokenProcessPool:
            return None
        return done

    def stop(self, handles: list[Any]) -> None:
        """End the processes that work on these batches."""
        self._executor.shutdown(kill_workers=True)
        self._executor = None

    def _running(self) -> Any:
        if self._executor is None:
            self._executor = self._loky.ProcessPoolExecutor(
                self.size, env=dict.fromkeys(_THREADS, "1"), initializer=_end_with, initargs=(os.getpid(),)
            )
        return self._executor


class RayPool:
    """The processes of a Ray cluster; Ray itself runs a batch again that is lost with one of them."""

    is_lost_at_once = False

    def __init__(self, ray: Any, size: int | None) -> None:
        self.size = size or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._ray, self._work = ray, ray.remote(num_cpus=1, max_retries=1)(work_of)

    def send(self, function: bytes) -> Any:  # noqa: D102
        return self._ray.put(function)

    def start(self, key: Any, tasks: list[Task], limit: float | None) -> Any:  # noqa: D102
        return self._work.remote(_function_of_object, [key], tasks, limit)

    def ended(self, handles: list[Any]) -> Iterable[Any]:  # noqa: D102
        self._ray.wait(handles)
        ended: list[Any] = self._ray.wait(handles, num_returns=len(handles), timeout=0)[0]
        return ended

    def result(self, handle: Any) -> tuple[list[TaskOutcome], float] | None:  # noqa: D102
        errors = self._ray.exceptions
        try:
            done: tuple[list[TaskOutcome], float] = self._ray.get(handle)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.ObjectLostError,
            errors.OutOfMemoryError,
        ):
            return None
        return done

    def stop(self, handles: list[Any]) -> None:  # noqa: D102
        for handle in handles:
            self._ray.cancel(handle, force=True)


Pool: TypeAlias = LokyPool | RayPool


@lru_cache(maxsize=1)
def _function_of_file(path: str) -> Callable[..., Any]:
    function: Callable[..., Any] = imported_cloudpickle().loads(Path(path).read_bytes())
    return function


@lru_cache(maxsize=1)
def _function_of_object(key: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = imported_cloudpickle().loads(imported_ray().get(key))
    return function


_ADDRESS_SECONDS = 5.0  # for a cluster to answer
_RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # a cluster that is started here reports to nobody
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # under `uv run`, Ray would upload the working directory
}


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
        ray = imported_ray()
        is_connected = ray.is_initialized()
        if is_connected:
            here = ray.get_runtime_context().gcs_address
            if address not in (None, "auto", here):
                raise ParameterError(
                    f"address={shown(address)}: this process is connected to the Ray cluster at {here}; "
                    "ray.shutdown() leaves it"
                )
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


def imported_ray() -> Any:
    """The module ray. Raises `ImportError` if it is not installed."""
    with extra_for('backend="ray" needs', "ray"):
        import ray
    return ray
