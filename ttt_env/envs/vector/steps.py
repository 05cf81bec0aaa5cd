"""A step of a batch of games: the moves, the replies, the next episodes, and what they are worth."""

from typing import Protocol, TypeAlias

import numpy as np

from ttt_env.envs.vector.backends import Array
from ttt_env.envs.vector.engine import Games, Openings
from ttt_env.envs.vector.replies import Replies
from ttt_env.envs.vector.store import Cells, Store
from ttt_env.kernels.codes import OF_OTHER, OPEN, REPLY

# The games after a step, which are over, `bool[B]`, and the rewards of who was stepped, `float64[B]`; then
# those of X and of O, `float64[B, 2]`, or None if there is an opponent.
Outcome: TypeAlias = tuple[Games, Array, Array, Array | None]


class Steps(Protocol):
    """One way to make the steps. `draws` are the numbers from [0, 1) of a step, `float64[rows, B]`."""

    are_sure: bool
    """Whether no code of others is called, which may fail."""

    def step(
        self, games: Games, cells: Cells, begins: Array | None, draws: Array, rng: np.random.Generator
    ) -> Outcome:
        """The outcome after the cells, `int64[B]`, and the replies.

        The sub-envs that `begins`, `bool[B]` or None for none of them, begin their next episodes instead.
        """

    def begin(self, games: Games, where: Array, draws: Array, rng: np.random.Generator) -> Games:
        """The games, with new ones in the sub-envs `where`, `bool[B]`."""


class ArraySteps:
    """By operations on whole arrays, for every store, opponent and start. `rewards`, `[7]`, are by code."""

    def __init__(self, store: Store, openings: Openings, replies: Replies | None, rewards: Array) -> None:
        self.store, self.openings, self.replies = store, openings, replies
        self._backend = store.backend
        is_tabulated = replies is None or replies.is_tabulated
        self.are_sure = is_tabulated and not callable(openings.starts)
        self._rewards, self._rewards_of_other = map(store.backend.put, (rewards, rewards[OF_OTHER]))

    def step(  # noqa: D102
        self, games: Games, cells: Cells, begins: Array | None, draws: Array, rng: np.random.Generator
    ) -> Outcome:
        games = self._played(games, cells, draws, rng)
        if begins is not None and (self._backend.is_remote or begins.any()):
            games = self.begin(games, begins, draws, rng)
        codes = self.store.codes(games.state)
        return games, codes != OPEN, *self._rewards_for(codes, games.seats)

    def begin(  # noqa: D102
        self, games: Games, where: Array, draws: Array, rng: np.random.Generator
    ) -> Games:
        return self.openings.begin(games, where, self.replies, draws, rng)

    def _played(self, games: Games, cells: Cells, draws: Array, rng: np.random.Generator) -> Games:
        """The games after the move and the reply."""
        state = self.store.play(games.state, cells)
        if self.replies is None:
            return games._replace(state=state, seats=1 - games.seats)
        replies = self.replies.cells(state, games.who, draws[REPLY], rng)
        return games._replace(state=self.store.play(state, replies))

    def _rewards_for(self, codes: Array, seats: Array) -> tuple[Array, Array | None]:
        """The rewards of who was stepped, and of both seats if both are."""
        xp, take = self._backend.xp, self._backend.take
        of_looker = take(self._rewards, codes, 0)
        if self.replies is not None:
            return of_looker, None
        of_mover = take(self._rewards_of_other, codes, 0)
        looks_x = seats == 0
        of_seats = xp.where(looks_x, of_looker, of_mover), xp.where(looks_x, of_mover, of_looker)
        return of_mover, xp.stack(of_seats, axis=1)
