"""Small games that many tests play, their positions, and two functions that play."""

import random
from functools import cache

from tests.support import naive
from ttt_env import Boards, Game, Position, get_game

TICTACTOE = get_game("tictactoe-v0")
MISERE = get_game("tictactoe-v0:misere=true")
LOPSIDED = Game("lopsided", (2, 3), [(0, 1, 2), (0, 4), (2, 3, 5)])  # without symmetry
SHORT = Game("short", (2, 3), [(0,), (1, 2)], misere=True)  # never played to a full board
ONE_CELL = get_game("mnk-v0:m=1,n=1,k=1")


def lowest(position):
    return position.legal_cells[0]


def highest(position):
    return position.legal_cells[-1]


@cache
def positions_of(game):
    """The position of each board of a small game that can be reached by the naive rules."""
    return {board: Position(game, *naive.masks(board)) for board in naive.twin(game).boards()}


@cache
def boards_of(game):
    """The positions of `positions_of`, in the same order, as a batch."""
    return Boards.of(positions_of(game).values())


def random_game(game, rng):
    """The positions of a game of random moves, from the empty board to the end."""
    positions = [game.start]
    while not positions[-1].is_over:
        positions.append(positions[-1].play(rng.choice(positions[-1].legal_cells)))
    return positions


def random_positions(game, games=30, seed=3):
    rng = random.Random(seed)
    return [position for _ in range(games) for position in random_game(game, rng)]
