"""The steps of `ArraySteps` in NumPy's memory, compiled: each sub-env by itself, one after the other.

Importing this module imports numba: import it where an environment is made. The numbers of `codes` are
compiled in: delete the `__pycache__` folder after they change.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.kernels.codes import HALF, OPEN, OPENING, OPPONENT, REPLY, SEAT
from ttt_env.kernels.compiled import compiled

Integers: TypeAlias = NDArray[np.int64]
Seats: TypeAlias = NDArray[np.int8]
Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
X, O, RANDOM, ALTERNATE = range(4)  # noqa: E741 - whom the user plays


@compiled
def are_below(cells: Integers, n_cells: int) -> bool:
    """Whether all are in [0, n_cells)."""
    are_good = True
    for cell in cells:
        are_good &= 0 <= cell < n_cells
    return are_good


@compiled
def after_reply(
    board: int, who: int, draw: float, after: Integers, n_cells: int, policies: Floats, n_open: int
) -> int:
    """The board after the reply that a draw picks."""
    row = min(board, n_open) + who * (n_open + 1)
    cell = 0
    for column in range(policies.shape[1]):
        cell += policies[row, column] <= draw
    return int(after[board * n_cells + cell])


@compiled
def play(
    state: Integers, seats: Seats, who: Integers, cells: Integers,
    draws: Floats, after: Integers, n_cells: int, policies: Floats, n_open: int,
) -> None:  # fmt: skip
    """Play the cells, and the replies if there are policies."""
    for at in range(len(cells)):
        board = after[state[at] * n_cells + cells[at]]
        if len(policies):
            board = after_reply(board, who[at], draws[REPLY, at], after, n_cells, policies, n_open)
        else:
            seats[at] = 1 - seats[at]
        state[at] = board


@compiled
def begin(
    where: Bools, state: Integers, seats: Seats, who: Integers, episodes: Integers,
    draws: Floats, after: Integers, n_cells: int, policies: Floats, n_open: int,
    chances: Floats, first: int, to_move: int, play_as: int,
) -> None:  # fmt: skip
    """Begin the next episodes of some sub-envs."""
    for at in range(len(where)):
        if not where[at]:
            continue
        board, seat = first, to_move
        if len(policies):
            if len(chances) > 1:
                who[at] = np.searchsorted(chances, draws[OPPONENT, at], side="right")
            if play_as == RANDOM:
                seat = int(draws[SEAT, at] >= HALF)
            else:
                seat = episodes[at] % 2 if play_as == ALTERNATE else play_as
            if seat != to_move:
                board = after_reply(first, who[at], draws[OPENING, at], after, n_cells, policies, n_open)
        state[at], seats[at] = board, seat
        episodes[at] += 1


@compiled
def judge(
    state: Integers, seats: Seats, codes: Integers, values: Floats,
    over: Bools, rewards: Floats, of_seats: Floats,
) -> None:  # fmt: skip
    """Write which games are over, and the rewards of who was stepped; `[B, 2]` of both if both were."""
    for at in range(len(over)):
        code = codes[state[at]]
        over[at] = code != OPEN
        if len(of_seats):
            rewards[at] = values[1, code]
            of_seats[at, seats[at]] = values[0, code]
            of_seats[at, 1 - seats[at]] = values[1, code]
        else:
            rewards[at] = values[0, code]


@compiled
def step(
    where: Bools, state: Integers, seats: Seats, who: Integers, episodes: Integers,
    draws: Floats, after: Integers, n_cells: int, policies: Floats, n_open: int,
    chances: Floats, first: int, to_move: int, play_as: int,
    cells: Integers, codes: Integers, values: Floats, over: Bools, rewards: Floats, of_seats: Floats,
) -> None:  # fmt: skip
    """Play, begin the next episodes of the sub-envs `where`, and judge."""
    play(state, seats, who, cells, draws, after, n_cells, policies, n_open)
    begin(where, state, seats, who, episodes, draws, after, n_cells, policies, n_open,
          chances, first, to_move, play_as)  # fmt: skip
    judge(state, seats, codes, values, over, rewards, of_seats)
