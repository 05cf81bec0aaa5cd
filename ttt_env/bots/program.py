"""A program as a player: run in a process of its own, asked by lines, and judged by what it answers."""

import os
import shlex
import shutil
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import cached_property, partial
from hashlib import file_digest, sha256
from itertools import chain, count, repeat
from pathlib import Path
from threading import Condition, Thread
from typing import Annotated, Any, ClassVar, NoReturn, Self

from ttt_env.agent import Answer, AskedAgent, Outcome, quoted
from ttt_env.bots.process import NoLineError, Program
from ttt_env.errors import NoVerdictError, ParameterError, PlayerError, UntrustedAnswersError, shown
from ttt_env.rules import Between, Game, Position, Seconds, checked, get_game, unwrapped

TRIES = 3
"""The most times that a program is asked in a position; after the first a fresh process is asked."""
CRASHES = 2
"""The crashes there after which this is its answer: a fresh process has then crashed as well."""
TIMEOUT = 60.0
"""Seconds for an answer beyond the time that the program is given to think, by default."""
STARTUP = 30.0
"""Seconds that a program may take to start, by default."""
_STARTING = 10.0  # seconds that the start of a process takes at most
_MOST_MEMORY = 1 << 30  # mebibytes
_TIMES = {1: "once", 2: "twice"}
_DIGITS = 12  # of the fingerprint
_SCRIPTS = (".py", ".js", ".mjs", ".ts", ".sh", ".rb", ".pl", ".lua", ".php", ".jar", ".r", ".jl")


