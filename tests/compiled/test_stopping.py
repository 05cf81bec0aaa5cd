"""Long searches and sweeps stop on request."""

from threading import Event, Timer

import pytest

from ttt_env import exploitability, get_game, make_agent, prove
from ttt_env.agents.mcts.search import Search
from ttt_env.compiled.stopping import StoppedError, check_stopped, stopped_by

QUBIC = get_game("qubic-v0")
LONG = {
    "a tree search": lambda: Search(QUBIC.start).run(seconds=10_000),
    "alpha-beta": lambda: make_agent("minimax:seconds=10000", QUBIC).policy(QUBIC.start),
    "a proof": lambda: prove(QUBIC, seconds=10_000),  # This takes hours.
    "a sweep": lambda: [exploitability("random", "mnk-v0:m=4,n=3,k=3") for _ in range(100_000)],
}


@pytest.mark.parametrize("name", LONG)
def test_long_computation_stops_on_request(name):
    stop_request = Event()
    timer = Timer(0.05, stop_request.set)
    timer.start()
    with stopped_by(stop_request), pytest.raises(StoppedError):
        LONG[name]()
    timer.join()


def test_only_requested_scope_stops():
    check_stopped()
    stop_request, other = Event(), Event()
    stop_request.set()
    with stopped_by(other):
        check_stopped()
        with stopped_by(stop_request), pytest.raises(StoppedError):
            check_stopped()
        check_stopped()
    check_stopped()


def test_stopped_search_can_continue():
    search, stop_request = Search(QUBIC.start, seed=0), Event()
    stop_request.set()
    with stopped_by(stop_request), pytest.raises(StoppedError):
        search.run(simulations=100)
    assert search.run(simulations=100) == 100 and search.simulations == 100
