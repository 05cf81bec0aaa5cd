"""Functions as machine code by numba, and what is needed to count and walk through bit masks there.

Importing this module imports numba: import it where a search begins. numba does not see when a compiled
function that it took from another file changes: what is compiled here is meant to stay as it is.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

NONE, ONE = np.uint64(0), np.uint64(1)
_2, _4, _56 = np.uint64(2), np.uint64(4), np.uint64(56)
_PAIRS, _FOURS, _EIGHTS, _ONES = (
    np.uint64(n) for n in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)


def compiled(function: Function) -> Function:
    """The function as machine code, kept on disk where some folder can be written to."""
    try:
        kept: Any = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba finds no such folder
        kept = numba.njit(nogil=True)(function)
    return cast(Function, kept)


@compiled
def count(mask: np.uint64) -> np.uint64:
    """The number of set bits."""
    # LLVM knows this way to count, and makes it one instruction.
    mask = mask - (mask >> ONE & _PAIRS)
    mask = (mask & _FOURS) + (mask >> _2 & _FOURS)
    mask = mask + (mask >> _4) & _EIGHTS
    return mask * _ONES >> _56


@compiled
def lowest(mask: np.uint64) -> np.uint64:
    """The lowest set bit alone; 0 of 0."""
    return mask & (~mask + ONE)


@compiled
def cell_of(stone: np.uint64) -> int:
    """The number of the only set bit."""
    return int(count(stone - ONE))


@compiled
def is_several(mask: np.uint64) -> bool:
    """Whether more than one bit is set."""
    return bool((mask & (mask - ONE)) != NONE)


@compiled
def completing(stones: np.uint64, others: np.uint64, sets: NDArray[np.uint64]) -> np.uint64:
    """The empty cells that complete a set of `stones`; `sets` are those to look at, none of them owned."""
    cells = NONE
    for mask in sets:
        if mask & others == NONE:
            rest = mask & ~stones
            if not is_several(rest):
                cells |= rest
    return cells
