"""The tournament of a file, played in a folder: certificates, meetings, and the journal to go on from."""

import json
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, Self
from zlib import crc32

import numpy as np

from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.evaluation import match
from ttt_env.analysis.results import Match, match_of_games
from ttt_env.bots.plan import TournamentPlan
from ttt_env.bots.players import Players
from ttt_env.errors import (
    NoVerdictError,
    ParameterError,
    PlayerError,
    ResultFileError,
    TournamentFileError,
    missing_extra,
)
from ttt_env.rules import SEATS, Game
from ttt_env.storage import LineFile, game_to_dict
from ttt_env.storage.codec import decoded
from ttt_env.tournament.meetings import (
    Meeting,
    NotCountedError,
    NotJudged,
    Played,
    play_to_the_end,
    reason_of,
)
from ttt_env.tournament.tournament import Tournament

_FORM = "ttt_env tournament journal"
_FORMAT = f"{_FORM} 4"
_LISTED = 6  # keys that have changed
_OF_ENTRY = re.compile(r"entry (\".*\")\.\w+")


class _Header(NamedTuple):
    format: str
    keys: dict[str, Any]
    rules: dict[str, Any]
    files: dict[str, str]


class Computed(NamedTuple):
    """The computed result of a meeting, and two games that show how the two play: one on each seat."""

    match: Match
    examples: tuple[Played, ...]

    @classmethod
    def read(cls, data: Mapping[str, Any], game: Game) -> "Computed":
        """The content of a line."""
        examples = tuple(Played.read(each, game) for each in data["examples"])
        return cls(Match.from_dict(data["match"]), examples)


class Journal:
    """The finished games and the computed meetings of a tournament: a line for each, on the disk as it comes.

    The first line holds what the results depend on: the keys of the plan, the rules of its game, and the
    `fingerprints` of the entries. With `again` what an entry that has changed took part in is forgotten; all
    is, if something else has changed, or nothing. `forgotten` names the entries of which nothing is left.

    Raises `TournamentFileError`, which names what has changed, if the file has other results and `again` is
    not set; `ResultFileError` for a file that is no journal, for lines that are no part of this tournament,
    and where another process writes to it now.
    """

    _old: _Header | None = None  # as it is in the file

    def __init__(
        self, path: Path, plan: TournamentPlan, fingerprints: Mapping[str, str], again: bool = False
    ) -> None:
        self.games: dict[Meeting, list[Played]] = {}
        self.computed: dict[Meeting, Computed] = {}
        self.forgotten: set[str] = set()
        self._plan, self._file = plan, LineFile(path, _FORM, "is no journal of a tournament")
        keys, rules = (json.loads(json.dumps(each)) for each in (dict(plan.keys), game_to_dict(plan.game)))
        self._header = _Header(_FORMAT, keys, rules, dict(fingerprints))
        self._file.reserve()
        try:
            self._file.read(self._take, self._begin)
            changed = self._changed()
            if changed and not again and (self.games or self.computed):
                raise TournamentFileError(
                    f"{path.parent} holds another tournament, since these have changed: "
                    f"{_listed(list(changed))}. Change them back, name another folder (--out), or play again "
                    "what they change (--again)"
                )
            if self._old is None or (again and not changed) or not all(changed.values()):
                self._forget({*plan.names})
            elif changed or self._old.keys["entries"] != keys["entries"]:
                self._forget({*changed.values()})
        except BaseException:
            self.close()
            raise

    def _begin(self, data: Mapping[str, Any]) -> None:
        self._old = decoded(_Header, data)
        if self._old.format != _FORMAT:
            raise ResultFileError(f"its format is {self._old.format!r}, and {_FORMAT!r} is needed")

    def _changed(self) -> dict[str, str]:
        """What has changed since the header was written, each with the entry that it is about, if any."""
        if self._old is None:
            return {}
        changed = {f"the game's {name}": "" for name in _differing(self._old.rules, self._header.rules)}
        for key in _differing(self._old.keys, self._header.keys):
            of_entry = _OF_ENTRY.match(key)
            if key != "entries":
                changed[key] = json.loads(of_entry[1]) if of_entry else ""
        for name in _differing(self._old.files, self._header.files):
            changed[f"the program or model of {name!r}"] = name
        before = {*self._old.keys["entries"], ""}  # who comes late changes nothing
        changed = {what: name for what, name in changed.items() if name in before}
        gone = before - {*self._plan.names, ""}
        return changed | {f"the entry {name!r}, which is gone": name for name in gone}

    def _forget(self, names: set[str]) -> None:
        """Write the file anew, without the results of these entries."""
        self.forgotten = names
        for results in (self.games, self.computed):
            for meeting in [each for each in results if {*each} & self.forgotten]:
                del results[meeting]
        games, self.games = self.games, {}
        computed, self.computed = self.computed, {}
        self._file.clear()
        self._file.add(self._header._asdict(), is_synced=True)
        for meeting, played in games.items():
            for each in played:
                self.add_game(meeting, each)
        for meeting, result in computed.items():
            self.add_computed(meeting, result)

    def close(self) -> None:
        """Let others write to the file."""
        self._file.release()

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

    def match(self, meeting: Meeting) -> Match | None:
        """The match of a meeting, computed or of its games; None if it is not finished."""
        if (computed := self.computed.get(meeting)) is not None:
            return computed.match
        games = self.games.get(meeting, [])
        if len(games) < self._plan.games:
            return None
        return match_of_games((SEATS[at % 2], each.record, each.forfeit) for at, each in enumerate(games))

    def _take(self, data: Mapping[str, Any]) -> None:
        meeting = decoded(Meeting, data)
        assert self._old is not None
        if not {*meeting} <= {*self._old.keys["entries"]}:
            raise ResultFileError(f"{meeting.first} against {meeting.second} is no meeting of this plan")
        if "match" in data:
            self.computed[meeting] = Computed.read(data, self._plan.game)
        else:
            self.games.setdefault(meeting, []).append(Played.read(data, self._plan.game))


