"""Playouts, compiled: the result of a game that is continued from a position, at random or by simple rules.

A position is two bit masks, of the player to move and of the other. A result is 1, 0 or −1.
"""

import numpy as np

from ttt_env.compiled.bits import (
    NONE,
    completes,
    completing,
    completing_through,
    completion_value,
    nth_cell,
    playable,
    size,
    stone,
)
from ttt_env.compiled.compiler import inner
from ttt_env.compiled.random_numbers import Random, draw_below
from ttt_env.compiled.sets import WinningSets


@inner
def playout(random: Random, sets: WinningSets, win_block: bool, mine: np.uint64, theirs: np.uint64) -> int:
    """The result of playing to the end, for the player who has just moved."""
    if win_block:
        return guided_playout(random, sets, mine, theirs)
    return random_playout(random, sets, mine, theirs)


@inner
def random_playout(random: Random, sets: WinningSets, mine: np.uint64, theirs: np.uint64) -> int:
    """`playout` by uniformly random moves."""
    free = playable(sets, mine | theirs)
    result = -completion_value(sets)
    while free != NONE:
        cell = nth_cell(free, draw_below(random, size(free)))
        mine, theirs = theirs, mine | stone(cell)
        if completes(sets, theirs, cell):
            return result
        free = playable(sets, mine | theirs)
        result = -result
    return 0


@inner
def guided_playout(random: Random, sets: WinningSets, mine: np.uint64, theirs: np.uint64) -> int:
    """`playout` in which both players complete a set if they can, else block one, else move at random.

    In a misère game, where completing a set loses, they avoid these cells instead, above all their own.
    """
    free = playable(sets, mine | theirs)
    my_last, their_last = completing(mine, theirs, sets.masks), completing(theirs, mine, sets.masks)
    result = -completion_value(sets)
    while free != NONE:
        cells = guided_candidates(free, my_last & free, their_last & free, sets.misere)
        cell = nth_cell(cells, draw_below(random, size(cells)))
        chosen = stone(cell)
        if my_last & chosen != NONE:
            return result
        mine |= chosen
        free = playable(sets, mine | theirs)
        my_last |= completing_through(mine, theirs, sets, cell)
        mine, theirs, my_last, their_last = theirs, mine, their_last, my_last
        result = -result
    return 0


@inner
def guided_candidates(free: np.uint64, my_last: np.uint64, their_last: np.uint64, misere: bool) -> np.uint64:
    """The cells from which a guided playout draws.

    `my_last` are those that complete own sets, `their_last` those that complete the other player's.
    """
    first, second = (free & ~(my_last | their_last), free & ~my_last) if misere else (my_last, their_last)
    return first if first != NONE else second if second != NONE else free
