"""Time the exact answers: solutions, matches, exploitability, and the import before them.

- The strong solution of 3×3 (the value of every position), cold: all caches of the package are cleared before
  each round, and the best round counts.
- `match("random", "minimax")` and `exploitability("random")` after a first call, the median of the rounds.
- `import ttt_env` in fresh processes, started once before for the compiled files; the best and the median.
- Games of 16 and 20 cells, solved strongly in fresh processes: seconds of `solve`, and the peak of memory.
- If OpenSpiel is there (`pip install open-spiel`), its fastest way to the same figure, the C++
  `TabularBestResponseMDP.nash_conv` of the uniform policy, takes turns with our `exploitability`; each round
  gives a ratio of its own. Both figures have to agree.
"""

import argparse
import json
import subprocess
import sys
from functools import partial
from statistics import median
from typing import Any

from speed.measuring import timed, verdict

import ttt_env
from ttt_env.analysis import grid, layers, solution

LARGE = ("square-v0", "mnk-v0:m=4,n=4,k=4", "connect-four-v0:m=4,n=4", "connect-four-v0:m=5,n=4")
IMPORT = "import time; begin = time.perf_counter(); import ttt_env; print(time.perf_counter() - begin)"
SOLVE = """
import json, resource, sys, time
import ttt_env
game = ttt_env.get_game(sys.argv[1])
begin = time.perf_counter()
solution = ttt_env.solve(game)
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "peak": peak, "value": solution.value}))
"""


def clear_caches() -> None:
    """Forget every solution, layer and table, as in a fresh process."""
    for module in (solution, layers, grid):
        for cached in vars(module).values():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()


def in_a_fresh_process(script: str, *arguments: str) -> Any:
    """The script's output, parsed as JSON."""
    command = [sys.executable, "-c", script, *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def row(what: str, seconds: float, goal: float) -> None:
    """Print one line of the table; times in milliseconds."""
    print(f"  {what:48}{seconds * 1e3:>10.1f} ms   goal {goal * 1e3:>6,.0f}  {verdict(seconds <= goal)}")


def print_small(rounds: int) -> None:
    """Print the table of 3×3 and of the import."""
    print(f"3×3, {rounds} rounds\n")
    cold = []
    for _ in range(rounds):
        clear_caches()
        cold.append(timed(lambda: ttt_env.solve("tictactoe-v0")))
    row("strong solution, cold, best", min(cold), 0.030)
    for name, act, goal in (
        ('match("random", "minimax"), median', lambda: ttt_env.match("random", "minimax"), 0.050),
        ('exploitability("random"), median', lambda: ttt_env.exploitability("random"), 0.020),
    ):
        act()
        row(name, median(timed(act) for _ in range(rounds)), goal)
    in_a_fresh_process(IMPORT)
    imports = [in_a_fresh_process(IMPORT) for _ in range(rounds)]
    row("import ttt_env, best", min(imports), 0.350)
    row("import ttt_env, median", median(imports), 0.350)


def print_large(games: list[str]) -> None:
    """Print the table of the large games."""
    print("\nStrong solutions in fresh processes: goal 30 s and 3 GB for boards of 4×4\n")
    for name in games:
        solved = in_a_fresh_process(SOLVE, name)
        seconds, gigabytes = solved["seconds"], solved["peak"] / 1e9
        print(f"  {name:24}value {solved['value']:>2}{seconds:>10.1f} s{gigabytes:>8.2f} GB")


def print_open_spiel(rounds: int) -> None:
    """Print how many times faster than OpenSpiel we are."""
    try:
        import pyspiel
    except ImportError:
        print("\nTo compare with OpenSpiel: pip install open-spiel")
        return
    game = pyspiel.load_game("tic_tac_toe")
    uniform = pyspiel.UniformRandomPolicy(game)

    def peer() -> Any:
        return pyspiel.TabularBestResponseMDP(game, uniform).nash_conv()

    own = partial(ttt_env.exploitability, "random")
    figures = peer().nash_conv, own().nash_conv
    assert abs(figures[0] - figures[1]) < 1e-9, figures
    pairs = [(timed(peer), timed(own)) for _ in range(rounds)]
    theirs, ours = (median(seconds) for seconds in zip(*pairs, strict=True))
    ratio = median(a / b for a, b in pairs)
    print(f"\nnash_conv of the uniform policy, {figures[1]:.10f} by both; median of {rounds} rounds\n")
    print(f"  OpenSpiel {theirs * 1e3:.1f} ms, ttt_env {ours * 1e3:.1f} ms")
    print(f"  ratio {ratio:.1f}, goal 25: {verdict(ratio >= 25)}")


def main() -> None:
    """Measure, and print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--games", nargs="*", default=LARGE, help="large games to solve")
    arguments = parser.parse_args()
    print_small(arguments.rounds)
    print_large(arguments.games)
    print_open_spiel(arguments.rounds)


if __name__ == "__main__":
    main()
