"""Show how PPO falls into the wrong opening of misère tic-tac-toe, and what gets it out, exactly.

On the empty board only the centre draws, and only for a player who then answers every move by its mirror
image. For each way of training and each seed this records, as the model learns, the probability with which
it opens in the centre, in a corner and on an edge, and what each of these is worth to it: the mean result,
computed exactly, of opening there and playing on by the model's best moves, against the opponents that it
trains with at that moment. A training ends when it is certified, or after `--steps`.

Each training is a line of `--lines`, and one that is there is not run again. `--write` trains nothing, and
writes the table of docs/results/leaderboard.md and `opening-trap.svg` from the lines.
"""

import argparse
import time
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import torch
from lines import change_lines, read_lines
from marked import write_table
from matplotlib.figure import Figure
from panels import with_grid

import ttt_env
from ttt_env.agent import Agent, Budget, Floats
from ttt_env.render.charts import new_figure, save
from ttt_env.render.table import Table
from ttt_env.rules import Boards
from ttt_env.training.evaluation import Evaluation, Until
from ttt_env.training.loop import TrainingOptions, one_thread

FIGURES = Path(__file__).parent / "figures"
LINES, PAGE = FIGURES / "opening-trap.jsonl", FIGURES.parents[1] / "docs" / "results" / "leaderboard.md"
GAME = ttt_env.get_game("tictactoe-v0:misere=true")
OPENINGS = {"centre": [4], "corner": [0, 2, 6, 8], "edge": [1, 3, 5, 7]}
COLOURS = {"centre": "#0072b2", "corner": "#009e73", "edge": "#d55e00"}
EVERY = 16_384  # steps

# "optimal" lets the evaluations find the errors in all positions, so that episodes can begin at any of them.
WAYS: dict[str, tuple[str, Until, dict[str, Any]]] = {
    "ppo": ("ppo", "unbeatable", {}),
    "ppo, starts at its blunders": ("ppo", "optimal", {"blunder_starts": 0.5}),
    "maskable-ppo": ("maskable-ppo", "unbeatable", {}),
}


class Opening(Agent):
    """Another agent, but for the first move of the game."""

    is_stationary = True

    def __init__(self, agent: Agent, cell: int) -> None:
        super().__init__(agent.game)
        self.agent, self.cell = agent, cell

    def policies(self, boards: Boards) -> Floats:
        """The other agent's, and the one cell on the empty board."""
        policies = self.agent.policies(boards).copy()
        policies[boards.occupied_masks == 0] = np.eye(self.game.n_cells)[self.cell]
        return policies


def openings(model: Any) -> dict[str, float]:
    """The probability of each kind of opening."""
    planes = torch.as_tensor(GAME.start.planes[None], dtype=torch.float32)
    with torch.no_grad():
        chances = model.policy.get_distribution(planes).distribution.probs[0].tolist()
    return {name: round(sum(chances[cell] for cell in cells), 6) for name, cells in OPENINGS.items()}


def worth(agent: Agent, opponents: list[Agent]) -> dict[str, float]:
    """The mean result of each kind of opening against these opponents."""
    return {
        name: round(mean(ttt_env.match(Opening(agent, cells[0]), each).as_x.value for each in opponents), 6)
        for name, cells in OPENINGS.items()
    }


def trained(way: str, seed: int, steps: int) -> dict[str, Any]:
    """The record of a training."""
    algorithm, until, changes = WAYS[way]
    looks: list[dict[str, Any]] = []
    is_certified = False

    def look(evaluation: Evaluation) -> None:
        nonlocal is_certified
        is_certified = evaluation.reaches("unbeatable")
        if is_certified or not looks or evaluation.steps >= looks[-1]["steps"] + EVERY:
            pool = learner.pool.agents
            looks.append(
                {
                    "steps": evaluation.steps,
                    "chances": openings(learner.model),
                    "worth": worth(learner.agent(), pool),
                    "exploitability": evaluation.criterion[0],
                }
            )

    options = TrainingOptions(GAME, algorithm, seed, changes, steps=steps, until=until)
    begin = time.process_time()
    with one_thread():
        training = options.begin(look)
        learner: Any = training.learner
        while not is_certified and learner.steps < steps:
            training.run(Budget(min(learner.steps + EVERY, steps)))
    seconds = round(time.process_time() - begin, 1)
    return {"way": way, "seed": seed, "certified": is_certified, "seconds": seconds, "looks": looks}


def table(lines: list[dict[str, Any]]) -> str:
    """A row for each way of training."""
    rows = []
    for way in WAYS:
        of_way = [line for line in lines if line["way"] == way]
        ends = sorted(line["looks"][-1]["steps"] for line in of_way if line["certified"])
        least = [min(look["chances"]["centre"] for look in line["looks"]) for line in of_way]
        rows.append(
            (
                way,
                f"{len(ends)} of {len(of_way)}",
                f"{median(ends):,.0f} ({ends[0]:,} to {ends[-1]:,})" if ends else "–",
                f"{median(least):.0e}" if any(least) else "< 1e-06",
                f"{median(line['seconds'] for line in of_way):.0f}",
            )
        )
    head = ("training", "certified", "after steps", "lowest probability of the centre", "CPU seconds")
    return Table.of(head, rows, "lrrrr").to_markdown() + "\n"


def draw(lines: list[dict[str, Any]]) -> Figure:
    """For each way the chances of the openings, and below what they are worth, a line for each seed."""
    figure = new_figure(9.5, 5.2)
    panels = figure.subplots(2, len(WAYS), squeeze=False, sharey="row")
    for column, way in zip(panels.T, WAYS, strict=True):
        for panel, measure in zip(column, ("chances", "worth"), strict=True):
            for line in (line for line in lines if line["way"] == way):
                steps = [look["steps"] / 1000 for look in line["looks"]]
                for name, colour in COLOURS.items():
                    numbers = [look[measure][name] for look in line["looks"]]
                    panel.plot(steps, numbers, color=colour, linewidth=1, alpha=0.7)
            with_grid(panel)
        column[0].set_title(way, fontsize=10)
        column[1].set_xlabel("thousand steps")
    panels[0, 0].set_ylabel("probability of opening there")
    panels[1, 0].set_ylabel("worth against the opponents")
    handles = [
        panels[0, 0].plot([], [], color=colour, linewidth=2, label=name)[0]
        for name, colour in COLOURS.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def main() -> None:
    """Train, and write down what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--lines", type=Path, default=LINES, help="a file of JSON lines with the trainings")
    parser.add_argument("--out", type=Path, default=FIGURES, help="folder for the picture")
    parser.add_argument("--write", action="store_true", help="only write the table and the picture")
    arguments = parser.parse_args()
    known = read_lines(arguments.lines)
    done = {(line["way"], line["seed"]) for line in known}
    for seed in range(0 if arguments.write else arguments.seeds):
        for way in arguments.ways:
            if (way, seed) not in done:
                line = trained(way, seed, arguments.steps)
                change_lines(arguments.lines, lambda lines, line=line: [*lines, line])
                end = line["looks"][-1]
                print(f"{way}, seed {seed}: {end['steps']:,} steps, opens by {end['chances']}", flush=True)
    if arguments.write:
        lines = read_lines(arguments.lines)
        write_table(PAGE, table(lines), "opening-trap")
        save(draw(lines), arguments.out / "opening-trap.svg")


if __name__ == "__main__":
    main()
