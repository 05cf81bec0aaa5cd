"""The log of played games: crashes, concurrent writers and invalid files."""

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ttt_env import Game, GameRecord, TttEnvError, make_agent
from ttt_env.errors import FileError, NotationError, ParameterError
from ttt_env.storage.game_log import GameLog, default_path

GAMES = [
    "tictactoe-v0: 4 0 8 2 6",
    "tictactoe-v0:",
    "tictactoe-v0:misere=true: 0 1 2",
    "mnk-v0:m=8,n=8,k=5: 63 0",
]


def parse_records(texts):
    return [GameRecord.parse(text) for text in texts]


@pytest.fixture
def log(tmp_path):
    with GameLog(tmp_path / "games.sqlite") as log:
        yield log


def test_added_games_are_read_by_game(log):
    for record in parse_records(GAMES):
        log.add(record, x="person", o="minimax:depth=2", source="here")
    assert len(log) == 4
    assert log.counts() == {"mnk-v0:m=8,n=8,k=5": 1, "tictactoe-v0": 2, "tictactoe-v0:misere=true": 1}
    assert log.records("tictactoe-v0") == parse_records(GAMES[:2])
    found = log.games("tictactoe-v0:misere=true")[0]
    assert found[:4] == (parse_records(GAMES)[2], "person", "minimax:depth=2", "here")
    assert found.time.endswith("+00:00")


def test_numbers_increase_across_reopening(log):
    record = GameRecord.parse(GAMES[0])
    assert [log.add(record), log.add(record)] == [1, 2]
    with GameLog(log.path) as again:
        assert again.add(record) == 3
    assert len(log) == 3


def test_user_defined_game_is_logged(log):
    ring = Game("ring", (6,), [(i, (i + 1) % 6, (i + 2) % 6) for i in range(6)])
    record = GameRecord(ring, (0, 3, 1))
    log.add(record)
    assert log.records(ring) == [record]
    shorter = Game("ring", (3,), [(0, 1, 2)])
    with pytest.raises(NotationError, match="ring: 0 3 1"):
        log.records(shorter)


def test_export_and_import_are_inverse(log, tmp_path):
    for record in parse_records(GAMES):
        log.add(record, x="person")
    assert log.export_text(tmp_path / "games.txt") == 4
    assert (tmp_path / "games.txt").read_text().splitlines() == GAMES
    with GameLog(tmp_path / "other.sqlite") as other:
        assert other.import_text(tmp_path / "games.txt") == 4
        assert other.records("tictactoe-v0") == log.records("tictactoe-v0")
        assert other.games("tictactoe-v0")[0][1:4] == (None, None, str(tmp_path / "games.txt"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("tictactoe-v0: 4 4", "is taken"),
        ("tictactoe-v0: 9", "0 to 8"),
        ("tictactoe-v0 4 0", "expected e.g."),
        ("tictacto-v0: 4", "did you mean tictactoe-v0"),
        ("mnk-v0:k=9: 4", "expected at most 5"),
    ],
)
def test_bad_line_is_reported_and_nothing_is_imported(log, tmp_path, line, reason):
    path = tmp_path / "bad.txt"
    path.write_text(f"{GAMES[0]}\n\n{line}\n")
    with pytest.raises(NotationError, match=f"bad.txt, line 3: .*{reason}"):
        log.import_text(path)
    assert len(log) == 0


def test_import_of_invalid_file_is_refused(log, tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("binary", "missing", "."):
        with pytest.raises(FileError, match=name):
            log.import_text(tmp_path / name)


def test_unregistered_games_are_exported(log, tmp_path):
    for name in ("ring", "a (ring"):
        log.add(GameRecord(Game(name, (3,), [(0, 2)]), (0, 1)))
    assert log.export_text(tmp_path / "games.txt") == 2
    assert (tmp_path / "games.txt").read_text() == "ring: 0 1\na (ring: 0 1\n"


def test_other_database_is_refused_unchanged(tmp_path):
    path = tmp_path / "wrong"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE games (id)")
    before = path.read_bytes()
    with pytest.raises(FileError, match=str(path)):
        GameLog(path)
    assert path.read_bytes() == before


def test_closed_log_raises(log):
    log.close()
    with pytest.raises(TttEnvError, match="closed"):
        log.add(GameRecord.parse(GAMES[0]))


def test_default_path_follows_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "mine"))
    assert default_path() == tmp_path / "mine"
    monkeypatch.delenv("TTT_ENV_GAMES")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with GameLog() as log:
        assert log.path == tmp_path / "ttt_env" / "games.sqlite"
        assert log.path.is_file()


