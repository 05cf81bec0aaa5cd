"""Results written as dictionaries, JSON and files, and read back from them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Self

from ttt_env.errors import ResultFileError, TttEnvError
from ttt_env.storage import file_errors, opened, parse_json, write_atomically


class Saved(ABC):
    """A result that can be written down and read back.

    The entry `format` says which kind of result it is. More entries than are read back may be written. What
    is read back is checked: all its parts agree with each other, and with the rules of its game.
    """

    FORMAT: ClassVar[str]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as a dictionary that JSON can hold."""

    def _repr_html_(self) -> str | None:
        """The printed result, for notebooks; None if they show another picture of it."""
        return f"<pre>{escape(str(self))}</pre>"

    @classmethod
    @abstractmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        """The result whose `to_dict` gave this, every part checked, and that all parts agree.

        May raise any error for other data.
        """

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The result whose `to_dict` gave this. Raises `ResultFileError` for other data."""
        if not isinstance(data, Mapping) or data.get("format") != cls.FORMAT:
            raise ResultFileError(f"this is no {cls.__name__}: {cls.FORMAT!r} is what its format should be")
        try:
            return cls._read(data)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            told = str(error) if isinstance(error, TttEnvError) else f"{type(error).__name__}: {error}"
            raise ResultFileError(f"this is no {cls.__name__}: {told}") from error

    def to_json(self) -> str:
        """The result as JSON."""
        return _as_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The result whose `to_json` gave this. Raises `ResultFileError` for other text."""
        try:
            data = parse_json(text)
        except ResultFileError as error:
            raise ResultFileError(f"this is no {cls.__name__}: {error}") from error
        return cls.from_dict(data)

    def save(self, path: str | Path) -> None:
        """Write the result as a JSON file."""
        write_json(self.to_dict(), path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The result that `save` has written. Raises `ResultFileError` for another file."""
        with file_errors(path, "read", ResultFileError), opened(path) as file:
            text = file.read().decode()
        try:
            return cls.from_json(text)
        except ResultFileError as error:
            raise ResultFileError(f"{path}: {error}") from error


def write_json(data: Mapping[str, Any], path: str | Path) -> None:
    """Write the data as a JSON file, one item a line. Raises `OSError` if it cannot be written."""
    write_atomically(path, _as_json(data).encode())


def _as_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
