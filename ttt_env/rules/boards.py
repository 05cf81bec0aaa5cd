"""The rules of play on batches of positions: two `uint64` arrays, one bit per cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import ImpossiblePositionError, ParameterError, brief
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import integer_of
from ttt_env.rules.game import Game, Position
from ttt_env.rules.sizes import OWNERSHIP_TABLE_CELLS

Masks = NDArray[np.uint64]
_FEW = 1 << 15  # up to this number of masks, one comparison is faster than one for each set


@dataclass(frozen=True, eq=False)
class Boards:
    """A batch of positions of one game, which may have different plies.

    Indexing with an integer gives a `Position`; with a slice, a list or array of indices `[B]` or a mask
    `bool[B]`, `Boards`.

    Attributes:
        game: The game of all positions.
        mine: The stones of each player to move as bit masks, `uint64[B]`.
        theirs: The stones of the other one, `uint64[B]`.

    Raises:
        ParameterError: It is indexed by something else.

    Example:
        >>> boards = Boards.of([Position.parse("X../.O./..."), Position.parse("XX./OO./...")])
        >>> boards.ply.tolist(), boards.legal.shape
        ([2, 4], (2, 9))
        >>> str(boards.play(np.array([8, 2]))[1])
        'XXX/OO./...'

    """

    game: Game
    mine: Masks
    theirs: Masks

    @classmethod
    def of(cls, positions: Iterable[Position]) -> Boards:
        """The batch of these positions.

        Args:
            positions: At least one position, all of one game.

        Raises:
            ImpossiblePositionError: There is no position, or they are of several games.

        """
        rows = list(positions) if isinstance(positions, Iterable) else []
        if not rows or any(not isinstance(row, Position) or row.game != rows[0].game for row in rows):
            raise ImpossiblePositionError("a batch needs at least one position, and all of one game")
        game = rows[0].game
        return cls(game, *np.array([[row.mine for row in rows], [row.theirs for row in rows]], np.uint64))

    @classmethod
    def single(cls, position: Position) -> Boards:
        """The batch of one position, made as fast as it can be."""
        masks = np.array((position.mine, position.theirs), np.uint64)
        return cls(position.game, masks[:1], masks[1:])

    @classmethod
    def start(cls, game: Game | str, size: int = 1) -> Boards:
        """A batch of empty boards.

        Args:
            game: The game, or its id.
            size: The number of boards.

        Raises:
            UnknownGameError: There is no game of this id.

        """
        game = get_game(game)
        return cls(game, *np.zeros((2, size), np.uint64))

    @classmethod
    def joined(cls, game: Game, parts: Iterable[Boards]) -> Boards:
        """The positions of all parts in one batch, which may be empty.

        Args:
            game: The game.
            parts: Batches of this game.

        """
        no_masks = np.zeros((2, 0), np.uint64)
        masks = np.concatenate([no_masks, *(np.stack([part.mine, part.theirs]) for part in parts)], axis=1)
        return cls(game, masks[0], masks[1])

    def copy(self) -> Boards:
        """A copy with its own arrays, `legal` among them, which may be written to."""
        boards = Boards(self.game, self.mine.copy(), self.theirs.copy())
        boards.__dict__["legal"] = self.legal.copy()
        return boards

    def __len__(self) -> int:
        return len(self.mine)

    def __iter__(self) -> Iterator[Position]:
        for mine, theirs in zip(self.mine.tolist(), self.theirs.tolist(), strict=True):
            yield Position(self.game, mine, theirs)

    @overload
    def __getitem__(self, key: int) -> Position: ...
    @overload
    def __getitem__(
        self, key: slice | list[int] | list[bool] | NDArray[np.integer] | NDArray[np.bool_]
    ) -> Boards: ...
    def __getitem__(self, key: Any) -> Position | Boards:
        if isinstance(key, list) and all(isinstance(each, int | np.integer | np.bool_) for each in key):
            key = np.array(key, None if key else np.int64)
        is_rows = isinstance(key, np.ndarray) and key.ndim == 1 and key.dtype.kind in "biu"
        if is_rows or isinstance(key, slice):
            return Boards(self.game, self.mine[key], self.theirs[key])
        if (row := integer_of(key)) is None:
            raise ParameterError(
                f"boards[{brief(key)}]: expected an integer, a slice, a list or an array [B] of integers"
            )
        return Position(self.game, int(self.mine[row]), int(self.theirs[row]))

    @cached_property
    def occupied_masks(self) -> Masks:
        """The bit masks of all stones, `uint64[B]`."""
        return self.mine | self.theirs

    @cached_property
    def ply(self) -> NDArray[np.uint8]:
        """The number of stones, `[B]`."""
        return np.bitwise_count(self.occupied_masks)

    @cached_property
    def is_won(self) -> NDArray[np.bool_]:
        """True where the last move completed a winning set, `bool[B]`."""
        return owns_set(self.game, self.theirs)

    @cached_property
    def is_over(self) -> NDArray[np.bool_]:
        """True where no move may be made, `bool[B]`."""
        is_full: NDArray[np.bool_] = self.occupied_masks == np.uint64(self.game.full_mask)
        return self.is_won | is_full

    def by_ply(self) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Each ply in the batch, with the rows of its positions."""
        for ply in np.unique(self.ply).tolist():
            yield ply, np.flatnonzero(self.ply == ply)

    @cached_property
    def legal(self) -> NDArray[np.bool_]:
        """The cells that may be played, `bool[B, cells]`; none where the game is over."""
        return self.cells(playable(self.game, self.occupied_masks)) & ~self.is_won[:, None]

    def cells(self, masks: Masks) -> NDArray[np.bool_]:
        """Bit masks spread out to one column per cell, `bool[B, cells]`.

        Args:
            masks: The masks, `uint64[B]`.

        """
        octets = masks.astype("<u8", order="C", copy=False).view(np.uint8).reshape(len(masks), 8)
        bits = np.unpackbits(octets, axis=1, count=self.game.n_cells, bitorder="little")
        return bits.view(np.bool_)

    @property
    def planes(self) -> NDArray[np.int8]:
        """The observations of the players to move, `int8[B, *shape, 2]`, as in the environments.

        Plane 0 has a 1 for each stone of the player to move, plane 1 for each of the opponent.
        """
        planes = np.empty((len(self), self.game.n_cells, 2), np.bool_)  # `np.stack` would copy cell by cell
        planes[..., 0], planes[..., 1] = self.cells(self.mine), self.cells(self.theirs)
        return planes.reshape(len(self), *self.game.shape, 2).view(np.int8)

    def play(self, cells: NDArray[np.integer]) -> Boards:
        """The batch after each player to move has played a cell.

        Args:
            cells: A legal cell for each position, `[B]`; it is not checked.

        """
        return Boards(self.game, self.theirs, self.mine | np.uint64(1) << cells.astype(np.uint64))


