"""Trainings from the command line, with progress, files of models, scorecards and next steps."""

import json
import shlex
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from ttt_env.agent import learner_class
from ttt_env.analysis.dossier import Strength, dossier
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.app.console import Interrupted, print_json, program_here, verbosity
from ttt_env.app.options import TICTACTOE, typed_as
from ttt_env.app.scorecard import scorecard
from ttt_env.errors import FileError, ParameterError, brief
from ttt_env.rules import Game, is_enumerable
from ttt_env.storage import as_file_name, open_regular, parse_toml
from ttt_env.storage.archive import game_name, text_in
from ttt_env.storage.models import spec_of
from ttt_env.training.evaluation import Evaluation
from ttt_env.training.loop import TrainingOptions, checkpoint_of

_MOST_BYTES = 1 << 26  # read from the data of a model's file


def default_file(algo: str, game: Game) -> Path:
    """The default file of a model, in `models/`, named after algorithm and game."""
    return Path(f"models/{algo}-{as_file_name(game.name)}.{learner_class(algo).suffix}")


def train_and_judge(options: TrainingOptions, *, as_json: bool = False) -> None:
    """Train a model, save the least exploitable one to `out`, and print how strong it is.

    Raises `Interrupted` if Ctrl-C or SIGTERM ended the training; the best model found until then is kept.
    Raises `FileError` if there is nothing to resume, or the file to write to holds something else,
    and `ParameterError` if its ending is not that of such models.
    """
    assert options.out is not None
    path, checkpoint = options.out, checkpoint_of(options.out)
    if path.suffix != f".{options.learner.suffix}":
        raise ParameterError(f"--out {path}: models of {options.algo} end in .{options.learner.suffix}")
    options.learner.check(options.game, options.hyperparameters)
    if options.resume and not checkpoint.is_file():
        raise FileError(
            f"there is no checkpoint {checkpoint} to resume: omit --resume to start a new run, or give "
            "the model of the run to resume by --out"
        )
    trained, new_training = trained_as(path), f"{options.algo} on {options.game.name}"
    if path.exists() and trained != new_training:
        holds = f"holds {trained}" if trained else "is not a model of `ttt train`"
        raise FileError(
            f"{path} {holds}, and {new_training} does not overwrite it: choose another file by --out "
            "(--resume only continues a run of the same algorithm and game)"
        )
    _train(options)
    spec = f"{options.learner.plays_as}:{path}"
    strength = Strength(PolicyTable.of(spec, options.game)) if is_enumerable(options.game) else None
    if as_json:
        facts: dict[str, Any] = {"algorithm": options.algo, "game": options.game.name, "seed": options.seed}
        if strength is not None:
            facts |= dossier(spec, options.game, name=spec, file=path, strength=strength)
        print_json({**facts, "file": str(path)})
        return
    if strength is not None:
        typer.echo(f"{scorecard(strength, str(path))}\n")
    typer.echo(f"Saved as {path}")
    is_certified = strength is not None and bool(strength.certificate)
    again = [] if is_certified else [f"train {options.algo} --seconds 300 --seed {options.seed + 1}"]
    typer.echo(next_steps(options.game, spec, *again))


def trained_as(path: Path) -> str | None:
    """The training of this model file, "ALGORITHM on GAME"; None if `ttt train` did not write it.

    Runs no code of the file.
    """
    try:
        if path.suffix == ".npz":
            agent, _, _ = spec_of(str(path)).partition(":")
            return f"{text_in(path, 'trained_as') or agent} on {game_name(path)}"
        with open_regular(path) as stream, ZipFile(stream) as file, file.open("data") as data:
            trained = json.loads(data.read(_MOST_BYTES))["trained_as"]
            return trained if isinstance(trained, str) and trained.isprintable() else None
    except Exception:  # a file in which anything is wrong was not written by `ttt train`
        return None


