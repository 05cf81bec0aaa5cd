"""The file of a tournament: its fields, and their values."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from ttt_env.bots.command import STARTUP
from ttt_env.errors import FileError, ParameterError, TttEnvError, brief
from ttt_env.rules import Between, Count, Game, Seconds, Seed, check_fields, check_names
from ttt_env.storage import open_regular, parse_toml, reason
from ttt_env.storage.models import game_of

_OWNER = "the tournament"
_KEYS = ("name", "game", "games", "seed", "timeout", "startup", "memory", "exact", "entry")
_ENTRY_KEYS = ("name", "author", "agent")


class Entry(NamedTuple):
    """A player: an agent as `make_agent` takes it as text, under a name."""

    name: str
    agent: str
    author: str = ""


@dataclass(frozen=True)
class TournamentPlan:
    """A tournament as its file describes it.

    `games` is the number of games in each match, half of them on each seat. `timeout`, `startup` and `memory`
    are the defaults of the programs. With `exact` results are computed where that is possible. `folder` is
    the folder of the file.
    """

    name: str
    game: Game
    entries: tuple[Entry, ...]
    folder: Path
    games: Annotated[int, Between(2)] = 2
    seed: Seed = 0
    timeout: Seconds = 2.0
    startup: Seconds = STARTUP
    memory: Count | None = None
    exact: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries in their order."""
        return tuple(entry.name for entry in self.entries)

    @property
    def limits(self) -> dict[str, float]:
        """The parameters of programs that do not give them themselves."""
        limits = {"timeout": self.timeout, "startup": self.startup}
        return limits if self.memory is None else limits | {"memory": self.memory}


def read_plan(path: Path) -> TournamentPlan:
    """Read the plan in a TOML file.

    Raises `FileError`, which names the file and the key, for an unreadable file, an unknown key,
    and a value of a wrong type or out of its range.
    """
    try:
        with open_regular(path) as file:
            data = parse_toml(file.read())
        return _plan_of(data, path)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {reason(error)}") from error
    except TttEnvError as error:
        raise FileError(f"{path}: {error}") from error


def _plan_of(data: dict[str, Any], path: Path) -> TournamentPlan:
    check_names(_OWNER, data, _KEYS, "key")
    folder = path.absolute().parent
    settings = {key: value for key, value in data.items() if key not in ("name", "game", "entry")}
    plan = TournamentPlan(
        name=_text(data | {"name": data.get("name", path.stem)}, "name", _OWNER),
        game=game_of(_text(data, "game", _OWNER), folder),
        entries=_entries_of(data),
        folder=folder,
        **settings,
    )
    check_fields(_OWNER, plan)
    if plan.games % 2:
        raise ParameterError(f"games={plan.games} of {_OWNER}: expected an even number, half for each seat")
    return plan


def _entries_of(data: dict[str, Any]) -> tuple[Entry, ...]:
    tables = data.get("entry")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ParameterError(f"{_OWNER} needs entries, each below a line [[entry]]")
    entries: dict[str, Entry] = {}
    for number, table in enumerate(tables, 1):
        name = _text(table, "name", f"entry {number}")
        owner = f"entry {brief(name)}"
        check_names(owner, table, _ENTRY_KEYS, "key")
        if name in entries:
            raise ParameterError(f"two entries are called {name!r}: names have to differ")
        author = _text(table, "author", owner) if "author" in table else ""
        entries[name] = Entry(name, _text(table, "agent", owner), author)
    return tuple(entries.values())


def _text(table: Mapping[str, Any], key: str, owner: str) -> str:
    """The text of a key. Raises `ParameterError` unless it is one line."""
    if key not in table:
        raise ParameterError(f"{owner} needs the key {key}")
    value = table[key]
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value.strip()
    raise ParameterError(f"{key}={brief(value)} of {owner}: expected one line of text")
