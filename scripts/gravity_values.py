"""Positions and values of boards on which stones fall, by a C program that shares nothing with the package.

`gravity_values.c` visits every position where there are up to 2²⁸ ways to place stones, and searches for the
value on larger boards. Beside its results are the package's own, where it can enumerate the positions.

    python scripts/gravity_values.py --games connect-four-v0:m=5,n=4,k=4 score-four-v0:k=3,h=3
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import ttt_env
from ttt_env.analysis.layers import reachable
from ttt_env.render.table import Table
from ttt_env.rules.sizes import is_enumerable, n_placements

SOURCE = Path(__file__).with_suffix(".c")
LARGEST_HEIGHT = {4: 8, 5: 7, 6: 5, 7: 4}  # of boards that take minutes, by width
GAMES = (
    "connect-four-v0:m=3,n=3,k=3",
    *(f"connect-four-v0:m={m},n={n},k=4" for m in range(4, 8) for n in range(4, LARGEST_HEIGHT[m] + 1)),
    *(f"score-four-v0:k=3,h={h}" for h in range(1, 8)),
    "score-four-v0:k=4,h=1",
)
MOST_COUNTED = 1 << 28  # placements
VALUES = {1: "X wins", 0: "draw", -1: "O wins"}

Found = tuple[int | None, int]
"""The number of positions that can be reached, if they were counted, and the value for X."""


def compiled(folder: Path) -> Path:
    """The C program, compiled into a folder."""
    if shutil.which("cc") is None:
        sys.exit("there is no C compiler `cc`: install one, for example gcc or clang")
    program = folder / SOURCE.stem
    subprocess.run(["cc", "-std=c99", "-O2", "-o", str(program), str(SOURCE)], check=True)
    return program


def by_program(program: Path, game: ttt_env.Game, bits: int) -> Found:
    """The results of the C program, with a table of at most 2^bits entries."""
    height, *base = game.shape
    width, depth = (*base, 1)[:2]
    is_counted = n_placements(game) <= MOST_COUNTED
    bits = min(bits, n_placements(game).bit_length() + 1)
    numbers = width, height, depth, len(game.winning_sets[0]), int(game.misere), bits
    command = [str(program), "count" if is_counted else "value", *map(str, numbers)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{game.name}: {run.stderr.strip()}")
    n_positions, value = map(int, run.stdout.split())
    return n_positions if is_counted else None, value


def by_package(game: ttt_env.Game) -> Found:
    """The results of the package."""
    return sum(map(len, reachable(game))), ttt_env.solve(game).value


def main() -> None:
    """Print a row for each game; exit with an error if the two results differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--games", nargs="+", default=GAMES, help="of connect-four-v0 and score-four-v0")
    parser.add_argument("--bits", type=int, default=27, help="2^BITS entries of 16 bytes at most; default 27")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        for game in map(ttt_env.get_game, options.games):
            start = perf_counter()
            found = by_program(program, game, options.bits)
            middle = perf_counter()
            own = by_package(game) if is_enumerable(game) else None
            end = perf_counter()
            if own not in (None, found):
                sys.exit(f"{game.name}: {found} by the C program, {own} by the package")
            positions = "–" if found[0] is None else f"{found[0]:,}"
            beside = (
                ("–", "–", "–") if own is None else (f"{own[0]:,}", VALUES[own[1]], f"{end - middle:.1f}")
            )
            rows.append((game.name, positions, VALUES[found[1]], f"{middle - start:.1f}", *beside))
    heads = "game", "positions", "value", "seconds", "of the package", "value", "seconds"
    print(Table.of(heads, rows, "lrlrrlr").to_markdown())


if __name__ == "__main__":
    main()
