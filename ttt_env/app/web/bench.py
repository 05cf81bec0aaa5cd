"""The objects that compute answers about games and agents, for the pages' process and for the sweeps'."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ttt_env.app.web.inside.values import Foreseer
from ttt_env.app.web.insight import Sage
from ttt_env.app.web.roster import Roster


@dataclass
class Bench:
    """The agents, and who computes what is known about them and keeps what that takes."""

    roster: Roster
    foreseer: Foreseer = field(default_factory=Foreseer)

    def __post_init__(self) -> None:
        self.sage = Sage(self.roster)

    @classmethod
    def of(cls, models: Mapping[str, str], games_file: Path | None) -> "Bench":
        """The bench with a roster of these models, as `Roster` takes them."""
        return cls(Roster(models, games_file))
