"""How a tournament goes: who is certified, who meets whom, and what comes of it."""

import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, Self
from zlib import crc32

import numpy as np

from ttt_env.agent import Agent, Forfeit, Outcome
from ttt_env.analysis.certificate import Certificate
from ttt_env.analysis.evaluation import Forfeited, Match, match, match_of, summed
from ttt_env.analysis.play import moves_between
from ttt_env.errors import (
    ForfeitError,
    NotJudgedError,
    ParameterError,
    PlayerError,
    ResultFileError,
    TournamentFileError,
    UntrustedAnswersError,
)
from ttt_env.rules.game import SEATS, Game, Seat
from ttt_env.rules.notation import GameRecord
from ttt_env.rules.sizes import is_enumerable
from ttt_env.tournament.journal import Computed, Journal, Meeting, Played
from ttt_env.tournament.plan import Plan
from ttt_env.tournament.players import Players
from ttt_env.tournament.standings import Encounter, Standing, points_of, standings
from ttt_env.tournament.swiss import Round, swiss_round

JOURNAL, ANSWERS, CERTIFICATES = "journal.jsonl", "answers", "certificates"
WRITTEN = ("results.json", "table.md", "table.csv", "games.txt", "index.html")
"""The files that show the results."""
_COMPARED = ("unbeatable", "worst_case", "positions", "n_blunders", "n_missed_wins")
_LIBRARIES = ("jinja2", "networkx", "scipy")
Say = Callable[[str], object]


class Verdict(NamedTuple):
    """The proof about an entry, or why there is none, and the worth of the certificate that it brought.

    `not_judged` tells the accidents, or the line too many, by which an entry could not be judged.
    """

    certificate: Certificate | None
    lack: str = ""
    brought: str = ""
    not_judged: str = ""


class NotCountedError(Exception):
    """A game that does not count, since the player on this seat could not be asked at all."""

    def __init__(self, seat: Seat, reason: str) -> None:
        super().__init__(reason)
        self.seat = seat


