"""Games enumerated into files: the values of `solve`, and the same files however the work is cut or ended."""

import copy
import os
import signal
import subprocess
import sys
import time
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support import naive
from tests.support.games import LARGER_LOPSIDED
from tests.support.marks import slow, slow_but_the_first
from ttt_env import Solution, enumerate_positions
from ttt_env.analysis.induction import Values
from ttt_env.analysis.layers import reachable
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyFileError, ResultFileError
from ttt_env.workers import Workers

SMALL = ["tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3", "mnk-v0:m=1,n=1,k=1"]
SMALL += ["mnk-v0:m=3,n=2,k=2"]  # over before the board is full
LARGE = ["mnk-v0:m=5,n=3,k=3", "mnk-v0:m=4,n=4,k=3", "mnk-v0:m=4,n=4,k=4", "mnk-v0:m=4,n=4,k=4,misere=true"]
LARGE += ["square-v0"]
NO_SETS_SHARE_A_CELL = ttt_env.Game("apart", (3, 3), [(0, 1), (2, 3), (4, 5, 6)], misere=True)


def positions_by_ply(game):
    return naive.positions_by_ply(game.n_cells, game.winning_sets)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.glob("ply-*")}


@pytest.mark.parametrize("game", [*SMALL, LARGER_LOPSIDED, NO_SETS_SHARE_A_CELL, *map(slow, LARGE)], ids=str)
def test_every_value_and_count_is_that_of_solve(game, tmp_path):
    game = ttt_env.get_game(game)
    enumeration, solution = enumerate_positions(game, tmp_path), ttt_env.solve(game)
    values = Solution.load(tmp_path, game).values.layers
    assert enumeration.value == solution.value
    assert len(values) == game.n_cells + 1
    for ply, slots in enumerate(values):
        solved = solution.values.layers[ply] if ply < len(solution.values.layers) else np.zeros_like(slots)
        np.testing.assert_array_equal(slots, solved)
    if game.n_cells > 15:
        return
    counted, layers = enumeration.plies, reachable(game)
    for ply, layer in zip(counted, layers, strict=False):
        to_play = values[layer.ply][layer.open]
        assert [ply.won, ply.drawn, ply.lost] == [np.count_nonzero(to_play == value) for value in (1, 0, -1)]
        assert (ply.ended, ply.full, ply.positions) == (len(layer.won), len(layer.drawn), len(layer))
        assert ply.placements == layer.grid.n_slots
    assert all(ply.positions == 0 for ply in counted[len(layers) :])
    assert [ply.positions for ply in counted] == positions_by_ply(game)


@pytest.mark.parametrize("game", slow_but_the_first(reference.ENUMERABLE | reference.FILED))
def test_positions_by_inclusion(game):
    expected = (reference.ENUMERABLE | reference.FILED)[game][0]
    assert sum(positions_by_ply(ttt_env.get_game(game))) == expected


def test_a_folder_is_a_solution(tmp_path):
    enumerate_positions("mnk-v0:m=4,n=3,k=3", tmp_path)
    solved = ttt_env.solve("mnk-v0:m=4,n=3,k=3")
    loaded = Solution.load(tmp_path, solved.game)
    for layer in reachable(solved.game):
        boards = layer.boards(layer.open)
        np.testing.assert_array_equal(loaded.values.q(boards), solved.values.q(boards))
    position = ttt_env.Position.parse("XO../.X../....", solved.game)
    assert loaded.best_cells(position) == solved.best_cells(position)
    assert loaded.value_of(position) == solved.value_of(position)
    assert ttt_env.certify(loaded.policy()).unbeatable
    loaded.save(tmp_path / "base.npz")
    assert Solution.load(tmp_path / "base.npz", solved.game).value == 1


@pytest.mark.parametrize(
    ("game", "chunk", "workers"),
    # Every row by itself; none alone.
    [("mnk-v0:m=3,n=2,k=2", 1, None), slow("mnk-v0:m=4,n=3,k=3", 500, 2)],
    ids=["rows", "workers"],
)
def test_the_same_files_however_the_work_is_cut(game, chunk, workers, tmp_path):
    whole = enumerate_positions(game, tmp_path / "whole")
    cut = enumerate_positions(game, tmp_path / "cut", chunk=chunk, workers=workers)
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")
    assert cut.positions == whole.positions
    assert sum(share.placements for share in cut.workers) == sum(share.placements for share in whole.workers)
    assert sum(share.chunks for share in cut.workers) > len(whole.plies)


