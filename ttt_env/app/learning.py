"""Training from the command line: a progress bar, the model's file, the scorecard, what to do next."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from agents import training
from ttt_env.agent import make_agent
from ttt_env.analysis.layers import is_enumerable
from ttt_env.app.scorecard import scorecard
from ttt_env.rules.game import SEATS, Game

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

_WORST = {1: "wins", 0: "safe", -1: "can lose"}


def train_and_judge(
    game: Game, opponents: Sequence[str], seconds: float, seed: int, out: Path, console: Console
) -> None:
    """Train a model, save it as `out`, print its scorecard."""
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    say(f"Training MaskablePPO on {game.name} against {', '.join(opponents)} and the best responses to it,")
    say(f"for {seconds:g} seconds or until it is certified unbeatable (seed {seed}).\n")
    model = _train(game, opponents, seconds, seed, console)
    out.parent.mkdir(parents=True, exist_ok=True)
    model.save(out)
    say(f"\nSaved as {out}\n")
    if is_enumerable(game):
        say(scorecard(make_agent(f"sb3:{out}", game), game, str(out)))
    say(_next_steps(game, out))


def _train(
    game: Game, opponents: Sequence[str], seconds: float, seed: int, console: Console
) -> "MaskablePPO":
    columns = (BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=seconds)

        def report(progress: training.Progress) -> None:
            bar.update(task, completed=min(progress.seconds, seconds), description=_described(progress))

        return training.train(game, opponents, seconds=seconds, seed=seed, report=report)


def _described(progress: training.Progress) -> str:
    text = f"{progress.steps:,} steps"
    if progress.certificate is not None:
        worst = progress.certificate.worst_case
        text += "".join(f", {_WORST[worst[seat]]} as {seat}" for seat in SEATS)
        text += f", {len(progress.certificate.blunders)} mistakes"
    return text


def _next_steps(game: Game, out: Path) -> str:
    option = "" if game.name == "tictactoe-v0" else f" --game {game.name}"
    return f"""
What next
  ttt play sb3:{out}{option}
  ttt bench random minimax sb3:{out}{option}
  ttt train --seconds 300 --seed 1{option}
and in Python
  env = ttt_env.make("{game.name}", opponent="sb3:{out}")
  ttt_env.certify("sb3:{out}", "{game.name}").unbeatable"""
