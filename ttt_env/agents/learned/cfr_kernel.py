"""Counterfactual regret minimisation over the positions of a game, compiled: one sweep is one iteration."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agents.learned.q_learning_kernel import Graph
from ttt_env.compiled.compiler import compiled, inner

BOTH = -1  # both seats learn in a sweep, instead of 0 (X) or 1 (O) alone


class Regrets(NamedTuple):
    """The statistics of every move of a `Graph` (`[moves]`) and of every position (`[P]`).

    `regret` is how much more a move would have earned until now than what was played, `total` the sum of the
    strategies so far, weighted by how often they were reached, and `strategy` the current strategy. `seat` is
    the player to move in a position, `reach` `[2, P]` how likely each seat's own moves lead there, summed
    over all ways to it, and `value` the value of the position for the player to move.
    """

    regret: NDArray[np.float64]
    total: NDArray[np.float64]
    strategy: NDArray[np.float64]
    seat: NDArray[np.int8]
    reach: NDArray[np.float64]
    value: NDArray[np.float64]


@compiled
def set_movers(graph: Graph, seat: NDArray[np.int8]) -> None:
    """Set who moves in each position: 0 on the empty board, and after each move the other."""
    for position in range(len(seat)):
        for edge in range(graph.first[position], graph.first[position + 1]):
            seat[graph.next[edge]] = 1 - seat[position]


@compiled
def sweep(graph: Graph, state: Regrets, learner: int, weight: float, is_plus: bool) -> None:
    """One iteration, in which the seat `learner` learns, or `BOTH`.

    Its strategy is added to the total with this weight. With `is_plus` regrets below 0 become 0.
    """
    forward_pass(graph, state, learner, weight)
    backward_pass(graph, state, learner, is_plus)


@inner
def forward_pass(graph: Graph, state: Regrets, learner: int, weight: float) -> None:
    """From the empty board on: the strategies by regret matching, and how likely they lead where."""
    for position in range(len(state.seat)):
        state.reach[0, position] = state.reach[1, position] = 1.0 if position == 0 else 0.0
    for position in range(len(state.seat)):
        mover = state.seat[position]
        match_regrets(graph, state, position)
        own, other = state.reach[mover, position], state.reach[1 - mover, position]
        for edge in range(graph.first[position], graph.first[position + 1]):
            state.reach[mover, graph.next[edge]] += own * state.strategy[edge]
            state.reach[1 - mover, graph.next[edge]] += other
            if learner == BOTH or learner == mover:
                state.total[edge] += weight * own * state.strategy[edge]


@inner
def match_regrets(graph: Graph, state: Regrets, position: int) -> None:
    """Each move with a probability in proportion to its regret, where that is above 0; else uniformly."""
    first, last = graph.first[position], graph.first[position + 1]
    above = 0.0
    for edge in range(first, last):
        above += max(state.regret[edge], 0.0)
    for edge in range(first, last):
        state.strategy[edge] = max(state.regret[edge], 0.0) / above if above > 0.0 else 1.0 / (last - first)


@inner
def backward_pass(graph: Graph, state: Regrets, learner: int, is_plus: bool) -> None:
    """From the ends of the game back: the values of the positions, and by that the regrets."""
    for position in range(len(state.seat) - 1, -1, -1):
        first, last = graph.first[position], graph.first[position + 1]
        if first == last:
            state.value[position] = -float(graph.reward[position])
            continue
        value = 0.0
        for edge in range(first, last):
            value -= state.strategy[edge] * state.value[graph.next[edge]]
        state.value[position] = value
        mover = state.seat[position]
        if learner == BOTH or learner == mover:
            others = state.reach[1 - mover, position]
            for edge in range(first, last):
                regret = state.regret[edge] + others * (-state.value[graph.next[edge]] - value)
                state.regret[edge] = max(regret, 0.0) if is_plus else regret
