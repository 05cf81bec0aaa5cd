"""One interface for loky and Ray processes: order of results, progress, errors, ended processes."""

import sys
import threading
import time

import pytest

from tests.support import faults
from tests.support.marks import slow
from ttt_env.errors import ParameterError, WorkerError
from ttt_env.workers import Workers

NUMBERS = [(number,) for number in range(40)]
TEAMS = [("loky", None), slow(("loky", 2)), slow(("ray", 2))]


@pytest.fixture(scope="module", autouse=True)
def _shut_down_ray():
    yield
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.fixture(params=TEAMS, ids=["here", "loky", "ray"])
def team(request):
    backend, workers = request.param
    if backend == "ray":
        pytest.importorskip("ray")
    return Workers(workers, backend)


def test_results_keep_order_of_tasks(team):
    def square(number):
        time.sleep(0.05 if number < 2 else 0)
        return number**2

    counts = []
    assert team.map(square, NUMBERS, progress=lambda *done: counts.append(done)) == [n**2 for (n,) in NUMBERS]
    assert counts == [(done, 40) for done in range(41)]
    assert team.map(square, []) == []


def test_error_keeps_class_and_names_task(team):
    with pytest.raises(ZeroDivisionError, match="oops") as caught:
        team.map(faults.fails_at_five, NUMBERS, named=faults.named)
    assert "in the task of 5" in caught.value.__notes__
    assert team.map(abs, NUMBERS) == list(range(40))


@pytest.mark.parametrize("backend", ["loky", slow("ray")])
@pytest.mark.slow
def test_ended_process_is_error_that_names_task(backend, tmp_path):
    if backend == "ray":
        pytest.importorskip("ray")
    with pytest.raises(WorkerError, match="the task of 5, or on a task after it, ended"):
        Workers(2, backend).map(faults.kills_its_process(tmp_path, 100), NUMBERS[5:7], named=faults.named)
    assert Workers(2, backend).map(abs, NUMBERS) == list(range(40))


def test_unpicklable_function_is_refused():
    lock = threading.Lock()
    with pytest.raises(Exception, match="pickle"):
        Workers(2).map(lambda number: lock and number, NUMBERS)


@pytest.mark.parametrize(
    "arguments", [{"workers": 0}, {"workers": "2"}, {"backend": "dask"}, {"address": "auto"}]
)
def test_bad_arguments_are_named(arguments):
    with pytest.raises(ParameterError, match=next(iter(arguments))):
        Workers(**arguments)
