"""Measure what a GPU gains: steps of many games at once, and the training of AlphaZero.

Each row of the first table steps so many games of tic-tac-toe against the random player, with random legal
moves chosen where the games are, in NumPy and in PyTorch on the device. The rows of the second train
AlphaZero with the settings of the game: on one core of the CPU, asked by compiled code and by PyTorch, then
on the device, also with more games at once and as many more updates. All make as many moves.

    python scripts/benchmark_gpu.py                  on "cuda"
    python scripts/benchmark_gpu.py --device cpu     PyTorch on the CPU
"""

import argparse
import time
from typing import Any

import numpy as np
import torch

import ttt_env
from ttt_env.alphazero.training import AlphaZeroLearner
from ttt_env.envs.vector.env import VectorGameEnv
from ttt_env.render.table import Table


def steps_per_second(envs: VectorGameEnv, seconds: float) -> float:
    """Steps of single games per second, moves chosen at random."""
    rng = np.random.default_rng(0)
    _, info = envs.reset(seed=0)

    def passed(seconds: float) -> float:
        nonlocal info
        n, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            mask = info["action_mask"]
            if isinstance(mask, torch.Tensor):
                chances = torch.rand(mask.shape, device=mask.device)
                cells: Any = (chances * mask).argmax(dim=1)
            else:
                cells = (rng.random(mask.shape, np.float32) * mask).argmax(axis=1)
            *_, info = envs.step(cells)  # looks at a value of the device, so the host is never far ahead
            n += 1
        return n * envs.num_envs / (time.perf_counter() - begin)

    passed(seconds / 4)
    return passed(seconds)


def table_of_steps(device: str, sizes: list[int], seconds: float) -> Table:
    """The steps per second of so many games at once."""
    rows = []
    for size in sizes:
        settings: dict[str, Any] = {"opponent": "random", "autoreset_mode": "same_step"}
        speeds = [
            steps_per_second(ttt_env.make_vec("tictactoe-v0", size, **settings, **place), seconds)
            for place in ({}, {"backend": "torch", "device": device})
        ]
        rows.append((f"{size:,}", *(f"{speed:,.0f}" for speed in speeds), f"{speeds[1] / speeds[0]:.2f}"))
    return Table.of(("games at once", "NumPy, steps/s", f"PyTorch on {device}, steps/s", "ratio"), rows, "r")


def table_of_training(game: ttt_env.Game, device: str, rounds: int, factor: int) -> Table:
    """The seconds of so many rounds of the default number of games."""
    default = AlphaZeroLearner(game).settings
    wide = {"games": factor * default.games, "updates": factor * default.updates}
    rows = []
    for where, of_learner, n_rounds in (
        ("CPU, compiled", {"device": None}, rounds),
        ("CPU, PyTorch", {"device": "cpu"}, rounds),
        (device, {"device": device}, rounds),
        (device, {"device": device, **wide}, max(1, rounds // factor)),
    ):
        AlphaZeroLearner(game, 1, **of_learner).advance()  # compile and load
        learner = AlphaZeroLearner(game, 0, **of_learner)
        begin = time.perf_counter()
        for _ in range(n_rounds):
            learner.advance()
        seconds = time.perf_counter() - begin
        moves = n_rounds * learner.settings.moves * learner.settings.games
        parts = (f"{part:.1f}" for part in learner.seconds.values())
        speed = f"{moves / seconds:,.0f}"
        rows.append((where, str(learner.settings.games), f"{moves:,}", f"{seconds:.1f}", *parts, speed))
    head = "device", "games at once", "moves", "seconds", "search", "network", "learning", "moves/s"
    return Table.of(head, rows)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", type=int, nargs="+", default=[512, 8_192, 131_072])
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement of steps")
    parser.add_argument("--game", default="qubic-v0", help="that AlphaZero trains on")
    parser.add_argument("--rounds", type=int, default=8, help="of the training")
    parser.add_argument("--factor", type=int, default=4, help="of the games at once in the last row")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(table_of_steps(options.device, options.sizes, options.seconds).to_markdown(), flush=True)
    game = ttt_env.get_game(options.game)
    print(table_of_training(game, options.device, options.rounds, options.factor).to_markdown())


if __name__ == "__main__":
    main()
