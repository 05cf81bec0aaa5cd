"""Measure the speed of `mcts`, next to OpenSpiel's search if it is installed (`pip install open-spiel`).

The speed is simulations in a second of the processor from the empty board, with random playouts, c = √2 and
no proofs. Rounds of OpenSpiel's C++ `MCTSBot` and ours take turns with as many simulations; each round gives
a ratio of its own, and the medians are printed.
"""

import argparse
from math import sqrt
from statistics import median
from time import process_time
from typing import NamedTuple

from speed.measuring import timed, verdict

import ttt_env
from ttt_env.agents.mcts.search import Search

try:
    import pyspiel
except ImportError:
    pyspiel = None

C = sqrt(2)
MEMORY_MB = 4000  # more than OpenSpiel needs here; with too little it would search on, but slower


class Speed(NamedTuple):
    """A game, the simulations of a round, its name in OpenSpiel, and how many times faster we want to be."""

    game: str
    simulations: int
    peer: str | None = None
    goal: float = 0.0


SPEEDS = (
    Speed("tictactoe-v0", 100_000, "tic_tac_toe", 1.5),
    Speed("mnk-v0:m=5,n=5,k=4", 10_000, "mnk(m=5,n=5,k=4)", 15),
    Speed("mnk-v0:m=8,n=8,k=5", 2_000, "mnk(m=8,n=8,k=5)", 50),
    Speed("connect-four-v0", 10_000, "connect_four", 5),
    Speed("square-v0", 20_000),
    Speed("qubic-v0", 10_000),
)


def our_seconds(speed: Speed, simulations: int, seed: int) -> float:
    """The seconds that our search takes."""
    search = Search(ttt_env.get_game(speed.game).start, c=C, solve=False, seed=seed)
    return timed(lambda: search.run(simulations), process_time)


def peer_seconds(speed: Speed, simulations: int, seed: int) -> float:
    """The seconds that OpenSpiel's search takes."""
    game = pyspiel.load_game(speed.peer)
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    bot = pyspiel.MCTSBot(game, evaluator, C, simulations, MEMORY_MB, False, seed, False)
    start = game.new_initial_state()
    return timed(lambda: bot.mcts_search(start), process_time)


def print_speeds(rounds: int, share: float) -> None:
    """Print the table of simulations a second."""
    print(f"Simulations/s of mcts from the empty board, one thread; medians of {rounds} rounds\n")
    print(f"  {'game':22}{'OpenSpiel':>12}{'ttt_env':>12}{'ratio':>8}{'goal':>6}")
    for speed in SPEEDS:
        n = max(1, int(speed.simulations * share))
        our_seconds(speed, n, 0)
        has_peer = pyspiel is not None and speed.peer is not None
        pairs = [
            (peer_seconds(speed, n, seed) if has_peer else float("nan"), our_seconds(speed, n, seed))
            for seed in range(rounds)
        ]
        theirs, ours = (n / median(seconds) for seconds in zip(*pairs, strict=True))
        line = f"  {speed.game:22}{theirs:>12,.0f}{ours:>12,.0f}"
        if has_peer:
            ratio = median(a / b for a, b in pairs)
            line += f"{ratio:>8.1f}{speed.goal:>6g}  {verdict(ratio >= speed.goal)}"
        print(line)
    if pyspiel is None:
        print("\nTo compare with OpenSpiel: pip install open-spiel")


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--share", type=float, default=1.0, help="of the usual simulations a round")
    arguments = parser.parse_args()
    print_speeds(arguments.rounds, arguments.share)


if __name__ == "__main__":
    main()
