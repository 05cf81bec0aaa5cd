"""Distances to the end of the game against naive recursion on every position of small games."""

import numpy as np
import pytest

from tests.support.games import LOPSIDED, MISERE, ONE_CELL, SHORT, TICTACTOE, TREE, boards_of, positions_of
from tests.support.marks import slow
from tests.support.naive import twin
from ttt_env import Boards, get_game, solve
from ttt_env.analysis.solution import distances
from ttt_env.errors import GameTooLargeError

SMALL = [TICTACTOE, slow(MISERE), LOPSIDED, SHORT, TREE, get_game("mnk-v0:m=4,n=2,k=3"), ONE_CELL]


@pytest.mark.parametrize("game", SMALL, ids=repr)
def test_distances_match_naive_recursion(game):
    found, boards = distances(game), boards_of(game)
    plies = found.of(boards)
    assert plies.dtype == np.int8
    assert plies.tolist() == [twin(game).distance(board) for board in positions_of(game)]
    for board, perfect in zip(positions_of(game), found.perfect_moves(boards), strict=True):
        assert np.flatnonzero(perfect).tolist() == twin(game).perfect_cells(board)
    assert np.sign(found.scores.of(boards)).tolist() == solve(game).values.of(boards).tolist()


def test_empty_batch_has_empty_result():
    none = Boards.start(TICTACTOE, 0)
    assert distances(TICTACTOE).of(none).shape == (0,)
    assert distances(TICTACTOE).perfect_moves(none).shape == (0, 9)


def test_scores_take_one_byte_and_are_cached():
    found = distances("mnk-v0:m=4,n=3,k=3")
    assert {layer.dtype for layer in found.scores.layers} == {np.dtype(np.int8)}
    assert distances(get_game("mnk-v0", m=4, n=3, k=3)) is found


def test_too_large_game_is_refused():
    with pytest.raises(GameTooLargeError, match="18 cells are the limit"):
        distances("qubic-v0")
