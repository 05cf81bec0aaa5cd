"""The games that were played here: an SQLite file that threads and processes may write to at once."""

import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Self

from ttt_env.errors import FileError, NotationError, ParameterError, TttEnvError, brief
from ttt_env.rules import Game, GameRecord, get_game
from ttt_env.storage.files import check_regular, file_errors, open_regular, write_atomically
from ttt_env.storage.models import label_of
from ttt_env.storage.parsing import text_of

PERSON = "person"
_PATH_VARIABLE = "TTT_ENV_GAMES"
_PATIENCE = 30.0  # seconds to wait for another writer
_APPLICATION_ID = 0x7474745F  # "ttt_" in the header of the file, by which a log is known
_IDENTITY = """SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id"""
_SCHEMA = (
    "BEGIN IMMEDIATE",
    """CREATE TABLE IF NOT EXISTS games (id INTEGER PRIMARY KEY,
    game TEXT NOT NULL, record TEXT NOT NULL, x TEXT, o TEXT, source TEXT, time TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS by_game ON games (game)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
)
_INSERT = "INSERT INTO games (game, record, x, o, source, time) VALUES (?, ?, ?, ?, ?, ?)"


class LoggedGame(NamedTuple):
    """A game of the log.

    `x` and `o` are the players: `"person"`, the spec string of an agent, or None if unknown. `source` is
    where it was played, `time` when it was written, in UTC as of ISO 8601.
    """

    record: GameRecord
    x: str | None
    o: str | None
    source: str | None
    time: str


def default_path() -> Path:
    """The file of the recorded games: `$TTT_ENV_GAMES`, else a file in the user's data folder.

    Raises `FileError` if the user has no home folder.
    """
    if path := os.environ.get(_PATH_VARIABLE):
        return Path(path)
    try:
        if sys.platform == "win32":
            folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            folder = Path.home() / "Library" / "Application Support"
        else:
            folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    except RuntimeError as error:
        raise FileError(
            f"there is no folder for the games; name a file in ${_PATH_VARIABLE}: {error}"
        ) from error
    return folder / "ttt_env" / "games.sqlite"


class GameLog:
    """The log in a file, by default at `default_path()`, which is made if it is missing.

    Once `add` has returned, the game is on the disk and survives a crash. Several threads may share a log,
    several processes may open the same file.

    Raises `FileError` for a file that is not a game log or cannot be used.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        argument: object = path
        if not isinstance(argument, str | Path | None):
            raise ParameterError(f"path={brief(argument)} of a game log: expected the path of a file")
        self.path = (default_path() if path is None else Path(path)).absolute()
        self._lock = Lock()
        with self._log_errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                check_regular(self.path)  # SQLite would wait for a pipe
            self._connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level="IMMEDIATE", check_same_thread=False
            )
            try:
                application_id, n_tables = self._connection.execute(_IDENTITY).fetchone()
                if application_id != _APPLICATION_ID and n_tables:
                    raise FileError(f"{self.path} is not a game log, but another SQLite file")
                self._connection.execute("PRAGMA journal_mode = WAL")  # committed games survive a kill
                self._connection.execute("PRAGMA synchronous = FULL")  # and a power cut
                if not n_tables:
                    with self._connection:
                        for statement in _SCHEMA:
                            self._connection.execute(statement)
            except BaseException:
                self._connection.close()
                raise

    @contextmanager
    def _log_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            if isinstance(error, TttEnvError):
                raise
            raise FileError(f"game log {self.path}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the log cannot be used any more."""
        with self._lock:
            self._connection.close()

    def __len__(self) -> int:
        return int(self._read("SELECT count(*) FROM games")[0][0])

    def add(
        self, record: GameRecord, *, x: str | None = None, o: str | None = None, source: str | None = None
    ) -> int:
        """Write a game, and return its number in the log; see `LoggedGame`.

        Raises `ParameterError` for anything but a record, and for names that are not texts.
        """
        if not isinstance(record, GameRecord):
            raise ParameterError(f"record={brief(record)} of a game log: expected a GameRecord")
        return self._write([record], x, o, source)

    def _write(self, records: Iterable[GameRecord], x: str | None, o: str | None, source: str | None) -> int:
        """Write all of these games or none, and return the number of the last one."""
        for name, value in (("x", x), ("o", o), ("source", source)):
            if not isinstance(value, str | None):
                raise ParameterError(f"{name}={brief(value)} of a game log: expected a str or None")
        x, o = (name and label_of(name) for name in (x, o))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [(record.game.name, str(record), x, o, source, now) for record in records]
        with (
            self._lock,
            self._log_errors(),
            self._connection,
            closing(self._connection.cursor()) as cursor,
        ):
            for row in rows:
                cursor.execute(_INSERT, row)
            return cursor.lastrowid or 0

    def _read(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with self._lock, self._log_errors():
            return self._connection.execute(query, values).fetchall()

    def counts(self) -> dict[str, int]:
        """The number of recorded games by the name of their game."""
        return dict(self._read("SELECT game, count(*) FROM games GROUP BY game ORDER BY game"))

    def games(self, game: Game | str) -> list[LoggedGame]:
        """All games of this game, in the order in which they were written.

        Raises `NotationError`, with the number of the record, if one is not legal in this game: it was then
        written for another game of the same name.
        """
        game = get_game(game)
        query = "SELECT id, record, x, o, source, time FROM games WHERE game = ? ORDER BY id"
        logged = []
        for number, record, *rest in self._read(query, game.name):
            try:
                logged.append(LoggedGame(GameRecord.parse(record, game), *rest))
            except NotationError as error:
                raise NotationError(f"game log {self.path}, game {number}: {error}") from error
        return logged

    def records(self, game: Game | str) -> list[GameRecord]:
        """The records of all games of this game, in the order in which they were written."""
        return [logged.record for logged in self.games(game)]

    def import_text(self, path: str | Path) -> int:
        """Add the games of a text file, one record a line, and return their number.

        Their players are unknown. Raises the errors of `read_records`, and then imports nothing.
        """
        self._check_other(path)
        records = read_records(path)
        self._write(records, None, None, str(path))
        return len(records)

    def export_text(self, path: str | Path) -> int:
        """Write the records of all games to a text file, one a line, and return their number.

        Raises `FileError` if the file cannot be written.
        """
        self._check_other(path)
        records = [record for (record,) in self._read("SELECT record FROM games ORDER BY id")]
        with file_errors(path, "written"):
            write_atomically(path, "".join(f"{record}\n" for record in records).encode("utf-8"))
        return len(records)

    def _check_other(self, path: str | Path) -> None:
        """Raise `FileError` for the file of this log, which must not be opened beside it or replaced."""
        if Path(path).resolve() == self.path.resolve():
            raise FileError(f"{path} is the game log itself: name another file")


def read_records(path: str | Path) -> list[GameRecord]:
    """The records of a text file, one a line; empty lines do not count.

    Raises `NotationError` for a line that is not a record, with its number, `FileError` for a file that
    cannot be read.
    """
    with file_errors(path, "read"), open_regular(path) as file:
        lines = text_of(file.read()).splitlines()
    records = []
    for number, line in enumerate(lines, 1):
        try:
            records += [GameRecord.parse(line)] if line.strip() else []
        except TttEnvError as error:
            raise NotationError(f"{path}, line {number}: {error}") from error
    return records
