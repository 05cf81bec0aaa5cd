"""Data sets with exact values: positions, games and conversations."""
