"""What becomes of a batch of actions that are taken cells, where they do not simply lose."""

import numpy as np

from ttt_env.envs.vector.backends import Array
from ttt_env.envs.vector.store import Cells, State, Store
from ttt_env.errors import IllegalMoveError


def refuse_taken(store: Store, state: State, cells: Cells) -> None:
    """Raise `IllegalMoveError` if one of the cells is taken on a board that is to be played."""
    taken = _are_taken(store, state, cells)
    if taken.any():
        at = int(np.flatnonzero(store.backend.get(taken))[0])
        cell, position = int(cells[at]), store.boards(state)[at]
        raise IllegalMoveError(
            f"cell {cell} of {position} in sub-env {at} is taken; free are {position.legal_cells}"
        )


def resampled(store: Store, state: State, cells: Cells, draws: Array) -> Cells:
    """The cells, with free ones, which the draws `[B]` pick, in place of taken ones."""
    taken = _are_taken(store, state, cells)
    if store.backend.is_remote:
        return store.backend.xp.where(taken, _free_cells(store, state, draws), cells)
    index = taken.nonzero()[0]
    if len(index):
        cells = cells.copy()
        cells[index] = _free_cells(store, state.take(index, axis=-1), draws[index])
    return cells


def _are_taken(store: Store, state: State, cells: Cells) -> Array:
    return ~store.is_legal(state, cells) & store.is_open(state)


def _free_cells(store: Store, state: State, draws: Array) -> Cells:
    """A free cell of each board, all equally likely."""
    xp = store.backend.xp
    counts = xp.cumulative_sum(store.masks(state), axis=1, dtype=xp.int64)
    return xp.sum(counts <= (draws * counts[:, -1])[:, None], axis=1)
