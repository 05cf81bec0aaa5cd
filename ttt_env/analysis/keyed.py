"""Positions of one ply of a large board, numbered by rank among those that are reached.

A position is a key: one number on up to 32 cells, 16 bytes above. The keys of a ply are kept in ascending
order, and the number of a position, its *slot*, is its rank among them. So memory grows with the number of
reached positions, not with the board as in `grid`; looking up a slot is a search.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import PolicyError
from ttt_env.rules import Game, Masks, playable

Keys = NDArray[Any]
Slots = NDArray[np.int64]

_ONE_NUMBER = 32  # cells
_GATHERED = 1 << 22  # keys to collect before duplicates are dropped


class KeyNumbering:
    """The numbering of these positions of one ply; `next_ply` is the numbering after it, once it exists."""

    def __init__(self, game: Game, ply: int, keys: Keys) -> None:
        self.game, self.n_cells, self.ply, self.keys = game, game.n_cells, ply, keys
        self.n_slots = len(keys)
        self.next_ply: KeyNumbering | None = None

    @classmethod
    def start(cls, game: Game) -> "KeyNumbering":
        """The numbering of the empty board."""
        return cls(game, 0, keys_of(game.n_cells, *np.zeros((2, 1), np.uint64)))

    def masks(self, slots: Slots) -> tuple[Masks, Masks]:
        """The stones (mine, theirs), `uint64[S]` each."""
        keys = self.keys[slots]
        if self.n_cells <= _ONE_NUMBER:
            return keys >> np.uint64(self.n_cells), keys & np.uint64((1 << self.n_cells) - 1)
        mine, theirs = np.ascontiguousarray(keys).view(">u8").reshape(-1, 2).T.astype(np.uint64)
        return mine, theirs

    def slots(self, mine: Masks, theirs: Masks) -> Slots:
        """The slots of positions, `[S]`. Raises `PolicyError` for a position that is not numbered."""
        keys = keys_of(self.n_cells, mine, theirs)
        slots = self._places(keys)
        if len(missing := np.flatnonzero(self.keys[slots] != keys)):
            row = int(missing[0])
            raise PolicyError(
                f"a position with the stones {int(mine[row])} and {int(theirs[row])} was not reached"
            )
        return slots

    def holds(self, mine: Masks, theirs: Masks) -> NDArray[np.bool_]:
        """True for the positions that are numbered, `[S]`."""
        keys = keys_of(self.n_cells, mine, theirs)
        is_held: NDArray[np.bool_] = self.keys[self._places(keys)] == keys
        return is_held

    def _places(self, keys: Keys) -> Slots:
        return np.minimum(np.searchsorted(self.keys, keys), max(0, len(self.keys) - 1)).astype(np.int64)

    @cached_property
    def _max_moves(self) -> int:
        """The largest number of legal moves of a position of this ply."""
        return int(self.n_moves(np.arange(self.n_slots)).max(initial=0))

    def n_moves(self, slots: Slots) -> NDArray[np.int64]:
        """The number of legal moves, `[S]`, of positions that are not over."""
        mine, theirs = self.masks(slots)
        return np.bitwise_count(playable(self.game, mine | theirs)).astype(np.int64)

    def cells(self, slots: Slots) -> NDArray[np.int64]:
        """The cells of the moves, `[K, S]`: the legal ones first, ascending, then others."""
        mine, theirs = self.masks(slots)
        return self._cells_in_order(playable(self.game, mine | theirs))

    def _cells_in_order(self, rest: Masks) -> NDArray[np.int64]:
        """The cells of these masks, `[K, S]`, ascending, then others."""
        others = rest ^ np.uint64(self.game.full_mask)
        cells = np.empty((self._max_moves, len(rest)), np.int64)
        for number in range(len(cells)):
            source = np.where(rest, rest, others)
            stone = source & (~source + np.uint64(1))
            cells[number] = np.bitwise_count(stone - np.uint64(1))
            rest, others = rest & ~stone, others & ~stone
        return cells

    def successor_keys(self, slots: Slots) -> Keys:
        """The keys of the successors by each of the `cells`, `[K, S]`; the first one's for illegal cells."""
        mine, theirs = self.masks(slots)
        legal = playable(self.game, mine | theirs)
        cells = self._cells_in_order(legal)
        moves = np.where(np.arange(len(cells))[:, None] < np.bitwise_count(legal), cells, cells[:1])
        after = mine | np.uint64(1) << moves.astype(np.uint64)
        return keys_of(self.n_cells, np.broadcast_to(theirs, after.shape), after)

    def successors(self, slots: Slots) -> Slots:
        """The slots in `next_ply` after each of the `cells` is played, `[K, S]`.

        For a move that leads to none of its positions the slot is meaningless.
        """
        assert self.next_ply is not None
        return self.next_ply._places(self.successor_keys(slots))


def keys_of(n_cells: int, mine: Masks, theirs: Masks) -> Keys:
    """The keys of positions, in the shape of the masks, in the order of (mine, theirs)."""
    if n_cells <= _ONE_NUMBER:
        return mine << np.uint64(n_cells) | theirs
    return np.stack([mine, theirs], axis=-1).astype(">u8").view("S16")[..., 0]


class DistinctKeys:
    """The distinct keys among many; `check` is called with their number so far, and may raise an error."""

    def __init__(self, check: Callable[[int], None]) -> None:
        self._check, self._parts, self._n, self._limit = check, list[Keys](), 0, _GATHERED

    def add(self, keys: Keys) -> None:
        """Add these keys."""
        self._parts.append(keys)
        self._n += len(keys)
        if self._n > self._limit:
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate(self._parts)
        keys.sort()
        is_new = np.ones(len(keys), np.bool_)
        is_new[1:] = keys[1:] != keys[:-1]
        self._parts = [keys[is_new]]
        self._n = len(self._parts[0])
        self._limit = max(_GATHERED, 2 * self._n)
        self._check(self._n)

    @cached_property
    def keys(self) -> Keys:
        """All distinct keys, ascending; there is at least one."""
        self._merge()
        return self._parts[0]
