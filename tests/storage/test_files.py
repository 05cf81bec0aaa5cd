"""Files: opening and atomic writing."""

import errno
import json
import os

import pytest

from ttt_env.errors import FileError, GameError
from ttt_env.storage import load_game, parse_toml
from ttt_env.storage.files import open_regular, write_atomically


def writer_of(content):
    return lambda file: file.write(content)


class TestAtomicWrites:
    def test_failing_writer_keeps_old_file(self, tmp_path):
        path = tmp_path / "file"
        write_atomically(path, writer_of(b"old"))

        def fail(file):
            file.write(b"ne")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            write_atomically(path, fail)
        assert path.read_bytes() == b"old" and [*tmp_path.iterdir()] == [path]
        write_atomically(path, writer_of(b"new"))
        assert path.read_bytes() == b"new" and [*tmp_path.iterdir()] == [path]

    def test_concurrent_writes_do_not_mix(self, tmp_path):
        path = tmp_path / "file"

        def meanwhile(file):
            file.write(b"first, ")
            write_atomically(path, writer_of(b"second"))
            assert path.read_bytes() == b"second"
            file.write(b"and last")

        write_atomically(path, meanwhile)
        assert path.read_bytes() == b"first, and last"

    def test_folders_are_created_and_links_kept(self, tmp_path):
        (tmp_path / "link").symlink_to(tmp_path / "deep" / "er" / "file")
        write_atomically(tmp_path / "link", writer_of(b"content"))
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "deep" / "er" / "file").read_bytes() == b"content"

    @pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
    def test_permissions_are_kept_and_read_only_files_not_replaced(self, tmp_path):
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

    def test_unwritable_path_is_reported(self, tmp_path):
        (tmp_path / "file").touch()
        for path in (tmp_path, tmp_path / "file" / "below"):
            with pytest.raises(OSError) as caught:
                write_atomically(path, writer_of(b""))
            assert caught.value.filename == str(path) and str(caught.value).endswith(f": {str(path)!r}")
        with pytest.raises(OSError, match="null") as caught:
            write_atomically(f"{tmp_path}/a\0b", writer_of(b""))
        assert caught.value.filename == f"{tmp_path}/a\0b"

    @pytest.mark.parametrize(
        "error",
        [OSError("no space"), OSError(errno.ENOSPC, "no space"), OSError(1, "no space", "a", None, "b")],
    )
    def test_write_error_names_reason_and_target_file(self, error, tmp_path):
        def fail(file):
            raise error

        with pytest.raises(OSError, match=r"\] no space: '[^']*file'$"):
            write_atomically(tmp_path / "file", fail)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
    def test_pipe_is_written_and_kept(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        write_atomically(tmp_path / "pipe", writer_of(b"content"))
        assert os.read(reader, 100) == b"content" and (tmp_path / "pipe").is_fifo()
        os.close(reader)


class TestOpenRegular:
    def test_files_and_links_are_opened(self, tmp_path):
        (tmp_path / "file").write_bytes(b"content")
        (tmp_path / "link").symlink_to("file")
        for name in ("file", "link"):
            with open_regular(tmp_path / name) as file:
                assert file.read() == b"content"

    def test_folders_and_missing_files_are_refused(self, tmp_path):
        with pytest.raises(OSError, match="it is a folder"):
            open_regular(tmp_path)
        for path in (tmp_path / "missing", f"{tmp_path}/a\0b", tmp_path / ("long" * 1000)):
            with pytest.raises(OSError):
                open_regular(path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
    def test_pipes_and_devices_are_refused(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="a pipe or a device"):
            open_regular(tmp_path / "pipe")
        with pytest.raises(OSError, match="a pipe or a device"):
            open_regular(os.devnull)


@pytest.mark.parametrize(
    "text", ["a = ", "a = " + "1" * 5000, "a = " + "[" * 100_000, b"a = '\xff'"], ids=len
)
def test_invalid_toml_is_refused(text):
    with pytest.raises(FileError, match="it is not TOML: "):
        parse_toml(text)
    assert parse_toml("a = [1]") == parse_toml(b"a = [1]") == {"a": [1]}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"format": "ttt_env game 2"}, "its format is 'ttt_env game 2', expected 'ttt_env game 1'"),
        ({"miser": True}, "miser.*misere"),
    ],
)
def test_game_file_with_unknown_entries_is_refused(more, message, tmp_path):
    path = tmp_path / "game.json"
    path.write_text(json.dumps({"name": "x", "shape": [2, 2], "winning_sets": [[0, 1]]} | more))
    with pytest.raises(GameError, match=message):
        load_game(path)


@pytest.mark.parametrize(
    "name", ['"name": "x", "name": "y"', '"name": "x", "size": NaN', "[" * 100_000], ids=len
)
def test_game_file_is_parsed_as_strict_json(name, tmp_path):
    path = tmp_path / "game.json"
    path.write_text(f'{{{name}, "shape": [2, 2], "winning_sets": [[0, 1]]}}')
    with pytest.raises(GameError, match="is not a game file: "):
        load_game(path)
