"""A league of 200 agents on 3×3, exactly, with the same table from processes of this machine and from Ray.

Everybody plays everybody: Monte Carlo tree search of many sizes, softmax minimax of many temperatures, agents
that slip, mixtures, networks trained and untrained, rules. The 19,900 pairings are computed by this process,
by loky and by Ray (which is started here, or runs at `--address`), with one and two workers; the tables have
to be equal to the last bit. Prints how long each took, what sharing out costs by the task, what follows from
that for more machines, and who leads by rating, Nash averaging and α-rank; OpenSpiel, if it is installed,
has to find the same for the last two.
"""

import argparse
import time
from collections.abc import Mapping
from itertools import product, starmap

import numpy as np

import ttt_env
from ttt_env.agent import AgentLike
from ttt_env.agents.learned.value_network import BoardNetwork, ValueNetwork
from ttt_env.render.table import Column, Table
from ttt_env.tournament import Tournament, tournament
from ttt_env.tournament.standings import nash_mixture
from ttt_env.workers import Backend, Workers

SIMULATIONS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300)
TEMPERATURES = np.logspace(-2, 1, 25).round(4).tolist()
SLIPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
NETWORKS = 20
CLASSICAL = (
    *("random", "block", "win-block", "newell-simon", "weights", "brute-force", "lookup"),
    *("rules:centre+block", "rules:win+block", "rules:win+block+fork", "rules:centre+corner+side"),
    *("minimax", "minimax:prefer=fast", *(f"minimax:depth={depth}" for depth in (1, 2, 3, 4, 5))),
    *("value-network", "q-learning", "ppo", "dqn"),
)
MIXED = ("win-block", "ppo", "value-network", "mcts:simulations=50,seed=0", "newell-simon", "weights")
RUNS: tuple[tuple[int, Backend], ...] = ((1, "loky"), (2, "loky"), (1, "ray"), (2, "ray"))
MACHINES = (1, 10, 100)
CORES = 16


def league() -> dict[str, AgentLike]:
    """The 200 agents by name."""
    game = ttt_env.get_game("tictactoe-v0")
    specs = [
        *starmap(
            "mcts:simulations={},playout={},seed={}".format,
            product(SIMULATIONS, ("random", "win-block"), (0, 1)),
        ),
        *(f"softmax:temperature={own}" for own in TEMPERATURES),
        *(f"softmax:temperature={own},opponent_temperature=1" for own in TEMPERATURES),
        *starmap(
            "epsilon:{},epsilon={}".format, product(("minimax", "win-block", "newell-simon", "dqn"), SLIPS)
        ),
        *(f"mixture:({agent})+{other}" for agent in MIXED for other in ("random", "minimax")),
        *CLASSICAL,
    ]
    agents: dict[str, AgentLike] = dict(zip(specs, specs, strict=True))
    for seed in range(NETWORKS):
        network = BoardNetwork.random(game, np.random.default_rng(seed), start="symmetric")
        agents[f"network {seed}"] = ValueNetwork.of(network)
    return agents


def nothing(first: str, second: str) -> None:
    """A pairing that is no work: what it takes is what sharing out costs."""


def cost_of_sharing(workers: int, backend: Backend, address: str | None, n_tasks: int) -> tuple[float, ...]:
    """Seconds until the processes run, for one message and its answer, and for each of many tasks."""
    marks = [time.perf_counter()]
    with Workers(workers, backend, address) as shared:
        shared.run(nothing, [("", "")] * workers)
        marks.append(time.perf_counter())
        for _ in range(100):
            shared.run(nothing, [("", "")])
        marks.append(time.perf_counter())
        shared.run(nothing, [("mcts:simulations=100,seed=0", "softmax:temperature=1")] * n_tasks)
        marks.append(time.perf_counter())
    start, message, tasks = np.diff(marks).tolist()
    return start, message / 100, tasks / n_tasks


def timed(
    agents: Mapping[str, AgentLike], workers: int, backend: Backend, address: str | None
) -> tuple[Tournament, float, float]:
    """The league's tournament, and the seconds that it took: all, and those that this process computed."""
    start, computed = time.perf_counter(), time.process_time()
    played = tournament(agents, workers=workers, backend=backend, address=address, rng=0)
    return played, time.perf_counter() - start, time.process_time() - computed


def longest_entry(agents: Mapping[str, AgentLike]) -> float:
    """The seconds of the agent that thinks longest: about as long as any number of machines needs."""
    seconds = []
    for agent in agents.values():
        start = time.process_time()
        ttt_env.exploitability(ttt_env.RecordedAgent(ttt_env.make_agent(agent)))
        seconds.append(time.process_time() - start)
    return max(seconds)


