"""The strategy that a search has proved, extracted position by position, so that others can check it.

Nothing is taken on trust: the search names its best move, and then each reply has to be answered, by a
sequence of threats that is played out, by pairs of cells, or by a position of its own, for which the search
names a move in turn. So the table is complete even if the search had forgotten a position, or two positions
had the same key: then it searches again.

A strategy that does not lose needs only some of the free cells, its zone (`search_kernel`). In the table, all
others are the other player's, so that the position covers every one with fewer of that player's stones: the
answer to one reply also answers the replies outside of its zone.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.sets import winning_sets
from ttt_env.compiled.stopping import check_stopped
from ttt_env.errors import ProofError
from ttt_env.proofs.strategy import MOST_POSITIONS, Strategy, moved
from ttt_env.rules import Masks, Position, Seat

_BATCH = 1024  # positions whose replies are checked in one call
_MOST_THREATS = 1000  # tried for a sequence that wins
_MOST_PAIRS = 20_000  # tried to hold a draw: pairs that hold are nearly always found
_OPEN = 6  # sequences that take as much room as a position
_REPORTED = 1000  # positions from one report to the next

Guide = Callable[[Position, int], list[int]]
"""Cells that keep the value, 1 or 0, of a position. Raises `ProofError` if there is none."""

CountReport = Callable[[int], None]  # called with the number of positions that are done


def check_strategy(strategy: Strategy) -> None:
    """Raise `ProofError` unless a strategy wins, or does not lose, as it says, against every reply.

    Its own moves and sequences are played, and nothing is searched. Each of its positions has to cover one
    that is reached.
    """
    replies = _Replies(strategy)
    reached = [replies.first(), *replies.after(np.arange(len(strategy)))]
    _, is_reached = replies.covering(_distinct(np.concatenate(reached)))
    if not is_reached.all() or len(_distinct(strategy.positions)) < len(strategy):
        raise ProofError(f"a position of the strategy of {strategy.seat} is never reached, or there twice")


class _Replies:
    """The positions that a strategy has to cover: those after the replies to its moves."""

    def __init__(self, strategy: Strategy) -> None:
        from ttt_env.proofs import strategy_kernel as kernel

        self._strategy, self._kernel, self._cover = strategy, kernel, kernel.new_cover(_BATCH)
        self._sets, self._permutations = winning_sets(strategy.game), kernel.permutations_of(strategy.game)
        self._first = np.cumsum(strategy.n_sequences, dtype=np.int64) - strategy.n_sequences

    def first(self) -> Masks:
        """The start, or those after the replies there; none after a win."""
        start = self._strategy.start
        own_first = np.array([[start.mine, start.theirs]], np.uint64)
        if start.to_move != self._strategy.seat:
            no_move, nothing = np.array([self._kernel.NO_MOVE], np.uint8), np.zeros(1, np.uint8)
            return self._open(own_first[:, ::-1], no_move, nothing, self._strategy.sequences[:0])
        return own_first[:0] if _wins_at_once(start) else own_first

    def after(self, rows: NDArray[np.intp]) -> Iterator[Masks]:
        """Those after the moves in these rows. Raises `ProofError` for a wrong move."""
        one = self._strategy
        for begin in range(0, len(rows), _BATCH):
            check_stopped()
            batch = rows[begin : begin + _BATCH]
            counts = one.n_sequences[batch]
            before = np.cumsum(counts, dtype=np.int64) - counts
            sequences = np.repeat(self._first[batch] - before, counts)
            sequences = one.sequences[sequences + np.arange(len(sequences))]
            yield self._open(one.positions[batch], one.moves[batch], counts, sequences)

    def _open(
        self,
        positions: Masks,
        moves: NDArray[np.uint8],
        counts: NDArray[np.uint8],
        sequences: NDArray[np.uint8],
    ) -> Masks:
        one, cover = self._strategy, self._cover._replace(n_sequences=counts, sequences=sequences)
        room = self._sets, self._permutations, None, cover
        n_right = self._kernel.follow_replies(positions, moves, one.wins, *room)
        if n_right < len(positions):
            here = one.in_words(*positions[n_right].tolist())
            raise ProofError(f"the move of {one.seat} in {here} does not keep the result")
        return _distinct(cover.open[: cover.totals[self._kernel.N_OPEN]])

    def covering(self, positions: Masks) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The rows that cover these positions, one for each; and of all rows, whether they cover any.

        Raises `ProofError` if a position is not covered.
        """
        (table, rows), one = self._strategy.ordered, self._strategy
        is_reached = np.zeros(len(rows), np.bool_)
        index = self._kernel.covering(positions, table, self._permutations, one.game.misere, is_reached)[:, 0]
        if (index < 0).any():
            here = one.in_words(*positions[int((index < 0).argmax())].tolist())
            raise ProofError(f"the strategy of {one.seat} has no move in {here}")
        return rows[index], is_reached


