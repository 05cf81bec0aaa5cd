"""The steps of `ArraySteps` in NumPy's memory, compiled: each sub-env by itself, one after the other.

Importing this module imports numba: import it where an environment is made.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from ttt_env.kernels.bits import ONE
from ttt_env.kernels.codes import (
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
    Outcome,
    Rules,
)
from ttt_env.kernels.compiled import compiled

Code = TypeVar("Code", bound=Callable[..., object])
X, O, RANDOM, ALTERNATE = range(4)  # noqa: E741 - whom the user plays


def of_types(function: Code, *arguments: object) -> Code:
    """The machine code of a compiled function for arguments of the very types that these have.

    numba looks at the type of every argument, and of all that a record holds, in every call. For a step of
    64 games this takes as long as the step itself. The machine code trusts its caller to keep to the types.
    """
    types = tuple(map(numba.typeof, arguments))
    dispatcher: Any = function
    dispatcher.compile(types)
    return cast(Code, dispatcher.get_overload(types))


@compiled
def are_below(cells: Integers, n_cells: int) -> bool:
    """Whether all are in [0, n_cells)."""
    are_good = True
    for cell in cells:
        are_good &= 0 <= cell < n_cells
    return are_good


@compiled
def after_reply(board: int, who: int, draw: float, rules: Rules) -> int:
    """The board after the reply that a draw picks."""
    row = min(board, rules.n_open) + who * (rules.n_open + 1)
    cell = 0
    for column in range(rules.policies.shape[1]):
        cell += rules.policies[row, column] <= draw
    return int(rules.after[board * rules.n_cells + cell])


@compiled
def play(games: Games, cells: Integers, draws: Floats, rules: Rules) -> None:
    """Play the cells, and the replies if there are policies."""
    for at in range(len(cells)):
        board = rules.after[games.state[at] * rules.n_cells + cells[at]]
        if len(rules.policies):
            board = after_reply(board, games.who[at], draws[REPLY, at], rules)
        else:
            games.seats[at] = 1 - games.seats[at]
        games.state[at] = board


@compiled
def begin(where: Bools, games: Games, draws: Floats, rules: Rules) -> None:
    """Begin the next episodes of some sub-envs."""
    for at in range(len(where)):
        if not where[at]:
            continue
        board, seat = rules.first, rules.to_move
        if len(rules.policies):
            if len(rules.chances) > 1:
                games.who[at] = np.searchsorted(rules.chances, draws[OPPONENT, at], side="right")
            if rules.play_as == RANDOM:
                seat = int(draws[SEAT, at] >= HALF)
            else:
                seat = games.episodes[at] % 2 if rules.play_as == ALTERNATE else rules.play_as
            if seat != rules.to_move:
                board = after_reply(board, games.who[at], draws[OPENING, at], rules)
        games.state[at], games.seats[at] = board, seat
        games.episodes[at] += 1


@compiled
def judge(games: Games, rules: Rules, outcome: Outcome) -> None:
    """Write what the step tells into `outcome`."""
    worth = rules.worth
    for at in range(len(outcome.over)):
        code, seat = np.uint64(rules.codes[games.state[at]]), np.uint64(games.seats[at])
        outcome.over[at] = code != OPEN
        outcome.winners[at] = worth.winners[seat, code]
        if len(outcome.of_seats):
            outcome.rewards[at] = worth.of_other[code]
            outcome.of_seats[at, seat] = worth.of_looker[code]
            outcome.of_seats[at, seat ^ ONE] = worth.of_other[code]
        else:
            outcome.rewards[at] = worth.of_looker[code]


@compiled
def step(games: Games, cells: Integers, begins: Bools, draws: Floats, rules: Rules, outcome: Outcome) -> None:
    """Play, begin the next episodes of the sub-envs that `begins`, which may be empty, and judge."""
    play(games, cells, draws, rules)
    begin(begins, games, draws, rules)
    judge(games, rules, outcome)
