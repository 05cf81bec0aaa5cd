"""Results as data and back: one codec for all dataclasses, by the types of their fields.

A field is a number, a text, a flag, a choice, None, another dataclass or named tuple, a list, a tuple or a
mapping of these; or a game, a position, a batch of positions or a game record, which are written as text.
Names and types are checked when data is read. Whether a result is true is not checked: it can be computed
again from what it is about.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from html import escape
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from ttt_env.errors import FileError, TttEnvError, brief
from ttt_env.rules import Boards, Game, GameRecord, Position
from ttt_env.storage.files import file_errors, open_regular, write_atomically
from ttt_env.storage.game_file import game_from_dict, game_to_dict
from ttt_env.storage.parsing import parse_json, text_of

MOST_LISTED = 100_000  # positions of a batch in a file, which also gives their number


class Saved:
    """A dataclass that can be saved and loaded.

    The entry `format` says which kind of result it is. `DERIVED` are properties that are written as well, for
    readers of the file without this package.
    """

    FORMAT: ClassVar[str]
    DERIVED: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as a dictionary that JSON can hold."""
        derived = {name: encode_value(getattr(self, name)) for name in self.DERIVED}
        return {"format": self.FORMAT, **encode_value(self), **derived}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result from what `to_dict` returned.

        Args:
            data: The dictionary.

        Raises:
            FileError: The data are not those of such a result.

        """
        if not isinstance(data, Mapping) or data.get("format") != cls.FORMAT:
            raise FileError(f"this is not a saved {cls.__name__}: its format is not {cls.FORMAT!r}")
        try:
            return cls._read(data)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = str(error) if isinstance(error, TttEnvError) else f"{type(error).__name__}: {error}"
            raise FileError(f"this is not a saved {cls.__name__}: {reason}") from error

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        result: Self = decode_value(cls, data)
        return result

    def to_json(self) -> str:
        """The result as JSON."""
        return as_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The result from what `to_json` returned.

        Args:
            text: The JSON text.

        Raises:
            FileError: The text is not that of such a result.

        """
        try:
            data = parse_json(text)
        except FileError as error:
            raise FileError(f"this is not a saved {cls.__name__}: {error}") from error
        return cls.from_dict(data)

    def save(self, path: str | Path) -> None:
        """Write the result as a JSON file.

        Args:
            path: The path of the file.

        Raises:
            FileError: The file cannot be written.

        """
        with file_errors(path, "written"):
            write_json(self.to_dict(), path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The result that `save` has written.

        Args:
            path: The path of the file.

        Raises:
            FileError: The file cannot be read, or is not that of such a result.

        """
        with file_errors(path, "read"), open_regular(path) as file:
            text = text_of(file.read())
        try:
            return cls.from_json(text)
        except FileError as error:
            raise FileError(f"{path}: {error}") from error

    def _repr_html_(self) -> str | None:
        """The printed result, for notebooks; None in a class that shows a picture instead."""
        return f"<pre>{escape(str(self))}</pre>"


def write_json(data: Mapping[str, Any], path: str | Path) -> None:
    """Write the data as a JSON file, one item a line. Raises `OSError` if it cannot be written."""
    write_atomically(path, as_json(data).encode())


def as_json(data: Mapping[str, Any]) -> str:
    """The data as JSON, one item a line."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def encode_value(value: Any) -> Any:
    """The value as data for JSON."""
    if isinstance(value, Game):
        return game_to_dict(value)
    if isinstance(value, Position | GameRecord):
        return str(value)
    if isinstance(value, Boards):
        return [str(position) for position in value[:MOST_LISTED]]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: encode_value(getattr(value, name)) for name in _field_names(type(value))}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: encode_value(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(key): encode_value(each) for key, each in value.items()}
    return [encode_value(each) for each in value] if isinstance(value, tuple | list) else value


