"""The proved facts about an agent, for the page: its certificate, and the games that refute it."""

from dataclasses import dataclass
from typing import Any

from ttt_env.analysis.certificate import certify
from ttt_env.analysis.dossier import LADDER, dossier
from ttt_env.analysis.evaluation import Result
from ttt_env.analysis.verdict import verdict_of
from ttt_env.app.web.roster import Roster
from ttt_env.render.words import RESULTS
from ttt_env.rules.game import SEATS, Game, Seat
from ttt_env.rules.notation import GameRecord


@dataclass(frozen=True, eq=False)
class Proved:
    """An agent's certificate: what `dossier` says, for JSON, and the refuting games by the agent's seat."""

    facts: dict[str, Any]
    refutations: dict[Seat, GameRecord]

    @property
    def is_unbeatable(self) -> bool:
        """True if it gets at least the value of the game, on both seats, in every game that it can reach."""
        return bool(self.facts["unbeatable"])

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return verdict_of(self.is_unbeatable)

    def worst(self, seat: Seat) -> str:
        """The agent's worst result on this seat, in words."""
        return RESULTS[self.facts["worst_case"][seat]]

    def exploited(self, seat: Seat) -> float:
        """The score of a best response against the agent on this seat, wins − losses."""
        return float(self.facts["exploitability"][f"as_{seat}"])

    @property
    def results(self) -> list[tuple[str, list[Result]]]:
        """The results against each opponent of the ladder, as X and as O."""
        return [
            (opponent, [Result(**results[f"as_{seat}"]) for seat in SEATS])
            for opponent, results in self.facts["results"].items()
        ]


def prove(roster: Roster, game: Game, agent: str) -> Proved:
    """The certificate of an agent. Raises as `Roster.fixed` does."""
    facts = dossier(roster.fixed(agent, game), game, name=agent, opponents=LADDER)
    records = {seat: text and GameRecord.parse(text, game) for seat, text in facts["refutations"].items()}
    return Proved(facts, {seat: record for seat, record in records.items() if record})


def picture(roster: Roster, game: Game, agent: str) -> str:
    """The verdict and the refuting games as an SVG document."""
    return certify(roster.fixed(agent, game), game).picture().svg
