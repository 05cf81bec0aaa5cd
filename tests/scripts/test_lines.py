"""Files of lines: changes are whole, and those of several runs are all kept."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from lines import change_lines, read_lines

from ttt_env.errors import FileError

pytest.importorskip("fcntl")


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
        with pytest.raises(FileError, match=rf"figures\.jsonl, line 2: {fault}"):
            change_lines(path, lambda _: [])
