"""All positions of a board of 20 cells, 5×4 with four in a row: how many there are, and what each is worth.

The values are computed ply by ply from full boards to the empty one, by several processes of this machine or
of a Ray cluster, and kept in `--folder`; a run that was ended goes on there. Two checks end the script: a
proof by search has to find the same value for the empty board and for positions drawn at random, and a game
of best cells, looked up in the files, has to end as they say.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import ttt_env
from ttt_env import Enumeration, Solution

SECONDS_OF_A_PROOF = 60.0


def check(enumeration: Enumeration, solution: Solution, n_positions: int) -> str:
    """Compare with proofs by search; all of it has to agree. Returns the sentence that says so."""
    game, rng = enumeration.game, np.random.default_rng(0)
    positions = [game.start, *(ttt_env.random_position(game, rng) for _ in range(n_positions))]
    for position in positions:
        proof = ttt_env.prove(game, position, seconds=SECONDS_OF_A_PROOF)
        assert proof.value == solution.value_of(position), position
    record = ttt_env.play_game(solution.policy(), solution.policy(), game, rng)
    assert record.value("X") == enumeration.value, record
    return f"{len(positions)} values, that of the empty board among them, are those of proofs by search."


def main() -> None:
    """Enumerate, print the table, and check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="mnk-v0:m=5,n=4,k=4", help="of up to 21 cells")
    parser.add_argument("--folder", type=Path, required=True, help="of the files, 0.74 GB for 20 cells")
    parser.add_argument("--workers", type=int, default=2, help="processes, or tasks of the cluster at a time")
    parser.add_argument("--ray", action="store_true", help="by a Ray cluster, by default of this machine")
    parser.add_argument("--address", help="with --ray: host:port of the cluster, or auto")
    parser.add_argument("--positions", type=int, default=200, help="to be proved by search as well")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    enumeration = ttt_env.enumerate_positions(
        arguments.game,
        arguments.folder,
        workers=arguments.workers,
        backend="ray" if arguments.ray else "loky",
        address=arguments.address,
    )
    print(enumeration)
    print(f"{time.perf_counter() - begun:.1f} s in all")
    print(check(enumeration, Solution.load(arguments.folder, enumeration.game), arguments.positions))


if __name__ == "__main__":
    main()
