"""Q-learning in self-play, compiled: one game after the other, an update after every move."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.random_numbers import Random, draw_below, draw_share


class Graph(NamedTuple):
    """The positions of a game up to symmetry, numbered from the empty board on.

    The positions after the moves of position p are `next[first[p]:first[p + 1]]`, one for each cell; none if
    it is over, and `reward[p]` is then the reward of the player who has just moved: 1, 0 or −1.
    """

    first: NDArray[np.int64]
    next: NDArray[np.int32]
    reward: NDArray[np.int8]


NO_MOVES = Graph(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int8))
"""The graph of a game that is over before it begins, to compile with."""


@compiled
def play_games(
    graph: Graph, q: NDArray[np.float64], random: Random, alpha: float, epsilon: float, games: int
) -> int:
    """Play games from the empty board by ε-greedy moves of both seats, and learn after each move.

    `q[p]` is the value of having moved to position p, for the player who has. Returns the number of moves.
    """
    moves = 0
    for _ in range(games):
        position = 0
        while graph.first[position] < graph.first[position + 1]:
            position = move(graph, q, random, epsilon, position)
            q[position] += alpha * (target(graph, q, position) - q[position])
            moves += 1
    return moves


@inner
def target(graph: Graph, q: NDArray[np.float64], position: int) -> float:
    """The target of a move: the reward if it ended the game, else minus the other player's best value."""
    first, last = graph.first[position], graph.first[position + 1]
    return -best_value(graph, q, position) if first < last else float(graph.reward[position])


@inner
def best_value(graph: Graph, q: NDArray[np.float64], position: int) -> float:
    """The largest value of a move in this position."""
    best = -np.inf
    for edge in range(graph.first[position], graph.first[position + 1]):
        best = max(best, q[graph.next[edge]])
    return best


@inner
def move(graph: Graph, q: NDArray[np.float64], random: Random, epsilon: float, position: int) -> int:
    """The position after a random move, with probability ε, or after one of the best, uniformly drawn."""
    first, last = graph.first[position], graph.first[position + 1]
    if draw_share(random) < epsilon:
        return int(graph.next[first + draw_below(random, last - first)])
    best, n_best, choice = best_value(graph, q, position), 0, 0
    for edge in range(first, last):
        if q[graph.next[edge]] == best:
            n_best += 1
            if draw_below(random, n_best) == 0:
                choice = graph.next[edge]
    return int(choice)
