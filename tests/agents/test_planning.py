"""Planning agents against naive recursion on every position of 3×3, and against published figures."""

from fractions import Fraction

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support import naive
from tests.support.games import MISERE, TICTACTOE, open_boards, random_positions
from tests.support.marks import slow
from tests.support.naive import twin
from tests.support.naive_agent import naive_sums, negamax
from ttt_env.agents.planning.planners import BruteForce, Minimax, Softmax, every_move, utility
from ttt_env.analysis.induction import backward_induction, softmax
from ttt_env.analysis.layers import reachable
from ttt_env.errors import ParameterError

BOTH = pytest.mark.parametrize("game", [TICTACTOE, slow(MISERE)], ids=["tictactoe", "misère"])


def assert_plays_largest(agent, game, score):
    """Check that the agent plays uniformly among the cells of largest `score(board, cell)` everywhere."""
    boards = open_boards(game)
    for position, policy in zip(boards, agent.policies(boards), strict=True):
        board = naive.board_of(str(position))
        scores = {cell: score(board, cell) for cell in position.legal_cells}
        largest = [cell for cell, value in scores.items() if value == max(scores.values())]
        assert np.flatnonzero(policy).tolist() == largest
        assert policy[largest] == pytest.approx([1 / len(largest)] * len(largest))


@BOTH
def test_fast_minimax_wins_soonest_and_loses_latest(game):
    def is_perfect(board, cell):
        return cell in twin(game).perfect_cells(board)

    assert_plays_largest(Minimax(game, "fast"), game, is_perfect)


@pytest.mark.parametrize(
    ("game", "depth"),
    [(TICTACTOE, 2), (MISERE, 1), *(slow(game, n) for game in (TICTACTOE, MISERE) for n in (1, 2, 3, 4, 5))],
)
@pytest.mark.slow
def test_depth_limited_minimax_matches_naive_negamax(game, depth):
    assert_plays_largest(Minimax(game, depth=depth), game, negamax(game, depth))


def test_depth_beyond_end_is_exact():
    deep = Minimax(TICTACTOE, depth=20).policies(open_boards())
    np.testing.assert_array_equal(deep, Minimax(TICTACTOE).policies(open_boards()))


@pytest.mark.parametrize("depth", [1, slow(2), slow(3)])
@pytest.mark.parametrize("game", ["mnk-v0:m=5,n=5,k=3", "mnk-v0:m=5,n=4,k=4,misere=true"])
def test_large_game_search_matches_naive_negamax(game, depth):
    game = ttt_env.get_game(game)
    agent, score = Minimax(game, depth=depth), negamax(game, depth)
    for position in random_positions(game, 15, seed=depth):
        board = naive.board_of(str(position))
        scores = {cell: score(board, cell) for cell in position.legal_cells}
        largest = [cell for cell, value in scores.items() if value == max(scores.values())]
        assert np.flatnonzero(agent.policy(position)).tolist() == largest


def test_utility_stays_below_value_of_win():
    game = ttt_env.Game("star", (4, 4), [(0, 8 + cell) for cell in range(8)])
    eight_threats = ttt_env.Position(game, 1, 0b10)
    boards = ttt_env.Boards.of([eight_threats, eight_threats.play(2)])
    assert utility(boards).tolist() == [0.99, -0.99]
    assert utility(ttt_env.Boards.of([ttt_env.Position.parse("XX./.../OO.")])).tolist() == [0]


def test_softmax_matches_published_example():
    position = ttt_env.Position.parse(reference.SOFTMAX_POSITION)
    policy = ttt_env.make_agent("softmax:temperature=0.2,opponent_temperature=1").policy(position)
    assert {c: round(100 * policy[c], 2) for c in position.legal_cells} == reference.SOFTMAX_PERCENT
    values = backward_induction(reachable(TICTACTOE), softmax(0.2), softmax(1.0)).values()
    assert round(values.of(ttt_env.Boards.of([position]))[0], 4) == reference.SOFTMAX_VALUE


def test_each_seat_assumes_opponent_temperature():
    boards = open_boards()
    agent = Softmax(TICTACTOE, 0.2, 1.0)
    for parity, seats in ((0, (0.2, 1.0)), (1, (1.0, 0.2))):
        values = backward_induction(reachable(TICTACTOE), *map(softmax, seats)).values()
        mine = boards[boards.ply % 2 == parity]
        np.testing.assert_allclose(agent.policies(mine), softmax(0.2)(values.q(mine), mine.legal), atol=1e-12)


