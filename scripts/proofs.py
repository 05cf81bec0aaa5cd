"""Values proved by search, with the positions searched, the seconds, and a line of best play.

The proofs run in this process, one after the other, each within `--seconds` and `--nodes`; "unknown" is what
is left open then, with the bounds that are proved. Where a game can be enumerated, its solution has to agree.
`cube` is 3×3×3, three in a row.
"""

import argparse
from pathlib import Path

import ttt_env
from ttt_env.analysis.proof import Proof, prove
from ttt_env.rules.sizes import is_enumerable
from ttt_env.storage.files import as_file_name

CUBE = ttt_env.Game("cube", (3, 3, 3), ttt_env.runs((3, 3, 3), 3))
GAMES = (
    *(f"mnk-v0:m={m},n={n},k={k}" for m, n, k in [(3, 3, 3), (4, 3, 3), (5, 3, 3), (4, 4, 3), (4, 4, 4)]),
    *(f"mnk-v0:m={m},n={n},k={k}" for m, n, k in [(5, 4, 4), (6, 4, 4), (5, 5, 4), (6, 5, 4), (7, 4, 4)]),
    *(f"mnk-v0:m={m},n={n},k={k}" for m, n, k in [(8, 4, 4), (6, 6, 4), (7, 5, 4), (7, 6, 4), (8, 5, 4)]),
    *(f"mnk-v0:m={m},n={n},k={k}" for m, n, k in [(5, 5, 5), (6, 6, 5)]),
    "cube",
    "square-v0",
    *(f"square-v0:n={n}" for n in (5, 6, 7, 8)),
    "qubic-v0",
)
VERDICTS = {1: "first player wins", 0: "draw", -1: "second player wins"}


def verdict(proof: Proof) -> str:
    """The proved value in words, or the bounds that are known."""
    if proof.value is not None:
        return VERDICTS[proof.value]
    return f"unknown, from {proof.bounds[0]} to {proof.bounds[1]}"


def row(name: str, seconds: float, nodes: int | None, folder: Path | None) -> str:
    """One line of the table; a proved value is saved in the folder, if there is one."""
    game = CUBE if name == "cube" else ttt_env.get_game(name)
    proof = prove(game, seconds=seconds, nodes=nodes)
    if folder is not None and proof.value is not None:
        proof.save(folder / f"{as_file_name(name)}.npz")
    checked = ""
    if is_enumerable(game) and proof.value is not None:
        assert ttt_env.solve(game).value == proof.value, name
        checked = "yes"
    line = " ".join(map(str, proof.principal_variation))
    return f"{name:20}{verdict(proof):22}{proof.nodes:>14,}{proof.seconds:>10.2f}   {checked:7}{line}"


def main() -> None:
    """Prove, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each game")
    parser.add_argument("--nodes", type=int, default=None, help="for each game")
    parser.add_argument("--games", nargs="*", default=GAMES)
    parser.add_argument("--save", type=Path, help="folder for the files of the proofs, for check_proof.py")
    arguments = parser.parse_args()
    print(f"{'game':20}{'value':22}{'nodes':>14}{'seconds':>10}   {'sweep':7}best play")
    for name in arguments.games:
        print(row(name, arguments.seconds, arguments.nodes, arguments.save), flush=True)


if __name__ == "__main__":
    main()
