"""Measure AlphaZero's moves a second in self-play, next to OpenSpiel's AlphaZero in Python.

Both play from the empty board, with equal simulations, exploration, noise and drawn first moves, without
proofs, guided by untrained residual networks of as many channels and blocks. They take turns in one process
of one thread, and speeds are moves per second of processor time. A new network comes after every 1,024
moves, when both forget the answers of the last one: in OpenSpiel that is the share of each of two actors, as
in its example, here a round of 256 games of four moves each.

OpenSpiel's side is its own `_play_game`, `MCTSBot` and `AlphaZeroEvaluator`, with the `resnet` of Flax's
`nnx`, which its `Config` has by default; it is faster than that of `linen`. It asks the network about one
position at a time, and JAX carries it out operation by operation. So the same is measured once more with the
network compiled by `jax.jit` and its answers as numbers of NumPy, which its authors do not do. Its network
takes the three planes of 5×5 cells for 3×5 cells of five planes, which is less work than ours has. The
time that OpenSpiel loses by dropping all compiled code when a new network comes is left out.

Games that are played together and symmetric positions share answers of the network here. Further rows show
the effect: games that ask again for each move, and one game at a time.

`--out` keeps the rounds as JSON lines; a later run measures only missing ones. `--table` measures nothing,
and prints the tables of these lines. Without OpenSpiel only ours are measured.

    uv run scripts/benchmark_selfplay.py --out scripts/figures/selfplay-speed.jsonl
"""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "ttt-env",
#   "chex==0.1.92",
#   "flax==0.12.8",
#   "jax==0.10.2",
#   "open-spiel==2.0.2",
#   "optax==0.2.8",
#   "orbax-checkpoint==0.12.8",
# ]
# [tool.uv.sources]
# ttt-env = { path = "..", editable = true }
# ///

import argparse
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from contest.records import machine
from lines import change_lines, read_lines
from marked import write_table

import ttt_env
from ttt_env.alphazero.network import NetworkSize, PolicyValueNetwork, shapes_of
from ttt_env.alphazero.search import PuctSearch, prepare
from ttt_env.alphazero.training import AlphaZeroSettings, SelfPlayGames, settings_for
from ttt_env.analysis.dossier import versions
from ttt_env.render.table import Table

# One thread on both sides. XLA reads it when JAX is imported.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
try:
    import pyspiel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Flax says which of its two interfaces is used
        import jax
        from open_spiel.python.algorithms.alpha_zero import alpha_zero, evaluator, model_nnx

    PACKAGES = ["chex", "flax", "jax", "numba", "open-spiel"]
except ImportError:
    pyspiel, PACKAGES = None, ["numba"]

PAGE = Path(__file__).parents[1] / "docs" / "results" / "performance.md"
C = 1.25  # of PUCT
CONCENTRATION = 10.0  # of the noise: its alpha is this by the number of legal moves, in OpenSpiel of all
MOVES = 1024  # between two networks
PEER = "OpenSpiel"
SILENT = SimpleNamespace(print=lambda *_: None, opt_print=lambda *_: None)  # a log of OpenSpiel


class Setup(NamedTuple):
    """A game here and in OpenSpiel, and the simulations of each move."""

    game: str
    peer: str
    simulations: int


SETUPS = [
    Setup("tictactoe-v0", "tic_tac_toe", 50),
    Setup("mnk-v0:m=5,n=5,k=4", "mnk(m=5,n=5,k=4)", 50),
]


