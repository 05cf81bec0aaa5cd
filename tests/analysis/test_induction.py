"""The sweep and its responders against naive recursion everywhere, and against published values."""

from collections import Counter
from functools import cache
from math import exp

import numpy as np
import pytest

from tests import reference
from tests.support import naive
from tests.support.agents import asked
from tests.support.games import (
    CONNECT_THREE,
    LOPSIDED,
    MISERE,
    ONE_CELL,
    SHORT,
    TICTACTOE,
    TREE,
    boards_of,
    positions_of,
)
from tests.support.marks import slow
from tests.support.naive import twin
from tests.support.refusals import all_raise
from ttt_env import Boards, Position, get_game, solve
from ttt_env.analysis.induction import backward_induction, best, follow, follow_answers, softmax, uniform
from ttt_env.analysis.layers import reachable, reached_layers
from ttt_env.errors import GameTooLargeError, ImpossiblePositionError

SMALL = [TICTACTOE, slow(MISERE), LOPSIDED, SHORT, slow(get_game("mnk-v0:m=4,n=2,k=3")), ONE_CELL]
SMALL += [CONNECT_THREE, TREE]
ALL = np.ones((1, 3), bool)


def open_boards_of(game):
    boards = boards_of(game)
    return boards[~boards.is_over]


def policy_of(game, policy):
    """A naive policy as a batch policy."""

    def policies(boards):
        found = np.zeros((len(boards), game.n_cells))
        for row, position in zip(found, boards, strict=True):
            chances = policy(naive.board_of(str(position)))
            row[list(chances)] = list(chances.values())
        return found

    return policies


class TestResponders:
    @pytest.mark.parametrize(
        "q, policy",
        [
            ([0.5, -1.0, 0.5], [0.5, 0.0, 0.5]),
            ([0.1 + 0.2, 0.3, 0.0], [0.5, 0.5, 0.0]),  # These are equal except for rounding.
            ([0.3 + 1e-6, 0.3, 0.0], [1.0, 0.0, 0.0]),
        ],
    )
    def test_best_is_uniform_among_best_moves(self, q, policy):
        assert best(np.array([q]), ALL).tolist() == [policy]

    @pytest.mark.parametrize("respond", [best, uniform, softmax(0), softmax(0.1), softmax(np.inf)])
    def test_illegal_moves_are_not_played(self, respond):
        q = np.array([[9.0, -1.0, -1.0], [np.nan, 0.0, np.nan]])
        legal = np.array([[0, 1, 1], [0, 1, 0]], bool)
        assert respond(q, legal).tolist() == [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]]

    def test_softmax_matches_formula_and_hot_limit(self):
        q, weights = np.array([[1.0, 0.0, -1.0]]), np.exp([2.0, 0.0, -2.0])
        assert softmax(0.5)(q, ALL)[0] == pytest.approx(weights / weights.sum(), abs=1e-8)
        for temperature in (1e12, 1e300, np.inf):
            assert softmax(temperature)(q, ALL)[0] == pytest.approx([1 / 3] * 3)

    @pytest.mark.parametrize("temperature", [0, 1e-6, 1e-300, 5e-324])
    def test_cold_softmax_is_best_without_overflow(self, temperature):
        q = np.array([[0.1 + 0.2, 0.3, -1.0]])
        assert softmax(temperature)(q, ALL).tolist() == [[0.5, 0.5, 0.0]]

    def test_follow_requires_moves(self):
        with pytest.raises(ValueError, match="`moves` is needed"):
            follow(lambda boards: boards.legal)(np.zeros((1, 3)), ALL)


