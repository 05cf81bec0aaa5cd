"""Files of lines: they stay intact when the disk is full and have one writer at a time."""

import io
import json
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import ttt_env
from tests.support.faults import files_of_at_most
from tests.support.games import lowest
from ttt_env.errors import ResultFileError
from ttt_env.storage.line_file import LineFile, change_lines, read_lines

pytest.importorskip("resource")  # Windows also has no such locks.
LINES = [{"format": "ttt_env test 1", "of": "é\n"}, {"number": 2}, {"text": '": "'}, {"list": [1, {}]}]


def line_file(path):
    return LineFile(path, "ttt_env test", "is not a test")


@pytest.fixture
def path(tmp_path):
    file = line_file(tmp_path / "new" / "lines.jsonl")
    for line in LINES:
        file.add(line)
    file.release()
    return file.path


def python(code, *arguments, **options):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


class TestLines:
    def test_lines_round_trip_as_json(self, path):
        assert line_file(path).read(dict) == LINES
        assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == LINES

    def test_lines_are_appended_without_reading(self, path, tmp_path):
        line_file(path).add({"number": 5})
        assert line_file(path).read(dict) == [*LINES, {"number": 5}]
        assert line_file(tmp_path / "nothing.jsonl").read(dict) == []
        assert list(tmp_path.iterdir()) == [path.parent]

    def test_unfinished_line_is_overwritten(self, path):
        whole = path.read_bytes()
        for end in range(1, len(whole)):
            path.write_bytes(whole[:end])
            file = line_file(path)
            kept = file.read(dict)
            assert kept == LINES[: len(kept)] and len(kept) == whole[:end].count(b"\n")
            for line in LINES[len(kept) :]:
                file.add(line)
            file.release()
            assert path.read_bytes() == whole

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("[1]", "it is not an object"),
            ('{"a": NaN}', "it is not JSON: NaN"),
            ('{"a": 1', "it is not JSON"),
            ("", ""),
        ],
    )
    def test_invalid_lines_are_reported_by_number(self, line, message, path):
        path.write_text(f"{path.read_text('utf-8')}{line}\n", "utf-8")
        with pytest.raises(ResultFileError, match=rf"lines\.jsonl, line 5: {message}"):
            line_file(path).read(dict)

    def test_foreign_file_is_not_modified(self, tmp_path):
        path = tmp_path / "diary.txt"
        path.write_text("dear diary\n")
        for act in (lambda file: file.read(dict), LineFile.clear, lambda file: file.add({"a": 1})):
            with pytest.raises(ResultFileError, match=r"diary\.txt is not a test"):
                act(line_file(path))
        assert path.read_text() == "dear diary\n"


class TestFullDisk:
    @pytest.mark.parametrize("size", [0, 1, 50, 200, 341])
    def test_line_is_written_completely_or_not_at_all(self, size, tmp_path):
        """One line does not fit on the disk, and the next one fits again."""
        path = tmp_path / "lines.jsonl"
        file, missing = line_file(path), []
        with files_of_at_most(size):
            for number in range(9):
                try:
                    file.add({"format": "ttt_env test 1", "number": number})
                except ResultFileError as error:
                    assert "lines.jsonl cannot be written: File too large" in str(error)
                    missing.append(number)
                    break
        for number in range(missing[0] + 1, 9):
            file.add({"format": "ttt_env test 1", "number": number})
        file.release()
        due = [number for number in range(9) if number not in missing]
        assert [line["number"] for line in line_file(path).read(dict)] == due

    def test_certify_raises_and_can_be_resumed(self, tmp_path):
        path = tmp_path / "answers.jsonl"
        with files_of_at_most(10_000), pytest.raises(ResultFileError) as caught:
            ttt_env.certify(lowest, answers=path)
        assert "answers.jsonl cannot be written: File too large" in str(caught.value)
        assert path.read_bytes().endswith(b"}\n") and 9_000 < path.stat().st_size <= 10_000
        assert ttt_env.certify(lowest, answers=path).n_queries == ttt_env.certify(lowest).n_queries


WAITS = """
import sys
def waits(position):
    print("asked", flush=True)
    sys.stdin.readline()
    return position.legal_cells[0]
"""
HOLDING = f"""{WAITS}
import ttt_env
ttt_env.certify(waits, answers=sys.argv[1])
"""


