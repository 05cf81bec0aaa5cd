"""A connection to a Ray cluster, found or started in bounded time."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ttt_env.errors import ParameterError, missing_extra, shown

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


def imported_ray() -> Any:
    """The module ray. Raises `ImportError` if it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise missing_extra('backend="ray" needs', "ray") from error
    return ray
