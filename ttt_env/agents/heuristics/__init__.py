"""Agents that look at the board alone: chance, lists of rules, and the weights of winning sets."""

from ttt_env.agents.heuristics.rules import Block, NewellSimon, Random, Rules, WinBlock
from ttt_env.agents.heuristics.weights import Weights

__all__ = ["Block", "NewellSimon", "Random", "Rules", "Weights", "WinBlock"]
