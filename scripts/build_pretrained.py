"""Train the agents that come with this package and write their tables, networks and certificates.

Each is trained until its method has nothing more to give, as its function below says, and judged exactly; on
games that cannot be enumerated by games with the agents in `JUDGES`. The files go to `agents/pretrained`, or
to `--out`. `--table` trains nothing, and writes a table of all certificates and scorecards into the page
docs/results/agents.md.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from marked import write_table
from teach_proof import taught, winning_strategy

import ttt_env
from ttt_env.agent import Agent, Budget
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.agents.learned.q_learning import QLearning
from ttt_env.agents.learned.value_network import ValueNetwork, ValueNetworkLearner
from ttt_env.agents.pretrained import FOLDER
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.alphazero.network import DEFAULT_SIMULATIONS
from ttt_env.alphazero.torch_network import ResidualNetwork
from ttt_env.analysis.certificate import certify
from ttt_env.analysis.dossier import dossier, sampled_scorecard
from ttt_env.errors import GameTooLargeError
from ttt_env.proofs.proof import prove
from ttt_env.render.table import Table
from ttt_env.render.words import RESULTS
from ttt_env.rules import Game, is_enumerable, is_tabulated
from ttt_env.storage import save_arrays
from ttt_env.storage.codec import write_json


def trained_q_learning(game: Game, share: float) -> QLearning:
    """Q-learning until it gives value away nowhere."""
    learned: Any = ttt_env.train(game, "q-learning", until="optimal")
    return learned


def trained_value_network(game: Game, share: float) -> ValueNetwork:
    """The least exploitable network of a long training, and of several such the best one against random.

    A network stays unbeatable for some thousand games only: it was so at one of 400 looks at two trainings
    like this one (seeds 100 and 101), and at none of 840 looks at ten of the usual rate and length.
    """
    learner = ValueNetworkLearner(game, 101, learning_rate=0.006, start="symmetric")
    snapshots: list[ValueNetwork] = []
    games = round(1_200_000 * share)
    while learner.games < games:
        learner.advance(Budget(steps=games - learner.games))
        snapshots.append(learner.agent())
    return min(snapshots, key=_weakness)


def trained_network(algo: str, steps: int, game: Game, share: float) -> Agent:
    """A network until it gives value away nowhere; else the best one of so many steps."""
    return ttt_env.train(game, algo, steps=round(steps * share), until="optimal")


def trained_alphazero(game: Game, share: float) -> Agent:
    """AlphaZero until it gives value away nowhere, neither its network alone nor with 200 simulations."""
    counts = (1, DEFAULT_SIMULATIONS)
    return ttt_env.train(
        game, "alphazero", steps=round(40_000 * share), until="optimal", evaluation_simulations=counts
    )


def trained_alphazero_of_16_cells(game: Game, share: float) -> Agent:
    """AlphaZero until it is certified unbeatable with 200 simulations; its network alone may still lose.

    It was so when it was judged for the first time, after 1,492 games of Square and 1,392 of 4,4,4.
    """
    return ttt_env.train(game, "alphazero", steps=round(20_000 * share))


def trained_on_large_board(
    games: int, drops: Sequence[int], game: Game, share: float, **settings: Any
) -> Agent:
    """AlphaZero after so many games with itself, on a board where nobody can say when it is done.

    Where they are given, the learning rate falls after so many games.
    """
    budget: dict[str, Any] = {"steps": round(games * share), "until": "budget"}
    settings |= {"opponents": (), "drops": [max(1, round(drop * share)) for drop in drops]}
    return ttt_env.train(game, "alphazero", **budget, **settings)


def trained_on_qubic(games: int, drops: Sequence[int], game: Game, share: float) -> Agent:
    """AlphaZero after so many games with itself and, in a whole training, after the moves of a proof.

    With 2 simulations a move it is then proved to win every game as X: see `teach_proof.py`. The games take
    five minutes on an H100, and are to be played where there is a GPU; on one core they take hours.
    """
    if share < 1:
        return trained_on_large_board(games, drops, game, share)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    wide: dict[str, Any] = {"games": 1024, "updates": 256, "replay": 400_000, "device": device}
    agent = trained_on_large_board(games, drops, game, share, **wide)
    net = ResidualNetwork.of(agent.network)
    return AlphaZero.of(taught(net, winning_strategy(game, PROOF_OF_QUBIC), 0))


def _weakness(agent: Agent) -> tuple[float, float]:
    worst = ttt_env.exploitability(agent, agent.game).exploitability
    return worst, -ttt_env.match(agent, "random", agent.game).score


def _mnk(m: int, n: int, k: int) -> Game:
    return ttt_env.get_game(f"mnk-v0:m={m},n={n},k={k}")


MISERE = ttt_env.get_game("tictactoe-v0:misere=true")
TICTACTOE = ttt_env.get_game("tictactoe-v0")
SQUARE = ttt_env.get_game("square-v0")
QUBIC = ttt_env.get_game("qubic-v0")
AGENTS: dict[str, tuple[str, Game, Callable[[Game, float], Agent]]] = {
    "ppo": ("ppo", TICTACTOE, partial(trained_network, "maskable-ppo", 4_000_000)),
    "dqn": ("dqn", TICTACTOE, partial(trained_network, "dqn", 4_000_000)),
    "q-learning": ("q-learning", TICTACTOE, trained_q_learning),
    "q-learning@misere": ("q-learning", MISERE, trained_q_learning),
    "value-network": ("value-network", TICTACTOE, trained_value_network),
    "alphazero": ("alphazero", TICTACTOE, trained_alphazero),
    "alphazero@square": ("alphazero", SQUARE, trained_alphazero_of_16_cells),
    "alphazero@4-4-4": ("alphazero", _mnk(4, 4, 4), trained_alphazero_of_16_cells),
    "alphazero@5-5-4": (
        "alphazero",
        _mnk(5, 5, 4),
        partial(trained_on_large_board, 10_000, (6_000, 8_000)),
    ),
    "alphazero@6-5-4": ("alphazero", _mnk(6, 5, 4), partial(trained_on_large_board, 6_000, (4_000, 5_000))),
    "alphazero@qubic": ("alphazero", QUBIC, partial(trained_on_qubic, 20_900, (20_000,))),
}
"""The agent, the game, and the training of each file, by the file's name."""
DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "results" / "agents.md"
PROOF_OF_QUBIC = DOCS / "proofs" / "qubic-v0.npz"
KEY_OF_COMPUTED = """*Blunders*: positions that the agent can reach and in which it may blunder; there it only
misses a win. *Everywhere*: all positions of the game in which it may blunder, most of which it never
reaches; there it may also give away a draw. A dash: not counted."""
KEY_OF_SAMPLED = """*As X*, *as O*: games won/drawn/lost. *Score*: wins minus losses per game, with a 95 %
interval. With best play X wins 6,5,4 and Qubic, which explains the losses as O."""
"""The keys below the two tables."""
JUDGES = ("random", "mcts:simulations=1000", "mcts:simulations=5000", "mcts:simulations=20000")
"""The opponents of an agent on a game that cannot be enumerated; the last one only on up to 30 cells."""


