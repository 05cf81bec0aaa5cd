"""The facts of `golden.py` about games, agents, learners and searches.

They come from the public API. What a later version may rename is under "Names of this version".
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from golden_envs import Facts, Integers, digest, integers, pairs

import ttt_env
from ttt_env import Agent, Boards, Game, GameRecord, Match, Position, get_game
from ttt_env.agents.mcts.search import Search
from ttt_env.errors import TttEnvError
from ttt_env.storage.game_log import GameLog

FANO = Game("fano", (7,), [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)])
TICTACTOE = get_game("tictactoe-v0")
MISERE = get_game("tictactoe-v0:misere=true")
OBLONG = get_game("mnk-v0:m=4,n=3,k=3")
SQUARE = get_game("square-v0")
SEEDS = (0, 1, 2)

# --- Names of this version ------------------------------------------------------------------------------


def certificate_facts(agent: Agent, game: Game) -> Facts:
    """The verdict on an agent, its counts and the games that beat it."""
    proof = ttt_env.certify(agent, game)
    worst = {f"worst_as_{seat}": proof.worst_case[seat] for seat in "XO"}
    n_queries = sum(proof.n_positions.values())  # each position was asked for once, whoever was asked
    yield "certificate", pairs({"unbeatable": proof.unbeatable} | worst | {"n_queries": n_queries})
    for seat, record in proof.refutations.items():
        yield f"refutation as {seat}", None if record is None else text_of(record.cells)
    blunders = {"n_blunders": proof.n_blunders, "n_missed_wins": proof.n_missed_wins}
    yield "blunders", pairs(blunders | {"positions": digest(*in_order(proof.blunders))})
    if proof.inconsistent is not None:
        counts = {"n_imperfect": proof.n_imperfect, "n_classes": proof.n_symmetry_classes}
        yield "consistency", pairs(counts | {"n_inconsistent": len(proof.inconsistent)})
    if proof.forfeits:
        yield "forfeits", len(proof.forfeits)


def values_of(solution: ttt_env.Solution, boards: Boards) -> Integers:
    """The values of a batch of positions for the player to move, `[B]`."""
    return integers(solution.values.of(boards))


def exact_match(first: Agent, second: Agent, game: Game) -> Match:
    """The computed result of two agents."""
    return ttt_env.match(first, second, game, exact=True)


def sampled_match(first: str, second: str, games: int) -> Match:
    """The result of some games of two agents."""
    return ttt_env.match(first, second, TICTACTOE, exact=False, games=games, rng=7)


def tournament_of(agents: Sequence[str]) -> ttt_env.Tournament:
    """The tournament of these agents, some of them in a hundred games."""
    return ttt_env.tournament(agents, TICTACTOE, max_games=100)


# --- Values as text -------------------------------------------------------------------------------------


def number(value: float) -> str:
    """A fraction of a small denominator, or nine digits; the rounding errors of a sum do not show."""
    value = float(value)
    fraction = Fraction(value).limit_denominator(10_000)
    if abs(float(fraction) - value) < 1e-12:
        return str(fraction) if fraction or not value else "almost 0"
    return f"{round(value, 12):.9g}"


def text_of(values: Iterable[object]) -> str:
    """The values with blanks between them."""
    return " ".join(map(str, values))


def in_order(boards: Boards) -> tuple[Integers, Integers]:
    """The stones of the movers and of the others as masks, in the order of these."""
    mine, theirs = integers(boards.mine), integers(boards.theirs)
    order = np.lexsort((theirs, mine))
    return mine[order], theirs[order]


def match_text(played: Match) -> str:
    """Win, draw and loss of the first agent as X and as O."""
    results = [
        f"{seat} {text_of(map(number, each))}" for seat, each in (("X", played.as_x), ("O", played.as_o))
    ]
    return f"{', '.join(results)}, score {number(played.score)}"


# --- Games ----------------------------------------------------------------------------------------------


@cache
def layers_of(game: Game) -> list[tuple[Boards, Integers]]:
    """The positions of each ply, in order, and the number of ways to come to each of them."""
    layers = [(Boards.start(game), np.ones(1, np.int64))]
    while (boards := layers[-1][0]).legal.any():
        rows, cells = np.nonzero(boards.legal)
        after = boards[rows].play(cells)
        codes = after.mine << np.uint64(game.n_cells) | after.theirs
        _, kept, which = np.unique(codes, return_index=True, return_inverse=True)
        counts = np.zeros(len(kept), np.int64)
        np.add.at(counts, which, layers[-1][1][rows])
        layers.append((after[kept], counts))
    return layers


def random_games(game: Game, n: int) -> list[GameRecord]:
    """Games of random moves."""
    rng, records = np.random.default_rng(0), []
    for _ in range(n):
        position, cells = game.start, []
        while not position.is_over:
            cells.append(int(rng.choice(position.legal_cells)))
            position = position.play(cells[-1])
        records.append(GameRecord(game, tuple(cells)))
    return records


def solutions(*games: Game) -> Facts:
    """The value of each game, and of the moves along two games of random moves."""
    for game in games:
        solution = ttt_env.solve(game)
        yield f"{game.name}/value", solution.value
        positions = [position for record in random_games(game, 2) for position in record.positions()[:-1]]
        for position in dict.fromkeys(positions):
            by_cell = {str(cell): -solution.value_of(position.child(cell)) for cell in position.legal_cells}
            text = f"value={solution.value_of(position)} best={solution.best_cells(position)}"
            yield f"{game.name}/{position}", f"{text} by cell: {pairs(by_cell)}"


def counts(*games: Game) -> Facts:
    """Perft, the positions of each ply, and how many of them have each value."""
    for game in games:
        layers, solution = layers_of(game), ttt_env.solve(game)
        values = [values_of(solution, boards) for boards, _ in layers]
        yield f"{game.name}/perft", text_of(n_ways.sum() for _, n_ways in layers)
        yield f"{game.name}/positions by ply", text_of(len(boards) for boards, _ in layers)
        yield f"{game.name}/over by ply", text_of(boards.is_over.sum() for boards, _ in layers)
        for value in (1, 0, -1):
            yield (
                f"{game.name}/of value {value} by ply",
                text_of((of_ply == value).sum() for of_ply in values),
            )
        yield f"{game.name}/all values", digest(values)


def proofs() -> Facts:
    """The values of larger games, proved by search."""
    ids = [f"mnk-v0:m={m},n={n},k=4" for m, n in ((4, 4), (5, 4), (5, 5), (6, 5))]
    cube = Game("3x3x3", (3, 3, 3), Game.runs((3, 3, 3), 3))
    for game in (*map(get_game, ids), cube, get_game("square-v0:n=5")):
        yield f"{game.name}/value", ttt_env.prove(game).value


# --- Agents ---------------------------------------------------------------------------------------------

OPPONENTS = ("random", "win-block", "newell-simon", "minimax", "softmax:temperature=0.3", "epsilon:weights")
PLAIN = """
random block win-block rules rules:rules=win+opposite-corner+side newell-simon weights
minimax minimax:depth=2 minimax:depth=5 minimax:prefer=fast brute-force lookup
softmax softmax:temperature=0.2,opponent_temperature=1 softmax:temperature=0
""".split()
COMBINED_OR_LEARNED = """
best-response:win-block best-response:softmax safe-exploit safe-exploit:weights
epsilon:newell-simon epsilon:random,epsilon=0 mixture:minimax+random,weights=7+3
symmetric:weights symmetric:block ppo dqn q-learning value-network alphazero:simulations=0
""".split()
SEARCHES = """
mcts:simulations=20,seed=0 mcts:simulations=40,seed=1,playout=win-block,solve=false,c=1
mcts:simulations=20,seed=2,threats=true mcts:simulations=30,seed=3,evaluate=value-network
epsilon:mcts:simulations=5,seed=4,epsilon=0.2 symmetric:mcts:simulations=20,seed=5
alphazero alphazero:simulations=20,seed=1,threats=false,solve=false
""".split()
ON_SQUARE = ["win-block", "newell-simon", "weights", "minimax", "alphazero:simulations=0"]


def lowest(position: Position) -> int:
    """The first free cell."""
    return position.legal_cells[0]


def stubborn(position: Position) -> int:
    """Cell 2, even if it is taken."""
    return 2


def strength(
    game: Game, agents: dict[str, Any], opponents: Sequence[str] = OPPONENTS, responds: bool = True
) -> Facts:
    """The strength of agents, and which of them refuse the game."""
    others = {name: ttt_env.make_agent(name, game) for name in opponents}
    for spec, given in agents.items():
        name = f"{game.name}/{spec}"
        try:
            agent = ttt_env.make_agent(given, game)
        except TttEnvError as error:
            yield name, f"refused by {type(error).__name__}"
            continue
        yield from ((f"{name}/{what}", value) for what, value in certificate_facts(agent, game))
        found = ttt_env.exploitability(agent, game)
        gains = {seat: number(getattr(found, seat)) for seat in ("as_x", "as_o", "nash_conv")}
        yield f"{name}/exploitability", pairs(gains)
        if responds:
            response = ttt_env.best_response(agent, game)
            yield f"{name}/best response", match_text(exact_match(response, agent, game))
            yield f"{name}/its openings", text_of(np.flatnonzero(response.policy(game.start)))
        for other, opponent in others.items():
            yield f"{name}/v {other}", match_text(exact_match(agent, opponent, game))


def by_spec(game: Game, *specs: str, **options: Any) -> Facts:
    """The strength of agents that go by their specs."""
    return strength(game, dict(zip(specs, specs, strict=True)), **options)


def by_search(game: Game) -> Facts:
    """The strength of agents that search in each position, against some opponents."""
    return by_spec(game, *SEARCHES, opponents=("random", "minimax", "epsilon:weights"))


def on_square() -> Facts:
    """The strength of some agents on 16 cells, where a computation takes seconds."""
    yield from by_spec(SQUARE, *ON_SQUARE, opponents=("newell-simon", "weights"), responds=False)
    yield from by_spec(SQUARE, "random", opponents=(), responds=False)


def functions(*games: Game) -> Facts:
    """The strength of functions that are asked, one of which names taken cells."""
    for game in games:
        yield from strength(game, {"lowest": lowest, "stubborn": stubborn}, opponents=(), responds=False)


def from_files(*games: Game) -> Facts:
    """The strength of agents that play by people's games and a proof."""
    for game in games:
        with TemporaryDirectory() as folder:
            log, proof = f"{folder}/games.sqlite", f"{folder}/proof.npz"
            with GameLog(log) as games_of_people:
                for n, record in enumerate(random_games(game, 100)):
                    games_of_people.add(record, x="person", o=("person", None, "random")[n % 3])
            ttt_env.prove(game).save(proof)
            agents = {
                "imitation": f"imitation:{log}",
                "imitation of some": f"imitation:{log},fallback=weights",
                "strategy": f"strategy:{proof}",
            }
            yield from strength(game, agents)


