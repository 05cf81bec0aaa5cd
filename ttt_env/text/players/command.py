"""A program over standard input and output as a player."""

import json
import os
import shlex
import shutil
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from hashlib import file_digest, sha256
from itertools import chain, count, repeat
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Self

from ttt_env.agent import Answer, AskedAgent
from ttt_env.errors import ParameterError, PlayerError, TttEnvError, shown
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_integer, as_path, as_seconds
from ttt_env.rules.game import Game, Position
from ttt_env.rules.specs import unwrapped
from ttt_env.storage.game_file import game_to_dict
from ttt_env.text.players.accidents import (
    END_GRACE,
    STARTUP,
    AccidentError,
    check_lines,
    failed_answer,
    settled_answer,
)
from ttt_env.text.players.function_file import MODULE as FUNCTION_FILE
from ttt_env.text.players.function_file import function_in
from ttt_env.text.players.program import Program, Said
from ttt_env.text.protocol import Question, echoed_id, read_answer

_OWNER = "CommandAgent"
_STARTING = 10.0  # seconds that a program takes to start at most
_DIGITS = 12  # of the fingerprint
_SCRIPTS = (".py", ".js", ".mjs", ".ts", ".sh", ".rb", ".pl", ".lua", ".php", ".jar", ".r", ".jl")
_GOES_ON = ("played", "no cell", "taken")  # answers after which the same process is asked again
MEBIBYTE = 1 << 20
_MOST_MEMORY = 1 << 30  # mebibytes


