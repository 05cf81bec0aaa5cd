"""The writer of data sets: every position of a game and some of its games, with exact values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedWriter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ttt_env.agent import AgentLike, make_agent, named_agents
from ttt_env.analysis.layers import Bools, reachable
from ttt_env.analysis.play import play_cells
from ttt_env.analysis.solution import distances
from ttt_env.errors import extra_for
from ttt_env.render.table import Table, as_markdown
from ttt_env.rules import (
    SEATS,
    Boards,
    Count,
    Game,
    GameRecord,
    Seed,
    canonical_boards,
    check_enumerable,
    checked,
    get_game,
)
from ttt_env.storage import write_atomically
from ttt_env.text.wording import rules_text

with extra_for("data sets need", "data"):
    import pyarrow as pa
    from pyarrow import parquet

PLAYERS = (
    "minimax:prefer=fast",
    "softmax:temperature=0.3",
    "softmax:temperature=1",
    "epsilon:minimax,epsilon=0.3",
)
_BATCH_ROWS = 1 << 15
_CELLS = pa.list_(pa.int8())

Columns: TypeAlias = Mapping[str, tuple[pa.DataType, str]]
"""The columns of a table by name: the type of the entries, and what they are."""

_POSITIONS: Columns = {
    "position": (pa.string(), "the board by rows: X, O, and a point for a free cell, with / between rows"),
    "ply": (pa.int8(), "number of stones on the board"),
    "to_move": (pa.string(), "the player to move: X or O"),
    "mine": (pa.int32(), "stones of the player to move, as a number: bit c is set for cell c"),
    "theirs": (pa.int32(), "stones of the other player, in the same way"),
    "value": (pa.int8(), "result of best play for the player to move: 1 win, 0 draw, -1 loss"),
    "move_values": (_CELLS, "for each cell the value of moving there; null where the cell is taken"),
    "best_cells": (_CELLS, "cells that keep the value"),
    "distance": (
        pa.int8(),
        "moves to the end if the winner wins as soon and the loser loses as late as possible",
    ),
    "perfect_cells": (_CELLS, "best cells that also win as soon, or lose as late, as possible"),
    "symmetry_class": (pa.string(), "the representative of all its rotations and reflections"),
}
_GAMES: Columns = {
    "record": (pa.string(), "the game as text: its id, and the cells in the order of the moves"),
    "x": (pa.string(), "the player of X"),
    "o": (pa.string(), "the player of O"),
    "result": (pa.int8(), "result for X: 1 win, 0 draw, -1 loss"),
    "cells": (_CELLS, "cell of each move"),
    "values": (_CELLS, "value of the position before each move, for the player to move"),
    "regrets": (_CELLS, "value that each move gave away: 0 for a best move, at most 2"),
}
_CARD = """\
---
license: mit
configs:
- config_name: positions
  data_files: positions.parquet
  default: true
- config_name: games
  data_files: games.parquet
---

# {title}

{rules}

All values are exact: they were computed by backward induction over all positions of the game.

## positions.parquet

Every position in which the game is not over: {n_positions:,} rows.

{positions}

## games.parquet

{n_games:,} games between {players}, both players of each game drawn at random (seed {seed}).

{games}

