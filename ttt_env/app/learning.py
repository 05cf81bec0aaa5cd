"""Training from the command line: a progress bar, the model's file, the scorecard, what to do next."""

import json
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from shutil import which
from types import FrameType
from typing import Any, get_args
from zipfile import ZipFile

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from ttt_env.agent import make_agent
from ttt_env.app.scorecard import scorecard
from ttt_env.errors import ParameterError, PolicyFileError, unknown
from ttt_env.render.words import RESULTS
from ttt_env.rules.checks import one_of
from ttt_env.rules.game import SEATS, Game
from ttt_env.rules.sizes import is_enumerable
from ttt_env.storage.files import as_file_name
from ttt_env.storage.models import spec_of
from ttt_env.training import alphazero
from ttt_env.training.checkpoint import checkpoint_of
from ttt_env.training.evaluation import Evaluation, Report, Until
from ttt_env.training.own import train_own
from ttt_env.training.recipe import recipe, recipe_names

_HOW = {
    "q-learning": "It plays against itself, half of the moves at random.",
    "value-network": "Of six games it plays two against itself and four against a random player.",
    "alphazero": "It plays against itself by a search that its network guides.",
}  # the learners of this package


@dataclass(frozen=True)
class Order:
    """An order of `ttt train`: the algorithm, the game, the time and the file; None leaves it to the recipe.

    `game_text` is the id or the file by which the command line names the game, by default the game's name.
    `network` are the parameters of `value_network.train` that only a value network has.

    Raises `ParameterError` for an unknown algorithm, or an option that the algorithm does not have.
    """

    algo: str
    game: Game
    seed: int = 0
    opponents: list[str] | None = None
    seconds: float | None = None
    steps: int | None = None
    until: Until = "unbeatable"
    out: Path | None = None
    tensorboard: Path | None = None
    resume: bool = False
    game_text: str | None = None
    network: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [*recipe_names(), *_HOW]
        if self.algo not in names:
            raise ParameterError(unknown("algorithm", self.algo, names))
        one_of("until", self.until, get_args(Until))
        options = {"opponent": self.opponents, "tensorboard": self.tensorboard, "resume": self.resume}
        lacking = {"opponent"} if self.algo == "alphazero" else options.keys() if self.is_own else set()
        foreign = [f"--{name}" for name, value in options.items() if value and name in lacking]
        if self.algo != "value-network":
            foreign += [f"--{name.replace('_', '-')}" for name in self.network]
        if foreign:
            raise ParameterError(f"{self.algo} has no {', '.join(foreign)}")

    @property
    def is_own(self) -> bool:
        """True if the algorithm belongs to this package, not to Stable-Baselines3."""
        return self.algo in _HOW

    @property
    def path(self) -> Path:
        """The file of the model: by default one in `models/` that names algorithm and game."""
        game = as_file_name(self.game.name)
        return self.out or Path(f"models/{self.algo}-{game}.{'npz' if self.is_own else 'zip'}")

    @property
    def spec(self) -> str:
        """The spec string of the trained agent."""
        return f"{self.algo if self.is_own else 'sb3'}:{self.path}"

    @property
    def command(self) -> str:
        """The command line of this training, without the options that its checkpoint keeps."""
        values = {
            "game": None if self.game.name == "tictactoe-v0" else self.game_text or self.game.name,
            "seconds": self.seconds,
            "steps": self.steps,
            "until": None if self.until == "unbeatable" else self.until,
            "out": self.out,
        }
        options = [part for name, value in values.items() if value for part in (f"--{name}", str(value))]
        return shlex.join(["ttt", "train", self.algo, *options])


def train_and_judge(order: Order, console: Console) -> int:
    """Train a model, save the least exploitable one, print its scorecard, and return the exit code.

    That is 0, or, if Ctrl-C or SIGTERM ended the training, 128 plus the number of the signal; the best model
    found until then is kept.

    Raises `PolicyFileError` if there is nothing to resume, or the file to write to holds something else.
    """
    say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    check_files(order)
    say(f"Training {order.algo} on {order.game.name} {_plan(order)}\n")
    order.path.parent.mkdir(parents=True, exist_ok=True)
    stopped, has_model = _with_bar(order, console)
    if not has_model:
        say("Interrupted before there was a model.")
        return 128 + stopped
    if stopped:
        say(f"Interrupted: the best model so far is kept.\n{_how_to_go_on(order)}")
    say(f"\nSaved as {order.path}\n")
    if stopped == signal.SIGTERM:  # whoever sent it does not wait for a scorecard
        return 128 + stopped
    if is_enumerable(order.game):
        say(scorecard(make_agent(order.spec, order.game), order.game, str(order.path)))
    say(_next_steps(order))
    return 128 + stopped if stopped else 0


def check_files(order: Order) -> None:
    """Check that there is a training to resume, and that no file of something else would be overwritten.

    Raises `PolicyFileError` otherwise.
    """
    checkpoint = checkpoint_of(order.path)
    if order.resume and not checkpoint.is_file():
        raise PolicyFileError(
            f"there is no checkpoint {checkpoint} to go on from: leave out --resume to begin a training, "
            "or name the model of the one to go on with by --out"
        )
    trained, wanted = trained_as(order.path), f"{order.algo} on {order.game.name}"
    if order.path.exists() and trained != wanted:
        holds = f"holds {trained}" if trained else "is no model of `ttt train`"
        raise PolicyFileError(
            f"{order.path} {holds}, and {wanted} does not overwrite it: name another file by --out "
            "(--resume only goes on with a training of the same algorithm and game)"
        )


