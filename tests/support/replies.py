"""Opponents of conversations and their replies; another process imports only this module for them."""

from typing import Any

import numpy as np

import ttt_env
from tests.support.games import lowest
from ttt_env import Agent, Position
from ttt_env.text import TextEnv


class Drawing(Agent):
    """A custom agent that draws from its `rng` in its own way."""

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        return int(rng.permutation(position.legal_cells)[rng.integers(1)])


OPPONENTS: dict[str, dict[str, Any]] = {
    "random": {},
    "minimax": {"opponent": "minimax"},
    "softmax": {"opponent": "softmax:temperature=0.5"},
    "mcts": {"opponent": "mcts:simulations=10,seed=1"},
    "epsilon": {"opponent": "epsilon:minimax,epsilon=0.3"},
    "epsilon-mcts": {"opponent": "epsilon:(mcts:simulations=10,seed=1),epsilon=0.3"},
    "function": {"opponent": lowest},
    "own": {"opponent": Drawing(ttt_env.get_game("tictactoe-v0"))},
    "list": {"opponent": ["random", "minimax", lowest], "opponent_weights": [3, 2, 1]},
}
Prefix = tuple[int, tuple[int, ...]]  # a seed, and the index of the free cell of each own move


def replies_of(kind: str, prefixes: list[Prefix]) -> list[str]:
    """The board after each prefix of own moves, with its seed."""
    env = TextEnv(**OPPONENTS[kind], illegal="raise")
    boards = []
    for seed, choices in prefixes:
        env.reset(seed=seed)
        for choice in choices:
            if not env.done:
                free = env.position.legal_cells
                env.move(free[choice % len(free)])
        boards.append(str(env.position))
    return boards
