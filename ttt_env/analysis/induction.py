"""One sweep over a game from its ends to its start, and the responders that it is run with.

What the sweep computes depends only on its two responders: with `best` and `best` it solves the game, with
`follow` and `follow` it gives the exact result of two agents, with `follow` and `best` the best response.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.analysis.grid import grid
from ttt_env.analysis.layers import BatchPolicy, Bools, Layer, Moves, Numbering, Responder
from ttt_env.rules import Boards, Game

TIE = 1e-9  # action values closer than this count as equal: they may differ by rounding alone


Payoff = Callable[[int], tuple[float, float, float]]
"""From the number of stones at the end of a game to what it pays a player: (a win, a draw, a loss)."""


def win_probability(ply: int) -> tuple[float, float, float]:
    """1 for a win and else 0, so that expected payoffs are the probabilities to win."""
    return 1.0, 0.0, 0.0


def best(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """Uniform among the moves of highest value."""
    return near_highest(q, legal, TIE)


def highest(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """Uniform among the moves of exactly the highest value, for the value of a best response.

    `best` treats values that differ by less than `TIE` as equal, so that symmetric moves stay equal.
    """
    return near_highest(q, legal, 0.0)


def near_highest(q: Floats, legal: Bools, tolerance: float | Floats) -> Floats:
    """Uniform among the legal moves whose values are at most `tolerance` below the highest, `[B, cells]`."""
    masked = np.where(legal, q, -np.inf)
    ties = masked >= masked.max(axis=1, keepdims=True) - tolerance
    probabilities: Floats = ties / ties.sum(axis=1, keepdims=True)
    return probabilities


def uniform(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """Uniform among the legal moves."""
    allowed = np.broadcast_to(legal, q.shape)
    probabilities: Floats = allowed / allowed.sum(axis=1, keepdims=True)
    return probabilities


def softmax(temperature: float) -> Responder:
    """Probabilities proportional to exp(q / temperature); 0 is `best`, infinity `uniform`."""
    if temperature == 0:
        return best
    if np.isinf(temperature):
        return uniform

    return partial(_respond_softly, temperature)


def _respond_softly(temperature: float, q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    masked = np.where(legal, q, -np.inf)
    # Rounding errors, which small temperatures would amplify, must not count: see `TIE`.
    below = np.minimum(masked - masked.max(axis=1, keepdims=True) + TIE, 0.0)
    with np.errstate(over="ignore", under="ignore"):
        weights = np.exp(below / temperature)
    probabilities: Floats = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


def follow(policy: BatchPolicy) -> Responder:
    """The responder that plays this policy, whatever the action values are."""

    def respond(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
        if moves is None:
            raise ValueError("a policy is followed in positions: `moves` is needed")
        return moves.of_policy(policy(moves.boards))

    return respond


def follow_answers(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
    """The responder that plays the recorded answers of the agent: the `rows` of the layers."""
    if moves is None:
        raise ValueError("answers were given in positions: `moves` is needed")
    return moves.chances


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The expected payoffs that the sweep computes, `[2, slots]` for each layer from `ply` on.

    Row 0 is the payoff of the player to move, row 1 that of the other: with the usual payoff the
    probabilities that the player to move wins and that it loses.
    """

    game: Game
    ply: int
    layers: list[Floats]
    numberings: Sequence[Numbering]

    @property
    def start(self) -> tuple[float, float]:
        """The payoffs of X and of O on the empty board: the probabilities that they win."""
        return float(self.layers[0][0, 0]), float(self.layers[0][1, 0])

    def values(self) -> "Values":
        """The payoff of the player to move minus the other's, for each position: usually win − loss."""
        return Values(self.game, [layer[0] - layer[1] for layer in self.layers], self.ply, self.numberings)


