"""Count an agent's first moves that keep a proved win.

The agent plays as X, and after each of its first moves a search asks whether X still wins. On boards that
cannot be enumerated this says more than results do: an opponent may not find what refutes a move. "Unknown"
are moves for which the search could prove neither within `--seconds`. Moves that the strategy in the file of
a proof, `--proof`, plays as well need no search. Prints a Markdown table.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import ttt_env
from ttt_env.agent import make_agent
from ttt_env.analysis.play import play_game
from ttt_env.render.table import Table
from ttt_env.rules import GameRecord, Position, cells_of
from ttt_env.rules.symmetry import automorphisms, transform

KEPT, LOST, UNKNOWN = "kept", "lost", "unknown"


class Wins:
    """Says of positions with O to move whether X wins them; of symmetric ones one is proved.

    `proof` may have a strategy of X that wins.
    """

    def __init__(self, seconds: float, proof: ttt_env.Proof | None = None) -> None:
        self.seconds = seconds
        self.strategies = [] if proof is None else [one for one in proof.strategies if one.wins]
        self.known: dict[Position, str] = {}

    def after(self, position: Position) -> str:
        """The verdict on the move that led to this position: kept the win, lost it, or unknown."""
        position = smallest(position)
        if position not in self.known:
            self.known[position] = KEPT if self.is_of_strategy(position) else self.searched(position)
        return self.known[position]

    def is_of_strategy(self, position: Position) -> bool:
        """True if the strategy leads to this position."""
        for strategy in self.strategies:
            for stone in cells_of(position.theirs):
                before = Position(position.game, position.theirs & ~(1 << stone), position.mine)
                cell = strategy.cell(before)
                if cell is not None and smallest(before.play(cell)) == position:
                    return True
        return False

    def searched(self, position: Position) -> str:
        """The verdict of a search on the move that led to this position."""
        proof = ttt_env.prove(position.game, position, seconds=self.seconds)
        lower, upper = proof.bounds
        verdict = KEPT if upper == -1 else LOST if lower > -1 else UNKNOWN
        print(f"{position}: {verdict}, {proof.seconds:.1f} s", file=sys.stderr)
        return verdict


def smallest(position: Position) -> Position:
    """The one of all symmetric positions whose masks are the smallest."""
    images = (transform(position, permutation) for permutation in automorphisms(position.game))
    return min(images, key=lambda image: (image.mine, image.theirs))


def verdicts(record: GameRecord, moves: int, wins: Wins) -> list[str]:
    """The verdicts on X's first moves, up to the first one that did not certainly keep the win."""
    found = []
    for position in record.positions()[1 : 2 * moves : 2]:
        found.append(KEPT if position.winner == "X" else wins.after(position))
        if found[-1] != KEPT:
            break
    return found


def main() -> None:
    """Play, prove, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="mnk-v0:m=6,n=5,k=4")
    parser.add_argument("--agent", default="alphazero")
    parser.add_argument("--opponent", default="mcts:simulations=5000")
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--moves", type=int, default=4, help="so many of X's first moves")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each proof")
    parser.add_argument("--proof", type=Path, help="the file of a proof that X wins, such as docs/proofs has")
    options = parser.parse_args()
    game = ttt_env.get_game(options.game)
    agent, opponent = make_agent(options.agent, game), make_agent(options.opponent, game)
    counts = [Counter[str]() for _ in range(options.moves)]
    wins, won = Wins(options.seconds, options.proof and ttt_env.Proof.load(options.proof)), 0
    for seed in range(options.games):
        record = play_game(agent, opponent, game, rng=np.random.default_rng(seed))
        won += record.positions()[-1].winner == "X"
        for number, verdict in enumerate(verdicts(record, options.moves, wins)):
            counts[number][verdict] += 1
    names = f"{options.agent} as X against {options.opponent} on {game.name}"
    print(f"{names}: won {won} of {options.games} games.\n")
    rows = [
        [number, count.total(), *(count[verdict] for verdict in (KEPT, LOST, UNKNOWN))]
        for number, count in enumerate(counts, start=1)
    ]
    head = ("move of X", "still won before", "kept", "lost", "unknown")
    print(Table.of(head, rows, "r").to_markdown())
    total = sum(counts, Counter[str]())
    print(f"\n{total[KEPT]} of {total.total()} moves kept the win, {total[UNKNOWN]} are unknown.")


if __name__ == "__main__":
    main()