class CommandAgent(AskedAgent):
    """Plays as a program answers, in whatever language it is written: "process:COMMAND" as a spec string.

    The program reads a line of JSON for each question and answers by a line of JSON: see `docs/bots.md`.

    `command` is a command line, which is split as a shell does it and run without one, or a list of
    arguments. In a spec string it stands in round brackets if a part of it could be taken for a parameter:
    `process:(mybot --set a,timeout=3),timeout=10`. `folder` is the program's working directory, by default
    ours, `memory` how many MiB of address space each of its processes may have, None for no limit. As many
    copies of the program run as questions are asked at once; `close`, the end of a `with` block and the end
    of Python end them, and what they have started.

    A program has `timeout` seconds for an answer, and `startup` more for the first one after its start. One
    that ends between two questions with exit status 0 is just started again, so that a program may also end
    after each answer. What is an answer and what an accident, after which a fresh process is asked again, is
    said in `docs/bots.md`. Each question has an `id`; a line that echoes another one is late, and passed
    over. Where a program echoes none, a line too many makes all that it has said untrusted.

    A program has the rights of who runs it: this is no sandbox. Raises `ParameterError` for a command that
    names no program, or a script that is not there, and for a folder that is none. `answer` raises
    `NotJudgedError` where accidents leave no answer, `UntrustedAnswersError`, as `check_asked` does, for a
    line too many, and `PlayerError` after `close`. Programs are run by means that Windows does not have.
    """

    def __init__(
        self,
        game: Game | str,
        command: str | Sequence[str],
        *,
        timeout: float = 60.0,
        folder: str | Path | None = None,
        memory: int | None = None,
        startup: float = STARTUP,
    ) -> None:
        super().__init__(get_game(game))
        self.folder = None if folder is None else as_folder(folder, _OWNER)
        self.arguments = split_command(command, self.folder)
        self.timeout = as_seconds("timeout", timeout, _OWNER)
        self.memory = None if memory is None else as_mebibytes(memory, _OWNER)
        self.startup = as_seconds("startup", startup, _OWNER)
        self._lock = Condition()
        self._n_starting = 0
        self._programs: set[Program] = set()
        self._idle: list[Program] = []
        self._is_closed = False
        self._ids = count(1)
        weakref.finalize(self, _end, self._programs)

    def __repr__(self) -> str:
        return f"<CommandAgent {self.label} of {self.game.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        names = ("timeout", "folder", "memory", "startup")
        settings = {name: getattr(self, name) for name in names}
        return partial(CommandAgent, self.game, self.arguments, **settings), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @staticmethod
    def of_function_file(file: str, function: str = "", folder: str | None = None) -> tuple[str, ...]:
        """The command that asks a function in a Python file; "" is `choose`, or `policy` if there is none.

        Raises `ParameterError` for a file that is not there or no Python, and a function that is not in it.
        """
        name = function_in(Path(folder or "", file), function)
        return (sys.executable, "-P", "-m", FUNCTION_FILE, file, name)

    @property
    def _function(self) -> tuple[str, ...]:
        """The file and the function of a command of `of_function_file`; empty for another command."""
        return self.arguments[4:6] if self.arguments[1:4] == ("-P", "-m", FUNCTION_FILE) else ()

    @property
    def label(self) -> str:
        """The names of the program and of the script that it is given, as in "python mybot.py".

        Other arguments are shown nowhere, since some may be secret.
        """
        if self._function:
            file, function = self._function
            return f"{Path(file).name}:{function}"
        return " ".join(Path(each).name for each in (self.arguments[0], *self._script))

    @cached_property
    def identity(self) -> str:
        """The label, and a fingerprint of the command line and of what is in the program and the script.

        So the answers of a bot that has been changed are not taken for those of the new one. What else it
        reads, such as weights or other modules, is not looked at.
        """
        fingerprint = sha256(repr(self.arguments).encode("utf-8", "surrogatepass"))
        for path in (_found(self.arguments[0], self.folder), *map(self._in_folder, self._script)):
            if path is not None:
                with Path(path).open("rb") as file:
                    fingerprint.update(file_digest(file, "sha256").digest())
        return f"the program {self.label} ({fingerprint.hexdigest()[:_DIGITS]})"

    @property
    def _script(self) -> list[str]:
        """The first argument that is no option, if it is a file."""
        if self._function:
            return [self._function[0]]
        words = [argument for argument in self.arguments[1:] if not argument.startswith("-")]
        return [word for word in words[:1] if os.path.isfile(self._in_folder(word))]

    def _in_folder(self, path: str) -> Path:
        return Path(self.folder or ".", path)

    def answer(self, position: Position) -> Answer:  # noqa: D102
        limits = f"{self.timeout:g} s each, and {self.startup:g} s to start"
        tries = chain([self._taken], repeat(self._started))  # after an accident a fresh process is asked
        return settled_answer(self, position, limits, lambda: self._asked(position, next(tries)))

    def check_asked(self) -> None:  # noqa: D102
        with self._lock:
            idle, self._idle = self._idle, []
        lines: list[str] = []
        for program in idle:
            program.end_input()
        deadline = time.monotonic() + END_GRACE
        for program in idle:
            lines += _without_question(program.rest(deadline))
            self._drop(program)
        check_lines(self, lines)

    def _asked(self, position: Position, take: Callable[[], Program]) -> Answer:
        """The answer of the program that `take` gives. Raises `AccidentError` if there is none."""
        while True:
            program, goes_on = take(), False
            try:
                n_lines, said = program.n_lines, self._say(program, position)
                if said.outcome == "line":
                    answer = read_answer(said.text, position)
                    goes_on = answer.outcome in _GOES_ON or echoed_id(said.text) is not None
                    if not goes_on:  # maybe a greeting: then the answer is still to come
                        program.end_input()
                        check_lines(self, _without_question(program.rest(time.monotonic() + END_GRACE)))
                    return answer
                if self._is_closed:
                    raise PlayerError(f"{self!r} is closed")
                if said.outcome != "ended" or not n_lines or said.status != 0:
                    return failed_answer(said)
            finally:
                if goes_on:
                    self._keep(program)
                else:
                    self._drop(program)
            # It has ended after another question, as it may: a new one is asked.

    def _say(self, program: Program, position: Position) -> Said:
        """The line by which the program answers, or the reason why there is none."""
        check_lines(self, _without_question(program.unread()))
        number = next(self._ids)
        seconds = self.timeout + (0 if program.n_lines else self.startup)
        deadline = time.monotonic() + seconds
        program.send(Question(position, self.timeout, number).line)
        n_late = 0
        while (said := program.read_line(deadline)).outcome == "line":
            echoed = echoed_id(said.text)
            if echoed is None:
                check_lines(self, _without_question(program.unread()))
            if echoed is None or (type(echoed) is int and echoed == number):
                return said
            n_late += 1
        if n_late:
            late = f"passed over {n_late} lines with an id that is not {number}"
            return said._replace(text=": ".join(filter(None, [said.text, late])))
        return said

    def _taken(self) -> Program:
        """A program that nobody asks at the moment, a new one if there is none."""
        while True:
            with self._lock:
                self._check_open()
                program = self._idle.pop() if self._idle else None
            if program is None:
                return self._started()
            if program.status is None:
                return program
            lines = _without_question(program.rest(time.monotonic() + END_GRACE))
            self._drop(program)
            check_lines(self, lines)

    def _check_open(self) -> None:
        if self._is_closed:
            raise PlayerError(f"{self!r} is closed")

    def _started(self) -> Program:
        """A new program, started by a thread of its own, which Ctrl-C does not interrupt half-way."""
        with self._lock:
            self._check_open()
            self._n_starting += 1
        started: Future[Program] = Future()

        def start() -> None:
            try:
                program = Program(self._command_line(), self.folder, (self.memory or 0) * MEBIBYTE)
            except OSError as error:
                started.set_exception(AccidentError("cannot be started", error.strerror or "", None))
            except BaseException as error:  # it is raised by who waits
                started.set_exception(error)
            else:
                self._programs.add(program)
                started.set_result(program)
            with self._lock:
                self._n_starting -= 1
                self._lock.notify_all()

        Thread(target=start, name="starting").start()
        return started.result()

    def _command_line(self) -> tuple[str, ...]:
        """The arguments; a function in a file is told the rules of a game that is in no catalogue."""
        if self._function:
            try:
                is_known = get_game(self.game.name) == self.game
            except TttEnvError:
                is_known = False
            if not is_known:
                return (*self.arguments, json.dumps(game_to_dict(self.game)))
        return self.arguments

    def _keep(self, program: Program) -> None:
        """Keep a program for the next question."""
        with self._lock:
            if not self._is_closed:
                self._idle.append(program)
                return
        self._drop(program)

    def _drop(self, program: Program) -> None:
        with self._lock:
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


