"""Agents that look ahead: minimax, softmax minimax, brute force, alpha-beta."""