def test_missing_home_folder_raises(monkeypatch):
    for name in ("TTT_ENV_GAMES", "XDG_DATA_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)  # This user is unknown to the system.
    with pytest.raises(FileError, match="TTT_ENV_GAMES"):
        default_path()


def test_uncreatable_folder_is_reported(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "file" / "games.sqlite"))
    with pytest.raises(FileError, match=r"file/games\.sqlite: .*file'"):
        GameLog()
    with pytest.raises(FileError, match=r"file/games\.sqlite"):
        make_agent("imitation")


def test_unwritable_export_path_is_reported(log, tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "games.txt"):
        with pytest.raises(FileError, match=f"{path} cannot be written"):
            log.export_text(path)


def test_threads_can_share_log(log):
    record = GameRecord.parse(GAMES[0])
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: log.add(record), range(200)))
    assert sorted(numbers) == list(range(1, 201))
    assert len(log) == 200


WRITER = """
import sys
import time
from ttt_env.storage.game_log import GameLog
from ttt_env import GameRecord
name, path, count = sys.argv[1:]
with GameLog(path) as log:
    for number in range(int(count)):
        log.add(GameRecord.parse(f"tictactoe-v0: {number % 9}"), x=f"{name} {number}")
        print(number, flush=True)
        time.sleep(0.01)  # SQLite's queue is unfair: writers without a pause starve the others
"""


def start_writer(name, path, count):
    command = [sys.executable, "-W", "error", "-c", WRITER, name, str(path), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_killed_writer_loses_no_acknowledged_games(tmp_path):
    """Three processes start at once without a file; one is killed while it writes."""
    path = tmp_path / "games.sqlite"
    endless = start_writer("a", path, 10**9)
    finite = {name: start_writer(name, path, 50) for name in "cd"}
    acknowledged = {name: process.communicate(timeout=300)[0] for name, process in finite.items()}
    endless.stdout.readline()
    endless.send_signal(signal.SIGKILL)
    acknowledged["a"] = "0\n" + endless.communicate()[0]
    assert [each.returncode for each in (endless, *finite.values())] == [-signal.SIGKILL, 0, 0]
    with GameLog(path) as log:
        written = {logged.x for logged in log.games("tictactoe-v0")}
        for name, lines in acknowledged.items():
            complete = [line for line in lines.splitlines(keepends=True) if line.endswith("\n")]
            missing = {f"{name} {line.strip()}" for line in complete} - written
            assert not missing
        assert len(acknowledged["c"].split()) == len(acknowledged["d"].split()) == 50
        assert log.add(GameRecord.parse(GAMES[0])) == len(log)


@pytest.mark.slow
def test_second_log_in_process_loses_no_games(tmp_path):
    """Opening and closing a file that SQLite has open drops the locks of the process on it."""
    path, record = tmp_path / "games.sqlite", GameRecord.parse("tictactoe-v0: 0 3 1 4 2")
    other = "import sys\nfrom ttt_env.storage.game_log import GameLog\n"
    other += "with GameLog(sys.argv[1]) as log: print(len(log))"

    def count_in_other_process():
        command = [sys.executable, "-c", other, str(path)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    with GameLog(path) as log:
        log.add(record)
        with GameLog(path):
            assert count_in_other_process() == 1
        for _ in range(3):
            log.add(record)
        assert count_in_other_process() == 4
    with GameLog(path) as log:
        assert len(log) == 4


@pytest.mark.parametrize("name", ["x", "o", "source"])
def test_names_of_players_must_be_text(name, log):
    with pytest.raises(ParameterError, match=f"{name}=b'abc' of a game log"):
        log.add(GameRecord.parse("tictactoe-v0: 0"), **{name: b"abc"})
    assert len(log) == 0


def test_log_itself_is_refused_for_import_and_export(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with GameLog("games.sqlite") as log:
        log.add(GameRecord.parse("tictactoe-v0: 0"))
        monkeypatch.chdir("elsewhere")
        (tmp_path / "link").symlink_to(tmp_path / "games.sqlite")
        for path in (tmp_path / "games.sqlite", "../games.sqlite", "../link"):
            for use in (log.export_text, log.import_text):
                with pytest.raises(FileError, match="is the game log itself"):
                    use(path)
        with pytest.raises(ParameterError, match="expected a GameRecord"):
            log.add("tictactoe-v0: 4")
        log.add(GameRecord.parse("tictactoe-v0: 1"))
    assert not list(Path().iterdir()) and len(GameLog("../games.sqlite")) == 2