def supported(game: Game, occupied: Masks) -> Masks:
    """`Game.supported` for stones in an array of any shape."""
    cells = np.full(occupied.shape, game.ground, np.uint64)
    for distance, resting in game.resting:
        shift = np.right_shift if distance > 0 else np.left_shift
        cells |= shift(occupied, np.uint64(abs(distance))) & np.uint64(resting)
    return cells


def playable(game: Game, occupied: Masks) -> Masks:
    """`Game.playable` for stones in an array of any shape."""
    return supported(game, occupied) & ~occupied


@lru_cache(maxsize=64)
def set_masks(game: Game) -> Masks:
    """The winning sets, `uint64[sets]`. Read-only."""
    masks = np.array(game.winning_masks, np.uint64)
    masks.setflags(write=False)
    return masks


def pack_masks(cells: NDArray[np.bool_]) -> Masks:
    """Cells, `bool[B, cells]`, as bit masks, `uint64[B]`."""
    octets = np.packbits(cells, axis=1, bitorder="little")
    masks = np.zeros((len(cells), 8), np.uint8)
    masks[:, : octets.shape[1]] = octets
    return masks.view("<u8")[:, 0].astype(np.uint64, copy=False)


def owns_set(game: Game, stones: Masks) -> NDArray[np.bool_]:
    """True where a mask holds a winning set of the game, in an array of any shape."""
    if game.n_cells <= OWNERSHIP_TABLE_CELLS and stones.size << 9 >= 1 << game.n_cells:
        owned: NDArray[np.bool_] = _ownership_table(game)[stones]
        return owned
    return _owns_set(game, stones)


def _owns_set(game: Game, stones: Masks) -> NDArray[np.bool_]:
    sets = set_masks(game)
    if stones.size * sets.size <= _FEW:
        sets = sets.reshape(-1, *(1,) * stones.ndim)
        return np.asarray((stones & sets == sets).any(axis=0))
    owned: NDArray[np.bool_] = np.zeros(stones.shape, np.bool_)
    for mask in sets:
        np.logical_or(owned, stones & mask == mask, out=owned)
    return owned


@lru_cache(maxsize=16)
def _ownership_table(game: Game) -> NDArray[np.bool_]:
    return _owns_set(game, np.arange(1 << game.n_cells, dtype=np.uint64))
