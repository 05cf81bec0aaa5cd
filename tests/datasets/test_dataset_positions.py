"""The table of positions: against naive recursion on every row, its order, its answers, its bytes."""

from collections import Counter
from functools import cache
from itertools import islice, pairwise

import numpy as np
import pytest

from tests.support.games import LOPSIDED, MISERE, SHORT, TICTACTOE

pytest.importorskip("pyarrow")

import pyarrow as pa
from pyarrow import parquet

from tests import reference
from tests.support import naive
from tests.support.naive import twin
from ttt_env import Game, Position, get_game
from ttt_env.datasets import PositionTable
from ttt_env.errors import GameTooLargeError, ParameterError, UnknownGameError
from ttt_env.rules.symmetry import symmetries, transform
from ttt_env.text import TextEnv
from ttt_env.text.answers import AnswerFormat

LAYERS = Game("two layers", (2, 2, 2), [(0, 7), (1, 6, 2), (3, 4, 5)])


@cache
def rows_of(game, **options):
    return pa.Table.from_batches(PositionTable(game, **options).batches()).to_pylist()


@pytest.mark.parametrize("game", [TICTACTOE, MISERE, LOPSIDED, SHORT, LAYERS], ids=repr)
class TestEveryRow:
    def test_facts_are_the_naive_ones_of_each_position(self, game):
        boards = [naive.board_of(row["position"]) for row in rows_of(game, finished=True)]
        assert Counter(boards) == Counter(twin(game).boards())
        for row, board in zip(rows_of(game, finished=True), boards, strict=True):
            assert Position.parse(row["position"], game).board.size == game.n_cells
            assert (row["mine"], row["theirs"]) == naive.masks(board)
            assert (row["ply"], row["to_move"]) == (len(board) - board.count("."), naive.mover(board))
            assert row["value"] == twin(game).value(board)
            assert row["distance"] == twin(game).distance(board)
            assert row["best_cells"] == twin(game).best_cells(board)
            assert row["perfect_cells"] == twin(game).perfect_cells(board)
            after = {c: -twin(game).value(naive.play(board, c)) for c in twin(game).moves(board)}
            assert row["move_values"] == [after.get(cell) for cell in range(game.n_cells)]
        every = zip(rows_of(game, finished=True), boards, strict=True)
        assert rows_of(game) == [row for row, board in every if twin(game).moves(board)]

    def test_one_class_of_symmetric_positions_and_one_row_for_each(self, game):
        everyone = rows_of(game, finished=True)
        classes = {row["position"]: row["symmetry_class"] for row in everyone}
        for text, of_class in islice(classes.items(), 0, None, 5):
            position = Position.parse(text, game)
            images = {str(transform(position, permutation)) for permutation in symmetries(game)}
            assert of_class in images
            assert {classes[image] for image in images} == {of_class}
        one = rows_of(game, finished=True, one_per_class=True)
        assert one == [row for row in everyone if row["position"] == row["symmetry_class"]]
        assert set(classes.values()) == {row["position"] for row in one}


def test_values_of_tictactoe_and_plies_one_after_another():
    signs = {"X": 1, "O": -1}
    values = Counter(row["value"] * signs[row["to_move"]] for row in rows_of(TICTACTOE))
    assert values == reference.VALUES_FOR_X
    rows = rows_of(TICTACTOE, finished=True)
    assert all(first["ply"] <= second["ply"] for first, second in pairwise(rows))
    assert list(Counter(row["ply"] for row in rows).values()) == reference.POSITIONS_BY_PLY
    up_to_symmetry = rows_of(TICTACTOE, finished=True, one_per_class=True)
    assert len(up_to_symmetry) == reference.POSITIONS_UP_TO_SYMMETRY