Made with `ttt_env.datasets.write_dataset`.
"""


@checked
def write_dataset(
    game: Game | str,
    folder: str | Path,
    *,
    games: Count = 1000,
    players: Iterable[AgentLike] | Mapping[str, AgentLike] = PLAYERS,
    seed: Seed = 0,
) -> None:
    """Write every position of a game and some games, with exact values, for `datasets.load_dataset(folder)`.

    The folder then holds `positions.parquet`, `games.parquet` and `README.md`, a dataset card for the Hugging
    Face Hub that explains the columns. Files of these names are replaced, each when it is complete. The same
    arguments give the same bytes with the same version of pyarrow. A 4×4 board has 9.3 million positions.

    Args:
        game: A game of at most 18 cells, or its id.
        folder: The output folder, which is made if it is missing.
        games: The number of games to play.
        players: The agents that play, or a mapping from names to agents. Both players of a game are drawn
            from them.
        seed: The seed of the games; a larger number of games begins with the same ones.

    Raises:
        GameTooLargeError: The game has more than 18 cells.
        ImportError: pyarrow, of the extra `data`, is not installed.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from ttt_env.datasets import write_dataset
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_dataset("tictactoe-v0", folder, games=10)
        ...     print(sorted(path.name for path in Path(folder).iterdir()))
        ['README.md', 'games.parquet', 'positions.parquet']

    """
    game, folder = get_game(game), Path(folder)
    check_enumerable(game)
    by_name = named_agents(players)
    agents = {name: make_agent(agent, game) for name, agent in by_name.items()}
    _write(folder / "positions.parquet", _POSITIONS, map(_position_columns, _unfinished(game)))
    rows = []
    for number in range(games):
        rng = np.random.default_rng((seed, number))
        x, o = (list(agents)[at] for at in rng.integers(len(agents), size=2))
        rows.append((GameRecord(game, play_cells(agents[x], agents[o], rng)), x, o))
    _write(folder / "games.parquet", _GAMES, [_game_columns(*zip(*rows, strict=True))])
    card = _CARD.format(
        title=as_markdown(f"Exact data of {game.name}"),
        rules=rules_text(game),
        n_positions=sum(len(layer.open_slots) for layer in reachable(game)),
        positions=_columns_table(_POSITIONS),
        n_games=games,
        players=", ".join(map(as_markdown, agents)),
        seed=seed,
        games=_columns_table(_GAMES),
    )
    write_atomically(folder / "README.md", card.encode())


def _unfinished(game: Game) -> Iterator[Boards]:
    """The positions in which the game is not over, ply by ply."""
    for layer in reachable(game):
        for first in range(0, len(layer.open_slots), _BATCH_ROWS):
            yield layer.boards(layer.open_slots[first : first + _BATCH_ROWS])


def _position_columns(boards: Boards) -> dict[str, Any]:
    exact = distances(boards.game)
    score, q = exact.scores.of(boards), exact.scores.q(boards)
    move_values, value = np.sign(q), np.sign(score)
    n_rows, n_cells = q.shape
    ends = np.arange(n_rows + 1, dtype=np.int32) * n_cells
    return {
        "position": list(map(str, boards)),
        "ply": boards.ply,
        "to_move": np.array(SEATS)[boards.ply % 2],
        "mine": boards.mine,
        "theirs": boards.theirs,
        "value": value,
        "move_values": pa.ListArray.from_arrays(
            ends, pa.array(move_values.ravel(), pa.int8(), from_pandas=True)
        ),
        "best_cells": _lists_of_cells(move_values == value[:, None]),
        "distance": exact.of(boards),
        "perfect_cells": _lists_of_cells(q == score[:, None]),
        "symmetry_class": list(map(str, canonical_boards(boards)[0])),
    }


def _lists_of_cells(is_in: Bools) -> pa.Array:
    """The list of the True cells of each row, `[B, cells]`."""
    ends = np.concatenate([[0], is_in.sum(axis=1).cumsum()])
    return pa.ListArray.from_arrays(ends.astype(np.int32), np.nonzero(is_in)[1].astype(np.int8))


def _game_columns(records: Sequence[GameRecord], x: Sequence[str], o: Sequence[str]) -> dict[str, Any]:
    boards = Boards.of(position for record in records for position in record.positions())
    values = np.sign(distances(boards.game).scores.of(boards)).astype(np.int8)
    before = np.flatnonzero(~boards.is_over)  # The board after the move is the next one.
    ends = np.cumsum([0, *(len(record.cells) for record in records)])
    return {
        "record": list(map(str, records)),
        "x": x,
        "o": o,
        "result": [record.value("X") for record in records],
        "cells": [record.cells for record in records],
        "values": pa.ListArray.from_arrays(ends, pa.array(values[before])),
        "regrets": pa.ListArray.from_arrays(ends, pa.array(values[before] + values[before + 1])),
    }


def _write(path: Path, columns: Columns, batches: Iterable[Mapping[str, Any]]) -> None:
    """Write the batches as a Parquet file. Raises `OSError` if it cannot be written."""
    schema = pa.schema([(name, kind) for name, (kind, _) in columns.items()])

    def fill(file: BufferedWriter) -> None:
        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for batch in batches:
                arrays = [pa.array(batch[name]).cast(kind) for name, (kind, _) in columns.items()]
                writer.write_batch(pa.record_batch(arrays, schema))

    write_atomically(path, fill)


def _columns_table(columns: Columns) -> str:
    """A table of the columns in Markdown."""
    rows = [(f"`{name}`", f"`{kind}`", meaning) for name, (kind, meaning) in columns.items()]
    return Table.of(("column", "type", "meaning"), rows, "lll").to_markdown(is_markup=True)
