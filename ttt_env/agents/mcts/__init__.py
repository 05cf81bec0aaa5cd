"""Monte Carlo tree search."""

from ttt_env.agents.mcts.agent import MCTS

__all__ = ["MCTS"]
