"""One of our agents as an engine of Piskvork and Gomocup, and the words of the protocol: cells, boards."""

import re
from collections.abc import Callable, Iterable
from importlib.metadata import version

import numpy as np

from ttt_env.agent import AgentLike
from ttt_env.engines.serving import (
    Engine,
    Thinker,
    moves_to,
    name_shown,
    one_line,
    rows_and_columns,
    seconds_of_clock,
    seconds_of_limit,
)
from ttt_env.errors import IllegalMoveError, NotationError, ParameterError, shown
from ttt_env.rules import Game, Position, as_generator
from ttt_env.rules.catalogue import mnk

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


IN_A_ROW = 5
_MILLISECONDS = 1000.0
_TURN, _LEFT = "timeout_turn", "time_left"
_DEFAULTS = {_TURN: 30_000, _LEFT: 0}  # of Piskvork; 0 is no limit of a game
_OTHER_GAMES = 1 | 4 | 8  # bits of the rule: exactly five in a row, renju, caro
_NO_LIMIT = 2**31 - 1


class PiskvorkEngine(Engine):
    """Plays as the agent does, over the protocol of Gomocup (Martin Petříček and Petr Laštovička).

    The game is `game`, whose board START or RECTSTART have to name, or by default five in a row on the board
    that they name. The time for a move is that of `INFO timeout_turn`, and a share of `INFO time_left`; an
    agent that cannot be told how long to think moves when it is done. A wrong line is answered by ERROR and
    the reason, an unknown command by UNKNOWN.

    A game that is not given is made for each board, so that what the agent raises that does not play it is
    the answer to START; for a game that is given it is raised at once, as `make_agent` does.
    """

    COMPLAINT = "ERROR"

    def __init__(
        self,
        agent: AgentLike,
        game: Game | None,
        say: Callable[[str], object],
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(say)
        self._agent, self._given, self._rng = agent, game, as_generator(rng)
        if game is not None:
            rows_and_columns(game, PROTOCOL)
            self._thinker = Thinker(agent, game, self._rng)
        self._name = name_shown(agent)
        self._position: Position | None = None
        self._board: list[str] | None = None  # lines since BOARD
        self._limits = dict(_DEFAULTS)

    def _obey(self, line: str) -> bool:
        if line.upper() == "END":
            return False
        if self._thinker is not None:
            self._thinker.wait()
        if self._board is not None:
            self._read_on(self._board, line)
            return True
        word, _, rest = line.partition(" ")
        if word:
            self._command(word, rest)
        return True

    def _command(self, word: str, rest: str) -> None:
        match word.upper():
            case "START":
                number = _integer("START", rest)
                self._set_up(number, number)
            case "RECTSTART":
                self._set_up(*read_pair(rest))
            case "RESTART":
                self._position = self._playing().game.start
                self._say("OK")
            case "BEGIN":
                self._begin()
            case "TURN":
                self._turn(rest)
            case "TAKEBACK":
                self._take_back(rest)
            case "BOARD":
                self._playing()
                self._board = []
            case "INFO":
                self._inform(rest)
            case "ABOUT":
                name, ours = self._name.replace('"', "'"), version("ttt-env")
                self._say(f'name="ttt_env {name}", version="{ours}", author="the ttt_env maintainers"')
            case _:
                self._say(f"UNKNOWN command {one_line(word)}")

    def _playing(self) -> Position:
        """The position. Raises `NotationError` before START."""
        if self._position is None:
            raise NotationError("there is no board yet: START comes first")
        return self._position

    def _set_up(self, columns: int, rows: int) -> None:
        """Begin with this board.

        Raises `ParameterError` for another one than that of the game that is given, else what the agent
        raises that does not play on it.
        """
        if self._given is not None:
            of_game = rows_and_columns(self._given, PROTOCOL)
            if of_game != (rows, columns):
                raise ParameterError(f"{self._given.name} has {of_game[1]} columns and {of_game[0]} rows")
            self._position = self._given.start
        else:
            game = mnk(columns, rows, IN_A_ROW)
            self._thinker = Thinker(self._agent, game, self._rng)
            self._position = game.start
        self._say("OK")

    def _begin(self) -> None:
        if self._playing().ply:
            raise IllegalMoveError("BEGIN is for an empty board: RESTART comes first")
        self._think(self._playing())

    def _turn(self, cell: str) -> None:
        position = self._playing()
        after = position.play(read_cell_name(cell, position.game))
        if after.is_over:
            self._position = after
            raise IllegalMoveError("this move has ended the game")
        self._think(after)

    def _take_back(self, cell: str) -> None:
        """Take away the stone that was put last; the manager says which one that was."""
        position = self._playing()
        bit = 1 << read_cell_name(cell, position.game)
        if not position.theirs & bit:
            raise IllegalMoveError(f"{shown(cell.strip())} is no stone of the side that has just moved")
        self._position = Position(position.game, position.theirs ^ bit, position.mine).checked()
        self._say("OK")

    def _read_on(self, lines: list[str], line: str) -> None:
        """Take in one more line of a board; think at its end."""
        if line.upper() != "DONE":
            lines.append(line)
            return
        self._board = None
        position = read_board(filter(None, lines), self._playing().game)
        if position.is_over:
            raise IllegalMoveError("there is no move: the game is over on this board")
        self._think(position)

    def _think(self, position: Position) -> None:
        self._position = position
        assert self._thinker is not None
        self._thinker.begin(position, thinking_seconds(self._limits, position), self._tell)

    def _tell(self, move: int | str) -> None:
        if isinstance(move, str):
            self._complain(move)
        elif self._position is not None:
            self._say(format_cell(move, self._position.game))
            self._position = self._position.child(move)

    def _inform(self, text: str) -> None:
        """Take in a setting. As no answer is expected, what is wrong with it is told as a message.

        Settings that say nothing here are passed over, as the protocol wants it.
        """
        key, _, value = text.partition(" ")
        key = key.lower()
        try:
            if key in self._limits:
                self._limits[key] = _integer(key, value)
            elif key == "rule" and _integer(key, value) & _OTHER_GAMES:
                self._say(
                    f"MESSAGE rule {value} is not played, but rule 0: more than {IN_A_ROW} in a row win too"
                )
        except NotationError as error:
            self._say(f"MESSAGE {one_line(str(error))}")


def _integer(name: str, text: str) -> int:
    """The number, of up to 10 digits. Raises `NotationError` for another text."""
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 10):
        raise NotationError(f"{name} {shown(text)}: an integer from 0 on is needed")
    return int(text)


def thinking_seconds(limits: dict[str, int], position: Position) -> float:
    """The seconds to think about a move under these limits of `INFO`, which are in milliseconds.

    A `timeout_turn` of 0 means as fast as possible; no `timeout_match` means no `time_left`.
    """
    seconds = seconds_of_limit(limits[_TURN] / _MILLISECONDS)
    left = limits[_LEFT]
    if 0 < left < _NO_LIMIT:
        seconds = min(seconds, seconds_of_clock(left / _MILLISECONDS, position))
    return seconds
