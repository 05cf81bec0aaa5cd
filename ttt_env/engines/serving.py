"""The parts that all engines share (boards, times, an agent that thinks, lines), and the JSON protocol."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain, zip_longest
from threading import TIMEOUT_MAX, Event, Thread, Timer
from typing import ClassVar

import numpy as np

from ttt_env.agent import Agent, AgentLike, Answer, chosen_cell, make_agent
from ttt_env.errors import GameTooLargeError, NotationError, ParameterError, TttEnvError, shown
from ttt_env.rules import Game, Position, as_generator, as_positive, cells_of
from ttt_env.stopping import due_by
from ttt_env.text.protocol import answer_line, read_question


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


DEFAULT_SECONDS = 1.0
"""Seconds for a move where nobody says how long it may take."""
_OVERHEAD = 0.05  # seconds of a limit kept for sending the answer, half of the limit at most
_MOST_MOVES = 20  # at most, among which the remaining time is shared; most games end early
_GRACE = 1.0  # seconds for a search to end when nobody wants its move any more
_DAY = 86_400.0  # seconds: a search that ends when it is told to


def patient_agent(agent: AgentLike, game: Game) -> Agent:
    """The agent; a search whose spec sets no time or size goes on until it is told to move.

    So `mcts` and `minimax` on a large board use the time that the other side allows, while `mcts:seconds=2`
    and `mcts:simulations=100` do what they say. Raises as `make_agent` does.
    """
    patient = f"{agent}{',' if ':' in agent else ':'}seconds={_DAY}" if isinstance(agent, str) else agent
    try:
        plain = make_agent(agent, game)
    except GameTooLargeError:
        with suppress(ParameterError):
            return make_agent(patient, game)
        raise
    if plain.seconds_per_move and patient is not agent:
        with suppress(ParameterError):  # it has a budget, or no time that could be set
            return make_agent(patient, game)
    return plain


def seconds_of_limit(limit: float) -> float:
    """The seconds to think when the move has to arrive within `limit` seconds; 0 for a limit of 0.

    >>> seconds_of_limit(2.0), seconds_of_limit(0.02)
    (1.95, 0.01)
    """
    return max(limit - _OVERHEAD, limit / 2)


def seconds_of_clock(
    left: float, position: Position, increment: float = 0.0, moves: int | None = None
) -> float:
    """The seconds to think about one move when `left` seconds are left for the game, or for `moves` moves.

    `increment` seconds are added after each move. The time is shared out evenly.
    """
    own_moves = (position.game.n_cells - position.ply + 1) // 2
    shared_by = max(1, min(own_moves, _MOST_MOVES if moves is None else moves))
    return seconds_of_limit(min(left, left / shared_by + increment))


class Thinker:
    """Moves of an agent, one at a time, each found in a thread of its own.

    Raises as `make_agent` does for an agent that does not play the game.
    """

    def __init__(self, agent: AgentLike, game: Game, rng: np.random.Generator | int | None = None) -> None:
        self.agent = patient_agent(agent, game)
        self._rng = as_generator(rng)
        self._is_due = Event()
        self._thread: Thread | None = None

    def begin(
        self,
        position: Position,
        seconds: float | None,
        tell: Callable[[int | str], object],
        waits: bool = False,
    ) -> None:
        """Think about a move for some seconds, or without end for None, then `tell` it.

        `tell` gets the cell or, where the agent fails, why. It is called in the thread that thinks; with
        `waits` not before `move_now`, even if the move is known earlier.
        """
        self.move_now()
        self._is_due = is_due = Event()

        def think() -> None:
            clock = None if seconds is None else Timer(min(seconds, TIMEOUT_MAX), is_due.set)
            if clock is not None:
                clock.daemon = True
                clock.start()
            try:
                with due_by(is_due):
                    move: int | str = chosen_cell(self.agent, position, self._rng)
            except TttEnvError as error:
                move = str(error)
            except Exception as error:  # an agent of the user: the other side has to learn that no move comes
                move = f"{type(error).__name__}: {shown(str(error))}"
            if clock is not None:
                clock.cancel()
            if waits:
                is_due.wait()
            tell(move)

        self._thread = Thread(target=think, daemon=True)
        self._thread.start()

    def move_now(self) -> None:
        """End the thinking, and wait until the move is told; nothing happens if nobody thinks."""
        self._is_due.set()
        self.wait()

    def wait(self) -> None:
        """Wait until the move is told."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def leave(self) -> None:
        """End the thinking, without waiting long for an agent that does not ask for the time."""
        self._is_due.set()
        if self._thread is not None:
            self._thread.join(_GRACE)