class Stopped(Exception):
    pass


def stop_after(n_tasks):
    def progress(n_done, _):
        if n_done >= n_tasks:
            raise Stopped

    return progress


@pytest.mark.parametrize(
    ("game", "chunk", "n_tasks"),
    [("tictactoe-v0", 50, 75), *(slow("mnk-v0:m=4,n=3,k=3", 300, n_tasks) for n_tasks in (1, 150, 350))],
)
def test_what_was_ended_early_goes_on(game, chunk, n_tasks, tmp_path):
    enumerate_positions(game, tmp_path / "whole")
    with pytest.raises(Stopped):
        enumerate_positions(game, tmp_path / "part", chunk=chunk, progress=stop_after(n_tasks))
    with pytest.raises(PolicyFileError, match="no whole enumeration"):
        Solution.load(tmp_path / "part", game)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "part").glob("ply-??.npy")}
    told = []
    enumerate_positions(game, tmp_path / "part", chunk=chunk, progress=lambda *done: told.append(done))
    assert min(told)[0] >= n_tasks - 1
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    assert files_of(tmp_path / "part") == files_of(tmp_path / "whole")


def test_a_folder_that_is_another_one_for_the_workers(tmp_path):
    def lose(n_done, _):
        if n_done:
            next(tmp_path.glob("*.npz")).unlink()

    with pytest.raises(ResultFileError, match="all machines need the same folder"):
        enumerate_positions("tictactoe-v0", tmp_path, progress=lose)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_process_that_is_killed_loses_no_whole_chunk(tmp_path):
    game, part = "mnk-v0:m=4,n=4,k=4", tmp_path / "part"
    statement = f"import ttt_env; ttt_env.enumerate_positions({game!r}, {str(part)!r}, chunk=20_000)"
    process = subprocess.Popen([sys.executable, "-c", statement])
    while process.poll() is None and len(list(part.glob("ply-1?.rows-*"))) < 20:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (part / "ply-00.npy").exists()
    enumerate_positions(game, part, chunk=20_000)
    enumerate_positions(game, tmp_path / "whole")
    assert files_of(part) == files_of(tmp_path / "whole")


def test_results_are_written_down_and_read_back(tmp_path):
    enumeration = enumerate_positions("tictactoe-v0", tmp_path)
    assert [ply.positions for ply in enumeration.plies] == reference.POSITIONS_BY_PLY
    assert enumeration.positions == reference.POSITIONS
    assert sum(ply.ended + ply.full for ply in enumeration.plies) == reference.FINISHED
    assert ttt_env.Enumeration.load(tmp_path / "enumeration.json") == enumeration
    assert "5,478 positions. On the empty board X draws." in str(enumeration)
    assert all(share.worker in str(enumeration) for share in enumeration.workers)
    assert all(share.seconds > 0 for share in enumeration.workers)
    with pytest.MonkeyPatch.context() as patch:  # a whole one is not computed again
        patch.setattr(Workers, "run", lambda *_, **__: pytest.fail("it was computed again"))
        assert enumerate_positions("tictactoe-v0", tmp_path) == enumeration


def test_another_game(tmp_path):
    with pytest.raises(Stopped):  # nothing of it is whole yet
        enumerate_positions("square-v0:n=3", tmp_path, progress=stop_after(0))
    with pytest.raises(ResultFileError, match="enumeration of square-v0:n=3, not of tictactoe-v0"):
        enumerate_positions("tictactoe-v0", tmp_path)
    with pytest.raises(PolicyFileError, match="enumeration of square-v0:n=3, not of tictactoe-v0"):
        Solution.load(tmp_path, "tictactoe-v0")


def test_games_that_are_too_large(tmp_path):
    with pytest.raises(GameTooLargeError, match=r"has 25 cells.*21 cells are the limit"):
        enumerate_positions("mnk-v0:m=5,n=5,k=4", tmp_path / "none")
    assert not (tmp_path / "none").exists()
    game = ttt_env.get_game("mnk-v0:m=5,n=4,k=4")
    solution = Solution(game, Values(game, []))
    with pytest.raises(GameTooLargeError, match="too many for a tablebase"):
        solution.save(tmp_path / "base.npz")


@pytest.mark.parametrize("change", [{"chunk": 0}, {"chunk": 1.5}, {"workers": 0}, {"backend": "threads"}])
def test_parameters_that_are_none(change, tmp_path):
    with pytest.raises(ParameterError, match=next(iter(change))):
        enumerate_positions("tictactoe-v0", tmp_path, **change)


