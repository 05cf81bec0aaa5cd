"""An agent that plays a policy of naive.py."""

from functools import cache

import numpy as np

from tests.support import naive
from ttt_env import Agent


@cache
def answers(game, chances):
    """The answers given so far, by position."""
    return {}


class Plays(Agent):
    """Plays a naive policy: a function from a board to chances, or its name in `NaiveGame`."""

    is_fixed = True

    def __init__(self, game, chances):
        super().__init__(game)
        self.chances = getattr(naive.twin(game), chances) if isinstance(chances, str) else chances
        self.answers = answers(game, self.chances)

    def policy(self, position):
        if position not in self.answers:
            found = np.zeros(self.game.n_cells)
            chances = self.chances(naive.board_of(str(position)))
            found[list(chances)] = list(chances.values())
            self.answers[position] = found
        return self.answers[position].copy()
