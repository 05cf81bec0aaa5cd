"""The dynamics of a batch of games: replies of opponents, starts of episodes, and whole steps.

Everything is done by operations on whole arrays, for every store, opponent and start; `compiled.py` makes
the same steps faster where they are table look-ups.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, Forfeit, checked_policies, chosen_cell, sample_each
from ttt_env.compiled import codes
from ttt_env.compiled.codes import Floats, Games, Payoffs, StepOutcome
from ttt_env.envs.board import MAX_STARTS, OpponentMix, PlayAs
from ttt_env.envs.vector.states import Array, Cells, State, Store, TableStore
from ttt_env.errors import ForfeitError, IllegalMoveError, ImpossiblePositionError, TttEnvError
from ttt_env.rules import SEATS, Boards, Position, illegal_move_message

Starts: TypeAlias = Position | list[Position] | Callable[[np.random.Generator], Position]
_NEVER = 2.0  # no draw reaches it
_NO_REWARDS = np.empty((0, 2))


class Replies:
    """The replies of some agents; in each sub-env one of them plays.

    On a `TableStore` the policies of a stationary agent are tabulated now, in all positions, unless it raises
    an error in one, which its games may never reach; `is_tabulated` is True if all agents are tabulated. On
    other stores a stationary agent gives the `policies` of a batch. All other agents, such as functions,
    `choose` in each position.
    """

    def __init__(self, store: Store, lineup: OpponentMix) -> None:
        self.store, self.agents = store, lineup.agents
        self.forfeits: dict[int, Forfeit] = {}  # of the last replies, by sub-env
        self._tables = [_table(store, agent) for agent in self.agents]
        tables = [table for table in self._tables if table is not None]
        self.is_mixed = len(self.agents) > 1
        self.is_tabulated = len(tables) == len(self.agents)
        self._n_rows = len(tables[0]) if tables else 0
        self.policies = np.concatenate(tables) if self.is_tabulated else None
        self.chances = lineup.totals

    def numbers(self, draws: Array) -> Array:
        """The numbers of the agents for these draws, `int64[B]`."""
        return self.chances.searchsorted(draws, side="right")

    def cells(
        self,
        state: State,
        who: Array,
        draws: Array,
        rng: np.random.Generator,
        where: Array | bool = True,
        may_forfeit: bool = False,
    ) -> Cells:
        """The cells, `[B]`, that the agents numbered `who`, `[B]`, play on the open boards of a state.

        Agents with a policy use `draws` `[B]`, others `rng`. The cells of boards that are over or not in
        `where` have no meaning. With `may_forfeit`, for boards with stones, an agent that names no free cell
        is recorded in `forfeits`, and its move is a taken cell, which ends the game. Raises
        `IllegalMoveError` or `PolicyError` for an agent that plays a taken cell.
        """
        if self.policies is not None:
            rows = np.minimum(state, self._n_rows - 1)
            rows = rows + who * self._n_rows if self.is_mixed else rows
            return _counts(self.policies.take(rows, axis=0) <= draws[:, None])
        state = np.broadcast_to(state, (*state.shape[:-1], len(draws)))
        is_queried = self.store.is_open(state) & where
        cells = np.zeros(len(draws), np.int64)
        self.forfeits = {} if may_forfeit else self.forfeits
        for number in range(len(self.agents)):
            at = np.flatnonzero(is_queried & (who == number) if self.is_mixed else is_queried)
            if len(at):
                forfeits: dict[int, Forfeit] | None = {} if may_forfeit else None
                cells[at] = self._cells_of(number, state.take(at, axis=-1), draws[at], rng, forfeits)
                self.forfeits |= {int(at[row]): forfeit for row, forfeit in (forfeits or {}).items()}
        return cells

    def _cells_of(
        self,
        number: int,
        state: State,
        draws: Floats,
        rng: np.random.Generator,
        forfeits: dict[int, Forfeit] | None,
    ) -> Cells:
        agent, table = self.agents[number], self._tables[number]
        if table is not None:
            return _counts(table.take(state, axis=0) <= draws[:, None])
        boards = self.store.boards(state)
        if not agent.is_stationary or isinstance(self.store, TableStore):
            cells = np.empty(len(boards), np.int64)
            for row, position in enumerate(boards):
                try:
                    cells[row] = chosen_cell(agent, position, rng)
                except ForfeitError as error:
                    if forfeits is None:
                        raise
                    forfeits[row] = error.forfeit
                    cells[row] = position.occupied_mask.bit_length() - 1
            return cells
        return sample_each(checked_policies(agent, boards), draws)


def _counts(passed: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """The number of True entries in each row of `bool[B, 8 k]`, eight at a time as bits of numbers."""
    counts = np.bitwise_count(passed.view(np.uint64))
    return counts[:, 0] if counts.shape[1] == 1 else counts.sum(axis=1, dtype=np.uint8)


def _table(store: Store, agent: Agent) -> Floats | None:
    """The cumulative policies of an agent, `[positions + 1, 8 k]`; None for one that is not tabulated.

    The cell for a draw is the number of entries in the position's row that do not exceed the draw, as in
    `sample_each`. The last row is for all boards that are over.
    """
    if not agent.is_stationary or not isinstance(store, TableStore):
        return None
    try:
        policies = checked_policies(agent, store.open_boards)
    except TttEnvError:
        raise
    except Exception:
        return None  # it raises an error in some position, perhaps one that it never reaches
    n_cells = store.game.n_cells
    table = np.full((store.n_open + 1, max(8, -(-(n_cells - 1) // 8) * 8)), _NEVER)
    totals = np.cumsum(policies, axis=1)
    last = n_cells - 1 - np.argmax(policies[:, ::-1] > 0, axis=1)
    totals[np.arange(n_cells) >= last[:, None]] = _NEVER  # as in `sample_each`, against rounding
    table[:-1, : n_cells - 1] = totals[:, :-1]
    return table


class EpisodeStarts:
    """Begins episodes: draws opponent, seat and first position, and makes the opponent's first move.

    `starts` is a position, a list of one for each sub-env, or a function that draws one. `first` has the
    state and the seat to move, `[1]` each, if all episodes start in the same position, else None.
    """

    def __init__(self, store: Store, starts: Starts, play_as: PlayAs) -> None:
        self.store, self.starts, self.play_as = store, starts, play_as
        self.first = self._encoded([starts]) if isinstance(starts, Position) else None
        self._never_ends_at_once = isinstance(starts, Position) and not any(
            starts.child(cell).is_over for cell in starts.legal_cells
        )

    def _encoded(self, positions: Sequence[Position]) -> tuple[State, Array]:
        """The state of positions, and the seats to move in them."""
        boards = Boards.of(positions)
        return self.store.of(boards), (boards.ply % 2).astype(np.int8)

    def begin(
        self, games: Games, where: Array, replies: Replies | None, draws: Array, rng: np.random.Generator
    ) -> Games:
        """The games, with new ones in the sub-envs `where`, `bool[B]`.

        Without `replies` both sides are stepped, and the player to move looks at the board. Of `draws`
        `[rows, B]` the columns of these sub-envs are used. An episode that the opponent's first move ends is
        drawn again, with numbers from `rng`. Raises `ImpossiblePositionError` if this never succeeds.
        """
        remaining = where.nonzero()[0]
        current, agents = games, replies.agents if replies else []
        for _ in range(MAX_STARTS):
            if not len(remaining):
                return current
            before = games._replace(episodes=games.episodes.take(remaining))
            new = self._new_games(before, remaining, replies, partial(_row, draws, remaining), rng)
            current = Games(*map(partial(_replace_columns, remaining), new, current))
            if replies is None or self._never_ends_at_once:
                return current
            remaining = remaining[~self.store.is_open(current.state.take(remaining, axis=-1))]
            draws = rng.random(draws.shape)
        opponent, seat = agents[current.opponents[remaining[0]]], SEATS[current.seats[remaining[0]]]
        position = self.store.boards(current.state.take(remaining, axis=-1))[0]
        raise ImpossiblePositionError(f"{opponent!r} ends the game before {seat} can move: {position}")

    def are_look_ups(self, replies: Replies | None) -> bool:
        """True if episodes begin by table look-ups, which cannot fail and need no numbers but `draws`."""
        if self.first is None or not isinstance(self.store, TableStore):
            return False
        return replies is None or (replies.is_tabulated and self._never_ends_at_once)

    def _new_games(
        self,
        games: Games,
        index: Array,
        replies: Replies | None,
        draw: Callable[[int], Array],
        rng: np.random.Generator,
    ) -> Games:
        """The games that follow these in the sub-envs `index`.

        An array of length 1 is for all sub-envs; unchanged arrays are returned without a copy. `draw` returns
        a row of the draws, `[B]`.
        """
        state, to_move = self._first_boards(index, rng)
        if replies is None:
            return Games(state, to_move, games.opponents, games.episodes + 1)
        who = replies.numbers(draw(codes.OPPONENT)) if replies.is_mixed else games.opponents
        if self.play_as == "random":
            seats = (draw(codes.SEAT) >= codes.HALF).astype(np.int8)
        elif self.play_as == "alternate":
            seats = (games.episodes % 2).astype(np.int8)
        else:
            seats = np.full(1, SEATS.index(self.play_as), np.int8)
        opponent_begins = seats != to_move
        opened = self.store.play(state, replies.cells(state, who, draw(codes.OPENING), rng, opponent_begins))
        return Games(np.where(opponent_begins, opened, state), seats, who, games.episodes + 1)

    def _first_boards(self, index: Array, rng: np.random.Generator) -> tuple[State, Array]:
        """The first boards and the seats to move there; a single row if all sub-envs have the same."""
        if self.first is not None:
            return self.first
        if isinstance(self.starts, list):
            return self._encoded([self.starts[at] for at in index])
        return self._encoded([self.starts(rng) for _ in index])  # type: ignore[operator]


def _row(draws: Array, index: Array, row: int) -> Array:
    return draws[row].take(index)


def _replace_columns(index: Array, new: Array, old: Array) -> Array:
    """A copy of `old` with `new` in the columns `index`; `old` itself if `new` is the same array."""
    if new is old:
        return old
    copy = old.copy()
    copy[..., index] = new
    return copy


class Steps(Protocol):
    """One way to compute steps. `draws` are the random numbers from [0, 1) of a step, `float64[rows, B]`."""

    cannot_fail: bool
    """True if a step runs only code of this package, which does not fail. Opponents or a start that are the
    user's functions may raise an error in the middle of a step, which must then be undone."""

    def step(
        self, games: Games, cells: Cells, begins: Array | None, draws: Array, rng: np.random.Generator
    ) -> tuple[Games, StepOutcome]:
        """The games after the cells, `int64[B]`, and the replies to them, with the outcome of the step.

        The sub-envs in `begins`, `bool[B]` or None for none, begin their next episodes instead.
        """

    def begin(self, games: Games, where: Array, draws: Array, rng: np.random.Generator) -> Games:
        """The games, with new ones in the sub-envs `where`, `bool[B]`."""


