"""The file of a tournament: its fields, and their values."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from os.path import isdir, isfile  # False, and no error, for a name that no file can have
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from ttt_env.bots.command import STARTUP
from ttt_env.errors import ParameterError, TournamentFileError, TttEnvError, brief
from ttt_env.rules import MAX_SEED, Game, Seconds, as_integer, check_names, checked_value
from ttt_env.storage import open_regular, parse_toml, reason
from ttt_env.storage.models import game_of, spec_of

Kind = Literal["spec", "command", "model"]
Value = TypeVar("Value")
MODEL_SUFFIXES = (".npz", ".onnx")
_KEYS = ("name", "game", "games", "seed", "timeout", "startup", "memory", "exact", "entry")
_ENTRY_KEYS = (
    "name", "author", "spec", "command", "model", "folder", "memory", "timeout", "startup",
)  # fmt: skip
_OF_COMMANDS = ("folder", "memory")
_MOST_ENTRIES, _MOST_GAMES, _MOST_MEMORY = 200, 100_000, 1 << 30
_NAME_LETTERS, _TEXT_LETTERS = 60, 10_000
_SECONDS = 2.0  # for a move


@dataclass(frozen=True)
class Entry:
    """A player: an agent by its spec string, the command of a program, or the file of a model.

    `source` is the spec string, the command or the file, `folder` the working directory of a program,
    `memory` the limit of each of its processes in MiB, `timeout` its seconds for a move, `startup` its
    seconds to start.
    """

    name: str
    kind: Kind
    source: str | tuple[str, ...]
    author: str = ""
    folder: Path | None = None
    memory: int | None = None
    timeout: float = _SECONDS
    startup: float = STARTUP


@dataclass(frozen=True)
class TournamentPlan:
    """A tournament as its file describes it.

    `games` is the number of games in each match, half of them on each seat. With `exact` results are
    computed where that is possible. `folder` is the folder of the file; `keys` holds all values of the file
    by key, and only digests for entries, whose commands may contain secrets.
    """

    name: str
    game: Game
    games: int
    seed: int
    exact: bool
    entries: tuple[Entry, ...]
    folder: Path
    keys: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries in their order."""
        return tuple(entry.name for entry in self.entries)


def read_plan(path: Path) -> TournamentPlan:
    """Read the plan in a TOML file; relative paths in it are relative to its folder.

    Raises `TournamentFileError`, which names the file and the key, for an unreadable file, an unknown key, a
    value of a wrong type or out of its range, and a file or folder that does not exist.
    """
    try:
        with open_regular(path) as file:
            data = parse_toml(file.read())
        return _plan_of(data, path)
    except OSError as error:
        raise TournamentFileError(f"{path} cannot be read: {reason(error)}") from error
    except TttEnvError as error:
        raise TournamentFileError(f"{path}: {error}") from error


class _Table:
    """A table of the file, read key by key."""

    def __init__(self, data: object, owner: str, allowed: tuple[str, ...]) -> None:
        if not isinstance(data, dict):
            raise ParameterError(f"{owner} is a table of keys and values, not {brief(data)}")
        check_names(owner, data, allowed, "key")
        self.data, self.owner = data, owner

    def read(self, key: str, read: Callable[[str, object, str], Value]) -> Value | None:
        """The value of a key, `read(key, value, owner)`; None if the key is missing."""
        return read(key, self.data[key], self.owner) if key in self.data else None

    def need(self, key: str, read: Callable[[str, object, str], Value]) -> Value:
        """The value of a key. Raises `ParameterError` if it is missing."""
        if key not in self.data:
            raise ParameterError(f"{self.owner} needs the key {key}")
        return read(key, self.data[key], self.owner)

    def limits(self) -> dict[str, Any]:
        """The limits of programs that the table gives, by their keys."""
        return {key: self.need(key, read) for key, read in _LIMITS.items() if key in self.data}


def _plan_of(data: dict[str, Any], path: Path) -> TournamentPlan:
    table = _Table(data, "the tournament", _KEYS)
    folder = path.absolute().parent
    game = game_of(table.need("game", _text), folder)
    entries = _entries(table, folder)
    keys = {key: value for key, value in data.items() if key != "entry"}
    for entry in data["entry"]:
        keys |= {
            f"entry {json.dumps(entry['name'])}.{key}": sha256(json.dumps(value).encode()).hexdigest()
            for key, value in entry.items()
            if key != "name"
        }
    return TournamentPlan(
        table.read("name", _text) or path.stem,
        game,
        table.read("games", _even) or 2,
        table.read("seed", partial(as_integer, least=0, most=MAX_SEED)) or 0,
        table.read("exact", _flag) is not False,
        entries,
        folder,
        keys | {"entries": [entry["name"] for entry in data["entry"]]},
    )


