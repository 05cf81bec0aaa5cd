"""Compute exactly how fast tabular Q-learning becomes unbeatable, and optimal in every position.

For several shares of random moves: the exploitability, and the share of the positions in which value may be
given away, against the games of self-play. Lines are means over the seeds, bands reach from the smallest to
the largest. Writes `q-learning` as SVG and PNG, and prints for each game and seed after how many games, and
how many seconds of learning and evaluation, the agent was certified. The seconds of the first seed include
the enumeration of all positions.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from panels import of_measures, write

import ttt_env
from ttt_env.agent import Budget
from ttt_env.agents.learned.q_learning import QLearner, QLearning
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.analysis.layers import reachable
from ttt_env.render.charts import new_figure
from ttt_env.render.table import Table
from ttt_env.training.evaluation import Evaluation, Until

GAME = ttt_env.get_game("tictactoe-v0")
TO_BE_PLAYED = sum(len(layer.open_slots) for layer in reachable(GAME))
GAMES = np.unique(np.geomspace(10, 100_000, 30).astype(int))
LOOKS = {0.1: ("#0072b2", "-"), 0.5: ("#d55e00", "--"), 1.0: ("#009e73", ":")}
MEASURES = ("exploitability", "share of positions with a mistake")
GOALS: tuple[Until, ...] = ("unbeatable", "optimal")
ON = ("tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3")


def measure(agent: QLearning) -> tuple[float, float]:
    """The values of `MEASURES` for the agent."""
    mistakes = len(blunders_everywhere(agent, GAME)) / TO_BE_PLAYED
    return ttt_env.exploitability(agent, GAME).exploitability, mistakes


def train(games: int, seed: int, epsilon: float) -> QLearning:
    """The agent after so many games."""
    learner = QLearner(GAME, seed, epsilon=epsilon)
    while learner.games < games:
        learner.advance(Budget(steps=games - learner.games))
    return learner.agent()


def curves(epsilon: float, seeds: int) -> NDArray[np.float64]:
    """The measures after so many games, `[games, seeds, measures]`."""
    return np.array([[measure(train(n, seed, epsilon)) for seed in range(seeds)] for n in GAMES.tolist()])


def draw(measured: dict[float, NDArray[np.float64]], seeds: int) -> Figure:
    """A panel for each measure, a line for each share of random moves."""
    title = f"Tabular Q-learning on 3×3, exact; mean and range of {seeds} seeds"
    lines = {f"ε = {epsilon:g}": (measured[epsilon], looks) for epsilon, looks in LOOKS.items()}
    return of_measures(new_figure(9.5, 4.3), title, "games of self-play", MEASURES, GAMES, lines)


def cost_of(game: str, goal: Until, seed: int) -> tuple[int, float]:
    """The games and seconds until the agent is certified to have reached the goal."""
    looks: list[Evaluation] = []
    begin = perf_counter()
    ttt_env.train(game, "q-learning", seed=seed, until=goal, report=looks.append)
    return looks[-1].steps, perf_counter() - begin


def table(games: list[str], seeds: int) -> str:
    """The games and seconds that each seed needed, in Markdown."""
    heads = [f"{goal}: {unit}" for goal in GOALS for unit in ("games", "seconds")]
    rows = []
    for game in games:
        for seed in range(seeds):
            figures = (cost_of(game, goal, seed) for goal in GOALS)
            texts = [text for n, seconds in figures for text in (f"{n:,}", f"{seconds:.2f}")]
            rows.append([game, seed, *texts])
    return Table.of(["game", "seed", *heads], rows).to_markdown()


def main() -> None:
    """Train, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder to write to")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--on", nargs="+", default=list(ON), help="the games of the table")
    arguments = parser.parse_args()
    train(1, 0, 0.5)  # so that no time is that of compiling
    measured = {epsilon: curves(epsilon, arguments.seeds) for epsilon in LOOKS}
    write(draw(measured, arguments.seeds), arguments.out, "q-learning")
    print(table(arguments.on, arguments.seeds))


if __name__ == "__main__":
    main()