class TestConcurrentRuns:
    def test_second_run_is_refused_and_first_completes(self, tmp_path, monkeypatch):
        path, here = tmp_path / "answers.jsonl", dict[str, object]()
        exec(WAITS, here)
        with python(HOLDING, path, stdin=subprocess.PIPE) as first:
            assert first.stdout.readline() == "asked\n"
            with pytest.raises(ResultFileError, match=r"answers\.jsonl: another run is writing to it"):
                ttt_env.certify(here["waits"], answers=path)
            first.stdin.write("\n" * 2000)
            first.stdin.close()
            first.stdout.read()
            assert first.wait(timeout=120) == 0, first.stderr.read()
        whole = path.read_bytes()
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n" * 20))  # Twenty positions are queried again.
        assert not ttt_env.certify(here["waits"], answers=path).unbeatable and path.read_bytes() == whole

    def test_lock_holds_within_process_until_release(self, path):
        first, second = line_file(path), line_file(path)
        first.add({"number": 5})
        with pytest.raises(ResultFileError, match="another run is writing to it"):
            second.add({"number": 6})
        first.release()
        second.add({"number": 6})
        second.release()
        assert first.reserve()  # The file holds more lines than `first` has read.
        assert first.read(dict) == [*LINES, {"number": 5}, {"number": 6}] and not first.reserve()

    def test_pickled_copy_has_no_lock_and_deletion_releases_it(self, path):
        first = line_file(path)
        first.reserve()
        with pytest.raises(ResultFileError, match="another run"):
            pickle.loads(pickle.dumps(first)).reserve()
        del first
        line_file(path).add({"number": 5})

    @pytest.mark.slow
    def test_finished_analysis_releases_lock(self, tmp_path):
        path = tmp_path / "answers.jsonl"
        for judge in (ttt_env.certify, ttt_env.exploitability, ttt_env.best_response):
            judge(lowest, answers=path)
        line_file(path).reserve()

        def failing(position):
            return lowest(position) if position.ply < 3 else 1 / 0

        with pytest.raises(ZeroDivisionError) as caught:
            ttt_env.certify(failing, answers=tmp_path / "failed.jsonl")
        line_file(tmp_path / "failed.jsonl").reserve()
        del caught  # The traceback references all objects involved.

    def test_answers_of_concurrent_run_are_used(self, tmp_path):
        asked, path = [], tmp_path / "answers.jsonl"

        def noting(position):
            asked.append(position)
            return lowest(position)

        def another_run(_):
            if not asked:  # This is before the first query and after the file was read.
                ttt_env.certify(noting, answers=path)

        assert ttt_env.certify(noting, answers=path, progress=another_run) == ttt_env.certify(lowest)
        assert len(asked) == len(set(asked)) > 0


def test_concurrent_changes_are_all_kept(tmp_path):
    """Runs of the leaderboard change lines in this way; locks also hold between threads."""

    def add(line):
        def with_line(lines):
            time.sleep(0.001)  # Without a lock, another thread would read the same lines now.
            return [*lines, line]

        change_lines(tmp_path / "lines.jsonl", with_line)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, [{"number": number} for number in range(40)]))
    assert sorted(line["number"] for line in read_lines(tmp_path / "lines.jsonl")) == list(range(40))


def test_pipes_and_devices_are_refused(tmp_path):
    (tmp_path / "lines").symlink_to(os.devnull)
    with pytest.raises(OSError, match="a pipe or a device"):
        read_lines(tmp_path / "lines")


def test_change_is_atomic(tmp_path):
    path = tmp_path / "new" / "figures.jsonl"
    assert read_lines(path) == []
    for line in ({"a": 1}, {"é": 2}):
        change_lines(path, lambda lines, line=line: [*lines, line])
    assert read_lines(path) == [{"a": 1}, {"é": 2}]
    whole = path.read_bytes()
    with pytest.raises(TypeError):
        change_lines(path, lambda lines: [*lines, {"no JSON": {1}}])
    assert path.read_bytes() == whole and list(path.parent.iterdir()) == [path]
    for text, fault in (("[1]", "it is not an object"), ("{", "it is not JSON")):
        path.write_text(f"{{}}\n{text}\n", "utf-8")
        with pytest.raises(ResultFileError, match=rf"figures\.jsonl, line 2: {fault}"):
            change_lines(path, lambda _: [])
