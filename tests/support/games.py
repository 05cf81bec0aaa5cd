"""Games of many tests, their positions, and two simple agents."""

import random
from functools import cache

import numpy as np

from tests.support import naive
from ttt_env import Boards, Game, Position, get_game
from ttt_env.analysis.layers import reachable
from ttt_env.rules.game import random_position

TICTACTOE = get_game("tictactoe-v0")
MISERE = get_game("tictactoe-v0:misere=true")
LOPSIDED = Game("lopsided", (2, 3), [(0, 1, 2), (0, 4), (2, 3, 5)])  # without symmetry
# No symmetry either; sets of two to four cells, cells in one set or in several.
LARGER_LOPSIDED = Game("lopsided", (3, 4), [(0, 1), (2, 5, 8), (1, 6, 11, 9), (3, 4, 10), (0, 7, 8, 9)])
CONNECT_THREE = get_game("connect-four-v0:m=3,n=3,k=3")
# Cells 4 and 1 carry two cells each; cells rest on lower and on higher numbers.
TREE = Game(
    "tree", (2, 4), [(0, 5), (1, 3, 6), (2, 4, 7), (3, 5, 7)], supports=[1, 4, 1, 2, None, 4, None, None]
)
SHORT = Game("short", (2, 3), [(0,), (1, 2)], misere=True)  # never played to a full board
ANY_MOVE_WINS = Game("first cell wins", (1, 2), [(0,), (1,)])
ONE_CELL = get_game("mnk-v0:m=1,n=1,k=1")
X_WINS, O_WINS, DRAW = (0, 3, 1, 4, 2), (0, 3, 1, 4, 8, 5), (0, 4, 8, 1, 7, 6, 2, 5, 3)  # games of TICTACTOE
NEAR_WIN = Position.parse("XX./OO./...")
FIVES = get_game("mnk-v0:m=5,n=5,k=4")
GAMES = {
    "3×3": TICTACTOE,
    "misère": MISERE,
    "square": get_game("square-v0"),
    "5,4,4": get_game("mnk-v0:m=5,n=4,k=4"),
    "qubic": get_game("qubic-v0"),
    "lopsided": LARGER_LOPSIDED,
    "line": Game("line", (8,), [(0, 1, 2), (2, 5), (3, 4, 6, 7), (1, 7)]),
}
POSITIONS = {
    "empty": TICTACTOE.start,
    "X in the centre": Position.parse(".../.X./...", TICTACTOE),
    "X in a corner": Position.parse("X../.../...", TICTACTOE),
    "X on an edge": Position.parse(".X./.../...", TICTACTOE),
    "late": Position.parse("XO./.X./..O", TICTACTOE),
    "won": Position.parse("XX./OO./XO.", TICTACTOE),
    "misère": MISERE.start,
    "5,5,4": FIVES.start,
    "5,5,4 later": Position.parse("..X../.OXO./.XOX./...../.....", FIVES),
    "square": get_game("square-v0").start,
    "qubic": get_game("qubic-v0").start,
    "8,8,5": get_game("mnk-v0:m=8,n=8,k=5").start,
    "lopsided": LARGER_LOPSIDED.start,
    "misère lopsided": Game("upside down", (3, 4), LARGER_LOPSIDED.winning_sets, misere=True).start,
}


def lowest(position):
    return position.legal_cells[0]


def highest(position):
    return position.legal_cells[-1]


@cache
def positions_of(game):
    """The position of each board of a small game that the naive rules can reach."""
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


def played_positions(game, games=30, seed=3):
    rng = random.Random(seed)
    return [position for _ in range(games) for position in random_game(game, rng)]


@cache
def open_boards(game="tictactoe-v0"):
    """Every reachable position of a game that is not over, ply by ply; not to be modified."""
    game = get_game(game)
    return Boards.joined(game, [layer.boards(layer.open_slots) for layer in reachable(game)])


def random_positions(game, n, seed=0):
    """Positions that are not over, each after a random number of random moves."""
    rng = np.random.default_rng(seed)
    return [random_position(game, rng) for _ in range(n)]
