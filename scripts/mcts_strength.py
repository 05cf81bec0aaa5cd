"""Compute exactly on 3×3 how the strength of Monte Carlo tree search grows with its simulations.

With a seed the agent is a fixed policy, so its exploitability and its scores against optimal and random play
are computed over all positions; only the seeds are a sample. A line is the mean over the seeds, its band
reaches from the smallest to the largest value. Writes `mcts-strength` as SVG and PNG and prints the numbers.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from panels import of_measures, write

import ttt_env
from ttt_env.agents.mcts.search import PLAYOUTS
from ttt_env.render.charts import new_figure
from ttt_env.render.table import Table

SIMULATIONS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000)
LOOKS = {"random": ("#0072b2", "-"), "win-block": ("#d55e00", "--")}
MEASURES = ("exploitability", "score against minimax", "score against random")


def strength(simulations: int, playout: str, seed: int) -> tuple[float, ...]:
    """The values of `MEASURES` for the agent."""
    agent = ttt_env.make_agent(f"mcts:simulations={simulations},playout={playout},seed={seed}")
    scores = (ttt_env.match(agent, opponent).score for opponent in ("minimax", "random"))
    return ttt_env.exploitability(agent).exploitability, *scores


def draw(simulations: list[int], strengths_of: dict[str, NDArray[np.float64]]) -> Figure:
    """A panel for each measure, a line for each kind of playout, of strengths `[at, seeds, measures]`."""
    n_seeds = next(iter(strengths_of.values())).shape[1]
    title = f"Monte Carlo tree search on 3×3, exact; mean and range of {n_seeds} seeds"
    lines = {f"{playout} playouts": (numbers, LOOKS[playout]) for playout, numbers in strengths_of.items()}
    return of_measures(new_figure(12.5, 4.2), title, "simulations a move", MEASURES, simulations, lines)


def table(simulations: list[int], strengths_of: dict[str, NDArray[np.float64]]) -> str:
    """The means over the seeds, in Markdown, and how many of the seeds give an agent that nobody beats."""
    rows = []
    for playout, strengths in strengths_of.items():
        for n, numbers in zip(simulations, strengths, strict=True):
            unbeatable = f"{(numbers[:, 0] == 0).sum()} of {len(numbers)}"
            rows.append([f"{n:,}", playout, *(f"{mean:.4f}" for mean in numbers.mean(axis=0)), unbeatable])
    return Table.of(("simulations", "playout", *MEASURES, "unbeatable"), rows, "rl").to_markdown()


def main() -> None:
    """Compute, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--most", type=int, default=SIMULATIONS[-1], help="maximum of simulations a move")
    arguments = parser.parse_args()
    simulations = [n for n in SIMULATIONS if n <= arguments.most]
    seeds = range(arguments.seeds)
    strengths_of = {
        playout: np.array([[strength(n, playout, seed) for seed in seeds] for n in simulations])
        for playout in PLAYOUTS
    }
    write(draw(simulations, strengths_of), arguments.out, "mcts-strength")
    print(table(simulations, strengths_of))


if __name__ == "__main__":
    main()
