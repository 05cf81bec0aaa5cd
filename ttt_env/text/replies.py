"""Opponents whose draws depend on the position, so that the same board meets the same reply."""

from hashlib import blake2b
from typing import Any

import numpy as np

from ttt_env.agent import Agent, chosen_cell
from ttt_env.analysis.declared import is_own
from ttt_env.rules import Position

_2_TO_MINUS_53 = 2.0**-53


class ByPosition(Agent):
    """Plays as another agent does, with random numbers that depend on `seed` and the position alone.

    All games under one seed then meet the same reply on the same board, in whatever order and process they
    are played. An agent that looks at more than the position and its `rng` is not held to this: `mcts`
    without a seed, which keeps its tree between moves, or a function that keeps a state.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.game)
        self.agent, self.seed = agent, 0
        # Foreign agents may draw from `rng` as they like, and so may ours whose policy is not fixed.
        self._takes_one_draw = type(agent).choose is Agent.choose or (is_own(agent) and agent.is_fixed)

    def __repr__(self) -> str:
        return repr(self.agent)

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        rng_of_position: Any
        if self._takes_one_draw:
            rng_of_position = _OneDraw(self.seed, position.mine, position.theirs)
        else:
            rng_of_position = np.random.default_rng((self.seed, position.mine, position.theirs))
        return chosen_cell(self.agent, position, rng_of_position)


class _OneDraw:
    """The one random number that drawing from a policy takes, a tenth of the time that a generator takes."""

    def __init__(self, seed: int, mine: int, theirs: int) -> None:
        self._key = f"{seed} {mine} {theirs}"

    def random(self) -> float:
        """A number from [0, 1): the upper 53 of 64 bits of a hash."""
        bits = int.from_bytes(blake2b(self._key.encode(), digest_size=8).digest(), "little")
        return (bits >> 11) * _2_TO_MINUS_53


def number_at(seed: int, mine: int, theirs: int) -> float:
    """The random number from [0, 1) that belongs to a position under a seed."""
    return _OneDraw(seed, mine, theirs).random()