class ArraySteps:
    """Steps by operations on whole arrays, for every store, opponent and start."""

    def __init__(
        self, store: Store, openings: EpisodeStarts, replies: Replies | None, worth: Payoffs
    ) -> None:
        self.store, self.openings, self.replies = store, openings, replies
        is_tabulated = replies is None or replies.is_tabulated
        self.cannot_fail = is_tabulated and not callable(openings.starts)
        self._payoffs, self._n_codes, self._winners = worth, len(worth.of_looker), worth.winners.ravel()

    def step(  # noqa: D102
        self, games: Games, cells: Cells, begins: Array | None, draws: Array, rng: np.random.Generator
    ) -> tuple[Games, StepOutcome]:
        state = self.store.play(games.state, cells)
        if self.replies is None:
            games = games._replace(state=state, seats=1 - games.seats)
        else:
            replies = self.replies.cells(state, games.opponents, draws[codes.REPLY], rng, may_forfeit=True)
            games = games._replace(state=self.store.play(state, replies))
        if begins is not None and begins.any():
            games = self.begin(games, begins, draws, rng)
        return games, self._outcome(self.store.codes(games.state), games.seats)

    def begin(  # noqa: D102
        self, games: Games, where: Array, draws: Array, rng: np.random.Generator
    ) -> Games:
        return self.openings.begin(games, where, self.replies, draws, rng)

    def _outcome(self, status: Array, seats: Array) -> StepOutcome:
        over, winners = status != codes.OPEN, self._winners.take(status + seats * self._n_codes)
        of_looker = self._payoffs.of_looker.take(status)
        if self.replies is not None:
            return StepOutcome(over, of_looker, winners, _NO_REWARDS)
        of_mover, looks_x = self._payoffs.of_other.take(status), seats == 0
        of_seats = np.where(looks_x, of_looker, of_mover), np.where(looks_x, of_mover, of_looker)
        return StepOutcome(over, of_mover, winners, np.stack(of_seats, axis=1))


def refuse_taken(store: Store, state: State, cells: Cells) -> None:
    """Raise `IllegalMoveError` if one of the cells is taken on a board that is not over."""
    taken = _are_taken(store, state, cells)
    if taken.any():
        at = int(np.flatnonzero(taken)[0])
        raise IllegalMoveError(
            illegal_move_message(store.boards(state)[at], int(cells[at]), f" in sub-env {at}")
        )


def resampled(store: Store, state: State, cells: Cells, draws: Array) -> Cells:
    """The cells, with every taken one replaced by a free one, by the draws `[B]`."""
    index = _are_taken(store, state, cells).nonzero()[0]
    if len(index):
        cells = cells.copy()
        cells[index] = _free_cells(store, state.take(index, axis=-1), draws[index])
    return cells


def _are_taken(store: Store, state: State, cells: Cells) -> Array:
    return ~store.is_legal(state, cells) & store.is_open(state)


def _free_cells(store: Store, state: State, draws: Array) -> Cells:
    """A uniformly random free cell of each board, by the draws `[B]`."""
    counts = np.cumsum(store.masks(state), axis=1, dtype=np.int64)
    return np.sum(counts <= (draws * counts[:, -1])[:, None], axis=1)
