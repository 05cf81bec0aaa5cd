"""Solved games as files: the value of every position, symmetric ones merged.

The positions of one ply are numbered as in `grid`: a row for each set of occupied cells, in it a number
for each pattern of who owns them. Of symmetric rows only the first is kept; a position of another row is
looked up where a symmetry moves it. A value is a digit of base three, loss 0, draw 1, win 2, five of them to
a byte, ply after ply. So a file holds no keys; it says of which game it is, and its parts carry checksums.
"""

from functools import lru_cache
from math import comb
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.grid import Slots, grid
from ttt_env.analysis.induction import Values
from ttt_env.analysis.layers import Floats
from ttt_env.errors import GameTooLargeError, PolicyFileError
from ttt_env.rules.boards import Boards, Masks
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_enumerable
from ttt_env.rules.symmetry import canonical_boards, symmetries, transform_boards
from ttt_env.storage.policy_file import Form, array_names, read_arrays, save_arrays

_VALUES = "tablebase"
_DIGITS = 3 ** np.arange(5)


class MergedValues(Values):
    """The values of a tablebase: `layers` hold one row of all symmetric ones."""

    def of(self, boards: Boards) -> Floats:  # noqa: D102
        found = np.empty(len(boards))
        for ply in np.unique(boards.ply).tolist():
            at = np.flatnonzero(boards.ply == ply)
            found[at] = self.layers[ply][_merged_slots(boards[at], ply)]
        return found

    def q(self, boards: Boards) -> Floats:  # noqa: D102
        found = np.full((len(boards), self.game.n_cells), np.nan)
        rows, cells = np.nonzero(boards.legal)
        if len(rows):
            found[rows, cells] = -self.of(boards[rows].play(cells))
        return found


def _merged_slots(boards: Boards, ply: int) -> Slots:
    """The slots of positions of one ply, `[B]`, when only the first of symmetric rows are numbered."""
    _, moved_by, number = _rows(boards.game)
    found = np.empty(len(boards), np.int64)
    by = moved_by[boards.occupied_masks]
    places = grid(boards.game.n_cells, ply)
    for symmetry in np.unique(by).tolist():
        at = np.flatnonzero(by == symmetry)
        moved = transform_boards(boards[at], symmetries(boards.game)[symmetry])
        patterns = places.slots(moved.mine, moved.theirs) % places.n_patterns
        found[at] = number[moved.occupied_masks] * places.n_patterns + patterns
    return found


@lru_cache(maxsize=2)
def _rows(game: Game) -> tuple[Masks, NDArray[np.int8], NDArray[np.int64]]:
    """Three tables of all sets of occupied cells, `[2^cells]`.

    The least of the symmetric sets; the symmetry that leads there; and for the sets that are the least
    themselves, their number among those of as many stones.
    """
    masks = np.arange(1 << game.n_cells, dtype=np.uint64)
    found, moved_by = canonical_boards(Boards(game, masks, np.zeros_like(masks)))
    least = found.mine
    number = np.zeros(len(masks), np.int64)
    stones = np.bitwise_count(masks)
    for ply in range(game.n_cells + 1):
        kept = (stones == ply) & (least == masks)
        number[kept] = np.arange(kept.sum())
    return least, moved_by.astype(np.int8), number


def _sizes(game: Game) -> list[int]:
    """How many values are kept of each ply."""
    least = _rows(game)[0]
    rows = np.bincount(np.bitwise_count(np.unique(least)), minlength=game.n_cells + 1)
    return [int(n) * comb(ply, (ply + 1) // 2) for ply, n in enumerate(rows)]


def _kept_slots(game: Game, ply: int) -> Slots:
    """The slots, in the grid of this ply, whose values are kept."""
    places = grid(game.n_cells, ply)
    rows = np.flatnonzero(_rows(game)[0][places.occupied] == places.occupied)
    slots: Slots = (rows[:, None] * places.n_patterns + np.arange(places.n_patterns)).ravel()
    return slots


def save_values(values: Values, path: str | Path) -> None:
    """Write the values of a solved game, all plies, as an `.npz` file.

    Raises `PolicyFileError` if it cannot be written.
    """
    game = values.game
    if isinstance(values, MergedValues):
        layers = list(values.layers)
    else:
        layers = [layer[_kept_slots(game, ply)] for ply, layer in enumerate(values.layers)]
        layers += [np.zeros(size, np.int8) for size in _sizes(game)[len(layers) :]]
    digits = np.concatenate(layers).astype(np.int64) + 1
    padded = np.pad(digits, (0, -len(digits) % 5), constant_values=1)
    packed = (padded.reshape(-1, 5) @ _DIGITS).astype(np.uint8)
    save_arrays(path, game, {_VALUES: packed})


def load_values(path: str | Path, game: Game) -> MergedValues:
    """The values in a file of `save_values`.

    Raises `PolicyFileError` for a file that is no tablebase of this game, `GameTooLargeError` for a game
    that has none.
    """
    if not is_enumerable(game):
        raise GameTooLargeError(f"{game.name} has {game.n_cells} cells, too many for a tablebase")
    sizes = _sizes(game)
    form = Form(np.uint8, (-(-sum(sizes) // 5),))
    packed = read_arrays(path, game, "tablebase", {_VALUES: form})[_VALUES]
    if packed.max() >= 3**5:
        raise PolicyFileError(f"{path} is no tablebase: its values have another form")
    digits = (packed[:, None] // _DIGITS % 3).ravel()[: sum(sizes)]
    layers = np.split(digits.astype(np.int8) - np.int8(1), np.cumsum(sizes)[:-1])
    return MergedValues(game, layers)


def is_tablebase(path: str | Path) -> bool:
    """Whether a file says that it is a tablebase: its list of contents is all that is read."""
    return _VALUES in array_names(path)
