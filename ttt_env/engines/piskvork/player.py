"""An engine of Piskvork and Gomocup as a player."""

from collections.abc import Sequence
from pathlib import Path
from weakref import WeakKeyDictionary

from ttt_env.agent import Answer
from ttt_env.engines.piskvork.engine import PROTOCOL, board_lines, format_cell, read_cell_name
from ttt_env.engines.serving import answered, as_milliseconds, rows_and_columns
from ttt_env.rules import Game, Position, cells_of
from ttt_env.text.players.program import STARTUP, TIMEOUT, Program, ProgramAgent

_SECONDS = 1.0
_NO_LIMIT = 2**31 - 1
_PASSED_OVER = ("MESSAGE", "DEBUG", "SUGGEST")


class PiskvorkAgent(ProgramAgent):
    """Plays as an engine answers that speaks the protocol of Piskvork and Gomocup.

    The engine is told the size of the board, and plays five in a row there or whatever it was made for; that
    this is the game here is for you to see to. It gets `seconds` to think about each move, and `timeout`
    more, and `startup` to start, before it is ended. In a game it is told each move of its opponent, in other
    positions the whole board. A cell that it says without being asked is noticed before the next question,
    in its answer to RESTART, and when it is told to END.

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
        self._milliseconds = as_milliseconds(seconds, "piskvork")
        self._seconds = float(seconds)
        self._known: WeakKeyDictionary[Program, Position] = WeakKeyDictionary()
        """The board that each process has, with its own last move."""

    FAREWELL = ("END",)

    @staticmethod
    def check(game: Game) -> None:  # noqa: D102
        rows_and_columns(game, PROTOCOL)

    def _greet(self, program: Program) -> None:
        rows, columns = rows_and_columns(self.game, PROTOCOL)
        start = f"START {rows}" if rows == columns else f"RECTSTART {columns},{rows}"
        program.send(start)
        answer = _said(program)
        self._check_lines(answer)
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
            program.send(f"TURN {format_cell(last_move, self.game)}")
        else:
            self._clear(program)
            program.send(*(board_lines(position) if position.ply else ["BEGIN"]))
        self._known.pop(program, None)  # until it is sure that the engine has the same board
        answer = answered(read_cell_name, _said(program), position)
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
        program.send("RESTART")
        answer = _said(program)
        self._check_lines(answer)
        if not answer.upper().startswith("OK"):
            self._greet(program)  # RESTART is optional


def _said(program: Program) -> str:
    """The next line that is an answer. Raises `NoLineError` if there is none."""
    while (line := program.read().strip()).upper().startswith(_PASSED_OVER) or not line:
        pass
    return line
