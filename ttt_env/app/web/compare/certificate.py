"""The proved facts about an agent, for the page: its certificate, and the games that refute it."""

from dataclasses import dataclass
from typing import Any

from ttt_env.analysis.certificate import Certificate
from ttt_env.analysis.dossier import LADDER, Strength, dossier
from ttt_env.analysis.evaluation import Exploitability, Match
from ttt_env.analysis.verdict import verdict_of
from ttt_env.app.web.roster import Roster
from ttt_env.render.words import RESULTS
from ttt_env.rules import Game, GameRecord, Seat


@dataclass(frozen=True, eq=False)
class Proved:
    """An agent's certificate, exploitability and results against the ladder; `facts` are its `dossier`."""

    certificate: Certificate
    exploitability: Exploitability
    matches: dict[str, Match]
    facts: dict[str, Any]

    @property
    def refutations(self) -> dict[Seat, GameRecord]:
        """The refuting games by the agent's seat."""
        return {seat: record for seat, record in self.certificate.refutations.items() if record is not None}

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return verdict_of(self.certificate.unbeatable)

    def worst(self, seat: Seat) -> str:
        """The agent's worst result on this seat, in words."""
        return RESULTS[self.certificate.worst_case[seat]]


def prove(roster: Roster, game: Game, agent: str) -> Proved:
    """The certificate of an agent. Raises as `Roster.fixed` does."""
    strength = Strength.of(roster.fixed(agent, game), game)
    facts = dossier(strength, name=agent)
    matches = {opponent: strength.match(opponent) for opponent in LADDER}
    return Proved(strength.certificate, strength.exploitability, matches, facts)