class ProgramAgent(AskedAgent, ABC):
    """Plays as a program answers that is asked by lines.

    A subclass is a protocol. It says how a new process is greeted (`_greet`) and asked (`_ask`), where all
    that is to be answered is sent by `_tell` and the answer is the line that is read last, which lines are
    answers (`_is_answer`), how a process is told to end (`FAREWELL`), and which games there are no words
    for (`check`). Its other parameters are its `_settings`.

    As many processes of the program run as questions are asked at once. Each has `startup` seconds to start,
    and `timeout` for an answer beyond its time to think. One that ends between two questions with exit status
    0 is just started again. After an accident a fresh process is asked: see `docs/bots.md`. `close`, the end
    of a `with` block and the end of Python end them all, and what they have started.

    Raises `ParameterError` for a command that names no program, or a script that is not there, and for a
    folder that is none. `answer` raises `NoVerdictError` where accidents leave no answer,
    `UntrustedAnswersError`, as `check_asked` does, for a line too many, and `PlayerError` after `close`.
    """

    FAREWELL: ClassVar[tuple[str, ...]] = ()
    _seconds = 0.0  # that the program is given to think about a move

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
        self.check(self.game)
        owner = type(self).__name__
        self.folder = Path.cwd() if folder is None else Path(folder).absolute()
        if not self.folder.is_dir():
            raise ParameterError(f"folder={shown(str(self.folder))} of {owner}: there is no such folder")
        self.arguments = _split_command(command, self.folder)
        self.timeout, self.memory, self.startup = timeout, memory, startup
        self._settings: dict[str, Any] = {}
        self._numbers = count(1)  # for protocols that number their questions
        self._lock = Condition()
        self._n_starting = 0
        self._programs: set[Program] = set()
        self._idle: list[Program] = []
        self._is_closed = False
        weakref.finalize(self, _end_all, self._programs)

    def __repr__(self) -> str:
        settings = "".join(f" {name}={value}" for name, value in self._settings.items())
        return f"<{type(self).__name__} {self.label}{settings} of {self.game.name}>"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[()]]:
        names = ("timeout", "folder", "memory", "startup")
        settings = {name: getattr(self, name) for name in names} | self._settings
        return partial(type(self), self.game, self.arguments, **settings), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def seconds_per_move(self) -> float:  # noqa: D102
        return self._seconds

    @property
    def label(self) -> str:
        """The names of the program and of the script that it is given, as in "python mybot.py".

        Other arguments are shown nowhere, since some may be secret.
        """
        return " ".join(Path(each).name for each in (self.arguments[0], *self._script))

    @cached_property
    def identity(self) -> str:
        """The label and the settings, and a fingerprint of the command line, the program and the script.

        So the answers of a bot that has been changed are not taken for those of the new one. What else it
        reads, such as weights or other modules, is not looked at.
        """
        fingerprint = sha256(repr(self.arguments).encode("utf-8", "surrogatepass"))
        for path in (_found(self.arguments[0], self.folder), *map(self._in_folder, self._script)):
            if path is not None:
                with Path(path).open("rb") as file:
                    fingerprint.update(file_digest(file, "sha256").digest())
        return f"{self!r} ({fingerprint.hexdigest()[:_DIGITS]})"

    @property
    def _script(self) -> list[str]:
        """The first argument that is no option, if it is a file."""
        words = [argument for argument in self.arguments[1:] if not argument.startswith("-")]
        return [word for word in words[:1] if os.path.isfile(self._in_folder(word))]

    def _in_folder(self, path: str) -> Path:
        return Path(self.folder, path)

    @staticmethod
    def check(game: Game) -> None:
        """Raise `ParameterError` for a game that the protocol has no words for."""

    def _greet(self, program: Program) -> None:
        """Set up a new process. Raises `PlayerError` if it cannot play the game."""

    @abstractmethod
    def _ask(self, program: Program, position: Position) -> Answer:
        """The answer in a position. The process is asked no more if its input is ended here."""

    @abstractmethod
    def _is_answer(self, line: str) -> bool:
        """True if this line could be taken for an answer; where no question is open it is one too many."""

    def answer(self, position: Position) -> Answer:  # noqa: D102
        failures: list[NoLineError] = []
        tries = chain([self._taken], repeat(self._started))  # after an accident a fresh process is asked
        while len(failures) < TRIES:
            try:
                return self._asked(position, next(tries))
            except NoLineError as failure:
                failures.append(failure)
                if failure.why == "flooded":
                    return Answer.failed("flooded", failure.said)
                if [each.accident for each in failures].count("crashed") == CRASHES:
                    return Answer.failed("crashed", failure.said)
        raise self._not_judged(position, failures)

    def _not_judged(self, position: Position, accidents: list[NoLineError]) -> NoVerdictError:
        kinds = [each.accident for each in accidents]
        limits = f" ({self.timeout + self.seconds_per_move:g} s each, and {self.startup:g} s to start)"
        parts = []
        for what in dict.fromkeys(kinds):
            times = kinds.count(what)
            within = limits if what == "timed out" else ""
            parts.append(f"{what} {_TIMES.get(times, f'{times} times')}{within}")
        reasons = {each.why for each in accidents}
        loses_by: Outcome | None = "crashed" if "ended" in reasons else None
        last = quoted(accidents[-1].said, "crashed") if accidents[-1].said else ""
        reason = ", ".join(parts) + (f" [{last}]" if last else "")
        return NoVerdictError(
            repr(self), position, reason, "timed out" if "timed out" in reasons else loses_by
        )

    def check_asked(self) -> None:
        """As that of `Agent`; the processes end, and the next question starts one again."""
        with self._lock:
            idle, self._idle = self._idle, []
        with ExitStack() as ends:
            for program in idle:
                ends.callback(self._drop, program)
                program.end_input(*self.FAREWELL)
            for program in idle:
                self._check_lines(program.rest())

    def _tell(self, program: Program, *lines: str) -> None:
        """Send a process lines that it has to answer, unless it has said an answer already.

        Raises `UntrustedAnswersError` for such an answer. This comes right before each question: an answer
        may be late behind the line by which the process says that it is ready.
        """
        self._check_lines(program.unread())
        program.send(*lines)

    def _check_lines(self, lines: Iterable[str]) -> None:
        """Raise `UntrustedAnswersError` if there is an answer in these lines, for which nobody waits."""
        for line in filter(self._is_answer, map(str.strip, lines)):
            self._distrust(line)

    def _distrust(self, line: str) -> NoReturn:
        """Raise `UntrustedAnswersError` for an answer that nobody waits for."""
        raise UntrustedAnswersError(
            f"{self!r} has said a line too many, {shown(line)}: a line for each question is due, and "
            "no other. So its lines may answer other questions than they seem to, and none of them is "
            "believed"
        )

    def _asked(self, position: Position, take: Callable[[], Program]) -> Answer:
        """The answer of the process that `take` gives. Raises `NoLineError` if there is none."""
        while True:
            program = take()
            is_new, is_kept = not program.n_lines, False
            try:
                if is_new:
                    program.allow(self.startup)
                    self._greet(program)
                seconds = self.timeout + self.seconds_per_move
                program.allow(seconds + (0 if program.n_lines else self.startup))
                answer = self._ask(program, position)
                if program.is_early:
                    self._distrust(answer.reply)
                is_kept = program.has_input
                return answer
            except NoLineError as failure:
                if self._is_closed:
                    self._refuse("is closed")
                if program.is_early and failure.why == "flooded":
                    self._check_lines([failure.said])
                if is_new or failure.why != "ended" or failure.status != 0:
                    raise
                # It has ended after another question, which is allowed: ask a new one.
            finally:
                if is_kept:
                    self._keep(program)
                else:  # in the middle of a conversation nothing more can be asked
                    self._drop(program)

    def _taken(self) -> Program:
        """A process that nobody asks at the moment, a new one if there is none."""
        while True:
            with self._lock:
                self._check_open()
                program = self._idle.pop() if self._idle else None
            if program is None:
                return self._started()
            if program.status is None:
                return program
            with ExitStack() as ends:
                ends.callback(self._drop, program)
                program.end_input()
                self._check_lines(program.rest())

    def _check_open(self) -> None:
        if self._is_closed:
            self._refuse("is closed")

    def _started(self) -> Program:
        """A new process, started by a thread of its own, which Ctrl-C does not interrupt half-way."""
        with self._lock:
            self._check_open()
            self._n_starting += 1
        started: Future[Program] = Future()

        def start() -> None:
            try:
                program = Program(self._command_line(), self.folder, self.memory)
            except OSError as error:
                started.set_exception(NoLineError("cannot be started", error.strerror or ""))
            except BaseException as error:  # raised again by the waiting thread
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
        """The arguments by which a process is started."""
        return self.arguments

    def _keep(self, program: Program) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(program)
                return
        self._drop(program)

    def _drop(self, program: Program) -> None:
        with self._lock:
            self._programs.discard(program)
        program.end()

    def _refuse(self, why: str) -> NoReturn:
        """Raise `PlayerError` for a program that is of no use here."""
        raise PlayerError(f"{self!r} {why}")

    def close(self) -> None:
        """End all processes; whoever waits for an answer gets a `PlayerError`."""
        with self._lock:
            self._is_closed = True
            self._lock.wait_for(lambda: not self._n_starting, _STARTING)
            for program in self._programs:
                program.kill()  # the ones being asked are ended by the thread that asks them
            idle, self._idle = self._idle, []
        for program in idle:
            self._drop(program)


def _end_all(programs: set[Program]) -> None:
    while programs:
        programs.pop().end()


def _split_command(command: str | Sequence[str], folder: Path) -> tuple[str, ...]:
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
    if is_script and not os.path.isfile(Path(folder, script)):
        raise ParameterError(f"command: there is no file {shown(script)} in the folder {folder}")
    return arguments


def _found(program: str, folder: Path) -> str | None:
    """The file of a program, None if it cannot be run; a relative path is one from the folder."""
    return shutil.which(Path(folder, program) if os.path.dirname(program) else program)
