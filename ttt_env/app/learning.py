"""Training from the command line: a progress bar, the model's file, the scorecard, what to do next."""

from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from ttt_env.agent import make_agent
from ttt_env.agents.learned import q_learning, value_network
from ttt_env.agents.training.progress import Progress, Report, evaluate
from ttt_env.agents.training.recipe import recipe, recipe_names
from ttt_env.app.scorecard import scorecard
from ttt_env.errors import ParameterError, unknown
from ttt_env.rules.game import SEATS, Game
from ttt_env.rules.sizes import is_enumerable

_WORST = {1: "wins", 0: "safe", -1: "can lose"}
_OWN = ("q-learning", "value-network")  # learners without torch


@dataclass(frozen=True)
class Order:
    """What to train, how long, and where to write it; None leaves it to the recipe.

    Raises `ParameterError` for an unknown algorithm, or an option that the algorithm does not have.
    """

    algo: str
    game: Game
    seed: int = 0
    opponents: list[str] | None = None
    seconds: float | None = None
    steps: int | None = None
    until: Literal["unbeatable", "optimal", "budget"] = "unbeatable"
    out: Path | None = None
    tensorboard: Path | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        names = [*recipe_names(), *_OWN]
        if self.algo not in names:
            raise ParameterError(unknown("algorithm", self.algo, names))
        options = {"opponent": self.opponents, "tensorboard": self.tensorboard, "resume": self.resume}
        given = [f"--{name}" for name, value in options.items() if value]
        if self.is_own and given:
            raise ParameterError(f"{self.algo} has no {', '.join(given)}")

    @property
    def is_own(self) -> bool:
        """Whether this is no algorithm of Stable-Baselines3."""
        return self.algo in _OWN

    @property
    def path(self) -> Path:
        """Where the model is written to."""
        return self.out or Path("models/model").with_suffix(".npz" if self.is_own else ".zip")

    @property
    def spec(self) -> str:
        """The spec string of the trained agent."""
        return f"{self.algo if self.is_own else 'sb3'}:{self.path}"


def train_and_judge(order: Order, console: Console) -> None:
    """Train a model, save the least exploitable one there was, print its scorecard; Ctrl-C ends it sooner."""
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    say(f"Training {order.algo} on {order.game.name} {_plan(order)}\n")
    order.path.parent.mkdir(parents=True, exist_ok=True)
    _with_bar(order, console)
    say(f"\nSaved as {order.path}\n")
    if is_enumerable(order.game):
        say(scorecard(make_agent(order.spec, order.game), order.game, str(order.path)))
    say(_next_steps(order))


def _plan(order: Order) -> str:
    if order.resume:
        return f"goes on from where {order.path} was left."
    text = f"(seed {order.seed}). "
    if order.is_own:
        return text + "It learns in self-play."
    scripted = order.opponents or recipe(order.algo).scripted(order.game)
    text += f"Opponents: {', '.join(scripted)}, past selves"
    return text + (", best responses." if is_enumerable(order.game) else ".")


def _with_bar(order: Order, console: Console) -> None:
    columns = (BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}"))
    looks: list[float] = []  # at the exploitability
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("starting", total=order.steps or _seconds(order))

        def report(progress: Progress) -> None:
            done = progress.steps if order.steps else progress.seconds
            bar.update(task, completed=done, description=_described(progress))
            exploitability = progress.mistakes[0]
            if exploitability < min(looks, default=inf):
                bar.print(f"{progress.seconds:7.1f} s  exploitability {exploitability:.4f}", highlight=False)
            looks.append(exploitability)

        try:
            (_train_own if order.is_own else _train_sb3)(order, report)
        except KeyboardInterrupt:
            if not looks:
                raise
            bar.print("Interrupted: the best model so far is kept.")


def _seconds(order: Order) -> float | None:
    return order.seconds or (None if order.is_own else recipe(order.algo).seconds)


def _train_sb3(order: Order, report: Report) -> None:
    from ttt_env.agents.training.run import train

    train(
        order.game,
        order.algo,
        order.opponents,
        seconds=order.seconds,
        steps=order.steps,
        seed=order.seed,
        until=order.until,
        out=order.path,
        resume=order.resume,
        tensorboard=order.tensorboard,
        report=report,
    )


def _train_own(order: Order, report: Report) -> None:
    least = inf

    def look(found: Any) -> None:
        nonlocal least
        progress = evaluate(found.agent, {}, found.games, found.seconds, everywhere=False)
        if progress.mistakes[0] <= least:
            least = progress.mistakes[0]
            found.agent.save(order.path)
        report(progress)

    budget: dict[str, Any] = {"seed": order.seed, "seconds": order.seconds, "report": look}
    if order.steps is not None:
        budget["games"] = order.steps
    if order.algo == "q-learning":
        goal = None if order.until == "budget" else order.until
        q_learning.train(order.game, goal=goal, **budget)
    else:
        value_network.train(order.game, **budget)


def _described(progress: Progress) -> str:
    text = f"{progress.steps:,} steps"
    if progress.certificate is not None:
        worst = progress.certificate.worst_case
        text += f", exploitability {progress.mistakes[0]:.4f}"
        text += "".join(f", {_WORST[worst[seat]]} as {seat}" for seat in SEATS)
        text += f", {len(progress.certificate.blunders)} mistakes"
    sampled = {name: played for name, played in progress.results.items() if not played.exact}
    return text + "".join(f", about {played.score:+.2f} v {name}" for name, played in sampled.items())


def _next_steps(order: Order) -> str:
    option = "" if order.game.name == "tictactoe-v0" else f" --game {order.game.name}"
    return f"""
What next
  ttt play {order.spec}{option}
  ttt bench random minimax {order.spec}{option}
  ttt train {order.algo} --seconds 300 --seed {order.seed + 1}{option}
and in Python
  env = ttt_env.make("{order.game.name}", opponent="{order.spec}")
  ttt_env.certify("{order.spec}", "{order.game.name}").unbeatable"""
