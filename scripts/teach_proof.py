"""Teach a network the moves of a proof, and write its own moves as a proof that X wins.

    python scripts/teach_proof.py                                      Qubic, with the network of the package
    python scripts/teach_proof.py --game mnk-v0:m=6,n=5,k=4 --new      a new network

The agent is `symmetric:alphazero`. Where threats win, its search plays them; the network learns the proof's
moves in all other positions that these moves lead to, and keeps to what it said before in positions of other
games. Then the agent, with the network from its file and nothing else, is asked for its move after every
reply that no sequence of threats answers. Its moves and the sequences are written as a proof, which
`scripts/check_proof.py` accepts.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import log_softmax, mse_loss

import ttt_env
from ttt_env.agents.combining import Symmetric
from ttt_env.agents.pretrained import pretrained_file
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.alphazero.network import NetworkSize, PolicyValueNetwork, load_network
from ttt_env.alphazero.search import PuctSearch, canonical_images
from ttt_env.alphazero.torch_network import ResidualNetwork
from ttt_env.proofs import file as proof_file
from ttt_env.proofs.extraction import Extraction
from ttt_env.proofs.strategy import Strategy
from ttt_env.rules import Boards, Game

N_KEPT = 20_000  # positions of other games
BATCH = 128
EPOCHS = 200


class Targets(NamedTuple):
    """Positions, and the policies `[P, cells]` and values `[P]` to be learned there."""

    boards: Boards
    policies: NDArray[np.float32]
    values: NDArray[np.float32]


class Taught(ttt_env.Agent):
    """Plays threats as the search finds them, else as the strategy says, and notes where."""

    is_stationary = True

    def __init__(self, network: PolicyValueNetwork, strategy: Strategy) -> None:
        super().__init__(network.game)
        self.search, self.strategy = PuctSearch(network, threats=True), strategy
        self.moves: dict[tuple[int, int], int] = {}

    def policies(self, boards: Boards) -> NDArray[np.float64]:
        """The moves, `[B, cells]`."""
        canonical, cells = canonical_images(boards)
        found = self.search.search_boards(canonical, 2, 0)
        policies = found.policies(canonical.legal)
        is_proved = np.isnan(found.priors).any(axis=1)
        is_forced = (canonical.legal & ~(found.values == -1)).sum(axis=1) == 1
        for row in np.flatnonzero(~is_proved & ~is_forced):
            position = canonical[int(row)]
            cell = self.strategy.cell(position)
            assert cell is not None
            if not position.child(cell).is_won:
                self.moves[position.mine, position.theirs] = cell
            policies[row] = 0.0
            policies[row, cell] = 1.0
        return np.take_along_axis(policies, cells, axis=1)

    def targets(self) -> Targets:
        """The moves that the network is to learn, all of which win."""
        masks = np.array(list(self.moves), np.uint64).T.copy()
        policies = np.eye(self.game.n_cells, dtype=np.float32)[list(self.moves.values())]
        return Targets(Boards(self.game, *masks), policies, np.ones(len(policies), np.float32))


def kept(network: PolicyValueNetwork, but: Targets, rng: np.random.Generator) -> Targets:
    """The network's own answers in positions of games that are drawn from its moves, but for some."""
    game, parts, found = network.game, [], 0
    boards = Boards.joined(game, [Boards.start(game)] * 256)
    while found < N_KEPT:
        priors, _ = network.evaluate(boards)
        totals = np.cumsum(np.where(boards.legal, priors + 0.2 / game.n_cells, 0.0), axis=1)
        drawn = (totals <= rng.random((len(boards), 1)) * totals[:, -1:]).sum(axis=1)
        parts.append(canonical_images(boards)[0])
        found += len(boards)
        after = boards.play(drawn)
        new = [Boards.start(game)] * int(after.is_over.sum())
        boards = Boards.joined(game, [after[~after.is_over], *new])
    boards = Boards.joined(game, parts)
    taught = set(zip(but.boards.mine.tolist(), but.boards.theirs.tolist(), strict=True))
    keys = zip(boards.mine.tolist(), boards.theirs.tolist(), strict=True)
    boards = boards[np.array([key not in taught for key in keys])]
    return Targets(boards, *network.evaluate(boards))


