"""Trainings from the command line: progress, files of models, scorecards, what to do next."""

import json
import shlex
import signal
from collections.abc import Callable, Sequence
from functools import partial
from math import inf, isfinite
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar
from zipfile import ZipFile

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from ttt_env.agent import learner_class
from ttt_env.analysis.dossier import Strength
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.app.console import program_here
from ttt_env.app.scorecard import scorecard
from ttt_env.errors import ParameterError, PolicyFileError, ResultFileError, shown
from ttt_env.rules import Game, is_enumerable
from ttt_env.storage import as_file_name, opened, parse_toml
from ttt_env.storage.models import spec_of
from ttt_env.storage.policy_file import game_name, text_in
from ttt_env.training.evaluation import Evaluation
from ttt_env.training.loop import TrainingOptions, checkpoint_of

Value = TypeVar("Value")
_MOST_BYTES = 1 << 26  # that are read of what a model's file says about the model


def default_file(algo: str, game: Game) -> Path:
    """The default file of a model: one in `models/` that names algorithm and game."""
    return Path(f"models/{algo}-{as_file_name(game.name)}.{learner_class(algo).suffix}")


def train_and_judge(options: TrainingOptions, console: Console, game_text: str | None = None) -> int:
    """Train a model, save the least exploitable one to `out`, print its scorecard, and return the exit code.

    That is 0, or, if Ctrl-C or SIGTERM ended the training, 128 plus the number of the signal; the best model
    found until then is kept. `game_text` is the id or the file by which the command line names the game, by
    default the game's name.

    Raises `PolicyFileError` if there is nothing to resume, or the file to write to holds something else,
    and `ParameterError` if its ending is not that of such models.
    """
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    assert options.out is not None
    path, named = options.out, game_text or options.game.name
    if path.suffix != f".{options.learner.suffix}":
        raise ParameterError(f"--out {path}: models of {options.algo} end in .{options.learner.suffix}")
    options.learner.check(options.game, options.hyperparameters)
    checkpoint = checkpoint_of(path)
    if options.resume and not checkpoint.is_file():
        raise PolicyFileError(
            f"there is no checkpoint {checkpoint} to go on from: leave out --resume to begin a training, "
            "or name the model of the one to go on with by --out"
        )
    trained, wanted = trained_as(path), f"{options.algo} on {options.game.name}"
    if path.exists() and trained != wanted:
        holds = f"holds {trained}" if trained else "is not a model of `ttt train`"
        raise PolicyFileError(
            f"{path} {holds}, and {wanted} does not overwrite it: name another file by --out "
            "(--resume only goes on with a training of the same algorithm and game)"
        )
    plan = f"(seed {options.seed}). {options.learner.described(options.game, options.hyperparameters)}"
    if options.resume:
        plan = f"goes on from where {options.out} was left."
    say(f"Training {options.algo} on {options.game.name} {plan}\n")
    stopped, has_model = _with_bar(options, console)
    if not has_model:
        say("Interrupted before there was a model.")
        return 128 + stopped
    if stopped:
        say(f"Interrupted: the best model so far is kept.\nTo go on: {_command(options, named)} --resume")
    say(f"\nSaved as {path}\n")
    if stopped == signal.SIGTERM:  # whoever sent it does not wait for a scorecard
        return 128 + stopped
    spec = f"{options.learner.plays_as}:{path}"
    if is_enumerable(options.game):
        say(scorecard(Strength(PolicyTable.of(spec, options.game)), str(path)))
    say(
        next_steps(options.game, spec, named, f"train {options.algo} --seconds 300 --seed {options.seed + 1}")
    )
    return 128 + stopped if stopped else 0


def trained_as(path: Path) -> str | None:
    """The training that wrote this model file, "ALGORITHM on GAME"; None if `ttt train` did not write it.

    Runs no code of the file.
    """
    try:
        if path.suffix == ".npz":
            agent, _, _ = spec_of(str(path)).partition(":")
            return f"{text_in(path, 'trained_as') or agent} on {game_name(path)}"
        with opened(path) as stream, ZipFile(stream) as file, file.open("data") as data:
            trained = json.loads(data.read(_MOST_BYTES))["trained_as"]
            return trained if isinstance(trained, str) and trained.isprintable() else None
    except Exception:  # a file in which anything is wrong was not written by `ttt train`
        return None