def test_damaged_files(tmp_path):
    enumerate_positions("tictactoe-v0", tmp_path)
    layer = tmp_path / "ply-05.npy"
    for content in (b"", b"no array"):
        layer.write_bytes(content)
        with pytest.raises(PolicyFileError, match=r"ply-05\.npy"):
            Solution.load(tmp_path, "tictactoe-v0")
    np.save(layer, np.zeros(7))
    with pytest.raises(PolicyFileError, match=r"ply-05\.npy"):
        Solution.load(tmp_path, "tictactoe-v0")


@pytest.mark.parametrize(("ply", "value"), [(0, 7), (0, -128), (0, 0), (3, 2), (5, -1)])
def test_values_that_are_not_those_of_the_counts(ply, value, tmp_path):
    game, path = "mnk-v0:m=3,n=2,k=2", tmp_path / f"ply-{ply:02}.npy"
    enumerate_positions(game, tmp_path)
    values = np.load(path)
    values[0] = value
    np.save(path, values)
    told = rf"{path.name} has other values than .*enumeration\.json counts"
    with pytest.raises(PolicyFileError, match=told):
        Solution.load(tmp_path, game)
    with pytest.raises(ResultFileError, match=told):
        enumerate_positions(game, tmp_path)


@pytest.fixture(scope="module")
def tictactoe(tmp_path_factory):
    return enumerate_positions("tictactoe-v0", tmp_path_factory.mktemp("tictactoe")).to_dict()


@pytest.mark.parametrize(
    ("ply", "counts", "told"),
    [
        (None, 10, r"plies: the first 10 are missing: the enumeration is unfinished"),
        (None, 1, r"plies: the first 1 are missing"),
        (0, {"drawn": 0, "won": 1}, "counts of 0 and 1 contradict"),
        (0, {"drawn": 0, "lost": 1}, "counts of 0 and 1 contradict"),
        (0, {"drawn": 0, "ended": 1}, r"plies\[0\]\.ended: 1, but no game is over before 5 moves"),
        (0, {"drawn": 0}, r"plies\[0\]\.positions: 0"),
        (1, {"drawn": 8}, "counts of 0 and 1 contradict"),
        (1, {"drawn": 0, "lost": 9}, "counts of 0 and 1 contradict"),
        (8, {"full": 1}, r"plies\[8\]\.full: 1, but boards are full after 9 moves"),
        (9, {"won": 1}, r"plies\[9\]\.full"),
    ],
)
def test_counts_that_contradict_each_other_or_the_rules(ply, counts, told, tictactoe):
    data = copy.deepcopy(tictactoe)
    if ply is None:
        del data["plies"][:counts]
    else:
        changed = data["plies"][ply]
        changed |= counts
        changed["positions"] = sum(changed[name] for name in ("won", "drawn", "lost", "ended", "full"))
    with pytest.raises(ResultFileError, match=told):
        ttt_env.Enumeration.from_dict(data)


@pytest.mark.parametrize(
    "changed",
    [{"values": np.full(50, 7, np.int8)}, {"tally": np.full(5, -1)}, {"share": np.array('{"worker": "a"}')},
     {"values": np.zeros(50)}, None],
    ids=str,
)  # fmt: skip
def test_a_damaged_chunk(changed, tmp_path):
    with pytest.raises(Stopped):
        enumerate_positions("tictactoe-v0", tmp_path, chunk=50, progress=stop_after(2))
    path = next(tmp_path.glob("*.npz"))
    if changed is None:
        path.write_bytes(b"no chunk")
    else:
        np.savez(path, **{**np.load(path), **changed})
    with pytest.raises(ResultFileError, match=r"ply-.*\.npz cannot be read.*remove it to go on"):
        enumerate_positions("tictactoe-v0", tmp_path, chunk=50)


@pytest.fixture
def folder():
    with TemporaryDirectory() as folder:  # pytest would keep gigabytes
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("game", reference.FILED)
def test_boards_that_only_files_hold(game, folder):
    enumeration = enumerate_positions(game, folder, workers=2)
    assert (enumeration.positions, enumeration.value) == reference.FILED[game]
    assert [ply.positions for ply in enumeration.plies] == positions_by_ply(enumeration.game)
    assert enumeration.value == ttt_env.prove(game).value
    solution, rng = Solution.load(folder, game), np.random.default_rng(0)
    for _ in range(30):
        position = ttt_env.random_position(enumeration.game, rng)
        assert solution.value_of(position) == ttt_env.prove(game, position).value
