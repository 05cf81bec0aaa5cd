"""Sweeps from the command line: many trainings, and what the best of them is worth."""

import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from shlex import join
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from ttt_env.agent.learner import learner_class
from ttt_env.app.learning import next_steps, until_signal
from ttt_env.app.scorecard import scorecard
from ttt_env.errors import ParameterError, shown
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import TRIALS
from ttt_env.storage.files import as_file_name
from ttt_env.training.sweeps import Sweep, sweep
from ttt_env.training.trial import TrialResult

_SEEDS = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")


def seeds_of(text: str) -> list[int]:
    """The seeds that a text such as `0-99` or `0,3,7` or `0-4,10` names, in its order.

    Raises `ParameterError` for other text, a range that goes down, and more seeds than a sweep may have.
    """
    seeds: list[int] = []
    for part in text.split(","):
        found = _SEEDS.fullmatch(part.strip())
        if found is None:
            raise ParameterError(f"--seeds {shown(text)}: ranges and numbers are needed, as 0-99 or 0,3,7")
        first = int(found[1])
        last = first if found[2] is None else int(found[2])
        if last < first:
            raise ParameterError(
                f"--seeds {shown(text)}: the range {part.strip()} goes down: {last}-{first}?"
            )
        if len(seeds) + last - first >= TRIALS:
            raise ParameterError(f"--seeds {shown(text)}: more than {TRIALS:,} seeds")
        seeds += range(first, last + 1)
    return seeds


def search_of(settings: Sequence[str]) -> dict[str, list[Any]]:
    """The values to try for each hyperparameter, from texts such as `learning_rate=3e-4,1e-3`.

    Values are written as in the files of recipes (TOML); words need no quotes.
    Raises `ParameterError` for other text.
    """
    search: dict[str, list[Any]] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (name.strip() and equals and text.strip()):
            raise ParameterError(f"--set {shown(setting)}: a name and values are needed, as name=1e-3,1e-4")
        if name.strip() in search:
            raise ParameterError(
                f"--set {shown(setting)}: {name.strip()} is set twice; give all values at once"
            )
        search[name.strip()] = _values(text)
    return search


def _values(text: str) -> list[Any]:
    try:
        values: list[Any] = tomllib.loads(f"values = [{text}]")["values"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return [value.strip() for value in text.split(",")]
    return values


def sweep_and_judge(game: Game, algo: str, out: Path | None, console: Console, **options: Any) -> int:
    """Run a sweep, print its results and the scorecard of its best model, and return the exit code.

    That is 0, or 128 plus the number of the signal that ended it; what is done is kept then, and the same
    command goes on. By default the folder is one in `models/` that names algorithm and game. `options` are
    those of `sweep`, whose errors are raised.
    """
    folder = out or Path(f"models/{algo}-{as_file_name(game.name)}-sweep")
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    found, stopped = _with_bar(partial(sweep, game, algo, out=folder, **options), console)
    if found is None:
        say(f"Interrupted: what is done is kept.\nTo go on: {join(['ttt', *sys.argv[1:]])}")
        return 128 + stopped
    say(f"\n{found}\n\nResults and models are in {found.folder}\n")
    best = found.best
    path = str(found.folder / str(best.model))
    say(scorecard(found.agent(), found.game, path))
    say(next_steps(found.game, f"{learner_class(best.algorithm).plays_as}:{path}", found.game.name))
    return 0


def _with_bar(order: Callable[..., Sweep], console: Console) -> tuple[Sweep | None, int]:
    """Sweep. Returns what came out, None if a signal ended it, and that signal's number."""
    bar = Bar(BarColumn(bar_width=8), TimeElapsedColumn(), TextColumn("{task.description}"), console=console)
    task = bar.add_task("")

    def report(result: TrialResult | None, n_ended: int, n_trials: int) -> None:
        text = f"{n_ended} of {n_trials} trials"
        bar.update(task, total=n_trials, completed=n_ended, description=text)
        if result is None:
            bar.start()  # not before all is checked
        else:
            bar.print(_line(result), highlight=False, markup=False, soft_wrap=True)

    try:
        return until_signal(partial(order, report=report))
    finally:
        if bar.live.is_started:
            bar.stop()


def _line(result: TrialResult) -> str:
    """A trial that has ended, in one line."""
    settings = "".join(f" {name}={value}" for name, value in result.hyperparameters.items())
    text = f"{result.algorithm} seed {result.seed}{settings}: "
    if result.ended == "error":
        return text + str(result.error)
    worth = "unbeatable" if result.unbeatable else f"exploitability {result.exploitability:.4f}"
    stopped = ", stopped by ASHA" if result.ended == "asha" else ""
    return text + f"{worth} after {result.steps:,} steps, {result.seconds:.1f} s{stopped}"