def forecast(work: float, longest: float, costs: tuple[float, ...], n_tasks: int) -> str:
    """The time that more machines would take, on paper, in Markdown.

    The work is divided; starting, handing out each task, and the agent that thinks longest are not.
    """
    start, _, task = costs
    fixed = start + task * n_tasks + longest
    seconds = {machines: fixed + work / (machines * CORES) for machines in MACHINES}
    columns = (
        Column("machines", MACHINES),
        Column("processes", [machines * CORES for machines in MACHINES]),
        Column("seconds", [*seconds.values()], "{:.1f}".format),
        Column("speed-up", [work / each for each in seconds.values()], "{:.0f}".format),
    )
    limit = f"No number of machines is more than {work / fixed:.0f} times as fast as one process."
    return f"{Table(columns).to_markdown()}\n{limit}"


def leaders(played: Tournament) -> str:
    """The agents of the highest ratings, in Markdown."""
    names = played.ranking[:12]
    exploited = [played.exploitability[name] for name in names]
    columns = [
        Column("agent", names, "`{}`".format, is_left=True),
        Column("exploitability", exploited, lambda each: f"{each.exploitability:.4f}", missing="?"),
    ]
    for head, figures, form in (
        ("rating", played.ratings, "{:+.0f}"),
        ("mean score", played.scores, "{:+.4f}"),
        ("Nash weight", played.nash_mixture, "{:.4f}"),
        ("against Nash", played.nash_scores, "{:+.4f}"),
        ("α-rank", played.alpha_rank, "{:.4f}"),
    ):
        columns.append(Column(head, [figures[name] for name in names], form.format))
    return Table(columns).to_markdown(is_markup=True)


def check_against_openspiel(played: Tournament) -> str:
    """The distance of OpenSpiel's Nash averaging and α-rank from ours; they have to agree."""
    try:
        from open_spiel.python.algorithms.nash_averaging import nash_averaging
        from open_spiel.python.egt import alpharank
        from pyspiel import create_matrix_game
    except ImportError as missing:
        return f"OpenSpiel is not compared: {missing}"
    payoffs = np.nan_to_num(played.table)
    payoffs = (payoffs - payoffs.T) / 2  # its checks want this to the last bit
    # Its solver is not accurate enough for many agents, some of whom differ by a billionth: ten of them then.
    few = payoffs[:: -(-len(payoffs) // 10), :: -(-len(payoffs) // 10)]
    mixture = nash_averaging(create_matrix_game(few, -few))[0].ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        shares = alpharank.compute([payoffs], m=50, alpha=100)[2]
    apart = (
        np.abs(mixture - nash_mixture(few)).max(),
        np.abs(shares - list(played.alpha_rank.values())).max(),
    )
    assert apart[0] < 1e-4 and apart[1] < 1e-5, apart
    return (
        f"OpenSpiel's Nash weights of {len(few)} of them differ by at most {apart[0]:.0e}, its α-rank of all "
        f"by {apart[1]:.0e}."
    )


def main() -> None:
    """Play the league in each way, and print what it took and who leads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--agents", type=int, default=200, help="how many of the 200, evenly spread")
    parser.add_argument("--backends", nargs="+", choices=["loky", "ray"], default=["loky", "ray"])
    parser.add_argument("--address", help="host:port of a Ray cluster; by default one is started here")
    options = parser.parse_args()
    everybody = league()
    chosen = np.linspace(0, len(everybody) - 1, options.agents).astype(int).tolist()
    agents = {name: everybody[name] for name in np.array(list(everybody), object)[chosen].tolist()}
    n_tasks = len(agents) * (len(agents) + 1) // 2

    ttt_env.tournament(["random", "minimax"])  # compiles what there is to compile
    expected, alone, work = timed(agents, 1, "loky", None)
    print(f"{len(agents)} agents, {n_tasks:,} tasks: {alone:.1f} s in one process, {work:.1f} s of one core")
    for workers, backend in RUNS[1:]:
        if backend not in options.backends:
            continue
        address = options.address if backend == "ray" else None
        costs = cost_of_sharing(workers, backend, address, n_tasks)
        played, seconds, _ = timed(agents, workers, backend, address)
        assert played == expected, "another table"
        print(
            f"{backend}, {workers} workers: the same in {seconds:.1f} s, {alone / seconds:.2f} × as fast; "
            f"start {costs[0]:.1f} s, a message {1e3 * costs[1]:.2f} ms, a task {1e6 * costs[2]:.0f} µs"
        )
    print(f"\nOn paper, with machines of {CORES} cores like this one's:")
    print(forecast(work, longest_entry(agents), costs, n_tasks))
    print(f"\n{leaders(expected)}")
    in_nash = [name for name, weight in expected.nash_mixture.items() if weight > 1e-6]
    unbeatable = [
        name for name, each in expected.exploitability.items() if each and max(each.as_x, each.as_o) <= 0
    ]
    print(f"\n{len(in_nash)} agents are in the Nash average, {len(unbeatable)} are unbeatable.")
    print(check_against_openspiel(expected))


if __name__ == "__main__":
    main()