def trained_as(path: Path) -> str | None:
    """The training that wrote this model file, "ALGORITHM on GAME"; None if `ttt train` did not write it.

    Runs no code of the file.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                agent, _, _ = spec_of(str(path)).partition(":")
                return f"{agent} on {arrays['game']}"
        with ZipFile(path) as file:
            trained: object = json.loads(file.read("data"))["trained_as"]
            return str(trained)
    except Exception:  # a file in which anything is wrong was not written by `ttt train`
        return None


def _how_to_go_on(order: Order) -> str:
    if order.is_own and order.algo != "alphazero":
        return f"{order.algo} keeps no checkpoint, so that another training of it begins anew."
    return f"To go on: {order.command} --resume"


def _plan(order: Order) -> str:
    if order.resume:
        return f"goes on from where {order.path} was left."
    text = f"(seed {order.seed}). "
    if order.is_own:
        return text + _HOW[order.algo]
    scripted = order.opponents or recipe(order.algo).scripted(order.game)
    text += f"Opponents: {', '.join(scripted)}, past selves"
    return text + (", best responses." if is_enumerable(order.game) else ".")


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a training as Ctrl-C does."""


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM raise `Terminated` in this block."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _with_bar(order: Order, console: Console) -> tuple[int, bool]:
    """Train. Returns the number of the signal that ended it, 0 for none, and whether there is a model."""
    columns = (BarColumn(bar_width=8), TimeElapsedColumn(), TextColumn("{task.description}"))
    exploitabilities: list[float] = []  # one for each evaluation
    stopped = 0
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("starting", total=order.steps or _seconds(order))

        def report(evaluation: Evaluation) -> None:
            done = evaluation.steps if order.steps else evaluation.seconds
            bar.update(task, completed=done, description=_described(evaluation))
            exploitability = evaluation.mistakes[0]
            if exploitability < min(exploitabilities, default=inf):
                bar.print(
                    f"{evaluation.seconds:7.1f} s  exploitability {exploitability:.4f}", highlight=False
                )
            exploitabilities.append(exploitability)

        try:
            with terminable():
                _train(order, report)
        except Terminated:
            stopped = signal.SIGTERM
        except KeyboardInterrupt:
            stopped = signal.SIGINT
    return stopped, bool(exploitabilities) or order.resume


def _seconds(order: Order) -> float | None:
    if order.seconds or order.algo == "alphazero":
        return order.seconds or alphazero.SECONDS
    return None if order.is_own else recipe(order.algo).seconds


def _train(order: Order, report: Report) -> None:
    options: dict[str, Any] = {
        "seconds": order.seconds,
        "steps": order.steps,
        "seed": order.seed,
        "until": order.until,
        "out": order.path,
        "report": report,
    }
    more: dict[str, Any] = {"resume": order.resume, "tensorboard": order.tensorboard}
    if order.algo == "alphazero":
        alphazero.train(order.game, **options, **more)
        return
    if order.is_own:
        train_own(order.game, order.algo, hyperparameters=order.network, **options)
        return
    from ttt_env.training.run import train

    train(order.game, order.algo, order.opponents, **options, **more)


def _described(evaluation: Evaluation) -> str:
    """The progress of a training, short enough to fit behind the bar in 80 columns."""
    text = f"{evaluation.steps:,} steps"
    if evaluation.certificate is not None:
        worst = evaluation.certificate.worst_case
        text += f", exploitability {evaluation.mistakes[0]:.4f}"
        text += ", at worst " + ", ".join(f"{seat} {RESULTS[worst[seat]]}" for seat in SEATS)
    sampled = {name: played for name, played in evaluation.results.items() if not played.exact}
    return text + "".join(f", about {played.score:+.2f} v {name}" for name, played in sampled.items())


def _next_steps(order: Order) -> str:
    name = order.game_text or order.game.name
    is_file = name.endswith(".json")
    game = f'ttt_env.Game.load("{name}")' if is_file else f'"{name}"'
    option = "" if name == "tictactoe-v0" else f" --game {name}"
    can_be_proved = is_enumerable(order.game)
    rival = "minimax" if can_be_proved else "mcts:simulations=1000"
    judged = f'ttt_env.match("{order.spec}", "{rival}", {game}, games=200).score'
    if can_be_proved:
        judged = f'ttt_env.certify("{order.spec}", {game}).unbeatable'
    ttt = _program()
    return f"""
What next
  {ttt} play {order.spec}{option}
  {ttt} bench random {rival} {order.spec}{option}
  {ttt} train {order.algo} --seconds 300 --seed {order.seed + 1}{option}
and in Python
  env = ttt_env.make({game}, opponent="{order.spec}")
  {judged}"""


def _program() -> str:
    """The command as it must be typed here: "ttt", or this program's path if the shell finds no `ttt`."""
    is_found = which("ttt") is not None or Path(sys.argv[0]).name != "ttt"
    return "ttt" if is_found else sys.argv[0]