def write(agent: Agent, path: Path) -> None:
    """Write what an agent saves, and its policy table to the same file if its positions are few enough."""
    arrays = Lookup.of(agent, agent.game).arrays() if is_tabulated(agent.game) else {}
    if isinstance(agent, QLearning):
        arrays |= agent.arrays()
    elif isinstance(agent, ValueNetwork | AlphaZero):
        arrays |= agent.network.arrays()
    save_arrays(path, agent.game, arrays)


def write_results(agent: Agent, name: str, path: Path) -> str:
    """Write what is known of the agent beside its file, and say it in a few words."""
    if not is_enumerable(agent.game):
        opponents = JUDGES if agent.game.n_cells <= 30 else JUDGES[:-1]
        facts = sampled_scorecard(agent, name=name, file=path, opponents=opponents)
        facts["worst_case"] = proved_worst_case(agent)
        write_json(facts, path.with_suffix(".scorecard.json"))
        scores = [f"{found['score']:+.3f} against {opponent}" for opponent, found in facts["results"].items()]
        return f"in {facts['results'][JUDGES[0]]['games']} games each {', '.join(scores)}"
    facts = dossier(agent, name=name, file=path)
    write_json(facts, path.with_suffix(".certificate.json"))
    return (
        f"exploitability {facts['exploitability']['mean']:g}, unbeatable: {facts['unbeatable']}, "
        f"optimal everywhere: {facts['optimal_everywhere']}"
    )