@pytest.mark.parametrize(
    ("temperature", "limit"),
    [
        *((cold, "minimax") for cold in (0, 1e-9, 5e-324)),
        *((hot, "random") for hot in (1e9, 1e300, float("inf"))),
    ],
)
def test_softmax_limits_are_minimax_and_random(temperature, limit):
    with np.errstate(all="raise"):
        found = Softmax(TICTACTOE, temperature).policies(open_boards())
    expected = ttt_env.make_agent(limit).policies(open_boards())
    np.testing.assert_allclose(found, expected, atol=1e-12 if limit == "minimax" else 1e-8)


@BOTH
def test_brute_force_plays_largest_sum(game):
    sums = naive_sums(game)
    assert_plays_largest(
        BruteForce(game),
        game,
        lambda board, cell: sums[naive.play(board, cell)]["XO".index(naive.mover(board))],
    )


def test_brute_force_score_matches_walk_over_all_games():
    def walk(board, seat):
        """The sum over the ends of all histories."""
        cells = [cell for cell, stone in enumerate(board) if stone == "."]
        winner = twin(TICTACTOE).winner(board)
        if winner is None and cells:
            return sum(walk(naive.play(board, cell), seat) for cell in cells)
        points = 10 if winner is None else 50 if winner == seat else -10
        return points * 2520 // (10 - len(cells))  # The factor 2520 makes all terms integers.

    scores = BruteForce(TICTACTOE).scores(ttt_env.Boards.start(TICTACTOE))[0]
    assert round(scores[4] * 2520) == walk("....X....", "X")


def test_tree_size_matches_published_counts():
    layers = reachable(TICTACTOE)
    games = backward_induction(layers, every_move, every_move)
    assert games.start == (reference.GAMES_BY_WINNER["X"], reference.GAMES_BY_WINNER["O"])
    perft = [nodes_of_ply(layers, ply) for ply in range(10)]
    assert perft == reference.PERFT
    assert sum(perft) == reference.HISTORIES == 549_946


def nodes_of_ply(layers, ply):
    """The number of histories of `ply` moves: each pays 1 to the player to move, earlier ends pay 0."""

    def payoff(at):
        return (0.0, 1.0, 1.0) if at == ply else (0.0, 0.0, 0.0)

    found = backward_induction(
        layers[: ply + 1], every_move, every_move, payoff=payoff, leaves=lambda boards: np.ones(len(boards))
    )
    return found.start[ply % 2]


@pytest.mark.parametrize(
    ("spec", "worst", "as_x", "as_o"),
    [
        ("block", (-1, -1), Fraction(7, 15), Fraction(89, 96)),
        ("win-block", (-1, -1), Fraction(2, 5), Fraction(89, 96)),
        ("rules", (-1, -1), Fraction(3, 35), Fraction(5, 6)),
        ("brute-force", (0, -1), 0, 1),
        ("minimax:depth=4", (0, 0), 0, 0),
        ("minimax:depth=5", (0, -1), 0, Fraction(2, 3)),
        ("minimax", (0, 0), 0, 0),
    ],
)
def test_best_response_gains_known_values(spec, worst, as_x, as_o):
    assert tuple(ttt_env.certify(spec).worst_case.values()) == worst
    found = ttt_env.exploitability(spec)
    assert (found.as_x, found.as_o) == pytest.approx((float(as_x), float(as_o)), abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("minimax:depth=0", "depth=0 of minimax: expected an integer ≥ 1"),
        ("minimax:depth=-3", "depth=-3 of minimax"),
        ("minimax:depth=1.5", "depth='1.5' of minimax: expected an integer ≥ 1"),
        ("minimax:prefer=fsat", "prefer='fsat' of minimax: expected one of any, fast; did you mean fast"),
        ("minimax:seconds=0", "seconds=0.0 of minimax: expected a number > 0"),
        ("minimax:prefer=fast,depth=2", "takes either"),
        ("minimax:detph=2", "did you mean depth"),
        ("softmax:temperature=-0.1", "temperature=-0.1 of softmax: expected a number ≥ 0"),
        ("softmax:temperature=nan", "temperature=nan of softmax"),
        ("softmax:temperature=1,opponent_temperature=-1", "opponent_temperature=-1.0 of softmax"),
        ("softmax:temperature=cold", "temperature='cold' of softmax: expected a number ≥ 0"),
        ("brute-force:depth=2", "unknown parameter 'depth' of brute-force"),
    ],
)
def test_invalid_parameters_are_refused(spec, message):
    with pytest.raises(ParameterError, match=message):
        ttt_env.make_agent(spec)
