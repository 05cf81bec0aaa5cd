"""The boards of a batch of games, kept so that a move of all of them is a few array operations.

A *state* is one array whose last axis are the sub-envs. Each board in it is seen by a *looker*, and
`play` makes half a turn: the looker plays a cell, and then the other one looks. So after the moves of
both, a board is seen by the one who saw it before, whatever happened: on a board that is over nothing is
played and only the looker changes, and a stone on a taken cell ends the game with the board as it was.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.layers import reachable
from ttt_env.envs.observation import planes_of
from ttt_env.rules.boards import Boards, Masks, check_size
from ttt_env.rules.game import Game

State: TypeAlias = NDArray[Any]
Cells: TypeAlias = NDArray[np.integer[Any]]
Planes: TypeAlias = NDArray[np.int8]

# What a board is to its looker: to be played; won or full by the other's last move; the same by its own
# last move; ended because it chose a taken cell; because the other did.
OPEN, WON_BY_OTHER, FULL_BY_OTHER, WON, FULL, FORFEITED, FORFEITED_BY_OTHER = range(7)
OF_OTHER = np.array([OPEN, WON, FULL, WON_BY_OTHER, FULL_BY_OTHER, FORFEITED_BY_OTHER, FORFEITED], np.uint8)
_IS_TURNED = np.isin(np.arange(7), [WON, FULL, FORFEITED_BY_OTHER])
_MAX_SLOTS = 300_000  # tables of games up to here take some tens of megabytes and a second to make


class Store(Protocol):
    """One way to keep boards. All functions are pure: they return new arrays, and change none."""

    @property
    def game(self) -> Game:
        """The game of all boards."""

    def of(self, boards: Boards) -> State:
        """The state of positions to be played, seen by who is to move."""

    def play(self, state: State, cells: Cells) -> State:
        """The state after each looker has chosen a cell, `[B]`, seen by the other."""

    def codes(self, state: State) -> NDArray[np.uint8]:
        """What each board is to its looker, `[B]`: one of the numbers above."""

    def is_legal(self, state: State, cells: Cells) -> NDArray[np.bool_]:
        """Whether these cells may be played, `[B]`."""

    def planes(self, state: State) -> Planes:
        """What the lookers see, `int8[B, *shape, 2]`: plane 0 has their stones."""

    def masks(self, state: State) -> NDArray[np.int8]:
        """The cells that the lookers may play, `int8[B, cells]`; none where the game is over."""

    def boards(self, state: State) -> Boards:
        """The positions, seen by who is to move (after the end: by who would be)."""


def part_of(state: State, index: NDArray[np.intp]) -> State:
    """The state of some sub-envs, a copy whose rows lie as all functions here need them."""
    return state.take(index, axis=-1)


def store_of(game: Game) -> Store:
    """The faster store that can hold the game. Raises `GameTooLargeError` above 64 cells."""
    n = game.n_cells
    slots = sum(comb(n, ply) * comb(ply, ply // 2) for ply in range(n + 1)) if n < 20 else _MAX_SLOTS + 1
    return table_store(game) if slots <= _MAX_SLOTS else BitStore(game)


@lru_cache(maxsize=8)
def table_store(game: Game) -> "TableStore":
    """The table of a game, made once."""
    return TableStore(game)


class TableStore:
    """Every board of the game has a number; a move is a look-up. A state is `int32[B]`.

    The boards to be played come first, `n_open` of them; `open_boards` are these positions.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        layers = reachable(game)
        parts = [_joined(game, [layer.boards(getattr(layer, kind)) for layer in layers]) for kind in _KINDS]
        self.open_boards, self._won, self._full = parts
        self.n_open = len(self.open_boards)
        self._tabulate(_joined(game, [*parts, *parts[1:], self.open_boards, self.open_boards]))

    def __reduce__(self) -> tuple[Any, tuple[Game]]:
        return table_store, (self.game,)

    def _tabulate(self, boards: Boards) -> None:
        sizes = [self.n_open, len(self._won), len(self._full)]
        sizes += [*sizes[1:], self.n_open, self.n_open]
        self._first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._codes = np.repeat(np.arange(7, dtype=np.uint8), sizes)
        self._boards = boards
        is_turned = _IS_TURNED[self._codes]
        views = [
            np.where(is_turned, boards.theirs, boards.mine),
            np.where(is_turned, boards.mine, boards.theirs),
        ]
        self._planes = planes_of(Boards(self.game, *views)).reshape(len(boards), -1)
        self._masks = (boards.cells(~boards.occupied_masks) & (self._codes == OPEN)[:, None]).view(np.int8)
        self._is_legal = self._masks.ravel().view(np.bool_)
        self._after = np.concatenate([self._after_open(), self._after_over()]).ravel()

    def _after_open(self) -> NDArray[np.int32]:
        """The numbers of the boards after each cell of the open ones, `[n_open, cells]`."""
        after = np.empty((self.n_open, self.game.n_cells), np.int32)
        after[:] = np.arange(self.n_open)[:, None] + self._first[FORFEITED_BY_OTHER]
        legal = self.open_boards.legal
        rows, cells = np.nonzero(legal)
        after[legal] = self._find(self.open_boards[rows].play(cells))
        return after

    def _after_over(self) -> NDArray[np.int32]:
        """The other looks: the same for every cell, `[S - n_open, cells]`."""
        codes = self._codes[self.n_open :]
        rank = np.arange(self.n_open, len(self._codes)) - self._first[codes]
        other = (rank + self._first[OF_OTHER[codes]]).astype(np.int32)
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

    def _find(self, boards: Boards) -> NDArray[np.int32]:
        keys, numbers = self._sorted
        return numbers[np.searchsorted(keys, self._keys(boards))].astype(np.int32)

    def of(self, boards: Boards) -> State:  # noqa: D102
        return self._find(boards)

    def play(self, state: State, cells: Cells) -> State:  # noqa: D102
        return self._after.take(state * self.game.n_cells + cells)

    def codes(self, state: State) -> NDArray[np.uint8]:  # noqa: D102
        return self._codes.take(state)

    def is_legal(self, state: State, cells: Cells) -> NDArray[np.bool_]:  # noqa: D102
        legal: NDArray[np.bool_] = self._is_legal.take(state * self.game.n_cells + cells)
        return legal

    def planes(self, state: State) -> Planes:  # noqa: D102
        planes: Planes = self._planes.take(state, axis=0)
        return planes.reshape(-1, *self.game.shape, 2)

    def masks(self, state: State) -> NDArray[np.int8]:  # noqa: D102
        masks: NDArray[np.int8] = self._masks.take(state, axis=0)
        return masks

    def boards(self, state: State) -> Boards:  # noqa: D102
        return self._boards[state]


