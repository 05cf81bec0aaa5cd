"""Games and positions that many tests ask about."""

from functools import cache

import numpy as np

import ttt_env
from ttt_env.analysis.layers import reachable
from ttt_env.rules.game import Game, Position, random_position

# No symmetry, sets of two to four cells, and cells in one set or in several.
LOPSIDED = Game("lopsided", (3, 4), [(0, 1), (2, 5, 8), (1, 6, 11, 9), (3, 4, 10), (0, 7, 8, 9)])


@cache
def open_boards(game: Game | str = "tictactoe-v0") -> ttt_env.Boards:
    """Every position of a game that can be reached and is not over, ply by ply; not to be changed."""
    game = ttt_env.get_game(game)
    return ttt_env.Boards.joined(game, [layer.boards(layer.open) for layer in reachable(game)])


def random_positions(game: Game, n: int, seed: int = 0) -> list[Position]:
    """Positions in which the game goes on, each after a number of random moves."""
    rng = np.random.default_rng(seed)
    return [random_position(game, rng) for _ in range(n)]
