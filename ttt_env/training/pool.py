"""The opponents of self-play, with snapshots of the learner, and the positions in which episodes begin."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

import numpy as np

from ttt_env import rules
from ttt_env.agent import Agent, AgentLike, make_agent, named_agents
from ttt_env.analysis.evaluation import best_response, match
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.errors import ParameterError
from ttt_env.rules import Boards, Game, Position, get_game, is_tabulated, random_position


def response_to(agent: Agent) -> Agent:
    """A best response to an agent; on larger games only in the positions that it can reach.

    Raises `GameTooLargeError` for an agent that reaches too many positions.
    """
    if is_tabulated(agent.game):
        return PolicyTable.of(best_response(agent), positions="all")
    return best_response(PolicyTable.of(agent, complete=True))


Draw: TypeAlias = Literal["uniform", "prioritised"] | Mapping[str, float]
KINDS = ("scripted", "past", "responses")
_HARDNESS = 2  # the exponent of "prioritised"
_SAMPLED = 100  # games, where results cannot be computed
_MOST_KEPT = 1_000_000  # past selves, and best responses


def named_opponents(specs: Iterable[AgentLike], game: Game) -> dict[str, Agent]:
    """The agents of a game by name, in this order; a repeated name gets a number, as in "name (2)".

    Raises the errors of `make_agent`.
    """
    specs_by_name = named_agents(specs, "opponents", numbered=True)
    return {name: make_agent(spec, game) for name, spec in specs_by_name.items()}


class OpponentPool:
    """The opponents of self-play: scripted agents, past selves of the learner, and best responses to it.

    Args:
        scripted: An agent, or a list of agents. Results are recorded by their names; of several with one
            name, the second is "name (2)".
        past: The number of latest snapshots of the learner to keep.
        responses: The number of latest best responses to keep.
        draw: The distribution from which each episode draws an opponent. "uniform": all equally often.
            "prioritised": in proportion to (1 − p)², where p is the learner's result against it, from 0
            (lost) to 1 (won) (prioritised fictitious self-play: Vinyals et al., "Grandmaster level in
            StarCraft II using multi-agent reinforcement learning", 2019). A mapping from "scripted", "past",
            "responses" to weights: first a kind by its weight, then one of that kind uniformly.

    Raises:
        ParameterError: `draw` is invalid, or the pool would never have an opponent.

    Example:
        >>> from ttt_env.training import OpponentPool
        >>> pool = OpponentPool(["random", "minimax"], past=4, responses=4, draw="prioritised")

    """

    @rules.checked
    def __init__(
        self,
        scripted: AgentLike | Sequence[AgentLike] = ("random", "minimax"),
        *,
        past: Annotated[int, rules.Between(0, _MOST_KEPT)] = 4,
        responses: Annotated[int, rules.Between(0, _MOST_KEPT)] = 4,
        draw: Draw = "uniform",
    ) -> None:
        is_one = isinstance(scripted, str) or not isinstance(scripted, Sequence)
        self.specs: list[AgentLike] = [scripted] if is_one else list(scripted)  # type: ignore[list-item,arg-type]
        if not (self.specs or past or responses):
            raise ParameterError("scripted=[], past=0, responses=0: a pool needs at least one opponent")
        if isinstance(draw, Mapping):
            rules.check_names("draw", draw, KINDS)
            if not any(draw.values()) or not all(0 <= weight < math.inf for weight in draw.values()):
                raise ParameterError(f"draw={draw}: expected finite weights ≥ 0, not all 0")
        else:
            rules.one_of("draw", draw, ["uniform", "prioritised"])
        self.draw = draw
        self.scripted: dict[str, Agent] = {}
        self.past: deque[Agent] = deque(maxlen=past)
        self.responses: deque[Agent] = deque(maxlen=responses)

    def bind(self, game: Game) -> None:
        """Make the scripted agents for a game.

        Raises:
            TttEnvError: An agent cannot be made, as in `make_agent`.

        """
        self.scripted = named_opponents(self.specs, game)

    @property
    def agents(self) -> list[Agent]:
        """All opponents, in the order scripted agents, past selves, best responses."""
        return [*self.scripted.values(), *self.past, *self.responses]

    def add(self, learner: Agent, exact: bool) -> None:
        """Add a snapshot of the learner and the best response to it.

        Args:
            learner: The snapshot, which must not change any more.
            exact: False to add no best response, as on a game that cannot be enumerated.

        """
        self.past.append(learner)
        if exact and self.responses.maxlen:
            self.responses.append(response_to(learner))

    def weights(self, learner: Agent) -> list[float] | None:
        """The relative frequency with which each of `agents` is drawn; None if all are equally likely."""
        if self.draw == "uniform":
            return None
        if isinstance(self.draw, str):
            matches = [match(learner, agent, learner.game, games=_SAMPLED) for agent in self.agents]
            chances = [(1 + one.score) / 2 for one in matches]
            weights = [(1 - chance) ** _HARDNESS for chance in chances]
        else:
            kinds = (self.scripted, self.past, self.responses)
            weights = [
                self.draw.get(name, 0.0) / len(kind)
                for name, kind in zip(KINDS, kinds, strict=True)
                for _ in kind
            ]
        return weights if any(weights) else None


_COSTLY_SHARE = 0.8  # the share of costly blunders among starts at blunders, if there are any


class StartDistribution:
    """A distribution of first positions of episodes, for the argument `start` of the environments.

    Args:
        game: The game, or its id.
        probability: The probability of a random position.
        blunders: The probability of a position in which the learner blunders, once `set_blunders` has been
            called. Otherwise an episode begins on the empty board.

    Raises:
        ParameterError: The sum of the probabilities is above 1.

    Example:
        >>> import ttt_env
        >>> start = StartDistribution("tictactoe-v0", 1.0)
        >>> env = ttt_env.make("tictactoe-v0", opponent="random", start=start)
        >>> for seed in range(3):
        ...     observation, info = env.reset(seed=seed)
        ...     print(env.position)
        X../.../.OX
        .../.../..X
        X.O/..O/.X.

    """

    @rules.checked
    def __init__(self, game: Game | str, probability: rules.Share = 0.3, blunders: rules.Share = 0.0) -> None:
        self.game, self.probability, self.blunders = get_game(game), probability, blunders
        if self.probability + self.blunders > 1:
            raise ParameterError(
                f"probability={probability}, blunders={blunders} of the starts: their sum is at most 1"
            )
        self._costly = self._all = Boards.joined(self.game, [])

    def set_blunders(self, boards: Boards, costly: Boards) -> None:
        """Set the positions in which the learner blunders, from which episodes may begin.

        Args:
            boards: The positions.
            costly: The positions among them in which a blunder costs the learner the value of the game;
                if there are any, four in five of these episodes begin there.

        """
        self._all, self._costly = boards, costly

    def __call__(self, rng: np.random.Generator) -> Position:
        """The first position of an episode."""
        draw = rng.random()
        if draw < self.probability:
            return random_position(self.game, rng)
        if draw < self.probability + self.blunders and len(self._all):
            is_costly = len(self._costly) > 0 and rng.random() < _COSTLY_SHARE
            boards = self._costly if is_costly else self._all
            return boards[int(rng.integers(len(boards)))]
        return self.game.start
