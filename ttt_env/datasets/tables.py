"""Positions and games as rows of tables: what a position is worth, what to answer, how good each move was."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path
from typing import TypeAlias, get_args

import numpy as np

from ttt_env.errors import extra_for

with extra_for("tables of data sets need", "data"):
    import pyarrow as pa
    from pyarrow import parquet

from ttt_env import rules
from ttt_env.analysis.layers import Bools, reachable
from ttt_env.analysis.solution import distances
from ttt_env.datasets.players import Level, play_games
from ttt_env.rules import SEATS, Boards, Game, canonical_boards, is_tabulated, same_boards
from ttt_env.storage import write_atomically
from ttt_env.text.answers import AnswerFormat
from ttt_env.text.env import cell_at
from ttt_env.text.wording import BoardStyle, prompt_text
from ttt_env.workers import Progress

_BATCH_ROWS = 1 << 15
_GROUP_ROWS = 1 << 17  # rows held in memory before they are written: 100 MB with prompts of a 4×4 board

Columns: TypeAlias = dict[str, tuple[pa.DataType, str]]
"""The columns of a table by name: the type of the entries, and what they are."""

_CELLS = pa.list_(pa.int8())
_FACTS: Columns = {
    "position": (
        pa.string(),
        "The board row by row: X, O, and a point for a free cell, with / between the rows.",
    ),
    "ply": (pa.int8(), "The number of marks on the board."),
    "to_move": (pa.string(), "Who moves: X or O."),
    "mine": (pa.int32(), "The cells of the player to move, as a number: bit c is set for cell c."),
    "theirs": (pa.int32(), "The cells of the other player, in the same way."),
    "value": (
        pa.int8(),
        "What best play by both sides leads to, for the player to move: 1 it wins, 0 a draw, -1 it loses.",
    ),
    "move_values": (
        _CELLS,
        "For each cell the value of moving there, for the player to move; null where the cell is taken.",
    ),
    "distance": (
        pa.int8(),
        "The number of moves to the end under perfect play: who wins wins soon, who loses loses late.",
    ),
    "best_cells": (_CELLS, "The cells that keep the value."),
    "perfect_cells": (_CELLS, "Those of them that win as soon, or lose as late, as best play allows."),
    "symmetry_class": (
        pa.string(),
        "The position that stands for all that are the same but for turning and mirroring the board.",
    ),
}
_TEXTS: Columns = {
    "prompt": (pa.string(), "What a language model is asked: the rules, its mark, the board, how to answer."),
    "answer": (
        pa.string(),
        "A reply that plays one of the perfect cells, drawn by the seed and the position.",
    ),
}


def schema_of(columns: Columns) -> pa.Schema:
    """The columns for Arrow; each field has a `description` among its metadata."""
    return pa.schema(
        [pa.field(name, kind, metadata={"description": told}) for name, (kind, told) in columns.items()]
    )


@dataclass(frozen=True)
class PositionTable:
    """The positions of a game in which it goes on, as rows of a table that is made piece by piece.

    `game` may also be the id of a game, and is then replaced by that game.

    With `one_per_class` there is one row for all positions that are the same but for turning and mirroring
    the board; with `finished` there are also those in which the game is over. `prompts` says whether there
    are the columns `prompt` and `answer`; by default there are for games of up to 12 cells. `board` and
    `answer` are as in `TextEnv`.

    Where several cells are perfect, the column `answer` plays one of them that is drawn by the `seed` and the
    position alone. So the column has no habit that could be learned in place of the game, such as taking the
    first cell. Another seed draws other answers, and `perfect_cells` has them all.

    The rows are in the order of their plies and, within a ply, of the solver's numbers of the positions.

    Raises `UnknownGameError` for an unknown game, `GameTooLargeError` for one of more than 18 cells,
    `ParameterError` for what is not allowed.

    >>> first = next(PositionTable("tictactoe-v0").batches()).to_pylist()[0]
    >>> first["position"], first["value"], len(first["perfect_cells"])
    ('.../.../...', 0, 9)
    """

    game: Game
    one_per_class: bool = False
    finished: bool = False
    prompts: bool | None = None
    board: BoardStyle = "grid"
    answer: str = "[{cell}]"
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "game", rules.get_game(self.game))
        rules.check_enumerable(self.game)
        for name in ("one_per_class", "finished"):
            rules.as_bool(name, getattr(self, name), "a data set")
        if self.prompts is not None:
            rules.as_bool("prompts", self.prompts, "a data set")
        rules.one_of("board", self.board, get_args(BoardStyle))
        object.__setattr__(self, "seed", rules.as_integer("seed", self.seed, "a data set", 0))
        AnswerFormat(self.answer)

    @property
    def has_texts(self) -> bool:
        """True if the table has the columns `prompt` and `answer`."""
        return is_tabulated(self.game) if self.prompts is None else self.prompts

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns; each field has a `description` among its metadata."""
        return schema_of(_FACTS | _TEXTS if self.has_texts else _FACTS)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in batches of at most 32,768, none of two plies."""
        return (self._batch(boards) for boards in self._boards())

    def _boards(self) -> Iterator[Boards]:
        for layer in reachable(self.game):
            slots = layer.open
            if self.finished:
                slots = np.sort(np.concatenate([slots, layer.won, layer.drawn]))
            for first in range(0, len(slots), _BATCH_ROWS):
                yield layer.boards(slots[first : first + _BATCH_ROWS])

    def _batch(self, boards: Boards) -> pa.RecordBatch:
        classes = canonical_boards(boards)[0]
        if self.one_per_class:
            is_kept = same_boards(classes, boards)
            boards, classes = boards[is_kept], classes[is_kept]
        known = distances(self.game)
        score, q = known.scores.of(boards), known.scores.q(boards)
        perfect = _lists_of_cells(q == score[:, None])
        values = np.sign(q)
        n_rows, n_cells = values.shape
        numbers = pa.array(values.ravel(), pa.int8(), from_pandas=True)
        columns = {
            "position": _texts(boards),
            "ply": boards.ply,
            "to_move": np.array(SEATS)[boards.ply % 2],
            "mine": boards.mine,
            "theirs": boards.theirs,
            "value": np.sign(score),
            "move_values": pa.ListArray.from_arrays(np.arange(n_rows + 1, dtype=np.int32) * n_cells, numbers),
            "distance": known.of(boards),
            "best_cells": _lists_of_cells(np.sign(q) == np.sign(score)[:, None]),
            "perfect_cells": perfect,
            "symmetry_class": _texts(classes),
        }
        if self.has_texts:
            columns["prompt"] = [
                None if each.is_over else prompt_text(each, self.board, self.answer) for each in boards
            ]
            form = AnswerFormat(self.answer)
            rows = zip(perfect.to_pylist(), boards.mine.tolist(), boards.theirs.tolist(), strict=True)
            columns["answer"] = [
                form.text_of(cell_at(cells, self.seed, *stones)) if cells else None for cells, *stones in rows
            ]
        names = self.schema.names
        return pa.record_batch([pa.array(columns[name]) for name in names], names).cast(self.schema)

    def write(self, path: str | Path, progress: Progress | None = None) -> None:
        """Write the rows as a Parquet file.

        A ply begins a group of rows. `progress` is called with the numbers of positions that have been looked
        at and of all. The same table gives the same bytes with the same version of pyarrow.

        Raises `ParameterError` for a `progress` that is no function, `OSError` if the file cannot be written;
        there is then no part of it.
        """
        tell = rules.as_callback("progress", progress, "a data set") or (lambda done, total: None)
        total = sum(len(layer if self.finished else layer.open) for layer in reachable(self.game))

        def fill(file: BufferedWriter) -> None:
            with parquet.ParquetWriter(file, self.schema, compression="zstd") as writer:
                n_done, ply, group = 0, 0, list[pa.RecordBatch]()
                for boards in self._boards():
                    if group and (boards.ply[0] != ply or sum(map(len, group)) >= _GROUP_ROWS):
                        writer.write_table(pa.Table.from_batches(group))
                        group = []
                    ply = int(boards.ply[0])
                    group.append(self._batch(boards))
                    n_done += len(boards)
                    tell(n_done, total)
                writer.write_table(pa.Table.from_batches(group))

        write_atomically(path, fill)


def _texts(boards: Boards) -> pa.Array:
    """The texts of positions, which all have the same length."""
    empty = np.frombuffer(str(boards.game.start).encode(), np.uint8)
    letters, is_cell = np.tile(empty, (len(boards), 1)), empty == ord(".")
    x_moves = boards.ply % 2 == 0
    x, o = np.where(x_moves, boards.mine, boards.theirs), np.where(x_moves, boards.theirs, boards.mine)
    stones = np.where(boards.cells(x), ord("X"), np.where(boards.cells(o), ord("O"), ord(".")))
    letters[:, is_cell] = stones
    ends = np.arange(len(boards) + 1, dtype=np.int32) * len(empty)
    return pa.StringArray.from_buffers(len(boards), pa.py_buffer(ends), pa.py_buffer(letters))


def _lists_of_cells(is_in: Bools) -> pa.Array:
    """For each row, `[B, cells]`, the list of the cells that are in it."""
    ends = np.concatenate([[0], is_in.sum(axis=1).cumsum()])
    return pa.ListArray.from_arrays(ends.astype(np.int32), np.nonzero(is_in)[1].astype(np.int8))


_NUMBERS, _ANSWERS = pa.list_(pa.int8()), pa.list_(pa.bool_())
_GAME_COLUMNS: Columns = {
    "record": (pa.string(), "The game as text: its name, and the cells in the order of the moves."),
    "x": (pa.string(), "Who moved first, as the text from which `make_agent` makes this player."),
    "o": (pa.string(), "Who moved second, as the text from which `make_agent` makes this player."),
    "result": (pa.int8(), "How the game ended for X: 1 it won, 0 a draw, -1 it lost."),
    "cells": (_NUMBERS, "The cell of each move."),
    "values": (
        _NUMBERS,
        "What best play by both sides led to before each move, for its player: 1 a win, 0 a draw, -1 a loss.",
    ),
    "regrets": (_NUMBERS, "The value that each move gave away: 0 for a good move, at most 2."),
    "good": (_ANSWERS, "Whether each move was good: it kept the value."),
    "perfect": (
        _ANSWERS,
        "Whether each move was perfect: good, and as near to a win, or as far from a loss, as possible.",
    ),
}


@dataclass(frozen=True)
class GameTable:
    """The games of `play_games` as rows of a table, with the exact value of every move.

    Raises the errors of `play_games` when it is read or written.

    >>> from ttt_env import get_game
    >>> played = GameTable(get_game("tictactoe-v0"), "novice", games=2).read().to_pylist()[0]
    >>> played["record"], played["regrets"]
    ('tictactoe-v0: 7 8 0 2 5 1 3 6 4', [0, 0, 0, 0, 0, 1, 0, 0, 0])
    """

    game: Game
    level: Level = "expert"
    games: int = 1000
    seed: int = 0

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns; each field has a `description` among its metadata."""
        return schema_of(_GAME_COLUMNS)

    def read(self) -> pa.Table:
        """The rows as a `pyarrow.Table`."""
        played = play_games(self.game, self.level, self.games, seed=self.seed)
        records = [each.record for each in played]
        boards = Boards.of(position for record in records for position in record.positions())
        scores = distances(boards.game).scores.of(boards)
        before = np.flatnonzero(~boards.is_over)  # the board after the move is the next one
        values = np.sign(scores)
        regrets = values[before] + values[before + 1]
        of_moves = {
            "cells": [cell for record in records for cell in record.cells],
            "values": values[before],
            "regrets": regrets,
            "good": regrets == 0,
            "perfect": scores[before] + scores[before + 1] == 0,
        }
        ends = np.cumsum([0, *(len(record.cells) for record in records)])
        columns = {
            "record": [str(record) for record in records],
            "x": [each.x for each in played],
            "o": [each.o for each in played],
            "result": [record.value("X") for record in records],
            **{name: pa.ListArray.from_arrays(ends, pa.array(each)) for name, each in of_moves.items()},
        }
        schema = self.schema
        return pa.table([pa.array(columns[field.name]).cast(field.type) for field in schema], schema=schema)

    def write(self, path: str | Path) -> None:
        """Write the rows as a Parquet file.

        The same table gives the same bytes with the same version of pyarrow. Raises `OSError` if the file
        cannot be written; there is then no part of it.
        """
        table = self.read()
        write_atomically(path, lambda file: parquet.write_table(table, file, compression="zstd"))
