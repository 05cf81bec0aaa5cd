"""A strategy of one seat as data: to win, or not to lose, against every reply."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.sets import winning_sets
from ttt_env.errors import ProofError
from ttt_env.rules import BOARD_CELLS, Game, Masks, Position, Seat, cells_of

Regions = tuple[tuple[int, ...], ...]

_PAIRS = 10_000  # tried without a larger group
_PAIRS_BESIDE_GROUP = 2_000
_GROUP_CELLS = 12


def drawing_regions(position: Position) -> Regions | None:
    """Groups of free cells by which the player who is not to move does not lose; None if none are found.

    No cell is in two groups. Whenever the player to move takes a cell of a group, the other answers in the
    same group, and so gets a stone into every winning set. In a group of two cells, a pair, the answer is
    the other cell, which breaks the sets that hold both (Hales and Jewett, Regularity and positional games,
    1963). A larger group, of up to 12 cells, may break more sets than its pairs can (Uiterwijk, Set matching:
    an enhancement of the Hales-Jewett pairing strategy, 2017): all those that hold no pair and have cells in
    it.

    There are no groups, `()`, where every set is broken already. None does not mean that the player to move
    wins. It is returned for every misère game, and for games with gravity, in which the answer in a group
    need not be a legal move.
    """
    if not position.game.is_monotone:
        return None
    from ttt_env.proofs import pairing_kernel as pairing

    p = pairing.new_pairs(position.game)
    question = np.uint64(position.mine), np.uint64(position.theirs), winning_sets(position.game), p
    n_pairs = pairing.groups_of(*question, _PAIRS, 0)
    if n_pairs < 0:
        n_pairs = pairing.groups_of(*question, _PAIRS_BESIDE_GROUP, _GROUP_CELLS)
    if n_pairs < 0:
        return None
    groups: list[int] = []
    for mask in p.rests[n_pairs, : p.n_rests[n_pairs]].tolist():
        apart = [group for group in groups if not group & mask]
        groups = [*apart, mask | sum(group for group in groups if group & mask)]
    return tuple(tuple(cells_of(int(mask))) for mask in [*p.chosen_pairs[:n_pairs], *groups])


def check_has_strategies(game: Game) -> None:
    """Raise `ProofError` for a game with gravity, in which such strategies are not known to be sound."""
    if game.has_gravity:
        raise ProofError(
            f"{game.name} has gravity, where a proof has no strategies: an extra stone may hurt its owner. "
            "`prove` finds the value; to show how to play, certify an agent and save its table"
        )


def moved(mask: int, permutation: list[int]) -> int:
    """The image of these cells."""
    return sum(1 << permutation[cell] for cell in cells_of(mask))


MOST_POSITIONS = 5_000_000  # of a strategy: about a gigabyte, and many minutes


@dataclass(frozen=True, eq=False)
class Strategy:
    """The move of a seat in every position that can be reached from `start` with it to move.

    With `wins` it wins against every reply, else it does not lose. `positions` `[P, 2]` are its own stones
    and the other player's; of symmetric positions it holds the one with the smallest mask of its own. Except
    in a misère game, each also covers all positions with fewer of the other's stones. `moves` `[P]` are its
    cells there. A position has `n_sequences` `[P]` of the `sequences` `[Q, most]` of cells, which are in the
    order of the positions, each padded with 64s. With `wins` these are threats that leave one reply each:
    they answer some replies to the move. Else they are pairs, one after the other, that break every set of
    the other player: the seat answers in the pair of each reply. A reply that no sequence answers leads to a
    position of the table, or needs none: see `cell`.
    """

    start: Position
    seat: Seat
    wins: bool
    positions: Masks
    moves: NDArray[np.uint8]
    n_sequences: NDArray[np.uint8]
    sequences: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def game(self) -> Game:
        """The game that it plays."""
        return self.start.game

    def in_words(self, own: int, other: int) -> str:
        """A board with these stones in words; their numbers need not be possible in a game."""
        x, o = (own, other) if self.seat == "X" else (other, own)
        board = Position(self.game, *((o, x) if (x | o).bit_count() % 2 else (x, o)))
        return f"{board} of {self.game.name}"

    def cell(self, position: Position) -> int | None:
        """The strategy's move; None if the other seat is to move, or if the strategy never leads here.

        It completes a set where it can, else it plays the move of the table. In other positions, a strategy
        that wins continues a sequence of threats; one that does not lose answers in the pair of the reply, or
        plays the cell with the largest weight of sets that the other can still complete (Erdős and Selfridge
        1973).
        """
        if position.to_move != self.seat or position.is_over:
            return None
        own, other = position.mine, position.theirs
        if not self.game.misere:
            for cell in position.legal_cells:
                if self.game.completes(own | 1 << cell, cell):
                    return cell
        if (cell_here := self._cell_by_table(own, other)) is not None:
            return cell_here
        if self.wins:
            return self._next_threat(own, other)
        cell_here = self._cell_by_weight(position)
        return self._cell_by_pairs(position) if cell_here is None else cell_here

    def _cell_by_table(self, own: int, other: int) -> int | None:
        from ttt_env.proofs.strategy_kernel import covering

        (table, rows), position = self.ordered, np.array([[own, other]], np.uint64)
        is_reached = np.empty(len(self), np.bool_)
        at, number = covering(position, table, self._permutations, self.game.misere, is_reached)[0]
        return None if at < 0 else int(np.flatnonzero(self._permutations[number] == self.moves[rows[at]])[0])

    @cached_property
    def ordered(self) -> tuple[Masks, NDArray[np.intp]]:
        """The positions in ascending order of its own stones, and the rows of the table that they are in."""
        rows = np.lexsort((self.positions[:, 1], self.positions[:, 0]))
        return self.positions[rows], rows

    @cached_property
    def _permutations(self) -> NDArray[np.uint8]:
        from ttt_env.proofs.strategy_kernel import permutations_of

        return permutations_of(self.game)

    def _next_threat(self, own: int, other: int) -> int | None:
        """The next cell of a sequence of the table that has led to these stones, and wins."""
        from ttt_env.proofs.strategy_kernel import next_threat

        stones, rules = (np.uint64(own), np.uint64(other)), (self._permutations, winning_sets(self.game))
        table = self.moves, self.n_sequences, self.sequences
        cell = next_threat(*stones, self.positions, *table, *rules)
        return None if cell < 0 else int(cell)

    def _cell_by_pairs(self, position: Position) -> int | None:
        """The answer by the pairs of a position from which this one has come; None if there is none."""
        after, pairs = self._with_pairs
        for permutation in self._permutations.tolist():
            own, other = (np.uint64(moved(mask, permutation)) for mask in (position.mine, position.theirs))
            answers = np.where((pairs & own == 0) & (pairs & other != 0), pairs & ~other, 0)
            is_lost = (pairs & ~other == 0) & (pairs != 0)
            holds = after & ~own == 0  # then every set has a pair, whatever the other's stones are
            holds &= ((answers != 0).sum(axis=1) <= 1) & ~is_lost.any(axis=1)
            if holds.any():
                answer = int(answers[holds.argmax()].max(initial=0))
                return permutation.index(answer.bit_length() - 1) if answer else position.legal_cells[0]
        return None

    @cached_property
    def _with_pairs(self) -> tuple[Masks, Masks]:
        """Own stones `[L]` after moves of the table, and pairs `[L, most]` that hold then, as masks.

        Only sequences that break every set count: a file may have others, which do nothing.
        """
        one = np.uint64(1)
        rows = np.repeat(np.arange(len(self)), self.n_sequences)
        after = self.positions[rows, 0] | one << self.moves[rows].astype(np.uint64)
        width = self.sequences.shape[1]  # of a file, it may be odd
        cells = np.pad(self.sequences, [(0, 0), (0, width % 2)], constant_values=BOARD_CELLS).astype(
            np.uint64
        )
        stones: Masks = np.where(cells < BOARD_CELLS, one << cells % BOARD_CELLS, np.uint64(0))
        pairs = stones[:, ::2] | stones[:, 1::2]
        holds = (np.bitwise_or.reduce(pairs, axis=1) & (after | self.positions[rows, 1])) == 0
        for mask in self.game.winning_masks:
            is_within = (pairs != 0) & (pairs & ~np.uint64(mask) == 0)
            holds &= (after & np.uint64(mask) != 0) | is_within.any(axis=1)
        return after[holds], pairs[holds]

    def _cell_by_weight(self, position: Position) -> int | None:
        """The cell by which most weight is taken from sets of the other, if what is left is small enough.

        In a misère game any cell, if the seat cannot complete a set any more.
        """
        from ttt_env.compiled.canonical import COMPLETE

        if position.game.misere:
            is_safe = all(mask & position.theirs for mask in position.game.winning_masks)
            return position.legal_cells[0] if is_safe else None
        weights = dict.fromkeys(position.legal_cells, 0)
        total = 0
        for mask in position.game.winning_masks:
            if not mask & position.mine:
                rest = mask & ~position.theirs
                weight = max(COMPLETE >> rest.bit_count(), 1)
                total += weight
                for cell in cells_of(rest):
                    weights[cell] += weight
        best = max(weights, key=lambda cell: weights[cell])
        return best if total < COMPLETE else None
