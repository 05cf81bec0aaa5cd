"""Values proved by search, with the positions searched, the seconds, and a line of best play.

The proofs run in this process, one after the other, each within `--seconds` and `--nodes`; "unknown" is what
is left open then, with the bounds that are proved. Where a game can be enumerated, its solution has to agree.
`cube` is 3×3×3, three in a row. Each proof is a line of `--lines`; games that have one are not proved again
without `--again`.

    python scripts/proofs.py --seconds 3600   # all of them, an hour in all
    python scripts/proofs.py --write          # only the table of docs/results/values.md, from the lines
"""

import argparse
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from lines import change_lines, read_lines
from marked import write_table

import ttt_env
from ttt_env.proofs.proof import prove
from ttt_env.render.table import Table
from ttt_env.rules import is_enumerable
from ttt_env.storage import as_file_name

FOLDER = Path(__file__).parent
LINES, VALUES = FOLDER / "figures" / "proofs.jsonl", FOLDER.parent / "docs" / "results" / "values.md"
FILES = FOLDER.parent / "docs" / "proofs"
CUBE = ttt_env.Game("cube", (3, 3, 3), ttt_env.Game.runs((3, 3, 3), 3))

SOLVED = "van den Herik 2002"
HALES, GOLOMB = "Hales and Jewett 1963", "Golomb and Hales 2002"
ERDOS = "Erdős and Selfridge 1973"
CHARATSIDIS, HSU, JENRICH = "Charatsidis 2017", "Hsu 2020", "Jenrich 2011"
NOBODY = "–"
M_N_K = {
    "long known": "3,3,3",
    SOLVED: "4,3,3 5,3,3 4,4,3 4,4,4 5,4,4 6,4,4 7,4,4 5,5,4 6,5,4 6,6,5",
    CHARATSIDIS: "8,4,4 9,4,4",
    HALES: "5,5,5",
    HSU: "7,7,5 8,8,5",
    ERDOS: "6,6,6",
    NOBODY: "7,5,4 8,5,4 6,6,4 7,6,4 6,5,5 7,5,5 8,5,5 9,5,5 10,5,5 7,6,5 8,6,5 9,6,5 8,7,5",
}
SIZES = {tuple(map(int, size.split(","))): by for by, sizes in M_N_K.items() for size in sizes.split()}
GAMES = {
    **{f"mnk-v0:m={m},n={n},k={k}": SIZES[m, n, k] for m, n, k in sorted(SIZES, key=lambda size: size[::-1])},
    "cube": GOLOMB,
    "qubic-v0": "Patashnik 1980",
    "square-v0:n=3": NOBODY,
    "square-v0": NOBODY,
    **{f"square-v0:n={n}": NOBODY for n in (5, 6, 7, 8)},
    "square-v0:n=3,tilted=false": JENRICH,
    "square-v0:tilted=false": JENRICH,
    "square-v0:n=5,tilted=false": JENRICH,
    "square-v0:n=6,tilted=false": NOBODY,
}
"""The games, and who has published their values."""

VERDICTS = {1: "X wins", 0: "draw", -1: "O wins"}
HEAD = ("game", "value", "positions searched", "proof", "published")


def game_of(name: str) -> ttt_env.Game:
    """The game of this name."""
    return CUBE if name == "cube" else ttt_env.get_game(name)


def proved(name: str, seconds: float, nodes: int | None, folder: Path | None) -> dict[str, Any]:
    """The record of a proof within this budget; `seconds` are processor time.

    A proved value is saved in the folder, if there is one.
    """
    game = game_of(name)
    prove(game, nodes=1)  # compiles what it needs
    begin = time.process_time()
    proof = prove(game, seconds=seconds, nodes=nodes)
    used = time.process_time() - begin
    if folder is not None and proof.value is not None:
        proof.save(folder / f"{as_file_name(name)}.npz")
    is_swept = is_enumerable(game) and proof.value is not None
    if is_swept:
        assert ttt_env.solve(game).value == proof.value, name
    return {
        "game": name,
        "value": proof.value,
        "bounds": list(proof.bounds),
        "by": ["groups" if proof.regions else "search"] + ["sweep"] * is_swept,
        "nodes": proof.nodes,
        "seconds": round(used, 3),
        "line": list(proof.principal_variation),
    }


def verdict(line: dict[str, Any]) -> str:
    """The proved value in words, or the bounds that are known."""
    if line["value"] is not None:
        return VERDICTS[line["value"]]
    return f"unknown, from {line['bounds'][0]} to {line['bounds'][1]}"


def row(line: dict[str, Any]) -> str:
    """One line of what is printed."""
    name, figures = f"{line['game']:28}{verdict(line):22}", f"{line['nodes']:>14,}{line['seconds']:>10.2f}"
    return f"{name}{figures}   {' and '.join(line['by']):17}{' '.join(map(str, line['line']))}"


def file_of(name: str) -> str:
    """A link to the file of the proof, with its size; empty if there is no file."""
    path = FILES / f"{as_file_name(name)}.npz"
    return f"[{path.stat().st_size / 1000:,.0f} kB](../proofs/{path.name})" if path.exists() else ""


def table(lines: Iterable[dict[str, Any]]) -> str:
    """The lines as a Markdown table, in the order of `GAMES`."""
    by_name = {line["game"]: line for line in lines}
    rows = []
    for name, source in GAMES.items():
        if name in by_name:
            line = by_name[name]
            game = "3×3×3" if name == "cube" else f"`{name}`"
            rows.append((game, verdict(line), f"{line['nodes']:,}", file_of(name), source))
    return Table.of(HEAD, rows, "llrll").to_markdown(is_markup=True) + "\n"


def read(path: Path) -> dict[str, dict[str, Any]]:
    """The last line of each game."""
    return {line["game"]: line for line in read_lines(path)}


def replaced(lines: list[Any], line: dict[str, Any]) -> list[Any]:
    """The lines with this one instead of earlier ones of its game."""
    return [*(other for other in lines if other["game"] != line["game"]), line]


def main() -> None:
    """Prove, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each game")
    parser.add_argument("--nodes", type=int, default=None, help="for each game")
    parser.add_argument("--games", nargs="*", default=list(GAMES))
    parser.add_argument("--save", type=Path, help="folder for the files of the proofs, for check_proof.py")
    parser.add_argument("--lines", type=Path, default=LINES, help="a file of JSON lines with what is proved")
    parser.add_argument("--again", action="store_true", help="prove games again that have a line")
    parser.add_argument("--write", action="store_true", help="only write the table of all lines")
    arguments = parser.parse_args()
    known = read(arguments.lines)
    if arguments.write:
        write_table(VALUES, table(known.values()), "values")
        return
    print(f"{'game':28}{'value':22}{'nodes':>14}{'seconds':>10}   {'by':17}best play")
    for name in arguments.games:
        if name not in known or arguments.again:
            known[name] = proved(name, arguments.seconds, arguments.nodes, arguments.save)
            if known[name]["value"] is not None:
                change_lines(arguments.lines, partial(replaced, line=known[name]))
        print(row(known[name]), flush=True)


if __name__ == "__main__":
    main()
