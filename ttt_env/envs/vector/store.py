"""The boards of a batch of games, kept so that a move of all of them is a few array operations.

A *state* is one array whose last axis are the sub-envs. Each board in it is seen by a *looker*, and
`play` makes half a turn: the looker plays a cell, and then the other one looks. So after the moves of
both, a board is seen by the one who saw it before, whatever happened: on a board that is over nothing is
played and only the looker changes, and a stone on a taken cell ends the game with the board as it was.
"""

from typing import Protocol, TypeAlias

from ttt_env.envs.vector.backends import Array, Backend
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game

State: TypeAlias = Array
Cells: TypeAlias = Array


class Store(Protocol):
    """One way to keep boards. All functions are pure: they return new arrays, and change none.

    The arrays are those of the back end; where a state has one board, it stands for as many as there are
    cells.
    """

    @property
    def game(self) -> Game:
        """The game of all boards."""

    @property
    def backend(self) -> Backend:
        """Where the arrays are."""

    def of(self, boards: Boards) -> State:
        """The state of positions to be played, seen by who is to move."""

    def play(self, state: State, cells: Cells) -> State:
        """The state after each looker has chosen a cell, `[B]`, seen by the other."""

    def codes(self, state: State) -> Array:
        """What each board is to its looker, `int64[B]`: one of the numbers above."""

    def is_open(self, state: State) -> Array:
        """Whether each board is to be played, `bool[B]`."""

    def is_legal(self, state: State, cells: Cells) -> Array:
        """Whether these cells may be played, `bool[B]`."""

    def planes(self, state: State) -> Array:
        """What the lookers see, `int8[B, *shape, 2]`: plane 0 has their stones."""

    def masks(self, state: State) -> Array:
        """The cells that the lookers may play, `int8[B, cells]`; none where the game is over."""

    def boards(self, state: State) -> Boards:
        """The positions, seen by who is to move (after the end: by who would be)."""
