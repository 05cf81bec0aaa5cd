"""Boards as rows of tables, for games of which every board can be listed."""

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.layers import reachable
from ttt_env.envs.observation import planes_of
from ttt_env.envs.vector.backends import Array, Backend
from ttt_env.envs.vector.store import Cells, State
from ttt_env.kernels.codes import FORFEITED_BY_OTHER, IS_TURNED, OF_OTHER, OPEN, WON
from ttt_env.rules.boards import Boards, Masks
from ttt_env.rules.game import Game


@lru_cache(maxsize=8)
def table_store(game: Game, backend: Backend) -> "TableStore":
    """The table of a game on a back end, made once."""
    return TableStore(game, backend)


class TableStore:
    """Every board of the game has a number; a move is a look-up. A state is `int64[B]`.

    The boards to be played come first, `n_open` of them; `open_boards` are these positions. The tables
    are made in NumPy and put on the back end, and what is done with them is the same on all.
    """

    def __init__(self, game: Game, backend: Backend) -> None:
        self.game, self.backend = game, backend
        layers = reachable(game)
        parts = [_joined(game, [layer.boards(getattr(layer, kind)) for layer in layers]) for kind in _KINDS]
        self.open_boards, self._won, self._full = parts
        self.n_open = len(self.open_boards)
        self._tabulate(_joined(game, [*parts, *parts[1:], self.open_boards, self.open_boards]))

    def __reduce__(self) -> tuple[Any, tuple[Game, Backend]]:
        return table_store, (self.game, self.backend)

    def _tabulate(self, boards: Boards) -> None:
        sizes = [self.n_open, len(self._won), len(self._full)]
        sizes += [*sizes[1:], self.n_open, self.n_open]
        self._first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        codes = np.repeat(np.arange(7), sizes)
        self._boards = boards
        is_turned = IS_TURNED[codes]
        views = [
            np.where(is_turned, boards.theirs, boards.mine),
            np.where(is_turned, boards.mine, boards.theirs),
        ]
        planes = planes_of(Boards(self.game, *views))
        masks = (boards.cells(~boards.occupied_masks) & (codes == OPEN)[:, None]).view(np.int8)
        after = np.concatenate([self._after_open(), self._after_over(codes)]).ravel()
        self.code_of, self._planes, self._masks, self.after, self._is_legal = map(
            self.backend.put, (codes, planes, masks, after, masks.ravel().view(np.bool_))
        )

    def _after_open(self) -> NDArray[np.int64]:
        """The numbers of the boards after each cell of the open ones, `[n_open, cells]`."""
        after = np.empty((self.n_open, self.game.n_cells), np.int64)
        after[:] = np.arange(self.n_open)[:, None] + self._first[FORFEITED_BY_OTHER]
        legal = self.open_boards.legal
        rows, cells = np.nonzero(legal)
        after[legal] = self._find(self.open_boards[rows].play(cells))
        return after

    def _after_over(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The other looks: the same for every cell, `[S - n_open, cells]`."""
        ended = codes[self.n_open :]
        rank = np.arange(self.n_open, len(codes)) - self._first[ended]
        other = rank + self._first[OF_OTHER[ended]]
        return np.repeat(other[:, None], self.game.n_cells, axis=1)

    @cached_property
    def _sorted(self) -> tuple[Masks, NDArray[np.int64]]:
        """The keys of the boards that their mover looks at, ascending, and their numbers."""
        keys = self._keys(self._boards[: int(self._first[WON])])
        order = np.argsort(keys)
        return keys[order], order

    def _keys(self, boards: Boards) -> Masks:
        keys: Masks = boards.mine << np.uint64(self.game.n_cells) | boards.theirs
        return keys

    def _find(self, boards: Boards) -> NDArray[np.int64]:
        keys, numbers = self._sorted
        return numbers[np.searchsorted(keys, self._keys(boards))]

    def of(self, boards: Boards) -> State:  # noqa: D102
        return self.backend.put(self._find(boards))

    def play(self, state: State, cells: Cells) -> State:  # noqa: D102
        return self.backend.take(self.after, state * self.game.n_cells + cells, 0)

    def codes(self, state: State) -> Array:  # noqa: D102
        return self.backend.take(self.code_of, state, 0)

    def is_open(self, state: State) -> Array:  # noqa: D102
        return state < self.n_open

    def is_legal(self, state: State, cells: Cells) -> Array:  # noqa: D102
        return self.backend.take(self._is_legal, state * self.game.n_cells + cells, 0)

    def planes(self, state: State) -> Array:  # noqa: D102
        return self.backend.take(self._planes, state, 0)

    def masks(self, state: State) -> Array:  # noqa: D102
        return self.backend.take(self._masks, state, 0)

    def boards(self, state: State) -> Boards:  # noqa: D102
        return self._boards[self.backend.get(state)]


_KINDS = ("open", "won", "drawn")


def _joined(game: Game, parts: list[Boards]) -> Boards:
    mine = np.concatenate([part.mine for part in parts])
    return Boards(game, mine, np.concatenate([part.theirs for part in parts]))
