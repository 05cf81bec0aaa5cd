"""The numbers and the records of a step of many games at once, without numba.

The records are tuples of arrays: the compiled step takes them as they are, and a step by operations on whole
arrays returns the same ones. The shapes are those of `B` sub-envs.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Seats: TypeAlias = NDArray[np.int8]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

# What a board is to its looker: to be played; won or full by the other's last move; the same by its own
# last move; ended because it chose a taken cell; because the other did.
OPEN, WON_BY_OTHER, FULL_BY_OTHER, WON, FULL, FORFEITED, FORFEITED_BY_OTHER = range(7)
OF_OTHER = np.array([OPEN, WON, FULL, WON_BY_OTHER, FULL_BY_OTHER, FORFEITED_BY_OTHER, FORFEITED])
IS_TURNED = np.isin(np.arange(7), [WON, FULL, FORFEITED_BY_OTHER])
NOBODY = -1  # in place of a winner's seat

REPLY, OPENING, SEAT, OPPONENT, RESAMPLE, N_DRAWS = range(6)  # the rows of the draws of a step
HALF = 0.5


class Games(NamedTuple):
    """The games of the sub-envs.

    `state` are the boards, `int64[B]` with tables and else as the store keeps them; `seats` who looks at
    them (0: X, 1: O); `who` the numbers of the opponents; `episodes` how many each sub-env has begun.
    """

    state: Integers
    seats: Seats
    who: Integers
    episodes: Integers


class Worth(NamedTuple):
    """What a board is worth, by its code: `of_looker` and `of_other` `[7]`; `winners` `[2, 7]`.

    `winners` has the seat that has won, by the looker's seat and the code; `NOBODY` in a draw, after an
    illegal move and while the game goes on.
    """

    of_looker: Floats
    of_other: Floats
    winners: Seats


class Rules(NamedTuple):
    """What all steps of an environment have in common, for boards that are rows of tables.

    `after` `[boards * n_cells]` is the board after each cell; `codes` `[boards]` say what a board is to its
    looker. The boards to be played come first, `n_open` of them. `policies` are the summed policies of the
    opponents, `[opponents * (n_open + 1), columns]`, of no row where both sides are stepped; `chances`
    `[opponents]` the summed chances to be drawn. Episodes begin on board `first`, where the seat
    `to_move` is to move; `play_as` says which seat the user has.
    """

    n_cells: int
    n_open: int
    after: Integers
    codes: Integers
    policies: Floats
    chances: Floats
    first: int
    to_move: int
    play_as: int
    worth: Worth


class Outcome(NamedTuple):
    """What a step tells: which games are `over`, the `rewards` of who was stepped, the `winners`, all `[B]`.

    `of_seats` `[B, 2]` are the rewards of X and of O if both sides are stepped, else of no row.
    """

    over: Bools
    rewards: Floats
    winners: Seats
    of_seats: Floats
