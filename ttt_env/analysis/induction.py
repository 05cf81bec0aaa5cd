"""One sweep over a game from its ends to its start, and the ways to move that it is run with.

What the sweep computes depends only on its two responders: with `best` and `best` it solves the game, with
`follow` and `follow` it gives the exact result of two agents, with `follow` and `best` the best response.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.grid import grid
from ttt_env.analysis.layers import BatchPolicy, Bools, Floats, Layer, Moves, Responder
from ttt_env.errors import ParameterError
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game

TIE = 1e-9  # action values closer than this are equal: what rounding leaves of equal sums


Payoff = Callable[[int], tuple[float, float, float]]
"""What an end with so many stones pays a player: (if it has won, if it is drawn, if it has lost)."""


def win_probability(ply: int) -> tuple[float, float, float]:
    """Pays 1 for a win, so that expected payoffs are probabilities."""
    return 1.0, 0.0, 0.0


def best(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """Uniform among the moves of highest value."""
    masked = np.where(legal, q, -np.inf)
    ties = masked >= masked.max(axis=1, keepdims=True) - TIE
    chosen: Floats = ties / ties.sum(axis=1, keepdims=True)
    return chosen


def uniform(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """Uniform among the legal moves."""
    allowed = np.broadcast_to(legal, q.shape)
    chosen: Floats = allowed / allowed.sum(axis=1, keepdims=True)
    return chosen


def softmax(temperature: float) -> Responder:
    """Probabilities proportional to exp(q / temperature); 0 is `best`, infinity `uniform`.

    Raises `ParameterError` for a temperature below 0 or NaN.
    """
    if not temperature >= 0:
        raise ParameterError(f"temperature={temperature!r}: numbers from 0 on are allowed")
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
        chosen: Floats = weights / weights.sum(axis=1, keepdims=True)
        return chosen

    return respond


def follow(policy: BatchPolicy) -> Responder:
    """As this policy says, whatever the values are."""

    def respond(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
        if moves is None:
            raise ValueError("a policy is followed in positions: `moves` is needed")
        return moves.of_policy(policy(moves.boards))

    return respond


class TwoPass:
    """A seat that follows a policy, computed once for two passes over a game.

    `reachable` asks for every batch of positions, then the sweep asks for the same ones again.
    """

    def __init__(self, policy: BatchPolicy) -> None:
        self._follow = follow(policy)
        self._once: dict[tuple[int, int], Floats] = {}

    def __call__(self, q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
        """The policy's probabilities, `[B, K]`."""
        if moves is None:
            return self._follow(q, legal, moves)
        key = moves.layer.ply, int(moves.slots[0])
        if key in self._once:
            return self._once.pop(key)
        self._once[key] = self._follow(q, legal, moves)
        return self._once[key]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What the sweep found: for each layer, from `ply` on, the payoffs `[2, slots]` of mover and other.

    With the usual payoff these are the probabilities that the mover wins and that it loses.
    """

    game: Game
    ply: int
    layers: list[Floats]

    @property
    def start(self) -> tuple[float, float]:
        """The payoffs of X and of O on the empty board: the probabilities that they win."""
        return float(self.layers[0][0, 0]), float(self.layers[0][1, 0])

    def values(self) -> "Values":
        """The mover's payoff less the other's for each position: usually win − loss."""
        return Values(self.game, [layer[0] - layer[1] for layer in self.layers], self.ply)


class Values:
    """A value from the mover's side for each position of a game, by slot; any number type.

    `layers` begin with the one of `first_ply`.
    """

    def __init__(self, game: Game, layers: Sequence[NDArray[np.number]], first_ply: int = 0) -> None:
        self.game, self.first_ply, self.layers = game, first_ply, layers

    def of(self, boards: Boards) -> Floats:
        """The values of these positions, `[B]`."""
        found = np.empty(len(boards))
        for ply in np.unique(boards.ply):
            at = np.flatnonzero(boards.ply == ply)
            slots = grid(self.game.n_cells, int(ply)).slots(boards.mine[at], boards.theirs[at])
            found[at] = self.layers[ply - self.first_ply][slots]
        return found

    def q(self, boards: Boards) -> Floats:
        """The value of each move for the player who makes it, `[B, cells]`; NaN where none is legal."""
        found = np.full((len(boards), self.game.n_cells), np.nan)
        is_open = ~boards.is_over
        for ply in np.unique(boards.ply[is_open]):
            at = np.flatnonzero(is_open & (boards.ply == ply))
            places = grid(self.game.n_cells, int(ply))
            slots = places.slots(boards.mine[at], boards.theirs[at])
            found[at, places.free_cells(slots)] = -self.layers[ply + 1 - self.first_ply][
                places.successors(slots)
            ]
        return found


def backward_induction(
    positions: Sequence[Layer],
    x: Responder,
    o: Responder,
    *,
    payoff: Payoff = win_probability,
    leaves: Callable[[Boards], Floats] | None = None,
) -> Outcomes:
    """The outcome of every position when the seats move as these responders say.

    `positions` are the layers of a game: all, those that `x` and `o` can bring up (`reachable`), or
    the ones from some ply to some other; `leaves` then gives the values `[B]` for the mover of the
    last layer's open positions.
    """
    last = positions[-1]
    found = [_ends_of(last, payoff)]
    if leaves is not None and len(last.open):
        found[0][0, last.open] = leaves(last.boards(last.open))
    for layer in reversed(positions[:-1]):
        found.append(_outcomes_of(layer, found[-1], o if layer.ply % 2 else x, payoff))
    return Outcomes(last.game, positions[0].ply, found[::-1])


def _ends_of(layer: Layer, payoff: Payoff) -> Floats:
    outcomes = np.zeros((2, layer.grid.n_slots))
    win, draw, loss = payoff(layer.ply)
    of_last_mover, of_other = (loss, win) if layer.game.misere else (win, loss)
    outcomes[:, layer.won] = [[of_other], [of_last_mover]]
    outcomes[:, layer.drawn] = draw
    return outcomes


def _outcomes_of(layer: Layer, after: Floats, respond: Responder, payoff: Payoff) -> Floats:
    outcomes = _ends_of(layer, payoff)
    for moves in layer.moves():
        # The player to move there is the other one here.
        other, mover = np.take(after, moves.successors, axis=1)
        q = (mover - other).T
        chosen = respond(q, np.broadcast_to(np.True_, q.shape), moves).T
        outcomes[0, moves.slots] = (chosen * mover).sum(axis=0)
        outcomes[1, moves.slots] = (chosen * other).sum(axis=0)
    return outcomes