class Engine(ABC):
    """One side of a protocol: `hear` is called with each line that comes, and answers by `say`.

    `say` is called from the thread that thinks as well. A line that cannot be understood or obeyed gets the
    protocol's own answer to errors, which begins with `COMPLAINT`, changes nothing, and the engine goes on.
    """

    COMPLAINT: ClassVar[str]

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._thinker: Thinker | None = None

    def serve(self, lines: Iterable[str]) -> None:
        """Hear lines until one says that this is the end, or no more come; the last move is still told."""
        for line in lines:
            if not self.hear(line):
                return
        if self._thinker is not None:
            self._at_end(self._thinker)

    def hear(self, line: str) -> bool:
        """Do what a line says; False if that is to end."""
        try:
            goes_on = self._obey(line.strip())
        except TttEnvError as error:
            self._complain(str(error))
            return True
        if not goes_on and self._thinker is not None:
            self._thinker.leave()
        return goes_on

    def _at_end(self, thinker: Thinker) -> None:
        """Let the move be told that somebody still waits for when no more lines come."""
        thinker.wait()

    @abstractmethod
    def _obey(self, line: str) -> bool:
        """`hear`, without care for errors."""

    def _complain(self, why: str) -> None:
        self._say(f"{self.COMPLAINT} {one_line(why)}")


def one_line(text: str) -> str:
    r"""The text with all white space as single spaces: an answer is one line.

    >>> one_line("no\n such  cell")
    'no such cell'
    """
    return " ".join(text.split())


def name_shown(agent: AgentLike) -> str:
    """The name of an engine as its opponents see it: its spec, or the name of its function or class."""
    return one_line(agent) if isinstance(agent, str) else getattr(agent, "__name__", type(agent).__name__)


class JsonEngine(Engine):
    """Answers questions about the positions of `game` or, by default, of the games that they name.

    The agent is made again where a question is about another game than the one before. What cannot be
    answered, because the line is no question or the agent does not play the game, gets an `{"error": …}`.
    Raises as `make_agent` does for an agent that does not play a game that is given.
    """

    def __init__(
        self,
        agent: AgentLike,
        game: Game | None,
        say: Callable[[str], object],
        rng: np.random.Generator | int | None = None,
    ) -> None:
        super().__init__(say)
        self._agent, self._given, self._rng = agent, game, as_generator(rng)
        self._game = game
        self._id: int | None = None  # of the question that is being answered
        if game is not None:
            self._thinker = Thinker(agent, game, self._rng)

    def _obey(self, line: str) -> bool:
        if line:
            self._id = None
            position, seconds, self._id = read_question(line, self._given)
            if self._thinker is None or position.game != self._game:
                self._thinker = Thinker(self._agent, position.game, self._rng)
                self._game = position.game
            limit = DEFAULT_SECONDS if seconds is None else seconds_of_limit(seconds)
            self._thinker.begin(position, limit, self._tell)
            self._thinker.wait()
        return True

    def _tell(self, move: int | str) -> None:
        if isinstance(move, str):
            self._complain(move)
        else:
            self._say(answer_line(move, self._id))

    def _complain(self, why: str) -> None:
        self._say(json.dumps({"error": why} if self._id is None else {"error": why, "id": self._id}))
