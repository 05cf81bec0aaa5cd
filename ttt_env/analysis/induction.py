"""One sweep over a game from its ends to its start, and the ways to move that it is run with.

What the sweep computes depends only on its two responders: with `best` and `best` it solves the game, with
`follow` and `follow` it gives the exact result of two agents, with `follow` and `best` the best response.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.grid import grid
from ttt_env.analysis.layers import BatchPolicy, Layer, Moves
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
TIE = 1e-9  # action values closer than this are equal: what rounding leaves of equal sums


class Responder(Protocol):
    """How a seat moves: action values `q` `[B, K]` and legal masks `[B, K]` to probabilities `[B, K]`.

    `q` is the expected win − loss of the player to move. `moves` says which positions and cells these
    are; of the responders here only `follow` asks.
    """

    def __call__(self, q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
        """The probability of each move, `[B, K]`."""


def best(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """Uniform among the moves of highest value."""
    masked = np.where(legal, q, -np.inf)
    ties = masked >= masked.max(axis=1, keepdims=True) - TIE
    return ties / ties.sum(axis=1, keepdims=True)


def uniform(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """Uniform among the legal moves."""
    chosen = np.broadcast_to(legal, q.shape)
    return chosen / chosen.sum(axis=1, keepdims=True)


def softmax(temperature: float) -> Responder:
    """Probabilities proportional to exp(q / temperature); 0 is `best`, infinity `uniform`."""
    if temperature == 0:
        return best
    if np.isinf(temperature):
        return uniform

    def respond(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
        masked = np.where(legal, q, -np.inf)
        # At small temperatures differences that are mere rounding must not count: see `best`.
        below = np.minimum(masked - masked.max(axis=1, keepdims=True) + TIE, 0.0)
        with np.errstate(over="ignore", under="ignore"):
            weights = np.exp(below / temperature)
        return weights / weights.sum(axis=1, keepdims=True)

    return respond


def follow(policy: BatchPolicy) -> Responder:
    """As this policy says, whatever the values are."""

    def respond(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
        if moves is None:
            raise ValueError("a policy is followed in positions: `moves` is needed")
        return moves.of_policy(policy(moves.boards))

    return respond


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What the sweep found: for each layer the probabilities `[2, slots]` that the mover wins, loses."""

    game: Game
    layers: list[Floats]

    @property
    def start(self) -> tuple[float, float]:
        """The probabilities that X wins and that O wins, from the empty board."""
        return float(self.layers[0][0, 0]), float(self.layers[0][1, 0])

    def values(self) -> "Values":
        """Win − loss of the player to move, for each position."""
        return Values(self.game, [layer[0] - layer[1] for layer in self.layers])


class Values:
    """A value from the mover's side for each position of a game, by slot; any number type."""

    def __init__(self, game: Game, layers: Sequence[NDArray[np.number]]) -> None:
        self.game, self.layers = game, layers

    def of(self, boards: Boards) -> Floats:
        """The values of these positions, `[B]`."""
        found = np.empty(len(boards))
        for ply in np.unique(boards.ply):
            at = np.flatnonzero(boards.ply == ply)
            slots = grid(self.game.n_cells, int(ply)).slots(boards.mine[at], boards.theirs[at])
            found[at] = self.layers[ply][slots]
        return found

    def q(self, boards: Boards) -> Floats:
        """The value of each move for the player who makes it, `[B, cells]`; NaN where none is legal."""
        found = np.full((len(boards), self.game.n_cells), np.nan)
        is_open = ~boards.is_over
        for ply in np.unique(boards.ply[is_open]):
            at = np.flatnonzero(is_open & (boards.ply == ply))
            places = grid(self.game.n_cells, int(ply))
            slots = places.slots(boards.mine[at], boards.theirs[at])
            found[at, places.free_cells(slots)] = -self.layers[ply + 1][places.successors(slots)]
        return found


def backward_induction(positions: Sequence[Layer], x: Responder, o: Responder) -> Outcomes:
    """The outcome of every position when the seats move as these responders say.

    `positions` are the layers of a game, all or those that `x` and `o` can bring up (`reachable`).
    """
    last = positions[-1]
    after, found = np.zeros((2, 0)), []
    for layer in reversed(positions):
        after = _outcomes_of(layer, after, o if layer.ply % 2 else x)
        found.append(after)
    return Outcomes(last.game, found[::-1])


def _outcomes_of(layer: Layer, after: Floats, respond: Responder) -> Floats:
    outcomes = np.zeros((2, layer.grid.n_slots))
    outcomes[0 if layer.game.misere else 1, layer.won] = 1.0
    for moves in layer.moves():
        # A win of the player to move there is a loss of the one to move here.
        lost, won = np.take(after, moves.successors, axis=1)
        q = (won - lost).T
        chosen = respond(q, np.broadcast_to(np.True_, q.shape), moves).T
        outcomes[0, moves.slots] = (chosen * won).sum(axis=0)
        outcomes[1, moves.slots] = (chosen * lost).sum(axis=0)
    return outcomes


