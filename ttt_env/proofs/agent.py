"""The strategy of a proof as an agent."""

from __future__ import annotations

import numpy as np

from ttt_env.agent import (
    Agent,
    AgentLike,
    Explanation,
    Floats,
    PartExplanation,
    make_agent,
    name_of,
)
from ttt_env.errors import FileError
from ttt_env.proofs import file as proof_file
from ttt_env.proofs.strategy import Strategy
from ttt_env.rules import Game, Position, Seat


class _StrategyMixin:
    """What the stationary and the sampled agent share."""

    fallback: Agent
    _strategies: dict[Seat, Strategy]

    @property
    def parts(self) -> tuple[Agent]:
        return (self.fallback,)

    def strategy_cell(self, position: Position) -> int | None:
        """The strategy's move; None where it has none."""
        strategy = self._strategies.get(position.to_move)
        return None if strategy is None else strategy.cell(position)

    def _explain(self, position: Position) -> Explanation:
        cell = self.strategy_cell(position)
        if cell is None:
            name = name_of(self.fallback)
            part = PartExplanation(name, self.fallback.explain(position))
            reason = f"The strategy has no move in this position, which it never reaches: {name} plays."
            return Explanation(position, part.explanation.policy, reason, parts=(part,))
        strategy = self._strategies[position.to_move]
        aim = "wins" if strategy.wins else "does not lose"
        reason = f"By the strategy of the proof {position.to_move} {aim} with {{cells}}."
        policy = dict.fromkeys(position.legal_cells, 0.0) | {cell: 1.0}
        return Explanation(position, policy, reason)


class ProvedStrategy(_StrategyMixin, Agent):
    """Plays the strategy of a proof file, written by `Proof.save`, and so wins or draws as proved.

    Loading a file runs no code and does not check the proof (`scripts/check_proof.py` does).

    Args:
        game: The game, or its id.
        path: The file.
        fallback: Plays where the file has no move: on the other seat, and in positions that the strategy
            never reaches.

    Raises:
        FileError: The file is not a proof of this game, or has no strategy.

    """

    is_stationary = True

    def __init__(self, game: Game | str, path: str, fallback: AgentLike = "win-block") -> None:
        super().__init__(game)
        self.fallback = make_agent(fallback, self.game)
        filed = proof_file.read(path, self.game)
        if not filed.strategies:
            raise FileError(f"{path} holds no strategy: the value of {filed.position!r} is not proved in it")
        self._strategies = {strategy.seat: strategy for strategy in filed.strategies}
        if not self.fallback.is_stationary:
            self.__class__ = _SampledStrategy  # type: ignore[assignment]

    def policy(self, position: Position) -> Floats:  # noqa: D102
        cell = self.strategy_cell(position)
        if cell is None:
            return self.fallback.policy(position)
        policy = np.zeros(self.game.n_cells)
        policy[cell] = 1.0
        return policy


class _SampledStrategy(_StrategyMixin, Agent):
    """The agent with a fallback that is not stationary."""

    variant_of = ProvedStrategy

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        cell = self.strategy_cell(position)
        return self.fallback.choose(position, rng) if cell is None else cell
