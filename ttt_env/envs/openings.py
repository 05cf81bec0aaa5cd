"""How the episodes of a batch of games begin."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.envs.board import MAX_STARTS, PlayAs
from ttt_env.envs.replies import Replies
from ttt_env.envs.stores import OPEN, State, Store, part_of
from ttt_env.errors import ImpossiblePositionError
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import SEATS, Position

Floats = NDArray[np.float64]
Index = NDArray[np.intp]
Starts: TypeAlias = Position | list[Position] | Callable[[np.random.Generator], Position]
REPLY, OPENING, SEAT, OPPONENT, RESAMPLE, N_DRAWS = range(6)  # the rows of the draws of a step
_HALF = 0.5


class Games(NamedTuple):
    """The games of the sub-envs: boards, the seat that looks (0 is X), opponent, episodes begun."""

    state: State
    seats: NDArray[np.int8]
    who: Index
    episodes: NDArray[np.int64]


class Openings:
    """Begins episodes: draws opponent, seat and first position, and lets the opponent open.

    `starts` is a position, one for each sub-env, or a function that draws one.
    """

    def __init__(self, store: Store, starts: Starts, play_as: PlayAs) -> None:
        self.store, self.starts, self.play_as = store, starts, play_as
        self._constant = self._encoded([starts]) if isinstance(starts, Position) else None

    def _encoded(self, positions: Sequence[Position]) -> tuple[State, NDArray[np.int8]]:
        """The state of positions, and the seats to move."""
        boards = Boards.of(positions)
        return self.store.of(boards), (boards.ply % 2).astype(np.int8)

    def begin(
        self,
        games: Games,
        index: Index,
        replies: Replies | None,
        draws: Floats,
        rng: np.random.Generator,
    ) -> Games:
        """The games, with new ones in the sub-envs `index`. Without `replies` the player to move looks.

        Of `draws` `[rows, B]` the columns `index` are used. An episode that the opponent ends at once is
        drawn anew, with numbers from `rng`. Raises `ImpossiblePositionError` if it always does.
        """
        made = Games(games.state.copy(), games.seats.copy(), games.who.copy(), games.episodes.copy())
        if replies is None:
            made.state[..., index], made.seats[index] = self._first(index, rng)
        else:
            if replies.is_mixed:
                made.who[index] = replies.drawn(draws[OPPONENT].take(index))
            self._open_all(made, index, replies, draws, rng)
        made.episodes[index] += 1
        return made

    def _open_all(
        self, games: Games, index: Index, replies: Replies, draws: Floats, rng: np.random.Generator
    ) -> None:
        left = index
        for _ in range(MAX_STARTS):
            left = self._open(games, left, replies, draws, rng)
            if not len(left):
                return
            draws = rng.random(draws.shape)
        opponent, seat = replies.agents[games.who[left[0]]], SEATS[games.seats[left[0]]]
        position = self.store.boards(part_of(games.state, left))[0]
        raise ImpossiblePositionError(f"{opponent!r} ends the game before {seat} can move: {position}")

    def _open(
        self, games: Games, index: Index, replies: Replies, draws: Floats, rng: np.random.Generator
    ) -> Index:
        """Set up the boards and let the opponents open. Returns the sub-envs in which that was the end."""
        state, to_move = self._first(index, rng)
        seats = self._seats(games.episodes[index], draws, index)
        games.state[..., index], games.seats[index] = state, seats
        waits: Index = index[seats != to_move]
        if not len(waits):
            return waits
        before = part_of(games.state, waits)
        after = self.store.play(
            before, replies.cells(before, games.who.take(waits), draws[OPENING].take(waits), rng)
        )
        games.state[..., waits] = after
        lost: Index = waits[self.store.codes(after) != OPEN]
        return lost

    def _first(self, index: Index, rng: np.random.Generator) -> tuple[State, NDArray[np.int8]]:
        """The first boards, and the seats to move there. One of each is enough where all are the same."""
        if self._constant is not None:
            return self._constant
        if isinstance(self.starts, list):
            return self._encoded([self.starts[at] for at in index])
        draw: Any = self.starts
        return self._encoded([draw(rng) for _ in index])

    def _seats(self, episodes: NDArray[np.int64], draws: Floats, index: Index) -> NDArray[np.int8]:
        if self.play_as == "random":
            seats: NDArray[np.int8] = (draws[SEAT].take(index) >= _HALF).view(np.int8)
            return seats
        if self.play_as == "alternate":
            return (episodes % 2).astype(np.int8)
        return np.full(len(index), SEATS.index(self.play_as), np.int8)
