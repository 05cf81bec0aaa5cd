"""The words of Piskvork's protocol: cells as column and row, and boards as lists of stones."""

import re
from collections.abc import Iterable

from ttt_env.engines.grid import moves_to, rows_and_columns
from ttt_env.errors import NotationError, shown
from ttt_env.rules import Game, Position

PROTOCOL = "Piskvork"
MINE, THEIRS = 1, 2
"""The fields of a stone: of the engine that is asked, and of its opponent."""
_NUMBER = r"\s*([0-9]{1,3})\s*"
_PAIR = re.compile(f"{_NUMBER},{_NUMBER}")
_STONE = re.compile(f"{_NUMBER},{_NUMBER},{_NUMBER}")


def read_pair(text: str) -> tuple[int, int]:
    """The two numbers of `X,Y`. Raises `NotationError` for another text."""
    match = _PAIR.fullmatch(text)
    if match is None:
        raise NotationError(f"{shown(text)}: two numbers with a comma between them are needed")
    return int(match[1]), int(match[2])


def format_cell(cell: int, game: Game) -> str:
    """The column and the row of a cell, counted from 0 at the top left.

    >>> from ttt_env.rules.catalogue import get_game
    >>> format_cell(7, get_game("mnk-v0:m=4,n=3,k=3"))
    '3,1'
    """
    row, column = divmod(cell, rows_and_columns(game, PROTOCOL)[1])
    return f"{column},{row}"


def read_cell_name(text: str, game: Game) -> int:
    """The cell at `X,Y`. Raises `NotationError` for another text, or a cell that the board does not have."""
    return _cell(*read_pair(text), game)


def _cell(column: int, row: int, game: Game) -> int:
    rows, columns = rows_and_columns(game, PROTOCOL)
    if column >= columns or row >= rows:
        raise NotationError(f"{column},{row} is off the board of {columns} columns and {rows} rows")
    return row * columns + column


def board_lines(position: Position) -> list[str]:
    """The lines that set up a position for the engine that is to move, from `BOARD` to `DONE`."""
    stones = [
        f"{format_cell(cell, position.game)},{MINE if position.mine >> cell & 1 else THEIRS}"
        for cell in moves_to(position)
    ]
    return ["BOARD", *stones, "DONE"]


def read_board(lines: Iterable[str], game: Game) -> Position:
    """The position of the lines between `BOARD` and `DONE`, in which the owner of the stones 1 is to move.

    Raises `NotationError` for other lines, two stones on a cell, and stones that no game puts there.
    """
    masks = {MINE: 0, THEIRS: 0}
    for line in lines:
        match = _STONE.fullmatch(line)
        if match is None or int(match[3]) not in masks:
            raise NotationError(
                f"{shown(line)}: X,Y,1 for an own stone or X,Y,2 for the opponent's is needed"
            )
        cell = _cell(int(match[1]), int(match[2]), game)
        if (masks[MINE] | masks[THEIRS]) >> cell & 1:
            raise NotationError(f"{shown(line)}: there is a stone already")
        masks[int(match[3])] |= 1 << cell
    return Position(game, masks[MINE], masks[THEIRS]).checked()
