"""Text files are decoded in any usual encoding."""

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ttt_env
from tests.support.games import LOPSIDED
from ttt_env.bots.plan import read_plan
from ttt_env.errors import FileError
from ttt_env.storage import load_game, parse_json, parse_toml, text_of
from ttt_env.storage.game_log import read_records

ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "UTF-8": str.encode,
    "UTF-8 with a mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16 LE": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16 BE": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
}
PLAN = """name = "é"
game = "tictactoe-v0"
[[entry]]
name = "a"
agent = "random"
[[entry]]
name = "b"
agent = "minimax"
"""


def readers_and_texts(folder: Path) -> dict[str, tuple[Callable[[Path], Any], str]]:
    """The reader and an example text of each kind of file."""
    certificate = ttt_env.certify("win-block", "mnk-v0:m=2,n=2,k=2")
    certificate.save(folder / "c.json")
    LOPSIDED.save(folder / "game.json")
    return {
        "a plan": (read_plan, PLAN),
        "a result": (ttt_env.Certificate.load, (folder / "c.json").read_text("utf-8")),
        "a game": (load_game, (folder / "game.json").read_text("utf-8")),
        "records": (read_records, "tictactoe-v0: 4 0 8\ntictactoe-v0: 0\n"),
    }


@pytest.mark.parametrize("kind", ["a plan", "a result", "a game", "records"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_file_is_read_in_any_usual_encoding(encoding: str, kind: str, tmp_path: Path) -> None:
    read, text = readers_and_texts(tmp_path)[kind]
    path = tmp_path / "file.toml"
    path.write_bytes(text.encode())
    expected = read(path)
    path.write_bytes(ENCODINGS[encoding](text))
    assert str(read(path)) == str(expected)


def test_other_bytes_are_refused() -> None:
    for parse in (parse_json, parse_toml):
        with pytest.raises(FileError):
            parse(b"a = '\xff'")
    assert text_of("\ufeffé") == text_of(codecs.BOM_UTF8 + "é".encode()) == "é"
