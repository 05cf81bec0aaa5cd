"""All positions of a small game, as a batch."""

from ttt_env import Boards, Game, get_game
from ttt_env.analysis.layers import reachable


def open_boards(game: Game | str = "tictactoe-v0") -> Boards:
    """The reachable positions in which the game goes on, by ply."""
    game = get_game(game)
    return Boards.joined(game, (layer.boards(layer.open) for layer in reachable(game)))
