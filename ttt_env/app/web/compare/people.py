"""The results of people against agents here, next to the exact chances of a random player."""

from collections.abc import Iterator
from dataclasses import dataclass

from ttt_env.analysis.evaluation import Result
from ttt_env.app.tally import Expectation, SeatTally, Tally, expected, tallies_of
from ttt_env.app.web.games import parse_game
from ttt_env.app.web.roster import Roster
from ttt_env.errors import TttEnvError
from ttt_env.rules import Game, Seat
from ttt_env.storage.game_log import GameLog

MAX_AGENTS = 30
"""The maximum number of agents in a table: the ones with the most games."""


@dataclass(frozen=True)
class PersonalRecord:
    """A tally of the game log, and what a random player would get against the agent."""

    tally: Tally
    expectation: Expectation

    @property
    def seats(self) -> Iterator[tuple[Seat, SeatTally, Result | None]]:
        """Each seat that people have played on, what they got, and what a random player would."""
        for seat, counted in self.tally.seats.items():
            if counted.games:
                yield seat, counted, self.expectation.on(seat)


def tallies_here(log: GameLog, roster: Roster, game: Game, n_games: int) -> list[Tally]:
    """The tallies of the agents that this page knows, by the names that it has for them.

    `n_games` is how many games of this game the log holds: answers are kept by the arguments.
    """
    names = {spec: name for name, spec in roster.models.items()}

    def known(agent: str) -> str | None:
        try:
            return roster.parse(names.get(agent, agent))
        except TttEnvError:
            return None

    return tallies_of(log.games(game), known)


def random_against(roster: Roster, game: Game, agent: str) -> Expectation:
    """The exact result of a random player against an agent of this page, or why there is none."""
    return expected(agent, game, roster.make)


def games_of(log: GameLog) -> dict[str, int]:
    """The number of games in the log, by name, for each game that this page offers."""
    return {name: count for name, count in log.counts().items() if _is_offered(name)}


def _is_offered(name: str) -> bool:
    try:
        return parse_game(name).name == name
    except TttEnvError:
        return False
