"""Bit masks in compiled code: a set of cells is a `uint64`, whose bit c is set for cell c.

On a board of more than 64 cells a mask is a number of several words, `wide.Wide`, and arrays of masks have a
record for each. Compiled code that keeps to the operators of `wide` and to the functions here takes both; it
says `uint64` of its masks and means either.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from ttt_env.compiled.compiler import compiled, inner, inner_by_types
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.wide import (
    Wide,
    bit,
    load,
    load_nested,
    n_words,
    ones,
    store,
    store_nested,
    word,
)
from ttt_env.rules import Masks

NONE, ONE = np.uint64(0), np.uint64(1)
_2, _4, _32, _56 = np.uint64(2), np.uint64(4), np.uint64(32), np.uint64(56)
SCATTER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two products are the same (Knuth, 1973)
_PAIRS, _FOURS, _EIGHTS, _ONES = (
    np.uint64(n) for n in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)


# --- What depends on the number of words ------------------------------------------------------------------

# Each function is for a single word; the one below it chooses by numba's types.


def at(masks: Masks, index: int | tuple[int, ...]) -> np.uint64:
    """The mask at an index of an array of masks."""
    mask: np.uint64 = masks[index]
    return mask


@inner_by_types(at)
def _at(masks: Any, index: Any) -> Callable[..., Any]:
    return at if masks.dtype == types.uint64 else lambda masks, index: load(masks, index)


def put(masks: Masks, index: int | tuple[int, ...], mask: np.uint64) -> None:
    """Write a mask at an index of an array of masks."""
    masks[index] = mask


@inner_by_types(put)
def _put(masks: Any, index: Any, mask: Any) -> Callable[..., Any]:
    return put if masks.dtype == types.uint64 else lambda masks, index, mask: store(masks, index, mask)


def mask_of(field: np.uint64) -> np.uint64:
    """The mask in a field of a record or of a tuple: as it is, or the one of an array of its words."""
    return field


@inner_by_types(mask_of)
def _mask_of(field: Any) -> Callable[..., Any]:
    if isinstance(field, types.NestedArray):
        return lambda field: load_nested(field)
    return (lambda field: load(field, 0)) if isinstance(field, types.Array) else mask_of


def put_untried(record: Any, mask: np.uint64) -> None:
    """Write a mask into the field `untried` of a record."""
    record.untried = mask


@inner_by_types(put_untried)
def _put_untried(record: Any, mask: Any) -> Callable[..., Any]:
    if isinstance(mask, Wide):
        return lambda record, mask: store_nested(record.untried, mask)
    return put_untried


def count(mask: np.uint64) -> np.uint64:
    """The number of set bits."""
    # LLVM recognises this way to count, and compiles it to one instruction.
    mask = mask - (mask >> ONE & _PAIRS)
    mask = (mask & _FOURS) + (mask >> _2 & _FOURS)
    mask = mask + (mask >> _4) & _EIGHTS
    return mask * _ONES >> _56


@inner_by_types(count)
def _count(mask: Any) -> Callable[..., Any]:
    return (lambda mask: ones(mask)) if isinstance(mask, Wide) else count


def stone_like(mask: np.uint64, cell: int) -> np.uint64:
    """The mask of one cell, of as many words as another mask."""
    return ONE << np.uint64(cell)


@inner_by_types(stone_like)
def _stone_like(mask: Any, cell: Any) -> Callable[..., Any]:
    return (lambda mask, cell: bit(mask, np.uint64(cell))) if isinstance(mask, Wide) else stone_like


def nth_cell(mask: np.uint64, n: int) -> int:
    """The n-th cell of a mask, from 0."""
    for _ in range(n):
        mask ^= lowest(mask)
    return cell_of(lowest(mask))


@inner_by_types(nth_cell)
def _nth_cell(mask: Any, n: Any) -> Callable[..., Any]:
    return _nth_cell_of_words if isinstance(mask, Wide) else nth_cell


def _nth_cell_of_words(mask: np.uint64, n: int) -> int:
    for number in range(n_words(mask)):
        part = word(mask, np.uint64(number))
        if n < size(part):
            return 64 * number + nth_cell(part, n)
        n -= size(part)
    return -1


def folded(mask: np.uint64) -> np.uint64:
    """A mask as 64 bits: a single word as it is, several as their hash."""
    return mask


@inner_by_types(folded)
def _folded(mask: Any) -> Callable[..., Any]:
    return _folded_words if isinstance(mask, Wide) else folded


def _folded_words(mask: np.uint64) -> np.uint64:
    bits = NONE
    for number in range(n_words(mask)):
        bits = (bits ^ word(mask, np.uint64(number))) * SCATTER
        bits ^= bits >> _32
    return bits


# --- What does not ----------------------------------------------------------------------------------------


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
def is_several(mask: np.uint64) -> bool:
    """True if more than one bit is set."""
    return bool((mask & (mask - ONE)) != NONE)


@inner
def completes(sets: WinningSets, stones: np.uint64, cell: int) -> bool:
    """True if the stones own a winning set through the cell."""
    for number in range(sets.first[cell], sets.first[cell + 1]):
        mask = at(sets.through, number)
        if stones & mask == mask:
            return True
    return False


@inner
def worth(sets: WinningSets) -> int:
    """The result for the player who completes a set: 1, in a misère game −1."""
    return -1 if sets.misere else 1


@inner
def _completing(stones: np.uint64, others: np.uint64, masks: Masks, first: int, last: int) -> np.uint64:
    cells = NONE
    for number in range(first, last):
        mask = at(masks, number)
        if mask & others == NONE:
            rest = mask & ~stones
            if not is_several(rest):
                cells |= rest
    return cells


@inner
def completing(stones: np.uint64, others: np.uint64, masks: Masks) -> np.uint64:
    """The empty cells that complete a set of `stones`; `masks` are the sets to try, none of them owned."""
    return _completing(stones, others, masks, 0, len(masks))


@compiled
def completing_in(stones: Masks, others: Masks, masks: Masks) -> Masks:
    """`completing` in each of some positions, `[B]`; on boards of up to 64 cells."""
    cells = np.empty_like(stones)
    for row in range(len(stones)):
        cells[row] = completing(stones[row], others[row], masks)
    return cells


@inner
def completing_through(stones: np.uint64, others: np.uint64, sets: WinningSets, cell: int) -> np.uint64:
    """The empty cells that complete a set of `stones` through this cell; none may be complete yet."""
    return _completing(stones, others, sets.through, sets.first[cell], sets.first[cell + 1])