def _command(options: TrainingOptions, game_text: str) -> str:
    """The command line of this training, without the options that its checkpoint keeps."""
    values = {
        "game": None if options.game.name == "tictactoe-v0" else game_text,
        "seconds": options.seconds,
        "steps": options.steps,
        "until": None if options.until == "unbeatable" else options.until,
        "out": None if options.out == default_file(options.algo, options.game) else options.out,
    }
    parts = [part for name, value in values.items() if value for part in (f"--{name}", str(value))]
    return shlex.join(["ttt", "train", options.algo, *parts])


def until_signal(work: Callable[[], Value]) -> tuple[Value | None, int]:
    """The result of the work and 0; if SIGTERM or Ctrl-C ended it, None and the number of the signal."""
    signals: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        return work(), 0
    except KeyboardInterrupt:
        return None, signals[0] if signals else signal.SIGINT
    finally:
        signal.signal(signal.SIGTERM, before)


def _bar(console: Console) -> Bar:
    return Bar(BarColumn(bar_width=8), TimeElapsedColumn(), TextColumn("{task.description}"), console=console)


def _with_bar(options: TrainingOptions, console: Console) -> tuple[int, bool]:
    """Train. Returns the number of the signal that ended it, 0 for none, and whether there is a model."""
    exploitabilities: list[float] = []  # one for each evaluation
    steps, seconds = options.budget
    counts_steps = isfinite(steps)
    total = steps if counts_steps else seconds
    with _bar(console) as bar:
        task = bar.add_task("starting", total=total if isfinite(total) else None)

        def report(evaluation: Evaluation) -> None:
            done = evaluation.steps if counts_steps else evaluation.seconds
            bar.update(task, completed=done, description=str(evaluation))
            exploitability = evaluation.mistakes[0]
            if exploitability < min(exploitabilities, default=inf):
                bar.print(
                    f"{evaluation.seconds:7.1f} s  exploitability {exploitability:.4f}", highlight=False
                )
            exploitabilities.append(exploitability)

        _, stopped = until_signal(lambda: options.run(report))
    return stopped, bool(exploitabilities) or options.resume


def next_steps(game: Game, spec: str, name: str, *more: str) -> str:
    """The commands to go on with a model, `more` of the program `ttt` included, and the lines for Python.

    `name` is the id or the file by which the command line names the game.
    """
    option = "" if name == "tictactoe-v0" else f" --game {name}"
    can_be_proved = is_enumerable(game)
    rival = "minimax" if can_be_proved else "mcts:simulations=1000"
    shown = f'ttt_env.Game.load("{name}")' if name.endswith(".json") else f'"{name}"'
    judged = f'ttt_env.match("{spec}", "{rival}", {shown}, games=200).score'
    if can_be_proved:
        judged = f'ttt_env.certify("{spec}", {shown}).unbeatable'
    commands = f"play {spec}", f"bench random {rival} {spec}", *more
    lines = "".join(f"\n  {program_here('ttt')} {command}{option}" for command in commands)
    return f"""
What next{lines}
and in Python
  env = ttt_env.make({shown}, opponent="{spec}")
  {judged}"""


def settings_of(settings: Sequence[str]) -> dict[str, Any]:
    """Hyperparameters from texts such as `learning_rate=3e-4`.

    A value is written as in the files of recipes (TOML); a word needs no quotes. Raises `ParameterError` for
    other text.
    """
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not (name and equals and text):
            raise ParameterError(f"--set {shown(setting)}: a name and a value are needed, as name=1e-3")
        if name in values:
            raise ParameterError(f"--set {shown(setting)}: {name} is set twice")
        try:
            values[name] = parse_toml(f"value = {text}")["value"]
        except ResultFileError:
            values[name] = text
    return values
