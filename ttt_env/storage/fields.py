"""JSON and TOML; JSON from files, read entry by entry: each has the right type, or an error names it."""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import isfinite
from numbers import Real
from typing import Any, Concatenate, ParamSpec, TypeVar

from ttt_env.errors import ParameterError, ResultFileError, TttEnvError, shown
from ttt_env.rules import Game, GameRecord, Position, as_integer, one_of
from ttt_env.rules.checks import BOOLEANS
from ttt_env.rules.sizes import TEXT_LETTERS

MOST = 1 << 62  # of a count
Read = TypeVar("Read")
Choice = TypeVar("Choice")
Rest = ParamSpec("Rest")


def parse_json(text: str | bytes) -> Any:
    """The value of JSON text.

    Raises `ResultFileError` for other text, for an object that has a key twice, and for NaN and Infinity,
    which JSON does not know.
    """
    try:
        return json.loads(text, object_pairs_hook=_without_twins, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ResultFileError(str(error)) from error


def parse_toml(text: str | bytes) -> dict[str, Any]:
    """The table of TOML text. Raises `ResultFileError` for other text."""
    try:
        return tomllib.loads(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as error:  # also for bytes that are no UTF-8, and for endless numbers
        raise ResultFileError(f"it is no TOML: {error}") from error


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        keys = [key for key, _ in pairs]
        twins = [key for key in entries if keys.count(key) > 1]
        raise ResultFileError(f"the key {shown(twins[0])} comes twice")
    return entries


def _no_number(name: str) -> None:
    raise ResultFileError(f"{name} is no number that JSON knows")


class Fields:
    """The entries of an object or a list in a file, read one by one. `name` is what errors call it.

    All methods raise `ResultFileError`, which names the entry, if it is missing or is not what it should be.
    """

    def __init__(self, data: object, name: str = "") -> None:
        self._name = name
        if isinstance(data, list | tuple):
            data = dict(enumerate(data))
        if not isinstance(data, Mapping):
            raise ResultFileError(f"{name or 'it'} is {shown(data)}, and no object with entries")
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def error(self, key: str | int, what: object) -> ResultFileError:
        """The error that says what is wrong with an entry."""
        return ResultFileError(f"{self._called(key)}: {what}")

    def _called(self, key: str | int) -> str:
        return f"{self._name}[{key}]" if isinstance(key, int) else f"{self._name}.{key}".lstrip(".")

    def value(self, key: str | int) -> Any:
        """An entry as it is, which is the caller's to check."""
        if key not in self._data:
            raise self.error(key, "it is missing")
        return self._data[key]

    def has(self, key: str | int) -> bool:
        """True if there is an entry with this key."""
        return key in self._data

    def is_null(self, key: str | int) -> bool:
        """True if an entry is null."""
        return self.value(key) is None

    def optional(
        self,
        read: Callable[Concatenate[str | int, Rest], Read],
        key: str | int,
        *rest: Rest.args,
        **named: Rest.kwargs,
    ) -> Read | None:
        """An entry as a method of this object reads it, None for null."""
        return None if self.is_null(key) else read(key, *rest, **named)

    def read(self, key: str | int, read: Callable[[Any], Read]) -> Read:
        """The result of `read` for an entry; any error that it raises for wrong data is told as one of it."""
        value = self.value(key)
        try:
            return read(value)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            told = str(error) if isinstance(error, TttEnvError) else f"{type(error).__name__}: {error}"
            raise self.error(key, told) from error

    def whole(self, read: Callable[[Any], Read]) -> Read:
        """The result of `read` for all entries; the errors that it raises name this object."""
        return Fields({self._name: self._data}).read(self._name, read)

    def integer(self, key: str | int, least: int = 0, most: int = MOST) -> int:
        """An integer from `least` to `most`; a number with a decimal point is none."""
        value = self.value(key)
        try:
            return as_integer(str(key), value, "a file", least, most)
        except ParameterError:
            allowed = f"integers from {least} to {most}" if most < MOST else f"integers from {least} on"
            raise self.error(key, f"{shown(value)}, where {allowed} are allowed") from None

    def integers(self, key: str | int) -> tuple[int, ...]:
        """A list of integers, of which the range is the caller's to check."""
        entries = self.part(key)
        return tuple(entries.integer(at, -MOST) for at in range(len(self.items(key))))

    def number(self, key: str | int, least: float, most: float) -> float:
        """A number from `least` to `most`."""
        value = self.value(key)
        is_number = isinstance(value, Real) and not isinstance(value, BOOLEANS)
        if not is_number or not least <= value <= most or not isfinite(value):
            raise self.error(key, f"{shown(value)}, where numbers from {least:g} to {most:g} are allowed")
        return float(value)

    def text(self, key: str | int) -> str:
        """A text of at most `TEXT_LETTERS` letters."""
        value = self.value(key)
        if not isinstance(value, str) or len(value) > TEXT_LETTERS:
            raise self.error(key, f"{shown(value)}, where a text of {TEXT_LETTERS:,} letters is allowed")
        return value

    def flag(self, key: str | int) -> bool:
        """True or false."""
        value = self.value(key)
        if not isinstance(value, bool):
            raise self.error(key, f"{shown(value)}, where true and false are allowed")
        return value

    def choice(self, key: str | int, allowed: Iterable[Choice]) -> Choice:
        """One of these values."""
        choices = list(allowed)
        return self.read(key, lambda value: one_of(str(key), value, choices))

    def items(self, key: str | int) -> Sequence[Any]:
        """A list of anything."""
        value = self.value(key)
        if not isinstance(value, list | tuple):
            raise self.error(key, f"{shown(value)}, where a list is needed")
        return value

    def table(self, key: str | int) -> Mapping[str, Any]:
        """An object whose entries are the caller's to check."""
        value = self.value(key)
        if not isinstance(value, Mapping):
            raise self.error(key, f"{shown(value)}, where an object is needed")
        return value

    def position(self, key: str | int, game: Game) -> Position:
        """A position of the game, written as text."""
        return self.read(key, partial(Position.parse, game=game))

    def positions(self, game: Game) -> list[Position]:
        """All entries of a list, positions of the game."""
        return [self.position(at, game) for at in range(len(self))]

    def record(self, key: str | int, game: Game) -> GameRecord:
        """A record of the game, written as text."""
        return self.read(key, partial(GameRecord.parse, game=game))

    def part(self, key: str | int) -> "Fields":
        """An object or a list within this one."""
        return Fields(self.value(key), self._called(key))

    def parts(self, key: str | int) -> list["Fields"]:
        """A list of objects."""
        entries = self.part(key)
        return [entries.part(at) for at in range(len(self.items(key)))]

    def agrees(self, key: str | int, computed: object) -> None:
        """Raise `ResultFileError` if an entry is not the value that follows from the others."""
        value = self.value(key)
        if type(value) is not type(computed) or value != computed:
            raise self.error(key, f"{shown(value)}, and {shown(computed)} follows from the rest")

    def is_near(self, key: str | int, computed: float, distance: float) -> None:
        """Raise `ResultFileError` if a number is farther than this from what follows from the others."""
        value = self.number(key, -MOST, MOST)
        if abs(value - computed) > distance:
            raise self.error(key, f"{value!r}, and {computed!r} follows from the rest")
