"""Moves, legal cells and observations of many boards that are kept as bit masks, compiled.

Importing this module imports numba: import it where a move is made.
"""

from ttt_env.compiled.bits import NONE, ONE, completes, stone
from ttt_env.compiled.bits import playable as playable_cells
from ttt_env.compiled.codes import (
    FORFEITED_BY_OTHER,
    FULL_BY_OTHER,
    OF_OTHER,
    OPEN,
    WON_BY_OTHER,
    Integers,
    Seats,
)
from ttt_env.compiled.compiler import compiled
from ttt_env.compiled.sets import WinningSets
from ttt_env.rules import Masks


@compiled
def play(state: Masks, cells: Integers, sets: WinningSets, after: Masks) -> None:
    """Write the state after each looker has chosen a cell into `after`; a single board is broadcast."""
    last = state.shape[1] - 1
    for at in range(len(cells)):
        board, cell = min(at, last), cells[at]
        mine, theirs, code = state[0, board], state[1, board], int(state[2, board])
        if code != OPEN:
            code = int(OF_OTHER[code])
        elif playable_cells(sets, mine | theirs) & stone(cell) == NONE:
            code = FORFEITED_BY_OTHER
        else:
            mine |= stone(cell)
            if completes(sets, mine, cell):
                code = WON_BY_OTHER
            elif mine | theirs == sets.full:
                code = FULL_BY_OTHER
        after[0, at], after[1, at], after[2, at] = theirs, mine, code


@compiled
def playable(state: Masks, sets: WinningSets, out: Masks) -> None:
    """Write the cells that the lookers may play into `out`, all of them where the game is over."""
    for at in range(len(out)):
        mine, theirs, code = state[0, at], state[1, at], int(state[2, at])
        out[at] = playable_cells(sets, mine | theirs) if code == OPEN else ~NONE


@compiled
def planes(mine: Masks, theirs: Masks, out: Seats) -> None:
    """Write `Boards.planes` into `out`, `int8[B, cells, 2]`."""
    for at in range(len(mine)):
        own, others = mine[at], theirs[at]
        for cell in range(out.shape[1]):
            out[at, cell, 0], out[at, cell, 1] = int(own & ONE), int(others & ONE)
            own >>= ONE
            others >>= ONE
