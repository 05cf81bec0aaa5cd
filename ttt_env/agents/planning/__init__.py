"""Agents that look ahead: minimax, softmax minimax, brute force, alpha-beta."""

from ttt_env.agents.planning.planners import BruteForce, Minimax, Softmax

__all__ = ["BruteForce", "Minimax", "Softmax"]
