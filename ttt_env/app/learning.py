"""Training from the command line: a progress bar, the model's file, the scorecard, what to do next."""

import json
import shlex
import signal
from collections.abc import Callable
from functools import partial
from math import inf, isfinite
from pathlib import Path
from types import FrameType
from typing import TypeVar
from zipfile import ZipFile

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from ttt_env.agent import learner_class, make_agent
from ttt_env.app.console import program_here
from ttt_env.app.scorecard import scorecard
from ttt_env.errors import PolicyFileError
from ttt_env.rules import Game, is_enumerable
from ttt_env.storage import as_file_name
from ttt_env.storage.models import spec_of
from ttt_env.training.evaluation import Evaluation
from ttt_env.training.loop import TrainingOptions, checkpoint_of

Value = TypeVar("Value")


def default_file(algo: str, game: Game) -> Path:
    """The default file of a model: one in `models/` that names algorithm and game."""
    return Path(f"models/{algo}-{as_file_name(game.name)}.{learner_class(algo).suffix}")


def train_and_judge(options: TrainingOptions, console: Console, game_text: str | None = None) -> int:
    """Train a model, save the least exploitable one to `out`, print its scorecard, and return the exit code.

    That is 0, or, if Ctrl-C or SIGTERM ended the training, 128 plus the number of the signal; the best model
    found until then is kept. `game_text` is the id or the file by which the command line names the game, by
    default the game's name.

    Raises `PolicyFileError` if there is nothing to resume, or the file to write to holds something else.
    """
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    assert options.out is not None
    path, named = options.out, game_text or options.game.name
    options.learner.check(options.game, options.hyperparameters)
    checkpoint = checkpoint_of(path)
    if options.resume and not checkpoint.is_file():
        raise PolicyFileError(
            f"there is no checkpoint {checkpoint} to go on from: leave out --resume to begin a training, "
            "or name the model of the one to go on with by --out"
        )
    trained, wanted = trained_as(path), f"{options.algo} on {options.game.name}"
    if path.exists() and trained != wanted:
        holds = f"holds {trained}" if trained else "is no model of `ttt train`"
        raise PolicyFileError(
            f"{path} {holds}, and {wanted} does not overwrite it: name another file by --out "
            "(--resume only goes on with a training of the same algorithm and game)"
        )
    plan = f"(seed {options.seed}). {options.learner.described(options.game, options.hyperparameters)}"
    if options.resume:
        plan = f"goes on from where {options.out} was left."
    say(f"Training {options.algo} on {options.game.name} {plan}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
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
        say(scorecard(make_agent(spec, options.game), options.game, str(path)))
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
            with np.load(path, allow_pickle=False) as arrays:
                agent, _, _ = spec_of(str(path)).partition(":")
                return f"{arrays['trained_as'] if 'trained_as' in arrays else agent} on {arrays['game']}"
        with ZipFile(path) as file:
            trained: object = json.loads(file.read("data"))["trained_as"]
            return str(trained)
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


def _with_bar(options: TrainingOptions, console: Console) -> tuple[int, bool]:
    """Train. Returns the number of the signal that ended it, 0 for none, and whether there is a model."""
    columns = (BarColumn(bar_width=8), TimeElapsedColumn(), TextColumn("{task.description}"))
    exploitabilities: list[float] = []  # one for each evaluation
    steps, seconds = options.budget
    counts_steps = isfinite(steps)
    total = steps if counts_steps else seconds
    with Bar(*columns, console=console) as bar:
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
