"""The user's opponents: the agents, one of which is drawn for each episode, and their replies."""

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from ttt_env.agent import Agent, AgentLike, make_agent
from ttt_env.errors import ParameterError
from ttt_env.rules import Game
from ttt_env.rules.checks import as_weights

Opponents: TypeAlias = AgentLike | Sequence[AgentLike]


class Lineup:
    """The agents that `opponent` names, one or a list of them, and the chance of each to be drawn.

    `weights` are one finite number ≥ 0 for each agent, not all 0, in proportion to the chances; None makes
    all equally likely. Raises `ParameterError` for other weights and for an empty list.
    """

    def __init__(self, opponent: Opponents, weights: ArrayLike | None, game: Game) -> None:
        is_one = isinstance(opponent, str) or not isinstance(opponent, Sequence)
        agents = cast("Sequence[AgentLike]", [opponent] if is_one else opponent)
        if not agents:
            raise ParameterError("opponent=[]: at least one agent is needed")
        self.agents = [make_agent(agent, game) for agent in agents]
        self.totals = np.cumsum(as_weights("opponent weights", weights, len(agents)))
        self.totals /= self.totals[-1]

    def picked(self, draw: float) -> Agent:
        """The agent that a draw from [0, 1) picks: the first whose cumulative chance exceeds it."""
        return self.agents[int(self.totals.searchsorted(draw, side="right"))]
