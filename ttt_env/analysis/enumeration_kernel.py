"""The values of all placements of one ply, compiled: a row of occupied cells after the other."""

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, ONE, count, lowest, worth
from ttt_env.compiled.codes import Integers
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.rules import Masks

WON, DRAWN, LOST, ENDED, FULL, N_TALLIES = range(6)
_OPEN, _COMPLETED, _NEVER = range(3)


@compiled
def fill(
    values: NDArray[np.int8],
    tally: Integers,
    after: NDArray[np.int8],
    occupied: Masks,
    patterns: Masks,
    next_row: NDArray[np.int64],
    below: NDArray[np.int64],
    next_pattern: Integers,
    sets: WinningSets,
) -> None:
    """Write the value of each slot of these rows for the player to move, `values` `[rows * patterns]`.

    `after` are the values of the next ply. `occupied` `[rows]` are the cells of each row; `patterns`,
    `next_row`, `below` and `next_pattern` come from a `Grid`, the tables by row for these rows alone.

    A slot that no game reaches is worth 0. The others are counted in `tally`: the positions to be played that
    are WON, DRAWN or LOST for the player to move, those that a winning set has ENDED, FULL boards without.

    A position to be played is reached if nobody owns a set: its stones can have come in any order. One that
    is over is reached if the sets that the last player owns share a cell, which was the last move.
    """
    n_patterns = len(patterns)
    inside = np.empty(len(sets.masks), np.uint64)
    for row in range(len(occupied)):
        n_inside = _sets_inside(inside, occupied[row], sets)
        all_stones = (ONE << count(occupied[row])) - ONE
        first = row * n_patterns
        for pattern in range(n_patterns):
            theirs = patterns[pattern]
            value, entry = 0, -1
            end = _end(theirs, all_stones ^ theirs, inside[:n_inside])
            if end == _OPEN and len(next_row) == 0:
                entry = FULL
            elif end == _OPEN:
                value = _best(pattern, row, after, next_row, below, next_pattern)
                entry = WON if value > 0 else LOST if value < 0 else DRAWN
            elif end == _COMPLETED:
                value, entry = -worth(sets), ENDED
            values[first + pattern] = value
            if entry >= 0:
                tally[entry] += 1


@inner
def _sets_inside(inside: Masks, occupied: np.uint64, sets: WinningSets) -> int:
    """The number of winning sets within a row, which are written to `inside` as patterns of its stones."""
    n_inside = 0
    for mask in sets.masks:
        if mask & occupied == mask:
            pattern, rest = NONE, mask
            while rest:
                cell = lowest(rest)
                pattern |= ONE << count(occupied & (cell - ONE))
                rest ^= cell
            inside[n_inside] = pattern
            n_inside += 1
    return n_inside


@inner
def _end(theirs: np.uint64, mine: np.uint64, sets: Masks) -> int:
    """The game's state: `_OPEN`, `_COMPLETED` by the last move, or `_NEVER`, where no game leads here."""
    shared = ~NONE
    for mask in sets:
        if mask & mine == mask:
            return _NEVER
        if mask & theirs == mask:
            shared &= mask
    return _OPEN if shared == ~NONE else _COMPLETED if shared else _NEVER


@inner
def _best(
    pattern: int,
    row: int,
    after: NDArray[np.int8],
    next_row: NDArray[np.int64],
    below: NDArray[np.int64],
    next_pattern: Integers,
) -> int:
    """The value of the best move: the next player's least value."""
    least = 1
    for move in range(len(next_row)):
        least = min(least, after[next_row[move, row] + next_pattern[below[move, row] + pattern]])
        if least == -1:
            break
    return -least
