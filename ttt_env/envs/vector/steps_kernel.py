"""The steps of `ArraySteps` in NumPy's memory, compiled: one sub-env after the other.

Importing this module imports numba: import it where an environment is made.
"""

import numpy as np

from ttt_env.compiled.bits import ONE
from ttt_env.compiled.codes import (
    HALF,
    OPEN,
    OPENING,
    OPPONENT,
    REPLY,
    SEAT,
    Bools,
    Floats,
    Games,
    Integers,
    StepOutcome,
    StepTables,
)
from ttt_env.compiled.compiler import compiled, inner

X, O, RANDOM, ALTERNATE = range(4)  # noqa: E741 - the values of `play_as`


@compiled
def are_below(cells: Integers, n_cells: int) -> bool:
    """True if all cells are in [0, n_cells)."""
    are_good = True
    for cell in cells:
        are_good &= 0 <= cell < n_cells
    return are_good


@inner
def after_reply(board: int, who: int, draw: float, tables: StepTables) -> int:
    """The board after the reply for a draw."""
    row = min(board, tables.n_open) + who * (tables.n_open + 1)
    cell = 0
    for column in range(tables.policies.shape[1]):
        cell += tables.policies[row, column] <= draw
    return int(tables.after[board * tables.n_cells + cell])


@inner
def play(games: Games, cells: Integers, draws: Floats, tables: StepTables) -> None:
    """Play the cells, and the opponents' replies if there are policies."""
    for at in range(len(cells)):
        board = tables.after[games.state[at] * tables.n_cells + cells[at]]
        if len(tables.policies):
            board = after_reply(board, games.opponents[at], draws[REPLY, at], tables)
        else:
            games.seats[at] = 1 - games.seats[at]
        games.state[at] = board


@compiled
def begin(where: Bools, games: Games, draws: Floats, tables: StepTables) -> None:
    """Begin the next episodes of some sub-envs."""
    for at in range(len(where)):
        if not where[at]:
            continue
        board, seat = tables.first, tables.to_move
        if len(tables.policies):
            if len(tables.chances) > 1:
                games.opponents[at] = 0
                for chance in tables.chances:
                    games.opponents[at] += chance <= draws[OPPONENT, at]
            if tables.play_as == RANDOM:
                seat = int(draws[SEAT, at] >= HALF)
            else:
                seat = games.episodes[at] % 2 if tables.play_as == ALTERNATE else tables.play_as
            if seat != tables.to_move:
                board = after_reply(board, games.opponents[at], draws[OPENING, at], tables)
        games.state[at], games.seats[at] = board, seat
        games.episodes[at] += 1


@inner
def judge(games: Games, tables: StepTables, outcome: StepOutcome) -> None:
    """Write the results of the step into `outcome`."""
    worth = tables.payoffs
    for at in range(len(outcome.over)):
        code, seat = np.uint64(tables.codes[games.state[at]]), np.uint64(games.seats[at])
        outcome.over[at] = code != OPEN
        outcome.winners[at] = worth.winners[seat, code]
        if len(outcome.of_seats):
            outcome.rewards[at] = worth.of_other[code]
            outcome.of_seats[at, seat] = worth.of_looker[code]
            outcome.of_seats[at, seat ^ ONE] = worth.of_other[code]
        else:
            outcome.rewards[at] = worth.of_looker[code]


@compiled
def step(
    games: Games, cells: Integers, begins: Bools, draws: Floats, tables: StepTables, outcome: StepOutcome
) -> None:
    """Play the cells, begin new episodes where `begins` is true (it may be empty), write the `outcome`."""
    play(games, cells, draws, tables)
    begin(begins, games, draws, tables)
    judge(games, tables, outcome)
