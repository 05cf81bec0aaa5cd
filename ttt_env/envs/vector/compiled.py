"""The steps of `ArraySteps`, compiled. Importing this module imports numba."""

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ttt_env.envs.board import PlayAs
from ttt_env.envs.vector.backends import Array
from ttt_env.envs.vector.engine import Games, Openings
from ttt_env.envs.vector.replies import Replies
from ttt_env.envs.vector.states import TableStore
from ttt_env.envs.vector.steps import Outcome
from ttt_env.envs.vector.store import Cells
from ttt_env.kernels import steps as step_kernel
from ttt_env.kernels.codes import OF_OTHER

_BOOL = np.dtype(np.bool_)
_NONE = np.empty((0, 2))
_NO_CHANCES = np.empty(0)
_NOWHERE = np.empty(0, np.bool_)


class CompiledSteps:
    """As `ArraySteps`, in NumPy's memory and where `Openings.are_look_ups`: the same outcomes, much faster.

    The arrays of the games that it is given change.
    """

    are_sure = True

    def __init__(
        self, store: TableStore, openings: Openings, replies: Replies | None, rewards: NDArray[np.float64]
    ) -> None:
        self._arguments = store, openings, replies, rewards
        policies: Any = _NONE if replies is None else replies.policies
        chances: Any = _NO_CHANCES if replies is None else replies.chances
        first, to_move = (int(part[0]) for part in openings.first or ())
        play_as = get_args(PlayAs).index(openings.play_as)
        moves = store.after, store.game.n_cells, policies, store.n_open
        self._rules: Any = *moves, chances, first, to_move, play_as
        self._codes, self._worth = store.code_of, np.stack([rewards, rewards[OF_OTHER]])
        self._is_two_sided = replies is None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments

    def step(  # noqa: D102
        self, games: Games, cells: Cells, begins: Array | None, draws: Array, rng: np.random.Generator
    ) -> Outcome:
        size: int = len(cells)
        over, rewards = np.empty(size, _BOOL), np.empty(size)
        of_seats = np.empty((size, 2)) if self._is_two_sided else None
        step_kernel.step(  # type: ignore[call-arg]
            _NOWHERE if begins is None else begins, *games, draws, *self._rules,
            cells, self._codes, self._worth, over, rewards, _NONE if of_seats is None else of_seats,
        )  # fmt: skip
        return games, over, rewards, of_seats

    def begin(  # noqa: D102
        self, games: Games, where: Array, draws: Array, rng: np.random.Generator
    ) -> Games:
        step_kernel.begin(where, *games, draws, *self._rules)
        return games
