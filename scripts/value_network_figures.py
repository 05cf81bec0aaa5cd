"""Repeat the experiments of Thomas Daniels, "A Tic Tac Toe AI with Neural Networks and Machine Learning".

The same training (`ttt_env.agents.learned.value_network.ValueNetworkLearner`) with other learning rates,
opponents, starts, empty cells and views, several seeds each. His measure is the good games of a hundred:
draws of the network with itself, its wins over the random player. Three more are added: the good ones of a
hundred games against the random player alone, and, computed exactly, the score against random play and the
exploitability. Writes a figure for each experiment and prints the numbers at the end of training, from which
`truth.py` takes the verdicts on his claims. `--keep FOLDER` keeps every training that has ended, and a later
run does not repeat these. `--tensorboard FOLDER` writes the curves of every training as a run of
TensorBoard, whose steps are games.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import ceil
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from panels import with_grid, write
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

import ttt_env
from ttt_env.agent import Budget
from ttt_env.agents.learned.value_network import ValueNetworkLearner
from ttt_env.render.charts import new_figure
from ttt_env.render.table import Table
from ttt_env.storage import write_atomically

LOOKS = 25  # exact evaluations in a training
LAST = 0.2  # the share of a training that is its end
WINDOWS = 50  # in a figure: a line is the mean of a window's hundreds, its band their least and largest
MEASURES = (
    "good games per hundred",
    "good per hundred against random",
    "score against random",
    "exploitability",
)
TABLED = {0: ".1f", 2: ".3f", 3: ".2f"}
"""The measures in the table, and their format: the exact score says more than the games against random."""
USUAL = "usual"
CHANGES: dict[str, dict[str, object]] = {
    USUAL: {},
    "self-play only": {"opponents": "self"},
    "tenth input": {"view": "xo+turn"},
    "no indicator": {"view": "xo"},
    "random only": {"opponents": "random"},
    "empty 0": {"empty": 0.0},
    "rate 0.1": {"learning_rate": 0.1},
    "rate 0.075": {"learning_rate": 0.075},
    "rate 0.05": {"learning_rate": 0.05},
    "rate 0.0125": {"learning_rate": 0.0125},
    "symmetric start": {"start": "symmetric"},
    "self-play, symmetric start": {"opponents": "self", "start": "symmetric"},
}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000")


EXPERIMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "value-network-rates": (
        "Learning rates",
        {
            "0.0125": "rate 0.0125",
            "0.025": USUAL,
            "0.05": "rate 0.05",
            "0.075": "rate 0.075",
            "0.1": "rate 0.1",
        },
    ),
    "value-network-opponents": (
        "Whom it learns from",
        {"mixed cycle": USUAL, "random only": "random only", "self-play only": "self-play only"},
    ),
    "value-network-start": (
        "With which weights it starts",
        {
            "in [0, 1]": USUAL,
            "symmetric": "symmetric start",
            "in [0, 1], self-play only": "self-play only",
            "symmetric, self-play only": "self-play, symmetric start",
        },
    ),
    "value-network-empty": ("What an empty cell is", {"0.01": USUAL, "0": "empty 0"}),
    "value-network-view": (
        "What it sees",
        {
            "the mover's stones": USUAL,
            "X and O, and whose turn": "tenth input",
            "X and O alone": "no indicator",
        },
    ),
}
"""His comparisons by the figure's file: its title, and the trainings that it compares, by label."""


@dataclass(frozen=True)
class TrainingCurve:
    """A training: the good games of each hundred, and of each hundred against random, and exact evaluations.

    `looks`, `[looks, 3]`, are games played, score against random, and exploitability.
    """

    good: NDArray[np.int64]
    good_against_random: NDArray[np.int64]
    looks: NDArray[np.float64]

    def means(self) -> list[float]:
        """The means of `MEASURES` over the `LAST` of the training; NaN without games to measure."""
        series = (self.good, self.good_against_random, *self.looks.T[1:])
        return [float(np.mean(one[-ceil(LAST * len(one)) :])) if len(one) else np.nan for one in series]


