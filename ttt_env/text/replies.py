"""Opponents whose draws depend on the position, so that the same board meets the same reply."""

import numpy as np

from ttt_env.agent import Agent, chosen_cell
from ttt_env.rules.game import Position


class ByPosition(Agent):
    """Plays as another agent does, with random numbers that depend on `seed` and the position alone.

    All games under one seed then meet the same reply on the same board, in whatever order and process they are
    played. An agent that keeps a state of its own, or draws from elsewhere, is not held to this.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.game)
        self.agent, self.seed = agent, 0

    def __repr__(self) -> str:
        return repr(self.agent)

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        own = np.random.Generator(np.random.PCG64((self.seed, position.mine, position.theirs)))
        return chosen_cell(self.agent, position, own)
