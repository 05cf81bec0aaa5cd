"""Positions as text, as SVG, as pixels and in a window. Nothing here knows how a game is played."""
