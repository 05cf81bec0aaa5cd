"""Data sets: every row equals naive recursion, a seed gives the same bytes, and the card is complete."""

from collections import Counter

import pytest

from tests import reference
from tests.support import naive
from tests.support.games import LOPSIDED, MISERE, SHORT, TICTACTOE
from tests.support.naive import twin

pytest.importorskip("pyarrow")

from pyarrow import parquet

from ttt_env import GameRecord, Position, get_game
from ttt_env.datasets import write_dataset
from ttt_env.errors import GameTooLargeError, ParameterError
from ttt_env.rules.symmetry import symmetries, transform


def rows_of(folder, name):
    return parquet.read_table(folder / f"{name}.parquet").to_pylist()


@pytest.mark.parametrize("game", [TICTACTOE, MISERE, LOPSIDED, SHORT], ids=repr)
def test_positions_equal_naive_recursion(game, tmp_path):
    write_dataset(game, tmp_path, games=1)
    rows = rows_of(tmp_path, "positions")
    solved = twin(game)
    boards = [naive.board_of(row["position"]) for row in rows]
    assert Counter(boards) == Counter(board for board in solved.boards() if solved.moves(board))
    for row, board in zip(rows, boards, strict=True):
        assert (row["mine"], row["theirs"]) == naive.masks(board)
        assert (row["ply"], row["to_move"]) == (len(board) - board.count("."), naive.mover(board))
        assert row["value"] == solved.value(board) and row["distance"] == solved.distance(board)
        assert row["best_cells"] == solved.best_cells(board)
        assert row["perfect_cells"] == solved.perfect_cells(board)
        after = {cell: -solved.value(naive.play(board, cell)) for cell in solved.moves(board)}
        assert row["move_values"] == [after.get(cell) for cell in range(game.n_cells)]
    classes = {row["position"]: row["symmetry_class"] for row in rows}
    for text in list(classes)[::20]:
        position = Position.parse(text, game)
        images = {str(transform(position, permutation)) for permutation in symmetries(game)}
        assert classes[text] in images and {classes[image] for image in images} == {classes[text]}


@pytest.mark.parametrize("game", [TICTACTOE, MISERE], ids=repr)
def test_game_values_equal_naive_recursion(game, tmp_path):
    write_dataset(game, tmp_path, games=60)
    rows, solved, n_regrets = rows_of(tmp_path, "games"), twin(game), 0
    for row in rows:
        record, board = GameRecord.parse(row["record"], game), solved.empty
        assert record.is_over and row["result"] == record.value("X") and row["cells"] == list(record.cells)
        for value, regret, cell in zip(row["values"], row["regrets"], record.cells, strict=True):
            assert value == solved.value(board)
            board = naive.play(board, cell)
            assert regret == value + solved.value(board)
            n_regrets += regret > 0
    assert n_regrets and len({row["x"] for row in rows}) == len({row["o"] for row in rows}) == 4


@pytest.mark.slow
def test_players_can_be_named_and_seed_determines_bytes(tmp_path):
    players = {"strong": "minimax:prefer=fast", "weak": "random"}
    for name, seed, games in (("a", 1, 20), ("b", 1, 20), ("c", 2, 20), ("d", 1, 30)):
        write_dataset("tictactoe-v0", tmp_path / name, games=games, players=players, seed=seed)
    a, b, c = ((tmp_path / name / "games.parquet").read_bytes() for name in "abc")
    assert a == b != c
    rows = rows_of(tmp_path / "a", "games")
    assert rows == rows_of(tmp_path / "d", "games")[:20]
    assert {row["x"] for row in rows} == set(players)
    assert all(regret == 0 for row in rows if row["x"] == "strong" for regret in row["regrets"][::2])


def test_card_explains_files(tmp_path):
    write_dataset("mnk-v0:m=3,n=2,k=2", tmp_path, games=5)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert card.startswith("---\nlicense: mit\nconfigs:\n- config_name: positions\n")
    assert f"{len(rows_of(tmp_path, 'positions')):,} rows" in card and "5 games between" in card
    for name in ("positions", "games"):
        columns = parquet.read_schema(tmp_path / f"{name}.parquet").names
        assert all(f"| `{column}` |" in card for column in columns)


@pytest.mark.parametrize(
    ("game", "options", "error", "message"),
    [
        ("qubic-v0", {}, GameTooLargeError, "18 cells"),
        ("tictactoe-v0", {"games": 0}, ParameterError, "games=0: expected"),
        ("tictactoe-v0", {"seed": -1}, ParameterError, "seed=-1: expected"),
    ],
)
def test_refused_call_writes_nothing(game, options, error, message, tmp_path):
    with pytest.raises(error, match=message):
        write_dataset(game, tmp_path / "data", **options)
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_square_game_is_written_completely(tmp_path):
    write_dataset(get_game("square-v0"), tmp_path, games=10)
    with parquet.ParquetFile(tmp_path / "positions.parquet") as file:
        first = file.read_row_group(0).to_pylist()[0]
        assert 0 < file.metadata.num_rows < reference.ENUMERABLE["square-v0"][0]
    assert (first["value"], first["best_cells"], first["distance"]) == (0, list(range(16)), 16)
