"""Every way to place `ply` stones on a board, numbered without gaps: ranks instead of search.

A position of one ply is the set of occupied cells, a *row*, each on its support, and which of these stones
are `theirs`, a *pattern* of `ply` bits. Its number, the *slot*, is `row * n_patterns + pattern`. Playing a
cell leads to a row that depends on the row alone, and to a pattern that depends on the pattern and on how
many stones lie below the cell. So all successors of all positions come from two small tables, and nothing is
sorted or searched for (ranking in the combinatorial number system, D. H. Lehmer 1964).
"""

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ttt_env.rules import Game, Masks, playable, supported

Slots = NDArray[np.int64]
_N_OCTETS = 256  # the values of eight bits


class Grid:
    """The numbering of all placements of `ply` stones; if it is odd, `theirs` are one more than mine.

    `occupied` `[rows]` and `patterns` `[patterns]` are the masks of the rows and patterns, ascending; `moves`
    `[K, rows]` are the cells that may be played on each row, the first `n_legal` `[rows]` of them, K at most.
    The rest is filled up with illegal cells, which lead where the first one does. The slot that a cell leads
    to from a row and pattern is `next_row[cell, row] + next_pattern[below[cell, row] + pattern]`.
    """

    def __init__(self, board: Game, ply: int) -> None:
        n_cells = board.n_cells
        self.n_cells, self.ply = n_cells, ply
        self.occupied = _rows_of(board, ply)
        self.patterns = _masks_of_size(ply, (ply + 1) // 2)
        self.n_patterns = len(self.patterns)
        self.n_slots = len(self.occupied) * self.n_patterns
        self._ranks = _row_ranks(board, ply)
        is_legal = _bits(playable(board, self.occupied), n_cells) == 1
        self.n_legal = is_legal.sum(axis=1)
        n_most = int(self.n_legal.max())
        self.moves = np.argsort(~is_legal, axis=1, kind="stable")[:, :n_most].T.copy()
        if not n_most:
            self.next_row = self.below = self.moves
            self.next_pattern = np.empty(0, np.int64)
            return
        cells = np.where(np.arange(n_most)[:, None] < self.n_legal, self.moves, self.moves[0])
        stone = np.uint64(1) << cells.astype(np.uint64)
        rows = _row_ranks(board, ply + 1)[self.occupied | stone]
        n_next = len(_masks_of_size(ply + 1, ply // 2 + 1))
        below = np.bitwise_count(self.occupied & (stone - np.uint64(1)))
        self.next_row = rows.astype(np.int64) * n_next
        self.below = below.astype(np.int64) * self.n_patterns
        mine = self.patterns ^ np.uint64((1 << ply) - 1)  # these stones and the new one become theirs
        place = np.arange(ply + 1, dtype=np.uint64)[:, None]
        low = (np.uint64(1) << place) - np.uint64(1)
        inserted = (mine & low) | (mine & ~low) << np.uint64(1) | np.uint64(1) << place
        ranks: Slots = _rank_table(ply + 1, ply // 2 + 1)[inserted].astype(np.int64)
        self.next_pattern = ranks.ravel()

    def successors(self, slots: Slots) -> Slots:
        """The slots in the next ply's grid after each of the `cells` is played, `[K, S]`."""
        row, pattern = np.divmod(slots, self.n_patterns)
        successors = np.take(self.below, row, axis=1)
        successors += pattern
        successors = np.take(self.next_pattern, successors)
        successors += np.take(self.next_row, row, axis=1)
        return successors

    def cells(self, slots: Slots) -> NDArray[np.int64]:
        """The cells of the moves, `[K, S]`: the legal ones first, ascending, then others."""
        return np.take(self.moves, slots // self.n_patterns, axis=1)

    def n_moves(self, slots: Slots) -> NDArray[np.int64]:
        """The number of legal moves, `[S]`."""
        return np.take(self.n_legal, slots // self.n_patterns)

    def masks(self, slots: Slots) -> tuple[Masks, Masks]:
        """The stones (mine, theirs), `uint64[S]` each."""
        theirs = self._theirs[slots].astype(np.uint64)
        return self.occupied[slots // self.n_patterns] ^ theirs, theirs

    @cached_property
    def _theirs(self) -> NDArray[np.uint32]:
        """The stones of the player who has just moved, for each slot."""
        cells = np.flatnonzero(_bits(self.occupied, self.n_cells)) % self.n_cells
        stones = 2.0 ** cells.reshape(len(self.occupied), self.ply)
        # Sums of powers of two below 2⁵³ are exact in floating point, where matrix products are fast.
        return (stones @ _bits(self.patterns, self.ply).T).astype(np.uint32).ravel()

    def slots(self, mine: Masks, theirs: Masks) -> Slots:
        """The slots of positions of this ply, `[S]`."""
        occupied = mine | theirs
        row = self._ranks[occupied].astype(np.int64)
        pattern = _rank_table(self.ply, (self.ply + 1) // 2)[_extract(theirs, occupied)]
        slots: Slots = row * self.n_patterns + pattern
        return slots


def _bits(masks: Masks, n_bits: int) -> NDArray[np.float64]:
    """Bit masks, `[N]`, unpacked to 0.0 and 1.0, `[N, n_bits]`."""
    bits = masks[:, None] >> np.arange(n_bits, dtype=np.uint64) & np.uint64(1)
    return bits.astype(np.float64)


def grid(game: Game, ply: int) -> Grid:
    """The grid of this ply, shared by all games with the same cells and supports."""
    return _grid(_board(game.supports), ply)


@lru_cache(maxsize=128)
def _grid(board: Game, ply: int) -> Grid:
    return Grid(board, ply)


@lru_cache(maxsize=64)
def _board(supports: tuple[int | None, ...]) -> Game:
    """A game with these supports, which represents all of them."""
    return Game("a board", (len(supports),), [(0,)], supports=supports)


@lru_cache(maxsize=512)
def _rows_of(board: Game, ply: int) -> Masks:
    """The sets of `ply` cells that stones may be on, ascending."""
    masks = _masks_of_size(board.n_cells, ply)
    rows: Masks = masks[masks & ~supported(board, masks) == 0]
    return rows


@lru_cache(maxsize=512)
def _row_ranks(board: Game, ply: int) -> NDArray[np.int32]:
    """The rank of each mask among the rows of a ply, `[2^n_cells]`; 0 for all others."""
    table = np.zeros(1 << board.n_cells, np.int32)
    rows = _rows_of(board, ply)
    table[rows] = np.arange(len(rows), dtype=np.int32)
    return table


@lru_cache(maxsize=512)
def _masks_of_size(n_bits: int, n_ones: int) -> Masks:
    """All masks of `n_bits` bits with `n_ones` set, ascending."""
    masks = np.arange(1 << n_bits, dtype=np.uint64)
    masks_of_size: Masks = masks[np.bitwise_count(masks) == n_ones]
    return masks_of_size


@lru_cache(maxsize=512)
def _rank_table(n_bits: int, n_ones: int) -> NDArray[np.int32]:
    """The rank of each mask among the masks of `n_ones` set bits, `[2^n_bits]`; 0 for all others."""
    table = np.zeros(1 << n_bits, np.int32)
    masks = _masks_of_size(n_bits, n_ones)
    table[masks] = np.arange(len(masks), dtype=np.int32)
    return table


@lru_cache(maxsize=1)
def _octet_table() -> NDArray[np.uint8]:
    """`_extract` of eight bits, `[256 * 256]`: the entry at 256 * selection + bits."""
    bits, selection = np.arange(_N_OCTETS), np.arange(_N_OCTETS)[:, None]
    table = np.zeros((_N_OCTETS, _N_OCTETS), np.int64)
    count = np.zeros((_N_OCTETS, 1), np.int64)
    for bit in range(8):
        is_selected = selection >> bit & 1
        table |= (bits >> bit & is_selected) << count
        count += is_selected
    return table.astype(np.uint8).ravel()


def _extract(bits: Masks, selection: Masks) -> Masks:
    """The bits at the set places of `selection`, moved together to the low end (the PEXT of x86)."""
    extracted, shift = np.zeros_like(bits), np.zeros_like(bits)
    while selection.any():
        low = selection & np.uint64(_N_OCTETS - 1)
        octet = _octet_table()[low << np.uint64(8) | bits & np.uint64(_N_OCTETS - 1)]
        extracted |= octet.astype(np.uint64) << shift
        shift += np.bitwise_count(low)
        bits, selection = bits >> np.uint64(8), selection >> np.uint64(8)
    return extracted
