"""The distance of positions from the end: against naive recursion on every position of small games."""

from functools import cache

import numpy as np
import pytest

from tests.support import naive
from ttt_env import Boards, Game, Position, get_game, solve
from ttt_env.analysis.solution import distances
from ttt_env.errors import GameTooLargeError

TICTACTOE = get_game("tictactoe-v0")
MISERE = get_game("tictactoe-v0:misere=true")
LOPSIDED = Game("lopsided", (2, 3), [(0, 1, 2), (0, 4), (2, 3, 5)])
SHORT = Game("short", (2, 3), [(0,), (1, 2)], misere=True)
SMALL = [TICTACTOE, MISERE, LOPSIDED, SHORT, *map(get_game, ("mnk-v0:m=4,n=2,k=3", "mnk-v0:m=1,n=1,k=1"))]


@cache
def all_positions(game):
    """The naive twin of a game, all its boards, and the same as a batch."""
    twin = naive.twin(game)
    boards = twin.boards()
    return twin, boards, Boards.of([Position(game, *naive.masks(board)) for board in boards])


@pytest.mark.parametrize("game", SMALL, ids=repr)
class TestEveryPosition:
    def test_distance_is_the_naive_one(self, game):
        twin, texts, boards = all_positions(game)
        plies = distances(game).of(boards)
        assert plies.dtype == np.int8
        assert plies.tolist() == [twin.distance(board) for board in texts]

    def test_perfect_cells_are_the_naive_ones(self, game):
        twin, texts, boards = all_positions(game)
        for board, perfect in zip(texts, distances(game).perfect(boards), strict=True):
            assert np.flatnonzero(perfect).tolist() == twin.perfect_cells(board)

    def test_the_sign_of_a_score_is_the_value(self, game):
        _, _, boards = all_positions(game)
        assert np.sign(distances(game).scores.of(boards)).tolist() == solve(game).values.of(boards).tolist()


@pytest.mark.parametrize(
    "text, plies, good, perfect",
    [
        ("XOO/X../...", 1, [4, 5, 6, 7, 8], [6]),  # X has the column open, and may first make a fork
        ("XX./O../...", 4, [2, 4, 5, 6, 7, 8], [2]),  # O loses, and must block to hold out
        ("X../.O./..X", 6, [1, 3, 5, 7], [1, 3, 5, 7]),  # a draw fills the board
    ],
)
def test_single_positions(text, plies, good, perfect):
    position = Position.parse(text)
    boards = Boards.of([position])
    assert distances(TICTACTOE).of(boards).tolist() == [plies]
    assert solve(TICTACTOE).best_cells(position) == good
    assert np.flatnonzero(distances(TICTACTOE).perfect(boards)[0]).tolist() == perfect


def test_nothing_is_perfect_after_the_end():
    over = Boards.of([Position.parse(text) for text in ("XXX/OO./...", "XOX/XOO/OXX")])
    assert distances("tictactoe-v0").of(over).tolist() == [0, 0]
    assert not distances("tictactoe-v0").perfect(over).any()


def test_no_positions():
    none = Boards.start(TICTACTOE, 0)
    assert distances(TICTACTOE).of(none).shape == (0,)
    assert distances(TICTACTOE).perfect(none).shape == (0, 9)


def test_scores_take_a_byte_each_and_are_kept():
    found = distances("mnk-v0:m=4,n=3,k=3")
    assert {layer.dtype for layer in found.scores.layers} == {np.dtype(np.int8)}
    assert distances(get_game("mnk-v0", m=4, n=3, k=3)) is found


def test_a_game_too_large():
    with pytest.raises(GameTooLargeError, match="18 cells are the limit"):
        distances("qubic-v0")
