"""Agents that look at the board as it is: chance, lists of rules, and the weights of winning sets."""