class Work(NamedTuple):
    """The work done: moves, positions that the network was asked about, and seconds of the processor."""

    moves: int
    asked: int
    cpu: float

    def __add__(self, other: "Work") -> "Work":  # type: ignore[override]
        return Work(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Ours:
    """Self-play of this package, with or without what it does beyond OpenSpiel's."""

    def __init__(
        self, game: ttt_env.Game, settings: AlphaZeroSettings, *, solve: bool = False, anew: bool = False
    ) -> None:
        self.anew, self.since = anew, 0
        # The first games begin anywhere, so that at any time some are young and others old.
        self.games = SelfPlayGames(game, replace(settings, random_starts=1.0), np.random.default_rng(0))
        self.games.settings = settings
        network = untrained(game, settings.size)
        self.n_weights = sum(array.size for array in network.weights.values())
        self.search = PuctSearch(network, c_init=C, noise=settings.noise, solve=solve)

    def play(self, cpu: float) -> Work:
        """Play for about so many seconds of the processor."""
        search, moves = self.search, 0
        asked, begin = search.evaluated, process_time()
        while process_time() - begin < cpu or not moves:
            if self.anew or self.since >= MOVES:
                search.set_network(search.network)
                self.since = 0
            self.games.move(search)
            moves += len(self.games.lengths)
            self.since += len(self.games.lengths)
        return Work(moves, search.evaluated - asked, process_time() - begin)


def untrained(game: ttt_env.Game, size: NetworkSize) -> PolicyValueNetwork:
    """A network with random weights, as large as those with which a training begins (He et al. 2015)."""
    rng = np.random.default_rng(0)
    weights = {
        name: (
            np.zeros(shape, np.float32)
            if name.endswith(("bias", "biases"))
            else rng.normal(0, np.sqrt(2 / _inputs(name, shape)), shape).astype(np.float32)
        )
        for name, shape in shapes_of(game, size).items()
    }
    return PolicyValueNetwork(game, weights)


def _inputs(name: str, shape: tuple[int, ...]) -> int:
    """The fan-in of a layer: the number of inputs of each of its outputs."""
    if name == "first":
        return shape[0] * shape[1]
    return shape[0] if len(shape) < 3 else shape[1]


class Theirs:
    """Self-play of an actor of OpenSpiel's AlphaZero."""

    def __init__(
        self, name: str, settings: AlphaZeroSettings, *, compiled: bool = False, anew: bool = False
    ) -> None:
        self.game, self.settings, self.anew, self.since = pyspiel.load_game(name), settings, anew, 0
        shape, n_cells = self.game.observation_tensor_shape(), self.game.num_distinct_actions()
        model = model_nnx.Model.build_model(
            "resnet", shape, n_cells, settings.channels, settings.blocks, settings.l2, 1e-3, None
        )
        self.n_weights = int(model.num_trainable_variables)
        self.inference = self.compiled(model) if compiled else self.finished(model)
        self.n_asked = 0
        self.evaluator = evaluator.AlphaZeroEvaluator(self.game, SimpleNamespace(inference=self.ask))
        config = SimpleNamespace(
            policy_epsilon=settings.noise,
            policy_alpha=settings.concentration / n_cells,
            uct_c=C,
            max_simulations=settings.simulations,
            verbose=False,
        )
        self.bots = [alpha_zero._init_bot(config, self.game, self.evaluator, False) for _ in range(2)]
        for bot in self.bots:
            bot.mcts_search = self.search_with(bot.mcts_search)
        self.bots[0].mcts_search(self.game.new_initial_state())  # compiles
        self.forget()

    def compiled(self, model: Any) -> Callable[..., Any]:
        """The same answers from the network as a whole, compiled, as numbers of NumPy."""
        inference = jax.jit(model.inference)

        def answer(*seen: Any) -> tuple[Any, ...]:
            return tuple(np.asarray(each)[()] for each in inference(*seen))

        start = self.game.new_initial_state()
        seen = np.asarray(start.observation_tensor()), np.asarray(start.legal_actions_mask())
        for fast, slow in zip(answer(*seen), model.inference(*seen), strict=True):
            np.testing.assert_allclose(fast, slow, atol=1e-5)
        return answer

    def finished(self, model: Any) -> Callable[..., Any]:
        """The network's answers, once they are there: JAX gives them away before it has computed them."""
        return lambda *seen: jax.block_until_ready(model.inference(*seen))

    def ask(self, *seen: Any) -> Any:
        """The network's answer, which is counted."""
        self.n_asked += 1
        return self.inference(*seen)

    def search_with(self, search: Callable[..., Any]) -> Callable[[Any], Any]:
        """The search of a bot, which forgets what it knows if it has to ask anew."""

        def found(state: Any) -> Any:
            if self.anew:
                self.forget()
            self.since += 1
            return search(state)

        return found

    def forget(self) -> None:
        """Forget what the network said, but not what JAX has compiled."""
        self.evaluator._cache.clear()
        self.since = 0

    def play(self, cpu: float) -> Work:
        """Play whole games for about so many seconds of the processor."""
        moves, asked, begin = 0, self.n_asked, process_time()
        while process_time() - begin < cpu or not moves:
            if self.since >= MOVES:
                self.forget()
            played = alpha_zero._play_game(SILENT, 0, self.game, self.bots, 1.0, self.settings.sampled_moves)
            moves += len(played.states)
        return Work(moves, self.n_asked - asked, process_time() - begin)


def contenders_for(setup: Setup) -> dict[str, Any]:
    """The measurements, by name."""
    game = ttt_env.get_game(setup.game)
    settings = replace(
        settings_for(game),
        simulations=setup.simulations,
        concentration=CONCENTRATION,
        random_starts=0.0,
        blunder_starts=0.0,
    )
    theirs = {}
    if pyspiel is not None:
        theirs = {
            PEER: Theirs(setup.peer, settings),
            f"{PEER}, cache cleared before each move": Theirs(setup.peer, settings, anew=True),
            f"{PEER}, network compiled by us": Theirs(setup.peer, settings, compiled=True),
        }
    return theirs | {
        "ttt_env": Ours(game, settings),
        "ttt_env, cache cleared before each move": Ours(game, settings, anew=True),
        "ttt_env, one game at a time, cache cleared": Ours(game, replace(settings, games=1), anew=True),
        "ttt_env as it trains, with proofs": Ours(game, settings, solve=True),
    }


def measure(
    setup: Setup, rounds: Iterable[int], cpu: float, report: Callable[[dict[str, Any]], None]
) -> None:
    """Let the contenders take turns in these rounds, and report a line after each."""
    contenders = contenders_for(setup)
    about = {
        **setup._asdict(),
        "weights": {name: contender.n_weights for name, contender in contenders.items()},
        "versions": {**versions(), **{package: version(package) for package in PACKAGES}},
        "machine": machine(),
    }
    for number in rounds:
        works = {name: contender.play(cpu)._asdict() for name, contender in contenders.items()}
        report({**about, "round": number, "load": _load(), "works": works})


def _load() -> float | None:
    """The load of the last minute, where the system tells it: other work makes caches colder."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def table(lines: Sequence[dict[str, Any]]) -> str:
    """The lines as tables in Markdown."""
    return "\n".join(_table(setup, of_setup) for setup in SETUPS if (of_setup := of(setup, lines)))


def of(setup: Setup, lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of a setup."""
    return [line for line in lines if all(line[name] == value for name, value in setup._asdict().items())]


def _table(setup: Setup, lines: Sequence[dict[str, Any]]) -> str:
    head = ("", "moves/s", "× OpenSpiel", "evaluations per move")
    rows = []
    works = {
        contender: [Work(**line["works"][contender]) for line in lines]
        for contender in lines[0]["works"]
        if all(contender in line["works"] for line in lines)
    }
    for contender, rounds in works.items():
        total = sum(rounds[1:], rounds[0])
        row = (
            contender,
            figure(total.moves / total.cpu),
            about(ratio(rounds, works[PEER])) if PEER in works else "",
            f"{total.asked / total.moves:.3g}",
        )
        rows.append(row)
    told = [
        f"{setup.game}, {setup.simulations} simulations per move:",
        Table.of(head, rows).to_markdown(is_markup=True),
    ]
    return "\n\n".join(told) + "\n"


def ratio(ours: Sequence[Work], theirs: Sequence[Work]) -> float:
    """The ratio of moves a second of a core, over all rounds together, because games last for several."""
    speeds = (sum(work.moves for work in works) / sum(work.cpu for work in works) for works in (ours, theirs))
    return next(speeds) / next(speeds)


def figure(number: float) -> str:
    """A number in three digits, or whole."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def about(number: float) -> str:
    """A number in two digits: OpenSpiel makes few moves, so a ratio to its speed has no more."""
    return f"{float(f'{number:.2g}'):,g}"


def main() -> None:
    """Measure what lacks, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="of the processor, each turn")
    parser.add_argument("--out", type=Path, help="a file of JSON lines, to which rounds are added")
    parser.add_argument("--table", action="store_true", help="of the lines in --out; measure nothing")
    parser.add_argument("--write", action="store_true", help=f"only write those tables into {PAGE.name}")
    arguments = parser.parse_args()
    lines = [] if arguments.out is None else read_lines(arguments.out)

    def report(line: dict[str, Any]) -> None:
        lines.append(line)
        if arguments.out is not None:
            change_lines(arguments.out, lambda kept: [*kept, line])
        print(f"{line['game']}, {line['simulations']} simulations, round {line['round']}", flush=True)

    if arguments.write:
        write_table(PAGE, f"{table(lines)}\n", "selfplay")
        return
    if not arguments.table:
        prepare()
        for setup in SETUPS:
            done = {line["round"] for line in of(setup, lines)}
            if missing := [number for number in range(arguments.rounds) if number not in done]:
                measure(setup, missing, arguments.seconds, report)
    print(f"\n{table(lines)}")
    if pyspiel is None:
        print("OpenSpiel and what its AlphaZero needs are not here: uv run scripts/benchmark_selfplay.py")


if __name__ == "__main__":
    main()
