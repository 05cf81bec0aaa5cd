"""The tournament of a file: its certificates, matches and games."""

from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations
from typing import NamedTuple, Self
from zlib import crc32

import numpy as np

from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.evaluation import match
from ttt_env.analysis.results import Match, match_of_games
from ttt_env.bots.plan import TournamentPlan
from ttt_env.bots.players import Players
from ttt_env.errors import FileError, NoVerdictError, PlayerError, missing_extra
from ttt_env.rules import SEATS
from ttt_env.tournament.matches import (
    NotCountedError,
    Pair,
    PlayedGame,
    UnjudgedAgent,
    play_to_the_end,
    reason_of,
)
from ttt_env.tournament.tournament import Tournament

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
    """A tournament, which is played by `play`; until it has ended, the results are those so far.

    `say` is called with the current step.

    Raises `FileError` if fewer than two entries can play, `ImportError` if the extra `tournament`
    is not installed.
    """

    def __init__(self, plan: TournamentPlan, say: StatusReport = lambda _: None) -> None:
        self.plan, self._say = plan, say
        if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
            raise missing_extra(f"a tournament needs {', '.join(missing)} of", "tournament")
        self.players = Players(plan, say)
        if len(self.players.names) < 2:
            reason = "".join(f"\n  {name}: {why}" for name, why in self.players.set_aside.items())
            raise FileError(f"fewer than two entries can play:{reason}")
        self.schedule = [Pair(*pair) for pair in combinations(self.players.names, 2)]
        self.verdicts: dict[str, Verdict] = {}
        self.matches: dict[Pair, Match] = {}
        """The matches that are finished."""
        self.games: dict[Pair, list[PlayedGame]] = {pair: [] for pair in self.schedule}
        """The games of each match; examples if it is computed."""
        self.not_judged: dict[Pair, UnjudgedAgent] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.players.close()

    @property
    def tournament(self) -> Tournament:
        """The results of all matches that are finished."""
        names = self.players.names
        unjudged = self.players.set_aside | dict(self.not_judged.values())
        return Tournament(self.plan.game, names, self.matches, dict.fromkeys(names), not_judged=unjudged)

    def play(self) -> None:
        """Certify the entries, and play the matches."""
        for name in self.players.names:
            self._say(f"asking {name}")
            self.verdicts[name] = self._verdict(name)
        for pair in self.schedule:
            self._play_match(pair)

    def _verdict(self, name: str) -> Verdict:
        try:
            table = self.players.table(name)
            return Verdict(None, table) if isinstance(table, str) else Verdict(certify(table, complete=True))
        except (NoVerdictError, PlayerError) as error:
            return Verdict(None, not_judged=reason_of(error))
        except Exception as error:  # nothing that an entry does may end the tournament
            return Verdict(None, f"it raises an error: {type(error).__name__}: {error}")

    def _play_match(self, pair: Pair) -> None:
        """Compute a match and play two examples, or play its games."""
        text, games = f"{pair.first} v {pair.second}", self.games[pair]
        self._say(text)
        is_computed = self.plan.exact and all(self.verdicts[name].certificate is not None for name in pair)
        if is_computed:
            self.matches[pair] = match(*self.players.players_of(*pair), self.plan.game, exact=True)
        for number in range(2 if is_computed else self.plan.games):
            if not is_computed:
                self._say(f"{text}, game {number + 1} of {self.plan.games}")
            try:
                games.append(self._play(pair, number))
            except NotCountedError as error:
                x, o = pair.seated(number)
                self.not_judged[pair] = UnjudgedAgent(x if error.seat == "X" else o, str(error))
                return
        if not is_computed:
            self.matches[pair] = match_of_games(
                (SEATS[number % 2], each.record, each.forfeit) for number, each in enumerate(games)
            )

    def _play(self, pair: Pair, number: int) -> PlayedGame:
        """The game of this number, whose random numbers depend on the seed and the names alone."""
        key = (*(crc32(name.encode()) for name in pair), number)
        rng = np.random.default_rng(np.random.SeedSequence(self.plan.seed, spawn_key=key))
        return play_to_the_end(*self.players.players_of(*pair.seated(number)), rng)
