"""Boards, moves and times as engines see them."""

from collections.abc import Callable
from itertools import chain, zip_longest

from ttt_env.agent import Answer
from ttt_env.errors import NotationError, ParameterError
from ttt_env.rules import Game, Position, as_positive, cells_of


def rows_and_columns(game: Game, protocol: str) -> tuple[int, int]:
    """The rows and columns of the board. Raises `ParameterError` for a board of three axes."""
    if len(game.shape) == 3:
        raise ParameterError(f"{protocol} has boards of rows and columns, and {game.name} is of three axes")
    return game.shape if len(game.shape) == 2 else (1, game.n_cells)


def run_length(game: Game) -> int | None:
    """The k of a game that is won by k in a row, straight or diagonal; None for another game.

    >>> from ttt_env.rules.catalogue import get_game
    >>> run_length(get_game("tictactoe-v0")), run_length(get_game("square-v0"))
    (3, None)
    """
    k = len(game.winning_sets[0])
    if game.misere or k > max(game.shape):
        return None
    runs = {tuple(sorted(run)) for run in Game.runs(game.shape, k)}
    return k if game.winning_sets == tuple(sorted(runs)) else None


def moves_to(position: Position) -> list[int]:
    """Cells that, played in this order from the empty board, lead to the position, in which the game goes on.

    No stones of an unfinished game own a winning set, so that any order of the moves is a game.
    """
    pairs = zip_longest(cells_of(position.x_mask), cells_of(position.o_mask))
    return [cell for cell in chain.from_iterable(pairs) if cell is not None]


def as_milliseconds(seconds: object, owner: str) -> int:
    """`seconds` in whole milliseconds, at least one. Raises `ParameterError` unless positive and finite."""
    return max(1, round(1000 * as_positive("seconds", seconds, owner)))


def answered(read: Callable[[str, Game], int], said: str, position: Position) -> Answer:
    """The answer whose cell is read from what was said; unreadable if that raises `NotationError`."""
    try:
        return Answer.of(read(said, position.game), position, said)
    except NotationError:
        return Answer.failed("unreadable", said)