def _command(options: TrainingOptions) -> str:
    """The command line of this training, without the options that its checkpoint keeps."""
    values = {
        "game": None if options.game == TICTACTOE else typed_as(options.game),
        "seconds": options.seconds,
        "steps": options.steps,
        "until": None if options.until == "unbeatable" else options.until,
        "out": None if options.out == default_file(options.algo, options.game) else options.out,
    }
    parts = [part for name, value in values.items() if value for part in (f"--{name}", str(value))]
    return shlex.join(["ttt", "train", options.algo, *parts])


def _train(options: TrainingOptions) -> None:
    """Train, with progress on standard error. Raises `Interrupted` on Ctrl-C and SIGTERM."""
    console = Console(stderr=True, quiet=verbosity() == "quiet", highlight=False, markup=False)
    plan = f"(seed {options.seed}). {options.learner.described(options.game, options.hyperparameters)}"
    if options.resume:
        plan = f"resumes from {checkpoint_of(options.out)}." if options.out else ""
    steps, seconds = options.budget
    counts_steps = isfinite(steps)
    budget = options.budget._asdict().items()
    limits = [f"{number:,.10g} {unit}" for unit, number in budget if isfinite(number)]
    plan = f"{plan} Limit: {' or '.join(limits) or 'none'}."
    console.print(f"Training {options.algo} on {options.game.name} {plan}\n", soft_wrap=True)
    best: float | None = None
    total = steps if counts_steps else seconds
    columns = BarColumn(bar_width=8), TimeElapsedColumn(), TextColumn("{task.description}")
    try:
        with Bar(*columns, console=console) as bar:
            task = bar.add_task("starting", total=total if isfinite(total) else None)

            def report(evaluation: Evaluation) -> None:
                nonlocal best
                progress = evaluation.steps if counts_steps else evaluation.seconds
                bar.update(task, completed=progress, description=str(evaluation))
                exploitability = evaluation.criterion[0]
                is_better = best is None or exploitability < best
                best = exploitability if best is None else min(best, exploitability)
                if verbosity() == "verbose":
                    bar.print(f"{evaluation.seconds:7.1f} s  {evaluation}")
                elif is_better:
                    bar.print(f"{evaluation.seconds:7.1f} s  exploitability {exploitability:.4f}")

            options.run(report)
    except KeyboardInterrupt as interrupt:
        saved = "no model yet"
        if best is not None or options.resume:
            saved = f"the best model so far is {options.out}"
            if options.out and checkpoint_of(options.out).is_file():
                saved += f". To resume: {_command(options)} --resume"
        raise Interrupted.by(interrupt, saved) from None


def next_steps(game: Game, spec: str, *more: str) -> str:
    """The next steps with a model, as commands, with `more` commands of `ttt`, and lines of Python."""
    name = typed_as(game)
    option = "" if game == TICTACTOE else f" --game {shlex.quote(name)}"
    can_be_proved = is_enumerable(game)
    rival = "minimax" if can_be_proved else "mcts:simulations=1000"
    game_code = f'"{name}"' if name == game.name else f'ttt_env.Game.load("{name}")'
    judged = f'ttt_env.match("{spec}", "{rival}", {game_code}, games=200).score'
    if can_be_proved:
        judged = f'ttt_env.certify("{spec}", {game_code}).unbeatable'
    commands = f"play {spec}", f"bench random {rival} {spec}", *more
    lines = "".join(f"\n  {program_here('ttt')} {command}{option}" for command in commands)
    return f"""
What next{lines}
and in Python
  env = ttt_env.make({game_code}, opponent="{spec}")
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
            raise ParameterError(f"--set {brief(setting)}: expected NAME=VALUE, such as learning_rate=1e-3")
        if name in values:
            raise ParameterError(f"--set {brief(setting)}: {name} is set twice")
        try:
            values[name] = parse_toml(f"value = {text}")["value"]
        except FileError:
            values[name] = text
    return values
