"""The names of cells: `b3` is the second column of the third row, `2b3` that of the second layer."""

import re

from ttt_env.errors import IllegalMoveError
from ttt_env.render.layout import layers_of
from ttt_env.rules import Game, as_cell

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NUMBER = re.compile(r"[0-9]{1,6}")
_NAME = re.compile(r"([0-9]{0,6})([a-z]{1,3})([0-9]{1,6})")


def column_name(column: int) -> str:
    """The letters of a column: a to z, then aa, ab and so on.

    >>> column_name(1), column_name(26)
    ('b', 'aa')
    """
    rest, letter = divmod(column, len(_LETTERS))
    return (column_name(rest - 1) if rest else "") + _LETTERS[letter]


def cell_name(cell: int, game: Game) -> str:
    """The name of a cell.

    >>> from ttt_env.rules.catalogue import get_game
    >>> cell_name(7, get_game("tictactoe-v0")), cell_name(25, get_game("qubic-v0"))
    ('b3', '2b3')
    """
    layers, rows, columns = layers_of(game.shape)
    layer, place = divmod(cell, rows * columns)
    row, column = divmod(place, columns)
    return f"{layer + 1 if layers > 1 else ''}{column_name(column)}{row + 1}"


def cells_text(cells: list[int], game: Game) -> str:
    """The cells by number and name; by number alone on a board that is not drawn in rows and columns.

    >>> from ttt_env.rules.catalogue import get_game
    >>> cells_text([0, 4], get_game("tictactoe-v0"))
    '0 (a1) or 4 (b2)'
    """
    is_named = game.coordinates is None
    names = [f"{cell} ({cell_name(cell, game)})" if is_named else f"{cell}" for cell in cells]
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def parse_cell(text: str, game: Game) -> int:
    """The cell that a number or a name says. Raises `IllegalMoveError` if there is none."""
    text = text.strip().lower()
    if _NUMBER.fullmatch(text):
        return as_cell(int(text), game)
    cells = {cell_name(cell, game): cell for cell in range(game.n_cells)} if _NAME.fullmatch(text) else {}
    if text in cells:
        return cells[text]
    last = game.n_cells - 1
    names = f" or {cell_name(0, game)} to {cell_name(last, game)}" if game.coordinates is None else ""
    raise IllegalMoveError(f"{text[:20]!r} is no cell: 0 to {last}{names} are")
