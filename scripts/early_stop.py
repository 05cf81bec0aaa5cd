"""Measure the simulations that MCTS saves by stopping early, and how often its move is another one then.

The positions are those after 0 to 11 random moves; each is searched with the whole budget and with each rule.

    python scripts/early_stop.py --positions 100 --budgets 1000 10000
"""

import argparse
from itertools import product
from typing import Any

import numpy as np

import ttt_env
from ttt_env.agents.mcts.search import Search
from ttt_env.render.table import Table

GAMES = "tictactoe-v0", "square-v0", "mnk-v0:m=7,n=7,k=4", "qubic-v0"
RULES: dict[str, dict[str, Any]] = {"early_stop": {"early_stop": True}, "tolerance=0.01": {"tolerance": 0.01}}


def positions_of(game: ttt_env.Game, n: int, rng: np.random.Generator) -> list[ttt_env.Position]:
    """Positions after random moves in which the game goes on."""
    positions: list[ttt_env.Position] = []
    while len(positions) < n:
        position = game.start
        for _ in range(int(rng.integers(12))):
            position = position if position.is_over else position.play(int(rng.choice(position.legal_cells)))
        positions += [] if position.is_over else [position]
    return positions


def compared(
    positions: list[ttt_env.Position], budget: int, solve: bool, rule: dict[str, Any]
) -> tuple[float, float]:
    """The share of the simulations that a rule saves, and of the positions in which the best moves differ."""
    n_whole = n_early = n_other = 0
    for seed, position in enumerate(positions):
        whole = Search(position, solve=solve, seed=seed)
        early = Search(position, solve=solve, seed=seed, **rule)
        n_whole += whole.run(budget)
        n_early += early.run(budget)
        n_other += whole.best_cells() != early.best_cells()
    return 1 - n_early / n_whole, n_other / len(positions)


def main() -> None:
    """Print a row for each game, budget and rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--positions", type=int, default=100)
    parser.add_argument("--budgets", type=int, nargs="+", default=[1000, 10_000])
    options = parser.parse_args()
    rows = []
    for name in GAMES:
        positions = positions_of(ttt_env.get_game(name), options.positions, np.random.default_rng(0))
        for budget, solve, rule in product(options.budgets, (False, True), RULES):
            saved, other = compared(positions, budget, solve, RULES[rule])
            rows.append((name, f"{budget:,}", "yes" if solve else "no", rule, f"{saved:.1%}", f"{other:.1%}"))
    heads = "game", "simulations", "solve", "rule", "saved", "other move"
    print(Table.of(heads, rows, "lrrl").to_markdown())


if __name__ == "__main__":
    main()
