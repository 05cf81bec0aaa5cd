"""The boards of a batch of games, stored so that all of them make a move at once.

A *state* is one array whose last axis is the sub-envs. Each board in it is seen by one of its players, the
*looker*. `play` makes half a turn: the looker plays a cell, and then the other player is the looker. So after
two calls a board is always seen by the same player as before: on a board that is over nothing is played and
only the looker changes, and a taken cell ends the game with an unchanged board.

Boards of small games are numbers of rows in tables (`TableStore`), boards of larger games bit masks
(`BitStore`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.layers import reachable
from ttt_env.compiled.codes import (
    FORFEITED_BY_OTHER,
    IS_TURNED,
    OF_OTHER,
    OPEN,
    WON,
)
from ttt_env.compiled.sets import WinningSets, winning_sets
from ttt_env.rules import Boards, Game, Masks, get_game, is_tabulated, pack_masks, playable

Array: TypeAlias = NDArray[Any]
State: TypeAlias = Array
Cells: TypeAlias = NDArray[Any]  # integers


class Store(Protocol):
    """A representation of boards. All functions are pure: they return new arrays, and change none.

    A state of a single board is broadcast to the number of cells to play.
    """

    @property
    def game(self) -> Game:
        """The game of all boards."""

    def of(self, boards: Boards) -> State:
        """The state of positions that are not over, each seen by the player to move."""

    def play(self, state: State, cells: Cells) -> State:
        """The state after each looker has chosen a cell, `[B]`, seen by the other player."""

    def codes(self, state: State) -> Array:
        """The status of each board for its looker, `int64[B]`: `OPEN`, `WON`, … of `compiled.codes`."""

    def is_open(self, state: State) -> Array:
        """True where the game is not over, `bool[B]`."""

    def is_legal(self, state: State, cells: Cells) -> Array:
        """True where these cells are legal, `bool[B]`."""

    def planes(self, state: State) -> Array:
        """The stones as the lookers see them, `int8[B, *shape, 2]`, with their own on plane 0."""

    def playable(self, state: State) -> Masks:
        """The cells that the lookers may play as bit masks, `uint64[B]`; all where the game is over."""

    def masks(self, state: State) -> Array:
        """The same as `int8[B, cells]`."""

    def boards(self, state: State) -> Boards:
        """The positions, seen by the player to move by the number of stones, also after the end."""


def store_of(game: Game) -> Store:
    """The fastest store that can hold the game."""
    return table_store(game) if is_tabulated(game) else BitStore(game)


@lru_cache(maxsize=8)
def table_store(game: Game) -> "TableStore":
    """The table of a game, made once."""
    return TableStore(game)


class TableStore:
    """All boards of a game by number, so that a move is a table look-up. A state is `int64[B]`.

    The `n_open` boards on which the game is not over come first; `open_boards` are these positions.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        layers = reachable(game)
        self.open_boards = Boards.joined(game, (layer.boards(layer.open_slots) for layer in layers))
        self._won = Boards.joined(game, (layer.boards(layer.won_slots) for layer in layers))
        self._full = Boards.joined(game, (layer.boards(layer.drawn_slots) for layer in layers))
        self.n_open = len(self.open_boards)
        ended = self._won, self._full
        boards = Boards.joined(game, [self.open_boards, *ended, *ended, self.open_boards, self.open_boards])
        sizes = [self.n_open, len(self._won), len(self._full)]
        sizes += [*sizes[1:], self.n_open, self.n_open]
        self._first_rows = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        codes = np.repeat(np.arange(7), sizes)
        self._boards = boards
        is_turned = IS_TURNED[codes]
        views = [
            np.where(is_turned, boards.theirs, boards.mine),
            np.where(is_turned, boards.mine, boards.theirs),
        ]
        planes = Boards(self.game, *views).planes
        is_open = (codes == OPEN)[:, None]
        free = boards.cells(playable(game, boards.occupied_masks))
        self.code_of, self._planes = codes, planes
        self._is_legal, self._masks = (free & is_open).ravel(), (free | ~is_open).view(np.int8)
        self._playable = pack_masks(self._masks.view(np.bool_))
        self.after = np.concatenate([self._after_open(), self._after_over(codes)]).ravel()

    def __reduce__(self) -> tuple[Callable[[Game], "TableStore"], tuple[Game]]:
        return table_store, (self.game,)

    def _after_open(self) -> NDArray[np.int64]:
        """The number of the board after each cell is chosen on each open board, `[n_open, cells]`."""
        after = np.empty((self.n_open, self.game.n_cells), np.int64)
        after[:] = np.arange(self.n_open)[:, None] + self._first_rows[FORFEITED_BY_OTHER]
        legal = self.open_boards.legal
        rows, cells = np.nonzero(legal)
        after[legal] = self._find(self.open_boards[rows].play(cells))
        return after

    def _after_over(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for the S − n_open boards that are over, where only the looker changes."""
        ended = codes[self.n_open :]
        rank = np.arange(self.n_open, len(codes)) - self._first_rows[ended]
        other = rank + self._first_rows[OF_OTHER[ended]]
        return np.repeat(other[:, None], self.game.n_cells, axis=1)

    @cached_property
    def _sorted(self) -> tuple[Masks, NDArray[np.int64]]:
        """The keys of the boards seen by the player to move, ascending, and their numbers."""
        keys = self._keys(self._boards[: int(self._first_rows[WON])])
        order = np.argsort(keys)
        return keys[order], order

    def _keys(self, boards: Boards) -> Masks:
        keys: Masks = boards.mine << np.uint64(self.game.n_cells) | boards.theirs
        return keys

    def _find(self, boards: Boards) -> NDArray[np.int64]:
        keys, numbers = self._sorted
        return numbers[np.searchsorted(keys, self._keys(boards))]

    def of(self, boards: Boards) -> State:  # noqa: D102
        return self._find(boards)

    def play(self, state: State, cells: Cells) -> State:  # noqa: D102
        return self.after.take(state * self.game.n_cells + cells, axis=0)

    def codes(self, state: State) -> Array:  # noqa: D102
        return self.code_of.take(state, axis=0)

    def is_open(self, state: State) -> Array:  # noqa: D102
        return state < self.n_open

    def is_legal(self, state: State, cells: Cells) -> Array:  # noqa: D102
        return self._is_legal.take(state * self.game.n_cells + cells, axis=0)

    def planes(self, state: State) -> Array:  # noqa: D102
        return self._planes.take(state, axis=0)

    def playable(self, state: State) -> Masks:  # noqa: D102
        return self._playable.take(state)

    def masks(self, state: State) -> Array:  # noqa: D102
        return self._masks.take(state, axis=0)

    def boards(self, state: State) -> Boards:  # noqa: D102
        return self._boards[state]


@dataclass(frozen=True, eq=False)
class BitStore:
    """Boards as bit masks. A state is `uint64[3, B]`: the looker's stones, the other's, the codes."""

    game: Game

    def of(self, boards: Boards) -> State:  # noqa: D102
        return np.stack([boards.mine, boards.theirs, np.zeros(len(boards), np.uint64)])

    def play(self, state: State, cells: Cells) -> State:  # noqa: D102
        after = np.empty((3, len(cells)), np.uint64)
        sets = winning_sets(self.game)
        _compiled().play(np.ascontiguousarray(state), cells.astype(np.int64, copy=False), sets, after)
        return after

    def codes(self, state: State) -> Array:  # noqa: D102
        return state[-1].astype(np.int64)

    def is_open(self, state: State) -> Array:  # noqa: D102
        return state[-1] == OPEN

    def is_legal(self, state: State, cells: Cells) -> Array:  # noqa: D102
        free = self.playable(state)
        return (free >> cells.astype(np.uint64) & np.uint64(1)).astype(np.bool_) & self.is_open(state)

    def planes(self, state: State) -> Array:  # noqa: D102
        planes = np.empty((state.shape[1], self.game.n_cells, 2), np.int8)
        _compiled().planes(state[0], state[1], planes)
        return planes.reshape(-1, *self.game.shape, 2)

    def playable(self, state: State) -> Masks:  # noqa: D102
        cells = np.empty(state.shape[1], np.uint64)
        _compiled().playable(np.ascontiguousarray(state), winning_sets(self.game), cells)
        return cells

    def masks(self, state: State) -> Array:  # noqa: D102
        free = self.playable(state)
        return Boards(self.game, free, free).cells(free).view(np.int8)

    def boards(self, state: State) -> Boards:  # noqa: D102
        mine, theirs, codes = state
        turned = IS_TURNED[codes.astype(np.intp)]
        return Boards(self.game, *np.where(turned, (theirs, mine), (mine, theirs)))


class _BoardsKernel(NamedTuple):
    play: Callable[[State, Cells, WinningSets, State], None]
    playable: Callable[[State, WinningSets, Masks], None]
    planes: Callable[[Masks, Masks, Array], None]


@cache
def _compiled() -> _BoardsKernel:
    from ttt_env.envs.vector import boards_kernel as kernel
    from ttt_env.envs.vector.compiled import of_types

    state, masks, cells = np.empty((3, 0), np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64)
    sets = winning_sets(get_game("tictactoe-v0"))
    return _BoardsKernel(
        play=of_types(kernel.play, state, cells, sets, state),
        playable=of_types(kernel.playable, state, sets, masks),
        planes=of_types(kernel.planes, masks, masks, np.empty((0, 0, 2), np.int8)),
    )