def _without_question(text: str) -> list[str]:
    """The lines that answer no question; those that echo an `id` are late, and harm nobody."""
    return [line for line in text.splitlines() if echoed_id(line) is None]


def as_folder(folder: object, owner: str) -> Path:
    """`folder` as a `Path`. Raises `ParameterError` if it is no folder."""
    path = as_path("folder", folder, owner)
    if not path.is_dir():
        raise ParameterError(f"folder={shown(str(path))} of {owner}: there is no such folder")
    return path


def as_mebibytes(memory: object, owner: str) -> int:
    """`memory` as an int, in MiB. Raises `ParameterError` unless it is a positive integer."""
    return as_integer("memory", memory, owner, 1, _MOST_MEMORY)


def split_command(command: str | Sequence[str], folder: Path | None = None) -> tuple[str, ...]:
    """The arguments of a command. Raises `ParameterError` if there is no such program, or no such script.

    The message shows these alone, as other arguments may be secret.
    """
    try:
        arguments = tuple(shlex.split(unwrapped(command.strip())) if isinstance(command, str) else command)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"command: a command line, or a list of arguments, is needed: {error}") from None
    if not arguments or not all(isinstance(each, str) and "\0" not in each for each in arguments):
        raise ParameterError("command: a program and its arguments are needed, as texts")
    if _found(arguments[0], folder) is None:
        raise ParameterError(f"command: there is no program {shown(arguments[0])} that can be run")
    script = next((word for word in arguments[1:] if not word.startswith("-")), "")
    is_script = script.lower().endswith(_SCRIPTS) and script.split() == [script]  # and no code for `sh -c`
    if is_script and not os.path.isfile(Path(folder or "", script)):
        raise ParameterError(
            f"command: there is no file {shown(script)} in the folder {folder or Path.cwd()}"
        )
    return arguments


def _found(program: str, folder: Path | None) -> str | None:
    """The file of a program, None if it cannot be run; a relative path is one from the folder."""
    return shutil.which(Path(folder, program) if folder and os.path.dirname(program) else program)
