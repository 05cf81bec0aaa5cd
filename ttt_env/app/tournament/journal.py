"""What a tournament has come to so far, in a file that outlives a kill."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

from ttt_env.agent import Forfeit, Outcome
from ttt_env.analysis.evaluation import Match
from ttt_env.errors import ResultFileError, TournamentFileError
from ttt_env.rules.checks import one_of
from ttt_env.rules.game import Game, Seat
from ttt_env.rules.notation import GameRecord
from ttt_env.storage.files import reason
from ttt_env.storage.line_file import LineFile

try:
    import fcntl
except ImportError:  # Windows, where nobody is kept from running a tournament twice at once
    fcntl = None  # type: ignore[assignment]

_FORMAT = "ttt_env tournament journal 1"
_BEGINNING = b'{"format": "ttt_env tournament'  # of the first line, which may be unfinished
_LISTED = 6  # keys that have changed


class Meeting(NamedTuple):
    """Two entries in a round, counted from 1; the first has X in its games of even number."""

    round: int
    first: str
    second: str

    def seated(self, number: int) -> tuple[str, str]:
        """Who has X, and who O, in the game of this number, counted from 0."""
        return (self.first, self.second) if number % 2 == 0 else (self.second, self.first)


class Played(NamedTuple):
    """A game that was played, and by which forfeit it ended, if by one."""

    record: GameRecord
    forfeit: Forfeit | None = None

    @property
    def winner(self) -> Seat | None:
        """The seat that won, None for a draw."""
        if self.forfeit is None:
            return self.record.winner
        return "O" if self.forfeit.position.to_move == "X" else "X"

    def to_dict(self) -> dict[str, Any]:
        """The game as a dictionary that JSON can hold."""
        outcome, said = (None, "") if self.forfeit is None else self.forfeit[1:]
        return {"record": str(self.record), "forfeit": outcome, "said": said}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], game: Game) -> "Played":
        """The game whose `to_dict` gave this; may raise any error for other data."""
        record = GameRecord.parse(data["record"], game)
        if data["forfeit"] is None:
            return cls(record)
        outcome = one_of("forfeit", data["forfeit"], get_args(Outcome))
        return cls(record, Forfeit(record.positions()[-1], outcome, str(data["said"])))


class Computed(NamedTuple):
    """A meeting whose result is computed, with a game on each seat to look at, which does not count."""

    match: Match
    examples: tuple[Played, ...]


class Journal:
    """The finished games and the computed meetings of a tournament: a line for each, on the disk as it comes.

    The first line holds what the results depend on: the `keys` of the plan and the `fingerprints` of the
    entries. With `again` what the file holds is forgotten, and so it is if they have changed and nothing has
    been played. `is_new` says whether the file begins here.

    Raises `TournamentFileError`, which names what has changed, if the file has others; `ResultFileError` for
    a file that is no journal, and where another process writes to it now.
    """

    def __init__(
        self,
        path: Path,
        game: Game,
        keys: Mapping[str, Any],
        files: Mapping[str, str],
        again: bool = False,
    ) -> None:
        self.games: dict[Meeting, list[Played]] = {}
        self.computed: dict[Meeting, Computed] = {}
        self._game, self._file = game, LineFile(path)
        header = {"format": _FORMAT, "keys": dict(keys), "files": dict(files)}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = path.open("ab")
        try:
            self._reserve()
            lines = self._read()
            changed = [] if again or not lines else self._changed(lines[0], header)
            self.is_new = again or not lines or (len(lines) == 1 and bool(changed))
            if self.is_new:
                os.truncate(path, 0)
                self._file.add(header, is_synced=True)
            else:
                self._go_on(lines, changed)
        except BaseException:
            self.close()
            raise

    def _reserve(self) -> None:
        """Keep other processes from writing to the file. Raises `ResultFileError` if one does."""
        if fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ResultFileError(
                    f"{self._file.path}: this tournament is being played by another process"
                ) from error

    def _go_on(self, lines: list[bytes], changed: list[str]) -> None:
        """Take the lines of the file. Raises `TournamentFileError` if anything has changed since."""
        if changed:
            listed = ", ".join(changed[:_LISTED]) + (" and more" if len(changed) > _LISTED else "")
            raise TournamentFileError(
                f"{self._file.path.parent} holds another tournament, since these have changed: {listed}. "
                "Change them back, name another folder (--out), or start anew (--again)"
            )
        for number, line in enumerate(lines[1:], 2):
            self._take(number, line)
        self._file.cut()

    def close(self) -> None:
        """Let others write to the file."""
        self._lock.close()

    def add_game(self, meeting: Meeting, played: Played) -> None:
        """Keep a game, the next one of its meeting, on the disk first."""
        self._file.add({**meeting._asdict(), **played.to_dict()}, is_synced=True)
        self.games.setdefault(meeting, []).append(played)

    def add_computed(self, meeting: Meeting, computed: Computed) -> None:
        """Keep a computed meeting, on the disk first."""
        examples = [example.to_dict() for example in computed.examples]
        line = {**meeting._asdict(), "match": computed.match.to_dict(), "examples": examples}
        self._file.add(line, is_synced=True)
        self.computed[meeting] = computed

    def _read(self) -> list[bytes]:
        try:
            lines = self._file.read()
        except OSError as error:
            raise ResultFileError(f"{self._file.path} cannot be read: {reason(error)}") from error
        first = lines[0] if lines else self._file.unfinished
        if first[: len(_BEGINNING)] != _BEGINNING[: len(first)]:
            raise ResultFileError(f"{self._file.path} is no journal of a tournament")
        return lines

    def _changed(self, line: bytes, header: Mapping[str, Any]) -> list[str]:
        """What is different in this header from the one on the first line, in words."""
        try:
            found = json.loads(line)
            if found["format"] != _FORMAT:
                raise ValueError(f"{_FORMAT!r} is what its format should be")
            keys = _differing(found["keys"], json.loads(json.dumps(header["keys"])))
            files = _differing(found["files"], header["files"])
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ResultFileError(f"{self._file.path} is no journal of a tournament: {error}") from error
        return keys + [f"the program or model of {name!r}" for name in files]

    def _take(self, number: int, line: bytes) -> None:
        try:
            data = json.loads(line)
            meeting = Meeting(int(data["round"]), str(data["first"]), str(data["second"]))
            if "match" in data:
                examples = tuple(Played.from_dict(each, self._game) for each in data["examples"])
                self.computed[meeting] = Computed(Match.from_dict(data["match"]), examples)
            else:
                self.games.setdefault(meeting, []).append(Played.from_dict(data, self._game))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ResultFileError(f"{self._file.path}, line {number}: {error}") from error


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys that only one of the two has, or that they have differently."""
    return [key for key in {**old, **new} if key not in old or key not in new or old[key] != new[key]]
