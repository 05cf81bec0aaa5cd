"""The output of a command: its result to standard output or a file, its progress to standard error."""

import codecs
import io
import json
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic
from types import FrameType
from typing import Literal, Self

import typer
from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from ttt_env.agent import waiting_text
from ttt_env.errors import ParameterError

STANDARD_OUTPUT = Path("-")
Verbosity = Literal["quiet", "normal", "verbose"]
_verbosity: Verbosity = "normal"
_ASCII = str.maketrans("−–…·│─┌┬┐├┼┤└┴┘⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "--..|-+++++++++" + 10 * "*")
_TASK_LETTERS = 36  # of a task's name, which leaves room in 80 columns for its progress
_PLAIN_SECONDS = 2.0, 10.0  # without a terminal: until the first line, and between two


class Interrupted(Exception):
    """Ctrl-C or SIGTERM has ended a command, with its last message and the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status

    @classmethod
    def by(cls, interrupt: KeyboardInterrupt, message: str = "") -> Self:
        """The end of a command by Ctrl-C (130, as shells have it) or SIGTERM (143)."""
        number = signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT
        word = "terminated" if number == signal.SIGTERM else "interrupted"
        return cls(f"{word}{message and f': {message}'}", 128 + number)


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command like Ctrl-C."""


@contextmanager
def catching_signals() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise `KeyboardInterrupt`, so that processes and files are cleaned up."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    before_term = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, before_term)


def set_verbosity(verbosity: Verbosity) -> None:
    """Set the amount of progress that the commands of this process show."""
    global _verbosity
    _verbosity = verbosity


def verbosity() -> Verbosity:
    """The amount of progress that commands show."""
    return _verbosity


def print_json(result: object) -> None:
    """Write the result to standard output as JSON, in ASCII alone if that is not UTF-8."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    is_ascii = codecs.lookup(encoding).name != "utf-8"
    typer.echo(json.dumps(result, indent=1, ensure_ascii=is_ascii, allow_nan=False))


def prepare_streams() -> None:
    """Make standard input and output accept any bytes and letters; a closed input is empty."""
    sys.stdin = sys.stdin or io.StringIO()
    codecs.register_error("plain", _ascii_replacement)
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "plain"), (sys.stderr, "plain")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _ascii_replacement(error: UnicodeError) -> tuple[str, int]:
    """ASCII text for letters that an encoding lacks: similar signs and lines, else their numbers."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def program_here(name: str) -> str:
    """The command for a program of this environment: its name, or its path if the name is another program."""
    path = Path(sys.executable).with_name(name)
    return shlex.quote(str(path)) if path.exists() and which(name) != str(path) else name


def check_outputs(*paths: Path | None) -> None:
    """Raise `ParameterError` unless files can be written under these paths, before anything is computed.

    `-` is standard output, which takes one result alone. A path of None is not written.
    """
    if paths.count(STANDARD_OUTPUT) > 1:
        raise ParameterError("standard output takes one result: give `-` (and --json) once")
    for path in paths:
        if path is None or path == STANDARD_OUTPUT:
            continue
        if not path.parent.is_dir():
            raise ParameterError(f"{path} cannot be written: there is no folder {str(path.parent)!r}")
        if path.is_dir():
            raise ParameterError(f"{path} cannot be written: it is a folder")


def check_ending(option: str, path: Path | None, contents: Mapping[str, str]) -> None:
    """Raise `ParameterError` for a file whose name has none of these endings; each says what is written."""
    if path not in (None, STANDARD_OUTPUT) and path.suffix not in contents:
        endings = " or ".join(f"{ending} ({content})" for ending, content in contents.items())
        raise ParameterError(f"{option} {path}: end it in {endings}")


def write_file(path: Path, save: Callable[[Path], object], suffix: str = "") -> None:
    """Let `save` write the file of this path. For `-` its content goes to standard output.

    `suffix` is the ending of the file's name that `save` needs for `-`, such as `.svg`.
    """
    if path != STANDARD_OUTPUT:
        save(path)
        return
    with TemporaryDirectory() as folder:
        file = Path(folder, f"output{suffix}")
        save(file)
        typer.echo(file.read_bytes(), nl=False)


class ProgressLine:
    """The current activity of a long command, in one line that fits 80 columns."""

    def __init__(self, task: str) -> None:
        self._task = task if len(task) <= _TASK_LETTERS else f"{task[: _TASK_LETTERS - 1]}…"
        self._status = ""

    @property
    def text(self) -> str:
        """The task with its status, or with the player that it waits for."""
        return ": ".join(filter(None, [self._task, waiting_text() or self._status]))

    def count(self, n_done: int, total: int) -> None:
        """Set the status to the number of finished parts."""
        self.say(f"{n_done:,} of {total:,}")

    def say(self, text: str) -> None:
        """Set the status."""
        self._status = text
        if _verbosity == "verbose":
            typer.echo(self.text, err=True)


@contextmanager
def progress_line(task: str) -> Iterator[ProgressLine]:
    """Show the progress of a task and its running time on standard error.

    A terminal shows one line, which disappears at the end; a file or pipe gets one after two seconds, then
    every ten; with --verbose each step has a line, and with --quiet there is none. Raises `Interrupted` on
    Ctrl-C and SIGTERM.
    """
    line, console = ProgressLine(task), Console(stderr=True)
    status = _rich(line, console) if console.is_terminal else _plain(line)
    try:
        with status if _verbosity == "normal" else nullcontext():
            yield line
    except KeyboardInterrupt as interrupt:
        raise Interrupted.by(interrupt, f"no result for {line.text}") from None


class _LineColumn(TextColumn):
    """Shows the current text of a line whenever it is drawn."""

    def __init__(self, line: ProgressLine) -> None:
        super().__init__("{task.description}", markup=False)
        self._line = line

    def render(self, task: Task) -> Text:
        task.description = self._line.text
        return super().render(task)


@contextmanager
def _rich(line: ProgressLine, console: Console) -> Iterator[None]:
    with RichProgress(
        SpinnerColumn(), TimeElapsedColumn(), _LineColumn(line), console=console, transient=True
    ) as bar:
        bar.add_task(line.text, total=None)
        yield


@contextmanager
def _plain(line: ProgressLine) -> Iterator[None]:
    begin, is_over = monotonic(), Event()

    def tell() -> None:
        pause, later = _PLAIN_SECONDS
        while not is_over.wait(pause):
            pause = later
            typer.echo(f"{line.text} ({monotonic() - begin:.0f} s)", err=True)

    teller = Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()
