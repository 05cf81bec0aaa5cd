"""Agents that look at the board as it is."""

import numpy as np

from ttt_env.agent import Agent, Floats
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Position


class Random(Agent):
    """Uniform among the legal cells; the baseline of every comparison. Plays boards of any size."""

    def policy(self, position: Position) -> Floats:  # noqa: D102
        cells = position.legal_cells
        chosen = np.zeros(self.game.n_cells)
        chosen[cells] = 1 / len(cells)
        return chosen

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        chosen: Floats = boards.legal / boards.legal.sum(axis=1, keepdims=True)
        return chosen

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        free = self.game.full_mask ^ position.occupied_mask
        for _ in range(int(rng.random() * free.bit_count())):
            free &= free - 1  # drop the lowest cell
        return (free & -free).bit_length() - 1