Curves = dict[str, list[TrainingCurve]]  # a line's, by seed


def hundreds(is_good: list[NDArray[np.bool_]]) -> NDArray[np.int64]:
    """The good games of each hundred."""
    games = np.concatenate(is_good)
    return np.asarray(games[: len(games) // 100 * 100].reshape(-1, 100).sum(axis=1))


def trained_curve(name: str, seed: int, games: int) -> TrainingCurve:
    """Train once, and return what was measured in the course of it."""
    looks: list[tuple[float, ...]] = []
    good: list[NDArray[np.bool_]] = []
    good_against_random: list[NDArray[np.bool_]] = []

    game = ttt_env.get_game("tictactoe-v0")
    learner = ValueNetworkLearner(game, seed, **CHANGES[name])  # type: ignore[arg-type]
    while learner.games < games:
        learner.advance(Budget(steps=games - learner.games))
        good.append(learner.is_good)
        good_against_random.append(learner.is_good[learner.is_against_random])
        if learner.games >= games * (len(looks) + 1) / LOOKS:
            agent = learner.agent()
            score = ttt_env.match(agent, "random").score
            looks.append((learner.games, score, ttt_env.exploitability(agent).exploitability))
    return TrainingCurve(hundreds(good), hundreds(good_against_random), np.array(looks))


def curve(name: str, seed: int, games: int, keep: Path | None) -> TrainingCurve:
    """The same, from the file in the folder `keep` if an earlier run has left it there."""
    if keep is None:
        return trained_curve(name, seed, games)
    path = keep / f"{name.replace(' ', '-').replace(',', '')}-{games}-{seed}.npz"
    if not path.is_file():
        trained = trained_curve(name, seed, games)
        write_atomically(path, lambda file: np.savez_compressed(file, **vars(trained)))
    with np.load(path) as kept:
        return TrainingCurve(**kept)


def all_curves(games: int, seeds: int, processes: int, keep: Path | None) -> Curves:
    """The curves of every line, line by line."""
    names, numbers = zip(*product(CHANGES, range(seeds)), strict=True)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        curves = list(pool.map(partial(curve, games=games, keep=keep), names, numbers))
    return {name: curves[i * seeds : (i + 1) * seeds] for i, name in enumerate(CHANGES)}


def log(curve: TrainingCurve, folder: Path) -> None:
    """Write what was measured in a training as a run of TensorBoard."""
    writer = EventFileWriter(str(folder))
    games = curve.looks[-1, 0]
    for tag, good in (("games/good", curve.good), ("games/good against random", curve.good_against_random)):
        windows = np.array_split(good, min(WINDOWS, len(good))) if len(good) else []
        for place, window in enumerate(windows, 1):
            add_number(writer, tag, games * place / len(windows), float(window.mean()))
    for at, score, worst in curve.looks:
        add_number(writer, "exact/score against random", at, score)
        add_number(writer, "exact/exploitability", at, worst)
    writer.close()


def add_number(writer: EventFileWriter, tag: str, step: float, value: float) -> None:
    """Write a number after so many games."""
    summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
    writer.add_event(Event(wall_time=time.time(), step=round(step), summary=summary))


def draw(title: str, lines: dict[str, str], curves_of: Curves) -> Figure:
    """A panel for each measure, a line for each thing compared."""
    figure = new_figure(15, 4.2)
    panels: list[Axes] = list(figure.subplots(1, len(MEASURES)))
    for panel, measure in zip(panels, MEASURES, strict=True):
        with_grid(panel, title=measure, xlabel="games, in thousands")
    for colour, (label, name) in zip(COLOURS, lines.items(), strict=False):
        curves = curves_of[name]
        games = float(curves[0].looks[-1, 0])
        draw_hundreds(panels[0], games, np.array([one.good for one in curves]), colour, label)
        draw_hundreds(panels[1], games, np.array([one.good_against_random for one in curves]), colour, label)
        looks = np.array([one.looks for one in curves])
        at, score, worst = looks[0, :, 0] / 1000, looks[:, :, 1], looks[:, :, 2]
        panels[2].fill_between(at, score.min(0), score.max(0), color=colour, alpha=0.12, lw=0)
        panels[2].plot(at, score.mean(0), color=colour)
        panels[3].plot(at, worst.mean(0), color=colour)  # each is 0.5 or 1: a band would be the whole panel
    for panel in panels[:2]:
        panel.set_ylim(-3, 103)
    figure.suptitle(
        f"Value network on 3×3. {title}: means of {len(curves_of[USUAL])} seeds; "
        "bands from the least to the largest hundred, or seed",
        fontsize=12,
    )
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def draw_hundreds(panel: Axes, games: float, good: NDArray[np.int64], colour: str, label: str) -> None:
    """A line of the mean of windows of hundreds `[seeds, hundreds]`, and a band of their extremes."""
    n_hundreds = good.shape[1]
    if n_hundreds == 0:  # self-play meets no random player
        return
    windows = np.array_split(good, min(WINDOWS, n_hundreds), axis=1)
    at = games / 1000 * (np.arange(len(windows)) + 0.5) / len(windows)
    lowest, highest = [window.min() for window in windows], [window.max() for window in windows]
    panel.fill_between(at, lowest, highest, color=colour, alpha=0.12, lw=0)
    panel.plot(at, [window.mean() for window in windows], color=colour, label=label)


def table(curves_of: Curves) -> str:
    """The measures at the end of training, as a Markdown table: mean over the seeds, least and largest."""
    rows = []
    for name in CHANGES:
        means = np.array([one.means() for one in curves_of[name]])
        rows.append([name, *(spread(means[:, place], form) for place, form in TABLED.items())])
    return Table.of(["training", *(MEASURES[place] for place in TABLED)], rows).to_markdown()


def remarks(curves_of: Curves) -> str:
    """Numbers that are not in the table: the first hundred, the hundreds without a bad game, all networks."""
    first = np.array([one.good[0] for one in curves_of[USUAL]])
    last = np.array([one.good[-ceil(LAST * len(one.good)) :] for one in curves_of[USUAL]])
    worst = np.concatenate([one.looks[:, 2] for curves in curves_of.values() for one in curves])
    lines = [
        f"The first hundred has {spread(first)} good games, one of the last fifth {spread(last)}.",
        *(
            f"{name.capitalize()}, hundreds of 99 or 100 good games from game 100,000 on: "
            f"{spread(np.array([100 * (one.good[1000:] >= 99).mean() for one in curves_of[name]]))} %."
            for name in ("self-play only", "self-play, symmetric start")
            if len(curves_of[name][0].good) > 1000
        ),
        f"Of {len(worst)} looks at networks {(worst < 1e-9).sum()} found one that nobody beats.",
    ]
    return "\n".join(lines)


def spread(numbers: NDArray[np.number], form: str = ".3g") -> str:
    """A mean with the least and the largest."""
    if np.isnan(numbers).any():
        return ""
    shown = f"{numbers.mean():{form}} ({numbers.min():{form}} to {numbers.max():{form}})"
    return shown.replace("-", "−")


def main() -> None:
    """Train, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("--games", type=int, default=500_000, help="of a training")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder of the trainings that have ended, to go on from")
    parser.add_argument("--tensorboard", type=Path, help="folder of runs to write")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    curves_of = all_curves(arguments.games, arguments.seeds, arguments.processes, arguments.keep)
    if arguments.tensorboard is not None:
        for name, of_seeds in curves_of.items():
            for seed, of_seed in enumerate(of_seeds):
                log(of_seed, arguments.tensorboard / name / f"seed {seed}")
    for file, compared in EXPERIMENTS.items():
        write(draw(*compared, curves_of), arguments.out, file)
    print(table(curves_of), remarks(curves_of), f"{time.perf_counter() - begin:.0f} s", sep="\n\n")


if __name__ == "__main__":
    main()
