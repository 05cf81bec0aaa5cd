"""The file of a policy table, in the format of `docs/reference/formats.md`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Answer, Outcome
from ttt_env.analysis.keyed import keys_of
from ttt_env.analysis.layers import Moves
from ttt_env.analysis.rows import NO_CELL, Rows, is_forfeit
from ttt_env.analysis.versions import versions
from ttt_env.errors import FileError, PolicyError
from ttt_env.rules import SEATS, Boards, Game, Seat, playable
from ttt_env.rules.sizes import BOARD_SETS
from ttt_env.storage import Arrays, ArraySpec, array_names, read_arrays, save_arrays, supports_of

FORMAT = "ttt_env policy 1"
_KIND = "policy table"
_MOST_LETTERS = 1000
_SUM = 1e-9  # the largest distance of the sum of chances from 1


@dataclass(frozen=True)
class TableContents:
    """The contents of a file: for each ply the positions, in any order, and the answers there.

    Chances have a column for each empty cell, ascending, as in the file: see `of_empty_cells`.
    """

    game: Game
    label: str
    seats: tuple[Seat, ...]
    plies: Mapping[int, tuple[Boards, Rows]]
    forfeits: Mapping[tuple[int, int], Answer] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """The number of positions."""
        return sum(len(boards) for boards, _ in self.plies.values())

    def arrays(self) -> Arrays:
        """The arrays of the file except those about the game, by name; rows ascend by (mine, theirs)."""
        keys = sorted(self.forfeits)
        reasons = [
            f"{self.forfeits[key].outcome}: {self.forfeits[key].reply}"[:_MOST_LETTERS] for key in keys
        ]
        arrays: Arrays = {
            "format": np.array(FORMAT),
            "winning_masks": np.array(sorted(self.game.winning_masks), np.uint64),
            "supports": supports_of(self.game),
            "label": np.array(_printable_line(self.label)),
            "seats": np.array("".join(self.seats)),
            "versions": np.array(" ".join(f"{name} {number}" for name, number in versions().items())),
            "forfeit_positions": np.array(keys, np.uint64).reshape(len(keys), 2),
            "forfeit_reasons": np.array(reasons, np.str_),
        }
        for ply, (boards, rows) in self.plies.items():
            order = np.lexsort((boards.theirs, boards.mine))
            arrays[f"positions_{ply}"] = np.stack([boards.mine[order], boards.theirs[order]], axis=1)
            arrays[f"moves_{ply}"] = rows[order]
        return arrays

    @cached_property
    def _keys(self) -> dict[int, NDArray[Any]]:
        return {
            ply: keys_of(self.game.n_cells, each.mine, each.theirs) for ply, (each, _) in self.plies.items()
        }

    def answers(self, moves: Moves) -> Rows:
        """The answers in these positions. Raises `PolicyError` for a position that is not in the file."""
        ply, boards = moves.layer.ply, moves.boards
        wanted_keys = keys_of(self.game.n_cells, boards.mine, boards.theirs)
        keys = self._keys.get(ply, wanted_keys[:0])
        places = np.minimum(np.searchsorted(keys, wanted_keys), max(0, len(keys) - 1))
        is_there = keys[places] == wanted_keys if len(keys) else np.zeros(len(wanted_keys), np.bool_)
        if not is_there.all():
            raise PolicyError(f"{boards[int(is_there.argmin())]} is reached, but not in it")
        rows = self.plies[ply][1][places]
        if rows.ndim == 1:
            return rows
        chances = np.zeros((len(boards), self.game.n_cells))
        chances[boards.cells(~boards.occupied_masks)] = rows.ravel()
        return moves.of_policy(chances)


def of_empty_cells(moves: Moves) -> Rows:
    """The recorded answers in these positions; chances have a column for each empty cell."""
    assert moves.rows is not None
    if moves.rows.ndim == 1:
        return moves.rows
    boards = moves.boards
    chances = np.zeros((len(boards), boards.game.n_cells))
    np.put_along_axis(chances, moves.cells, moves.rows, axis=1)
    of_empty: Rows = chances[boards.cells(~boards.occupied_masks)].reshape(len(boards), -1)
    return of_empty


def _printable_line(text: str) -> str:
    """The text as one printable line."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_MOST_LETTERS]


def write_table(path: str | Path, contents: TableContents) -> None:
    """Write a table. Raises `FileError` if the file cannot be written."""
    save_arrays(path, contents.game, contents.arrays())


