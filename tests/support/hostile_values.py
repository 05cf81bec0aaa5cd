"""Values that nobody should give to a function, and that somebody does: each made anew for every use."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from ttt_env import Position, get_game

OTHER = get_game("mnk-v0", m=2, n=2, k=2)
BAD_ACTIONS: list[Any] = [  # of four environments
    np.zeros(3, int),
    np.zeros((4, 1), int),
    np.zeros(4),
    np.zeros(4, bool),
    np.array([0, 0, 0, 9]),
    np.array([0, -1, 0, 0], np.int8),
    np.array([0, 0, 2**63, 0], np.uint64),
    [0, 1, True, 3],
    [0, 1, 2, 3.0],
    [0, 1, 2, None],
    [[0], [1, 2], [3], [4]],
    3,
    None,
]


class HostileError(Exception):
    """Raised by the methods of `Raising`."""


def _raise(*arguments: object) -> Any:
    raise HostileError


class Raising:
    """An object all of whose special methods raise an error."""

    __eq__ = __hash__ = __str__ = __repr__ = __len__ = __iter__ = __bool__ = __float__ = __int__ = _raise  # type: ignore[assignment]
    __index__ = __getitem__ = __contains__ = __lt__ = __add__ = __array__ = __format__ = __fspath__ = _raise  # type: ignore[assignment]


def raising(name: str) -> Any:
    """An object one of whose special methods raises an error."""
    return type(f"Raising_{name}", (), {f"__{name}__": _raise})()


def without_end() -> Iterator[int]:
    while True:
        yield 4


def _cyclic() -> list[Any]:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    return cyclic


@cache
def _deep() -> list[Any]:
    """Made once, as it takes longer than all others together; each use has a list of its own around it."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


class Subclass(str):
    """A text that is not quite one."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


HOSTILE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "0": lambda: 0,
    "-1": lambda: -1,
    "9": lambda: 9,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "2**64": lambda: 2**64,
    "10**5000": lambda: 10**5000,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "4.5": lambda: 4.5,
    "complex": lambda: 4j,
    "fraction": lambda: Fraction(1, 3),
    "empty text": lambda: "",
    "space": lambda: " ",
    "NUL": lambda: "\0",
    "surrogate": lambda: "\ud800",
    "digit": lambda: "4",
    "long text": lambda: "a" * 100_000,
    "brackets": lambda: "(" * 10_000,
    "colons": lambda: ":" * 5_000,
    "text that equals all": lambda: Subclass("x"),
    "bytes": lambda: b"tictactoe-v0",
    "bytearray": lambda: bytearray(b"4"),
    "memoryview": lambda: memoryview(b"4444"),
    "empty list": lambda: [],
    "list": lambda: [4],
    "list of texts": lambda: ["random", "minmax"],
    "ragged": lambda: [[4], 1],
    "cyclic": _cyclic,
    "deep": lambda: [_deep()],
    "empty tuple": lambda: (),
    "nested tuple": lambda: ((), (())),
    "set": lambda: {4},
    "dict": lambda: {"a": 4},
    "empty dict": lambda: {},
    "dict of all": lambda: {None: None, 4: 4, (): ()},
    "range": lambda: range(10**12),
    "slice": lambda: slice(None),
    "ellipsis": lambda: ...,
    "generator": lambda: (cell for cell in range(3)),
    "endless generator": without_end,
    "lambda": lambda: lambda: 4,
    "lambda of all": lambda: lambda *arguments, **options: None,
    "lambda that raises": lambda: _raise,
    "class": lambda: int,
    "own class": lambda: Raising,
    "module": lambda: math,
    "exception": lambda: ValueError("x"),
    "object": object,
    "raising": Raising,
    "raising __eq__": lambda: raising("eq"),
    "raising __hash__": lambda: raising("hash"),
    "raising __str__": lambda: raising("str"),
    "raising __repr__": lambda: raising("repr"),
    "raising __index__": lambda: raising("index"),
    "raising __len__": lambda: raising("len"),
    "raising __iter__": lambda: raising("iter"),
    "raising __bool__": lambda: raising("bool"),
    "raising __float__": lambda: raising("float"),
    "raising __getattr__": lambda: raising("getattr"),
    "scalar of int": lambda: np.int8(4),
    "scalar of uint": lambda: np.uint64(2**64 - 1),
    "scalar of float": lambda: np.float32(np.nan),
    "scalar of bool": lambda: np.True_,
    "scalar of text": lambda: np.str_("random"),
    "scalar of time": lambda: np.datetime64("NaT", "s"),
    "array of no dimension": lambda: np.array(4),
    "array of nothing": lambda: np.array([]),
    "array of one": lambda: np.array([4]),
    "array of int": lambda: np.arange(9),
    "array of uint": lambda: np.array([2**64 - 1], np.uint64),
    "array of float": lambda: np.full((3, 3), np.nan),
    "array of bool": lambda: np.ones(9, bool),
    "array of text": lambda: np.array(["random", "X"]),
    "array of objects": lambda: np.array([None, raising("eq")], object),
    "array of many dimensions": lambda: np.zeros((1,) * 20),
    "array of records": lambda: np.zeros(3, [("a", int)]),
    "read-only array": lambda: np.broadcast_to(np.int8(1), (10**6, 10**6)),
    "position": lambda: Position.parse("XO./.../..."),
    "position of another game": lambda: OTHER.start,
    "position that is over": lambda: Position.parse("XXX/OO./..."),
    "game": lambda: OTHER,
}
