"""Piskvork and Gomocup: the words of their protocol, our agents as engines, and their engines as players."""

import re
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from ttt_env.agent import AgentLike, Answer
from ttt_env.engines import serving
from ttt_env.errors import IllegalMoveError, NotationError, ParameterError, shown
from ttt_env.rules import Game, Position, as_generator, cells_of
from ttt_env.rules.catalogue import mnk
from ttt_env.text.players.process import Program
from ttt_env.text.players.program import STARTUP, TIMEOUT, ProgramAgent

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
    row, column = divmod(cell, serving.rows_and_columns(game, PROTOCOL)[1])
    return f"{column},{row}"


def read_cell_name(text: str, game: Game) -> int:
    """The cell at `X,Y`. Raises `NotationError` for another text, or a cell that the board does not have."""
    return _cell(*read_pair(text), game)


def _cell(column: int, row: int, game: Game) -> int:
    rows, columns = serving.rows_and_columns(game, PROTOCOL)
    if column >= columns or row >= rows:
        raise NotationError(f"{column},{row} is off the board of {columns} columns and {rows} rows")
    return row * columns + column


def board_lines(position: Position) -> list[str]:
    """The lines that set up a position for the engine that is to move, from `BOARD` to `DONE`."""
    stones = [
        f"{format_cell(cell, position.game)},{MINE if position.mine >> cell & 1 else THEIRS}"
        for cell in serving.moves_to(position)
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


class PiskvorkEngine(serving.Engine):
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
            serving.rows_and_columns(game, PROTOCOL)
            self._thinker = serving.Thinker(agent, game, self._rng)
        self._name = serving.name_shown(agent)
        self._position: Position | None = None
        self._board: list[str] | None = None  # lines since BOARD
        self._limits = dict(_DEFAULTS)

    def _obey(self, line: str) -> bool:
        if line.upper() == "END":
            return False
        if self._thinker is not None:
            self._thinker.wait()
        if self._board is not None:
            if line.upper() != "DONE":
                self._board.append(line)
                return True
            lines, self._board = self._board, None
            position = read_board(filter(None, lines), self._playing().game)
            if position.is_over:
                raise IllegalMoveError("there is no move: the game is over on this board")
            self._think(position)
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
                self._say(f"UNKNOWN command {serving.one_line(word)}")

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
            of_game = serving.rows_and_columns(self._given, PROTOCOL)
            if of_game != (rows, columns):
                raise ParameterError(f"{self._given.name} has {of_game[1]} columns and {of_game[0]} rows")
            self._position = self._given.start
        else:
            game = mnk(columns, rows, IN_A_ROW)
            self._thinker = serving.Thinker(self._agent, game, self._rng)
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
            self._say(f"MESSAGE {serving.one_line(str(error))}")


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
    seconds = serving.seconds_of_limit(limits[_TURN] / _MILLISECONDS)
    left = limits[_LEFT]
    if 0 < left < _NO_LIMIT:
        seconds = min(seconds, serving.seconds_of_clock(left / _MILLISECONDS, position))
    return seconds


_SECONDS = 1.0
_PASSED_OVER = ("MESSAGE", "DEBUG", "SUGGEST")


class PiskvorkAgent(ProgramAgent):
    """Plays as an engine answers that speaks the protocol of Piskvork and Gomocup.

    The engine is told the size of the board, and plays five in a row there or whatever it was made for; that
    this is the game here is for you to see to. It gets `seconds` to think about each move, and `timeout`
    more, and `startup` to start, before it is ended. In a game it is told each move of its opponent, in other
    positions the whole board. A cell that it says without being asked is noticed before the next question,
    before and behind its answer to RESTART, and when it is told to END.

    Raises `ParameterError` for a game of three axes, and for parameters out of their ranges. Where the engine
    refuses the board, `answer` raises `PlayerError`.
    """

    def __init__(
        self,
        game: Game,
        command: str | Sequence[str],
        seconds: float = _SECONDS,
        timeout: float = TIMEOUT,
        folder: str | Path | None = None,
        memory: int | None = None,
        startup: float = STARTUP,
    ) -> None:
        super().__init__(game, command, timeout=timeout, folder=folder, memory=memory, startup=startup)
        self._settings = {"seconds": seconds}
        self._milliseconds = serving.as_milliseconds(seconds, "piskvork")
        self._seconds = float(seconds)
        self._known: WeakKeyDictionary[Program, Position] = WeakKeyDictionary()
        """The board that each process has, with its own last move."""

    FAREWELL = ("RESTART", "END")

    @staticmethod
    def check(game: Game) -> None:  # noqa: D102
        serving.rows_and_columns(game, PROTOCOL)

    def _greet(self, program: Program) -> None:
        rows, columns = serving.rows_and_columns(self.game, PROTOCOL)
        start = f"START {rows}" if rows == columns else f"RECTSTART {columns},{rows}"
        self._tell(program, start)
        answer = _said(program)
        self._check_lines([answer])
        if not answer.upper().startswith("OK"):
            self._refuse(f"answers {answer!r} to {start}")
        self._known[program] = self.game.start
        program.send(
            f"INFO timeout_turn {self._milliseconds}",
            "INFO timeout_match 0",
            f"INFO time_left {_NO_LIMIT}",
            "INFO max_memory 0",
            "INFO game_type 1",
            "INFO rule 0",
        )

    def _is_answer(self, line: str) -> bool:
        return line[:1].isdigit()

    def _ask(self, program: Program, position: Position) -> Answer:
        last_move = self._last_move(program, position)
        if last_move is not None:
            self._tell(program, f"TURN {format_cell(last_move, self.game)}")
        else:
            self._clear(program)
            self._tell(program, *(board_lines(position) if position.ply else ["BEGIN"]))
        self._known.pop(program, None)  # until it is sure that the engine has the same board
        answer = serving.answered(read_cell_name, _said(program), position)
        if answer.cell is not None:
            self._known[program] = position.child(answer.cell)
        return answer

    def _last_move(self, program: Program, position: Position) -> int | None:
        """The one move that leads to the position from the board that the engine has; None if none does."""
        known = self._known.get(program)
        if known is None or position.theirs & known.mine != known.mine:
            return None
        moves = cells_of(position.occupied_mask & ~known.occupied_mask)
        is_next = len(moves) == 1 and position.mine == known.theirs
        return moves[0] if is_next else None

    def _clear(self, program: Program) -> None:
        """Have the engine clear its board. Raises `PlayerError` if it does not."""
        if self._known.get(program) == self.game.start:
            return
        self._tell(program, "RESTART")
        answer = _said(program)
        self._check_lines([answer])
        if not answer.upper().startswith("OK"):
            self._greet(program)  # RESTART is optional


def _said(program: Program) -> str:
    """The next line that is an answer. Raises `NoLineError` if there is none."""
    while (line := program.read().strip()).upper().startswith(_PASSED_OVER) or not line:
        pass
    return line
