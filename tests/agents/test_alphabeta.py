"""Alpha-beta against the sweep and naive negamax, and searches with a time limit."""

import time
from itertools import count

import numpy as np
import pytest

import ttt_env
from tests.support.games import open_boards, random_positions
from tests.support.marks import slow
from ttt_env.agents.planning import alphabeta
from ttt_env.agents.planning.alphabeta import AlphaBeta
from ttt_env.agents.planning.planners import Minimax, utility
from ttt_env.errors import ParameterError
from ttt_env.rules.symmetry import symmetries, transform

FIVES = ttt_env.get_game("mnk-v0:m=5,n=5,k=4")


@pytest.mark.parametrize("depth", [1, 2, *map(slow, (3, 4, 5)), 20])
@pytest.mark.parametrize(
    ("game", "step"),
    [
        ("tictactoe-v0", 40),
        ("tictactoe-v0:misere=true", 40),
        slow("tictactoe-v0", 1),
        slow("tictactoe-v0:misere=true", 1),
        ("mnk-v0:m=4,n=3,k=3", 999),
        ("mnk-v0:m=4,n=3,k=3,misere=true", 999),
    ],
)
def test_moves_match_sweep(game, step, depth):
    boards = open_boards(game)[::step]
    np.testing.assert_allclose(
        AlphaBeta(boards.game, depth).policies(boards), Minimax(boards.game, depth=depth).policies(boards)
    )


def naive_values(game, depth):
    """The values of all legal moves by plain negamax on `Position`, without windows and tables."""

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
        ("mnk-v0:m=5,n=5,k=4", 1, 10),
        slow("mnk-v0:m=5,n=5,k=4", 1, 40),
        ("mnk-v0:m=5,n=5,k=4", 2, 4),
        slow("mnk-v0:m=5,n=5,k=4", 3, 4),
        ("mnk-v0:m=5,n=4,k=4,misere=true", 2, 4),
        slow("mnk-v0:m=5,n=4,k=4,misere=true", 3, 4),
        slow("qubic-v0", 2, 4),
        ("qubic-v0", 1, 4),
    ],
)
def test_value_moves_and_line_match_naive_negamax(game, depth, n_positions):
    game = ttt_env.get_game(game)
    agent, values = AlphaBeta(game, depth), naive_values(game, depth)
    for position in random_positions(game, n_positions, seed=depth):
        found, naive = agent.search(position), values(position)
        assert found.value == pytest.approx(max(naive.values()))
        assert found.cells == tuple(c for c, v in naive.items() if v == pytest.approx(max(naive.values())))
        assert_line_reaches_value(position, found)


def assert_line_reaches_value(position, found):
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


def test_reused_table_changes_no_answer():
    """One agent searches many positions of both seats."""
    kept = AlphaBeta(FIVES, 4)
    for position in random_positions(FIVES, 15, seed=9):
        fresh = AlphaBeta(FIVES, 4).search(position)
        again = kept.search(position)
        assert (again.cells, again.value) == (fresh.cells, fresh.value)


def test_symmetric_positions_get_symmetric_moves():
    agent = AlphaBeta(FIVES, 5)
    for position in random_positions(FIVES, 4, seed=3):
        cells = agent.search(position).cells
        for motion in symmetries(FIVES):
            assert set(agent.search(transform(position, motion)).cells) == {motion[c] for c in cells}


def test_threads_can_share_agent():
    from concurrent.futures import ThreadPoolExecutor

    agent, positions = AlphaBeta(FIVES, 5), random_positions(FIVES, 12, seed=2)
    with ThreadPoolExecutor(4) as pool:
        found = [lookahead.cells for lookahead in pool.map(agent.search, positions)]
    assert found == [AlphaBeta(FIVES, 5).search(position).cells for position in positions]


def test_clock_is_checked_before_each_null_window_search(monkeypatch):
    """One depth on a large board is thousands of searches, each shorter than a time slice."""
    times, asked = count(0, 0.01), []

    def counted(self, *question, ask=alphabeta._Searcher._is_at_least):
        asked.append(question)
        return ask(self, *question)

    monkeypatch.setattr(alphabeta.time, "monotonic", lambda: next(times))
    monkeypatch.setattr(alphabeta._Searcher, "_is_at_least", counted)
    large = ttt_env.get_game("mnk-v0:m=8,n=8,k=5")
    found = AlphaBeta(large, seconds=1).search(large.start.play(36).play(0))
    assert found.cells and 10 < len(asked) < 110


@pytest.mark.parametrize("game", ["mnk-v0:m=5,n=5,k=4", *map(slow, ("qubic-v0", "tictactoe-v0"))])
def test_time_limit_is_kept_and_depth_two_reached(game):
    game = ttt_env.get_game(game)
    AlphaBeta(game, depth=1).search(game.start)  # This compiles it.
    begin = time.thread_time()  # This clock counts only the time of this thread, so load has no effect.
    found = AlphaBeta(game, seconds=0.2).search(game.start)
    assert time.thread_time() - begin < 1.0
    assert found.depth >= 2
    assert set(found.cells) <= set(game.start.legal_cells)
    assert AlphaBeta(game, seconds=0.5).is_stationary is False


def test_timed_search_matches_search_of_same_depth():
    for position in random_positions(FIVES, 5, seed=8):
        timed = AlphaBeta(FIVES, depth=3, seconds=60).search(position)
        if abs(timed.value) < 1:
            assert timed.cells == AlphaBeta(FIVES, depth=3).search(position).cells


def test_expired_time_limit_still_gives_move():
    policy = AlphaBeta(FIVES, seconds=1e-9).policy(FIVES.start)
    assert (policy > 0).any()


def test_lost_position_is_held_as_long_as_possible():
    position = ttt_env.get_game("mnk-v0:m=4,n=3,k=3").start.play(5)
    found = AlphaBeta(position.game, seconds=20).search(position)
    assert found.value == -1.0
    hopeful, lost = (AlphaBeta(position.game, found.depth + more).search(position) for more in (0, 1))
    assert hopeful.value > -1.0 == lost.value
    assert found.cells == hopeful.cells


@pytest.mark.parametrize(
    "spec", [*"seconds=0 seconds=-1 seconds=nan depth=0 depth=0,seconds=1".split(), "prefer=fast,seconds=1"]
)
def test_invalid_budgets_are_refused(spec):
    with pytest.raises(ParameterError, match=r"(depth|seconds)=.* of minimax|takes either"):
        ttt_env.make_agent(f"minimax:{spec}", FIVES)
