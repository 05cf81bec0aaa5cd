"""Values that nobody should give to a function, and that somebody does: each made anew for every use."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from ttt_env import Position, get_game

OTHER = get_game("mnk-v0", m=2, n=2, k=2)
BAD_ACTIONS: list[Any] = [  # of four environments
    *(np.zeros(3, int), np.zeros((4, 1), int), np.zeros(4), np.zeros(4, bool), np.array([0, 0, 0, 9])),
    *(np.array([0, -1, 0, 0], np.int8), np.array([0, 0, 2**63, 0], np.uint64)),
    *([0, 1, True, 3], [0, 1, 2, 3.0], [0, 1, 2, None], [[0], [1, 2], [3], [4]], 3, None),
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


IMMUTABLE: list[Any] = [
    *(None, True, False, 0, -1, 9, 2**31, 2**63, 2**64, 10**5000, math.nan, math.inf, -math.inf, 4.5, 4j),
    *(Fraction(1, 3), "", " ", "\0", "\ud800", "4", "a" * 100_000, "(" * 10_000, ":" * 5_000, Subclass("x")),
    *(b"tictactoe-v0", (), ((), ()), range(10**12), slice(None), ..., int, Raising, math, object()),
    *(np.int8(4), np.uint64(2**64 - 1), np.float32(np.nan), np.True_, np.str_("random")),
    *(np.datetime64("NaT", "s"), np.broadcast_to(np.int8(1), (10**6, 10**6)), OTHER, OTHER.start),
    *(Position.parse("XO./.../..."), Position.parse("XXX/OO./...")),
    *(lambda: 4, lambda *arguments, **options: None, _raise, Raising()),
    *map(raising, ("eq", "hash", "str", "repr", "index", "len", "iter", "bool", "float", "getattr")),
]
MUTABLE: list[Callable[[], Any]] = [
    *(lambda: bytearray(b"4"), lambda: memoryview(b"4444"), lambda: {4}, lambda: {"a": 4}, lambda: {}),
    *(lambda: {None: None, 4: 4, (): ()}, lambda: (cell for cell in range(3)), without_end),
    *(lambda: [], lambda: [4], lambda: ["random", "minmax"], lambda: [[4], 1], _cyclic, lambda: [_deep()]),
    *(lambda: np.array(4), lambda: np.array([]), lambda: np.array([4]), lambda: np.arange(9)),
    *(lambda: np.array([2**64 - 1], np.uint64), lambda: np.full((3, 3), np.nan), lambda: np.ones(9, bool)),
    *(lambda: np.array(["random", "X"]), lambda: np.array([None, raising("eq")], object)),
    *(lambda: np.zeros((1,) * 20), lambda: np.zeros(3, [("a", int)]), lambda: ValueError("x")),
]
HOSTILE: dict[str, Callable[[], Any]] = {
    f"{type(make()).__name__} {number}": make
    for number, make in enumerate([*(partial(lambda value: value, each) for each in IMMUTABLE), *MUTABLE])
}
