"""Long searches and sweeps end when they are told that nobody waits for them."""

from threading import Event, Timer

import pytest

from ttt_env import exploitability, get_game, make_agent, prove
from ttt_env.agents.mcts.search import Search
from ttt_env.compiled.stopping import StoppedError, check_stopped, stopped_by

QUBIC = get_game("qubic-v0")
LONG = {
    "a tree search": lambda: Search(QUBIC.start).run(seconds=10_000),
    "alpha-beta": lambda: make_agent("minimax:seconds=10000", QUBIC).policy(QUBIC.start),
    "a proof": lambda: prove(QUBIC, seconds=10_000),  # which takes hours at least
    "a sweep": lambda: [exploitability("random", "mnk-v0:m=4,n=3,k=3") for _ in range(100_000)],
}


@pytest.mark.parametrize("name", LONG)
def test_it_ends_when_it_is_told(name):
    unwanted = Event()
    timer = Timer(0.05, unwanted.set)
    timer.start()
    with stopped_by(unwanted), pytest.raises(StoppedError):
        LONG[name]()
    timer.join()


def test_nothing_ends_that_is_wanted():
    check_stopped()
    unwanted, other = Event(), Event()
    unwanted.set()
    with stopped_by(other):
        check_stopped()
        with stopped_by(unwanted), pytest.raises(StoppedError):
            check_stopped()
        check_stopped()
    check_stopped()


def test_a_search_that_was_ended_can_go_on():
    search, unwanted = Search(QUBIC.start, seed=0), Event()
    unwanted.set()
    with stopped_by(unwanted), pytest.raises(StoppedError):
        search.run(simulations=100)
    assert search.run(simulations=100) == 100 and search.simulations == 100
