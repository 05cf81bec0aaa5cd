"""The opponents of self-play: scripted agents, past selves, best responses, and other learners' agents."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from ttt_env.agent import Agent, AgentLike, make_agent
from ttt_env.analysis.evaluation import match
from ttt_env.errors import ParameterError, unknown
from ttt_env.rules import Game, check_names
from ttt_env.training.frozen import response_to

Draw: TypeAlias = Literal["uniform", "prioritised"] | Mapping[str, float]
KINDS = ("scripted", "past", "responses", "shared")
_HARDNESS = 2  # the exponent of "prioritised"
_SAMPLED = 100  # games, where results cannot be computed


class OpponentPool:
    """Agents to train against: `scripted` ones and the latest `past` selves and best `responses` to them.

    `shared` is a list, empty at first, of agents that others put into the pool, as a population does.

    `draw` says how an episode gets one of them. "uniform": all equally often. "prioritised": the
    hard ones more often, in proportion to (1 − p)², p being its result against them, from 0 for
    lost to 1 for won (prioritised fictitious self-play: Vinyals et al., "Grandmaster level in StarCraft II
    using multi-agent reinforcement learning", 2019). A mapping from "scripted", "past", "responses",
    "shared" to weights: a kind by its weight, and then one of that kind uniformly.

    Raises `ParameterError` for another `draw`, numbers below 0, or a pool that never has an opponent.
    """

    def __init__(
        self,
        scripted: AgentLike | Sequence[AgentLike] = ("random", "minimax"),
        *,
        past: int = 4,
        responses: int = 4,
        draw: Draw = "uniform",
    ) -> None:
        is_one = isinstance(scripted, str) or not isinstance(scripted, Sequence)
        self.specs: list[AgentLike] = [scripted] if is_one else list(scripted)  # type: ignore[list-item,arg-type]
        if min(past, responses) < 0 or not (self.specs or past or responses):
            raise ParameterError(
                f"{past} past selves, {responses} responses: numbers ≥ 0 and an opponent at all are needed"
            )
        if isinstance(draw, Mapping):
            check_names("draw", draw, dict.fromkeys(KINDS))
            if not (any(draw.values()) and all(0 <= weight < math.inf for weight in draw.values())):
                raise ParameterError(f"draw={dict(draw)}: finite weights ≥ 0, not all 0, are needed")
        elif draw not in ("uniform", "prioritised"):
            raise ParameterError(unknown("draw", draw, ["uniform", "prioritised"]))
        self.draw = draw
        self.scripted: dict[str, Agent] = {}
        self.past: deque[Agent] = deque(maxlen=past)
        self.responses: deque[Agent] = deque(maxlen=responses)
        self.shared: list[Agent] = []

    def bind(self, game: Game) -> None:
        """Make the scripted agents of a game. Raises the errors of `make_agent`."""
        self.scripted = {str(agent): make_agent(agent, game) for agent in self.specs}

    @property
    def agents(self) -> list[Agent]:
        """All opponents: scripted agents, past selves, responses, shared ones."""
        return [*self.scripted.values(), *self.past, *self.responses, *self.shared]

    def add(self, learner: Agent, exact: bool) -> None:
        """Add the learner, which must not change any more, and, if `exact`, the best response to it."""
        self.past.append(learner)
        if exact and self.responses.maxlen:
            self.responses.append(response_to(learner))

    def weights(self, learner: Agent) -> list[float] | None:
        """The relative frequency at which each of `agents` is drawn; None if all are equally likely."""
        if self.draw == "uniform":
            return None
        if isinstance(self.draw, str):
            played = [match(learner, agent, learner.game, games=_SAMPLED) for agent in self.agents]
            chances = [(1 + one.score) / 2 for one in played]
            weights = [(1 - chance) ** _HARDNESS for chance in chances]
        else:
            kinds = (self.scripted, self.past, self.responses, self.shared)
            weights = [
                self.draw.get(name, 0.0) / len(kind)
                for name, kind in zip(KINDS, kinds, strict=True)
                for _ in kind
            ]
        return weights if any(weights) else None
