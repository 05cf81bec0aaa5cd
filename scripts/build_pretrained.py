"""Train the agents that come with this package and write their tables, networks and certificates.

Each is trained until its method has nothing more to give, as its function below says, and judged exactly. The
files go to `agents/pretrained`, or to `--out`.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import ttt_env
from ttt_env.agent import Agent
from ttt_env.agents.alphazero.agent import DEFAULT_SIMULATIONS, AlphaZero
from ttt_env.agents.learned import q_learning, value_network
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.agents.learned.q_learning import QLearning
from ttt_env.agents.learned.sb3 import SB3
from ttt_env.agents.learned.value_network import ValueNetwork
from ttt_env.agents.pretrained import FOLDER
from ttt_env.agents.training import alphazero
from ttt_env.agents.training import run as training
from ttt_env.analysis.dossier import dossier
from ttt_env.analysis.saved import write_json
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_tabulated
from ttt_env.storage.policy_file import save_arrays


def trained_q_learning(game: Game, share: float) -> QLearning:
    """Q-learning until it gives value away nowhere."""
    return q_learning.train(game, goal="optimal")


def trained_value_network(game: Game, share: float) -> ValueNetwork:
    """The least exploitable network of a long training, and of several such the best one against random.

    A network stays unbeatable for some thousand games only: it was so at one of 400 looks at two trainings
    like this one (seeds 100 and 101), and at none of 840 looks at ten of the usual rate and length.
    """
    snapshots: list[ValueNetwork] = []
    games = round(1_200_000 * share)
    value_network.train(
        game,
        seed=101,
        games=games,
        learning_rate=0.006,
        start="symmetric",
        report=lambda now: snapshots.append(now.agent),
    )
    return min(snapshots, key=_weakness)


def trained_network(algo: str, steps: int, game: Game, share: float) -> SB3:
    """A network until it gives value away nowhere; else the best one of so many steps."""
    model = training.train(game, algo, steps=round(steps * share), until="optimal")
    return SB3.from_model(game, model)


def trained_alphazero(game: Game, share: float) -> AlphaZero:
    """AlphaZero until it gives value away nowhere, neither its network alone nor with 200 simulations."""
    judged = {"judged": (1, DEFAULT_SIMULATIONS)}
    return alphazero.train(game, steps=round(40_000 * share), until="optimal", hyperparameters=judged)


def trained_alphazero_of_16_cells(game: Game, share: float) -> AlphaZero:
    """AlphaZero until it is certified unbeatable with 200 simulations; its network alone may still lose.

    It was so when it was judged for the third time, after 5,423 games of Square and 4,936 of 4,4,4: in one
    minute and four of one core, most of them for the network and, on 4,4,4, for judging.
    """
    return alphazero.train(game, seed=0, steps=round(20_000 * share))


def _weakness(agent: Agent) -> tuple[float, float]:
    worst = ttt_env.exploitability(agent, agent.game).exploitability
    return worst, -ttt_env.match(agent, "random", agent.game).score


MISERE = ttt_env.get_game("tictactoe-v0:misere=true")
TICTACTOE = ttt_env.get_game("tictactoe-v0")
SQUARE = ttt_env.get_game("square-v0")
FOUR_IN_A_ROW_4X4 = ttt_env.get_game("mnk-v0:m=4,n=4,k=4")
AGENTS: dict[str, tuple[str, Game, Callable[[Game, float], Agent]]] = {
    "ppo": ("ppo", TICTACTOE, partial(trained_network, "maskable-ppo", 4_000_000)),
    "dqn": ("dqn", TICTACTOE, partial(trained_network, "dqn", 4_000_000)),
    "q-learning": ("q-learning", TICTACTOE, trained_q_learning),
    "q-learning@misere": ("q-learning", MISERE, trained_q_learning),
    "value-network": ("value-network", TICTACTOE, trained_value_network),
    "alphazero": ("alphazero", TICTACTOE, trained_alphazero),
    "alphazero@square": ("alphazero", SQUARE, trained_alphazero_of_16_cells),
    "alphazero@4-4-4": ("alphazero", FOUR_IN_A_ROW_4X4, trained_alphazero_of_16_cells),
}
"""The agent, the game, and the training of each file, by the file's name."""


def write(agent: Agent, path: Path) -> None:
    """Write what an agent saves, and its policy table to the same file if its positions are few enough."""
    arrays = Lookup.of(agent, agent.game).arrays() if is_tabulated(agent.game) else {}
    if isinstance(agent, QLearning):
        arrays |= agent.arrays()
    elif isinstance(agent, ValueNetwork | AlphaZero):
        arrays |= agent.network.arrays()
    save_arrays(path, agent.game, arrays)


def main() -> None:
    """Train the agents, write and certify them, and print what is proved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    parser.add_argument("--only", nargs="+", choices=AGENTS, default=list(AGENTS), help="which files")
    parser.add_argument("--certify", action="store_true", help="only judge the files that are there anew")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual training")
    arguments = parser.parse_args()
    for file in arguments.only:
        name, game, trained = AGENTS[file]
        path = arguments.out / f"{file}.npz"
        if arguments.certify:
            agent = ttt_env.make_agent(f"{name}:{path}", game)
        else:
            agent = trained(game, arguments.share)
            write(agent, path)
        facts = dossier(agent, game, name=name, file=path)
        write_json(facts, path.with_suffix(".certificate.json"))
        print(
            f"{path.name}: {path.stat().st_size / 1000:.0f} kB, exploitability "
            f"{facts['exploitability']['mean']:g}, unbeatable: {facts['unbeatable']}, "
            f"optimal everywhere: {facts['optimal_everywhere']}"
        )


if __name__ == "__main__":
    main()
