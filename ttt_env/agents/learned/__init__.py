"""Agents that have learned, or that play from a table."""
