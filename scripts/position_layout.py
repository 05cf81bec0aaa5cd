"""The places of the 765 positions of tic-tac-toe up to symmetry on the web app's front page: `layout.json`.

The empty board is in the middle, each ring is one move further. On a ring the places are even, and which
position takes which is found by annealing: those that follow each other come to lie near each other. The file
is data, so that every browser draws the same picture; this program writes it anew.
"""

import argparse
import json
from math import cos, exp, pi, sin
from pathlib import Path

import numpy as np

import ttt_env
from ttt_env import Position
from ttt_env.rules import canonical

RINGS = [[0], [50], [106], [146], [173, 190], [217, 233, 249], [277, 293, 309], [335, 351], [373], [391]]
"""The radii of each ply's places, which take turns; the picture is 800 wide."""

SWAPS, HEAT = 200_000, 0.6
FILE = Path(ttt_env.__file__).parent / "web" / "static" / "layout.json"

Place = tuple[float, float, int]


def classes() -> tuple[list[Position], list[set[int]]]:
    """The positions up to symmetry, by ply, as the page numbers them, and the neighbours of each."""
    first = Position.parse(".../.../...", "tictactoe-v0")
    numbers, positions = {canonical(first): 0}, [first]
    near: list[set[int]] = [set()]
    for at, position in enumerate(positions):  # to which it adds
        for cell in [] if position.is_over else position.legal_cells:
            child = position.child(cell)
            number = numbers.setdefault(canonical(child), len(positions))
            if number == len(positions):
                positions.append(child)
                near.append(set())
            near[at].add(number)
            if at:  # everything follows the empty board
                near[number].add(at)
    return positions, near


def places(seed: int) -> list[tuple[float, float]]:
    """The place of each position, in units of the picture from its middle."""
    positions, near = classes()
    rings = [
        [at for at, position in enumerate(positions) if position.ply == ply] for ply in range(len(RINGS))
    ]
    slots: dict[int, Place] = {}
    for ply, ring in enumerate(rings):
        for number, at in enumerate(ring):
            angle = 2 * pi * (number + (ply > 1) / 2) / len(ring) - pi / 2
            slots[at] = cos(angle), sin(angle), RINGS[ply][number % len(RINGS[ply])]

    def fit(at: int, place: Place) -> float:
        return sum(place[0] * slots[other][0] + place[1] * slots[other][1] for other in near[at])

    rng = np.random.default_rng(seed)
    for heat in np.linspace(1, 0, SWAPS, endpoint=False):
        a = int(rng.integers(1, len(positions)))
        ring = rings[positions[a].ply]
        b = ring[int(rng.integers(len(ring)))]
        gain = fit(a, slots[b]) + fit(b, slots[a]) - fit(a, slots[a]) - fit(b, slots[b])
        if gain >= 0 or rng.random() < exp(gain / (HEAT * heat**2)):
            slots[a], slots[b] = slots[b], slots[a]
    return [
        (round(x * radius, 1) + 0.0, round(y * radius, 1) + 0.0)
        for x, y, radius in map(slots.__getitem__, range(len(positions)))
    ]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=7, help="of the annealing")
    parser.add_argument("--out", type=Path, default=FILE)
    arguments = parser.parse_args()
    arguments.out.write_text(json.dumps(places(arguments.seed), separators=(",", ":")) + "\n", "utf-8")
    print(arguments.out)


if __name__ == "__main__":
    main()
