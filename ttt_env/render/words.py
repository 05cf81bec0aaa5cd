"""The words and numbers that pictures, tables and the terminal share, and the names of cells."""

import re

from ttt_env.errors import IllegalMoveError
from ttt_env.render.layout import layers_of
from ttt_env.rules import Game, Position, as_cell

_MINUS = str.maketrans("-", "−")
_ROUNDING = 1e-13  # of sums of 64-bit numbers
_DIGITS = 4  # of a value
RESULTS = {1: "wins", 0: "draws", -1: "loses"}
"""The verb for a player who ends with this value."""


def percent(share: float) -> str:
    """The share in percent, to a hundredth; 0 % and 100 % only where it is exactly that.

    >>> percent(0.125), percent(1 / 3), percent(0.25), percent(0.00001)
    ('12.5%', '33.33%', '25%', '<0.01%')
    >>> percent(1 - 1e-12), percent(1 - 1e-15)
    ('>99.99%', '100%')
    """
    text = f"{100 * share:.2f}"
    if text == "0.00" and share > 0:
        return "<0.01%"
    if text == "100.00" and share < 1 - _ROUNDING:
        return ">99.99%"
    return text.rstrip("0").removesuffix(".") + "%"


def gain(number: float, digits: int) -> str:
    """A gain with its sign; one that these digits would round to zero is given as a power of ten.

    >>> gain(0.5, 3), gain(0.0, 3), gain(1.2e-15, 3)
    ('+0.500', '0.000', '+1e−15')
    """
    text = signed(number, digits)
    is_hidden = number != 0 and text.strip("0.") == ""
    return f"{number:+.0e}".translate(_MINUS) if is_hidden else text


def signed(number: float, digits: int) -> str:
    """The number with its sign, a zero without one.

    >>> signed(0.5, 2), signed(-0.5, 2), signed(-0.001, 2)
    ('+0.50', '−0.50', '0.00')
    """
    text = f"{number:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.translate(_MINUS)


def value_text(value: float) -> str:
    """A value from −1 to 1, with four decimals, or none where it is certain.

    >>> value_text(0.98127), value_text(1.0), value_text(-0.0)
    ('+0.9813', '+1', '0')
    """
    return signed(value, 0 if value in (-1, 0, 1) else _DIGITS)


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


def columns_by_name(game: Game) -> dict[str, tuple[int, ...]]:
    """The columns into which stones fall, each by the common part of the names of its cells.

    >>> from ttt_env.rules.catalogue import get_game
    >>> [*columns_by_name(get_game("connect-four-v0"))], columns_by_name(get_game("tictactoe-v0"))
    (['a', 'b', 'c', 'd', 'e', 'f', 'g'], {})
    """
    by_name = {}
    for cells in game.columns:
        if len(cells) > 1 and game.coordinates is None:
            parts = zip(*(_NAME.findall(cell_name(cell, game))[0] for cell in cells), strict=True)
            by_name["".join(part[0] for part in parts if len({*part}) == 1)] = cells
    return by_name


def parse_cell(text: str, position: Position) -> int:
    """The cell of a number or a name; for a column, the cell where a stone comes to rest.

    Raises `IllegalMoveError` if there is none.

    >>> from ttt_env.rules.catalogue import get_game
    >>> parse_cell("d", get_game("connect-four-v0").start)
    38
    """
    text, game = text.strip().lower(), position.game
    if _NUMBER.fullmatch(text):
        return as_cell(int(text), game)
    columns = columns_by_name(game)
    if text in columns:
        return next((cell for cell in columns[text] if position.legal_mask >> cell & 1), columns[text][-1])
    cells = {cell_name(cell, game): cell for cell in range(game.n_cells)} if _NAME.fullmatch(text) else {}
    if text in cells:
        return cells[text]
    last = game.n_cells - 1
    names = f" or {cell_name(0, game)} to {cell_name(last, game)}" if game.coordinates is None else ""
    fall = "; {} to {} are columns".format(*[*columns][:: len(columns) - 1]) if len(columns) > 1 else ""
    raise IllegalMoveError(f"{text[:20]!r} is not a cell: 0 to {last}{names} are{fall}")
