"""A network that clones perfect play from the data set of all positions, and the certificate of its play.

Reads the positions of a game's data set, and writes the data set where there is none.
The network sees the stones of both players and learns, for each free cell, whether it is among
`perfect_cells`: all of them are right, so that none is preferred. It stops when its choice is perfect in
every position, or after so many epochs. At the end stand the certificate, which needs no games to be played,
and the number of positions, of all there are, in which the network gives value away.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from pyarrow import parquet
from torch import Tensor
from torch.nn import Flatten, Linear, ReLU, Sequential
from torch.nn.functional import binary_cross_entropy_with_logits

import ttt_env
from ttt_env import Boards, Game
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.datasets import write_dataset

BATCH = 256


def read(path: Path, game: Game) -> tuple[Tensor, Tensor, Tensor]:
    """The observations `[B, *shape, 2]`; which cells are free, and which are perfect, `[B, cells]` each."""
    table = parquet.read_table(path, columns=["mine", "theirs", "perfect_cells"])
    mine, theirs = (table[name].to_numpy().astype(np.uint64) for name in ("mine", "theirs"))
    boards = Boards(game, mine, theirs)
    is_perfect = np.zeros(boards.legal.shape, np.float32)
    for row, cells in zip(is_perfect, table["perfect_cells"].to_pylist(), strict=True):
        row[cells] = 1
    arrays = boards.planes.astype(np.float32), boards.legal, is_perfect
    observations, is_free, perfect = map(torch.from_numpy, arrays)
    return observations, is_free, perfect


def cloned(
    observations: Tensor, is_free: Tensor, is_perfect: Tensor, hidden: int, epochs: int, seed: int
) -> Sequential:
    """A network that has learned which cells are perfect."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # more threads are slower with networks as small as this
    n_cells = is_free.shape[1]
    first, second, last = Linear(2 * n_cells, hidden), Linear(hidden, hidden), Linear(hidden, n_cells)
    network = Sequential(Flatten(), first, ReLU(), second, ReLU(), last)
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    for epoch in range(1, epochs + 1):
        for at in torch.randperm(len(observations)).split(BATCH):
            logits, free = network(observations[at]), is_free[at]
            loss = binary_cross_entropy_with_logits(logits[free], is_perfect[at][free])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            choice = network(observations).where(is_free, -torch.inf).argmax(1)
        n_right = int(is_perfect.gather(1, choice[:, None]).sum())
        if epoch % 10 == 0 or n_right == len(choice):
            print(f"epoch {epoch}: perfect in {n_right:,} of {len(choice):,} positions", flush=True)
        if n_right == len(choice):
            break
    return network


def main() -> None:
    """Read, learn, and certify."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--game", default="tictactoe-v0")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the data set")
    parser.add_argument("--hidden", type=int, default=256, help="units in each of two layers")
    parser.add_argument("--epochs", type=int, default=300, help="at most so many")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    game = ttt_env.get_game(arguments.game)
    path = arguments.data / "positions.parquet"
    if not path.exists():
        write_dataset(game, arguments.data)
    columns = read(path, game)
    begin = perf_counter()
    network = cloned(*columns, arguments.hidden, arguments.epochs, arguments.seed)
    print(f"learned in {perf_counter() - begin:.1f} seconds")
    agent = ttt_env.make_agent(network, game, observation="planes")
    print(ttt_env.certify(agent))
    print(
        f"Of all {len(columns[0]):,} positions, it gives value away in {len(blunders_everywhere(agent)):,}."
    )


if __name__ == "__main__":
    main()
