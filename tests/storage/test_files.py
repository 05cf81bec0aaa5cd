"""Files as such: what is opened, and what is replaced."""

import errno
import json
import os

import pytest

import ttt_env
import ttt_env.datasets
from ttt_env.errors import GameError, ResultFileError
from ttt_env.storage import load_game, parse_toml
from ttt_env.storage.files import open_regular, write_atomically
from ttt_env.storage.locks import hold_lock


def write(content):
    return lambda file: file.write(content)


class TestAtomicWrites:
    def test_a_failing_writer_leaves_the_old_file(self, tmp_path):
        path = tmp_path / "file"
        write_atomically(path, write(b"old"))

        def fail(file):
            file.write(b"ne")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            write_atomically(path, fail)
        assert path.read_bytes() == b"old" and [*tmp_path.iterdir()] == [path]
        write_atomically(path, write(b"new"))
        assert path.read_bytes() == b"new" and [*tmp_path.iterdir()] == [path]

    def test_two_who_write_the_same_file_do_not_mix(self, tmp_path):
        path = tmp_path / "file"

        def meanwhile(file):
            file.write(b"first, ")
            write_atomically(path, write(b"second"))
            assert path.read_bytes() == b"second"
            file.write(b"and last")

        write_atomically(path, meanwhile)
        assert path.read_bytes() == b"first, and last"

    def test_folders_are_made_and_links_stay(self, tmp_path):
        (tmp_path / "link").symlink_to(tmp_path / "deep" / "er" / "file")
        write_atomically(tmp_path / "link", write(b"content"))
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "deep" / "er" / "file").read_bytes() == b"content"

    @pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
    def test_permissions_stay_and_a_read_only_file_is_not_replaced(self, tmp_path):
        path = tmp_path / "file"
        write_atomically(path, b"old")
        path.chmod(0o600)
        write_atomically(path, b"new")
        assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o400)
        with pytest.raises(PermissionError) as caught:
            write_atomically(path, b"newest")
        assert caught.value.filename == str(path)
        assert path.read_bytes() == b"new" and [*tmp_path.iterdir()] == [path]

    def test_what_cannot_be_written_is_named(self, tmp_path):
        (tmp_path / "file").touch()
        for path in (tmp_path, tmp_path / "file" / "below"):
            with pytest.raises(OSError) as caught:
                write_atomically(path, write(b""))
            assert caught.value.filename == str(path) and str(caught.value).endswith(f": {str(path)!r}")
        with pytest.raises(OSError, match="null") as caught:
            write_atomically(f"{tmp_path}/a\0b", write(b""))
        assert caught.value.filename == f"{tmp_path}/a\0b"

    @pytest.mark.parametrize(
        "error",
        [OSError("no space"), OSError(errno.ENOSPC, "no space"), OSError(1, "no space", "a", None, "b")],
    )
    def test_the_error_of_a_write_says_why_and_names_the_file_alone(self, error, tmp_path):
        def fail(file):
            raise error

        with pytest.raises(OSError, match=r"\] no space: '[^']*file'$"):
            write_atomically(tmp_path / "file", fail)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
    def test_a_pipe_is_written_to_and_stays(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        write_atomically(tmp_path / "pipe", write(b"content"))
        assert os.read(reader, 100) == b"content" and (tmp_path / "pipe").is_fifo()
        os.close(reader)


class TestOpened:
    def test_a_file(self, tmp_path):
        (tmp_path / "file").write_bytes(b"content")
        (tmp_path / "link").symlink_to("file")
        for name in ("file", "link"):
            with open_regular(tmp_path / name) as file:
                assert file.read() == b"content"

    def test_what_is_none(self, tmp_path):
        with pytest.raises(OSError, match="it is a folder"):
            open_regular(tmp_path)
        for path in (tmp_path / "missing", f"{tmp_path}/a\0b", tmp_path / ("long" * 1000)):
            with pytest.raises(OSError):
                open_regular(path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
    def test_a_pipe_would_never_end(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="a pipe or a device"):
            open_regular(tmp_path / "pipe")
        with pytest.raises(OSError, match="a pipe or a device"):
            open_regular(os.devnull)


@pytest.mark.parametrize(
    "text", ["a = ", "a = " + "1" * 5000, "a = " + "[" * 100_000, b"a = '\xff'"], ids=len
)
def test_text_that_is_no_toml(text):
    with pytest.raises(ResultFileError, match="it is not TOML: "):
        parse_toml(text)
    assert parse_toml("a = [1]") == parse_toml(b"a = [1]") == {"a": [1]}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"format": "ttt_env game 2"}, "its format is 'ttt_env game 2', expected 'ttt_env game 1'"),
        ({"miser": True}, "miser.*misere"),
    ],
)
def test_a_game_file_that_says_more_than_is_known_here_is_refused(more, told, tmp_path):
    path = tmp_path / "game.json"
    path.write_text(json.dumps({"name": "x", "shape": [2, 2], "winning_sets": [[0, 1]]} | more))
    with pytest.raises(GameError, match=told):
        load_game(path)


@pytest.mark.parametrize(
    "name", ['"name": "x", "name": "y"', '"name": "x", "size": NaN', "[" * 100_000], ids=len
)
def test_a_game_file_is_read_as_all_json_is(name, tmp_path):
    path = tmp_path / "game.json"
    path.write_text(f'{{{name}, "shape": [2, 2], "winning_sets": [[0, 1]]}}')
    with pytest.raises(GameError, match="is not a game file: "):
        load_game(path)


@pytest.mark.skipif(os.name != "posix", reason="there are no locks here")
class TestReserved:
    def test_one_process_at_a_time_writes_there(self, tmp_path):
        path = tmp_path / "new" / "mine.zip"
        with hold_lock(path), hold_lock(tmp_path / "new" / "other.zip"):
            with (
                pytest.raises(ResultFileError, match=r"mine\.zip: another run is writing to it"),
                hold_lock(path),
            ):
                pass
        with hold_lock(path):
            pass
        assert not list(path.parent.iterdir())

    def test_an_error_inside_ends_it(self, tmp_path):
        with pytest.raises(BlockingIOError), hold_lock(tmp_path / "a"):
            raise BlockingIOError
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("job", ["training", "data set"])
    def test_a_second_job_is_refused_and_harms_nothing(self, job, tmp_path):
        if job == "data set":
            pytest.importorskip("pyarrow")

        def run():
            if job == "training":
                ttt_env.train("tictactoe-v0", "q-learning", steps=500, until="budget", out=tmp_path / "out")
            else:
                ttt_env.datasets.write_dataset("mnk-v0:m=2,n=2,k=2", tmp_path / "out", games=1)

        with (
            hold_lock(tmp_path / "out"),
            pytest.raises(ResultFileError, match="another run is writing to it"),
        ):
            run()
        assert not list(tmp_path.iterdir())
        run()
        assert (tmp_path / "out").exists() and not list(tmp_path.glob(".*"))
