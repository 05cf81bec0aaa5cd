"""The opponents of a batch of games, and what they play: one draw a sub-env, without a loop."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, FunctionAgent, checked_policies, sample_each
from ttt_env.envs.board import reply_of
from ttt_env.envs.stores import OPEN, Cells, State, Store, TableStore, part_of
from ttt_env.errors import PolicyError

Floats = NDArray[np.float64]
_NEVER = 2.0  # no draw reaches it


class Replies:
    """The replies of some agents, of which each sub-env has one.

    On a `TableStore` the policies of an agent that `is_fixed` are asked for once, now, in all positions;
    `is_tabulated` says that all are. A fixed agent elsewhere is asked for the `policies` of a batch, and
    any other one, functions among them, to `choose` in each position.
    """

    def __init__(self, store: Store, agents: Sequence[Agent]) -> None:
        self.store, self.agents = store, list(agents)
        self._tables = [_table(store, agent) for agent in agents]
        tables = [table for table in self._tables if table is not None]
        self.is_mixed = len(self.agents) > 1
        self.is_tabulated = len(tables) == len(agents)
        self._n_rows = len(tables[0]) if tables else 0
        self._joined = np.concatenate(tables) if self.is_tabulated else None

    def drawn(self, draws: Floats) -> NDArray[np.intp]:
        """The numbers of opponents, one for each draw, all equally likely."""
        return (draws * len(self.agents)).astype(np.intp)

    def cells(self, state: State, who: NDArray[np.intp], draws: Floats, rng: np.random.Generator) -> Cells:
        """The cells, `[B]`, that the agents numbered `who`, `[B]`, play on the open boards of a state.

        `draws` `[B]` decide for agents with a policy, `rng` for others. The cells of boards that are over
        have no meaning. Raises `IllegalMoveError` or `PolicyError` for an agent that plays a taken cell.
        """
        if self._joined is not None:
            rows = np.minimum(state, self._n_rows - 1)
            return _sampled(self._joined, rows + who * self._n_rows if self.is_mixed else rows, draws)
        is_open = self.store.codes(state) == OPEN
        cells = np.zeros(len(is_open), np.int64)
        for number in range(len(self.agents)):
            at = np.flatnonzero(is_open & (who == number))
            if len(at):
                cells[at] = self._cells_of(number, part_of(state, at), draws[at], rng)
        return cells

    def _cells_of(self, number: int, state: State, draws: Floats, rng: np.random.Generator) -> Cells:
        agent, table = self.agents[number], self._tables[number]
        if table is not None:
            return _sampled(table, state, draws)
        boards = self.store.boards(state)
        if isinstance(agent, FunctionAgent) or not agent.is_fixed:
            return np.array([reply_of(agent, position, rng) for position in boards])
        cells = sample_each(agent.policies(boards), draws)
        legal = self.store.is_legal(state, cells)
        if not legal.all():
            at = int(np.argmin(legal))
            raise PolicyError(
                f"{agent!r} gives cell {cells[at]} of {boards[at]}, which is not free, a chance"
            )
        return cells


def _table(store: Store, agent: Agent) -> Floats | None:
    """The summed policies of an agent, one row a position, to be counted by `_sampled`; None without any.

    The last row is that of the boards that are over.
    """
    if not isinstance(store, TableStore) or isinstance(agent, FunctionAgent) or not agent.is_fixed:
        return None
    policies = checked_policies(agent, store.open_boards)
    n_cells = store.game.n_cells
    table = np.full((store.n_open + 1, max(8, -(-(n_cells - 1) // 8) * 8)), _NEVER)
    totals = np.cumsum(policies, axis=1)
    last = n_cells - 1 - np.argmax(policies[:, ::-1] > 0, axis=1)
    totals[np.arange(n_cells) >= last[:, None]] = _NEVER  # as in `sample_each`, against rounding
    table[:-1, : n_cells - 1] = totals[:, :-1]
    return table


def _sampled(table: Floats, rows: NDArray[np.integer[Any]], draws: Floats) -> Cells:
    """`sample_each` on rows of a table: how many of its sums do not exceed the draws, `[B]`.

    Eight comparisons at a time are counted as the bits of a number.
    """
    passed = table.take(rows, axis=0) <= draws[:, None]
    counts = np.bitwise_count(passed.view(np.uint64))
    return counts[:, 0] if counts.shape[1] == 1 else counts.sum(axis=1, dtype=np.uint8)
