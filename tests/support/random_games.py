"""Games with arbitrary winning sets, for code that must not depend on lines."""

import numpy as np

from ttt_env import Game

SHAPES = [(3, 3), (2, 5), (11,), (2, 2, 3)]


def random_game(number: int, rng: np.random.Generator, misere: bool = False) -> Game:
    """A game of 9 to 12 cells with up to 13 winning sets, of one to five cells each."""
    shape = SHAPES[number % 4]
    n_cells = int(np.prod(shape))
    sizes = rng.choice([1, 2, 3, 4, 5], size=rng.integers(1, 14), p=[0.02, 0.13, 0.45, 0.25, 0.15])
    sets = [rng.choice(n_cells, size=min(size, n_cells), replace=False).tolist() for size in sizes]
    return Game(f"random {number}", shape, sets, misere)
