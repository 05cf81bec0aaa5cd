"""The actions of an environment: cells, or columns in games with gravity."""

from typing import Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ttt_env.errors import CellError, brief
from ttt_env.rules import Game, Masks
from ttt_env.rules.checks import integer_of

ActionKind = Literal["columns", "cells"]


class Actions:
    """The actions of an environment, numbered from 0, and the cell that each of them plays.

    With "columns" an action drops a stone onto one of `Game.columns`, and so plays its lowest free cell.
    Without gravity each column is a cell, as with "cells".
    """

    def __init__(self, game: Game, kind: ActionKind = "columns") -> None:
        self._game = game
        columns = game.columns if kind == "columns" else [(cell,) for cell in range(game.n_cells)]
        self.n = len(columns)
        self.are_cells = self.n == game.n_cells
        self.noun = "cell" if self.are_cells else "column"
        self._masks = [sum(1 << cell for cell in cells) for cells in columns]
        self._tops = [cells[-1] for cells in columns]
        self._mask_array, self._top_array = np.array(self._masks, np.uint64), np.array(self._tops)

    @property
    def space(self) -> spaces.Discrete:
        """A new space of the actions."""
        return spaces.Discrete(self.n)

    def cell(self, action: object, playable: int) -> int:
        """The cell that an action plays if `playable` are the legal cells; the top of a full column.

        Raises `CellError` for anything but an action.
        """
        number = action if type(action) is int else integer_of(action)
        if number is None or not 0 <= number < self.n:
            allowed = f"expected an integer from 0 to {self.n - 1}"
            raise CellError(f"{brief(action)} is not a {self.noun} of {self._game.name}: {allowed}")
        if self.are_cells:
            return number
        stone = self._masks[number] & playable
        return stone.bit_length() - 1 if stone else self._tops[number]

    def of_cell(self, cell: int) -> int:
        """The action that plays a legal cell."""
        return cell if self.are_cells else self._game.column_of[cell]

    def mask(self, cells: NDArray[np.int8]) -> NDArray[np.int8]:
        """The actions, `int8[actions]`, that play one of these cells, `int8[cells]`."""
        if self.are_cells:
            return cells
        return np.array([cells[list(column)].any() for column in self._game.columns], np.int8)

    def cells(self, actions: NDArray[np.int64], playable: Masks) -> NDArray[np.int64]:
        """`cell` for a batch: the cells, `int64[B]`, of actions that exist, `[B]`."""
        stones = self._mask_array.take(actions) & playable
        return np.where(stones, np.bitwise_count(stones - np.uint64(1)), self._top_array.take(actions))

    def masks(self, playable: Masks) -> NDArray[np.int8]:
        """`mask` for a batch of bit masks, `uint64[B]`: `int8[B, actions]`."""
        # Column by column: operations over many boards are faster than many over a few columns.
        is_legal = (self._mask_array[:, None] & playable) != 0
        return np.ascontiguousarray(is_legal.T).view(np.int8)
