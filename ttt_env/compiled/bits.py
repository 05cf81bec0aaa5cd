"""Bit masks in compiled code: a set of cells is a `uint64`, whose bit c is set for cell c."""

from typing import Any

import numpy as np

from ttt_env.compiled.compiler import inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.rules import Masks

NONE, ONE = np.uint64(0), np.uint64(1)
ZERO: Any = np.int64(0)  # as an argument: numba compiles a function again for a literal number
_2, _4, _56, _64 = np.uint64(2), np.uint64(4), np.uint64(56), np.uint64(64)
SCATTER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two products are the same (Knuth, 1973)
_PAIRS, _FOURS, _EIGHTS, _ONES = (
    np.uint64(n) for n in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)


@inner
def count(mask: np.uint64) -> np.uint64:
    """The number of set bits."""
    # LLVM recognises this way to count, and compiles it to one instruction.
    mask = mask - (mask >> ONE & _PAIRS)
    mask = (mask & _FOURS) + (mask >> _2 & _FOURS)
    mask = mask + (mask >> _4) & _EIGHTS
    return mask * _ONES >> _56


@inner
def size(mask: np.uint64) -> int:
    """The number of set bits, as a signed integer."""
    return np.int64(count(mask))  # type: ignore[return-value]  # numba's int() of a mask is unsigned


@inner
def lowest(mask: np.uint64) -> np.uint64:
    """The lowest set bit alone, as a mask; 0 for 0."""
    return mask & (~mask + ONE)


@inner
def stone(cell: int) -> np.uint64:
    """The mask of one cell."""
    return ONE << np.uint64(cell)


@inner
def cell_of(stone: np.uint64) -> int:
    """The number of the only set bit."""
    return np.int64(count(stone - ONE))  # type: ignore[return-value]  # signed, as a `size` is


@inner
def nth_cell(mask: np.uint64, n: int) -> int:
    """The n-th cell of a mask, from 0."""
    for _ in range(n):
        mask ^= lowest(mask)
    return cell_of(lowest(mask))


@inner
def is_several(mask: np.uint64) -> bool:
    """True if more than one bit is set."""
    return bool((mask & (mask - ONE)) != NONE)


@inner
def playable(sets: WinningSets, occupied: np.uint64) -> np.uint64:
    """`Game.playable`: the free cells that rest on nothing or on a stone."""
    supported = sets.ground
    for number in range(len(sets.turns)):
        turns = sets.turns[number]
        supported |= (occupied >> turns | occupied << (_64 - turns)) & sets.resting[number]
    return supported & ~occupied


@inner
def completes(sets: WinningSets, stones: np.uint64, cell: int) -> bool:
    """True if the stones own a winning set through the cell."""
    for number in range(sets.first[cell], sets.first[cell + 1]):
        mask = sets.through[number]
        if stones & mask == mask:
            return True
    return False


@inner
def completion_value(sets: WinningSets) -> int:
    """The result for the player who completes a set: 1, in a misère game −1."""
    return -1 if sets.misere else 1


@inner
def _completing(stones: np.uint64, others: np.uint64, masks: Masks, first: int, last: int) -> np.uint64:
    cells = NONE
    for number in range(first, last):
        mask = masks[number]
        if mask & others == NONE:
            rest = mask & ~stones
            if not is_several(rest):
                cells |= rest
    return cells


@inner
def completing(stones: np.uint64, others: np.uint64, masks: Masks) -> np.uint64:
    """The empty cells that complete a set of `stones`; `masks` are the sets to try, none of them owned."""
    return _completing(stones, others, masks, 0, len(masks))


@inner
def completing_through(stones: np.uint64, others: np.uint64, sets: WinningSets, cell: int) -> np.uint64:
    """The empty cells that complete a set of `stones` through this cell; none may be complete yet."""
    return _completing(stones, others, sets.through, sets.first[cell], sets.first[cell + 1])
