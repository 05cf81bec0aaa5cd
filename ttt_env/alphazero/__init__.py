"""AlphaZero: a residual network, and a tree search that it guides."""

from ttt_env.alphazero.agent import AlphaZero

__all__ = ["AlphaZero"]