@pytest.mark.parametrize("game", SMALL, ids=repr)
class TestSweepAgainstNaiveRecursion:
    def test_solution_matches_naive_values(self, game):
        solution, other = solve(game), twin(game)
        due = [other.value(board) for board in positions_of(game)]
        assert solution.values.of(boards_of(game)).tolist() == due
        for board, position in list(positions_of(game).items())[:: 7 if game.n_cells == 9 else 1]:
            assert solution.value_of(position) == other.value(board)
            assert solution.best_cells(position) == other.best_cells(board)
            values = {cell: -other.value(naive.play(board, cell)) for cell in other.moves(board)}
            assert solution.values_by_cell(str(position)) == values
        to_play = open_boards_of(game)
        optimal = policy_of(game, twin(game).optimal)(to_play)
        assert solution.policy().policies(to_play) == pytest.approx(optimal)

    @pytest.mark.parametrize("x, o", [("odd", "odd"), ("uniform", "odd"), ("first", "uniform")])
    def test_outcomes_under_two_policies_match_naive_results(self, game, x, o):
        other = twin(game)
        expected = other.results(getattr(other, x), getattr(other, o))
        seats = [follow(policy_of(game, getattr(other, name))) for name in (x, o)]
        outcomes = backward_induction(reachable(game), *seats)
        for board, found in zip(positions_of(game), outcomes.values().of(boards_of(game)), strict=True):
            x_wins, _, o_wins = expected[board]
            sign = 1 if naive.mover(board) == "X" else -1
            assert found == pytest.approx(float(x_wins - o_wins) * sign, abs=1e-12)
        x_wins, _, o_wins = map(float, expected[other.empty])
        assert outcomes.start == pytest.approx((x_wins, o_wins))
        asks = [asked(policy_of(game, getattr(other, name))) for name in (x, o)]
        reached = backward_induction(list(reached_layers(game, *asks)), follow_answers, follow_answers)
        assert reached.start == pytest.approx((x_wins, o_wins))

    def test_softmax_on_both_seats_matches_naive_values(self, game):
        @cache
        def value(board):
            seat = naive.mover(board)
            q = [-value(naive.play(board, cell)) for cell in twin(game).moves(board)]
            weights = [exp(each / {"X": 0.3, "O": 1.5}[seat]) for each in q]
            return np.dot(weights, q) / sum(weights) if q else twin(game).result(board, seat)

        values = backward_induction(reachable(game), softmax(0.3), softmax(1.5)).values()
        assert values.of(Boards.start(game))[0] == pytest.approx(value(twin(game).empty), abs=1e-8)

    def test_q_is_value_of_next_position(self, game):
        found = solve(game).values.q(boards_of(game))
        for (board, position), q in zip(positions_of(game).items(), found, strict=True):
            assert np.flatnonzero(~np.isnan(q)).tolist() == position.legal_cells
            for cell in position.legal_cells:
                assert q[cell] == -twin(game).value(naive.play(board, cell))


@pytest.mark.parametrize("game", [TICTACTOE, SHORT, LOPSIDED], ids=repr)
def test_payoff_may_depend_on_ply(game):
    def payoff(ply):
        return 50.0 / (ply + 1), 10.0 / (ply + 1), -10.0 / (ply + 2)

    @cache
    def expected(seat, board):
        after = [expected(seat, naive.play(board, cell)) for cell in twin(game).moves(board)]
        ply = len(board) - board.count(".")
        return sum(after) / len(after) if after else payoff(ply)[1 - twin(game).result(board, seat)]

    start = backward_induction(reachable(game), uniform, uniform, payoff=payoff).start
    assert start == pytest.approx([expected(seat, twin(game).empty) for seat in "XO"], abs=1e-12)


@pytest.mark.parametrize("ply", [0, 4, 9, *map(slow, (1, 2, 3, 5, 6, 7, 8))])
def test_sweep_may_start_and_end_at_any_ply(ply):
    """Exact values at the leaves give exact values above them."""
    values, layers, boards = solve(TICTACTOE).values, reachable(TICTACTOE), boards_of(TICTACTOE)
    above, below = boards[boards.ply <= ply], boards[boards.ply >= ply]
    found = backward_induction(layers[: ply + 1], best, best, leaves=values.of).values()
    assert found.of(above) == pytest.approx(values.of(above))
    found = backward_induction(layers[ply:], best, best).values()
    assert found.of(below) == pytest.approx(values.of(below))
    assert found.q(below) == pytest.approx(values.q(below), nan_ok=True)