def decode_value(kind: Any, data: Any, game: Game | None = None, name: str = "") -> Any:
    """The value of this type from what `encode_value` returned; `game` is the game of its positions.

    A dataclass with a field `game` has the game of its positions there. Unknown entries are ignored. Raises
    `FileError`, which names the entry, for an entry that is missing or of another type.
    """
    return _Reader(game).value(kind, data, name)


def _field_names(kind: Any) -> list[str]:
    return [each.name for each in fields(kind) if each.metadata.get("saved", True)]


class _Reader:
    def __init__(self, game: Game | None) -> None:
        self.game = game

    def value(self, kind: Any, data: Any, name: str) -> Any:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            if data is None and NoneType in arguments:
                return None
            (kind,) = (each for each in arguments if each is not NoneType)
            return self.value(kind, data, name)
        if origin is Literal:
            return data if data in arguments else self._fail(name, data, f"one of {', '.join(arguments)}")
        if origin in (tuple, list):
            return self._sequence(origin, arguments, data, name)
        if origin is not None:  # a mapping
            entries = self._object(data, name)
            return {key: self.value(arguments[1], each, f"{name}.{key}") for key, each in entries.items()}
        return self._plain(kind, data, name)

    def _plain(self, kind: Any, data: Any, name: str) -> Any:
        if kind is Any:
            return data
        if kind is Game:
            return self._parse(game_from_dict, data, name)
        if kind in (Position, GameRecord) and isinstance(data, str):
            return self._parse(lambda text: kind.parse(text, self.game), data, name)
        if kind is Boards and isinstance(data, list):
            positions = [self.value(Position, each, f"{name}[{n}]") for n, each in enumerate(data)]
            return Boards.joined(self.game, [Boards.of(positions)] if positions else [])  # type: ignore[arg-type]
        if kind is float and type(data) in (int, float) and isfinite(data):
            return float(data)
        if kind in (int, str, bool) and type(data) is kind:
            return data
        if is_dataclass(kind) or hasattr(kind, "_fields"):
            return self._record(kind, self._object(data, name), name)
        return self._fail(name, data, f"a value of type {getattr(kind, '__name__', kind)}")

    def _record(self, kind: Any, data: Mapping[str, Any], name: str) -> Any:
        hints, values = get_type_hints(kind), {}
        names = _field_names(kind) if is_dataclass(kind) else kind._fields
        if (
            self.game is None and isinstance(data.get("game"), Mapping) and "game" not in names
        ):  # it is derived
            self.game = self.value(Game, data["game"], "game")
        for each in sorted(names, key=lambda each: each != "game"):  # the positions are of this game
            entry = f"{name}.{each}".lstrip(".")
            if each not in data:
                raise FileError(f"{entry}: it is missing")
            values[each] = self.value(hints[each], data[each], entry)
            if each == "game" and isinstance(values[each], Game):
                self.game = values[each]
        return kind(**values)

    def _sequence(self, origin: Any, arguments: tuple[Any, ...], data: Any, name: str) -> Any:
        if not isinstance(data, list | tuple):
            return self._fail(name, data, "a list")
        if origin is tuple and arguments[-1] is not Ellipsis:
            if len(data) != len(arguments):
                return self._fail(name, data, f"a list of {len(arguments)}")
            kinds = arguments
        else:
            kinds = (arguments[0],) * len(data)
        return origin(
            self.value(k, each, f"{name}[{n}]") for n, (k, each) in enumerate(zip(kinds, data, strict=True))
        )

    def _object(self, data: Any, name: str) -> Mapping[str, Any]:
        return data if isinstance(data, Mapping) else self._fail(name, data, "an object with entries")

    def _parse(self, read: Any, data: Any, name: str) -> Any:
        try:
            return read(data)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = str(error) if isinstance(error, TttEnvError) else f"{type(error).__name__}: {error}"
            raise FileError(f"{name}: {reason}") from error

    def _fail(self, name: str, data: Any, expected: str) -> Any:
        raise FileError(f"{name or 'it'}: {brief(data)}, expected {expected}")
