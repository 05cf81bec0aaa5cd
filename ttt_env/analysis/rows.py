"""An agent's answers in positions of one ply, in the smallest form that holds all of them.

A row is a cell (`uint8`), a set of cells that are played uniformly (`uint64`, a mask), or the chance of each
empty cell (`float64`, one column for each). A forfeit has a row of its own: 255, no cell at all, or chances
that are all 0.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats

Rows = NDArray[Any]
Cells = NDArray[np.int64]

NO_CELL = 255


def compact(chances: Floats, cells: Cells) -> Rows:
    """The answers with these chances of the empty `cells`, `[S, F]` both; an array of its own."""
    is_played = chances > 0
    masks = _masks(is_played, cells)
    n_played = np.bitwise_count(masks)
    if (n_played <= 1).all():
        return np.where(n_played == 1, np.bitwise_count(masks - np.uint64(1)), NO_CELL).astype(np.uint8)
    shares = 1.0 / np.maximum(n_played, 1)
    if ((chances == shares[:, None]) | ~is_played).all():
        return masks
    return chances.copy()


def chances(rows: Rows, cells: Cells) -> Floats:
    """The chance of each empty cell, `[S, F]`."""
    if rows.ndim == 2:
        return rows
    if rows.dtype == np.uint8:
        return np.equal(rows[:, None], cells).astype(np.float64)
    is_played = rows[:, None] >> cells.astype(np.uint64) & np.uint64(1)
    shares: Floats = is_played / np.maximum(np.bitwise_count(rows), 1)[:, None]
    return shares


def are_possible(rows: Rows, cells: Cells) -> NDArray[np.bool_]:
    """True for the empty cells of positive chance, `[S, F]`."""
    if rows.ndim == 2:
        return np.greater(rows, 0)
    if rows.dtype == np.uint8:
        return np.equal(rows[:, None], cells)
    bits = rows[:, None] >> cells.astype(np.uint64) & np.uint64(1)
    return bits.astype(np.bool_)


def n_possible(rows: Rows) -> int:
    """The number of moves of positive chance in all of these answers."""
    if rows.ndim == 2:
        return int((rows > 0).sum())
    return int((rows != NO_CELL).sum() if rows.dtype == np.uint8 else np.bitwise_count(rows).sum())


def is_forfeit(rows: Rows) -> NDArray[np.bool_]:
    """True for the answers that name no free cell, `[S]`."""
    if rows.ndim == 2:
        return np.logical_not(rows.any(axis=1))
    return np.equal(rows, NO_CELL if rows.dtype == np.uint8 else 0)


def least_chance(rows: Rows) -> float:
    """The least chance above 0 of a move in these answers; 1 if there is none."""
    if rows.ndim == 2:
        return float(rows[rows > 0].min(initial=1.0))
    if rows.dtype == np.uint8 or not len(rows):
        return 1.0
    return 1.0 / max(1, int(np.bitwise_count(rows).max()))


def join_rows(parts: Sequence[Rows], cells: Iterable[Cells]) -> Rows:
    """The rows of several batches, in their common form, else in the largest of their forms.

    `cells` are the empty cells of each batch.
    """
    if len({(part.dtype, part.ndim) for part in parts}) > 1:
        if any(part.ndim == 2 for part in parts):
            parts = [chances(part, at) for part, at in zip(parts, cells, strict=True)]
        else:
            parts = [
                part if part.dtype == np.uint64 else _masks(chances(part, at) > 0, at)
                for part, at in zip(parts, cells, strict=True)
            ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _masks(is_played: NDArray[np.bool_], cells: Cells) -> NDArray[np.uint64]:
    masks = np.zeros(len(is_played), np.uint64)
    for column in range(is_played.shape[1]):  # a few long operations, where a reduction makes many short ones
        masks |= is_played[:, column].astype(np.uint64) << cells[:, column].astype(np.uint64)
    return masks