def proved_worst_case(agent: Agent) -> dict[str, Any] | None:
    """The proof that the agent wins every game as X, where X can win and it is asked in few positions."""
    if prove(agent.game, seconds=10).value != 1:
        return None
    try:
        found = certify(agent, seats="X", most=1_000_000)
    except GameTooLargeError:
        return None
    if found.worst_case["X"] != 1:
        return None
    record = str(found.worst_games["X"])
    return {"seat": "X", "value": 1, "positions": found.n_queries, "record": record}


def table(folder: Path) -> str:
    """The certificates and scorecards of a folder as Markdown tables: computed results, then sampled ones."""
    rows, sampled = [], []
    for path in sorted(folder.glob("*.certificate.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        everywhere = facts["blunders_everywhere"]
        counts = [facts["n_blunders"], "–" if everywhere is None else len(everywhere)]
        rows.append((_file(facts), f"`{facts['game']['name']}`", *map(str, counts)))
    ends: list[str] = []
    won: list[str] = []
    for path in sorted(folder.glob("*.scorecard.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        for opponent, found in facts["results"].items():
            if opponent == "random" and found["score"] == 1:
                won.append(_file(facts))
                games = found["games"]
                continue
            seats = [_seat(found[seat], found["games"] // 2) for seat in ("as_x", "as_o")]
            low, high = found["interval"]
            score = f"{found['score']:+.3f} ({low:+.2f} to {high:+.2f})"
            sampled.append((_file(facts), f"`{opponent}`", *seats, score))
        if proved := facts["worst_case"]:
            worst = f"as {proved['seat']}, {_file(facts)} {RESULTS[proved['value']]} against every defence"
            asked = f"it was asked once in each of {proved['positions']:,} positions"
            ends.append(f"Exact, not sampled: {worst}; {asked}.\n")
    if won:
        is_all = len(won) == len({row[0] for row in sampled})
        winners = "each network in this table" if is_all else ", ".join(won)
        ends.insert(0, f"Against `random`, {winners} won all {games} games.\n")
    parts = (
        (Table.of(("file", "game", "blunders", "everywhere"), rows, "ll"), KEY_OF_COMPUTED),
        (Table.of(("file", "against", "as X", "as O", "score"), sampled, "ll"), KEY_OF_SAMPLED),
    )
    texts = [f"{table.to_markdown(is_markup=True)}\n\n{key}\n" for table, key in parts]
    return "\n".join([*texts, *ends])


def _file(facts: Mapping[str, Any]) -> str:
    return f"`{facts['agent']['file']}`"


def _seat(result: Mapping[str, float], games: int) -> str:
    """Won, drawn and lost games."""
    return "/".join(str(round(result[end] * games)) for end in ("win", "draw", "loss"))


def main() -> None:
    """Train the agents, write and certify them, and print what is proved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    parser.add_argument("--only", nargs="+", choices=AGENTS, default=list(AGENTS), help="which files")
    parser.add_argument("--certify", action="store_true", help="only judge the files that are there anew")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual training")
    parser.add_argument("--table", action="store_true", help="only write the table")
    arguments = parser.parse_args()
    if arguments.table:
        write_table(PAGE, table(arguments.out), "pretrained")
        return
    for file in arguments.only:
        name, game, trained = AGENTS[file]
        path = arguments.out / f"{file}.npz"
        if arguments.certify:
            agent = ttt_env.make_agent(f"{name}:{path}", game)
        else:
            agent = trained(game, arguments.share)
            write(agent, path)
        results = write_results(agent, name, path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB, {results}", flush=True)


if __name__ == "__main__":
    main()