def played_games() -> Facts:
    """Games and sampled matches, and two tournaments."""
    for x, o in (("random", "random"), ("softmax", "block"), ("mcts:simulations=20", "epsilon:minimax")):
        for seed in SEEDS:
            record = ttt_env.play_game(x, o, TICTACTOE, rng=seed)
            yield f"game {seed} of {x} v {o}", text_of(record.cells)
        yield f"sampled match of {x} v {o}", match_text(sampled_match(x, o, 200))
    tables = {
        "exact": [*OPPONENTS, "block", "brute-force"],
        "sampled": ["random", "rules", "mcts:simulations=5"],
    }
    for kind, agents in tables.items():
        played = tournament_of(agents)
        yield f"{kind} tournament/ranking", ", ".join(played.ranking)
        for name, row in zip(played.names, np.nan_to_num(played.table), strict=True):
            rating = f"rating={played.ratings[name]:+.1f}"
            yield f"{kind} tournament/{name}", f"{rating} scores: {text_of(map(number, row))}"


def learners(algo: str, steps: int, seeds: Iterable[int] = range(10)) -> Facts:
    """When trainings judged their agents, and how these play."""
    for seed in seeds:
        reports: list[Any] = []
        agent = ttt_env.train(TICTACTOE, algo, seed=seed, steps=steps, report=reports.append)
        yield f"{algo} {seed}/judged after", text_of(report.steps for report in reports)
        for what, value in certificate_facts(agent, TICTACTOE):
            yield f"{algo} {seed}/{what}", value
        greedy = [agent.policies(boards[~boards.is_over]) > 0 for boards, _ in layers_of(TICTACTOE)[:-1]]
        openings = text_of(np.flatnonzero(agent.policy(TICTACTOE.start)))
        yield f"{algo} {seed}/greedy cells", f"openings={openings} all={digest(greedy)}"


