"""The reachable positions of a game, ply by ply, and the way from each to its successors.

On up to 18 cells the positions of a ply have the numbers of a `Grid`, on larger boards their ranks among the
reached ones (`KeyNumbering`). Callers see the same `Layer`s in both cases.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.analysis.grid import Grid, Slots, grid
from ttt_env.analysis.keyed import DistinctKeys, KeyNumbering
from ttt_env.analysis.rows import Rows, are_possible, chances, join_rows, n_possible
from ttt_env.compiled.stopping import check_stopped
from ttt_env.errors import GameTooLargeError
from ttt_env.rules import Boards, Game, Position, check_enumerable, is_enumerable
from ttt_env.rules.boards import owns_set

Bools = NDArray[np.bool_]
BatchPolicy = Callable[[Boards], Floats]
Numbering: TypeAlias = Grid | KeyNumbering

MOST = 20_000_000
"""The most positions that are held by default, of all games with an agent on one seat."""

_CHUNK = 1 << 15  # positions in a batch: their successors' values stay in the processor's cache


@dataclass(eq=False)
class Moves:
    """The moves of S open positions of one ply, at most K of each.

    Where a position has fewer, its row is filled up with cells that may not be played; they behave as the
    first move does, except that they are not `legal` and are never played.
    """

    layer: "Layer"
    slots: Slots
    rows: Rows | None = None
    """The recorded answers in these positions, if there are any: see `rows`."""

    @cached_property
    def boards(self) -> Boards:
        """The positions, `Boards[S]`."""
        return Boards(self.layer.game, *self.layer.numbering.masks(self.slots))

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """The cell of each move, `[S, K]`."""
        return self.layer.numbering.cells(self.slots).T

    @property
    def legal(self) -> Bools:
        """True for the moves that may be made, `[S, K]`; all True unless some positions have fewer."""
        n_moves, n_most = self.layer.numbering.n_moves(self.slots), self.cells.shape[1]
        if n_moves.min(initial=n_most) == n_most:
            return np.broadcast_to(np.True_, self.cells.shape)
        legal: Bools = np.arange(n_most) < n_moves[:, None]
        return legal

    @property
    def successors(self) -> Slots:
        """The slots in the next layer that the moves lead to, `[K, S]`, with a row for each move."""
        return self.layer.numbering.successors(self.slots)

    def of_policy(self, policy: Floats) -> Floats:
        """Move probabilities `[S, cells]` as `[S, K]`, a column for each move."""
        probabilities: Floats = np.take_along_axis(policy, self.cells, axis=1)
        return probabilities

    @property
    def chances(self) -> Floats:
        """The probability of each move in the recorded answers, `[S, K]`; all 0 in a row for no cell."""
        assert self.rows is not None
        return chances(self.rows, self.cells)

    @property
    def are_possible(self) -> Bools:
        """True for the moves of positive probability in the recorded answers, `[S, K]`."""
        assert self.rows is not None
        return are_possible(self.rows, self.cells)


@dataclass(frozen=True, eq=False)
class Layer:
    """All reachable positions of one ply, as ascending slots of a numbering.

    In `open_slots` the game is not over, in `won_slots` the last move has completed a winning set, and
    `drawn_slots` are full boards without one. `rows` are the recorded answers of an agent in the open
    positions, if it was queried there.
    """

    game: Game
    ply: int
    numbering: Numbering
    open_slots: Slots
    won_slots: Slots
    drawn_slots: Slots
    rows: Rows | None = None

    def __len__(self) -> int:
        return len(self.open_slots) + len(self.won_slots) + len(self.drawn_slots)

    def boards(self, slots: Slots) -> Boards:
        """The positions in these slots."""
        return Boards(self.game, *self.numbering.masks(slots))

    def moves(self) -> Iterator[Moves]:
        """The moves of the open positions, in batches of at most 32,768 positions."""
        for start in range(0, len(self.open_slots), _CHUNK):
            check_stopped()
            part = slice(start, start + _CHUNK)
            yield Moves(self, self.open_slots[part], None if self.rows is None else self.rows[part])

    def places(self, boards: Boards) -> NDArray[np.intp]:
        """The places in `open_slots` of positions of this ply, `[B]`; −1 for one that is not there."""
        numbering, places = self.numbering, np.full(len(boards), -1, np.intp)
        is_numbered = np.ones(len(boards), np.bool_)
        if isinstance(numbering, KeyNumbering):
            is_numbered = numbering.holds(boards.mine, boards.theirs)
        slots = numbering.slots(boards.mine[is_numbered], boards.theirs[is_numbered])
        at = np.searchsorted(self.open_slots, slots)
        is_there = (
            self.open_slots[np.minimum(at, len(self.open_slots) - 1)] == slots
            if len(self.open_slots)
            else slots < 0
        )
        places[is_numbered] = np.where(is_there, at, -1)
        return places

    def place(self, position: Position) -> int:
        """`places` of one position."""
        return int(self.places(Boards.single(position))[0])


class Responder(Protocol):
    """The rule by which a seat moves: probabilities `[B, K]` from action values `q` and legal moves `[B, K]`.

    `q` is the expected win − loss of the player to move. `moves` are the positions and cells, for responders
    that follow a policy.
    """

    def __call__(self, q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
        """The probability of each move, `[B, K]`."""


Ask: TypeAlias = Callable[[Moves], Rows]
"""Queries an agent in some positions of one ply, and returns its answers."""


def reachable(game: Game) -> list[Layer]:
    """The layers of all positions of a game, beginning with the empty board.

    Raises `GameTooLargeError` if the game has too many positions to enumerate.
    """
    return list(_all_reachable(game))


@lru_cache(maxsize=4)
def _all_reachable(game: Game) -> tuple[Layer, ...]:
    check_enumerable(game)
    layers = tuple(reached_layers(game, most=None))
    for layer in layers:
        for slots in (layer.open_slots, layer.won_slots, layer.drawn_slots):
            slots.flags.writeable = False
    return layers


def reached_layers(
    game: Game, x: Ask | None = None, o: Ask | None = None, *, most: int | None = MOST
) -> Iterator[Layer]:
    """Yield the layers of all games in which the seats move as they answer; None makes every move.

    A seat is queried in all open positions of its plies, once each; the layer then has its answers as `rows`.
    The next layer is what the moves of positive probability lead to.

    Raises `GameTooLargeError` as soon as more than `most` positions would be held, of all plies together.
    """
    n_held, ply = 0, 0

    def check(n_more: int) -> None:
        if most is not None and n_held + n_more > most:
            raise GameTooLargeError(
                f"more than {most:,} positions of {game.name} are reached, at ply {ply} of {game.n_cells}: "
                "too many to hold. An agent that plays fewer different moves reaches fewer positions; "
                "in Python, most= raises the limit"
            )

    numbering: Numbering = grid(game, 0) if is_enumerable(game) else KeyNumbering.start(game)
    layer = _split_by_end(game, numbering, np.zeros(1, np.int64))
    while True:
        ask = o if layer.ply % 2 else x
        n_held, ply = n_held + len(layer), layer.ply + 1
        n_parents = layer.ply // 2 + 1  # at most, of a position of the next ply: each lacks one of its stones
        n_moves, answers = 0, list[Rows]()
        marks = _GridMarks(layer) if isinstance(layer.numbering, Grid) and len(layer.open_slots) else None
        for moves in layer.moves() if ask is not None or marks is not None else ():
            if ask is not None:
                moves.rows = ask(moves)
                answers.append(moves.rows)
                n_moves += n_possible(moves.rows)
                check(n_moves // n_parents)
            if marks is not None:
                marks.add(moves)
        if answers:
            layer = replace(layer, rows=join_rows(answers, (moves.cells for moves in layer.moves())))
        yield layer
        if not len(layer.open_slots):
            return
        if ask is None:
            n_moves = int(layer.numbering.n_moves(layer.open_slots).sum())
        check(n_moves // n_parents)
        layer = _split_by_end(
            game, *(_number_successors(layer, check) if marks is None else marks.numbering_and_slots())
        )
        check(len(layer))


class _GridMarks:
    """The positions of the next ply that moves lead to, marked on its grid."""

    def __init__(self, layer: Layer) -> None:
        self._next = grid(layer.game, layer.ply + 1)
        self._marks = np.zeros(self._next.n_slots, np.bool_)

    def add(self, moves: Moves) -> None:
        successors = moves.successors
        self._marks[successors.ravel() if moves.rows is None else successors[moves.are_possible.T]] = True

    def numbering_and_slots(self) -> tuple[Numbering, Slots]:
        return self._next, np.flatnonzero(self._marks)


def _number_successors(layer: Layer, check: Callable[[int], None]) -> tuple[Numbering, Slots]:
    """The numbering and the slots of the next ply on a large board: the distinct keys of the successors."""
    before, distinct = layer.numbering, DistinctKeys(check)
    assert isinstance(before, KeyNumbering)
    for moves in layer.moves():
        keys = before.successor_keys(moves.slots)
        distinct.add(keys.ravel() if moves.rows is None else keys[moves.are_possible.T])
    before.next_ply = KeyNumbering(layer.game, before.ply + 1, distinct.keys)
    return before.next_ply, np.arange(before.next_ply.n_slots)


def _split_by_end(game: Game, numbering: Numbering, slots: Slots) -> Layer:
    won = owns_set(game, numbering.masks(slots)[1])
    rest, none = slots[~won], slots[:0]
    is_full = numbering.ply == game.n_cells
    return Layer(
        game, numbering.ply, numbering, none if is_full else rest, slots[won], rest if is_full else none
    )
