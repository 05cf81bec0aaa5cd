"""The codes and the records of a step of many games at once, without numba.

The records are tuples of arrays: the compiled step takes them as they are, and a step by operations on whole
arrays returns the same ones. `B` is the number of sub-envs.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Seats: TypeAlias = NDArray[np.int8]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

# The code of a board is the state of its game for the looker, the player from whose side it is seen: open;
# the other's last move completed a set, or filled the board; the looker's own last move did; the looker ended
# it by choosing a taken cell; the other did.
OPEN, WON_BY_OTHER, FULL_BY_OTHER, WON, FULL, FORFEITED, FORFEITED_BY_OTHER = range(7)
# By code: the code of the same board for the other player; whether it is the other's turn by the stones.
OF_OTHER = np.array([OPEN, WON, FULL, WON_BY_OTHER, FULL_BY_OTHER, FORFEITED_BY_OTHER, FORFEITED])
IS_TURNED = np.isin(np.arange(7), [WON, FULL, FORFEITED_BY_OTHER])
NOBODY = -1  # instead of a winner's seat

REPLY, OPENING, SEAT, OPPONENT, RESAMPLE, N_DRAWS = range(6)  # rows of a step's random numbers
HALF = 0.5


class Games(NamedTuple):
    """The games of the sub-envs.

    `state` holds the boards, `int64[B]` if they are rows of tables, else as the store keeps them; `seats` the
    seats of their lookers (0: X, 1: O); `opponents` the indices of the opponents; `episodes` the number of
    episodes that each sub-env has begun.
    """

    state: Integers
    seats: Seats
    opponents: Integers
    episodes: Integers


class Payoffs(NamedTuple):
    """The payoffs of a board, by its code: rewards `of_looker` and `of_other` `[7]`, and `winners` `[2, 7]`.

    `winners` holds the seat that has won, by the looker's seat and the code; `NOBODY` in a draw, after an
    illegal move and in an unfinished game.
    """

    of_looker: Floats
    of_other: Floats
    winners: Seats


class StepTables(NamedTuple):
    """The tables that all steps of an environment read; boards are the numbers of their rows.

    `after` `[boards * n_cells]` holds the board after a move to each cell, `codes` `[boards]` the boards'
    codes. The `n_open` open boards come first. `policies` are the opponents' cumulative policies,
    `[opponents * (n_open + 1), columns]`, without rows if both sides are stepped; `chances` `[opponents]` the
    cumulative probabilities by which opponents are drawn. Episodes begin on board `first`, where the seat
    `to_move` is to move; `play_as` is the seat of the user.
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
    payoffs: Payoffs


class StepOutcome(NamedTuple):
    """The results of a step, `[B]`: which games are `over`, the `rewards` of who moved, the `winners`.

    `of_seats` `[B, 2]` are the rewards of X and of O if both sides are stepped; else it has no rows.
    """

    over: Bools
    rewards: Floats
    winners: Seats
    of_seats: Floats