def _listed(changed: list[str]) -> str:
    return ", ".join(changed[:_LISTED]) + (" and more" if len(changed) > _LISTED else "")


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys that only one of the two has, or that they have differently."""
    return [key for key in {**old, **new} if key not in old or key not in new or old[key] != new[key]]


JOURNAL, CERTIFICATES = "journal.jsonl", "certificates"
WRITTEN = ("results.json", "table.md", "table.csv", "games.txt", "index.html")
"""The files that show the results."""
_LIBRARIES = ("jinja2", "scipy")
Say = Callable[[str], object]


class Verdict(NamedTuple):
    """The certificate of an entry, or why there is none.

    `not_judged` tells the accidents by which an entry could not be judged.
    """

    certificate: Certificate | None
    lack: str = ""
    not_judged: str = ""


class Contest:
    """A tournament in a folder, where it is kept, and goes on from its journal.

    Certificates are made anew in each run. With `again` what an entry that has changed took part in is
    played anew, as in `Journal`. `say` is told what is being done.

    Raises `ParameterError` for a folder that holds anything but a tournament, `ImportError` if the extra
    `tournament` is not installed, and as `Players` and `Journal` do; then nothing is played.
    """

    def __init__(
        self, plan: TournamentPlan, folder: Path, *, again: bool = False, say: Say = lambda _: None
    ) -> None:
        self.plan, self.folder, self._say = plan, folder, say
        if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
            raise missing_extra(f"a tournament needs {', '.join(missing)} of", "tournament")
        if folder.exists() and not folder.is_dir():
            raise ParameterError(f"{str(folder)!r} is no folder: choose another one (--out)")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / JOURNAL).is_file():
            raise ParameterError(
                f"{str(folder)!r} is not empty, and no tournament's: choose another one (--out)"
            )
        self.players = Players(plan, say)
        if len(self.players.names) < 2:
            told = "".join(f"\n  {name}: {why}" for name, why in self.players.set_aside.items())
            raise TournamentFileError(f"fewer than two entries can play:{told}")
        self.journal = Journal(folder / JOURNAL, plan, self.players.fingerprints, again)
        kept = {self.certificate_file(name) for name in {*plan.names} - self.journal.forgotten}
        for path in {*(folder / CERTIFICATES).glob("*.certificate.json")} - kept:
            path.unlink()
        if self.journal.forgotten == {*plan.names}:
            for path in (folder / name for name in WRITTEN):
                path.unlink(missing_ok=True)
        self.verdicts: dict[str, Verdict] = {}
        self.schedule = [Meeting(*pair) for pair in combinations(self.players.names, 2)]
        self.not_judged: dict[Meeting, NotJudged] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.players.close()
        self.journal.close()

    @property
    def tournament(self) -> Tournament:
        """The results of all meetings that are finished."""
        finished = {at: match for at in self.schedule if (match := self.journal.match(at)) is not None}
        names = self.players.names
        unjudged = self.players.set_aside | dict(self.not_judged.values())
        return Tournament(self.plan.game, names, finished, dict.fromkeys(names), not_judged=unjudged)

    def play(self) -> None:
        """Certify, and let all play that have not. Raises `ResultFileError` if the journal cannot be kept."""
        for name in self.players.names:
            self._say(f"asking {name}")
            self.verdicts[name] = self._judged(name)
        for meeting in self.schedule:
            self._meet(meeting)

    def _judged(self, name: str) -> Verdict:
        try:
            table = self.players.table(name)
            if isinstance(table, str):
                return Verdict(None, table)
            certificate = certify(table, complete=True)  # now: one that lies in the folder is not believed
        except (NoVerdictError, PlayerError) as error:
            return Verdict(None, not_judged=reason_of(error))
        except Exception as error:  # nothing that an entry does may end the tournament
            return Verdict(None, f"it fails where it is asked: {type(error).__name__}: {error}")
        certificate.save(self.certificate_file(name))
        return Verdict(certificate)

    def certificate_file(self, name: str) -> Path:
        """The file of an entry's certificate."""
        return self.folder / CERTIFICATES / f"{self.players.file_name(name)}.certificate.json"

    def _meet(self, meeting: Meeting) -> None:
        """Compute or play the part of a meeting that the journal does not hold."""
        if self.journal.match(meeting) is not None:
            return
        text = f"{meeting.first} v {meeting.second}"
        self._say(text)
        if meeting not in self.journal.games and (computed := self._computed(meeting)) is not None:
            self.journal.add_computed(meeting, computed)
        while self.journal.match(meeting) is None:
            number = len(self.journal.games.get(meeting, ()))
            self._say(f"{text}, game {number + 1} of {self.plan.games}")
            try:
                self.journal.add_game(meeting, self._played(meeting, number))
            except NotCountedError as error:
                x, o = meeting.seated(number)
                self.not_judged[meeting] = NotJudged(x if error.seat == "X" else o, str(error))
                return

    def _computed(self, meeting: Meeting) -> Computed | None:
        if not self.plan.exact or any(self.verdicts[name].certificate is None for name in meeting):
            return None
        result = match(*self.players.pair(*meeting), self.plan.game, exact=True)
        return Computed(result, tuple(self._played(meeting, number) for number in range(2)))

    def _played(self, meeting: Meeting, number: int) -> Played:
        """The game of this number, whose random numbers depend on the seed and the names alone."""
        key = (*(crc32(name.encode()) for name in meeting), number)
        rng = np.random.default_rng(np.random.SeedSequence(self.plan.seed, spawn_key=key))
        return play_to_the_end(*self.players.pair(*meeting.seated(number)), rng)

    def games_of(self, meeting: Meeting) -> tuple[Played, ...]:
        """The games of a meeting: those that count or, where it is computed, examples."""
        if (computed := self.journal.computed.get(meeting)) is not None:
            return computed.examples
        return tuple(self.journal.games.get(meeting, ()))
