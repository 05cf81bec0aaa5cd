"""Agents made of other agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import (
    Agent,
    AgentLike,
    AgentNames,
    CellNumbers,
    Choice,
    Explanation,
    Floats,
    PartExplanation,
    chances,
    checked_policies,
    chosen_cell,
    make_agent,
    name_of,
    of_legal_cells,
)
from ttt_env.agents.heuristics.rules import Random
from ttt_env.agents.planning.planners import Planner
from ttt_env.analysis.evaluation import best_response
from ttt_env.analysis.solution import solve
from ttt_env.errors import ParameterError, brief
from ttt_env.rules import Boards, Game, Position, Share, check_enumerable, checked, split_items
from ttt_env.rules.symmetry import automorphisms


class BestResponse(Planner):
    """Best response to another agent: maximises the expected result on both seats, in every position.

    Computed exactly: the optimum for a learner that only meets that agent (the oracle of Lanctot et al.
    2017). Other agents can often beat it. At its first move it queries the agent once in each position of the
    game, a program only in those that it can reach, and responds to these answers.

    Args:
        game: The game, or its id.
        agent: The agent to respond to.

    Raises:
        GameTooLargeError: The game has too many positions.

    Example:
        >>> from ttt_env import match
        >>> f"{match('best-response:random', 'random').score:.4f}"
        '0.9598'

    """

    takes_agent = True
    _keeps_value = False

    def __init__(self, game: Game | str, agent: AgentLike) -> None:
        super().__init__(game)
        check_enumerable(self.game)
        self.agent = make_agent(agent, game)

    @property
    def parts(self) -> tuple[Agent]:  # noqa: D102
        return (self.agent,)

    @cached_property
    def _plan(self) -> Agent:
        return best_response(self.agent, self.game, keep_value=self._keeps_value)

    def _explain(self, position: Position) -> Explanation:
        explanation, name = super()._explain(position), name_of(self.agent)
        numbers = replace(explanation.numbers[0], meaning=f"expected result against {name}")
        reason = f"Against {name}, {{cells}} has the highest expected result, wins − losses."
        after = position.play(explanation.cells[0])
        parts = () if after.is_over else (PartExplanation(f"{name}, in reply", self.agent.explain(after)),)
        return replace(explanation, reason=reason, numbers=(numbers,), parts=parts)


class SafeExploit(BestResponse):
    """Exploits a model of weak play without ever blundering.

    Of the moves that keep the value of the position under best play, it plays one with the highest expected
    result against the model, another agent, uniformly among ties. So it is unbeatable, and no agent that
    never blunders scores more against the model. Minimax, which has no model, draws games that weak players
    would have lost; `best-response`, which uses the model alone, can be beaten.

    It is computed exactly at the first move, for all positions. The model is queried as by `best-response`.

    Args:
        game: The game, or its id.
        agent: The model of weak play.

    Raises:
        GameTooLargeError: The game has too many positions.

    Example:
        >>> from ttt_env import certify
        >>> certify("safe-exploit:block", "tictactoe-v0").unbeatable
        True

    """

    _keeps_value = True

    def __init__(self, game: Game | str, agent: AgentLike = "random") -> None:
        super().__init__(game, agent)

    def _explain(self, position: Position) -> Explanation:
        explanation, name = super()._explain(position), name_of(self.agent)
        q = solve(self.game).values.q(Boards.of([position]))[0]
        values = CellNumbers("value under best play", of_legal_cells(position, q))
        reason = (
            f"Of the moves that are not blunders {{cells}} has the highest "
            f"expected wins minus losses against {name}."
        )
        return replace(explanation, reason=reason, numbers=(values, *explanation.numbers))


class _MixtureBase:
    """The common part of stationary mixtures and of others."""

    agents: list[Agent]
    weights: Floats

    @property
    def parts(self) -> list[Agent]:
        return self.agents

    def _explain(self, position: Position) -> Explanation:
        pairs = [
            (agent, share) for agent, share in zip(self.agents, self.weights.tolist(), strict=True) if share
        ]
        parts = tuple(
            PartExplanation(name_of(agent), agent.explain(position), share) for agent, share in pairs
        )
        reason = f"One of these is drawn for each move: {', '.join(part.title for part in parts)}."
        average = {
            cell: sum(
                share * part.explanation.policy[cell] for part, (_, share) in zip(parts, pairs, strict=True)
            )
            for cell in position.legal_cells
        }
        return Explanation(position, average, reason, parts=parts)


class Mixture(_MixtureBase, Agent):
    """Draws one of several agents for each move; its policy is their weighted average.

    The mixture supports the games that all its agents support. It is stationary if they all are; otherwise
    the agent that is drawn chooses the move.

    Args:
        game: The game, or its id.
        agents: Several agents, or their specs joined by `+`: `mixture:minimax+random,weights=7+3`. Put a spec
            with a comma or plus in it in parentheses.
        weights: A number ≥ 0 for each agent, or text joined by `+`; equal by default. The sum need not be 1.

    Raises:
        ParameterError: There is not one number ≥ 0 for each agent, or all of them are 0.

    Example:
        >>> from ttt_env import make_agent
        >>> agent = make_agent("mixture:minimax+random,weights=7+3")
        >>> agent.policy(Position.parse("XX./OO./XO.")).round(1).tolist()
        [0.0, 0.0, 0.8, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1]

    """

    is_stationary = True

    def __init__(
        self,
        game: Game | str,
        agents: AgentNames | Sequence[AgentLike],
        weights: Choice | Sequence[float] | None = None,
    ) -> None:
        super().__init__(game)
        if not isinstance(agents, str | Sequence):
            raise ParameterError(
                f"agents={brief(agents)} of mixture: expected a sequence of agents, or specs joined by +"
            )
        specs = split_items(agents, "+") if isinstance(agents, str) else agents
        self.agents = [make_agent(spec, game) for spec in specs]
        self.weights = _shares(weights, len(self.agents))
        if not all(agent.is_stationary for agent in self.agents):
            self.__class__ = _DrawnMixture  # type: ignore[assignment]

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        answers = (checked_policies(agent, boards) for agent in self.agents)
        average: Floats = sum(w * policy for w, policy in zip(self.weights, answers, strict=True))
        return average


class _DrawnMixture(_MixtureBase, Agent):
    """A mixture in which at least one agent is not stationary: the agent that is drawn chooses."""

    variant_of = Mixture

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        return self.agents[rng.choice(len(self.agents), p=self.weights)].choose(position, rng)


def _shares(weights: str | Sequence[float] | None, count: int) -> Floats:
    """The weights as `count` numbers that sum to 1."""
    if weights is None:
        weights = [1.0] * count
    try:
        items = weights.split("+") if isinstance(weights, str) else weights
        numbers = np.array([float(item) for item in items])
    except (TypeError, ValueError, OverflowError):
        numbers = np.zeros(0)
    if len(numbers) != count or not (numbers >= 0).all() or not 0 < numbers.sum() < np.inf:
        raise ParameterError(
            f"weights={brief(weights)} of mixture of {count} agents: expected as many numbers ≥ 0, not all 0"
        )
    shares: Floats = numbers / numbers.sum()
    return shares


class Epsilon(Mixture):
    """ε-greedy: another agent that moves uniformly at random with probability `epsilon`.

    The ε-greedy policy of reinforcement learning (Watkins 1989). It supports the games that the agent
    supports.

    Args:
        game: The game, or its id.
        agent: The agent.
        epsilon: The probability of a random move, 0 to 1.

    Example:
        >>> from ttt_env import make_agent
        >>> agent = make_agent("epsilon:minimax,epsilon=0.3")
        >>> agent.policy(Position.parse("XX./OO./XO.")).round(1).tolist()
        [0.0, 0.0, 0.8, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1]

    """

    takes_agent = True

    @checked
    def __init__(self, game: Game | str, agent: AgentLike, epsilon: Share = 0.1) -> None:
        super().__init__(game, [make_agent(agent, game), Random(game)], [1.0 - epsilon, epsilon])


class _SymmetricBase:
    """The common part of symmetric agents, stationary or not."""

    agent: Agent
    _permutations: NDArray[np.uint8]

    @property
    def parts(self) -> tuple[Agent]:
        return (self.agent,)

    def _images(self, position: Position) -> tuple[Position, NDArray[np.int64]]:
        """The least image of a position, and for each cell of it the cell of this board."""
        from ttt_env.compiled.canonical import images_of  # imports numba: only where it is needed

        images, (cells,) = images_of(Boards.single(position), self._permutations)
        return images[0], cells

    def _explain(self, position: Position) -> Explanation:
        name = name_of(self.agent)
        part = PartExplanation(f"{name}, in the least image", self.agent.explain(self._images(position)[0]))
        reason = f"{name} plays {{cells}} in a symmetric position, mapped back to this board."
        policy = chances(self, position)  # type: ignore[arg-type]
        return Explanation(position, policy, reason, parts=(part,))


class Symmetric(_SymmetricBase, Agent):
    """Another agent, made to play the same way in all symmetric positions.

    In each position it plays the agent's policy in the least image of the position under the automorphisms of
    the game, mapped back to this board. So what the agent has learned in one orientation holds in all. It is
    stationary if the agent is.

    Args:
        game: The game, or its id.
        agent: The agent.

    Example:
        >>> from ttt_env import certify
        >>> certify("symmetric:weights", "tictactoe-v0").inconsistent
        ()

    """

    takes_agent = True
    is_stationary = True

    def __init__(self, game: Game | str, agent: AgentLike) -> None:
        super().__init__(game)
        self.agent = make_agent(agent, self.game)
        self._permutations = np.array(automorphisms(self.game), np.uint8)
        if not self.agent.is_stationary:
            self.__class__ = _SampledSymmetric  # type: ignore[assignment]

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        from ttt_env.compiled.canonical import answers_by_class  # imports numba: only where it is needed

        return answers_by_class(boards, self._permutations, self.agent.policies)


class _SampledSymmetric(_SymmetricBase, Agent):
    """The same for an agent that is not stationary, which chooses in the least image."""

    variant_of = Symmetric

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        image, cells = self._images(position)
        return int(np.flatnonzero(cells == chosen_cell(self.agent, image, rng))[0])
