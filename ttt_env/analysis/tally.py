"""The results of people against agents, from the game log, beside the results of a random player."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ttt_env.agent import make_agent, stationary_agent
from ttt_env.analysis.evaluation import match
from ttt_env.analysis.results import Match, Result
from ttt_env.errors import GameTooLargeError, PolicyError, TttEnvError
from ttt_env.rules import SEATS, Game, Seat, check_tabulated, get_game, n_placements
from ttt_env.storage.game_log import PERSON, GameLog, LoggedGame

_MAX_SECONDS = 20.0  # the time limit for an agent's policy in all positions


@dataclass
class SeatTally:
    """The finished games that people won, drew and lost on a seat."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """The number of games."""
        return self.wins + self.draws + self.losses

    def count(self, winner: Seat | None, seat: Seat) -> None:
        """Add a game of a person on this seat."""
        if winner is None:
            self.draws += 1
        elif winner == seat:
            self.wins += 1
        else:
            self.losses += 1


@dataclass(frozen=True)
class Tally:
    """The games of people against an agent, by the seat of the person."""

    game: str
    agent: str
    seats: dict[Seat, SeatTally] = field(default_factory=lambda: {seat: SeatTally() for seat in SEATS})

    @property
    def games(self) -> int:
        """The number of games, on both seats."""
        return sum(seat.games for seat in self.seats.values())


@dataclass(frozen=True)
class Expectation:
    """The exact result of a random player against an agent; if there is none, `lack` is the reason."""

    of_random: Match | None
    lack: str = ""

    def on(self, seat: Seat) -> Result | None:
        """The result of the random player on this seat."""
        if self.of_random is None:
            return None
        return self.of_random.as_x if seat == "X" else self.of_random.as_o


def tallies_of(games: Iterable[LoggedGame]) -> list[Tally]:
    """The tally of each agent that people have finished a game against, most games first."""
    tallies: dict[str, Tally] = {}
    for record, x, o, *_ in games:
        end, players = record.positions()[-1], (x, o)
        if not end.is_over or None in players or players.count(PERSON) != 1:
            continue
        seat = SEATS[players.index(PERSON)]
        agent = str(players[1 - players.index(PERSON)])
        tally = tallies.setdefault(agent, Tally(record.game.name, agent))
        tally.seats[seat].count(end.winner, seat)
    return sorted(tallies.values(), key=lambda tally: (-tally.games, tally.agent))


def expected_result(agent: str, game: Game) -> Expectation:
    """The exact result of the random player against the agent of this name, or why there is none.

    There is none for an agent without a fixed policy, for a game of more than 12 cells, and for an agent that
    would search too long.
    """
    try:
        check_tabulated(game, "to compute what is expected")
        player = make_agent(agent, game, trusted=False)  # the log may be another person's
        player = stationary_agent(player, game)
        if player.seconds_per_move * n_placements(game) > _MAX_SECONDS:
            raise GameTooLargeError(f"{agent} would take too long in all positions of {game.name}")
        return Expectation(match("random", player, game, exact=True))
    except PolicyError:
        return Expectation(None, f"{agent} has no fixed policy; a seed gives it one, if it takes one")
    except (TttEnvError, ImportError) as error:
        return Expectation(None, str(error))


def tallies_in(log: GameLog) -> Iterator[tuple[Tally, Expectation]]:
    """Each tally of the log, with the expectation. Games of a name that is unknown here are omitted."""
    for name in log.counts():
        try:
            game = get_game(name)
            games = log.games(game)
        except TttEnvError:
            continue
        for tally in tallies_of(games):
            yield tally, expected_result(tally.agent, game)


def facts_of(tally: Tally, expectation: Expectation) -> dict[str, Any]:
    """A tally and its expectation as dictionaries for JSON."""
    facts: dict[str, Any] = {"game": tally.game, "agent": tally.agent}
    for seat, counted in tally.seats.items():
        result = expectation.on(seat)
        random: Mapping[str, float] | None = None if result is None else result._asdict()
        facts[f"as_{seat.lower()}"] = {**vars(counted), "random": random}
    return facts | ({"lack": expectation.lack} if expectation.lack else {})
