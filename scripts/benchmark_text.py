"""Time games as conversations, and compare with TextArena.

A move is the player's move and the opponent's reply to it, with all texts, the exact value of the move, and a
share of the `reset` that begins each game. The player moves at random, by `move` or by `reply`. Time is that
of this process on a core, so that other work on the machine does not count. The environments take turns in
several rounds; the first round, which fills the memory of texts and values, is not counted.

TextArena's tic-tac-toe is asked for its observation before each move of the player, and stepped with it and
with that of a random opponent, which is drawn outside of it. It is left out if it is not installed.

    pip install textarena
    python scripts/benchmark_text.py --larger
"""

import argparse
import random
import time
from collections.abc import Callable
from itertools import product
from statistics import median
from typing import Any

from speed.measuring import measured, verdict

from ttt_env.text import TextEnv

GOAL = 20_000
PEER = "TextArena 3×3, reply, random"
Play = Callable[[random.Random], int]  # plays a game with these random moves, and returns their number
LARGER: dict[str, dict[str, Any]] = {
    "Square 4×4": {"game": "square-v0"},
    "Qubic": {"game": "qubic-v0"},
    "Qubic, nodes=0": {"game": "qubic-v0", "nodes": 0},
}


def by_move(env: TextEnv, cell: int) -> None:
    """Play a cell by its number."""
    env.move(cell)


def by_reply(env: TextEnv, cell: int) -> None:
    """Play a cell by a text that names it."""
    env.reply(f"I take this one: [{cell}]")


def ours(act: Callable[[TextEnv, int], None], **settings: Any) -> Play:
    """Games of `TextEnv` with these settings."""
    env = TextEnv(**settings, seed=0)

    def play(rng: random.Random) -> int:
        env.reset()
        n_moves = 0
        while not env.done:
            act(env, rng.choice(env.info["legal_cells"]))
            n_moves += 1
        return n_moves

    return play


def textarena() -> Play:
    """Games of TextArena's tic-tac-toe. Raises `ImportError` if it is not there."""
    import textarena

    env = textarena.make("TicTacToe-v0-train")

    def play(rng: random.Random) -> int:
        env.reset(num_players=2)
        own_seat, n_moves = rng.randrange(2), 0
        for ply, cell in enumerate(rng.sample(range(9), 9)):
            if ply % 2 == own_seat:
                env.get_observation()
                n_moves += 1
            if env.step(f"I take this one: [{cell}]")[0]:
                break
        return n_moves

    return play


def on_3x3() -> dict[str, Play]:
    """Our environments of the goal, by name."""
    opponents, replies, ways = ("random", "minimax"), ("by_position", "by_stream"), (by_move, by_reply)
    return {
        f"3×3, {way.__name__[3:]}, {opponent}, {kind}": ours(way, opponent=opponent, replies=kind)
        for opponent, kind, way in product(opponents, replies, ways)
    }


def moves_per_second(play: Play, seconds: float, round: int) -> float:
    """The moves a second of a core in games that are played for about so many seconds."""
    rng, n_moves, begin = random.Random(round), 0, time.process_time()
    while (spent := time.process_time() - begin) < seconds or not spent:
        n_moves += play(rng)
    return n_moves / spent


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.5, help="for each environment in each round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--larger", action="store_true", help="also on larger boards, which are solved first")
    arguments = parser.parse_args()
    plays = on_3x3()
    with_goal = list(plays)
    if arguments.larger:
        plays |= {f"{name}, move, random": ours(by_move, **settings) for name, settings in LARGER.items()}
    try:
        plays[PEER] = textarena()
    except ImportError as error:
        print(f"TextArena is left out, {error}: pip install textarena\n")
    speeds = measured(plays, moves_per_second, arguments.seconds, arguments.rounds)
    print(f"Conversations, moves a second of a core; median of {arguments.rounds} rounds\n")
    for name, of_rounds in speeds.items():
        goal = f"  goal {GOAL:,}: {verdict(median(of_rounds) >= GOAL)}" if name in with_goal else ""
        print(f"  {name:36}{median(of_rounds):>10,.0f}{goal}")
    if PEER in speeds:
        like_it = speeds["3×3, reply, random, by_position"]
        ratio = median(a / b for a, b in zip(like_it, speeds[PEER], strict=True))
        print(f"\n  {ratio:.1f} times TextArena by `reply` against random, replies by position")


if __name__ == "__main__":
    main()
