"""Batches of positions follow the same rules as single positions."""

import random

import numpy as np
import pytest

from tests.support.games import (
    CONNECT_THREE,
    LOPSIDED,
    MISERE,
    TICTACTOE,
    TREE,
    played_positions,
    positions_of,
)
from tests.support.marks import slow
from tests.support.refusals import all_raise
from ttt_env import Boards, Game, get_game
from ttt_env.errors import ImpossiblePositionError, ParameterError, UnknownGameError
from ttt_env.rules.boards import owns_set, pack_masks

WIDE = Game("wide", (64,), [(0, 63), (31, 32, 33), (62, 63)])
LARGE = [
    *map(get_game, ("square-v0", "mnk-v0", "qubic-v0", "qubic-v0:misere=true", "mnk-v0:m=7,n=3,k=3")),
    get_game("connect-four-v0"),
    WIDE,
]


def positions(game):
    return played_positions(game, 6) if game.n_cells > 9 else list(positions_of(game).values())


def test_copy_has_its_own_arrays():
    boards = Boards.of([TICTACTOE.start, TICTACTOE.start.play(4)])
    copied = boards.copy()
    assert list(copied) == list(boards) and (copied.legal == boards.legal).all()
    for array in (copied.mine, copied.theirs, copied.legal):
        array[:] = 0
    assert list(boards)[1] == TICTACTOE.start.play(4) and boards.legal.sum() == 17


def test_invalid_batches_are_refused():
    several = [[TICTACTOE.start, MISERE.start], [TICTACTOE.start, LOPSIDED.start]]
    text = "at least one position, and all of one game"
    all_raise(ImpossiblePositionError, text, Boards.of, [None, 3, [], ["X../.../..."], *several])


@pytest.mark.parametrize("game", [TICTACTOE, slow(MISERE), LOPSIDED, CONNECT_THREE, TREE, *LARGE], ids=repr)
class TestBoardsMatchPositions:
    def test_boards_round_trip_and_match_properties(self, game):
        due = positions(game)
        boards = Boards.of(due)
        assert len(boards) == len(due)
        assert list(boards) == due == [boards[i] for i in range(len(due))]
        assert boards.ply.tolist() == [position.ply for position in due]
        assert boards.occupied_masks.tolist() == [position.occupied_mask for position in due]
        assert boards.is_won.tolist() == [position.is_won for position in due]
        assert boards.is_over.tolist() == [position.is_over for position in due]

    def test_cells_match_positions(self, game):
        due = positions(game)
        boards = Boards.of(due)
        stones = boards.cells(boards.mine)
        assert boards.legal.shape == stones.shape == (len(due), game.n_cells)
        for legal, row, position in zip(boards.legal, stones, due, strict=True):
            assert np.flatnonzero(legal).tolist() == position.legal_cells
            assert sum(1 << cell for cell in np.flatnonzero(row).tolist()) == position.mine
        assert pack_masks(stones).tolist() == boards.mine.tolist()

    def test_single_position_batch_matches_position(self, game):
        # Large batches look up winning sets in a table; small batches compute them.
        for position in positions(game)[::13]:
            alone = Boards.of([position])
            assert alone.is_won[0] == position.is_won
            assert np.flatnonzero(alone.legal[0]).tolist() == position.legal_cells

    def test_every_action_matches_position(self, game):
        due = positions(game)
        boards = Boards.of(due)
        for cell in range(game.n_cells):
            at = np.flatnonzero(boards.legal[:, cell])
            played = boards[at].play(np.full(len(at), cell))
            assert list(played) == [due[i].child(cell) for i in at]
        rng, at = (
            random.Random(4),
            np.flatnonzero(~boards.is_over),
        )  # Now each position gets a different action.
        cells = [rng.choice(due[i].legal_cells) for i in at]
        played = boards[at].play(np.array(cells))
        assert list(played) == [due[i].child(cell) for i, cell in zip(at, cells, strict=True)]


@pytest.mark.parametrize("game", [TICTACTOE, LARGE[0], LARGE[2], WIDE], ids=repr)
def test_owns_set_accepts_masks_of_any_shape(game):
    masks = np.array([position.theirs for position in played_positions(game)][:60], np.uint64).reshape(5, 12)
    expected = [[game.owns_set(mask) for mask in row] for row in masks.tolist()]
    assert owns_set(game, masks).tolist() == expected


class TestIndexing:
    boards = Boards.of(played_positions(TICTACTOE, games=2))

    @pytest.mark.parametrize(
        "key", [slice(1, 5), slice(None, None, 2), np.array([3, 0, 3]), slice(0, 0), [2, 0], []], ids=repr
    )
    def test_slices_and_index_arrays_select_positions(self, key):
        part = self.boards[key]
        assert isinstance(part, Boards)
        assert list(part) == [self.boards[int(i)] for i in np.arange(len(self.boards))[key]]
        assert part.legal.tolist() == self.boards.legal[key].tolist()

    def test_boolean_mask_selects_positions(self):
        part = self.boards[self.boards.is_over]
        assert len(part) == 2
        assert type(self.boards[3].mine) is type(next(iter(self.boards)).theirs) is int
        assert all(position.is_over for position in part)

    @pytest.mark.parametrize("game", [TICTACTOE, WIDE], ids=repr)
    @pytest.mark.parametrize("number", [1, -1, np.int8(1), np.array(1)], ids=repr)
    def test_integer_selects_one_position(self, game, number):
        positions = [game.start.play(0), game.start.play(game.n_cells - 1)]
        assert Boards.of(positions)[number] == positions[1]

    @pytest.mark.parametrize("game", [TICTACTOE, WIDE], ids=repr)
    def test_other_keys_are_refused(self, game):
        boards = Boards.of([game.start.play(0), game.start.play(game.n_cells - 1)])
        keys = [None, True, np.True_, ..., "1", 0.0, (1, 0), (slice(None), 0), [[0, 1], [1, 0]], [0.5]]
        keys += [np.array([[0, 1], [1, 0]]), np.array(0.5)]
        text = r"(?s)boards\[.*\]: expected an integer, a slice, a list or an"
        all_raise(ParameterError, text, lambda key: boards[key], keys)


@pytest.mark.parametrize("game", [LOPSIDED, "tictactoe-v0"], ids=repr)
def test_start_repeats_empty_board(game):
    assert list(Boards.start(game, 3)) == [get_game(game).start] * 3


def test_start_of_unknown_game_is_refused():
    with pytest.raises(UnknownGameError, match="did you mean tictactoe-v0"):
        Boards.start("tictacto-v0")
