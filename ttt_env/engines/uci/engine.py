"""One of our agents as a UCI engine, and the words of UCI: squares, moves, positions, files of variants."""

import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise
from string import ascii_lowercase

import numpy as np

from ttt_env.agent import AgentLike
from ttt_env.engines.serving import (
    DEFAULT_SECONDS,
    Engine,
    Thinker,
    moves_to,
    name_shown,
    rows_and_columns,
    run_length,
    seconds_of_clock,
    seconds_of_limit,
)
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


_NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "movetime", "depth", "nodes", "mate")
_MOST = 10**10  # of a limit: some months
_MILLISECONDS = 1000.0


class UciEngine(Engine):
    """Plays one game as the agent does, over UCI (Stefan Meyer-Kahlen, April 2006).

    Moves are written as in Fairy-Stockfish, `P@b2`, X is white, and the game is the only value of the option
    `UCI_Variant`. Of the limits of `go` only the time limits count: `movetime`, `wtime` and its like, and
    `infinite`; an agent that cannot be told how long to think moves when it is done. `depth`, `nodes` and
    `mate` are passed over. What cannot be obeyed is answered by `info string error` and the reason.

    Raises as `make_agent` does for an agent that does not play the game, `ParameterError` for a game of three
    axes or more than 26 columns.
    """

    COMPLAINT = "info string error:"

    def __init__(
        self,
        agent: AgentLike,
        game: Game,
        say: Callable[[str], object],
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(say)
        check_squares(game)
        self._mind = self._thinker = Thinker(agent, game, rng)
        self._game, self._position = game, game.start
        self._name = name_shown(agent)

    def _obey(self, line: str) -> bool:
        word, *rest = line.split() or [""]
        match word:
            case "uci":
                self._say(f"id name ttt_env {version('ttt-env')} {self._name}")
                self._say("id author the ttt_env maintainers")
                variant = variant_name(self._game)
                self._say(f"option name UCI_Variant type combo default {variant} var {variant}")
                self._say("uciok")
            case "isready":
                self._say("readyok")
            case "position":
                self._position = read_position(rest, self._game)
            case "go":
                self._go(rest)
            case "stop":
                self._mind.move_now()
            case "setoption":
                self._set_option(rest)
            case "quit":
                return False
            case "" | "ucinewgame" | "debug" | "register" | "ponderhit":
                pass
            case _:
                raise NotationError(f"unknown command {shown(word)}")
        return True

    def _set_option(self, words: Sequence[str]) -> None:
        """Raises `NotationError` for another option than the one there is, and for another game than this."""
        line, variant = " ".join(words), variant_name(self._game)
        name, _, value = line.removeprefix("name ").partition(" value ")
        if name.lower() != "uci_variant":
            raise NotationError(f"no such option: {shown(name)}; there is UCI_Variant")
        if value != variant:
            raise NotationError(f"UCI_Variant {shown(value)}: this engine plays {variant}")

    def _go(self, words: Sequence[str]) -> None:
        if self._position.is_over:
            self._say("bestmove (none)")
            return
        limits = {}
        for name, text in pairwise([*words, ""]):
            if name in _NUMBERS:
                try:
                    limits[name] = min(max(int(text), 0), _MOST)
                except ValueError:
                    self._complain(f"go {name} {shown(text)}: an integer is needed")
        is_endless = "infinite" in words or "ponder" in words
        seconds = None if is_endless else thinking_seconds(limits, self._position)
        self._mind.begin(self._position, seconds, self._tell, waits=is_endless)

    def _tell(self, move: int | str) -> None:
        if isinstance(move, str):
            self._complain(move)
            self._say("bestmove (none)")
        else:
            self._say(f"bestmove {format_move(move, self._game)}")

    def _at_end(self, thinker: Thinker) -> None:
        thinker.move_now()  # nobody is left to say `stop`


def thinking_seconds(limits: dict[str, int], position: Position) -> float:
    """The seconds to think about a move under these limits of `go`, which are in milliseconds.

    `movetime` goes before the clock of the side to move; without either it is a second.
    """
    if "movetime" in limits:
        return seconds_of_limit(limits["movetime"] / _MILLISECONDS)
    side = "w" if position.to_move == "X" else "b"
    if f"{side}time" not in limits:
        return DEFAULT_SECONDS
    left, increment = (limits.get(f"{side}{name}", 0) / _MILLISECONDS for name in ("time", "inc"))
    return seconds_of_clock(left, position, increment, limits.get("movestogo"))
