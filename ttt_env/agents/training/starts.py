"""Where the episodes of a training begin."""

import numpy as np

from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import Game, Position, random_position


class RandomStarts:
    """A start for episodes: with this probability a random position, else the empty board."""

    def __init__(self, game: Game | str, probability: float = 0.3) -> None:
        self.game, self.probability = get_game(game), probability

    def __call__(self, rng: np.random.Generator) -> Position:
        """The first position of an episode."""
        if rng.random() < self.probability:
            return random_position(self.game, rng)
        return self.game.start
