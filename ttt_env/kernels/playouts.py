"""Playouts, compiled: how a game ends if one plays on from a position, at random or by simple rules.

A position is two bit masks, of the player to move and of the other. All random numbers come from a SplitMix64
generator (Steele, Lea and Flood 2014), whose state is an array of one number, so that the same seed gives the
same everywhere. A result is 1, 0 or −1.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.kernels.bits import ONE, cell_of, compiled, completing, count, lowest

Random = NDArray[np.uint64]

_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Rules(NamedTuple):
    """A game of up to 64 cells: the mask of all cells, and the winning sets.

    Those through cell c are `through[first[c]:first[c + 1]]`. `win` is what completing one is: 1, misère −1.
    """

    full: np.uint64
    sets: NDArray[np.uint64]
    through: NDArray[np.uint64]
    first: NDArray[np.int64]
    win: int


@compiled
def next_bits(random: Random) -> np.uint64:
    """The next 64 random bits."""
    random[0] += _GAMMA
    bits = random[0]
    bits = (bits ^ bits >> _30) * _MIX_1
    bits = (bits ^ bits >> _27) * _MIX_2
    return np.uint64(bits ^ bits >> _31)


@compiled
def draw_below(random: Random, n: int) -> int:
    """A number from 0 to n − 1: the upper half of the next 64 bits, times n, over 2³²."""
    return int((next_bits(random) >> _32) * np.uint64(n) >> _32)


@compiled
def stone(cell: int) -> np.uint64:
    """The mask of one cell."""
    return ONE << np.uint64(cell)


@compiled
def size(mask: np.uint64) -> int:
    """The number of cells of a mask."""
    return int(count(mask))


@compiled
def nth_cell(mask: np.uint64, n: int) -> int:
    """The n-th cell of a mask, from 0."""
    for _ in range(n):
        mask ^= lowest(mask)
    return cell_of(lowest(mask))


@compiled
def sets_through(rules: Rules, cell: int) -> NDArray[np.uint64]:
    """The winning sets through a cell."""
    return rules.through[rules.first[cell] : rules.first[cell + 1]]


@compiled
def completes(rules: Rules, stones: np.uint64, cell: int) -> bool:
    """Whether the stones own a winning set through the cell."""
    for mask in sets_through(rules, cell):
        if stones & mask == mask:
            return True
    return False


@compiled
def playout(random: Random, rules: Rules, win_block: bool, mine: np.uint64, theirs: np.uint64) -> int:
    """The result of playing on to the end, for the player who has just moved."""
    if win_block:
        return guided_playout(random, rules, mine, theirs)
    return random_playout(random, rules, mine, theirs)


@compiled
def random_playout(random: Random, rules: Rules, mine: np.uint64, theirs: np.uint64) -> int:
    """`playout` by uniformly random moves."""
    free = rules.full ^ (mine | theirs)
    result = -rules.win
    for n_free in range(size(free), 0, -1):
        cell = nth_cell(free, draw_below(random, n_free))
        free ^= stone(cell)
        mine, theirs = theirs, mine | stone(cell)
        if completes(rules, theirs, cell):
            return result
        result = -result
    return 0


@compiled
def guided_playout(random: Random, rules: Rules, mine: np.uint64, theirs: np.uint64) -> int:
    """`playout` in which both complete a set of theirs, else fill one that lacks a cell, else move at random.

    In a misère game, where this would be to lose and to save the other, they shun these cells instead.
    """
    free = rules.full ^ (mine | theirs)
    my_last, their_last = completing(mine, theirs, rules.sets), completing(theirs, mine, rules.sets)
    result = -rules.win
    while free:
        cells = guided(free, my_last & free, their_last & free, rules.win < 0)
        cell = nth_cell(cells, draw_below(random, size(cells)))
        if my_last & stone(cell):
            return result
        free ^= stone(cell)
        mine |= stone(cell)
        my_last |= completing(mine, theirs, sets_through(rules, cell))
        mine, theirs, my_last, their_last = theirs, mine, their_last, my_last
        result = -result
    return 0


@compiled
def guided(free: np.uint64, my_last: np.uint64, their_last: np.uint64, misere: bool) -> np.uint64:
    """The cells among which a guided playout draws; `my_last` complete own sets, `their_last` the other's."""
    first, second = (free & ~(my_last | their_last), free & ~my_last) if misere else (my_last, their_last)
    return first or second or free
