"""Long searches and sweeps end when they are told that nobody waits for them."""

from threading import Event, Timer

import numpy as np
import pytest

from ttt_env import exploitability, get_game, make_agent, prove
from ttt_env.agents.mcts.search import Search
from ttt_env.compiled.stopping import StoppedError, check_wanted, due_by, is_due, stopped_by

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
    check_wanted()
    unwanted, other = Event(), Event()
    unwanted.set()
    with stopped_by(other):
        check_wanted()
        with stopped_by(unwanted), pytest.raises(StoppedError):
            check_wanted()
        check_wanted()
    check_wanted()


def test_a_search_that_was_ended_can_go_on():
    search, unwanted = Search(QUBIC.start, seed=0), Event()
    unwanted.set()
    with stopped_by(unwanted), pytest.raises(StoppedError):
        search.run(simulations=100)
    assert search.run(simulations=100) == 100 and search.iterations == 100


TIMED = {"a tree search": "mcts:seconds=10000", "alpha-beta": "minimax:seconds=10000"}


@pytest.mark.parametrize("name", TIMED)
def test_a_search_for_a_time_moves_when_it_is_due(name):
    due = Event()
    timer = Timer(0.05, due.set)
    timer.start()
    with due_by(due):
        cell = make_agent(TIMED[name], QUBIC).choose(QUBIC.start, np.random.default_rng(0))
    timer.join()
    assert cell in QUBIC.start.legal_cells


def test_what_is_due_at_once_still_has_a_move():
    due = Event()
    due.set()
    with due_by(due):
        for spec in TIMED.values():
            policy = make_agent(spec, QUBIC).policy(QUBIC.start)
            assert policy.sum() == pytest.approx(1)


def test_a_search_to_a_budget_is_not_cut_short():
    due = Event()
    due.set()
    search = Search(QUBIC.start)
    with due_by(due):
        assert search.run(simulations=20_000) == 20_000
        assert is_due()
        deep = make_agent("minimax:depth=2", QUBIC)
        limited = deep.policy(QUBIC.start)
    assert (limited == deep.policy(QUBIC.start)).all()
    assert not is_due()
