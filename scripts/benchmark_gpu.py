"""Measure what a GPU gains in the training of AlphaZero.

The rows train with the settings of the game: on one core of the CPU, asked by compiled code and by PyTorch,
then on the device, also with more games at once and as many more updates. All make as many moves.

    python scripts/benchmark_gpu.py                  on "cuda"
    python scripts/benchmark_gpu.py --device cpu     PyTorch on the CPU
"""

import argparse
import time

import torch

import ttt_env
from ttt_env.alphazero.training import AlphaZeroLearner
from ttt_env.render.table import Table


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
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--game", default="qubic-v0", help="that AlphaZero trains on")
    parser.add_argument("--rounds", type=int, default=8, help="of the training")
    parser.add_argument("--factor", type=int, default=4, help="of the games at once in the last row")
    options = parser.parse_args()
    torch.set_num_threads(1)
    game = ttt_env.get_game(options.game)
    print(table_of_training(game, options.device, options.rounds, options.factor).to_markdown())


if __name__ == "__main__":
    main()
