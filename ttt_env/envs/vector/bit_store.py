"""Boards as bit masks, for every game of up to 64 cells."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ttt_env.envs.observation import planes_of
from ttt_env.envs.vector.backends import Array, Backend
from ttt_env.envs.vector.store import Cells, State
from ttt_env.kernels.codes import (
    FORFEITED_BY_OTHER,
    FULL_BY_OTHER,
    IS_TURNED,
    OF_OTHER,
    OPEN,
    WON_BY_OTHER,
)
from ttt_env.rules.boards import Boards, Masks
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import check_size


@dataclass(frozen=True, eq=False)
class BitStore:
    """Boards as bit masks. A state is `uint64[3, B]`: the looker's stones, the other's, the codes.

    Raises `GameTooLargeError` above 64 cells.
    """

    game: Game
    backend: Backend

    def __post_init__(self) -> None:
        check_size(self.game)

    @cached_property
    def _sets_through(self) -> Masks:
        """The winning sets through each cell, `[K, cells]`; missing ones are sets that nobody can own."""
        through = self.game.winning_masks_through
        table = np.full((max(1, *map(len, through)), self.game.n_cells), ~np.uint64(0))
        for cell, masks in enumerate(through):
            table[: len(masks), cell] = masks
        return table

    def of(self, boards: Boards) -> State:  # noqa: D102
        return np.stack([boards.mine, boards.theirs, np.zeros_like(boards.mine)])

    def play(self, state: State, cells: Cells) -> State:  # noqa: D102
        mine, theirs, codes = state
        is_open, good = codes == OPEN, self.is_legal(state, cells)
        stones = mine | np.left_shift(good, cells, dtype=np.uint64, casting="unsafe")
        sets = self._sets_through.take(cells, axis=1)
        won = (sets & stones == sets).any(axis=0)
        full = stones | theirs == np.uint64(self.game.full_mask)
        after_good = np.where(won, WON_BY_OTHER, np.where(full, FULL_BY_OTHER, OPEN))
        after_open = np.where(good, after_good, FORFEITED_BY_OTHER)
        after = np.empty((3, len(cells)), np.uint64)
        after[0], after[1] = theirs, stones
        after[2] = np.where(is_open, after_open, OF_OTHER.take(codes.astype(np.int64)))
        return after

    def codes(self, state: State) -> Array:  # noqa: D102
        return state[2].astype(np.int64)

    def is_open(self, state: State) -> Array:  # noqa: D102
        return state[2] == OPEN

    def is_legal(self, state: State, cells: Cells) -> Array:  # noqa: D102
        taken = (state[0] | state[1]) >> cells.astype(np.uint64) & np.uint64(1)
        return (taken | state[2]) == 0

    def planes(self, state: State) -> Array:  # noqa: D102
        return planes_of(Boards(self.game, state[0], state[1]))

    def masks(self, state: State) -> Array:  # noqa: D102
        free = np.where(state[2] == 0, ~(state[0] | state[1]), np.uint64(0))
        return Boards(self.game, free, free).cells(free).view(np.int8)

    def boards(self, state: State) -> Boards:  # noqa: D102
        turned = IS_TURNED[state[2].astype(np.intp)]
        mine, theirs = np.where(turned, state[1::-1], state[:2])
        return Boards(self.game, mine, theirs)
