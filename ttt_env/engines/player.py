"""An engine in another process as a player."""

import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NoReturn, Self

from ttt_env.agent import Answer, AskedAgent, Effort
from ttt_env.errors import NotationError, PlayerError
from ttt_env.rules.checks import as_seconds
from ttt_env.rules.game import Game, Position
from ttt_env.text.players.accidents import (
    END_GRACE,
    AccidentError,
    check_lines,
    failed_answer,
    settled_answer,
)
from ttt_env.text.players.command import MEBIBYTE, as_folder, as_mebibytes, split_command
from ttt_env.text.players.program import Program, Said

TIMEOUT = 60.0
"""Seconds for a move beyond the time that an engine is given to think."""
_DIGITS = 12  # of the fingerprint


class NoLineError(Exception):
    """The engine has said no line when one was due: it has ended, hangs, or floods."""

    def __init__(self, said: Said) -> None:
        super().__init__(said.text)
        self.said = said


class Conversation:
    """What is said to an engine and by it until a deadline, which is one of the monotonic clock."""

    def __init__(self, program: Program, seconds: float) -> None:
        self._program = program
        self._deadline = time.monotonic() + seconds
        self.send = program.send

    def read(self) -> str:
        """The next line that the engine says, which may be empty. Raises `NoLineError` if there is none."""
        said = self._program.read_line(self._deadline)
        if said.outcome != "line":
            raise NoLineError(said)
        return said.text.strip()


class EngineAgent(AskedAgent, ABC):
    """Plays as an engine answers, in a process that is started for the first move and kept.

    A subclass says how the engine is greeted (`_greet`) and asked (`_ask`), which of its lines are moves
    (`_is_move`), and how it is told to end (`FAREWELL`). The engine runs without a shell. It has `startup`
    seconds to start, and `timeout` for a move beyond its time to think. One that hangs or crashes is ended,
    and a fresh process is asked again: see `docs/bots.md`. `close`, the end of a `with` block and the end of
    Python end it, and what it has started.

    `folder` is its working directory, by default ours, `memory` how many MiB of address space each of its
    processes may have, None for no limit.

    Raises `ParameterError` for a command that names no program, and for a folder that is none. `answer`
    raises `NotJudgedError` where accidents leave no answer, `UntrustedAnswersError` for a move too many, and
    `PlayerError` for an engine that cannot be set up for the game, and after `close`.
    """

    FAREWELL: ClassVar[str]

    def __init__(
        self,
        game: Game,
        command: str | Sequence[str],
        timeout: float,
        folder: str | Path | None,
        memory: int | None,
        startup: float,
        **settings: object,
    ) -> None:
        """`settings` are the other parameters of the subclass, for its pickles and its name."""
        super().__init__(game)
        self.check(game)
        owner = type(self).__name__
        self.folder = None if folder is None else as_folder(folder, owner)
        self.arguments = split_command(command, self.folder)
        self.timeout = as_seconds("timeout", timeout, owner)
        self.memory = None if memory is None else as_mebibytes(memory, owner)
        self.startup = as_seconds("startup", startup, owner)
        self._settings = {name: value for name, value in settings.items() if value is not None}
        self._lock = Lock()
        self._programs: set[Program] = set()  # the running one, for the finalizer
        self._is_closed = False
        weakref.finalize(self, _end, self._programs)

    @property
    def label(self) -> str:
        """The name of the program. Its arguments are shown nowhere, since some may be secret."""
        return Path(self.arguments[0]).name

    def __repr__(self) -> str:
        settings = "".join(f" {name}={value}" for name, value in self._settings.items())
        return f"<{type(self).__name__} {self.label}{settings} of {self.game.name}>"

    @property
    def identity(self) -> str:
        """The settings, and a fingerprint of the command line, which may hold what is secret."""
        fingerprint = sha256(repr(self.arguments).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self!r} ({fingerprint[:_DIGITS]})"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[()]]:
        settings: dict[str, Any] = {"folder": self.folder, "memory": self.memory, "startup": self.startup}
        settings |= self._settings
        return partial(type(self), self.game, self.arguments, timeout=self.timeout, **settings), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @classmethod
    def effort(cls, game: Game, **parameters: Any) -> Effort:  # noqa: D102
        cls.check(game)
        return "little"

    @staticmethod
    @abstractmethod
    def check(game: Game) -> None:
        """Raise `ParameterError` for a game that the protocol has no words for."""

    @abstractmethod
    def _greet(self, talk: Conversation) -> None:
        """Set up an engine that has just been started. Raises `PlayerError` if it cannot play the game."""

    @abstractmethod
    def _ask(self, talk: Conversation, position: Position) -> Answer:
        """The engine's answer in a position."""

    @abstractmethod
    def _is_move(self, line: str) -> bool:
        """Whether a line answers a question, or would if there were one."""

    def answer(self, position: Position) -> Answer:  # noqa: D102
        limits = f"{self.timeout + self.seconds_per_move:g} s each, and {self.startup:g} s to start"
        with self._lock:
            return settled_answer(self, position, limits, lambda: self._asked(position))

    def _asked(self, position: Position) -> Answer:
        """The engine's answer in a position. Raises `AccidentError` if there is none."""
        try:
            program = self._running()
            self._check_lines(program.unread())
            return self._ask(Conversation(program, self.timeout + self.seconds_per_move), position)
        except NoLineError as silence:
            self._end()
            return failed_answer(silence.said)
        except BaseException:
            self._end()  # in the middle of a conversation nothing more can be asked
            raise

    def check_asked(self) -> None:
        """As that of `Agent`; the engine is ended, and the next question starts it again."""
        with self._lock:
            try:
                for program in self._programs:
                    program.send(self.FAREWELL)
                    program.end_input()
                    self._check_lines(program.rest(time.monotonic() + END_GRACE))
            finally:
                self._end()

    def _check_lines(self, text: str) -> None:
        """Raise `UntrustedAnswersError` if there is a move in this text, which nobody has asked for."""
        check_lines(self, filter(self._is_move, map(str.strip, text.splitlines())))

    def _running(self) -> Program:
        """The engine, started and set up if it does not run."""
        if self._is_closed:
            raise PlayerError(f"{self!r} is closed")
        if self._programs:
            return next(iter(self._programs))
        try:
            program = Program(self.arguments, self.folder, (self.memory or 0) * MEBIBYTE)
        except OSError as error:
            raise AccidentError("cannot be started", error.strerror or "", None) from None
        self._programs.add(program)
        self._greet(Conversation(program, self.startup))
        return program

    def _refuse(self, why: str) -> NoReturn:
        """Raise `PlayerError` for an engine that is of no use here."""
        raise PlayerError(f"{self!r} {why}")

    def _end(self) -> None:
        _end(self._programs)

    def close(self) -> None:
        """End the engine. Waits for an answer that is being given."""
        with self._lock:
            self._is_closed = True
            self._end()


def as_milliseconds(seconds: object, owner: str) -> int:
    """`seconds` in whole milliseconds, at least one. Raises `ParameterError` unless positive and finite."""
    return max(1, round(1000 * as_seconds("seconds", seconds, owner)))


def answered(read: Callable[[str, Game], int], said: str, position: Position) -> Answer:
    """The answer whose cell is read from what was said; unreadable if that raises `NotationError`."""
    try:
        return Answer.of(read(said, position.game), position, said)
    except NotationError:
        return Answer.failed("unreadable", said)


def _end(programs: set[Program]) -> None:
    while programs:
        programs.pop().end()
