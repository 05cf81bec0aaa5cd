"""A policy as a table: of the solved game or of any agent, in memory and on disk."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env import rules
from ttt_env.agent import (
    ROUNDING,
    Agent,
    AgentLike,
    Explanation,
    Floats,
    checked_policies,
    game_of,
    make_agent,
)
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.analysis.solution import solve
from ttt_env.errors import FileError, ParameterError, PolicyError
from ttt_env.rules import (
    Boards,
    Game,
    Position,
    canonical_boards,
    cells_of,
    check_coded,
    check_enumerable,
    motions,
    pack_masks,
    playable,
)
from ttt_env.rules.symmetry import symmetry_name
from ttt_env.storage import Arrays, ArraySpec, read_arrays, save_arrays

Codes = NDArray[np.uint64]


def code(position: Position) -> int:
    """The base-3 code of a board: X 1, O 0, empty 2, cell i with weight 3^i (Davis, "Tic-Tac-Toe Bots").

    >>> code(Position.parse("XOO/XX./XO."))
    14446
    """
    empty = position.game.full_mask ^ position.occupied_mask
    ones, twos = cells_of(position.x_mask), cells_of(empty)
    return sum(int(3**cell) for cell in ones) + 2 * sum(int(3**cell) for cell in twos)


def codes(boards: Boards) -> Codes:
    """`code` for a batch, `uint64[B]`. Raises `GameTooLargeError` for more than 40 cells."""
    check_coded(boards.game)
    is_odd = boards.ply % 2 == 1
    x = np.where(is_odd, boards.theirs, boards.mine)
    digits = np.where(boards.cells(boards.occupied_masks), boards.cells(x), 2).astype(np.uint64)
    weights = np.array([3**cell for cell in range(boards.game.n_cells)], dtype=np.uint64)
    base_3: Codes = (digits * weights).sum(axis=1, dtype=np.uint64)
    return base_3


def rows_of(boards: Boards, table: Codes, agent: Agent, positions: Boards) -> NDArray[np.intp]:
    """The rows of the boards in an agent's table of ascending codes, `[B]`.

    Raises `PolicyError` for a board without a row; the message names the entry of `positions` that was looked
    up.
    """
    board_codes = codes(boards)
    rows = np.minimum(np.searchsorted(table, board_codes), len(table) - 1)
    missing = np.flatnonzero(table[rows] != board_codes)
    if len(missing):
        raise PolicyError(f"the table of {agent!r} has no entry for {positions[int(missing[0])]}")
    return rows


def playable_cells_of(codes: Codes, game: Game) -> NDArray[np.bool_]:
    """The cells that may be played on the unfinished boards with these base-3 codes, `[B, cells]`."""
    weights = np.array([3**cell for cell in range(game.n_cells)], np.uint64)
    occupied = pack_masks(codes[:, None] // weights % np.uint64(3) != 2)
    return Boards(game, occupied, occupied).cells(playable(game, occupied))


class Table(NamedTuple):
    """Ascending codes, the policy of each, and whether symmetric positions are merged."""

    codes: Codes
    policies: NDArray[np.float32]
    merged: bool


class Lookup(Agent):
    """Plays from a table of policies by base-3 code, in which symmetric positions are merged.

    `Lookup.of(agent)` makes the table of any agent, `save` writes it as an `.npz` file. If the agent plays
    differently in symmetric positions, they are kept apart. Loading a file runs no code.

    Args:
        game: The game, or its id.
        path: The file of a table. By default the table is that of the solved game, which must be small enough
            to enumerate.

    Raises:
        FileError: The file is not a table of this game.
        GameTooLargeError: There is no `path`, and the game has too many positions.

    Example:
        >>> table = Lookup.of("minimax", "tictactoe-v0")
        >>> len(table), table.explain(Position.parse("XX./OO./XO.")).cells
        (627, [2])

    """

    is_stationary = True
    _remembers = True

    def __init__(self, game: Game | str, path: str | None = None) -> None:
        super().__init__(game)
        self._path = path
        self._own_table = None if path is None else _load(path, self.game)
        if path is None:
            check_enumerable(self.game)

    @cached_property
    def _table(self) -> Table:
        return self._own_table or _tabulate(solve(self.game).policy(), None)

    @classmethod
    def of(
        cls, agent: AgentLike, game: Game | str | None = None, positions: Sequence[Boards] | None = None
    ) -> Lookup:
        """The table of an agent's policy in these `positions`, by default in all of the game.

        The agent is queried once in each, and the table holds its answers. Raises `GameTooLargeError` if
        there are too many positions, `ForfeitError` for a position in which the agent names no free cell,
        `ParameterError` if `positions` is empty.
        """
        player = make_agent(agent, game_of(game, agent))
        fixed = PolicyTable.of(player, positions="all") if positions is None else player
        if positions is not None and not sum(map(len, positions)):
            raise ParameterError("positions=[] of Lookup.of: expected at least one")
        return cls._from_table(fixed.game, _tabulate(fixed, positions))

    @classmethod
    def from_arrays(cls, game: Game, codes: Codes, policies: NDArray[np.float32], *, merged: bool) -> Lookup:
        """The table that has these `policies` `[P, cells]` in positions of ascending `codes` `[P]`.

        With `merged` the positions are canonical: each represents all that are symmetric to it.
        """
        return cls._from_table(game, Table(codes, policies, merged))

    @classmethod
    def _from_table(cls, game: Game, table: Table) -> Lookup:
        lookup = cls.__new__(cls)
        Agent.__init__(lookup, game)
        lookup._path = None
        lookup._own_table = table
        return lookup

    def __len__(self) -> int:
        return len(self._table.codes)

    def save(self, path: str | Path) -> None:
        """Write the table as a compressed `.npz` file. Raises `FileError` if it cannot be written."""
        save_arrays(path, self.game, self.arrays())

    def arrays(self) -> Arrays:
        """The arrays of the table's file, by name."""
        table = self._table
        return {"merged": np.array(table.merged), "codes": table.codes, "policies": table.policies}

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        table = self._table
        merged, back = _merge(boards) if table.merged else (boards, None)
        policies = table.policies[rows_of(merged, table.codes, self, boards)].astype(np.float64)
        policies /= policies.sum(axis=1, keepdims=True)
        return policies if back is None else np.take_along_axis(policies, back, axis=1)

    def _explain(self, position: Position) -> Explanation:
        facts, entry = _code_facts(position), position
        reason = "The table holds the position itself."
        if self._table.merged:
            merged, back = _merge(Boards.of([position]))
            entry = merged[0]
            motion = [int(cell) for cell in back[0]]
            facts["symmetry"] = symmetry_name(self.game, tuple(motion))
            if entry != position:
                reason = "The table holds a symmetric position; its cells are mapped back to this board."
                there = {f"{name} there": fact for name, fact in _code_facts(entry).items()}
                facts |= {"position in the table": str(entry)} | there | {"each cell lies there on": motion}
        facts["positions in the table"] = len(self)
        return self._policy_explanation(position, reason, facts=facts)


