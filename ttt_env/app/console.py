"""The output of a command: its result to standard output or a file, its progress to standard error."""

import codecs
import io
import json
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import monotonic
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text
from typer.core import TyperCommand

from ttt_env.agent import waited_for
from ttt_env.errors import ParameterError

JsonOption = Annotated[bool, typer.Option("--json", help="print the result as JSON, and nothing else")]
STANDARD_OUTPUT = Path("-")
DASH = "- for standard output"
INTERRUPTED = 128 + signal.SIGINT  # the exit status that shells give a program that Ctrl-C has ended
_ASCII = str.maketrans("−–…·│─┌┬┐├┼┤└┴┘⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "--..|-+++++++++" + 10 * "*")
_TASK_LETTERS = 36  # of a task's name: they leave room in 80 columns for its progress
_PLAIN_SECONDS = 2.0, 10.0  # where there is no terminal: until the first line, and between two


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option of a command, with its value's name and its line of the help; `more` is for Typer."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """An argument of a command, described in the same way."""
    return typer.Argument(metavar=metavar, help=help, **more)


class Command(TyperCommand):
    """A command whose help shows an argument by its metavar alone, without the type behind it."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: D102
        params = super().get_params(ctx)
        for param in params:
            if param.param_type_name == "argument":
                param.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]
        return params


def print_json(result: object) -> None:
    """Write the result to standard output as JSON, in ASCII alone if that is not UTF-8."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    is_ascii = codecs.lookup(encoding).name != "utf-8"
    typer.echo(json.dumps(result, indent=1, ensure_ascii=is_ascii, allow_nan=False))


def prepare_streams() -> None:
    """Make standard input and output take whatever comes: any bytes, any letters; a closed input is empty."""
    sys.stdin = sys.stdin or io.StringIO()
    codecs.register_error("plain", _in_ascii)
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "plain"), (sys.stderr, "plain")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Letters that an encoding lacks, in ASCII: signs and lines by their likes, others by their numbers."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_ASCII)
    return text.encode("ascii", "backslashreplace").decode(), error.end


def program_here(name: str) -> str:
    """A program of this environment as it must be typed here: by its path, if its name means another one."""
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
        self._said = ""

    @property
    def text(self) -> str:
        """The task with what was said last, or whom it waits for now."""
        return ": ".join(filter(None, [self._task, waited_for() or self._said]))

    def count(self, done: int, total: int) -> None:
        """Say that so many of the parts are done."""
        self.say(f"{done:,} of {total:,}")

    def say(self, text: str) -> None:
        """Say how far the task is."""
        self._said = text


@contextmanager
def progress_line(task: str) -> Iterator[ProgressLine]:
    """Show on standard error how far a task is and for how long it has been running.

    A terminal shows one line, which disappears at the end; a file or pipe gets one after two seconds, then
    every ten. Ctrl-C ends the command with status 130.
    """
    line, console = ProgressLine(task), Console(stderr=True)
    try:
        with _rich(line, console) if console.is_terminal else _plain(line):
            yield line
    except KeyboardInterrupt:
        typer.echo(f"{line.text}: interrupted, there is no result", err=True)
        raise typer.Exit(INTERRUPTED) from None


class _LineColumn(TextColumn):
    """Shows the text of a line as it is at the moment of drawing, so that nobody has to update it."""

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
    begun, is_over = monotonic(), Event()

    def tell() -> None:
        pause, later = _PLAIN_SECONDS
        while not is_over.wait(pause):
            pause = later
            typer.echo(f"{line.text} ({monotonic() - begun:.0f} s)", err=True)

    teller = Thread(target=tell, name="progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()
