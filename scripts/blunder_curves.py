"""Draw how often agents blunder in Connect Four, by the number of stones on the board.

A position counts if one of its legal moves gives value away; the rate of an agent there is the probability
of such a move. On 4×4 this is exact: the mean over all such positions of the game. On 7×6 it is the mean over
the positions in `figures/connect-four-positions.jsonl`, from random games with 8 stones and more, with the
proved value of each move; `--solve` makes that file anew. Writes `blunders` as SVG and PNG, and prints
the rates.

    python scripts/blunder_curves.py            # some minutes, most of them of training
    python scripts/blunder_curves.py --solve 20  # 20 positions for each number of stones
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from lines import change_lines, read_lines
from matplotlib.figure import Figure
from numpy.typing import NDArray
from panels import with_grid, write

import ttt_env
from ttt_env import Agent, Boards, Position
from ttt_env.agent import Budget
from ttt_env.agents.learned.q_learning import QLearner
from ttt_env.analysis.layers import reachable
from ttt_env.render.charts import new_figure
from ttt_env.render.table import Table

FOLDER = Path(__file__).parent / "figures"
POSITIONS = FOLDER / "connect-four-positions.jsonl"
SMALL, BOARD = ttt_env.get_game("connect-four-v0:m=4,n=4"), ttt_env.get_game("connect-four-v0")
FIRST = 8  # stones, from which on a value is proved in seconds
STAGE = 4  # stones whose positions are taken together on 7×6
GAMES = (1_000, 10_000, 100_000)  # after which a Q-learner is looked at
OF_SEARCH = ("random", "win-block", "mcts:simulations=100", "mcts:simulations=1000", "mcts:simulations=10000")

Curve = dict[int, float]  # rates by the number of stones


def rates(agent: Agent, boards: Boards, is_blunder: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The probability of a blunder in each position; `is_blunder` are the moves, `bool[B, cells]`."""
    rates: NDArray[np.float64] = (agent.policies(boards) * is_blunder).sum(axis=1)
    return rates


# --- 4×4, all positions -------------------------------------------------------------------------------------


def exact_curve(agent: Agent) -> Curve:
    """The mean rates over all positions of the small board in which a blunder is possible."""
    solution, curve = ttt_env.solve(SMALL), {}
    for layer in reachable(SMALL):
        boards = layer.boards(layer.open_slots)
        is_blunder = boards.legal & ~solution.best_moves(boards)
        at = np.flatnonzero(is_blunder.any(axis=1))
        if len(at):
            curve[layer.ply] = float(rates(agent, boards[at], is_blunder[at]).mean())
    return curve


def of_small_board(seed: int) -> dict[str, Curve]:
    """The curves of random play and of Q-learning after some numbers of games against itself."""
    curves, learner = {"random": exact_curve(ttt_env.make_agent("random"))}, QLearner(SMALL, seed)
    for games in GAMES:
        while learner.games < games:
            learner.advance(Budget(steps=games - learner.games))
        curves[f"q-learning, {games:,} games"] = exact_curve(learner.agent())
    return curves


# --- 7×6, a fixed set ---------------------------------------------------------------------------------------


def solved_positions(n_each: int, seed: int = 0) -> Iterator[tuple[Position, dict[int, int]]]:
    """Positions of random games, so many for each number of stones, with the value of each column."""
    for ply in range(FIRST, BOARD.n_cells - 1):
        rng, known = np.random.default_rng((seed, ply)), set[Position]()
        while len(known) < n_each:
            position = BOARD.start
            while position.ply < ply and not position.is_over:
                position = position.play(int(rng.choice(position.legal_cells)))
            if position.is_over or position in known:
                continue
            values = {
                BOARD.column_of[cell]: -(ttt_env.prove(BOARD, position.play(cell)).value or 0)
                for cell in position.legal_cells
            }
            if len(set(values.values())) > 1:
                known.add(position)
                yield position, values


def solve(n_each: int) -> None:
    """Write the file of solved positions."""
    lines = [
        {"position": str(position), "values": {str(column): value for column, value in values.items()}}
        for position, values in solved_positions(n_each)
    ]
    change_lines(POSITIONS, lambda _: lines)


def read_positions() -> tuple[Boards, NDArray[np.bool_]]:
    """The solved positions, and the moves that are blunders in them, `bool[B, cells]`."""
    lines = read_lines(POSITIONS)
    boards = Boards.of([Position.parse(line["position"], BOARD) for line in lines])
    is_blunder = boards.legal.copy()
    for row, line in enumerate(lines):
        values = line["values"]
        for cell in np.flatnonzero(is_blunder[row]).tolist():
            is_blunder[row, cell] = values[str(BOARD.column_of[cell])] < max(values.values())
    return boards, is_blunder


def staged_curve(agent: Agent) -> Curve:
    """The mean rates over the solved positions of each stage."""
    boards, is_blunder = read_positions()
    stages, chances = boards.ply // STAGE * STAGE, rates(agent, boards, is_blunder)
    return {int(stage): float(chances[stages == stage].mean()) for stage in np.unique(stages)}


def of_large_board(seconds: float, seed: int) -> dict[str, Curve]:
    """The curves of random play, rules and searches, and of AlphaZero after so many seconds."""
    curves = {name: staged_curve(ttt_env.make_agent(name, game=BOARD)) for name in OF_SEARCH}
    learned = ttt_env.train(BOARD, "alphazero", seed=seed, seconds=seconds, until="budget")
    return curves | {f"alphazero, {seconds:.0f} s": staged_curve(learned)}


# --- The figure ---------------------------------------------------------------------------------------------


def draw(curves: Mapping[str, Mapping[str, Curve]]) -> Figure:
    """A panel for each board, a line for each agent."""
    figure = new_figure(9.5, 4.6)
    for panel, (title, lines) in zip(figure.subplots(1, 2, sharey=True), curves.items(), strict=True):
        with_grid(panel, title=title, xlabel="stones on the board", ylim=(0, 1))
        for name, curve in lines.items():
            panel.plot([*curve], [*curve.values()], marker="o", markersize=3, label=name)
        panel.legend(frameon=False, fontsize=8)
    figure.axes[0].set_ylabel("probability of a blunder")
    return figure


def main() -> None:
    """Solve the positions, or draw and print the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    parser.add_argument("--solve", type=int, metavar="N", help="solve N positions for each number of stones")
    parser.add_argument("--seconds", type=float, default=300, help="of training AlphaZero on 7×6")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.solve:
        solve(options.solve)
        return
    curves = {
        "4×4: all positions": of_small_board(options.seed),
        "7×6: solved positions": of_large_board(options.seconds, options.seed),
    }
    write(draw(curves), options.out, "blunders")
    for title, lines in curves.items():
        plies = sorted({ply for curve in lines.values() for ply in curve})
        rows = [[name, *(f"{curve.get(ply, 0):.3f}" for ply in plies)] for name, curve in lines.items()]
        print(f"{title}\n\n{Table.of(['agent', *map(str, plies)], rows).to_markdown()}")


if __name__ == "__main__":
    main()