def learned(net: ResidualNetwork, targets: Targets, others: Targets | None, seed: int) -> PolicyValueNetwork:
    """The network as its file holds it, when its likeliest move is the target everywhere."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    moves = targets.policies.argmax(axis=1)
    is_wrong = np.ones(len(moves), np.bool_)
    for epoch in range(EPOCHS):
        rows = rng.permutation(np.concatenate([np.arange(len(moves)), np.flatnonzero(is_wrong)]))
        for begin in range(0, len(rows), BATCH):
            loss = _loss(net, targets, rows[begin : begin + BATCH])
            if others is not None:
                loss = loss + _loss(net, others, rng.integers(len(others.values), size=BATCH))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        network = net.inference_network()
        priors, _ = network.evaluate(targets.boards)
        is_wrong = np.where(targets.boards.legal, priors, -1.0).argmax(axis=1) != moves
        print(
            f"epoch {epoch + 1}: {is_wrong.sum():,} of {len(moves):,} moves are not the proof's", flush=True
        )
        if not is_wrong.any():
            return network
    raise SystemExit(f"{is_wrong.sum():,} moves are not learned after {EPOCHS} epochs")


def _loss(net: ResidualNetwork, targets: Targets, rows: NDArray[np.intp]) -> torch.Tensor:
    boards = targets.boards[rows]
    logits, values = net(net.planes(boards))
    chances = log_softmax(logits.masked_fill(torch.from_numpy(~boards.legal), -1e9), dim=1)
    policy_loss = -(torch.from_numpy(targets.policies[rows]) * chances).sum(dim=1).mean()
    return policy_loss + mse_loss(values, torch.from_numpy(targets.values[rows]))


def moves_of(agent: ttt_env.Agent) -> Strategy:
    """The moves of an agent that wins as X, after every reply that no sequence of threats answers."""
    return Extraction(
        agent.game.start, "X", True, lambda position, _: [int(agent.policy(position).argmax())]
    ).strategy()


def winning_strategy(game: Game, path: Path | None) -> Strategy:
    """The strategy by which X wins, from the file of a proof or from a new one."""
    proof = ttt_env.prove(game) if path is None else ttt_env.Proof.load(path)
    if proof.position != game.start or proof.value != 1:
        raise SystemExit(f"X wins by no proof of {game.name}: its value is {proof.value}")
    return proof.strategies[0]


def taught(net: ResidualNetwork, strategy: Strategy, seed: int, keeps: bool = True) -> PolicyValueNetwork:
    """The network after it has learned the strategy's moves; of other positions it keeps what it says."""
    teacher = Taught(net.inference_network(), strategy)
    moves_of(Symmetric(strategy.game, teacher))
    targets = teacher.targets()
    others = kept(net.inference_network(), targets, np.random.default_rng(seed)) if keeps else None
    return learned(net, targets, others, seed)


def main() -> None:
    """Teach, and write the network and its proof."""
    torch.set_num_threads(1)  # more threads are slower with networks as small as this
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--game", default="qubic-v0", help="a game that X wins")
    parser.add_argument(
        "--teacher", type=Path, help="the file of a proof; by default the game is proved anew"
    )
    parser.add_argument("--new", action="store_true", help="begin with a new network, not the package's")
    parser.add_argument("--simulations", type=int, default=2, help="of the agent's search")
    parser.add_argument("--seed", type=int, default=0, help="of what the learning draws")
    parser.add_argument("--out", type=Path, default=Path("models/taught.npz"), help="the network's file")
    parser.add_argument(
        "--proof", type=Path, default=Path("models/taught.proof.npz"), help="the proof's file"
    )
    options = parser.parse_args()
    game, begin = ttt_env.get_game(options.game), time.process_time()
    net: ResidualNetwork = ResidualNetwork(game, NetworkSize())
    if not options.new:
        net = ResidualNetwork.of(load_network(pretrained_file("alphazero", game), game))
    strategy = winning_strategy(game, options.teacher)
    network = taught(net, strategy, options.seed, keeps=not options.new)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    network.save(options.out)
    print(f"{options.out}: learned by {time.process_time() - begin:.0f} s of the processor", flush=True)

    begin = time.process_time()
    agent = Symmetric(game, AlphaZero(game, str(options.out), options.simulations))
    moves, game_won = moves_of(agent), ttt_env.play_game(agent, "win-block", rng=0)
    seconds = time.process_time() - begin
    print(f"{game_won}\n{seconds:.0f} s of the processor", flush=True)
    filed = proof_file.ProofContents(game.start, (1, 1), game_won.cells, len(moves), seconds, (moves,))
    proof_file.write(options.proof, filed)
    size = options.proof.stat().st_size / 1000
    print(f"{options.proof}: {len(filed.strategies[0]):,} positions, {size:.0f} kB")


if __name__ == "__main__":
    main()
