"""The opponents of a batch of games, and what they play: one draw a sub-env, without a loop."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, checked_policies, sample_each
from ttt_env.envs.opponents import Lineup, reply_of
from ttt_env.envs.vector.backends import Array
from ttt_env.envs.vector.store import Cells, State, Store
from ttt_env.envs.vector.table_store import TableStore
from ttt_env.errors import ParameterError

Floats = NDArray[np.float64]
_NEVER = 2.0  # no draw reaches it


class Replies:
    """The replies of some agents, of which each sub-env has one.

    On a `TableStore` the policies of an agent that `is_fixed` are asked for once, now, in all positions;
    `is_tabulated` says that all are. A fixed agent elsewhere is asked for the `policies` of a batch, and
    any other one, functions among them, to `choose` in each position: in NumPy's memory alone. On another
    back end every agent needs a table: raises `ParameterError` for one that is not fixed.
    """

    def __init__(self, store: Store, lineup: Lineup) -> None:
        self.store, self.agents = store, lineup.agents
        self._tables = [_table(store, agent) for agent in self.agents]
        tables = [table for table in self._tables if table is not None]
        self.is_mixed = len(self.agents) > 1
        self.is_tabulated = len(tables) == len(self.agents)
        self._n_rows = len(tables[0]) if tables else 0
        self.policies = store.backend.put(np.concatenate(tables)) if self.is_tabulated else None
        self.chances = store.backend.put(lineup.totals)

    def numbers(self, draws: Array) -> Array:
        """The numbers of the agents that these draws pick, `int64`."""
        return self.store.backend.xp.searchsorted(self.chances, draws, side="right")

    def cells(
        self, state: State, who: Array, draws: Array, rng: np.random.Generator, where: Any = True
    ) -> Cells:
        """The cells, `[B]`, that the agents numbered `who`, `[B]`, play on the open boards of a state.

        `draws` `[B]` decide for agents with a policy, `rng` for others. The cells of boards that are over
        or not `where` have no meaning. Raises `IllegalMoveError` or `PolicyError` for an agent that plays
        a taken cell.
        """
        backend = self.store.backend
        if self.policies is not None:
            rows = backend.xp.minimum(state, self._n_rows - 1)
            rows = rows + who * self._n_rows if self.is_mixed else rows
            return backend.count(backend.take(self.policies, rows, 0) <= draws[:, None])
        state = np.broadcast_to(state, (*state.shape[:-1], len(draws)))
        wanted = self.store.is_open(state) & where
        cells = np.zeros(len(draws), np.int64)
        for number in range(len(self.agents)):
            at = np.flatnonzero(wanted & (who == number) if self.is_mixed else wanted)
            if len(at):
                cells[at] = self._cells_of(number, state.take(at, axis=-1), draws[at], rng)
        return cells

    def _cells_of(self, number: int, state: State, draws: Floats, rng: np.random.Generator) -> Cells:
        agent, table = self.agents[number], self._tables[number]
        if table is not None:
            return self.store.backend.count(table.take(state, axis=0) <= draws[:, None])
        boards = self.store.boards(state)
        if not agent.is_fixed:
            return np.array([reply_of(agent, position, rng) for position in boards])
        return sample_each(checked_policies(agent, boards), draws)


def _table(store: Store, agent: Agent) -> Floats | None:
    """The summed policies of an agent, `[positions + 1, 8 k]`, one row a position; None without any.

    How many numbers of a row do not exceed a draw is the cell, as in `sample_each`. The last row is that
    of the boards that are over.
    """
    is_remote = store.backend.is_remote
    if is_remote and not agent.is_fixed:
        raise ParameterError(f"{agent!r} has no fixed policy to be tabulated: only backend='numpy' asks it")
    if not isinstance(store, TableStore) or not agent.is_fixed:
        return None
    policies = checked_policies(agent, store.open_boards)
    n_cells = store.game.n_cells
    table = np.full((store.n_open + 1, max(8, -(-(n_cells - 1) // 8) * 8)), _NEVER)
    totals = np.cumsum(policies, axis=1)
    last = n_cells - 1 - np.argmax(policies[:, ::-1] > 0, axis=1)
    totals[np.arange(n_cells) >= last[:, None]] = _NEVER  # as in `sample_each`, against rounding
    table[:-1, : n_cells - 1] = totals[:, :-1]
    return table
