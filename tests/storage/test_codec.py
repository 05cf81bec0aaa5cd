"""The codec of results: dataclasses round-trip, and errors name the invalid entry."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import pytest

from tests.support.games import LOPSIDED
from ttt_env import Boards, Game, GameRecord, Position
from ttt_env.errors import FileError
from ttt_env.storage import codec
from ttt_env.storage.codec import Saved

START = LOPSIDED.start


class Pair(NamedTuple):
    number: int
    share: float


@dataclass(frozen=True)
class Inner:
    flag: bool
    word: Literal["one", "two"]


@dataclass(frozen=True)
class Everything(Saved):
    """A result with a field of each type; the game is not the first field."""

    FORMAT = "ttt_env everything 1"
    DERIVED = ("double",)

    position: Position
    game: Game
    records: dict[str, GameRecord | None]
    pairs: tuple[Pair, ...]
    ends: tuple[int, str]
    inner: Inner
    listed: list[int]
    perhaps: float | None = None
    held: object = field(default=None, metadata={"saved": False})

    @property
    def double(self) -> int:
        return 2 * self.ends[0]


WHOLE = Everything(
    START.play(3),
    LOPSIDED,
    {"X": GameRecord(LOPSIDED, (3, 0)), "O": None},
    (Pair(1, 0.5), Pair(2, 1.0)),
    (7, "é\n"),
    Inner(True, "two"),
    [4, 5],
    held="not in the file",
)


def with_value(data, *names, to):
    """A copy of the data with another value at the place given by `names`."""
    if not names:
        return to
    copy = data.copy()
    copy[names[0]] = with_value(copy[names[0]], *names[1:], to=to)
    return copy


def test_result_round_trips_through_json():
    again = Everything.from_json(WHOLE.to_json())
    assert again == Everything(*(getattr(WHOLE, name) for name in list(WHOLE.__dict__)[:-1]))
    assert again.held is None and isinstance(again.pairs[0], Pair) and isinstance(again.inner, Inner)
    assert WHOLE.to_dict()["double"] == 14 and "held" not in WHOLE.to_dict()


@pytest.mark.parametrize(
    ("names", "value", "message"),
    [
        (["inner", "flag"], 1, r"inner\.flag: 1, expected a value of type bool"),
        (["inner", "word"], "three", r"inner\.word: 'three', expected one of one, two"),
        (["inner", "word"], ["one"], r"inner\.word: \['one'\], expected one of one, two"),
        (["inner"], [True, "one"], "inner: .*, expected an object with entries"),
        (["ends"], [7, "a", 8], "ends: .*, expected a list of 2"),
        (["ends"], [7], "ends: .*, expected a list of 2"),
        (["ends", 0], True, r"ends\[0\]: True, expected a value of type int"),
        (["ends", 0], 7.0, r"ends\[0\]: 7\.0, expected a value of type int"),
        (["ends", 1], None, r"ends\[1\]: None, expected a value of type str"),
        (["pairs"], "12", "pairs: '12', expected a list"),
        (["pairs", 1], [2, 1.0], r"pairs\[1\]: .*, expected an object with entries"),
        (["pairs", 1, "share"], float("nan"), r"pairs\[1\]\.share: nan, expected a value of type float"),
        (["pairs", 1, "share"], True, r"pairs\[1\]\.share: True, expected a value of type float"),
        (["listed"], {"4": 5}, "listed: .*, expected a list"),
        (["listed", 1], "5", r"listed\[1\]: '5', expected a value of type int"),
        (["perhaps"], "1", "perhaps: '1', expected a value of type float"),
        (["records"], [], r"records: \[\], expected an object with entries"),
        (["records", "X"], 3, r"records\.X: 3, expected "),
        (["records", "X"], "tictactoe-v0: 0 1", r"records\.X: "),
        (["position"], "XX/../..", "position: "),
        (["game"], {}, "game: "),
        (["game"], None, "game: "),
    ],
)
def test_wrong_type_error_names_entry(names, value, message):
    with pytest.raises(FileError, match=f"this is not a saved Everything: {message}"):
        Everything.from_dict(with_value(WHOLE.to_dict(), *names, to=value))


def test_missing_entries_are_named_and_unknown_ones_ignored():
    data = WHOLE.to_dict()
    for name in data.keys() - {"format", "double"}:
        with pytest.raises(FileError, match=f"this is not a saved Everything: {name}: it is missing"):
            Everything.from_dict({key: value for key, value in data.items() if key != name})
    lacking = with_value(data, "pairs", 0, to={"number": 1})
    with pytest.raises(FileError, match=r"pairs\[0\]\.share: it is missing"):
        Everything.from_dict(lacking)
    more = {**data, "tomorrow": 3, "inner": {**data["inner"], "more": []}}
    assert Everything.from_dict(more) == Everything.from_dict(data)


@pytest.mark.parametrize("data", [None, [], "text", {}, {"format": "ttt_env everything 2"}], ids=repr)
def test_data_of_other_format_is_refused(data):
    with pytest.raises(FileError, match="its format is not 'ttt_env everything 1'"):
        Everything.from_dict(data)


def test_error_names_invalid_file(tmp_path):
    path = tmp_path / "wrong.json"
    for text in ("{", "[1]", WHOLE.to_json().replace("true", "1")):
        path.write_text(text, "utf-8")
        with pytest.raises(FileError, match=r"wrong\.json: this is not a saved Everything: "):
            Everything.load(path)
    with pytest.raises(FileError, match=r"no\.json cannot be read"):
        Everything.load(tmp_path / "no.json")


def test_long_lists_of_positions_are_truncated(monkeypatch):
    monkeypatch.setattr(codec, "MOST_LISTED", 2)
    boards = Boards.of([START.play(cell) for cell in range(3)])
    assert codec.encode_value(boards) == [str(START.play(0)), str(START.play(1))]
    assert list(codec.decode_value(Boards, codec.encode_value(boards), LOPSIDED)) == list(boards)[:2]
    assert not len(codec.decode_value(Boards, [], LOPSIDED))
