"""The steps of `ArraySteps`, compiled. Importing this module imports numba."""

from collections.abc import Callable
from typing import Any, TypeVar, cast, get_args

import numba
import numpy as np

from ttt_env.compiled.codes import Bools, Floats, Games, Integers, Payoffs, StepOutcome, StepTables
from ttt_env.compiled.compiler import ready
from ttt_env.envs.board import PlayAs
from ttt_env.envs.vector import steps_kernel as kernel
from ttt_env.envs.vector.engine import EpisodeStarts, Replies
from ttt_env.envs.vector.states import Array, Cells, TableStore

_BOOL, _INT8 = np.dtype(np.bool_), np.dtype(np.int8)
_NEW = tuple.__new__  # half the time of the generated constructor
_NONE = np.empty((0, 2))
_NO_CHANCES = np.empty(0)
_NOWHERE = np.empty(0, np.bool_)
Code = TypeVar("Code", bound=Callable[..., object])
Step = Callable[[Games, Integers, Bools, Floats, StepTables, StepOutcome], None]
Begin = Callable[[Bools, Games, Floats, StepTables], None]


def of_types(function: Code, *arguments: object) -> Code:
    """The machine code of a compiled function for arguments with exactly the types of these.

    In every call numba inspects the type of every argument, and of every field of a record. For a step of 64
    games this takes as long as the step itself. The machine code relies on its caller to keep to the types.
    """
    types = tuple(map(numba.typeof, arguments))
    dispatcher: Any = function
    ready("the steps of the environment", lambda: dispatcher.compile(types))
    return cast(Code, dispatcher.get_overload(types))


class CompiledSteps:
    """The steps of `ArraySteps`, much faster, if `EpisodeStarts.are_look_ups`.

    The arrays of the games are changed in place.
    """

    cannot_fail = True

    def __init__(
        self, store: TableStore, openings: EpisodeStarts, replies: Replies | None, worth: Payoffs
    ) -> None:
        if openings.first is None:
            raise ValueError("compiled steps need one first position")
        self._arguments = store, openings, replies, worth
        first, to_move = (int(part[0]) for part in openings.first)
        self._tables = StepTables(
            n_cells=store.game.n_cells,
            n_open=store.n_open,
            after=store.after,
            codes=store.code_of,
            policies=_NONE if replies is None or replies.policies is None else replies.policies,
            chances=_NO_CHANCES if replies is None else replies.chances,
            first=first,
            to_move=to_move,
            play_as=get_args(PlayAs).index(openings.play_as),
            payoffs=worth,
        )
        self._is_two_sided = replies is None
        self._step: Step | None = None
        self._begin: Begin | None = None

    def __reduce__(
        self,
    ) -> tuple[type["CompiledSteps"], tuple[TableStore, EpisodeStarts, Replies | None, Payoffs]]:
        return type(self), self._arguments

    def step(  # noqa: D102
        self, games: Games, cells: Cells, begins: Array | None, draws: Array, rng: np.random.Generator
    ) -> tuple[Games, StepOutcome]:
        size = len(cells)
        of_seats = np.empty((size, 2)) if self._is_two_sided else _NONE
        parts = np.empty(size, _BOOL), np.empty(size), np.empty(size, _INT8), of_seats
        outcome = _NEW(StepOutcome, parts)
        where = _NOWHERE if begins is None else begins
        if self._step is None:
            self._step = of_types(kernel.step, games, cells, where, draws, self._tables, outcome)
        self._step(games, cells, where, draws, self._tables, outcome)
        return games, outcome

    def begin(  # noqa: D102
        self, games: Games, where: Array, draws: Array, rng: np.random.Generator
    ) -> Games:
        if self._begin is None:
            self._begin = of_types(kernel.begin, where, games, draws, self._tables)
        self._begin(where, games, draws, self._tables)
        return games
