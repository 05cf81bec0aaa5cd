"""Games as rows of a table: who played, how they ended, and how good each move was."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ttt_env.errors import extra_for

with extra_for("tables of games need", "data"):
    import pyarrow as pa
    from pyarrow import parquet

from ttt_env.analysis.solution import distances
from ttt_env.datasets.players import Level, play_games
from ttt_env.datasets.positions import Columns, schema_of
from ttt_env.rules import Boards, Game
from ttt_env.storage import write_atomically

_NUMBERS, _ANSWERS = pa.list_(pa.int8()), pa.list_(pa.bool_())
_COLUMNS: Columns = {
    "record": (pa.string(), "The game as text: its name, and the cells in the order of the moves."),
    "x": (pa.string(), "Who moved first, as the text from which `make_agent` makes this player."),
    "o": (pa.string(), "Who moved second, as the text from which `make_agent` makes this player."),
    "result": (pa.int8(), "How the game ended for X: 1 it won, 0 a draw, -1 it lost."),
    "cells": (_NUMBERS, "The cell of each move."),
    "values": (
        _NUMBERS,
        "What best play of both led to before each move, for who made it: 1 a win, 0 a draw, -1 a loss.",
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
        return schema_of(_COLUMNS)

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
