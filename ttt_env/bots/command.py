"""A program as a player, queried by lines of JSON."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Annotated, Self

from ttt_env.agent import Answer, AskedAgent, quote_reply, waiting_for
from ttt_env.bots.function_file import MODULE as FUNCTION_FILE
from ttt_env.bots.function_file import function_in
from ttt_env.bots.process import AccidentError, Process
from ttt_env.bots.protocol import Question, read_answer
from ttt_env.errors import NoVerdictError, ParameterError, PlayerError, TttEnvError, brief
from ttt_env.rules import Between, Game, Position, Seconds, checked, get_game, strip_brackets
from ttt_env.storage import game_to_dict
from ttt_env.storage.models import command_label

TRIES = 2
"""The most attempts to get an answer in a position: after an accident, a fresh process tries again."""
TIMEOUT = 10.0
"""Seconds for an answer, by default."""
STARTUP = 10.0
"""Seconds that a process has in addition for its first answer, by default."""
_TIMED_OUT_TWICE = "timed out: it has timed out twice in a position, and is not asked again"
_MOST_MEMORY = 1 << 30  # mebibytes
_SCRIPTS = (".py", ".js", ".mjs", ".ts", ".sh", ".rb", ".pl", ".lua", ".php", ".jar", ".r", ".jl")


class CommandAgent(AskedAgent):
    r"""Asks a program in any language for each move: "process:COMMAND" as a spec string.

    The program reads a line of JSON for each question, and answers with a line of JSON that has the `id` of
    the question: see `docs/guide/bots.md`. All other lines are its own output. A program runs with your
    rights: this is not a sandbox.

    Simultaneous questions go to several copies of the program; `close`, the end of a `with` block and the end
    of Python stop them and what they have started. After a time-out or the death of its process, a fresh
    process is asked once more; after two time-outs in a position the program is not asked again. Without an
    answer `answer` raises `NoVerdictError`, which loses a game and ends an analysis; after `close` it raises
    `PlayerError`.

    Args:
        game: The game, or its id.
        command: A command line, which is split as by a shell but run without one, or a list of arguments. In
            a spec string put it in parentheses if part of it could be taken for a parameter:
            `process:(mybot --set a,timeout=3),timeout=10`.
        timeout: The seconds for an answer.
        folder: The program's working directory, by default the current one.
        memory: The limit of the address space of each process, in MiB, on Linux.
        startup: The additional seconds for the first answer after a start.

    Raises:
        ParameterError: The program, its script or the folder does not exist.

    Example:
        >>> from ttt_env import certify
        >>> lines = "import json\nwhile line := input():\n"
        >>> lines += "    print(json.dumps({'id': json.loads(line)['id'], 'cell': 4}), flush=True)"
        >>> with CommandAgent("tictactoe-v0", ["python3", "-c", lines]) as player:
        ...     certificate = certify(player)
        >>> certificate.unbeatable, certificate.forfeits[0].outcome
        (False, 'taken')

    """

    @checked
    def __init__(
        self,
        game: Game | str,
        command: str | Sequence[str],
        *,
        timeout: Seconds = TIMEOUT,
        folder: str | Path | None = None,
        memory: Annotated[int, Between(1, _MOST_MEMORY)] | None = None,
        startup: Seconds = STARTUP,
    ) -> None:
        super().__init__(get_game(game))
        self.folder = Path.cwd() if folder is None else Path(folder).absolute()
        if not self.folder.is_dir():
            raise ParameterError(f"folder={brief(str(self.folder))}: there is no such folder")
        self.arguments = _split_command(command, self.folder)
        self.timeout, self.memory, self.startup = timeout, memory, startup
        self._numbers = count(1)
        self._lock = Lock()
        self._processes: set[Process] = set()
        self._idle: list[Process] = []
        self._is_closed = self._has_timed_out_twice = False
        weakref.finalize(self, _end_all, self._processes)

    def __repr__(self) -> str:
        return f"<CommandAgent {self.label} of {self.game.name}>"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[()]]:
        settings = {name: getattr(self, name) for name in ("timeout", "folder", "memory", "startup")}
        return partial(type(self), self.game, self.arguments, **settings), ()

    @staticmethod
    def of_function_file(file: str, function: str = "", folder: str | None = None) -> tuple[str, ...]:
        """The command that runs a function of a Python file; "" is `choose`, `policy`, or the only one.

        Raises `ParameterError` if the file does not exist, is not Python, or lacks the function.
        """
        name = function_in(Path(folder or "", file), function)
        return (sys.executable, "-P", "-m", FUNCTION_FILE, file, name)

    @property
    def _function(self) -> tuple[str, ...]:
        """The file and the function of a command of `of_function_file`; empty for another command."""
        return self.arguments[4:6] if self.arguments[1:4] == ("-P", "-m", FUNCTION_FILE) else ()

    @property
    def label(self) -> str:
        """The names of the program and of its script, as from `command_label`."""
        if self._function:
            file, function = self._function
            return f"{Path(file).name}:{function}"
        return command_label(self.arguments, self.folder)

    def answer(self, position: Position) -> Answer:  # noqa: D102
        accidents: list[AccidentError] = []
        if self._has_timed_out_twice:
            raise NoVerdictError(self.label, position, _TIMED_OUT_TWICE, "timed out")
        while len(accidents) < TRIES:
            tries = f"try {len(accidents) + 1} of {TRIES}"
            try:
                with waiting_for(self.label, position, tries):
                    return self._ask(position, is_fresh=bool(accidents))
            except AccidentError as accident:
                if not accident.is_clean_exit:
                    accidents.append(accident)
        self._has_timed_out_twice = all(each.outcome == "timed out" for each in accidents)
        raise self._no_answer_error(position, accidents)

    def _ask(self, position: Position, is_fresh: bool) -> Answer:
        """The answer of a process, a new one if `is_fresh`. Raises `AccidentError`."""
        process, seconds = None if is_fresh else self._idle_process(), self.timeout
        if process is None:
            process, seconds = self._start(), seconds + self.startup
        number = next(self._numbers)
        try:
            answer = process.ask(Question(position, self.timeout, number).line, number, seconds)
        except BaseException as error:
            self._drop(process)
            if self._is_closed and isinstance(error, AccidentError):
                raise PlayerError(f"{self!r} is closed") from error
            raise
        with self._lock:
            self._idle.append(process)
        return read_answer(answer, position)

    def _idle_process(self) -> Process | None:
        """An idle process; None if there is none."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                process = self._idle.pop()
            if not process.has_ended:
                return process
            self._drop(process)

    def _start(self) -> Process:
        with self._lock:  # so that `close` waits for the start
            if self._is_closed:
                raise PlayerError(f"{self!r} is closed")
            process = Process(self._command_line(), self.folder, self.memory)
            self._processes.add(process)
        return process

    def _command_line(self) -> tuple[str, ...]:
        """The arguments; for a function in a file with the rules of a game that is not in the catalogue."""
        if self._function:
            try:
                is_known = get_game(self.game.name) == self.game
            except TttEnvError:
                is_known = False
            if not is_known:
                return (*self.arguments, json.dumps(game_to_dict(self.game)))
        return self.arguments

    def _drop(self, process: Process) -> None:
        with self._lock:
            self._processes.discard(process)
        process.end()

    def _no_answer_error(self, position: Position, accidents: list[AccidentError]) -> NoVerdictError:
        last = accidents[-1]
        what = last.outcome or "cannot be started"
        if what == "timed out" and len(accidents) == TRIES:
            what = f"timed out twice ({self.timeout:g} s each, and {self.startup:g} s to start)"
        reason = quote_reply(last.reason, "crashed") if last.reason else ""
        return NoVerdictError(self.label, position, ": ".join(filter(None, [what, reason])), last.outcome)

    @property
    def is_running(self) -> bool:
        """True if it has a process."""
        return bool(self._processes)

    def end_idle(self) -> None:
        """End the idle processes; the next question starts one again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            self._drop(process)

    def close(self) -> None:
        """End all processes; calls that wait for an answer raise `PlayerError`."""
        with self._lock:
            self._is_closed = True
            processes, self._idle = list(self._processes), []
        for process in processes:
            self._drop(process)


def _end_all(processes: set[Process]) -> None:
    while processes:
        processes.pop().end()


def _split_command(command: str | Sequence[str], folder: Path) -> tuple[str, ...]:
    """The arguments of a command. Raises `ParameterError` if there is no such program, or no such script.

    The message shows these alone, as other arguments may be secret.
    """
    try:
        arguments = tuple(
            shlex.split(strip_brackets(command.strip())) if isinstance(command, str) else command
        )
    except ValueError as error:
        raise ParameterError(f"command: expected a command line or a list of arguments: {error}") from None
    if not arguments or not all(isinstance(each, str) and "\0" not in each for each in arguments):
        raise ParameterError("command: expected a program and its arguments, as texts")
    if _executable(arguments[0], folder) is None:
        raise ParameterError(f"command: {brief(arguments[0])} is not an executable program here")
    script = next((word for word in arguments[1:] if not word.startswith("-")), "")
    is_script = script.lower().endswith(_SCRIPTS) and script.split() == [script]  # and no code for `sh -c`
    if is_script and not os.path.isfile(Path(folder, script)):
        raise ParameterError(f"command: there is no file {brief(script)} in the folder {folder}")
    return arguments


def _executable(program: str, folder: Path) -> str | None:
    """The file of a program; None if it cannot be run. Relative paths are relative to the folder."""
    return shutil.which(Path(folder, program) if os.path.dirname(program) else program)
