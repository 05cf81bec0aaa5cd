"""Agents that look ahead."""

from ttt_env.agent import BatchAgent, Floats
from ttt_env.analysis.solution import solve
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game, Position


class Minimax(BatchAgent):
    """Best play, uniform among the moves that keep the value (von Neumann 1928).

    Computed by backward induction over all positions.

    Raises `GameTooLargeError` for a game of too many positions.
    """

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._agent = solve(game).policy()

    def __reduce__(self) -> tuple[type["Minimax"], tuple[Game]]:
        return type(self), (self.game,)

    def policy(self, position: Position) -> Floats:  # noqa: D102
        return self._agent.policy(position)

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        return self._agent.policies(boards)