class TestTexts:
    @pytest.mark.parametrize("board", ["grid", "coordinates", "line"])
    def test_prompts_are_those_of_the_environment_and_answers_perfect(self, board):
        env, form = TextEnv(TICTACTOE, board=board, answer="<{cell}>"), AnswerFormat("<{cell}>")
        rows = rows_of(TICTACTOE, board=board, answer="<{cell}>", one_per_class=True)
        for row in rows[::7]:
            assert row["prompt"] == env.reset(position=row["position"], play_as=row["to_move"])
        for row in rows:
            assert form.read(row["answer"], TICTACTOE).cell in row["perfect_cells"]

    def test_answers_have_no_habit(self):
        """In positions with n perfect cells, each place among them is taken by about one in n answers."""
        form, places = AnswerFormat(), {}
        for row in rows_of(TICTACTOE):
            cells = row["perfect_cells"]
            place = cells.index(form.read(row["answer"], TICTACTOE).cell)
            places.setdefault(len(cells), []).append(place)
        for n, taken in places.items():
            expected = len(taken) / n
            counts = np.bincount(taken, minlength=n)
            # Six standard deviations: these draws are fixed, and a fair draw would fail once in 10⁸ seeds.
            assert np.abs(counts - expected).max() <= 6 * np.sqrt(expected)

    def test_answers_depend_on_the_seed_and_on_no_other_row(self):
        options = {"one_per_class": True, "seed": 0}
        rows, same = rows_of(TICTACTOE, **options), PositionTable(TICTACTOE, **options)
        assert pa.Table.from_batches(same.batches()).to_pylist() == rows
        everyone = {row["position"]: row["answer"] for row in rows_of(TICTACTOE)}
        assert all(row["answer"] == everyone[row["position"]] for row in rows)
        others = rows_of(TICTACTOE, one_per_class=True, seed=1)
        differ = [row for row, other in zip(rows, others, strict=True) if row["answer"] != other["answer"]]
        assert differ
        assert all(len(row["perfect_cells"]) > 1 for row in differ)

    def test_finished_positions_ask_nothing(self):
        over = [row for row in rows_of(TICTACTOE, finished=True) if row["distance"] == 0]
        assert len(over) == reference.FINISHED
        assert {(row["prompt"], row["answer"]) for row in over} == {(None, None)}

    def test_prompts_are_there_for_small_games_or_if_asked_for(self):
        for name, prompts, expected in (
            ("mnk-v0:m=4,n=3,k=3", None, True),
            ("mnk-v0:m=4,n=3,k=3", False, False),
            ("square-v0", None, False),
            ("square-v0", True, True),
        ):
            names = PositionTable(get_game(name), prompts=prompts).schema.names
            assert ("prompt" in names, "answer" in names) == (expected, expected)


class TestFiles:
    def test_a_file_holds_the_rows_in_groups_by_ply_and_pandas_reads_it(self, tmp_path):
        counts = []
        PositionTable(TICTACTOE).write(tmp_path / "rows.parquet", lambda *done: counts.append(done))
        with parquet.ParquetFile(tmp_path / "rows.parquet") as file:
            assert file.read().to_pylist() == rows_of(TICTACTOE)
            groups = [file.read_row_group(number)["ply"].to_pylist() for number in range(file.num_row_groups)]
        assert [set(group) for group in groups] == [{ply} for ply in range(9)]
        assert counts[-1] == (reference.TO_BE_PLAYED, reference.TO_BE_PLAYED)
        assert counts == sorted(counts)
        pandas = pytest.importorskip("pandas")
        rows, frame = rows_of(TICTACTOE), pandas.read_parquet(tmp_path / "rows.parquet")
        for name in ("value", "prompt"):
            assert frame[name].tolist() == [row[name] for row in rows]
        assert [list(cells) for cells in frame["best_cells"]] == [row["best_cells"] for row in rows]

    def test_columns_are_explained(self):
        schema = PositionTable(TICTACTOE).schema
        assert all(field.metadata[b"description"] for field in schema)

    def test_groups_are_cut_where_a_ply_is_large(self, tmp_path, monkeypatch):
        PositionTable(TICTACTOE, prompts=False).write(tmp_path / "whole")
        monkeypatch.setattr("ttt_env.datasets.tables._BATCH_ROWS", 100)
        monkeypatch.setattr("ttt_env.datasets.tables._GROUP_ROWS", 300)
        PositionTable(TICTACTOE, prompts=False).write(tmp_path / "cut")
        with parquet.ParquetFile(tmp_path / "cut") as file:
            sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
            assert max(sizes) == 300
            assert file.read().equals(parquet.read_table(tmp_path / "whole"))


@pytest.mark.parametrize(
    ("game", "options", "error", "message"),
    [
        ("qubic-v0", {}, GameTooLargeError, "18 cells are the limit"),
        ("tictactoe-v0", {"board": "round"}, ParameterError, "unknown board 'round'"),
        ("tictactoe-v0", {"answer": "cell"}, ParameterError, "a text with one {cell}"),
        ("tictactoe-v0", {"seed": -1}, ParameterError, "seed=-1 of a data set"),
        ("tictactoe-v0", {"one_per_class": "no"}, ParameterError, "one_per_class='no' of a data set"),
        ("tictactoe-v0", {"finished": 1}, ParameterError, "finished=1 of a data set"),
        ("tictactoe-v0", {"prompts": "no"}, ParameterError, "prompts='no' of a data set"),
        ("tictacto-v0", {}, UnknownGameError, "did you mean tictactoe-v0"),
    ],
)
def test_refusals(game, options, error, message):
    with pytest.raises(error, match=message):
        PositionTable(game, **options)


def test_a_game_may_be_an_id(tmp_path):
    assert PositionTable("tictactoe-v0") == PositionTable(TICTACTOE)
    with pytest.raises(ParameterError, match="progress=3"):
        PositionTable("tictactoe-v0").write(tmp_path / "rows", progress=3)


@pytest.mark.slow
def test_square_whole(tmp_path):
    game = get_game("square-v0")
    PositionTable(game, finished=True).write(tmp_path / "square.parquet")
    with parquet.ParquetFile(tmp_path / "square.parquet") as file:
        assert file.metadata.num_rows == reference.ENUMERABLE["square-v0"][0]
        first = file.read_row_group(0).to_pylist()[0]
    assert (first["value"], first["best_cells"], first["distance"]) == (0, list(range(16)), 16)
