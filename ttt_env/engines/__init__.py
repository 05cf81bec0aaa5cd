"""Engines over standard input and output: our agents as engines of others, and others' engines as agents."""
