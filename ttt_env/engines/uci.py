"""UCI, as Fairy-Stockfish speaks it for k in a row: its words, our agents as engines, engines as players."""

import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory

import numpy as np

from ttt_env.agent import AgentLike, Answer
from ttt_env.engines import serving
from ttt_env.errors import NotationError, ParameterError, shown
from ttt_env.rules import Game, Position, as_integer, as_path
from ttt_env.text.players.process import Program
from ttt_env.text.players.program import STARTUP, TIMEOUT, ProgramAgent

PROTOCOL = "UCI"
_MOVE = re.compile(r"(?:P@)?([a-z])([1-9][0-9]{0,2})", re.IGNORECASE)
_FEN_ITEM = re.compile(r"[Pp]|[1-9][0-9]{0,2}")


def check_squares(game: Game) -> None:
    """Raise `ParameterError` for a game whose cells are no squares, which have a letter and a number."""
    _, columns = serving.rows_and_columns(game, PROTOCOL)
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
    rows, columns = serving.rows_and_columns(game, PROTOCOL)
    row, column = divmod(cell, columns)
    return f"P@{ascii_lowercase[column]}{rows - row}"


def read_move(text: str, game: Game) -> int:
    """The cell that a move such as `P@b2`, or the square alone, names.

    Raises `NotationError` for another text.
    """
    match = _MOVE.fullmatch(text)
    rows, columns = serving.rows_and_columns(game, PROTOCOL)
    if match:
        row, column = rows - int(match[2]), ascii_lowercase.index(match[1].lower())
        if 0 <= row and column < columns:
            return row * columns + column
    squares = f"a1 to {ascii_lowercase[columns - 1]}{rows}"
    raise NotationError(f"{shown(text)} is no move of {game.name}: P@ and a square, {squares}, is needed")


def position_command(position: Position) -> str:
    """The command that sets up a position in which the game goes on."""
    moves = " ".join(format_move(cell, position.game) for cell in serving.moves_to(position))
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
    rows, columns = serving.rows_and_columns(game, PROTOCOL)
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
    if re.fullmatch(rf"(?>(?:{_FEN_ITEM.pattern})+)", line) is None:  # as `findall`: nothing is tried twice
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
    if game.shape == (3, 3) and serving.run_length(game) == 3:
        return "tictactoe"  # as in the file of variants that comes with Fairy-Stockfish
    return re.sub(r"[^a-z0-9]+", "-", game.name.lower())


