"""The rules of play on batches of positions: two `uint64` arrays, one bit per cell."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import ImpossiblePositionError
from ttt_env.rules.game import Game, Position
from ttt_env.rules.sizes import OWNERSHIP_TABLE_CELLS, check_size

Masks = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Boards:
    """A batch of positions of one game: `mine` and `theirs`, each `uint64[B]`, as in `Position`.

    Positions of different plies may stand in one batch. Indexing with an int gives a `Position`,
    with anything else that NumPy indexes by, `Boards`.

    Raises `GameTooLargeError` for a game of more than 64 cells.
    """

    game: Game
    mine: Masks
    theirs: Masks

    def __post_init__(self) -> None:
        check_size(self.game)

    @classmethod
    def of(cls, positions: Iterable[Position]) -> "Boards":
        """The batch of these positions, at least one and all of one game."""
        rows = list(positions)
        if not rows or any(row.game != rows[0].game for row in rows):
            raise ImpossiblePositionError("a batch needs at least one position, and all of one game")
        check_size(rows[0].game)
        masks = np.array([(row.mine, row.theirs) for row in rows], dtype=np.uint64)
        return cls(rows[0].game, masks[:, 0].copy(), masks[:, 1].copy())

    @classmethod
    def start(cls, game: Game, size: int = 1) -> "Boards":
        """`size` empty boards."""
        return cls(game, np.zeros(size, np.uint64), np.zeros(size, np.uint64))

    @classmethod
    def joined(cls, game: Game, parts: Iterable["Boards"]) -> "Boards":
        """The positions of all parts in one batch, which may be empty."""
        no_masks = np.zeros((2, 0), np.uint64)
        masks = np.concatenate([no_masks, *(np.stack([part.mine, part.theirs]) for part in parts)], axis=1)
        return cls(game, masks[0], masks[1])

    def __len__(self) -> int:
        return len(self.mine)

    def __iter__(self) -> Iterator[Position]:
        for mine, theirs in zip(self.mine.tolist(), self.theirs.tolist(), strict=True):
            yield Position(self.game, mine, theirs)

    @overload
    def __getitem__(self, key: int) -> Position: ...
    @overload
    def __getitem__(self, key: slice | NDArray[np.integer] | NDArray[np.bool_]) -> "Boards": ...
    def __getitem__(self, key: Any) -> "Position | Boards":
        mine, theirs = self.mine[key], self.theirs[key]
        if mine.ndim == 0:
            return Position(self.game, int(mine), int(theirs))
        return Boards(self.game, mine, theirs)

    @cached_property
    def occupied_masks(self) -> Masks:
        """The bit masks of all stones, `uint64[B]`."""
        return self.mine | self.theirs

    @cached_property
    def ply(self) -> NDArray[np.uint8]:
        """The number of stones, `uint8[B]`."""
        return np.bitwise_count(self.occupied_masks)

    @cached_property
    def is_won(self) -> NDArray[np.bool_]:
        """Whether the last move completed a winning set, `bool[B]`."""
        return owns_set(self.game, self.theirs)

    @cached_property
    def is_over(self) -> NDArray[np.bool_]:
        """Whether no move may be made, `bool[B]`."""
        is_full: NDArray[np.bool_] = self.occupied_masks == np.uint64(self.game.full_mask)
        return self.is_won | is_full

    @cached_property
    def legal(self) -> NDArray[np.bool_]:
        """Which cells may be played, `bool[B, cells]`; none where the game is over."""
        return ~(self.cells(self.occupied_masks) | self.is_won[:, None])

    def cells(self, masks: Masks) -> NDArray[np.bool_]:
        """Bit masks, `uint64[B]`, spread out to one column per cell, `bool[B, cells]`."""
        octets = masks.astype("<u8", order="C", copy=False).view(np.uint8).reshape(len(masks), 8)
        bits = np.unpackbits(octets, axis=1, count=self.game.n_cells, bitorder="little")
        return bits.view(np.bool_)

    def play(self, cells: NDArray[np.integer]) -> "Boards":
        """The batch after one legal cell each, `[B]`, has been played. Trusts its caller."""
        stones = np.uint64(1) << cells.astype(np.uint64)
        return Boards(self.game, self.theirs, self.mine | stones)


def owns_set(game: Game, stones: Masks) -> NDArray[np.bool_]:
    """Whether each of these masks, of any shape, holds a winning set of the game."""
    if game.n_cells <= OWNERSHIP_TABLE_CELLS and stones.size > 1 << (game.n_cells // 2):
        owned: NDArray[np.bool_] = _ownership_table(game)[stones]
        return owned
    return _owns_set(game, stones)


def _owns_set(game: Game, stones: Masks) -> NDArray[np.bool_]:
    owned: NDArray[np.bool_] = np.zeros(stones.shape, np.bool_)
    for mask in game.winning_masks:
        np.logical_or(owned, stones & np.uint64(mask) == np.uint64(mask), out=owned)
    return owned


@lru_cache(maxsize=16)
def _ownership_table(game: Game) -> NDArray[np.bool_]:
    return _owns_set(game, np.arange(1 << game.n_cells, dtype=np.uint64))