def _code_facts(position: Position) -> dict[str, Any]:
    number = code(position)
    return {"code": number, "code in base 3": np.base_repr(number, 3).zfill(position.game.n_cells)}


def _merge(boards: Boards) -> tuple[Boards, NDArray[np.intp]]:
    """The canonical positions, and for each cell of each board its cell in them, `[B, cells]`."""
    merged, moved_by = canonical_boards(boards)
    return merged, motions(boards.game)[moved_by]


def _tabulate(agent: Agent, positions: Sequence[Boards] | None) -> Table:
    """The table of an agent in these positions or in all, merged if it treats symmetric ones the same."""
    rows = _rows(agent, positions, merged=True)
    merged = rows is not None
    rows = rows or _rows(agent, positions, merged=False) or []
    distinct, at = np.unique(np.concatenate([code for code, _ in rows]), return_index=True)
    return Table(distinct, np.concatenate([policies for _, policies in rows])[at], merged)


def _rows(
    agent: Agent, positions: Sequence[Boards] | None, merged: bool
) -> list[tuple[Codes, NDArray[np.float32]]] | None:
    """Codes and policies of these positions or all; None if they are to be `merged` and cannot be."""
    rows = []
    all_boards = (moves.boards for layer in reachable(agent.game) for moves in layer.moves())
    for boards in all_boards if positions is None else positions:
        policies = checked_policies(agent, boards)
        if merged:
            images, back = _merge(boards)
            _, first, which = np.unique(codes(images), return_index=True, return_inverse=True)
            boards = images[first]
            canonical = checked_policies(agent, boards)
            turned = np.take_along_axis(canonical[which], back, axis=1)
            if not np.allclose(turned, policies) or ((turned > 0) != (policies > 0)).any():
                return None
            policies = canonical
        rows.append((codes(boards), policies.astype(np.float32)))
    return rows


def _load(path: str, game: Game) -> Table:
    check_coded(game)
    max_rows = rules.n_placements(game)
    forms = {
        "merged": ArraySpec(np.bool_),
        "codes": ArraySpec(np.uint64, (None,), max_rows),
        "policies": ArraySpec(np.float32, (None, game.n_cells), max_rows),
    }
    loaded = read_arrays(path, game, "policy table", forms)
    keys, policies = loaded["codes"], loaded["policies"]
    if not 0 < len(keys) == len(policies) or not (keys[1:] > keys[:-1]).all():
        raise FileError(f"{path} is not a policy table: its codes do not ascend, one for each policy")
    is_chance = (policies >= 0) & (policies <= 1) & (playable_cells_of(keys, game) | (policies == 0))
    if not is_chance.all() or not (np.abs(policies.sum(axis=1) - 1) <= ROUNDING).all():
        raise FileError(f"{path} is not a policy table: a row is not a distribution over the free cells")
    return Table(keys, policies, bool(loaded["merged"]))
