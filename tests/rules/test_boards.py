"""The rules on batches are the rules on single positions."""

import random

import numpy as np
import pytest

from tests.support import naive
from ttt_env import Boards, Game, Position, get_game
from ttt_env.errors import ImpossiblePositionError
from ttt_env.rules.boards import owns_set

LOPSIDED = Game("lopsided", (2, 3), [(0, 1, 2), (0, 4), (2, 3, 5)])
WIDE = Game("wide", (64,), [(0, 63), (31, 32, 33), (62, 63)])
SMALL = [get_game("tictactoe-v0"), get_game("tictactoe-v0:misere=true"), LOPSIDED]
LARGE = [
    *map(get_game, ("square-v0", "mnk-v0", "qubic-v0", "qubic-v0:misere=true", "mnk-v0:m=7,n=3,k=3")),
    WIDE,
]


def random_positions(game, games=30):
    rng, found = random.Random(3), []
    for _ in range(games):
        position = game.start
        found.append(position)
        while not position.is_over:
            position = position.play(rng.choice(position.legal_cells))
            found.append(position)
    return found


def positions_of(game):
    if game.n_cells > 9:
        return random_positions(game)
    boards = naive.twin(game).boards()
    return [Position(game, *naive.masks(board)) for board in boards]


@pytest.mark.parametrize("game", [*SMALL, *LARGE], ids=repr)
class TestBoardsArePositions:
    def test_in_and_out(self, game):
        positions = positions_of(game)
        boards = Boards.of(positions)
        assert len(boards) == len(positions)
        assert list(boards) == positions
        assert [boards[i] for i in range(len(positions))] == positions

    def test_what_is_asked_of_them(self, game):
        positions = positions_of(game)
        boards = Boards.of(positions)
        assert boards.ply.tolist() == [position.ply for position in positions]
        assert boards.occupied_masks.tolist() == [position.occupied_mask for position in positions]
        assert boards.is_won.tolist() == [position.is_won for position in positions]
        assert boards.is_over.tolist() == [position.is_over for position in positions]

    def test_alone_as_in_a_large_batch(self, game):
        # Who owns a winning set is looked up in large batches and computed in small ones.
        for position in positions_of(game)[::7]:
            alone = Boards.of([position])
            assert alone.is_won[0] == position.is_won
            assert np.flatnonzero(alone.legal[0]).tolist() == position.legal_cells

    def test_cells(self, game):
        positions = positions_of(game)
        boards = Boards.of(positions)
        assert boards.legal.shape == boards.cells(boards.mine).shape == (len(positions), game.n_cells)
        for i, position in enumerate(positions):
            assert np.flatnonzero(boards.legal[i]).tolist() == position.legal_cells
        for i, mask in enumerate(boards.mine.tolist()):
            assert sum(1 << cell for cell in np.flatnonzero(boards.cells(boards.mine)[i]).tolist()) == mask

    def test_every_action(self, game):
        positions = positions_of(game)
        boards = Boards.of(positions)
        for cell in range(game.n_cells):
            at = np.flatnonzero(boards.legal[:, cell])
            played = boards[at].play(np.full(len(at), cell))
            assert list(played) == [positions[i].play(cell) for i in at]

    def test_a_different_action_each(self, game):
        rng = random.Random(4)
        positions = [position for position in positions_of(game) if not position.is_over]
        cells = [rng.choice(position.legal_cells) for position in positions]
        played = Boards.of(positions).play(np.array(cells))
        assert list(played) == [p.play(cell) for p, cell in zip(positions, cells, strict=True)]


@pytest.mark.parametrize("game", [SMALL[0], LARGE[0], LARGE[2], WIDE], ids=repr)
def test_owns_set_of_masks_of_any_shape(game):
    masks = np.array([position.theirs for position in random_positions(game)][:60], np.uint64).reshape(5, 12)
    expected = [[game.owns_set(mask) for mask in row] for row in masks.tolist()]
    assert owns_set(game, masks).tolist() == expected


class TestIndexing:
    boards = Boards.of(random_positions(SMALL[0], games=2))

    @pytest.mark.parametrize("key", [slice(1, 5), np.array([3, 0, 3]), slice(0, 0)], ids=repr)
    def test_by_what_numpy_indexes_by(self, key):
        part = self.boards[key]
        assert isinstance(part, Boards)
        assert list(part) == [self.boards[int(i)] for i in np.arange(len(self.boards))[key]]

    def test_every_second_position_is_a_batch_like_any_other(self):
        part = self.boards[::2]
        assert part.legal.tolist() == self.boards.legal[::2].tolist()

    def test_by_a_mask(self):
        part = self.boards[self.boards.is_over]
        assert len(part) == 2
        assert all(position.is_over for position in part)

    def test_a_position_holds_python_ints(self):
        assert type(self.boards[3].mine) is type(next(iter(self.boards)).theirs) is int


def test_start():
    boards = Boards.start(LOPSIDED, 3)
    assert list(boards) == [LOPSIDED.start] * 3


@pytest.mark.parametrize(
    "positions", [[], [SMALL[0].start, SMALL[1].start], [SMALL[0].start, LOPSIDED.start]], ids=repr
)
def test_positions_that_make_no_batch(positions):
    with pytest.raises(ImpossiblePositionError, match="all of one game"):
        Boards.of(positions)
