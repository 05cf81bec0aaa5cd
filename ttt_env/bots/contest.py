"""The tournament of a file, played in a folder: certificates and matches."""

from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, Self
from zlib import crc32

import numpy as np

from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.evaluation import match
from ttt_env.bots.journal import ExactMatch, Journal
from ttt_env.bots.plan import TournamentPlan
from ttt_env.bots.players import Players
from ttt_env.errors import (
    NoVerdictError,
    ParameterError,
    PlayerError,
    TournamentFileError,
    missing_extra,
)
from ttt_env.tournament.matches import (
    NotCountedError,
    Pair,
    PlayedGame,
    UnjudgedAgent,
    play_to_the_end,
    reason_of,
)
from ttt_env.tournament.tournament import Tournament

JOURNAL, CERTIFICATES = "journal.jsonl", "certificates"
WRITTEN = ("results.json", "table.md", "table.csv", "games.txt", "index.html")
"""The files that show the results."""
_LIBRARIES = ("jinja2", "scipy")
StatusReport = Callable[[str], object]


class Verdict(NamedTuple):
    """The certificate of an entry, or the reason `lack` why there is none.

    `not_judged` is the reason if an accident prevented a verdict.
    """

    certificate: Certificate | None
    lack: str = ""
    not_judged: str = ""


class Contest:
    """A tournament in a folder, which resumes from its journal.

    Certificates are computed again in each run. With `again` the results of entries that have changed are
    replayed, as in `Journal`. `say` is called with the current step.

    Raises `ParameterError` for a folder that holds anything but a tournament, `ImportError` if the extra
    `tournament` is not installed, and as `Players` and `Journal` do; then nothing is played.
    """

    def __init__(
        self, plan: TournamentPlan, folder: Path, *, again: bool = False, say: StatusReport = lambda _: None
    ) -> None:
        self.plan, self.folder, self._say = plan, folder, say
        if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
            raise missing_extra(f"a tournament needs {', '.join(missing)} of", "tournament")
        if folder.exists() and not folder.is_dir():
            raise ParameterError(f"{str(folder)!r} is not a folder: choose another one (--out)")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / JOURNAL).is_file():
            raise ParameterError(
                f"{str(folder)!r} is not empty and holds no tournament: choose another one (--out)"
            )
        self.players = Players(plan, say)
        if len(self.players.names) < 2:
            reason = "".join(f"\n  {name}: {why}" for name, why in self.players.set_aside.items())
            raise TournamentFileError(f"fewer than two entries can play:{reason}")
        self.journal = Journal(folder / JOURNAL, plan, self.players.fingerprints, again)
        kept_files = {self.certificate_file(name) for name in {*plan.names} - self.journal.forgotten}
        for path in {*(folder / CERTIFICATES).glob("*.certificate.json")} - kept_files:
            path.unlink()
        if self.journal.forgotten == {*plan.names}:
            for path in (folder / name for name in WRITTEN):
                path.unlink(missing_ok=True)
        self.verdicts: dict[str, Verdict] = {}
        self.schedule = [Pair(*pair) for pair in combinations(self.players.names, 2)]
        self.not_judged: dict[Pair, UnjudgedAgent] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.players.close()
        self.journal.close()

    @property
    def tournament(self) -> Tournament:
        """The results of all matches that are finished."""
        finished = {at: match for at in self.schedule if (match := self.journal.match(at)) is not None}
        names = self.players.names
        unjudged = self.players.set_aside | dict(self.not_judged.values())
        return Tournament(self.plan.game, names, finished, dict.fromkeys(names), not_judged=unjudged)

    def play(self) -> None:
        """Certify the entries, and play the missing matches.

        Raises `ResultFileError` if the journal cannot be written.
        """
        for name in self.players.names:
            self._say(f"asking {name}")
            self.verdicts[name] = self._verdict(name)
        for pair in self.schedule:
            self._play_match(pair)

    def _verdict(self, name: str) -> Verdict:
        try:
            table = self.players.table(name)
            if isinstance(table, str):
                return Verdict(None, table)
            certificate = certify(table, complete=True)  # a file in the folder is not trusted
        except (NoVerdictError, PlayerError) as error:
            return Verdict(None, not_judged=reason_of(error))
        except Exception as error:  # nothing that an entry does may end the tournament
            return Verdict(None, f"it raises an error: {type(error).__name__}: {error}")
        certificate.save(self.certificate_file(name))
        return Verdict(certificate)

    def certificate_file(self, name: str) -> Path:
        """The file of an entry's certificate."""
        return self.folder / CERTIFICATES / f"{self.players.file_name(name)}.certificate.json"

    def _play_match(self, pair: Pair) -> None:
        """Compute a match, or play its games, as far as the journal does not hold them."""
        if self.journal.match(pair) is not None:
            return
        text = f"{pair.first} v {pair.second}"
        self._say(text)
        if pair not in self.journal.games and (computed := self._compute(pair)) is not None:
            self.journal.add_computed(pair, computed)
        while self.journal.match(pair) is None:
            number = len(self.journal.games.get(pair, ()))
            self._say(f"{text}, game {number + 1} of {self.plan.games}")
            try:
                self.journal.add_game(pair, self._play(pair, number))
            except NotCountedError as error:
                x, o = pair.seated(number)
                self.not_judged[pair] = UnjudgedAgent(x if error.seat == "X" else o, str(error))
                return

    def _compute(self, pair: Pair) -> ExactMatch | None:
        if not self.plan.exact or any(self.verdicts[name].certificate is None for name in pair):
            return None
        result = match(*self.players.players_of(*pair), self.plan.game, exact=True)
        return ExactMatch(result, tuple(self._play(pair, number) for number in range(2)))

    def _play(self, pair: Pair, number: int) -> PlayedGame:
        """The game of this number, whose random numbers depend on the seed and the names alone."""
        key = (*(crc32(name.encode()) for name in pair), number)
        rng = np.random.default_rng(np.random.SeedSequence(self.plan.seed, spawn_key=key))
        return play_to_the_end(*self.players.players_of(*pair.seated(number)), rng)

    def games_of(self, pair: Pair) -> tuple[PlayedGame, ...]:
        """The games of a match; examples if it is computed."""
        if (computed := self.journal.computed.get(pair)) is not None:
            return computed.examples
        return tuple(self.journal.games.get(pair, ()))
