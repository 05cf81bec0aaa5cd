"""All reachable positions of a game, ply by ply, and the way from each to its successors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.analysis.grid import Grid, Slots, grid
from ttt_env.compiled.stopping import check_wanted
from ttt_env.rules import Boards, Game, check_enumerable
from ttt_env.rules.boards import owns_set

Bools = NDArray[np.bool_]
BatchPolicy = Callable[[Boards], Floats]

_CHUNK = 1 << 15  # positions in a batch: their successors' values stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Moves:
    """The moves of S positions of one ply, none of them over, with F free cells each."""

    layer: "Layer"
    slots: Slots

    @cached_property
    def boards(self) -> Boards:
        """The positions, `Boards[S]`."""
        return Boards(self.layer.game, *self.layer.grid.masks(self.slots))

    @property
    def cells(self) -> NDArray[np.int64]:
        """The cell of each move, `[S, F]`."""
        return self.layer.grid.free_cells(self.slots).T

    @property
    def successors(self) -> Slots:
        """The slots in the next layer that the moves lead to, `[F, S]`: a row for each free cell."""
        return self.layer.grid.successors(self.slots)

    def of_policy(self, policy: Floats) -> Floats:
        """Move probabilities `[S, cells]` as `[S, F]`: a column for each free cell."""
        probabilities: Floats = policy[self.boards.legal].reshape(len(self.slots), -1)
        return probabilities

    def chosen_by(self, respond: "Responder") -> Floats:
        """The move probabilities `[S, F]` of a responder that does not look at action values."""
        shape = len(self.slots), self.layer.game.n_cells - self.layer.ply
        return respond(np.broadcast_to(np.nan, shape), np.broadcast_to(np.True_, shape), self)


@dataclass(frozen=True, eq=False)
class Layer:
    """All positions of one ply that can be reached, as ascending slots of a `Grid`.

    In `open` the game goes on, in `won` the last move has completed a winning set, and `drawn` are full
    boards without one.
    """

    game: Game
    ply: int
    open: Slots
    won: Slots
    drawn: Slots

    @property
    def grid(self) -> Grid:
        """The numbering of this ply's positions."""
        return grid(self.game.n_cells, self.ply)

    def __len__(self) -> int:
        return len(self.open) + len(self.won) + len(self.drawn)

    def boards(self, slots: Slots) -> Boards:
        """The positions in these slots."""
        return Boards(self.game, *self.grid.masks(slots))

    def moves(self) -> Iterator[Moves]:
        """The moves of the open positions, in batches of at most 32,768 positions."""
        for start in range(0, len(self.open), _CHUNK):
            check_wanted()
            yield Moves(self, self.open[start : start + _CHUNK])


class Responder(Protocol):
    """The rule by which a seat moves: probabilities `[B, K]` from action values `q` and legal moves `[B, K]`.

    `q` is the expected win − loss of the player to move. `moves` says which positions and cells these
    are, for responders that follow a policy.
    """

    def __call__(self, q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
        """The probability of each move, `[B, K]`."""


def reachable(game: Game, x: Responder | None = None, o: Responder | None = None) -> list[Layer]:
    """The layers of the reachable positions, with the empty board first.

    A seat with a responder makes only moves of positive probability; a seat without makes every move.

    Raises `GameTooLargeError` if the game has too many positions to enumerate.
    """
    if x is None and o is None:
        return list(_all_reachable(game))
    return _explore(game, x, o)


@lru_cache(maxsize=4)
def _all_reachable(game: Game) -> tuple[Layer, ...]:
    layers = tuple(_explore(game, None, None))
    for layer in layers:
        for slots in (layer.open, layer.won, layer.drawn):
            slots.flags.writeable = False
    return layers


def _explore(game: Game, x: Responder | None, o: Responder | None) -> list[Layer]:
    check_enumerable(game)
    layers = [_layer(game, 0, np.zeros(1, np.int64))]
    while len(layers[-1].open):
        layer = layers[-1]
        respond = o if layer.ply % 2 else x
        seen = np.zeros(grid(layer.game.n_cells, layer.ply + 1).n_slots, np.bool_)
        for moves in layer.moves():
            successors = moves.successors
            if respond is not None:
                successors = successors[moves.chosen_by(respond).T > 0]
            seen[successors.ravel()] = True
        layers.append(_layer(game, layer.ply + 1, np.flatnonzero(seen)))
    return layers


def _layer(game: Game, ply: int, slots: Slots) -> Layer:
    won = owns_set(game, grid(game.n_cells, ply).masks(slots)[1])
    rest, none = slots[~won], slots[:0]
    is_full = ply == game.n_cells
    return Layer(game, ply, none if is_full else rest, slots[won], rest if is_full else none)
