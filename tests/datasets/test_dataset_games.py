"""The games of data sets: who played them, and what their columns say."""

from typing import Any, get_args

import numpy as np
import pytest
from pyarrow import parquet

import ttt_env
from tests.support import naive
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from ttt_env import GameRecord
from ttt_env.datasets.players import EXPERT, NOVICES, Level, play_games
from ttt_env.datasets.tables import GameTable

LEVELS: list[Level] = list(get_args(Level))
GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3"]


def rows_of(game: str = "tictactoe-v0", **settings: Any) -> list[dict[str, Any]]:
    return GameTable(ttt_env.get_game(game), **settings).read().to_pylist()


class TestColumns:
    @pytest.mark.parametrize("game", GAMES[:2])
    def test_are_those_of_naive_recursion(self, game: str) -> None:
        board_game = ttt_env.get_game(game)
        twin = naive.twin(board_game)
        for row in rows_of(game, level="mixed", games=60):
            record = GameRecord.parse(row["record"], game)
            assert record.is_over and row["result"] == record.value("X")
            assert row["cells"] == list(record.cells)
            board = twin.empty
            for ply, cell in enumerate(record.cells):
                before, after = twin.value(board), -twin.value(naive.play(board, cell))
                assert row["values"][ply] == before and row["regrets"][ply] == before - after
                assert row["good"][ply] is (cell in twin.best_cells(board))
                assert row["perfect"][ply] is (cell in twin.perfect_cells(board))
                board = naive.play(board, cell)
            assert all(
                len(row[name]) == len(record.cells) for name in ("values", "regrets", "good", "perfect")
            )

    @pytest.mark.parametrize("game", [GAMES[0], *map(slow, GAMES[1:])])
    @pytest.mark.parametrize("level", LEVELS)
    def test_the_players_named_make_these_moves(self, level: Level, game: str) -> None:
        agents = {spec: ttt_env.make_agent(spec, game) for spec in (EXPERT, *NOVICES)}
        named, n_mixed = set(), 0
        for record, x, o in play_games(game, level, 60):
            named |= {x, o}
            n_mixed += x != o
            for ply, (position, cell) in enumerate(zip(record.positions(), record.cells, strict=False)):
                assert agents[(x, o)[ply % 2]].policy(position)[cell] > 0
        assert named == {"expert": {EXPERT}, "novice": set(NOVICES), "mixed": {EXPERT, *NOVICES}}[level]
        assert (n_mixed > 0) == (level != "expert")  # each of a game's players is drawn by itself

    def test_experts_are_perfect_and_every_novice_errs(self) -> None:
        rows = rows_of(games=50)
        assert all(all(row["perfect"]) and row["result"] == 0 for row in rows)
        assert len({row["record"] for row in rows}) > 40  # ties are drawn
        rows = rows_of(level="novice", games=60)
        erring = {row[seat] for row in rows for at, seat in enumerate("xo") if any(row["regrets"][at::2])}
        assert erring == set(NOVICES)

    def test_are_described(self) -> None:
        schema = GameTable(TICTACTOE).schema
        assert all(field.metadata[b"description"].endswith(b".") for field in schema)
        assert schema.equals(GameTable(TICTACTOE, games=1).read().schema, check_metadata=True)


class TestSeeds:
    def test_the_same_seed_gives_the_same_bytes(self, tmp_path: Any) -> None:
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            GameTable(TICTACTOE, "mixed", 20, seed).write(tmp_path / name)
        a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
        assert a == b != c
        assert parquet.read_table(tmp_path / "a").to_pylist() == rows_of(level="mixed", games=20, seed=1)

    def test_more_games_begin_with_fewer(self) -> None:
        assert play_games(level="mixed", games=30)[:10] == play_games(level="mixed", games=10)

    def test_levels_and_seeds_have_nothing_to_do_with_each_other(self) -> None:
        runs = [
            [game.record.cells[0] for game in play_games(level=level, games=50, seed=seed)]
            for level, seed in ((LEVELS[0], 0), (LEVELS[0], 1), (LEVELS[1], 0))
        ]
        agreement = [np.mean(np.equal(a, b)) for at, a in enumerate(runs) for b in runs[:at]]
        assert max(agreement) < 0.4  # of independent ones a ninth, here with a deviation of 0.045


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        *(
            ({"level": "exprt"}, "did you mean expert"),
            ({"games": 0}, "games=0"),
            ({"games": 2.5}, "games=2.5"),
        ),
        *(({"seed": -1}, "seed=-1"), ({"game": "qubic-v0"}, "64 cells"), ({"game": "chess"}, "chess")),
    ],
)
def test_bad_values_are_named(settings: dict[str, Any], text: str) -> None:
    kind = {"64 cells": "GameTooLargeError", "chess": "UnknownGameError"}.get(text, "ParameterError")
    with pytest.raises(getattr(ttt_env.errors, kind), match=text):
        play_games(**settings)
