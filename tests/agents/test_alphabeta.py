"""Minimax by alpha-beta: the moves of the sweep and of naive recursion, and searches within a time."""

import pickle
import time
from functools import cache

import numpy as np
import pytest

import ttt_env
from tests.support.marks import slow
from ttt_env.agents.planning.alphabeta import AlphaBeta
from ttt_env.agents.planning.planners import Minimax, utility
from ttt_env.analysis.layers import reachable
from ttt_env.errors import GameTooLargeError, ParameterError
from ttt_env.rules.game import random_position
from ttt_env.rules.symmetry import symmetries, transform

FIVES = ttt_env.get_game("mnk-v0:m=5,n=5,k=4")


@cache
def some_boards(name, most):
    """Positions to be played of each ply: all, or so many."""
    game, rng = ttt_env.get_game(name), np.random.default_rng(0)
    chosen = [
        layer.boards(np.sort(rng.choice(layer.open, min(most, len(layer.open)), replace=False)))
        for layer in reachable(game)
        if len(layer.open)
    ]
    return [position for boards in chosen for position in boards]


@pytest.mark.parametrize("depth", [1, 2, 3, slow(4), slow(5), 20])
@pytest.mark.parametrize(
    ("game", "most"),
    [
        ("tictactoe-v0", 40),
        ("tictactoe-v0:misere=true", 40),
        slow("tictactoe-v0", 5478),
        slow("tictactoe-v0:misere=true", 5478),
        ("mnk-v0:m=4,n=3,k=3", 40),
        ("mnk-v0:m=4,n=3,k=3,misere=true", 40),
    ],
)
def test_the_moves_are_those_of_the_sweep(game, most, depth):
    positions = some_boards(game, most)
    made, boards = positions[0].game, ttt_env.Boards.of(positions)
    np.testing.assert_allclose(
        AlphaBeta(made, depth).policies(boards), Minimax(made, depth=depth).policies(boards)
    )


def naive_values(game, depth):
    """Plain negamax on `Position`, which knows neither windows nor tables: the values of all legal moves."""

    def value(position, left):
        if position.is_over:
            return 0.0 if position.winner is None else 1.0 if position.winner == position.to_move else -1.0
        if left == 0:
            return float(utility(ttt_env.Boards.of([position]))[0])
        return max(-value(position.child(cell), left - 1) for cell in position.legal_cells)

    return lambda position: {c: -value(position.child(c), depth - 1) for c in position.legal_cells}


@pytest.mark.parametrize(
    ("game", "depth", "n_positions"),
    [
        ("mnk-v0:m=5,n=5,k=4", 1, 40),
        ("mnk-v0:m=5,n=5,k=4", 2, 8),
        slow("mnk-v0:m=5,n=5,k=4", 3, 4),
        ("mnk-v0:m=5,n=4,k=4,misere=true", 2, 4),
        slow("mnk-v0:m=5,n=4,k=4,misere=true", 3, 4),
        slow("qubic-v0", 2, 4),
        ("qubic-v0", 1, 4),
    ],
)
def test_value_moves_and_line_are_those_of_naive_negamax(game, depth, n_positions):
    game, rng = ttt_env.get_game(game), np.random.default_rng(depth)
    agent, values = AlphaBeta(game, depth), naive_values(game, depth)
    for _ in range(n_positions):
        position = random_position(game, rng)
        found, naive = agent.search(position), values(position)
        assert found.value == pytest.approx(max(naive.values()))
        assert found.cells == tuple(c for c, v in naive.items() if v == pytest.approx(max(naive.values())))
        assert_line_has_the_value(position, found)


def assert_line_has_the_value(position, found):
    """The principal variation ends at the depth or with the game, in a position worth the value."""
    assert found.principal_variation[0] == found.cells[0]
    sign, left = 1, found.depth
    for cell in found.principal_variation:
        position, sign, left = position.play(cell), -sign, left - 1
    if position.is_over:
        worth = 0 if position.winner is None else 1 if position.winner == position.to_move else -1
    else:
        assert left == 0
        worth = utility(ttt_env.Boards.of([position]))[0]
    assert sign * worth == pytest.approx(found.value)


def test_one_agent_for_many_positions_of_both_seats():
    """The table's entries from earlier searches change no answer."""
    rng, kept = np.random.default_rng(9), AlphaBeta(FIVES, 4)
    for _ in range(15):
        position = random_position(FIVES, rng)
        fresh = AlphaBeta(FIVES, 4).search(position)
        again = kept.search(position)
        assert (again.cells, again.value) == (fresh.cells, fresh.value)