def _without_unreached(strategy: Strategy) -> Strategy:
    """The strategy without the positions that no reply leads to, or another one covers, too."""
    replies, is_needed = _Replies(strategy), np.zeros(len(strategy), np.bool_)
    layer = replies.first()
    while len(layer):
        rows = np.unique(replies.covering(layer)[0])
        is_needed[rows] = True
        layer = _distinct(np.concatenate([layer[:0], *replies.after(rows)]))
    return replace(
        strategy,
        positions=strategy.positions[is_needed],
        moves=strategy.moves[is_needed],
        n_sequences=strategy.n_sequences[is_needed],
        sequences=strategy.sequences[np.repeat(is_needed, strategy.n_sequences)],
    )


def _wins_at_once(start: Position) -> bool:
    return not start.game.misere and any(start.child(cell).is_won for cell in start.legal_cells)


class _Move(NamedTuple):
    """A move, its sequences, and what they leave to be answered.

    These are positions `[N, 2]`, and the reply and the number of the permutation that lead to each.
    """

    cell: int
    sequences: NDArray[np.uint8]
    open: Masks
    steps: list[list[int]]


class _Rows:
    """The positions of a table with the same stones of the seat, `[R, 2]`: a growing array."""

    def __init__(self) -> None:
        self._positions, self._is_reached, self._size = np.empty((8, 2), np.uint64), np.empty(8, np.bool_), 0

    def add(self, own: int, other: int) -> None:
        """Add a position."""
        if self._size == len(self._positions):
            self._positions = np.concatenate([self._positions, self._positions])
            self._is_reached = np.concatenate([self._is_reached, self._is_reached])
        self._positions[self._size] = own, other
        self._size += 1

    @property
    def parts(self) -> tuple[Masks, NDArray[np.bool_]]:
        """The positions, and room for as many flags."""
        return self._positions[: self._size], self._is_reached[: self._size]