def read_table(path: str | Path, game: Game) -> TableContents:
    """The table in a file that `write_table` has written, row by row as the format says.

    Raises `FileError` for any other file. The caller checks that the table holds all positions which
    its moves lead to.
    """
    names, n_cells = array_names(path), game.n_cells
    plies = [ply for ply in range(n_cells) if f"moves_{ply}" in names]
    most = 1 << 31
    forms: dict[str, ArraySpec | tuple[ArraySpec, ...]] = {
        "format": ArraySpec(np.str_, (), _MOST_LETTERS),
        "winning_masks": ArraySpec(np.uint64, (None,), BOARD_SETS),
        "supports": ArraySpec(np.int8, (n_cells,)),
        "label": ArraySpec(np.str_, (), _MOST_LETTERS),
        "seats": ArraySpec(np.str_, (), _MOST_LETTERS),
        "versions": ArraySpec(np.str_, (), _MOST_LETTERS),
        "forfeit_positions": ArraySpec(np.uint64, (None, 2), most),
        "forfeit_reasons": ArraySpec(np.str_, (None,), most, _MOST_LETTERS),
    }
    for ply in plies:
        forms[f"positions_{ply}"] = ArraySpec(np.uint64, (None, 2), most)
        forms[f"moves_{ply}"] = (
            ArraySpec(np.uint8, (None,), most),
            ArraySpec(np.uint64, (None,), most),
            ArraySpec(np.float64, (None, n_cells - ply), most),
        )
    arrays = read_arrays(path, game, _KIND, forms)

    def require(holds: object, fault: str) -> None:
        if not holds:
            raise FileError(f"{path} is not a {_KIND}: {fault}")

    expected_names = {*forms, "game", "shape", "winning_masks", "misere"}
    require(names == expected_names, f"unexpected arrays {', '.join(sorted(names - expected_names))}")
    require(str(arrays["format"]) == FORMAT, f"its format is {str(arrays['format'])!r}, not {FORMAT!r}")
    masks = arrays["winning_masks"]
    require((masks[1:] > masks[:-1]).all(), "its winning sets do not ascend")
    seats = tuple(seat for seat in SEATS if seat in str(arrays["seats"]))
    require("".join(seats) == str(arrays["seats"]) and seats, "its seats are wrong")
    require(all(SEATS[ply % 2] in seats for ply in plies), "it has positions of another seat")
    by_ply: dict[int, tuple[Boards, Rows]] = {}
    pairs: list[tuple[int, int]] = []
    for ply in plies:
        positions, rows = arrays[f"positions_{ply}"], arrays[f"moves_{ply}"]
        boards = Boards(game, positions[:, 0].copy(), positions[:, 1].copy())
        require(
            0 < len(rows) == len(boards), f"ply {ply} has {len(boards)} positions and {len(rows)} answers"
        )
        mine, theirs = boards.mine, boards.theirs
        ascends = (mine[1:] > mine[:-1]) | ((mine[1:] == mine[:-1]) & (theirs[1:] > theirs[:-1]))
        require(ascends.all(), f"the positions of ply {ply} do not ascend")
        is_board = (boards.ply == ply) & (mine & theirs == 0) & (mine | theirs <= np.uint64(game.full_mask))
        require(is_board.all(), f"ply {ply} has positions of another number of stones")
        require(_are_distributions(rows, boards), f"an answer of ply {ply} is not over the free cells")
        none = is_forfeit(rows)
        pairs += zip(mine[none].tolist(), theirs[none].tolist(), strict=True)
        by_ply[ply] = boards, rows
    listed = [tuple(pair) for pair in arrays["forfeit_positions"].tolist()]
    reasons = arrays["forfeit_reasons"].tolist()
    require(
        listed == sorted(pairs) and len(reasons) == len(listed), "its forfeits are not its answers of no cell"
    )
    forfeits = {pair: _parse_forfeit(reason) for pair, reason in zip(sorted(pairs), reasons, strict=True)}
    return TableContents(game, str(arrays["label"]), seats, by_ply, forfeits)


def _are_distributions(rows: Rows, boards: Boards) -> bool:
    """True if each row names no cell, or only free ones, with chances that sum to 1."""
    free = playable(boards.game, boards.occupied_masks)
    if rows.dtype == np.uint8:
        cells = rows[rows != NO_CELL]
        stones = np.uint64(1) << np.minimum(cells, 63).astype(np.uint64)
        return bool((cells < boards.game.n_cells).all() and (free[rows != NO_CELL] & stones != 0).all())
    if rows.ndim == 1:
        return bool((rows & ~free == 0).all())
    empty = boards.cells(~boards.occupied_masks)
    is_legal = boards.cells(free)[empty].reshape(rows.shape)
    if not (rows >= 0).all() or np.isinf(rows).any() or rows.any(where=~is_legal):
        return False
    totals = rows.sum(axis=1)
    is_row = (np.abs(totals - 1) < _SUM) | (totals == 0)
    return bool(is_row.all())


def _parse_forfeit(reason: str) -> Answer:
    outcome, _, reply = reason.partition(": ")
    if outcome not in get_args(Outcome):
        outcome, reply = "unreadable", reason
    return Answer.failure(outcome, reply)  # type: ignore[arg-type]
