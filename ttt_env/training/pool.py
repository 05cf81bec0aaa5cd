"""The opponents of self-play, kept as they were at one moment, and the positions in which episodes begin."""

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
    """A best response to an agent; if the game is not small, only where play against it can lead.

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
    """The agents of a game by name, in this order; a name that is taken gets a number, as in "name (2)".

    Raises the errors of `make_agent`.
    """
    specs_by_name = named_agents(specs, "opponents", numbered=True)
    return {name: make_agent(spec, game) for name, spec in specs_by_name.items()}


class OpponentPool:
    """Agents to train against: `scripted` ones and the latest `past` selves and best `responses` to them.

    Results against scripted agents go by their names; of several with one name, the second is "name (2)".

    `draw` says how an episode gets one of them. "uniform": all equally often. "prioritised": the
    hard ones more often, in proportion to (1 − p)², p being its result against them, from 0 for
    lost to 1 for won (prioritised fictitious self-play: Vinyals et al., "Grandmaster level in StarCraft II
    using multi-agent reinforcement learning", 2019). A mapping from "scripted", "past", "responses" to
    weights: a kind by its weight, and then one of that kind uniformly.

    Raises `ParameterError` for another `draw`, and for a pool that never has an opponent.

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
            raise ParameterError("scripted=[], past=0, responses=0: a pool needs an opponent at all")
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
        """Make the scripted agents of a game. Raises the errors of `make_agent`."""
        self.scripted = named_opponents(self.specs, game)

    @property
    def agents(self) -> list[Agent]:
        """All opponents: scripted agents, past selves, responses."""
        return [*self.scripted.values(), *self.past, *self.responses]

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


_COSTLY = 0.8  # the share of costly blunders among starts at blunders, if there are any


class StartDistribution:
    """A start for episodes: with this probability a random position, else the empty board.

    With the probability `blunders` one in which the learner blunders instead, once `set_blunders` has told
    which these are.

    Raises `ParameterError` for probabilities whose sum is above 1.

    >>> import ttt_env
    >>> env = ttt_env.make("tictactoe-v0", opponent="random", start=StartDistribution("tictactoe-v0", 1.0))
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
        """Begin at these positions, in which the learner blunders.

        Most such episodes begin at the `costly` ones among them, where there are any: those that cost it what
        the game is worth.
        """
        self._all, self._costly = boards, costly

    def __call__(self, rng: np.random.Generator) -> Position:
        """The first position of an episode."""
        draw = rng.random()
        if draw < self.probability:
            return random_position(self.game, rng)
        if draw < self.probability + self.blunders and len(self._all):
            is_costly = len(self._costly) > 0 and rng.random() < _COSTLY
            boards = self._costly if is_costly else self._all
            return boards[int(rng.integers(len(boards)))]
        return self.game.start