def variants_file(game: Game) -> str:
    """The text of a file that tells Fairy-Stockfish the rules of the game.

    The format is that of its own variants.ini. Raises `ParameterError` for a game that is not won by k in a
    row.
    """
    rows, columns = serving.rows_and_columns(game, PROTOCOL)
    k, each = serving.run_length(game), (game.n_cells + 1) // 2
    if k is None:
        raise ParameterError(
            f"the rules of {game.name} cannot be described to an engine, only the rules of k in a row: "
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


class UciEngine(serving.Engine):
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
        self._mind = self._thinker = serving.Thinker(agent, game, rng)
        self._game, self._position = game, game.start
        self._name = serving.name_shown(agent)

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

    def _at_end(self, thinker: serving.Thinker) -> None:
        thinker.move_now()  # nobody is left to say `stop`


def thinking_seconds(limits: dict[str, int], position: Position) -> float:
    """The seconds to think about a move under these limits of `go`, which are in milliseconds.

    `movetime` goes before the clock of the side to move; without either it is a second.
    """
    if "movetime" in limits:
        return serving.seconds_of_limit(limits["movetime"] / _MILLISECONDS)
    side = "w" if position.to_move == "X" else "b"
    if f"{side}time" not in limits:
        return serving.DEFAULT_SECONDS
    left, increment = (limits.get(f"{side}{name}", 0) / _MILLISECONDS for name in ("time", "inc"))
    return serving.seconds_of_clock(left, position, increment, limits.get("movestogo"))


_SECONDS = 1.0
_VARIANT, _FILE = "UCI_Variant", "VariantPath"


class UciAgent(ProgramAgent):
    """Plays as a UCI engine answers, such as Fairy-Stockfish, which plays every game of k in a row.

    The engine thinks for `seconds` a move (the default, 1), to a `depth`, or for a number of `nodes`; it ends
    its search with the first of those that are given. It gets `timeout` seconds more, and `startup` to start,
    before it is ended. Between two questions it has to answer `isready`, so that a late move is noticed.

    `variant` is the engine's name for the game. By default it is that of `variant_name`; an engine
    that does not know it, but reads files of variants, as Fairy-Stockfish does, is told the rules of a game
    of k in a row by such a file. `variants` is a file of your own. `options` are other settings of the
    engine, separated by semicolons: `options=Skill Level=3;Hash=1`.

    The position is sent anew for each move, so that the engine may be asked in any of them.

    Raises `ParameterError` for a game of three axes or more than 26 columns, and for parameters out of their
    ranges. Where the engine does not know the game, `answer` raises `PlayerError`, and `ParameterError` where
    it could read the rules, but the game is not one of k in a row.
    """

    def __init__(
        self,
        game: Game,
        command: str | Sequence[str],
        variant: str | None = None,
        variants: str | None = None,
        seconds: float | None = None,
        depth: int | None = None,
        nodes: int | None = None,
        options: str | None = None,
        timeout: float = TIMEOUT,
        folder: str | Path | None = None,
        memory: int | None = None,
        startup: float = STARTUP,
    ) -> None:
        super().__init__(game, command, timeout=timeout, folder=folder, memory=memory, startup=startup)
        settings = {
            "variant": variant, "variants": variants, "seconds": seconds, "depth": depth, "nodes": nodes,
            "options": options,
        }  # fmt: skip
        self._settings = {name: value for name, value in settings.items() if value is not None}
        if seconds is None and depth is None and nodes is None:
            seconds = _SECONDS
        limits = {
            "movetime": None if seconds is None else serving.as_milliseconds(seconds, "uci"),
            "depth": None if depth is None else as_integer("depth", depth, "uci", 1),
            "nodes": None if nodes is None else as_integer("nodes", nodes, "uci", 1),
        }
        self._go = " ".join(["go", *(f"{name} {limit}" for name, limit in limits.items() if limit)])
        self._seconds = seconds or 0.0
        if variant is not None and not (variant.isprintable() and variant.strip()):
            raise ParameterError(f"variant={shown(variant)} of uci: a name on one line is needed")
        self._variant = variant
        self._variants = None if variants is None else as_path("variants", variants, "uci").absolute()
        if self._variants is not None and not self._variants.is_file():  # an engine would say nothing
            raise ParameterError(f"variants={shown(variants)} of uci: there is no such file")
        self._options = _checked_options(options)

    FAREWELL = ("isready", "quit")

    @staticmethod
    def check(game: Game) -> None:  # noqa: D102
        check_squares(game)

    def _greet(self, program: Program) -> None:
        choices = self._choices(program)
        for name, value in self._options.items():
            if name.lower() not in choices:
                self._refuse(f"has no option {name!r}; it has {', '.join(sorted(choices))}")
            program.send(f"setoption name {name} value {value}")
        if self._variants is not None:
            choices = self._with_variants(program, choices, self._variants)
        variant = self._variant or variant_name(self.game)
        if _VARIANT.lower() in choices:
            if variant not in choices[_VARIANT.lower()] and self._variant is None and self._variants is None:
                with TemporaryDirectory() as folder:
                    file = Path(folder) / "variants.ini"
                    file.write_text(variants_file(self.game), encoding="ascii")
                    choices = self._with_variants(program, choices, file)
            if variant not in choices[_VARIANT.lower()]:
                self._refuse(f"has no variant {variant!r}; it has {', '.join(choices[_VARIANT.lower()])}")
            program.send(f"setoption name {_VARIANT} value {variant}")
        elif self._variant is not None:
            self._refuse(f"has no option {_VARIANT}, and variant={self._variant} needs it")
        self._wait(program)

    def _with_variants(
        self, program: Program, choices: dict[str, list[str]], file: Path
    ) -> dict[str, list[str]]:
        """The engine's options after it has read a file of variants."""
        if _FILE.lower() not in choices:
            self._refuse(
                f"reads no files of variants; its own are {', '.join(choices.get(_VARIANT.lower(), []))}"
            )
        program.send(f"setoption name {_FILE} value {file}")
        return self._choices(program)

    def _choices(self, program: Program) -> dict[str, list[str]]:
        """The answer of the engine to `uci`: the names of its options in small letters, and their values.

        Only options of a list have values: an engine that has read a file of variants names them here.
        """
        self._tell(program, "uci")
        choices: dict[str, list[str]] = {}
        while (line := program.read().strip()) != "uciok":
            self._check_lines([line])
            words = line.split()
            if words[:2] == ["option", "name"] and "type" in words:
                at = words.index("type")
                values = [
                    word for before, word in zip(words[at:], words[at + 1 :], strict=False) if before == "var"
                ]
                choices[" ".join(words[2:at]).lower()] = values
        return choices

    def _is_answer(self, line: str) -> bool:
        return line.split()[:1] == ["bestmove"]

    def _wait(self, program: Program) -> None:
        """Wait until the engine has done what it was told. Raises `UntrustedAnswersError` for a late move."""
        self._tell(program, "isready")
        while (line := program.read().strip()) != "readyok":
            self._check_lines([line])

    def _ask(self, program: Program, position: Position) -> Answer:
        self._wait(program)
        self._tell(program, position_command(position), self._go)
        while True:
            line = program.read().strip()
            if self._is_answer(line):
                return serving.answered(read_move, " ".join(line.split()[1:2]), position)


def _checked_options(options: str | None) -> dict[str, str]:
    """The settings by name. Raises `ParameterError` for text of another form than `name=value;name=value`."""
    settings: dict[str, str] = {}
    for item in options.split(";") if options else []:
        name, sign, value = (part.strip() for part in item.partition("="))
        if not (name and sign and value.isprintable()) or not name.isprintable():
            raise ParameterError(f"options={shown(options)} of uci: name=value;name=value is needed")
        settings[name] = value
    return settings