def test_symmetric_positions_are_played_alike():
    rng, agent = np.random.default_rng(3), AlphaBeta(FIVES, 5)
    for _ in range(4):
        position = random_position(FIVES, rng)
        cells = agent.search(position).cells
        for motion in symmetries(FIVES):
            assert set(agent.search(transform(position, motion)).cells) == {motion[c] for c in cells}


def test_threads_may_share_an_agent():
    from concurrent.futures import ThreadPoolExecutor

    rng, agent = np.random.default_rng(2), AlphaBeta(FIVES, 5)
    positions = [random_position(FIVES, rng) for _ in range(12)]
    with ThreadPoolExecutor(4) as pool:
        found = [lookahead.cells for lookahead in pool.map(agent.search, positions)]
    assert found == [AlphaBeta(FIVES, 5).search(position).cells for position in positions]


def test_a_searching_agent_is_pickled_by_its_parameters():
    agent = AlphaBeta(FIVES, 3)
    agent.policy(FIVES.start)
    again = pickle.loads(pickle.dumps(agent))
    assert (again.game, again.depth, again.seconds) == (FIVES, 3, None)


def test_depth_beyond_the_old_limit():
    agent = ttt_env.make_agent("minimax:depth=7", FIVES)
    policy = agent.policy(FIVES.start)
    assert policy.sum() == pytest.approx(1)
    assert agent.is_fixed


# --- Within a time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["mnk-v0:m=5,n=5,k=4", "qubic-v0", "tictactoe-v0"])
def test_seconds_are_kept_and_more_than_one_depth_is_reached(game):
    game = ttt_env.get_game(game)
    AlphaBeta(game, depth=1).search(game.start)  # compiles
    begin = time.monotonic()
    found = AlphaBeta(game, seconds=0.2).search(game.start)
    assert time.monotonic() - begin < 2.0
    assert found.depth >= 2
    assert set(found.cells) <= set(game.start.legal_cells)
    assert AlphaBeta(game, seconds=0.5).is_fixed is False


def test_each_finished_depth_is_exact():
    rng = np.random.default_rng(8)
    for _ in range(5):
        position = random_position(FIVES, rng)
        timed = AlphaBeta(FIVES, depth=3, seconds=60).search(position)
        if abs(timed.value) < 1:
            assert timed.cells == AlphaBeta(FIVES, depth=3).search(position).cells


def test_no_time_at_all_is_any_move():
    policy = AlphaBeta(FIVES, seconds=1e-9).policy(FIVES.start)
    assert (policy > 0).any()


def test_a_lost_position_is_held_as_long_as_possible():
    position = ttt_env.get_game("mnk-v0:m=4,n=3,k=3").start.play(5)
    found = AlphaBeta(position.game, seconds=20).search(position)
    assert found.value == -1.0
    hopeful, lost = (AlphaBeta(position.game, found.depth + more).search(position) for more in (0, 1))
    assert hopeful.value > -1.0 == lost.value
    assert found.cells == hopeful.cells


@pytest.mark.slow
def test_minimax_with_seconds():
    agent = ttt_env.make_agent("minimax:seconds=0.05", FIVES)
    assert not agent.is_fixed
    assert not pickle.loads(pickle.dumps(agent)).is_fixed
    match = ttt_env.match(agent, "random", FIVES, games=4)
    assert not match.exact


# --- Too large, too small ---------------------------------------------------------------------------------


def test_exact_minimax_names_the_ways_out():
    for spec in ("minimax", "minimax:prefer=fast"):
        with pytest.raises(
            GameTooLargeError, match=r"5,n=5,k=4 has 25 cells.*minimax:depth=4.*minimax:seconds=1"
        ):
            ttt_env.make_agent(spec, FIVES)


@pytest.mark.parametrize(
    "spec", ["seconds=0", "seconds=-1", "seconds=nan", "depth=0", "depth=-2", "depth=0,seconds=1"]
)
def test_budgets_that_are_none(spec):
    with pytest.raises(ParameterError, match=r"(depth|seconds)=.* of minimax"):
        ttt_env.make_agent(f"minimax:{spec}", FIVES)


def test_seconds_and_preference():
    with pytest.raises(ParameterError, match="not both"):
        ttt_env.make_agent("minimax:prefer=fast,seconds=1", FIVES)
