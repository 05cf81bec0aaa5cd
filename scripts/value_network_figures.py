"""Repeat the experiments of Thomas Daniels, "A Tic Tac Toe AI with Neural Networks and Machine Learning".

The same training (`ttt_env.agents.learned.value_network.train`) with other learning rates, opponents, empty
cells and views, several seeds each. To his measure, good games per hundred (a draw with itself, a win over
random), come two that are exact: the score against random play and the exploitability. Lines are means over
the seeds, bands reach from the least to the largest. Writes a figure for each experiment and prints the
numbers at the end of training and what came out of his claims.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import ttt_env
from ttt_env.agents.learned.value_network import Progress, train
from ttt_env.render.charts import new_figure, save

Found = dict[str, NDArray[np.float64]]
FIRST = 100  # games, at which a training is measured first
REPORTS = 25  # measurements after it
LAST = 5  # of these, the numbers at the end are the mean of so many
MEASURES = ("games", "good games per hundred", "score against random", "exploitability")
USUAL = "rate 0.025"
CHANGES: dict[str, dict[str, object]] = {
    USUAL: {},
    "rate 0.0125": {"learning_rate": 0.0125},
    "rate 0.05": {"learning_rate": 0.05},
    "rate 0.075": {"learning_rate": 0.075},
    "rate 0.1": {"learning_rate": 0.1},
    "random only": {"opponents": "random"},
    "self-play only": {"opponents": "self"},
    "self-play, small start": {"opponents": "self", "spread": 0.1},
    "empty 0": {"empty": 0.0},
    "tenth input": {"view": "board"},
}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000")


@dataclass(frozen=True)
class Experiment:
    """One of his comparisons: a title, and by which names the lines go that it compares."""

    file: str
    title: str
    lines: dict[str, str]


EXPERIMENTS = [
    Experiment(
        "value-network-rates",
        "Learning rates",
        {name.removeprefix("rate "): name for name in sorted(CHANGES) if name.startswith("rate")},
    ),
    Experiment(
        "value-network-opponents",
        "Whom it learns from",
        {
            "mixed cycle": USUAL,
            "random only": "random only",
            "self-play only": "self-play only",
            "self-play only, weights of a tenth to begin with": "self-play, small start",
        },
    ),
    Experiment("value-network-empty", "What an empty cell is", {"0.01": USUAL, "0": "empty 0"}),
    Experiment(
        "value-network-view",
        "Whose view it sees",
        {"the mover's": USUAL, "X's, and a tenth input": "tenth input"},
    ),
]


def curve(name: str, seed: int, games: int) -> NDArray[np.float64]:
    """What `MEASURES` say in the course of one training, `[reports, measures]`."""
    rows: list[tuple[float, ...]] = []
    good: list[float] = []

    def report(progress: Progress) -> None:
        good.append(progress.good)
        if progress.games >= games * len(rows) / REPORTS:
            score = ttt_env.match(progress.agent, "random").score
            worst = ttt_env.exploitability(progress.agent).exploitability
            rows.append((progress.games, float(np.mean(good)), score, worst))
            good.clear()

    for n in FIRST, games:  # the same games, for the same seed
        train(seed=seed, games=n, report=report, **CHANGES[name])  # type: ignore[arg-type]
    return np.array(rows)


def all_curves(games: int, seeds: int, processes: int) -> Found:
    """The curves of every line, `[seeds, reports, measures]`."""
    tasks = list(product(CHANGES, range(seeds)))
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        curves = list(pool.map(curve, *zip(*tasks, strict=True), [games] * len(tasks)))
    return {name: np.array(curves[i * seeds : (i + 1) * seeds]) for i, name in enumerate(CHANGES)}


def draw(experiment: Experiment, found: Found) -> Figure:
    """A panel for each measure, a line for each thing compared."""
    figure = new_figure(12.5, 4.2)
    panels: list[Axes] = list(figure.subplots(1, len(MEASURES) - 1))
    for place, (panel, title) in enumerate(zip(panels, MEASURES[1:], strict=True), 1):
        panel.set(title=title, xlabel="games, in thousands")
        panel.grid(color="#e6e6e6")
        panel.spines[["top", "right"]].set_visible(False)
        for colour, (label, name) in zip(COLOURS, experiment.lines.items(), strict=False):
            games, numbers = found[name][0, :, 0] / 1000, found[name][:, :, place]
            if title != "exploitability":  # which is 0.5 or 1: the band would be the whole panel
                panel.fill_between(games, numbers.min(0), numbers.max(0), color=colour, alpha=0.12, lw=0)
            panel.plot(games, numbers.mean(0), color=colour, label=label)
    panels[0].set_ylim(-3, 103)
    n_seeds = len(found[USUAL])
    figure.suptitle(
        f"Value network on 3×3. {experiment.title}: mean and range of {n_seeds} seeds", fontsize=12
    )
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def at_end(found: Found, name: str) -> NDArray[np.float64]:
    """The measures at the end of training, `[seeds, measures]`: the mean of the last reports."""
    return found[name][:, -LAST:, :].mean(axis=1)


def table(found: Found) -> str:
    """The numbers at the end, in Markdown: the mean over the seeds, and the least and the largest."""
    lines = [f"| training | {' | '.join(MEASURES[1:])} |", "|:--|--:|--:|--:|"]
    for name in CHANGES:
        ends = at_end(found, name)[:, 1:].T
        cells = [f"{seeds.mean():.3g} ({seeds.min():.3g} to {seeds.max():.3g})" for seeds in ends]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def verdicts(found: Found) -> str:
    """What came out of his claims, with the numbers at the end: mean over the seeds, least and largest."""
    rates = [name for name in CHANGES if name.startswith("rate")]
    first, last = found[USUAL][:, 0, 1], at_end(found, USUAL)[:, 1]
    lines = [
        f"Progress starts at {spread(first)} good games in the first hundred and ends at {spread(last)}.",
        *(f"{name}: {compared(found, name, 1)}; {compared(found, name, 3)}." for name in rates[1:]),
        f"Random only: {compared(found, 'random only', 2)}; {compared(found, 'random only', 3)}.",
        *(
            f"{name.capitalize()}: {compared(found, name, 1)}; {compared(found, name, 2)}; random has 0."
            for name in ("self-play only", "self-play, small start")
        ),
        f"Empty 0: {compared(found, 'empty 0', 1)}; {compared(found, 'empty 0', 2)}.",
        f"Tenth input: {compared(found, 'tenth input', 1)}; {compared(found, 'tenth input', 2)}.",
    ]
    return "\n".join(lines)


def spread(numbers: NDArray[np.float64]) -> str:
    """A mean with the least and the largest."""
    return f"{numbers.mean():.3g} ({numbers.min():.3g} to {numbers.max():.3g})"


def compared(found: Found, name: str, measure: int) -> str:
    """A measure at the end beside the usual training's, and whether the seeds tell the two apart."""
    here, usual = at_end(found, name)[:, measure], at_end(found, USUAL)[:, measure]
    better = (here > usual.max()).all() or (here < usual.min()).all()
    apart = "every seed apart" if better else "seeds overlap"
    return f"{MEASURES[measure]} {spread(here)} where the usual has {spread(usual)}, {apart}"


def main() -> None:
    """Train, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("--games", type=int, default=500_000, help="of a training")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    found = all_curves(arguments.games, arguments.seeds, arguments.processes)
    for experiment in EXPERIMENTS:
        paths = (arguments.out / f"{experiment.file}.{kind}" for kind in ("svg", "png"))
        save(draw(experiment, found), *paths)
    print(table(found), verdicts(found), f"{time.perf_counter() - begin:.0f} s", sep="\n\n")


if __name__ == "__main__":
    main()
