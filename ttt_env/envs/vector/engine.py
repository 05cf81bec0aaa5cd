"""How the episodes of a batch of games begin."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ttt_env.envs.board import MAX_STARTS, PlayAs
from ttt_env.envs.vector.backends import Array
from ttt_env.envs.vector.replies import Replies
from ttt_env.envs.vector.states import TableStore
from ttt_env.envs.vector.store import State, Store
from ttt_env.errors import ImpossiblePositionError
from ttt_env.kernels.codes import HALF, OPENING, OPPONENT, SEAT
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import SEATS, Position

Starts: TypeAlias = Position | list[Position] | Callable[[np.random.Generator], Position]


class Games(NamedTuple):
    """The games of the sub-envs: boards, `int8` seats that look (0: X), `int64` opponents, episodes begun."""

    state: State
    seats: Array
    who: Array
    episodes: Array


class Openings:
    """Begins episodes: draws opponent, seat and first position, and lets the opponent open.

    `starts` is a position, one for each sub-env, or a function that draws one. `first` has the state and the
    seat to move, `[1]` each, of the only one, else None.
    """

    def __init__(self, store: Store, starts: Starts, play_as: PlayAs) -> None:
        self.store, self.starts, self.play_as = store, starts, play_as
        self._backend = store.backend
        self.first = self._encoded([starts]) if isinstance(starts, Position) else None
        self._is_calm = isinstance(starts, Position) and not any(
            starts.child(cell).is_over for cell in starts.legal_cells
        )  # no opening can be the end

    def _encoded(self, positions: Sequence[Position]) -> tuple[State, Array]:
        """The state of positions, and the seats to move."""
        boards = Boards.of(positions)
        return self.store.of(boards), self._backend.put((boards.ply % 2).astype(np.int8))

    def begin(
        self, games: Games, where: Array, replies: Replies | None, draws: Array, rng: np.random.Generator
    ) -> Games:
        """The games, with new ones in the sub-envs `where`. Without `replies` the player to move looks.

        Of `draws` `[rows, B]` the columns of these sub-envs are used. An episode that the opponent ends at
        once is drawn anew, with numbers from `rng`. Raises `ImpossiblePositionError` if it always does.
        """
        is_blind = self._backend.is_remote and self.are_look_ups(replies)
        begin = self._begin_blindly if is_blind else self._begin_some
        return begin(games, where, replies, draws, rng)

    def are_look_ups(self, replies: Replies | None) -> bool:
        """Whether to begin takes look-ups alone, which cannot fail and need no numbers but the draws."""
        if self.first is None or not isinstance(self.store, TableStore):
            return False
        return replies is None or (replies.is_tabulated and self._is_calm)

    def _begin_blindly(
        self, games: Games, where: Array, replies: Replies | None, draws: Array, rng: np.random.Generator
    ) -> Games:
        """By new games in all sub-envs, of which those `where` are taken: the host need not know them."""
        new = self._new(games, None, replies, draws.__getitem__, rng)
        choose = partial(self._backend.xp.where, where)
        return Games(*map(partial(_unless_same, choose), new, games))

    def _begin_some(
        self, games: Games, where: Array, replies: Replies | None, draws: Array, rng: np.random.Generator
    ) -> Games:
        """By the numbers of the sub-envs: nothing is done for the others."""
        take, left = self._backend.take, self._backend.xp.nonzero(where)[0]
        made = games
        for _ in range(MAX_STARTS):
            if not len(left):
                return made
            before = games._replace(episodes=take(games.episodes, left, 0))
            new = self._new(before, left, replies, partial(self._row, draws, left), rng)
            made = Games(*map(partial(_unless_same, partial(self._with, left)), new, made))
            if replies is None or self._is_calm:
                return made
            left = left[~self.store.is_open(take(made.state, left, -1))]
            draws = self._backend.put(rng.random(draws.shape))
        opponent: Any = replies.agents[made.who[left[0]]]  # type: ignore[union-attr]
        seat = SEATS[made.seats[left[0]]]
        position = self.store.boards(take(made.state, left, -1))[0]
        raise ImpossiblePositionError(f"{opponent!r} ends the game before {seat} can move: {position}")

    def _row(self, draws: Array, index: Array, row: int) -> Array:
        return self._backend.take(draws[row], index, 0)

    def _with(self, index: Array, values: Array, array: Array) -> Array:
        changed = self._backend.xp.asarray(array, copy=True)
        changed[..., index] = values
        return changed

    def _new(
        self,
        games: Games,
        index: Array | None,
        replies: Replies | None,
        draw: Callable[[int], Array],
        rng: np.random.Generator,
    ) -> Games:
        """What follows on these games, of the sub-envs `index` (None: all). One row may stand for all.

        `draw` gives a row of the draws, `[B]`. What stays as it is is the very array of before.
        """
        state, to_move = self._first(index, rng)
        if replies is None:
            return Games(state, to_move, games.who, games.episodes + 1)
        who = replies.numbers(draw(OPPONENT)) if replies.is_mixed else games.who
        seats = self._seats(games.episodes, draw)
        waits = seats != to_move
        opened = self.store.play(state, replies.cells(state, who, draw(OPENING), rng, waits))
        return Games(self._backend.xp.where(waits, opened, state), seats, who, games.episodes + 1)

    def _first(self, index: Any, rng: np.random.Generator) -> tuple[State, Array]:
        """The first boards, and the seats to move there. One of each is enough where all are the same."""
        if self.first is not None:
            return self.first
        numbers = self._backend.get(index)
        if isinstance(self.starts, list):
            return self._encoded([self.starts[at] for at in numbers])
        draw: Any = self.starts
        return self._encoded([draw(rng) for _ in numbers])

    def _seats(self, episodes: Array, draw: Callable[[int], Array]) -> Array:
        xp = self._backend.xp
        if self.play_as == "random":
            return xp.astype(draw(SEAT) >= HALF, xp.int8)
        if self.play_as == "alternate":
            return xp.astype(episodes % 2, xp.int8)
        return xp.full(1, SEATS.index(self.play_as), dtype=xp.int8, device=self._backend.device)


def _unless_same(merge: Callable[[Array, Array], Array], new: Array, old: Array) -> Array:
    return old if new is old else merge(new, old)
