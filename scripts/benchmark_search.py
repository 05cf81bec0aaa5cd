"""Measure the searches: speed, and strength at equal effort; next to OpenSpiel's if it is installed.

`mcts`: simulations in a second of the processor from the empty board, random playouts, c = √2, no proofs.
Rounds of OpenSpiel's C++ `MCTSBot` and ours take turns with as many simulations; each gives its own ratio,
and the medians are printed. With `--games`, both then play this number of games of 5,5,4, half of them on
each seat, with equal simulations a move and proofs on both sides. A win and a loss are 1 and −1 there, 1 and
0 here, so the same exploration is half of c here; the same c explores twice as much.

    pip install open-spiel
    python scripts/benchmark_search.py --games 800
"""

import argparse
from math import sqrt
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from speed.measuring import timed, verdict

import ttt_env
from ttt_env.agent import Agent
from ttt_env.agents.mcts.search import Search
from ttt_env.rules import cells_of

try:
    import pyspiel
except ImportError:
    pyspiel = None

C = sqrt(2)
MEMORY_MB = 4000  # more than OpenSpiel needs here; with too little it would search on, but slower


class Speed(NamedTuple):
    """A game here and in OpenSpiel, the simulations of a round, and how many times faster we want to be."""

    game: str
    peer: str | None
    simulations: int
    goal: float | None


SPEEDS = (
    Speed("tictactoe-v0", "tic_tac_toe", 100_000, 1.5),
    Speed("mnk-v0:m=5,n=5,k=4", "mnk(m=5,n=5,k=4)", 10_000, 15),
    Speed("mnk-v0:m=8,n=8,k=5", "mnk(m=8,n=8,k=5)", 2_000, 50),
    Speed("mnk-v0:m=15,n=15,k=5", "mnk(m=15,n=15,k=5)", 1_000, 50),
    Speed("square-v0", None, 20_000, None),
    Speed("qubic-v0", None, 10_000, None),
)
DUEL_GAME, DUEL_PEER = "mnk-v0:m=5,n=5,k=4", "mnk(m=5,n=5,k=4)"
OUR_SETTINGS = {
    "the same exploration": f"c={C / 2}",
    "the same c": f"c={C}",
    "the same c, win-block playouts": f"c={C},playout=win-block",
}


def open_spiel_bot(game: Any, simulations: int, solve: bool, seed: int) -> Any:
    """OpenSpiel's search with one random rollout a simulation."""
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    return pyspiel.MCTSBot(game, evaluator, C, simulations, MEMORY_MB, solve, seed, False)


def our_seconds(speed: Speed, simulations: int, seed: int) -> float:
    """The seconds that our search takes."""
    search = Search(ttt_env.get_game(speed.game).start, c=C, solve=False, seed=seed)
    return timed(lambda: search.run(simulations), process_time)


def peer_seconds(speed: Speed, simulations: int, seed: int) -> float:
    """The seconds that OpenSpiel's search takes."""
    game = pyspiel.load_game(speed.peer)
    bot, start = open_spiel_bot(game, simulations, False, seed), game.new_initial_state()
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
        print(line + (compared(median(a / b for a, b in pairs), speed.goal) if has_peer else ""))
    if pyspiel is None:
        print("\nTo compare with OpenSpiel: pip install open-spiel")


def compared(ratio: float, goal: float | None) -> str:
    """The last columns: how many times faster, and whether that is enough."""
    if goal is None:
        return f"{ratio:>8.1f}"
    return f"{ratio:>8.1f}{goal:>6g}  {verdict(ratio >= goal)}"


class OpenSpielMCTS(Agent):
    """OpenSpiel's search as an agent of ours; it draws its seed from the `rng` of the game."""

    def __init__(self, game: ttt_env.Game, peer: str, simulations: int) -> None:
        super().__init__(game)
        self.peer, self.simulations = pyspiel.load_game(peer), simulations

    def choose(self, position: ttt_env.Position, rng: np.random.Generator) -> int:
        """The move after a search."""
        state = self.state_of(position)
        return int(open_spiel_bot(self.peer, self.simulations, True, int(rng.integers(1 << 31))).step(state))

    def state_of(self, position: ttt_env.Position) -> Any:
        """OpenSpiel's state with the same stones, placed in turns; both sides number cells by rows."""
        state = self.peer.new_initial_state()
        stones = cells_of(position.x_mask), cells_of(position.o_mask)
        for number in range(position.ply):
            state.apply_action(stones[number % 2][number // 2])
        return state


def print_duels(games: int, simulations: int) -> None:
    """Print the results of both at equal simulations, with each of `OUR_SETTINGS`."""
    game = ttt_env.get_game(DUEL_GAME)
    theirs = OpenSpielMCTS(game, DUEL_PEER, simulations)
    print(f"\nttt_env against OpenSpiel on {game.name}: {simulations} simulations a move, {games} games\n")
    for name, settings in OUR_SETTINGS.items():
        match = ttt_env.match(f"mcts:{simulations},{settings}", theirs, game, games=games)
        assert match.interval is not None
        ends = ("/".join(f"{share:.0%}" for share in result) for result in (match.as_x, match.as_o))
        low, high = match.interval
        print(f"  {name:34} won/drawn/lost as X {next(ends)}, as O {next(ends)}")
        print(f"  {'':34} score {match.score:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}")


def main() -> None:
    """Measure, and print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--share", type=float, default=1.0, help="of the usual simulations a round")
    parser.add_argument("--games", type=int, default=0, help="games against OpenSpiel")
    parser.add_argument("--simulations", type=int, default=1000, help="a move in these")
    arguments = parser.parse_args()
    print_speeds(arguments.rounds, arguments.share)
    if arguments.games and pyspiel is not None:
        print_duels(arguments.games, arguments.simulations)


if __name__ == "__main__":
    main()
