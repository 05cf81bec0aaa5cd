"""A program over standard input and output as a player."""

import shlex
import shutil
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from hashlib import file_digest, sha256
from os.path import isfile
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Self

from ttt_env.agent import Answer, AskedAgent
from ttt_env.errors import ParameterError, PlayerError, shown
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_seconds
from ttt_env.rules.game import Game, Position
from ttt_env.rules.specs import unwrapped
from ttt_env.text.answers import AnswerFormat
from ttt_env.text.players.program import Program

_MAX_ENDS = 20  # of a program that has not answered once
_STARTING = 10.0  # seconds that a program takes to start at most
_DIGITS = 12  # of the fingerprint
_CELL = AnswerFormat("{cell}")
_GOES_ON = ("played", "several", "no cell", "taken")  # answers after which the program is asked again


class CommandAgent(AskedAgent):
    """Plays as a program answers, in whatever language it is written.

    The program reads from its standard input a line with the text of a position, such as `XO./.X./..O` (rows
    from the top; who is to move follows from the stones), and writes to its standard output a line with the
    number of the cell that it plays, and so on until its input ends. The line may have other words, but no
    second number, and has to be flushed: Python does that with `print(cell, flush=True)`. Nothing else may be
    written there, not even a greeting. Standard error is free: its end is told where the program fails.

    `command` is a command line, which is split as a shell does it and run without one, or a list of
    arguments. As many copies of the program run as questions are asked at once; `close`, the end of a `with`
    block and the end of Python end them, and what they have started.

    A program that does not answer within `timeout` seconds has "timed out", and one that ends instead has
    "crashed"; one that ends between two questions with exit status 0 is just started again, so that a
    program may also end after each answer. After an answer that is "unreadable", too, it is started again,
    so that no late line is taken for the answer to the next question.

    Raises `ParameterError` for a command that names no program. `answer` raises `PlayerError` if the program
    has ended 20 times without a single answer, since its command is wrong then, and after `close`. Programs
    are run by means that Windows does not have.
    """

    def __init__(self, game: Game | str, command: str | Sequence[str], *, timeout: float = 60.0) -> None:
        super().__init__(get_game(game))
        self.arguments = split_command(command)
        self.timeout = as_seconds("timeout", timeout, "CommandAgent")
        self._lock = Condition()
        self._n_starting = 0
        self._programs: set[Program] = set()
        self._idle: list[Program] = []
        self._is_closed, self._has_answered, self._n_ends = False, False, 0
        weakref.finalize(self, _end, self._programs)

    def __repr__(self) -> str:
        return f"<CommandAgent {self.label} of {self.game.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(CommandAgent, self.game, self.arguments, timeout=self.timeout), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def label(self) -> str:
        """The names of the program and of the script that it is given, as in "python mybot.py".

        Other arguments are shown nowhere, since some may be secret.
        """
        return " ".join(Path(each).name for each in (self.arguments[0], *self._script))

    @cached_property
    def identity(self) -> str:
        """The label, and a fingerprint of the command line and of what is in the program and the script.

        So the answers of a bot that has been changed are not taken for those of the new one. What else it
        reads, such as weights or other modules, is not looked at.
        """
        fingerprint = sha256(repr(self.arguments).encode("utf-8", "surrogatepass"))
        for path in (shutil.which(self.arguments[0]), *self._script):
            if path is not None:
                with Path(path).open("rb") as file:
                    fingerprint.update(file_digest(file, "sha256").digest())
        return f"the program {self.label} ({fingerprint.hexdigest()[:_DIGITS]})"

    @property
    def _script(self) -> list[str]:
        """The first argument that is no option, if it is a file."""
        words = [argument for argument in self.arguments[1:] if not argument.startswith("-")]
        return list(filter(isfile, words[:1]))

    def answer(self, position: Position) -> Answer:  # noqa: D102
        program, answer = self._taken(), None
        try:
            said = program.ask(str(position), self.timeout)
            match said.outcome:
                case "line":
                    answer = _CELL.answer(said.text, position)
                case "too long":
                    answer = Answer.failed("unreadable", said.text)
                case "too late":
                    answer = Answer.failed("timed out", said.text)
        finally:
            self._return(program, answer is not None and answer.outcome in _GOES_ON)
        if self._is_closed:
            raise PlayerError(f"{self!r} is closed")
        if answer is not None:
            self._has_answered = self._has_answered or said.outcome == "line"
            return answer
        if program.n_answers and program.status == 0:
            return self.answer(position)  # by a new program: this one has ended after another question
        return self._crashed(said.text)

    def _crashed(self, last_words: str) -> Answer:
        with self._lock:
            self._n_ends += not self._has_answered
        if self._n_ends >= _MAX_ENDS:
            raise PlayerError(f"{self!r} has ended {_MAX_ENDS} times without one answer: {last_words}")
        return Answer.failed("crashed", last_words)

    def _taken(self) -> Program:
        """A program that nobody asks at the moment, a new one if there is none."""
        while True:
            with self._lock:
                if self._is_closed:
                    raise PlayerError(f"{self!r} is closed")
                program = self._idle.pop() if self._idle else None
                self._n_starting += program is None
            if program is None:
                return self._started()
            if program.status is None:
                return program
            self._return(program, False)

    def _started(self) -> Program:
        """A new program, started by a thread of its own, which Ctrl-C does not interrupt half-way."""
        started: Future[Program] = Future()

        def start() -> None:
            try:
                program = Program(self.arguments)
            except OSError as error:
                started.set_exception(PlayerError(f"{self!r} cannot be started: {error.strerror}"))
            else:
                self._programs.add(program)
                started.set_result(program)
            with self._lock:
                self._n_starting -= 1
                self._lock.notify_all()

        Thread(target=start, name="starting").start()
        return started.result()

    def _return(self, program: Program, goes_on: bool) -> None:
        with self._lock:
            if goes_on and not self._is_closed:
                self._idle.append(program)
                return
            self._programs.discard(program)
        program.end()

    def close(self) -> None:
        """End all programs; whoever waits for an answer gets a `PlayerError`."""
        with self._lock:
            self._is_closed = True
            self._lock.wait_for(lambda: not self._n_starting, _STARTING)
            for program in self._programs:
                program.kill()  # those that are asked now are ended by who asks them
            idle, self._idle = self._idle, []
        for program in idle:
            self._programs.discard(program)
            program.end()


def _end(programs: set[Program]) -> None:
    while programs:
        programs.pop().end()


def split_command(command: str | Sequence[str]) -> tuple[str, ...]:
    """The arguments of a command. Raises `ParameterError` if there is no such program.

    The message shows the program alone, as other arguments may be secret.
    """
    try:
        arguments = tuple(shlex.split(unwrapped(command.strip())) if isinstance(command, str) else command)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"command: a command line, or a list of arguments, is needed: {error}") from None
    if not arguments or not all(isinstance(each, str) and "\0" not in each for each in arguments):
        raise ParameterError("command: a program and its arguments are needed, as texts")
    if shutil.which(arguments[0]) is None:
        raise ParameterError(f"command: there is no program {shown(arguments[0])} that can be run")
    return arguments
