"""The strategy that a search has proved, taken out of it position by position, so that others can check it.

Nothing is taken on trust: which move the search thinks best is asked, and then each reply has to be answered,
by a sequence of threats that is played out, by pairs of cells, or by a position of its own, which is asked
for in turn. So the
table is complete whatever the search knew; where it knew nothing, or two positions had the same key, it
searches again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.sets import winning_sets
from ttt_env.errors import ProofError
from ttt_env.proofs.strategy import MOST_POSITIONS, Strategy
from ttt_env.rules import Masks, Position, Seat
from ttt_env.stopping import check_wanted

_BATCH = 1024  # positions whose replies are looked at in one call
_MOST_THREATS = 1000  # tried for a sequence that wins
_MOST_PAIRS = 20_000  # tried for those that hold a draw: where there are some, they are nearly always found
_OPEN = 6  # sequences that take as much room as a position

Part = dict[str, NDArray[Any]]


Guide = Callable[[Position, int], list[int]]
"""Cells that keep the value, 1 or 0, of a position. Raises `ProofError` if there is none."""

CountReport = Callable[[int], None]  # called with the number of positions that are done


def check_strategy(strategy: Strategy) -> None:
    """Raise `ProofError` unless a strategy wins, or does not lose, as it says, against every reply.

    Its own moves and sequences are played, and nothing is searched. Each of its positions has to be reached.
    """
    from ttt_env.proofs import strategy_kernel as kernel

    sets, cover = winning_sets(strategy.game), kernel.new_cover(_BATCH)
    permutations = kernel.permutations_of(strategy.game)

    def open_after(positions: Masks, moves: NDArray[np.uint8], counts: NDArray[np.uint8], rows: Any) -> Masks:
        table = cover._replace(n_sequences=counts, sequences=rows)
        n_right = kernel.follow_replies(positions, moves, strategy.wins, sets, permutations, None, table)
        if n_right < len(positions):
            mine, theirs = positions[n_right].tolist()
            here = Position(strategy.game, mine, theirs)
            raise ProofError(f"the move of {strategy.seat} in {here!r} does not keep the result")
        return _distinct(cover.open[: cover.totals[kernel.N_OPEN]])

    def open_at_once(positions: Masks, moves: NDArray[np.uint8]) -> Masks:
        return open_after(positions, moves, np.zeros(1, np.uint8), strategy.sequences[:0])

    reached = [_first_positions(strategy.start, strategy.seat, open_at_once)]
    last = np.cumsum(strategy.n_sequences, dtype=np.int64)
    for first in range(0, len(strategy), _BATCH):
        check_wanted()
        batch = slice(first, first + _BATCH)
        rows = slice(last[first] - strategy.n_sequences[first], last[batch][-1])
        table = strategy.positions[batch], strategy.moves[batch], strategy.n_sequences[batch]
        reached.append(open_after(*table, strategy.sequences[rows]))
    if not np.array_equal(_distinct(np.concatenate(reached)), _ordered(strategy.positions)):
        raise ProofError(
            f"the positions of the strategy of {strategy.seat} are not those that are reached by it"
        )


def _first_positions(
    start: Position, seat: Seat, open_after: Callable[[Masks, NDArray[np.uint8]], Masks]
) -> Masks:
    """The first positions of a table: the start, or those after the replies there; none after a win."""
    from ttt_env.compiled.canonical import merge
    from ttt_env.proofs import strategy_kernel as kernel

    own_first = np.array([[start.mine, start.theirs]], np.uint64)
    if start.to_move != seat:
        return open_after(own_first[:, ::-1], np.array([kernel.NO_MOVE], np.uint8))
    if not start.game.misere and any(start.child(cell).is_won for cell in start.legal_cells):
        return own_first[:0]
    return merge(own_first, kernel.permutations_of(start.game))[0]


class Extraction:
    """Collects the positions of a strategy, from those with the fewest stones to those with the most."""

    def __init__(
        self, start: Position, seat: Seat, wins: bool, guide: Guide, report: CountReport | None = None
    ) -> None:
        from ttt_env.compiled.threats import new_threats
        from ttt_env.proofs import strategy_kernel as kernel
        from ttt_env.proofs.pairing_kernel import new_pairs

        self._kernel, self._cover = kernel, kernel.new_cover(_BATCH)
        self._sets = winning_sets(start.game)
        self._budget = _MOST_THREATS if wins else _MOST_PAIRS
        self._finder = kernel.Finder(new_threats(start.game, remembers=False), new_pairs(start.game), 0)
        self._permutations = kernel.permutations_of(start.game)
        self._start, self._seat, self._wins, self._guide, self._report = start, seat, wins, guide, report
        self._n_positions = 0

    def strategy(self) -> Strategy:
        """The strategy of the seat, which wins or does not lose from `start` on.

        Raises `ProofError` if a move of the guide does not keep the result, or the strategy has more than
        `MOST_POSITIONS`.
        """
        layer = _first_positions(
            self._start, self._seat, lambda start, moves: self._covered(start, moves, searches=False)[1]
        )
        parts = [self._covered(layer[:0], np.zeros(0, np.uint8))[0]]
        while len(layer):
            part, layer = self._answered(layer)
            parts.append(part)
        table = _joined(parts)
        longest = int((table["sequences"] != self._kernel.NO_CELL).sum(axis=1).max(initial=0))
        table["sequences"] = np.ascontiguousarray(table["sequences"][:, :longest])
        return Strategy(self._start, self._seat, self._wins, **table)

    def _answered(self, layer: Masks) -> tuple[Part, Masks]:
        """The part of the table for these positions, and those with two stones more that it leads to."""
        self._n_positions += len(layer)
        if self._n_positions > MOST_POSITIONS:
            raise ProofError(
                f"the strategy of {self._seat} has more than {MOST_POSITIONS:,} positions: too many to save"
            )
        moves = self._chosen(layer)
        parts, after = [], []
        for first in range(0, len(layer), _BATCH):
            check_wanted()
            batch = slice(first, first + _BATCH)
            part, open_positions = self._covered(layer[batch], moves[batch])
            parts.append(part)
            after.append(open_positions)
            if self._report is not None:
                self._report(self._n_positions - len(layer) + min(first + _BATCH, len(layer)))
        return _joined(parts), _distinct(np.concatenate(after))

    def _chosen(self, layer: Masks) -> NDArray[np.uint8]:
        """The moves in these positions: of those that keep the result, one that adds least to the table."""
        moves, table = np.empty(len(layer), np.uint8), set[tuple[int, int]]()
        for row, (mine, theirs) in enumerate(layer.tolist()):
            check_wanted()
            best, added = np.inf, set[tuple[int, int]]()
            cells = np.array(self._guide(Position(self._start.game, mine, theirs), int(self._wins)), np.uint8)
            self._covered(np.repeat(layer[row : row + 1], len(cells), axis=0), cells, searches=False)
            needs_nothing = self._cover.n_open[: len(cells)] == 0
            for cell in cells[needs_nothing][:1] if needs_nothing.any() else cells:
                part, after = self._covered(layer[row : row + 1], np.array([cell], np.uint8))
                new = set(map(tuple, after.tolist())) - table
                size = _OPEN * len(new) + int(part["n_sequences"][0])
                if size < best:
                    best, added, moves[row] = size, new, cell
                if best <= 1:  # hardly any move adds less
                    break
            table |= added
        return moves

    def _covered(
        self, positions: Masks, moves: NDArray[np.uint8], searches: bool = True
    ) -> tuple[Part, Masks]:
        kernel, cover = self._kernel, self._cover
        finder = self._finder._replace(budget=self._budget if searches else 0)
        room = self._sets, self._permutations, finder, cover
        n_right = kernel.follow_replies(positions, moves, self._wins, *room)
        if n_right < len(positions):
            mine, theirs = positions[n_right].tolist()
            wrong = Position(self._start.game, mine, theirs)
            raise ProofError(
                f"the search was wrong: cell {moves[n_right]} in {wrong!r} does not keep the result"
            )
        n_sequences, n_open = cover.totals.tolist()
        part: Part = {
            "positions": positions,
            "moves": moves,
            "n_sequences": cover.n_sequences[: len(positions)].copy(),
            "sequences": cover.sequences[:n_sequences].copy(),
        }
        return part, _distinct(cover.open[:n_open])


def _ordered(positions: Masks) -> Masks:
    """The positions `[P, 2]` in ascending order."""
    return positions[np.lexsort((positions[:, 1], positions[:, 0]))]


def _distinct(positions: Masks) -> Masks:
    """The positions `[P, 2]` in ascending order, each of them once."""
    ordered = _ordered(positions)
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[is_new]


def _joined(parts: list[Part]) -> Part:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
