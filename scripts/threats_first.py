"""Measure the gain of MCTS from looking for threats first, at equal time, on 8×8, five in a row, by default.

Both agents are `mcts`, one with `threats=true`. Their simulations in a second of the processor are measured
on the positions of a game of the plain one against itself; then each gets as many as fill `--seconds` a
move. The time they took in the games is printed next to the results: it is shorter if a position was proved.

    python scripts/threats_first.py --games 200 --seconds 0.2
"""

import argparse
import sys
import time
from collections import Counter

import numpy as np

import ttt_env
from ttt_env.agent import Agent
from ttt_env.agents.mcts.search import Search
from ttt_env.render.table import Table
from ttt_env.rules import SEATS

PLAIN, THREATS = "mcts", "mcts, threats first"
SETTINGS = {PLAIN: "", THREATS: ",threats=true"}
PILOT_SIMULATIONS = 2000
ENDS = {1: "won", 0: "drawn", -1: "lost"}


class Player(Agent):
    """One of the two, and the seconds of the processor that its moves take."""

    def __init__(self, game: ttt_env.Game, name: str, simulations: int) -> None:
        super().__init__(game)
        self.agent: Agent = ttt_env.make_agent(f"mcts:simulations={simulations}{SETTINGS[name]}", game)
        self.simulations, self.seconds, self.n_moves = simulations, 0.0, 0

    def choose(self, position: ttt_env.Position, rng: np.random.Generator) -> int:
        """The move of the agent."""
        begin = time.process_time()
        cell = self.agent.choose(position, rng)
        self.seconds += time.process_time() - begin
        self.n_moves += 1
        return cell


def speeds(game: ttt_env.Game, seed: int) -> dict[str, float]:
    """The simulations of each in a second of the processor."""
    pilot = ttt_env.make_agent(f"mcts:simulations={PILOT_SIMULATIONS}", game)
    positions = list(ttt_env.play_game(pilot, pilot, game, np.random.default_rng(seed)).positions())
    return {
        name: speed(name, [position for position in positions if not position.is_over]) for name in SETTINGS
    }


def speed(name: str, positions: list[ttt_env.Position]) -> float:
    """The same of one of them, over these positions."""
    n_done, seconds = 0, 0.0
    for position in positions:
        search = Search(position, threats=bool(SETTINGS[name]))
        begin = time.process_time()
        n_done += search.run(PILOT_SIMULATIONS)
        seconds += time.process_time() - begin
    return n_done / seconds


def main() -> None:
    """Calibrate, play, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="mnk-v0:m=8,n=8,k=5")
    parser.add_argument("--games", type=int, default=200, help="half of them on each seat")
    parser.add_argument("--seconds", type=float, default=0.2, help="of the processor, a move")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    game = ttt_env.get_game(arguments.game)
    speed_of = speeds(game, arguments.seed)
    players = {
        name: Player(game, name, max(1, round(per_second * arguments.seconds)))
        for name, per_second in speed_of.items()
    }
    print(f"{game.name}, {arguments.games} games, {arguments.seconds:g} s of the processor a move\n")
    rng, ends = np.random.default_rng(arguments.seed), Counter[tuple[str, str]]()
    for number in range(arguments.games):
        seat = SEATS[number % 2]
        plain, threats = players[PLAIN], players[THREATS]
        x, o = (threats, plain) if seat == "X" else (plain, threats)
        end = ENDS[ttt_env.play_game(x, o, game, rng).value(seat)]
        ends[seat, end] += 1
        print(f"game {number + 1}, threats first as {seat}: {end}", file=sys.stderr, flush=True)
    rows = [
        (name, f"{speed_of[name]:,.0f}", f"{each.simulations:,}", f"{each.seconds / each.n_moves:.3f}")
        for name, each in players.items()
    ]
    head = ("", "simulations/s", "simulations a move", "seconds a move in the games")
    print(Table.of(head, rows).to_markdown(), end="\n\n")
    counts = [(seat, *(ends[seat, end] for end in ENDS.values())) for seat in SEATS]
    print(Table.of(("threats first as", *ENDS.values()), counts).to_markdown())
    n_won = sum(ends[seat, "won"] for seat in SEATS)
    print(f"\nThreats first wins {n_won} of {arguments.games} games, {n_won / arguments.games:.0%}.")


if __name__ == "__main__":
    main()