class TestTicTacToe:
    solution = solve(TICTACTOE)

    def test_counts_match_published_ones(self):
        boards = open_boards_of(TICTACTOE)
        signs = np.where(boards.ply % 2, -1, 1)
        assert Counter((self.solution.values.of(boards) * signs).tolist()) == reference.VALUES_FOR_X
        right = (self.solution.policy().policies(boards) > 0).sum(axis=1)
        assert (right < boards.legal.sum(axis=1)).sum() == reference.CAN_BLUNDER
        assert (right == 1).sum() == reference.ONE_RIGHT_MOVE

    def test_drawing_openings_and_replies_match_published_ones(self):
        assert self.solution.value == 0
        assert self.solution.best_cells(TICTACTOE.start) == list(range(9))
        for opening, replies in reference.DRAWING_REPLIES.items():
            position = TICTACTOE.start.play(opening)
            assert self.solution.value_of(position) == 0
            assert self.solution.best_cells(position) == replies, opening
        assert solve(MISERE).value == reference.MISERE_VALUE
        assert solve(MISERE).best_cells(MISERE.start) == reference.MISERE_DRAWING_OPENINGS


def test_softmax_minimax_matches_published_example():
    values = backward_induction(reachable(TICTACTOE), softmax(0.2), softmax(1)).values()
    boards = Boards.of([Position.parse(reference.SOFTMAX_POSITION)])
    percent = 100 * softmax(0.2)(values.q(boards), boards.legal)[0]
    assert round(float(values.of(boards)[0]), 4) == reference.SOFTMAX_VALUE
    rounded = {cell: round(float(share), 2) for cell, share in enumerate(percent) if share}
    assert rounded == reference.SOFTMAX_PERCENT


@pytest.fixture(scope="module")
def large(request):
    yield get_game(request.param)
    for n in range(1, 5):  # Four small games evict the large one from the caches.
        solve(get_game("mnk-v0", m=n, n=1, k=1))


class TestLargerGames:
    @pytest.mark.parametrize(
        "large",
        [slow(name) if get_game(name).n_cells == 16 else name for name in reference.ENUMERABLE],
        indirect=True,
    )
    def test_positions_value_and_openings_match_published_ones(self, large):
        found = solve(large)
        assert (sum(map(len, reachable(large))), found.value) == reference.ENUMERABLE[large.name]
        if (failing := reference.FAILING_OPENINGS.get(large.name)) is not None:
            assert found.best_cells(large.start) == [c for c in range(large.n_cells) if c not in failing]

    @pytest.mark.slow
    @pytest.mark.parametrize("large", ["square-v0"], indirect=True)
    def test_square_random_against_random_matches_published_results(self, large):
        x, o = backward_induction(reachable(large), uniform, uniform).start
        assert [round(number, 12) for number in (x, 1 - x - o, o)] == list(reference.SQUARE_RANDOM_V_RANDOM)


def test_foreign_positions_and_large_games_are_refused():
    asked, another = solve(TICTACTOE), "of tictactoe-v0:misere=true, not of tictactoe-v0"
    asks = (asked.value_of, asked.best_cells)
    all_raise(ImpossiblePositionError, another, lambda ask: ask(MISERE.start), asks)
    too_large = r"18 cells are the limit\. On larger boards `match`"
    all_raise(GameTooLargeError, too_large, solve, ["mnk-v0", "qubic-v0"])


@pytest.mark.parametrize("game", [TICTACTOE, MISERE], ids=lambda game: game.name)
def test_value_keeping_moves_draw_against_best_play(game):
    keep, layers = solve(game).restrict_to_best(uniform), reachable(game)
    assert backward_induction(layers, keep, best).values().of(Boards.start(game)) == [0]
    assert backward_induction(layers, best, keep).values().of(Boards.start(game)) == [0]
