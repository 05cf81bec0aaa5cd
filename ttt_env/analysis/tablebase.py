"""Solved games as files: the value of every position, symmetric ones merged.

The positions of one ply are numbered as in `grid`: a row for each set of occupied cells, and in it a number
for each pattern of who owns them. Of symmetric rows only the first is kept; a position of any other row is
mapped to it by a symmetry and then looked up. A value is a digit of base three (loss 0, draw 1, win 2), five
to a byte, ply after ply. So a file holds no keys; it names its game, and its parts carry checksums.
"""

from functools import lru_cache
from math import comb
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.analysis.grid import Slots, grid
from ttt_env.analysis.induction import Values
from ttt_env.errors import PolicyFileError
from ttt_env.rules import Boards, Game, Masks, canonical_boards, check_enumerable, supported, symmetries
from ttt_env.rules.symmetry import transform_boards
from ttt_env.storage import ArraySpec, array_names, read_arrays, save_arrays

_VALUES = "tablebase"
_DIGITS = 3 ** np.arange(5)


class MergedValues(Values):
    """The values of a tablebase: of symmetric rows, `layers` hold only the first."""

    def of(self, boards: Boards) -> Floats:  # noqa: D102
        values = np.empty(len(boards))
        for ply, at in boards.by_ply():
            values[at] = self.layers[ply][_merged_slots(boards[at], ply)]
        return values

    def q(self, boards: Boards) -> Floats:  # noqa: D102
        q = np.full((len(boards), self.game.n_cells), np.nan)
        rows, cells = np.nonzero(boards.legal)
        if len(rows):
            q[rows, cells] = -self.of(boards[rows].play(cells))
        return q


def _merged_slots(boards: Boards, ply: int) -> Slots:
    """The slots of positions of one ply, `[B]`, where only the first of symmetric rows is numbered."""
    _, moved_by, row_numbers = _rows(boards.game)
    slots = np.empty(len(boards), np.int64)
    symmetry_numbers = moved_by[boards.occupied_masks]
    numbering = grid(boards.game, ply)
    for number in np.unique(symmetry_numbers).tolist():
        at = np.flatnonzero(symmetry_numbers == number)
        moved = transform_boards(boards[at], symmetries(boards.game)[number])
        patterns = numbering.slots(moved.mine, moved.theirs) % numbering.n_patterns
        slots[at] = row_numbers[moved.occupied_masks] * numbering.n_patterns + patterns
    return slots


@lru_cache(maxsize=2)
def _rows(game: Game) -> tuple[Masks, NDArray[np.int8], NDArray[np.int64]]:
    """Three tables over all sets of occupied cells, `[2^cells]` each.

    The first has the least of the sets symmetric to a set, the second the number of the symmetry that leads
    there. The third has the rank of each set that is itself the least, among the least sets with as many
    stones, each on its support, and −1 for all others.
    """
    masks = np.arange(1 << game.n_cells, dtype=np.uint64)
    canonical, moved_by = canonical_boards(Boards(game, masks, np.zeros_like(masks)))
    least = canonical.mine
    row_numbers = np.full(len(masks), -1)
    is_row = (least == masks) & (masks & ~supported(game, masks) == 0)
    stones = np.bitwise_count(masks)
    for ply in range(game.n_cells + 1):
        is_kept = (stones == ply) & is_row
        row_numbers[is_kept] = np.arange(is_kept.sum())
    return least, moved_by.astype(np.int8), row_numbers


def _sizes(game: Game) -> list[int]:
    """The number of values kept for each ply."""
    kept_masks = np.flatnonzero(_rows(game)[2] >= 0)
    rows = np.bincount(np.bitwise_count(kept_masks), minlength=game.n_cells + 1)
    return [int(n) * comb(ply, (ply + 1) // 2) for ply, n in enumerate(rows)]


def save_values(values: Values, path: str | Path) -> None:
    """Write the values of a solved game, all plies, as an `.npz` file.

    Raises `PolicyFileError` if the file cannot be written, `GameTooLargeError` for a game that is too large
    to have one.
    """
    game = values.game
    check_enumerable(game, "for a tablebase")
    if isinstance(values, MergedValues):
        layers = list(values.layers)
    else:
        layers = []
        for ply, layer in enumerate(values.layers):
            numbering = grid(game, ply)
            is_kept = _rows(game)[0][numbering.occupied] == numbering.occupied
            layers.append(layer.reshape(-1, numbering.n_patterns)[is_kept].ravel())
        layers += [np.zeros(size, np.int8) for size in _sizes(game)[len(layers) :]]
    digits = np.concatenate(layers).astype(np.int64) + 1
    padded = np.pad(digits, (0, -len(digits) % 5), constant_values=1)
    packed = (padded.reshape(-1, 5) @ _DIGITS).astype(np.uint8)
    save_arrays(path, game, {_VALUES: packed})


def load_values(path: str | Path, game: Game) -> MergedValues:
    """The values in a file that `save_values` has written.

    Raises `PolicyFileError` for a file that is not a tablebase of this game, `GameTooLargeError` for a game
    that is too large to have one.
    """
    check_enumerable(game, "for a tablebase")
    sizes = _sizes(game)
    form = ArraySpec(np.uint8, (-(-sum(sizes) // 5),))
    packed = read_arrays(path, game, "tablebase", {_VALUES: form})[_VALUES]
    if packed.max() >= 3**5:
        raise PolicyFileError(f"{path} is not a tablebase: its values are out of range")
    digits = (packed[:, None] // _DIGITS % 3).ravel()[: sum(sizes)]
    layers = np.split(digits.astype(np.int8) - np.int8(1), np.cumsum(sizes)[:-1])
    return MergedValues(game, layers)


def is_tablebase(path: str | Path) -> bool:
    """True if a file claims to be a tablebase: only its list of contents is read."""
    return _VALUES in array_names(path)