_KINDS = ("open", "won", "drawn")


def _joined(game: Game, parts: list[Boards]) -> Boards:
    mine = np.concatenate([part.mine for part in parts])
    return Boards(game, mine, np.concatenate([part.theirs for part in parts]))


@dataclass(frozen=True, eq=False)
class BitStore:
    """Boards as bit masks. A state is `uint64[3, B]`: the looker's stones, the other's, the codes.

    Raises `GameTooLargeError` above 64 cells.
    """

    game: Game

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
        after = np.where(is_open, after_open, OF_OTHER.take(codes.astype(np.intp)))
        return np.stack([theirs, stones, after.astype(np.uint64)])

    def codes(self, state: State) -> NDArray[np.uint8]:  # noqa: D102
        codes: NDArray[np.uint8] = state[2].astype(np.uint8)
        return codes

    def is_legal(self, state: State, cells: Cells) -> NDArray[np.bool_]:  # noqa: D102
        taken = (state[0] | state[1]) >> cells.astype(np.uint64) & np.uint64(1)
        legal: NDArray[np.bool_] = (taken | state[2]) == 0
        return legal

    def planes(self, state: State) -> Planes:  # noqa: D102
        return planes_of(Boards(self.game, state[0], state[1]))

    def masks(self, state: State) -> NDArray[np.int8]:  # noqa: D102
        free = np.where(state[2] == 0, ~(state[0] | state[1]), np.uint64(0))
        return Boards(self.game, free, free).cells(free).view(np.int8)

    def boards(self, state: State) -> Boards:  # noqa: D102
        turned = _IS_TURNED[state[2].astype(np.intp)]
        mine, theirs = np.where(turned, state[1::-1], state[:2])
        return Boards(self.game, mine, theirs)