class Values:
    """The value of each position of a game for the player to move.

    `layers` hold the values `[slots]`, of any number type, ply by ply from `first_ply` on; `numberings`
    number the slots, by default the grids.
    """

    def __init__(
        self,
        game: Game,
        layers: Sequence[NDArray[np.number]],
        first_ply: int = 0,
        numberings: Sequence[Numbering] | None = None,
    ) -> None:
        self.game, self.first_ply, self.layers, self._numberings = game, first_ply, layers, numberings

    def numbering(self, ply: int) -> Numbering:
        """The numbering of the slots of a ply."""
        if self._numberings is None:
            return grid(self.game, ply)
        return self._numberings[ply - self.first_ply]

    def of(self, boards: Boards) -> Floats:
        """The values of these positions, `[B]`."""
        values = np.empty(len(boards))
        for ply, at in boards.by_ply():
            slots = self.numbering(ply).slots(boards.mine[at], boards.theirs[at])
            values[at] = self.layers[ply - self.first_ply][slots]
        return values

    def highest(self, boards: Boards) -> Bools:
        """True for the moves of the highest value, `[B, cells]`; all False where the game is over."""
        q = np.where(boards.legal, self.q(boards), -np.inf)
        is_highest: Bools = boards.legal & (q == q.max(axis=1, keepdims=True))
        return is_highest

    def q(self, boards: Boards) -> Floats:
        """The value of each move for the player who makes it, `[B, cells]`; NaN where the move is illegal."""
        q = np.full((len(boards), self.game.n_cells), np.nan)
        is_open = ~boards.is_over
        for ply in np.unique(boards.ply[is_open]):
            at = np.flatnonzero(is_open & (boards.ply == ply))
            numbering = self.numbering(int(ply))
            slots = numbering.slots(boards.mine[at], boards.theirs[at])
            after = self.layers[ply + 1 - self.first_ply]
            q[at, numbering.cells(slots)] = -after[numbering.successors(slots)]
        q[~boards.legal] = np.nan
        return q


def backward_induction(
    positions: Sequence[Layer],
    x: Responder,
    o: Responder,
    *,
    payoff: Payoff = win_probability,
    leaves: Callable[[Boards], Floats] | None = None,
    above: Values | None = None,
) -> Outcomes:
    """The outcome of every position when the seats move by these responders.

    `positions` are successive layers: of the whole game, of the part that two agents can reach
    (`reached_layers`), or of some plies. Where the last layer has open positions, `leaves` gives their values
    `[B]` for the player to move. A player whose responder gives no cell a probability above 0 has lost there.

    With the values of the solved game as `above`, row 0 of the outcomes is the payoff of the player to move
    above the value of the position, and row 1 is its negative. Each move adds what it gives away, so that
    nothing is subtracted, and a gain of 1e-40 is as exact as one of 0.5.
    """
    last = positions[-1]
    outcomes = [_ends_of(last, payoff, above)]  # from the last layer to the first
    if leaves is not None and len(last.open_slots):
        outcomes[0][0, last.open_slots] = leaves(last.boards(last.open_slots))
    for layer in reversed(positions[:-1]):
        outcomes.append(_outcomes_of(layer, outcomes[-1], o if layer.ply % 2 else x, payoff, above))
    numberings = [layer.numbering for layer in positions]
    return Outcomes(last.game, positions[0].ply, outcomes[::-1], numberings)


def _ends_of(layer: Layer, payoff: Payoff, above: Values | None) -> Floats:
    outcomes = np.zeros((2, layer.numbering.n_slots))
    if above is not None:
        return outcomes
    win, draw, loss = payoff(layer.ply)
    of_last_mover, of_other = (loss, win) if layer.game.misere else (win, loss)
    outcomes[:, layer.won_slots] = [[of_other], [of_last_mover]]
    outcomes[:, layer.drawn_slots] = draw
    return outcomes


def _outcomes_of(
    layer: Layer, after: Floats, respond: Responder, payoff: Payoff, above: Values | None
) -> Floats:
    outcomes = _ends_of(layer, payoff, above)
    win, _, loss = payoff(layer.ply)
    for moves in layer.moves():
        # After a move the other player is to move.
        other, mover = np.take(after, moves.successors, axis=1)
        if above is not None:
            given_away = above.layers[layer.ply][moves.slots] + above.layers[layer.ply + 1][moves.successors]
            mover, other = mover - given_away, other + given_away
        q = (mover - other).T
        policy = respond(q, moves.legal, moves).T
        outcomes[0, moves.slots] = (policy * mover).sum(axis=0)
        outcomes[1, moves.slots] = (policy * other).sum(axis=0)
        has_forfeited = ~policy.any(axis=0)
        if has_forfeited.any():
            slots = moves.slots[has_forfeited]
            outcomes[:, slots] = [[loss], [win]]
            if above is not None:
                given_away = 1 + above.layers[layer.ply][slots]
                outcomes[:, slots] = [-given_away, given_away]
    return outcomes