def _entries(table: _Table, folder: Path) -> tuple[Entry, ...]:
    tables, limits = table.need("entry", _tables), table.limits()
    entries = tuple(_entry(each, number, folder, limits) for number, each in enumerate(tables, 1))
    names: dict[str, str] = {}
    for entry in entries:
        if (other := names.get(entry.name.casefold())) is not None:
            raise ParameterError(f"two entries are called {other!r} and {entry.name!r}: names have to differ")
        names[entry.name.casefold()] = entry.name
    return entries


def _entry(data: object, number: int, folder: Path, limits: dict[str, Any]) -> Entry:
    """The entry of a table; `limits` are the defaults of a program's limits."""
    name_or_none = data.get("name") if isinstance(data, dict) else None
    table = _Table(data, f"entry {brief(name_or_none) if name_or_none else number}", _ENTRY_KEYS)
    name = table.need("name", _name)
    kinds: tuple[Kind, ...] = get_args(Kind)
    own_kinds = [kind for kind in kinds if kind in table.data]
    if len(own_kinds) != 1:
        raise ParameterError(f"{table.owner} needs one of the keys {', '.join(kinds)}, and has {own_kinds}")
    (kind,) = own_kinds
    if kind != "command" and (wrong := [key for key in _OF_COMMANDS if key in table.data]):
        raise ParameterError(f"{wrong[0]} of {table.owner}: this key belongs to a command")
    place = folder / (table.read("folder", _text) or ".")
    if not isdir(place):
        raise ParameterError(f"folder of {table.owner}: there is no folder {str(place)!r}")
    return Entry(
        name,
        kind,
        _source(table, kind, folder),
        table.read("author", _text) or "",
        place if kind == "command" else None,
        **limits | table.limits(),
    )


def _source(table: _Table, kind: Kind, folder: Path) -> str | tuple[str, ...]:
    """The spec string of an agent or a model, or the command of a program."""
    if kind == "command":
        return table.need(kind, _command)
    text = table.need(kind, _text)
    if kind == "spec":
        return text
    path = folder / text
    if path.suffix not in MODEL_SUFFIXES:
        raise ParameterError(
            f"model={text!r} of {table.owner}: expected a file ending in {' or '.join(MODEL_SUFFIXES)}, "
            'which runs no code; for a .zip that you trust, write spec = "sb3:FILE.zip"'
        )
    if not isfile(path):
        raise ParameterError(f"model of {table.owner}: there is no file {str(path)!r}")
    return spec_of(str(path))


def _text(name: str, value: object, owner: str) -> str:
    if isinstance(value, str) and value.strip() and value.isprintable() and len(value) <= _TEXT_LETTERS:
        return value.strip()
    raise ParameterError(
        f"{name}={brief(value)} of {owner}: expected one line of up to {_TEXT_LETTERS:,} letters"
    )


def _name(name: str, value: object, owner: str) -> str:
    text = _text(name, value, owner)
    if len(text) > _NAME_LETTERS:
        raise ParameterError(f"{name}={brief(value)} of {owner}: expected at most {_NAME_LETTERS} letters")
    return text


def _command(name: str, value: object, owner: str) -> str | tuple[str, ...]:
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return tuple(value)
    return _text(name, value, owner)


def _tables(name: str, value: object, owner: str) -> list[object]:
    if isinstance(value, list) and 2 <= len(value) <= _MOST_ENTRIES:
        return value
    raise ParameterError(f"{owner} takes 2 to {_MOST_ENTRIES} entries, each below a line [[{name}]]")


def _even(name: str, value: object, owner: str) -> int:
    games = as_integer(name, value, owner, 2, _MOST_GAMES)
    if games % 2:
        raise ParameterError(
            f"{name}={games} of {owner}: expected an even number, half of them for each seat"
        )
    return games


def _flag(name: str, value: object, owner: str) -> bool:
    return bool(checked_value(owner, name, value, bool))


def _seconds(name: str, value: object, owner: str) -> float:
    return float(checked_value(owner, name, value, Seconds))


_LIMITS: dict[str, Callable[[str, object, str], object]] = {
    "memory": partial(as_integer, least=1, most=_MOST_MEMORY),
    "timeout": _seconds,
    "startup": _seconds,
}
