"""The winning sets of a game as arrays, for compiled code and for operations on whole batches.

NumPy alone: importing this module does not import numba.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.rules import Game, Masks


class WinningSets(NamedTuple):
    """The winning sets of a game as bit masks, and its other rules.

    `masks` `[sets]` are all of them; `through[first[c] : first[c + 1]]` are those through cell c. `full` is
    the mask of all cells. In a `misere` game the player who owns a set loses. The cells of `ground` rest on
    nothing, the cells of each mask of `resting` on the cells that are its `turns` bits higher, counted around
    the 64 bits of a word.
    """

    full: np.uint64
    masks: Masks
    through: Masks
    first: NDArray[np.int64]
    misere: bool
    ground: np.uint64
    turns: Masks
    resting: Masks


@lru_cache(maxsize=64)
def winning_sets(game: Game) -> WinningSets:
    """The winning sets of a game, for compiled code."""
    lists = game.winning_masks_through
    first = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return WinningSets(
        full=np.uint64(game.full_mask),
        masks=np.array(game.winning_masks, np.uint64),
        through=np.array([mask for masks in lists for mask in masks], np.uint64),
        first=first,
        misere=game.misere,
        ground=np.uint64(game.ground),
        turns=np.array([distance % 64 for distance, _ in game.resting], np.uint64),
        resting=np.array([cells for _, cells in game.resting], np.uint64),
    )


@lru_cache(maxsize=64)
def numbers_through(game: Game) -> NDArray[np.intp]:
    """The indices of the winning sets through each cell, `[cells, max_sets]`, padded by the number of sets.

    They index an array with an entry for each set and one more for the padding, and so select the values of
    the sets through all cells at once. Read-only.
    """
    holds = set_incidence(game)
    counts = holds.sum(axis=0)
    numbers = np.full((game.n_cells, max(1, counts.max())), len(holds))
    for cell, count in enumerate(counts):
        numbers[cell, :count] = np.flatnonzero(holds[:, cell])
    numbers.setflags(write=False)
    return numbers


@lru_cache(maxsize=64)
def set_incidence(game: Game) -> NDArray[np.bool_]:
    """True where a winning set holds a cell, `[sets, cells]`. Read-only."""
    holds = np.zeros((len(game.winning_sets), game.n_cells), np.bool_)
    for number, cells in enumerate(game.winning_sets):
        holds[number, list(cells)] = True
    holds.setflags(write=False)
    return holds
