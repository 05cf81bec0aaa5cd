"""The winning sets of a game as arrays, for compiled code and for operations on whole batches.

NumPy alone: importing this module does not import numba.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ttt_env.rules import MASK_CELLS, Game, Masks
from ttt_env.rules.boards import as_masks


class WinningSets(NamedTuple):
    """The winning sets of a game as bit masks, which are all of its rules.

    `masks` `[sets]` are all of them; those through cell c are `through[first[c] : first[c + 1]]`. `full` is
    the mask of all cells. In a `misere` game the player who owns a set loses. Above 64 cells a mask is a
    record of its words, and `full` an array of one: see `records`.
    """

    full: np.uint64
    masks: Masks
    through: Masks
    first: NDArray[np.int64]
    misere: bool


@lru_cache(maxsize=64)
def winning_sets(game: Game) -> WinningSets:
    """The winning sets of a game, for compiled code."""
    lists = game.winning_masks_through
    first = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    full = kernel_masks([game.full_mask], game)
    return WinningSets(
        full=full[0] if game.n_cells <= MASK_CELLS else full,  # type: ignore[arg-type]
        masks=kernel_masks(game.winning_masks, game),
        through=kernel_masks([mask for masks in lists for mask in masks], game),
        first=first,
        misere=game.misere,
    )


def kernel_masks(masks: Sequence[int], game: Game) -> Masks:
    """Masks of Python's ints as an array for compiled code."""
    words = as_masks(masks, game)
    return words if words.ndim == 1 else records(words)


def no_masks(shape: int | tuple[int, ...], n_words: int) -> Masks:
    """Empty masks of `n_words` words for compiled code, in an array of this shape."""
    return np.zeros(shape, np.uint64 if n_words == 1 else _record(n_words))


def records(words: Masks) -> Masks:
    """The masks whose words are the last axis of an array, the lowest first, as a record each.

    NumPy has no numbers of more than 64 bits, so this is how compiled code finds them, in the same memory.
    """
    masks: Any = np.ascontiguousarray(words).view(_record(words.shape[-1]))
    return cast(Masks, masks[..., 0])


def _record(n_words: int) -> np.dtype[np.void]:
    return np.dtype([("words", np.uint64, (n_words,))])


@lru_cache(maxsize=64)
def numbers_through(game: Game) -> NDArray[np.intp]:
    """The indices of the winning sets through each cell, `[cells, max_sets]`, padded by the number of sets.

    They index an array with one entry for each set and one more, for the padding, and so give the values of
    the sets through all cells at once. Read-only.
    """
    holds = holding(game)
    counts = holds.sum(axis=0)
    numbers = np.full((game.n_cells, max(1, counts.max())), len(holds))
    for cell, count in enumerate(counts):
        numbers[cell, :count] = np.flatnonzero(holds[:, cell])
    numbers.setflags(write=False)
    return numbers


@lru_cache(maxsize=64)
def holding(game: Game) -> NDArray[np.bool_]:
    """True where a winning set holds a cell, `[sets, cells]`. Read-only."""
    holds = np.zeros((len(game.winning_sets), game.n_cells), np.bool_)
    for number, cells in enumerate(game.winning_sets):
        holds[number, list(cells)] = True
    holds.setflags(write=False)
    return holds
