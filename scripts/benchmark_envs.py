"""Time the steps of the environments, ours and others, and print the ratios.

Two players: `ttt_env.tictactoe_v0.env()` and `pettingzoo.classic.tictactoe_v3.env()` run under the very same
loop (`agent_iter`, `last`, a random legal move, `step`), one after the other, several rounds. Each round
gives a ratio of its own, so a machine that is slow for a while slows both sides of it. `raw_env()`,
PettingZoo without its wrappers, and so without the checks that ours has built in, is timed as well.

One player: `step` and `reset` of the single-agent environment against several opponents.

Moves are drawn by rejection there: random cells, all drawn beforehand, until the mask allows one. It costs
little, so that the environments are measured and not the draw. A step is one call of `step`, dead steps
included; resets are in the time.

Many games at once: our vector environments next to PettingZoo (as it is, and as its tutorial wraps it for
SB3), Gymnasium's `SyncVectorEnv`, OpenSpiel and Pgx. All play random legal moves that were recorded
beforehand, so no move is chosen in the loop, except in the rows that say so: there ours draws by a look-up of
the mask, Pgx by `jax.random.categorical`, and OpenSpiel from its list. A step is a move of one game. A step
that only begins a new game is in the time but not in the count; so are resets, one in 20 to 100 steps.
Each step of ours returns observation, mask, rewards and ends as new arrays; Pgx's scan keeps only the last
state, and the bare playouts of OpenSpiel return nothing. All run on one thread, except Pgx, which runs on as
many as JAX takes. Peers that are not installed are left out.

    pip install ".[peers,train]"
    python scripts/benchmark_envs.py --plot vector-speed.svg
"""

import argparse
import random
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

from speed.contenders import pettingzoo_tictactoe
from speed.measuring import measured, verdict
from speed.results import plot, print_vector

import ttt_env

GOAL_RATIO = 12
GOAL_SINGLE = 150_000
N_DRAWS = 100_003
SINGLE: dict[str, dict[str, Any]] = {
    "random": {"opponent": "random"},
    "random, dict observation": {"opponent": "random", "observation": "dict"},
    "minimax": {"opponent": "minimax"},
    "random and minimax by turns": {"opponent": ["random", "minimax"]},
    "a function": {"opponent": lambda position: position.legal_cells[0]},
    "random, Square 4×4": {"id": "square-v0", "opponent": "random"},
    "random, Qubic 4×4×4": {"id": "qubic-v0", "opponent": "random"},
    "random, Connect Four 7×6": {"id": "connect-four-v0", "opponent": "random"},
}


def random_cells(n_cells: int, seed: int) -> Iterator[int]:
    """An endless sequence of random cells: the same `N_DRAWS` draws again and again."""
    return cycle(random.Random(seed).choices(range(n_cells), k=N_DRAWS))


def aec_steps_per_second(env: Any, seconds: float, seed: int) -> float:
    """The steps a second in random games, played for about so many seconds."""
    cells = random_cells(env.action_space(env.possible_agents[0]).n, seed)
    steps, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < seconds or not steps:
        env.reset()
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                action = None
            else:
                mask = observation["action_mask"]
                action = next(cells)
                while not mask[action]:
                    action = next(cells)
            env.step(action)
            steps += 1
    return steps / spent


def single_steps_per_second(env: Any, seconds: float, seed: int) -> float:
    """The steps a second in random games against the env's opponent, for about so many seconds."""
    cells = random_cells(env.action_space.n, seed)
    steps, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < seconds or not steps:
        _, info = env.reset()
        over = False
        while not over:
            mask = info["action_mask"]
            action = next(cells)
            while not mask[action]:
                action = next(cells)
            _, _, over, _, info = env.step(action)
            steps += 1
    return steps / spent


def print_two_players(seconds: float, rounds: int) -> None:
    """Print the table of the two-player environments, and the ratios round by round."""
    try:
        theirs = pettingzoo_tictactoe()
    except ImportError as error:
        print(f'Two players are left out, {error}: pip install ".[peers]"\n')
        return
    envs = {
        "ttt_env.tictactoe_v0.env()": ttt_env.tictactoe_v0.env(),
        "pettingzoo tictactoe_v3.env()": theirs.env(),
        "pettingzoo tictactoe_v3.raw_env()": theirs.raw_env(),
    }
    speeds = measured(envs, aec_steps_per_second, seconds, rounds)
    print(f"Two players, the same loop for all; median of {rounds} rounds\n")
    for name, of_rounds in speeds.items():
        print(f"  {name:36}{median(of_rounds):>12,.0f} steps/s")
    our_speeds, their_speeds, _ = speeds.values()
    ratios = [a / b for a, b in zip(our_speeds, their_speeds, strict=True)]
    print("\n  times env(), round by round: " + " ".join(f"{ratio:.1f}" for ratio in ratios))
    print(f"  median {median(ratios):.1f}, goal {GOAL_RATIO}: {verdict(median(ratios) >= GOAL_RATIO)}\n")


def print_one_player(seconds: float, rounds: int) -> None:
    """Print the table of the single-agent environment against several opponents."""
    envs = {name: ttt_env.make(**{"id": "tictactoe-v0", **settings}) for name, settings in SINGLE.items()}
    speeds = measured(envs, single_steps_per_second, seconds, rounds)
    print(f"One player, by opponent; median of {rounds} rounds\n")
    for name, of_rounds in speeds.items():
        print(f"  {name:36}{median(of_rounds):>12,.0f} steps/s")
    reached = median(speeds["random"]) >= GOAL_SINGLE
    print(f"\n  goal against random {GOAL_SINGLE:,}: {verdict(reached)}")


def main() -> None:
    """Measure, and print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.3, help="for each environment in each round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--plot", type=Path, help="draw the speeds of many games at once to this file")
    arguments = parser.parse_args()
    print_two_players(arguments.seconds, arguments.rounds)
    print_one_player(arguments.seconds, arguments.rounds)
    speeds = print_vector(arguments.seconds, arguments.rounds)
    if arguments.plot:
        plot(speeds, arguments.plot)


if __name__ == "__main__":
    main()
