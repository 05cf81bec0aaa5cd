"""The tournament of a file, played in a folder: certificates, meetings, and the journal to go on from."""

import json
import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, Self
from zlib import crc32

import numpy as np

from ttt_env.analysis.certificate import Certificate
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
from ttt_env.rules import SEATS, Game, is_enumerable
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
    `fingerprints` of the entries. With `again` what the file holds is forgotten, and so it is if they have
    changed and nothing has been played. `is_new` says whether the file begins here.

    Raises `TournamentFileError`, which names what has changed, if the file has others; `ResultFileError` for
    a file that is no journal, for lines that were changed or are no part of this tournament, and where
    another process writes to it now.
    """

    def __init__(
        self, path: Path, plan: TournamentPlan, fingerprints: Mapping[str, str], again: bool = False
    ) -> None:
        self.games: dict[Meeting, list[Played]] = {}
        self.computed: dict[Meeting, Computed] = {}
        self._plan, self._file = plan, LineFile(path, _FORM, "is no journal of a tournament")
        keys = json.loads(json.dumps(dict(plan.keys)))
        rules = json.loads(json.dumps(game_to_dict(plan.game)))
        self._header = {"format": _FORMAT, "keys": keys, "rules": rules, "files": dict(fingerprints)}
        self._changed: list[str] = []
        self.is_new = True
        self._file.reserve()
        try:
            if not again:
                self._file.read(self._take, self._compare)
            if self.is_new:
                self._file.clear()
                self._file.add(self._header, is_synced=True)
        except BaseException:
            self.close()
            raise

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

    def _compare(self, data: Mapping[str, Any]) -> None:
        """Name what the header on the first line has differently."""
        found = decoded(_Header, data)
        if found.format != _FORMAT:
            raise ResultFileError(f"its format is {found.format!r}, and {_FORMAT!r} is needed")
        keys = _differing(found.keys, self._header["keys"])
        files = _differing(found.files, self._header["files"])
        rules = _differing(found.rules, self._header["rules"])
        self._changed = keys + [f"the game's {name}" for name in rules]
        self._changed += [f"the program or model of {name!r}" for name in files]
        self.is_new = bool(self._changed)

    def _take(self, data: Mapping[str, Any]) -> None:
        """Take a line. Raises `TournamentFileError` if anything has changed since."""
        if self._changed:
            more = " and more" if len(self._changed) > _LISTED else ""
            raise TournamentFileError(
                f"{self._file.path.parent} holds another tournament, since these have changed: "
                f"{', '.join(self._changed[:_LISTED])}{more}. "
                "Change them back, name another folder (--out), or start anew (--again)"
            )
        meeting = decoded(Meeting, data)
        if not {*meeting} <= {*self._plan.names}:
            raise ResultFileError(f"{meeting.first} against {meeting.second} is no meeting of this plan")
        if "match" in data:
            self.computed[meeting] = Computed.read(data, self._plan.game)
        else:
            self.games.setdefault(meeting, []).append(Played.read(data, self._plan.game))


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys that only one of the two has, or that they have differently."""
    return [key for key in {**old, **new} if key not in old or key not in new or old[key] != new[key]]


JOURNAL, ANSWERS, CERTIFICATES = "journal.jsonl", "answers", "certificates"
WRITTEN = ("results.json", "table.md", "table.csv", "games.txt", "index.html")
"""The files that show the results."""
_LIBRARIES = ("jinja2", "scipy")
Say = Callable[[str], object]


class Verdict(NamedTuple):
    """The proof about an entry, or why there is none.

    `not_judged` tells the accidents, or the line too many, by which an entry could not be judged.
    """

    certificate: Certificate | None
    lack: str = ""
    not_judged: str = ""


class Contest:
    """A tournament in a folder, where it is kept, and goes on from its journal and the kept answers.

    Certificates are made anew in each run, from the agents and the answers that programs have given.

    With `again` what an earlier run has left there is removed first. `say` is told what is being done.

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
        self.players = Players(plan, folder / ANSWERS, say)  # before anything is removed: it may be refused
        self.journal = Journal(folder / JOURNAL, plan, self.players.fingerprints, again)
        if self.journal.is_new:
            # Remove what an earlier run has left beside its journal; files of others stay.
            for path in (folder / name for name in (ANSWERS, CERTIFICATES, *WRITTEN)):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        self.verdicts: dict[str, Verdict] = {}
        self.schedule = [Meeting(*pair) for pair in combinations(plan.names, 2)]
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
        unknown, unjudged = dict.fromkeys(self.plan.names), dict(self.not_judged.values())
        return Tournament(self.plan.game, self.plan.names, finished, unknown, not_judged=unjudged)

    def play(self) -> None:
        """Certify, and let all play that have not.

        Raises `TournamentFileError` for an entry that is called fixed, and answers otherwise when it is asked
        again; `ResultFileError` if kept answers were changed, or cannot be written.
        """
        for entry in self.plan.entries:
            name = entry.name
            self._say(f"certifying {name}")
            certificate, lack, not_judged = None, self.players.lack_of_certificate(name), ""
            try:
                if not lack:
                    # Made now: one that lies in the folder is not believed.
                    certificate = self.players.certificate(name)
                    self.players.tabulate(name)
                    certificate.save(self.certificate_file(name))
                elif entry.is_stationary:
                    self.players.tabulate(name)
            except (TournamentFileError, ResultFileError):  # wrong about its program, or the kept answers are
                raise
            except (NoVerdictError, PlayerError) as error:
                certificate, not_judged = None, reason_of(error)
                self.players.give_up(name)
            except Exception as error:  # nothing that an entry does may end the tournament
                lack = f"it fails where it is asked: {type(error).__name__}: {error}"
            self.verdicts[name] = Verdict(certificate, lack, not_judged)
        for meeting in self.schedule:
            self._meet(meeting)

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
        game = self.plan.game
        if not (self.plan.exact and is_enumerable(game) and all(map(self.players.is_stationary, meeting))):
            return None
        try:
            result = match(*self.players.pair(*meeting), game, exact=True)
        except ResultFileError:  # of kept answers, for which no entry is to blame
            raise
        except Exception:  # one of the two fails somewhere: games show who loses by that
            return None
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
