"""Tablebases: solved games as files."""

import pickle

import numpy as np
import pytest

import ttt_env
from tests.support.games import LARGER_LOPSIDED, TREE, open_boards
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.solution import Solution
from ttt_env.analysis.tablebase import is_tablebase
from ttt_env.errors import GameTooLargeError, PolicyFileError

GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3", "mnk-v0:m=1,n=1,k=1"]
GAMES += ["mnk-v0:m=3,n=2,k=2"]  # This game is over before the board is full.


@pytest.mark.parametrize("game", [*GAMES, LARGER_LOPSIDED, TREE], ids=str)
def test_every_value_is_restored(game, tmp_path):
    game = ttt_env.get_game(game)
    solution = ttt_env.solve(game)
    solution.save(tmp_path / "base.npz")
    loaded = Solution.load(tmp_path / "base.npz", game)
    assert loaded.value == solution.value
    for layer in reachable(game):
        boards = layer.boards(np.concatenate([layer.open_slots, layer.won_slots, layer.drawn_slots]))
        np.testing.assert_array_equal(loaded.values.of(boards), solution.values.of(boards))
        to_play = layer.boards(layer.open_slots)
        np.testing.assert_array_equal(loaded.values.q(to_play), solution.values.q(to_play))


@pytest.mark.slow
def test_square_tablebase_is_small(tmp_path):
    game, path = ttt_env.get_game("square-v0"), tmp_path / "square.npz"
    solution = ttt_env.solve(game)
    solution.save(path)
    assert path.stat().st_size < 300_000  # The goal was 5 MB.
    loaded, rng = Solution.load(path, game), np.random.default_rng(0)
    for layer in reachable(game)[1:]:
        slots = np.concatenate([layer.open_slots, layer.won_slots, layer.drawn_slots])
        boards = layer.boards(rng.choice(slots, 2000))
        np.testing.assert_array_equal(loaded.values.of(boards), solution.values.of(boards))


@pytest.fixture
def saved_base(tmp_path):
    """The path of a saved tablebase of tic-tac-toe."""
    path = tmp_path / "base.npz"
    ttt_env.solve("tictactoe-v0").save(path)
    return path


def test_loaded_base_saves_unchanged(saved_base, tmp_path):
    Solution.load(saved_base, "tictactoe-v0").save(tmp_path / "again.npz")
    with np.load(saved_base) as one, np.load(tmp_path / "again.npz") as other:
        assert one.files == other.files
        assert all(np.array_equal(one[name], other[name]) for name in one.files)


def test_lookup_plays_from_tablebase(saved_base, tmp_path):
    agent = ttt_env.make_agent(f"lookup:{saved_base}")
    assert ttt_env.certify(agent).unbeatable
    assert len(ttt_env.certify(agent).blunders) == 0
    assert len(agent) > 765
    boards = open_boards(agent.game)
    minimax = ttt_env.make_agent("minimax").policies(boards)
    np.testing.assert_array_equal(agent.policies(boards), minimax)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(agent)).policies(boards), minimax)
    agent.save(tmp_path / "copy.npz")
    assert is_tablebase(tmp_path / "copy.npz")


def test_is_tablebase_recognises_tablebases(saved_base, tmp_path):
    ttt_env.make_agent("lookup").save(tmp_path / "policy.npz")
    (tmp_path / "text.npz").write_text("tablebase")
    np.save(tmp_path / "array.npy", np.zeros(3))
    assert is_tablebase(saved_base)
    for name in ("policy.npz", "text.npz", "array.npy", "missing.npz"):
        assert not is_tablebase(tmp_path / name)


def rewrite(path, **changes):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files} | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tablebase": None}, "it lacks tablebase"),
        ({"misere": None}, "it lacks misere"),
        ({"tablebase": np.zeros(7, np.uint8)}, "the wrong form"),
        ({"tablebase": np.zeros((3, 3), np.uint8)}, "the wrong form"),
        ({"shape": np.array([9])}, "other shape"),
        ({"misere": np.array(True)}, "other misere"),
    ],
)
def test_invalid_files_are_refused(saved_base, change, message):
    rewrite(saved_base, **change)
    with pytest.raises(PolicyFileError, match=message):
        Solution.load(saved_base, "tictactoe-v0")


@pytest.mark.parametrize("make", [lambda a: a.astype(np.int64), lambda a: np.full_like(a, 255)])
def test_invalid_values_are_refused(saved_base, make):
    with np.load(saved_base) as file:
        values = make(file["tablebase"])
    rewrite(saved_base, tablebase=values)
    with pytest.raises(PolicyFileError, match=r"has the wrong form|out of range"):
        ttt_env.make_agent(f"lookup:{saved_base}")


def test_other_game_and_missing_file_are_refused(saved_base, tmp_path):
    with pytest.raises(PolicyFileError, match="table of tictactoe-v0, not of square-v0"):
        Solution.load(saved_base, "square-v0")
    with pytest.raises(GameTooLargeError, match="64 cells, too many for a tablebase"):
        Solution.load(saved_base, "qubic-v0")
    with pytest.raises(PolicyFileError, match=r"none\.npz cannot be read"):
        Solution.load(tmp_path / "none.npz", "tictactoe-v0")