# --- Monte Carlo tree search ----------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "usual": {},
    "without proofs": {"solve": False, "c": 0.7},
    "win-block playouts": {"playout": "win-block", "draw": 0.25},
    "threats": {"threats": True},
}
ROOTS = [
    *(TICTACTOE.start, MISERE.start, OBLONG.start, SQUARE.start, FANO.start),
    Position.parse("X../.O./...", TICTACTOE),
    Position.parse("..X../.OXO./.XOX./...../.....", get_game("mnk-v0:m=5,n=5,k=4")),
]


def search_text(search: Search) -> str:
    """A tree: the moves as `cell:w/visits`, with a value if it is proved, and a digest of the replies."""
    root = search.tree(max_depth=2)
    moves = [
        f"{child.cell}:{child.wins:g}/{child.visits}" + (f"={child.value}" if child.value is not None else "")
        for child in root.children
    ]
    below = [(node.cell, node.visits, 4 * node.wins) for child in root.children for node in child.children]
    head = {"visits": root.visits, "value": search.value, "best": search.best_cells()}
    return f"{pairs(head)} moves: {text_of(moves)} replies: {digest(np.array(below))}"


def searches() -> Facts:
    """Trees of fixed seeds, kept after a move, and searches that stop early."""
    for position in ROOTS:
        for setting, options in SETTINGS.items():
            for seed in SEEDS:
                search = Search(position, seed=seed, **options)
                name = f"{position.game.name}/{position}/{setting}/{seed}"
                search.run(simulations=200)
                yield name, search_text(search)
                search.advance(search.best_cells()[0])
                search.run(simulations=100)
                yield f"{name} after a move", search_text(search)
        for stop, options in (("early_stop", {"early_stop": True}), ("tolerance", {"tolerance": 0.02})):
            search = Search(position, seed=0, solve=False, **options)
            n_run = search.run(simulations=3000)
            text = pairs({"simulations": n_run, "stopped_by": search.stopped_by, "best": search.best_cells()})
            yield f"{position.game.name}/{position}/{stop}", text
