"""A strategy not to lose by regions: disjoint groups of cells, in each of which the seat answers the other.

In a group of two cells, a pair, the seat takes the one when the other player takes the other (Hales and
Jewett, Regularity and positional games, 1963); larger groups break several sets together (Uiterwijk, Set
matching: an enhancement of the Hales-Jewett pairing strategy, 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ttt_env.errors import ProofError
from ttt_env.rules.game import Position, Seat, cells_of

NO_REGION = -1
MOST_REGION_CELLS = 16  # all ways to play in a region are looked at


class _Region:
    """The game inside of a group: the other moves first and wants all cells of one of these traces."""

    def __init__(self, cells: Sequence[int], traces: Sequence[int]) -> None:
        self.mask = sum(1 << cell for cell in cells)
        self.traces = tuple(traces)
        self._known: dict[tuple[int, int], bool] = {}

    def is_safe(self, other: int, own: int) -> bool:
        """Whether the seat breaks all traces, with the other to move; both have these stones in the group."""
        if any(trace & other == trace for trace in self.traces):
            return False
        if all(trace & own for trace in self.traces):
            return True
        if (other, own) not in self._known:
            free = cells_of(self.mask & ~(other | own))
            self._known[other, own] = all(self.answer(other | 1 << cell, own) is not None for cell in free)
        return self._known[other, own]

    def answer(self, other: int, own: int) -> int | None:
        """The stone, as a mask, after which the group is safe; 0 if it is full and safe; None if none is."""
        free = cells_of(self.mask & ~(other | own))
        for stone in (1 << cell for cell in free):
            if self.is_safe(other, own | stone):
                return stone
        return 0 if not free and self.is_safe(other, own) else None


@dataclass(frozen=True, eq=False)
class RegionStrategy:
    """What a seat plays that is not to move at `start`, in order not to lose.

    `regions` are disjoint groups of empty cells, `region_of_set` `[S]` says in which of them each winning set
    of the other is broken: −1 for the sets that have a stone of the seat at the start.
    """

    start: Position
    seat: Seat
    regions: tuple[tuple[int, ...], ...]
    region_of_set: tuple[int, ...]

    wins = False

    @classmethod
    def of(cls, start: Position, regions: Sequence[Sequence[int]]) -> "RegionStrategy":
        """The strategy of the seat that is not to move at `start`; sets are assigned to regions.

        Raises `ProofError` if that seat cannot break every set so, or a region has more than 16 cells.
        """
        seat: Seat = "O" if start.to_move == "X" else "X"
        masks = [sum(1 << cell for cell in cells) for cells in regions]
        rests = [mask & ~start.mine for mask in start.game.winning_masks]
        assigned = [NO_REGION] * len(rests)
        alive = [n for n, mask in enumerate(start.game.winning_masks) if not mask & start.theirs]
        by_choice = sorted(alive, key=lambda n: sum(rests[n] & mask != 0 for mask in masks))

        def assign(at: int) -> bool:
            if at == len(by_choice):
                return True
            number = by_choice[at]
            for region, mask in enumerate(masks):
                together = [rests[n] & mask for n in by_choice[:at] if assigned[n] == region]
                if trace := rests[number] & mask:
                    if _Region(regions[region], [*together, trace]).is_safe(0, 0):
                        assigned[number] = region
                        if assign(at + 1):
                            return True
                        assigned[number] = NO_REGION
            return False

        is_small = all(len(cells) <= MOST_REGION_CELLS for cells in regions)
        if start.game.misere or not is_small or not assign(0):
            raise ProofError(f"{seat} cannot break every set from {start!r} on in the regions {regions}")
        return cls(start, seat, tuple(map(tuple, regions)), tuple(assigned))

    def cell(self, position: Position) -> int | None:
        """What the strategy plays; None in a position of the other seat, or that never comes up by it."""
        if position.to_move != self.seat or position.is_over:
            return None
        own, other = position.mine & ~self.start.theirs, position.theirs & ~self.start.mine
        for region in self._games:
            mask = region.mask
            if not region.is_safe(other & mask, own & mask):
                stone = region.answer(other & mask, own & mask)
                return stone.bit_length() - 1 if stone else None
        return position.legal_cells[0]

    @cached_property
    def _games(self) -> list[_Region]:
        traces: list[list[int]] = [[] for _ in self.regions]
        for mask, region in zip(self.start.game.winning_masks, self.region_of_set, strict=True):
            if region != NO_REGION:
                traces[region].append(mask & ~self.start.mine & sum(1 << c for c in self.regions[region]))
        return [_Region(cells, group) for cells, group in zip(self.regions, traces, strict=True)]