class Extraction:
    """Collects the positions of a strategy: after each move, the positions that the replies lead to.

    The `guide` names moves that keep the result. A strategy that does not lose first tries the `likely`
    moves, which need not keep it: one that leaves nothing to be answered needs no guide.
    """

    def __init__(
        self,
        start: Position,
        seat: Seat,
        wins: bool,
        guide: Guide,
        report: CountReport | None = None,
        likely: Guide | None = None,
    ) -> None:
        from ttt_env.compiled.threats import new_threats
        from ttt_env.proofs import strategy_kernel as kernel
        from ttt_env.proofs.pairing_kernel import new_pairs

        self._kernel, self._cover = kernel, kernel.new_cover(1)
        self._sets = winning_sets(start.game)
        self._budget = _MOST_THREATS if wins else _MOST_PAIRS
        self._finder = kernel.Finder(new_threats(start.game, remembers=False), new_pairs(start.game), 0)
        self._permutations = kernel.permutations_of(start.game)
        self._inverses = np.argsort(self._permutations, axis=1).tolist()
        self._start, self._seat, self._wins = start, seat, wins
        self._guide, self._likely, self._report = guide, None if wins else likely, report
        self._has_zones = not (wins or start.game.misere)
        self._table: list[tuple[int, int, int, NDArray[np.uint8]]] = []  # both stones, move and sequences
        self._rows: dict[int, _Rows] = {}  # of the table, by own stones

    def strategy(self) -> Strategy:
        """The strategy of the seat, which wins or does not lose from `start` on.

        Raises `ProofError` if a move of the guide does not keep the result, or the strategy has more than
        `MOST_POSITIONS`.
        """
        from ttt_env.compiled.canonical import merge

        start = self._start.mine, self._start.theirs
        if self._start.to_move != self._seat:
            self._answer(self._checked_move(*start[::-1], self._kernel.NO_MOVE, searches=False))
        elif not _wins_at_once(self._start):
            self._solve(*merge(np.array([start], np.uint64), self._permutations)[0][0].tolist())
        return _without_unreached(Strategy(self._start, self._seat, self._wins, **self._arrays()))

    def _solve(self, own: int, other: int) -> int:
        """Put a position into the table, and all that it leads to; the zone in which the seat holds."""
        check_stopped()
        move = self._smallest_move(own, other)
        after, full = own | 1 << move.cell, self._start.game.full_mask
        zone = self._answer(move)
        if self._has_zones:
            zone = zone or sum(
                1 << cell for cell in move.sequences.ravel().tolist() if cell != self._kernel.NO_CELL
            )
            masks = np.uint64(after), np.uint64(other), np.uint64(zone)
            other = full & ~(after | int(self._kernel.zone_after(*masks, self._sets)))
        self._table.append((own, other, move.cell, move.sequences))
        self._rows.setdefault(own, _Rows()).add(own, other)
        if len(self._table) > MOST_POSITIONS:
            raise ProofError(
                f"the strategy of {self._seat} has more than {MOST_POSITIONS:,} positions: too many to save"
            )
        if self._report is not None and len(self._table) % _REPORTED == 0:
            self._report(len(self._table))
        return full & ~(own | other)

    def _answer(self, move: _Move) -> int:
        """Put what a move leaves to be answered into the table; the zones of all these positions."""
        zone, remaining = 0, self._start.game.full_mask
        is_covered = self._covering(move.open)[:, 0] >= 0
        for number in np.argsort(~is_covered, kind="stable").tolist():
            position, (reply, permutation) = move.open[number], move.steps[number]
            if remaining >> reply & 1:
                row, image = self._covering(position[None])[0].tolist()
                if row < 0:
                    of_position = self._solve(*position.tolist())
                else:
                    own, other = self._rows[int(position[0])].parts[0][row].tolist()
                    of_position = moved(self._start.game.full_mask & ~(own | other), self._inverses[image])
                of_position = moved(of_position, self._inverses[permutation])
                zone |= of_position
                remaining &= of_position
        return zone

    def _covering(self, positions: Masks) -> NDArray[np.int64]:
        """`covering` by what is in the table for positions with the same stones of the seat."""
        rows = self._rows.get(int(positions[0, 0])) if len(positions) else None
        if rows is None:
            return np.full((len(positions), 2), -1, np.int64)
        positions_of_rows, is_reached = rows.parts
        table = positions_of_rows, self._permutations, self._start.game.misere, is_reached
        coverage: NDArray[np.int64] = self._kernel.covering(positions, *table)
        return coverage

    def _smallest_move(self, own: int, other: int) -> _Move:
        """Of the moves that keep the result, one that adds least to the table."""
        question, tried = (Position(self._start.game, own, other), int(self._wins)), dict[int, _Move | None]()
        for cell in self._likely(*question) if self._likely is not None else ():
            tried[cell] = move = self._move(own, other, cell)
            if move is not None and not len(move.open):
                return move
        cells = self._guide(*question)
        for cell in cells if self._likely is None else ():
            move = self._checked_move(own, other, cell, searches=False)
            if not len(move.open):
                return move
        smallest, least = None, np.inf
        for cell in cells:
            move = tried.get(cell) or self._checked_move(own, other, cell)
            is_new = self._covering(move.open)[:, 0] < 0
            size = _OPEN * len(_distinct(move.open[is_new])) + len(move.sequences)
            if size < least:
                smallest, least = move, size
            if least <= 1:  # hardly any move adds less
                break
        assert smallest is not None
        return smallest

    def _checked_move(self, own: int, other: int, cell: int, searches: bool = True) -> _Move:
        """`_move`. Raises `ProofError` if it does not keep the result."""
        move = self._move(own, other, cell, searches)
        if move is None:
            wrong = Position(self._start.game, own, other)
            raise ProofError(f"the search was wrong: cell {cell} in {wrong!r} does not keep the result")
        return move

    def _move(self, own: int, other: int, cell: int, searches: bool = True) -> _Move | None:
        """A move and what is left to be answered; None if it does not keep the result."""
        cover = self._cover
        position, cells = np.array([[own, other]], np.uint64), np.array([cell], np.uint8)
        finder = self._finder._replace(budget=self._budget if searches else 0)
        room = self._sets, self._permutations, finder, cover
        if self._kernel.follow_replies(position, cells, self._wins, *room) == 0:
            return None
        n_sequences, n_open = cover.totals.tolist()
        of_open = cover.open[:n_open].copy(), cover.steps[:n_open].tolist()
        return _Move(cell, cover.sequences[:n_sequences].copy(), *of_open)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The table in ascending order of stones: in this order it takes least room in a file."""
        table = sorted(self._table, key=lambda row: (row[0].bit_count(), *row[:2]))
        sequences = np.concatenate(
            [np.empty((0, self._cover.sequences.shape[1]), np.uint8), *(row[3] for row in table)]
        )
        if not self._wins:  # pairs in ascending order take less room, too
            pairs = np.sort(sequences.reshape(len(sequences), sequences.shape[1] // 2, 2), axis=2)
            order = np.argsort(pairs[:, :, :1], axis=1, kind="stable")
            sequences = np.take_along_axis(pairs, order, axis=1).reshape(sequences.shape)
        longest = int((sequences != self._kernel.NO_CELL).sum(axis=1).max(initial=0))
        return {
            "positions": np.array([row[:2] for row in table], np.uint64).reshape(-1, 2),
            "moves": np.array([row[2] for row in table], np.uint8),
            "n_sequences": np.array([len(row[3]) for row in table], np.uint8),
            "sequences": np.ascontiguousarray(sequences[:, :longest]),
        }


def _distinct(positions: Masks) -> Masks:
    """The positions `[P, 2]` in ascending order, without duplicates."""
    ordered = positions[np.lexsort((positions[:, 1], positions[:, 0]))]
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[is_new]
