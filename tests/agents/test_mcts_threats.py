"""Tree search with threat search first, on five in a row."""

import numpy as np
import pytest

import ttt_env
from tests.support.games import random_game
from ttt_env import Position
from ttt_env.agents.mcts import MCTS
from ttt_env.agents.mcts.search import Search

FIVES = ttt_env.get_game("mnk-v0:m=8,n=8,k=5")


def position_of(mine, theirs):
    masks = (sum(1 << cell for cell in cells) for cells in (mine, theirs))
    return Position(FIVES, *masks).checked()


def at(row, column):
    return 8 * row + column


CROSSING = [at(7, 3), at(7, 4), at(7, 5), at(3, 6), at(4, 6), at(5, 6)]  # X wins at the crossing (7, 6).
BLOCKING = [at(7, 2), at(2, 6), at(0, 0), at(0, 3), at(2, 0)]


def test_wins_and_blocks_are_played_at_once():
    four, three = [at(3, c) for c in range(2, 6)], [at(0, 0), at(1, 4), at(7, 1)]
    for simulations in (1, 300):
        agent = MCTS(FIVES, simulations, seed=0, threats=True)
        own = agent.policy(position_of(four, [*three, at(7, 7)]))
        assert set(np.flatnonzero(own)) <= {at(3, 1), at(3, 6)}
        closed = position_of([at(3, 1), *three], four)
        assert agent.policy(closed)[at(3, 6)] == 1


def test_threat_search_finds_sequence_that_plain_search_misses():
    """Two crossing threats: either alone can be parried, but together they leave two winning cells."""
    position = position_of(CROSSING, [*BLOCKING, at(5, 1)])
    found = Search(position, threats=True)
    found.run(10)
    assert found.value == 1 and found.best_cells() == [at(7, 6)]
    plain = Search(position)
    plain.run(10)
    assert plain.value is None


def test_moves_ignoring_open_three_are_proved_lost():
    three, x = [at(3, 3), at(3, 4), at(3, 5)], [at(0, 0), at(7, 1), at(0, 7)]
    search = Search(position_of(x, three), threats=True, seed=1)
    search.run(1500)
    holds = {at(3, 2), at(3, 6)}
    assert set(search.best_cells()) <= holds
    assert set(np.flatnonzero(search.values == -1)) == set(search.position.legal_cells) - holds


def test_policy_depends_only_on_seed_and_position():
    positions = random_game(FIVES, np.random.default_rng(3))[4:16:3]
    agent, again = (MCTS(FIVES, 200, seed=5, threats=True) for _ in range(2))
    policies = [agent.policy(position) for position in positions]
    for position, policy in zip(reversed(positions), reversed(policies), strict=True):
        np.testing.assert_array_equal(again.policy(position), policy)


def test_kept_tree_has_moves_in_decided_positions():
    search = Search(position_of(BLOCKING, CROSSING), threats=True)
    search.run(800)
    search.advance(at(1, 4))
    assert search.is_proved is False or search.best_cells()
    search.run(50)
    assert search.value == 1 and search.best_cells() == [at(7, 6)]


@pytest.mark.slow
def test_threats_do_no_harm_on_small_boards():
    """On 3×3 the search with threats is proved unbeatable; in misère games threats change nothing."""
    assert ttt_env.certify("mcts:simulations=300,seed=0,threats=true").unbeatable
    misere = ttt_env.get_game("tictactoe-v0:misere=true")
    plain, threats = (
        ttt_env.make_agent(f"mcts:simulations=50,seed=0{more}", misere) for more in ("", ",threats=true")
    )
    np.testing.assert_array_equal(plain.policy(misere.start), threats.policy(misere.start))
