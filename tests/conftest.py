"""The set-up of all tests."""

import gc
import logging
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.endpoint import Endpoint, serving

# The tests run in one process per core or more: threads of torch in each would compete.
os.environ.setdefault("OMP_NUM_THREADS", "1")

gc.disable()  # until all tests are collected, which saves a sixth of that time

# Without a handler, Python writes log messages to standard error, which tests of commands read.
logging.getLogger().addHandler(logging.NullHandler())

# A shell makes its background commands ignore Ctrl-C, and so all programs that the tests start; tests check
# how some of these react to it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomized: every run of the fuzzers tries the same inputs. No deadline: no result depends on the speed of
# the machine.
settings.register_profile(
    "ci",
    max_examples=300,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("ci")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A language model that listens on this machine, and its key in the environment."""
    with serving(monkeypatch) as server:
        yield server


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """The messages that are logged as warnings or worse while the test runs."""
    messages: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    yield messages
    logging.getLogger().removeHandler(handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a test, except the first and the last, as `more`."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in cases.values():
        for item in group[1:-1]:
            item.add_marker("more")


def pytest_collection_finish() -> None:
    """Exclude modules and collected tests from later garbage collections, which saves a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000, 20, 20)
