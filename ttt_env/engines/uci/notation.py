"""The words of UCI: squares, moves, positions, and the variants that Fairy-Stockfish reads from a file."""

import re
from collections.abc import Sequence
from string import ascii_lowercase

from ttt_env.engines.grid import moves_to, rows_and_columns, run_length
from ttt_env.errors import NotationError, ParameterError, shown
from ttt_env.rules import Game, Position

PROTOCOL = "UCI"
_MOVE = re.compile(r"(?:P@)?([a-z])([1-9][0-9]{0,2})", re.IGNORECASE)
_FEN_ITEM = re.compile(r"[Pp]|[1-9][0-9]{0,2}")


def check_squares(game: Game) -> None:
    """Raise `ParameterError` for a game whose cells are no squares, which have a letter and a number."""
    _, columns = rows_and_columns(game, PROTOCOL)
    if columns > len(ascii_lowercase):
        raise ParameterError(
            f"{PROTOCOL} has boards of up to {len(ascii_lowercase)} columns, and {game.name} has {columns}"
        )


def format_move(cell: int, game: Game) -> str:
    """The move as UCI writes it: a piece P, dropped on a square; a1 is the lower left one.

    >>> from ttt_env.rules.catalogue import get_game
    >>> format_move(0, get_game("tictactoe-v0")), format_move(5, get_game("mnk-v0:m=4,n=3,k=3"))
    ('P@a3', 'P@b2')
    """
    rows, columns = rows_and_columns(game, PROTOCOL)
    row, column = divmod(cell, columns)
    return f"P@{ascii_lowercase[column]}{rows - row}"


def read_move(text: str, game: Game) -> int:
    """The cell that a move such as `P@b2`, or the square alone, names.

    Raises `NotationError` for another text.
    """
    match = _MOVE.fullmatch(text)
    rows, columns = rows_and_columns(game, PROTOCOL)
    if match:
        row, column = rows - int(match[2]), ascii_lowercase.index(match[1].lower())
        if 0 <= row and column < columns:
            return row * columns + column
    squares = f"a1 to {ascii_lowercase[columns - 1]}{rows}"
    raise NotationError(f"{shown(text)} is no move of {game.name}: P@ and a square, {squares}, is needed")


def position_command(position: Position) -> str:
    """The command that sets up a position in which the game goes on."""
    moves = " ".join(format_move(cell, position.game) for cell in moves_to(position))
    return f"position startpos moves {moves}" if moves else "position startpos"


def read_position(words: Sequence[str], game: Game) -> Position:
    """The position of a command, given as its words behind `position`.

    These are `startpos` or `fen` and a FEN, then maybe `moves` and moves. Raises `NotationError` for other
    words and `IllegalMoveError` for moves that may not be made.
    """
    words = list(words)
    at = words.index("moves") if "moves" in words else len(words)
    match words[:at]:
        case ["startpos"]:
            position = game.start
        case ["fen", board, *more]:
            position = _read_fen(board, more, game)
        case _:
            raise NotationError(f"position {shown(' '.join(words))}: startpos, or fen and a FEN, is needed")
    for move in words[at + 1 :]:
        position = position.play(read_move(move, game))
    return position


def _read_fen(board: str, more: Sequence[str], game: Game) -> Position:
    """The position of a FEN: rows from the top, P for X and p for O, numbers for free cells, maybe `[…]`.

    What is in square brackets, the pieces in hand, follows from the board, as does everything behind the side
    to move.
    """
    rows, columns = rows_and_columns(game, PROTOCOL)
    lines = [_read_row(line, columns) for line in board.partition("[")[0].split("/")]
    if len(lines) != rows or None in lines:
        raise NotationError(f"{shown(board)} is no board of {game.name}: {rows} rows of {columns} are needed")
    cells = "".join(line for line in lines if line is not None)
    x, o = (sum(1 << cell for cell, mark in enumerate(cells) if mark == piece) for piece in "Pp")
    is_x = x.bit_count() == o.bit_count()
    if more and more[0] != ("w" if is_x else "b"):
        raise NotationError(
            f"{shown(more[0])} is to move in {shown(board)}: {'w' if is_x else 'b'} is needed"
        )
    return Position(game, x if is_x else o, o if is_x else x).checked()


def _read_row(line: str, columns: int) -> str | None:
    """The cells of a row, a dot for a free one; None if they are not as many as the columns."""
    if re.fullmatch(rf"(?:{_FEN_ITEM.pattern})+", line) is None:
        return None
    items = _FEN_ITEM.findall(line)
    cells = "".join(item if item in "Pp" else "." * min(int(item), columns + 1) for item in items)
    return cells if len(cells) == columns else None


def variant_name(game: Game) -> str:
    """The name of the game among the variants of an engine: letters, numbers and hyphens.

    >>> from ttt_env.rules.catalogue import get_game
    >>> variant_name(get_game("tictactoe-v0")), variant_name(get_game("mnk-v0:m=4,n=3,k=3"))
    ('tictactoe', 'mnk-v0-m-4-n-3-k-3')
    """
    if game.shape == (3, 3) and run_length(game) == 3:
        return "tictactoe"  # as in the file of variants that comes with Fairy-Stockfish
    return re.sub(r"[^a-z0-9]+", "-", game.name.lower())


def variants_file(game: Game) -> str:
    """The text of a file that tells Fairy-Stockfish the rules of the game.

    The format is that of its own variants.ini. Raises `ParameterError` for a game that is not won by k in a
    row.
    """
    rows, columns = rows_and_columns(game, PROTOCOL)
    k, each = run_length(game), (game.n_cells + 1) // 2
    if k is None:
        raise ParameterError(
            f"the rules of {game.name} cannot be told to an engine, only those of k in a row: "
            "name a variant= that it knows"
        )
    board = "/".join([str(columns)] * rows)
    settings = {
        "maxRank": rows,
        "maxFile": columns,
        "immobile": "p",
        "startFen": f"{board}[{'P' * each}{'p' * each}] w - - 0 1",
        "pieceDrops": "true",
        "doubleStep": "false",
        "castling": "false",
        "stalemateValue": "draw",
        "immobilityIllegal": "false",
        "nMoveRule": 0,
        "connectN": k,
    }
    return "\n".join(
        [f"[{variant_name(game)}]", *(f"{key} = {value}" for key, value in settings.items()), ""]
    )