class Contest:
    """A tournament in a folder, where it is kept, and goes on from its journal and the kept answers.

    Certificates are made anew in each run, from the agents and the answers that programs have given.

    With `again` what an earlier run has left there is removed first. `say` is told what is being done.

    Raises `ParameterError` for a folder that holds anything but a tournament, `ImportError` if the extra
    `tournament` is not installed, and as `Players` and `Journal` do; then nothing is played.
    """

    def __init__(self, plan: Plan, folder: Path, *, again: bool = False, say: Say = lambda _: None) -> None:
        self.plan, self.folder, self._say = plan, folder, say
        if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
            raise ImportError(
                f'a tournament needs {", ".join(missing)} of the extra "tournament": '
                'pip install "ttt-env[tournament]"'
            )
        _check_folder(folder)
        self.players = Players(plan, folder / ANSWERS, say)  # before anything is removed: it may be refused
        self.journal = Journal(folder / JOURNAL, plan, self.players.fingerprints, again)
        if self.journal.is_new:
            _remove(folder)
        self.verdicts: dict[str, Verdict] = {}
        self.rounds: list[Round] = []
        self.not_judged: dict[Meeting, tuple[str, str]] = {}
        """The meetings that do not count now, with the entry that could not be asked, and the reason."""
        self._finished: dict[Meeting, Encounter] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.players.close()
        self.journal.close()

    @property
    def encounters(self) -> list[Encounter]:
        """The meetings that are finished, in the order in which they are played."""
        meetings = (
            Meeting(number, *pair) for number, (pairs, _) in enumerate(self.rounds, 1) for pair in pairs
        )
        return [found for meeting in meetings if (found := self._encounter(meeting)) is not None]

    @property
    def byes(self) -> dict[int, str]:
        """Who has a bye, by the number of the round."""
        return {number: bye for number, (_, bye) in enumerate(self.rounds, 1) if bye is not None}

    @property
    def is_complete(self) -> bool:
        """Whether all is played."""
        n_pairs = sum(len(pairs) for pairs, _ in self.rounds)
        return len(self.rounds) == self.plan.rounds and len(self.encounters) == n_pairs

    def standings(self) -> list[Standing]:
        """The table of what is finished."""
        return standings(self.plan.system, self.plan.names, self.encounters, self.byes)

    def play(self) -> None:
        """Certify, and let all play that have not.

        Raises `TournamentFileError` for an entry that is called fixed, and answers otherwise when it is asked
        again; `ResultFileError` if kept answers were changed, or cannot be written.
        """
        self._certify()
        self.rounds.clear()
        self.not_judged.clear()
        while len(self.rounds) < self.plan.rounds:
            self.rounds.append(self._next_round())
            number = len(self.rounds)
            for pair in self.rounds[-1].pairs:
                self._meet(Meeting(number, *pair))

    def _next_round(self) -> Round:
        names = self.plan.names
        if self.plan.system == "all-play-all":
            return Round(list(combinations(names, 2)), None)
        points = points_of("swiss", names, self.encounters, self.byes)
        met = [pair for pairs, _ in self.rounds for pair in pairs]
        return swiss_round(points, met, set(self.byes.values()))

    def _certify(self) -> None:
        for entry in self.plan.entries:
            name = entry.name
            self._say(f"certifying {name}")
            certificate, lack, not_judged = None, self.players.lack_of_certificate(name), ""
            try:
                if not lack:
                    certificate = self._certificate(name)
                elif entry.is_fixed:
                    self.players.tabulate(name)
            except (TournamentFileError, ResultFileError):  # wrong about its program, or the kept answers are
                raise
            except (NotJudgedError, PlayerError) as error:
                certificate, not_judged = None, reason_of(error)
                self.players.give_up(name)
            except Exception as error:  # nothing that an entry does may end the tournament
                lack = f"it fails where it is asked: {type(error).__name__}: {error}"
            brought = "" if entry.certificate is None else _compared(entry.certificate, certificate)
            self.verdicts[name] = Verdict(certificate, lack, brought, not_judged)

    def certificate_file(self, name: str) -> Path:
        """The file of an entry's certificate."""
        return self.folder / CERTIFICATES / f"{self.players.file_name(name)}.certificate.json"

    def _certificate(self, name: str) -> Certificate:
        """The certificate of an entry, made now; one that lies in the folder is not believed."""
        certificate = self.players.certificate(name)
        self.players.tabulate(name)
        certificate.save(self.certificate_file(name))
        return certificate

    def _meet(self, meeting: Meeting) -> None:
        """Compute or play what is missing of a meeting."""
        text = f"round {meeting.round} of {self.plan.rounds}, {meeting.first} v {meeting.second}"
        self._say(text)
        if meeting in self.journal.computed:
            return
        if meeting not in self.journal.games and (computed := self._computed(meeting)) is not None:
            self.journal.add_computed(meeting, computed)
            return
        while (number := len(self.journal.games.get(meeting, ()))) < self.plan.games:
            self._say(f"{text}, game {number + 1} of {self.plan.games}")
            try:
                self.journal.add_game(meeting, self._played(meeting, number))
            except NotCountedError as error:
                x, o = meeting.seated(number)
                self.not_judged[meeting] = (x if error.seat == "X" else o), str(error)
                return

    def _computed(self, meeting: Meeting) -> Computed | None:
        """The computed result of a meeting, None where there is none."""
        names = meeting.first, meeting.second
        if not (self.plan.exact and is_enumerable(self.plan.game) and all(map(self.players.is_fixed, names))):
            return None
        before = self.journal.computed.get(meeting._replace(round=1))
        if before is not None:
            result = before.match
        else:
            try:
                result = match(*self.players.pair(*names), self.plan.game, exact=True)
            except ResultFileError:  # of kept answers, for which no entry is to blame
                raise
            except Exception:  # one of the two fails somewhere: games show who loses by that
                return None
        return Computed(result, tuple(self._played(meeting, number) for number in range(2)))

    def _played(self, meeting: Meeting, number: int) -> Played:
        """The game of this number, whose random numbers depend on the seed, the round and the names alone."""
        names = (crc32(name.encode()) for name in meeting[1:])
        key = (meeting.round, *names, number)
        rng = np.random.default_rng(np.random.SeedSequence(self.plan.seed, spawn_key=key))
        return play_to_the_end(*self.players.pair(*meeting.seated(number)), rng)

    def games_of(self, meeting: Meeting) -> tuple[Played, ...]:
        """The games of a meeting: those that count or, where it is computed, examples."""
        if (computed := self.journal.computed.get(meeting)) is not None:
            return computed.examples
        return tuple(self.journal.games.get(meeting, ()))

    def _encounter(self, meeting: Meeting) -> Encounter | None:
        """What has come of a meeting, None if it is not finished."""
        if meeting not in self._finished:
            games = self.journal.games.get(meeting, [])
            if (computed := self.journal.computed.get(meeting)) is not None:
                result = computed.match
            elif len(games) == self.plan.games:
                result = match_of_games(games)
            else:
                return None
            self._finished[meeting] = Encounter(*meeting, result)
        return self._finished[meeting]


