"""Positions drawn at random."""

import numpy as np

from ttt_env.rules.game import Game, Position


def random_position(game: Game, rng: np.random.Generator) -> Position:
    """A position to be played: random moves from the empty board, a uniformly drawn number of them.

    Fewer where one of them would end the game.
    """
    position = game.start
    for _ in range(int(rng.integers(game.n_cells))):
        cells = position.legal_cells
        after = position.child(cells[int(rng.random() * len(cells))])
        if after.is_over:
            break
        position = after
    return position