def play_to_the_end(x: Agent, o: Agent, rng: np.random.Generator) -> Played:
    """A game of `x` moving first against `o`; who names no free cell, or fails in any way, has lost it.

    Raises `NotCountedError` where one of them cannot be asked at all.
    """
    cells: list[int] = []
    forfeit = None
    try:
        for cell in moves_between(x, o, rng):
            cells.append(cell)
    except ForfeitError as error:
        forfeit = error.forfeit
    except UntrustedAnswersError as error:
        forfeit = _forfeit(x.game, cells, "unreadable", str(error))
    except (NotJudgedError, PlayerError) as error:
        raise NotCountedError(SEATS[len(cells) % 2], reason_of(error)) from error
    except Exception as error:  # nothing that an entry does may end the tournament
        forfeit = _forfeit(x.game, cells, "crashed", f"{type(error).__name__}: {error}")
    for seat, agent in enumerate((x, o)):
        try:
            agent.check_asked()
        except UntrustedAnswersError as error:
            own = range(seat, len(cells), 2)
            del cells[own[-1] if own else len(cells) :]  # its last move is the first thing not believed
            forfeit = _forfeit(x.game, cells, "unreadable", str(error))
    return Played(GameRecord(x.game, tuple(cells)), forfeit)


def _forfeit(game: Game, cells: list[int], outcome: Outcome, said: str) -> Forfeit:
    """The forfeit of who is to move after these cells."""
    return Forfeit(GameRecord(game, tuple(cells)).positions()[-1], outcome, said[:1000])


def reason_of(error: NotJudgedError | PlayerError) -> str:
    """The reason why a player is not judged, without its name."""
    if isinstance(error, NotJudgedError):
        return f"{error.reason} in position {error.position}"
    return str(error)


def match_of_games(games: Sequence[Played]) -> Match:
    """The sampled match that these games are, from the side of the first."""
    counts = np.zeros((2, 3), np.int64)
    losses: tuple[list[Forfeited], list[Forfeited]] = [], []
    for number, played in enumerate(games):
        seat = number % 2  # of the first: X in games of even number
        end = 1 if played.winner is None else 0 if (played.winner == "X") == (seat == 0) else 2
        counts[seat, end] += 1
        if played.forfeit is not None:
            position, outcome, said = played.forfeit
            losses[0 if end == 2 else 1].append(Forfeited(outcome, 1, str(position), said))
    first, second = (summed(tuple(each)) for each in losses)
    return match_of(counts, (first, second))


def _compared(file: Path, ours: Certificate | None) -> str:
    """What became of the certificate in a file that an entry brought: it is not believed, but checked."""
    try:
        theirs = Certificate.load(file)
    except ResultFileError as error:
        why = str(error).replace(str(file), file.name)  # no path of this machine goes into the results
        return f"the certificate that it brought cannot be read: {why}"
    if ours is None:
        return "the certificate that it brought is not checked, so it does not count"
    if theirs.game != ours.game:
        return f"the certificate that it brought is of {theirs.game.name}"
    for key in _COMPARED:
        said, found = getattr(theirs, key), getattr(ours, key)
        if said != found:
            return f"the certificate that it brought is wrong: it says {key} = {said}, and here it is {found}"
    return "the certificate that it brought is confirmed"


def _check_folder(folder: Path) -> None:
    """Raise `ParameterError` for a folder that holds something else than a tournament."""
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{str(folder)!r} is no folder: choose another one (--out)")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / JOURNAL).is_file():
        raise ParameterError(f"{str(folder)!r} is not empty, and no tournament's: choose another one (--out)")


def _remove(folder: Path) -> None:
    """Remove what an earlier run has left beside its journal; files of others stay."""
    for name in (ANSWERS, CERTIFICATES, *WRITTEN):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
