"""Meetings of two players on both seats, computed or played, in any process and in any order."""

from collections.abc import Mapping
from copy import copy
from traceback import walk_tb
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ttt_env.agent import FORFEITS, Agent, AgentLike, Floats, Forfeit, Outcome, make_agent
from ttt_env.analysis.evaluation import exploitability, match
from ttt_env.analysis.play import moves_between
from ttt_env.analysis.recorded import RecordedAgent
from ttt_env.analysis.results import Exploitability, Forfeits, Match, match_of, summed
from ttt_env.errors import ForfeitError, NotJudgedError, PlayerError, PolicyError, UntrustedAnswersError
from ttt_env.rules import SEATS, Boards, Game, GameRecord, Seat, is_enumerable, is_tabulated, other_seat
from ttt_env.storage import Fields

_BATCH = 100


class Meeting(NamedTuple):
    """Two players; the first has X in their games of even number."""

    first: str
    second: str

    def seated(self, number: int) -> tuple[str, str]:
        """The players of X and O in the game of this number, counted from 0."""
        return (self.first, self.second) if number % 2 == 0 else (self.second, self.first)


class NotJudged(NamedTuple):
    """The player that could not be asked, and the reason."""

    name: str
    reason: str


def both_sides(meetings: Mapping[Meeting, Match]) -> dict[tuple[str, str], Match]:
    """The match of each pair that has met, from both sides."""
    matches: dict[tuple[str, str], Match] = {}
    for (first, second), played in meetings.items():
        matches |= {(first, second): played, (second, first): played.turned()}
    return matches


class Played(NamedTuple):
    """A game that was played, and by which forfeit it ended, if by one."""

    record: GameRecord
    forfeit: Forfeit | None = None

    @property
    def winner(self) -> Seat | None:
        """The seat that won, None for a draw."""
        if self.forfeit is None:
            return self.record.winner
        return other_seat(self.forfeit.position.to_move)

    @property
    def value(self) -> int:
        """The value for X: 1 won, 0 drawn, −1 lost."""
        return {"X": 1, None: 0, "O": -1}[self.winner]

    def to_dict(self) -> dict[str, Any]:
        """The game as a dictionary that JSON can hold."""
        outcome, said = (None, "") if self.forfeit is None else self.forfeit[1:]
        return {"record": str(self.record), "forfeit": outcome, "said": said}

    @classmethod
    def read(cls, data: Fields, game: Game) -> "Played":
        """The game whose `to_dict` gave this. Raises `ResultFileError` for one that cannot end so."""
        record = data.record("record", game)
        said = data.text("said")
        if data.is_null("forfeit") is not record.is_over:
            raise data.error("record", f"{record}, which ends on the board or in a forfeit, and not in both")
        if record.is_over:
            return cls(record)
        outcome = data.choice("forfeit", FORFEITS)
        return cls(record, Forfeit(record.positions()[-1], outcome, said))


class NotCountedError(Exception):
    """A game that does not count, since the player on this seat could not be asked at all."""

    def __init__(self, seat: Seat, reason: str) -> None:
        super().__init__(reason)
        self.seat = seat


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
    return Forfeit(GameRecord(game, tuple(cells)).positions()[-1], outcome, said[:1000])


def reason_of(error: NotJudgedError | PlayerError) -> str:
    """The reason why a player is not judged, without its name."""
    if isinstance(error, NotJudgedError):
        return f"{error.reason} in position {error.position}"
    return str(error)


class AgentsByName:
    """The agents of a tournament by name, each made once in every process that plays a part of it."""

    def __init__(self, game: Game, entrants: Mapping[str, AgentLike]) -> None:
        self.game, self.entrants = game, entrants
        self._agents: dict[str, Agent] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return AgentsByName, (self.game, self.entrants)

    def __getitem__(self, name: str) -> Agent:
        if name not in self._agents:
            agent = make_agent(self.entrants[name], self.game)
            is_kept = agent.is_fixed and is_tabulated(self.game) and not isinstance(agent, RecordedAgent)
            self._agents[name] = RecordedAgent(agent) if is_kept else agent
        return self._agents[name]


class _Absent(Agent):
    """Stands for an agent that has answered in all positions that it can meet, and stays where it did."""

    is_fixed = True

    def policies(self, boards: Boards) -> Floats:
        raise PolicyError(f"asked only now in {boards[0]}: this position had not been reached before")


class Examined(NamedTuple):
    """An agent before its matches."""

    exploitability: Exploitability | None
    player: Agent | None  # with all the answers it will ever give; None for an agent that is asked again


def examined(agents: AgentsByName, name: str) -> Examined | NotJudged:
    """The exploitability of an agent, None where it cannot be computed, and its answers on small games.

    Whoever plays against a best response meets all positions that he can ever meet. So these answers, which
    may take an agent long to find, are all that its matches need, in whatever process.
    """
    agent = agents[name]
    if not (agent.is_fixed and is_enumerable(agents.game)):
        return Examined(None, None)
    try:
        exploited = exploitability(agent, agents.game)
    except (NotJudgedError, PlayerError) as error:
        return NotJudged(name, str(error))
    if not isinstance(agent, RecordedAgent):
        return Examined(exploited, None)
    player = copy(agent)
    player.agent = _Absent(agents.game)
    return Examined(exploited, player)


def pairing(
    agents: AgentsByName, entropy: int, width: float, max_games: int, first: str, second: str
) -> Match | NotJudged:
    """One match: exact where `match` is, else played until its interval is no wider than `width`.

    Its random numbers depend on `entropy` and the two names alone. Instead of the match, the one of the two
    that cannot be asked.
    """
    names = [crc32(name.encode()) for name in (first, second)]
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=names))
    counts, games = np.zeros((2, 3), np.int64), 0
    forfeits: Forfeits = ((), ())
    while True:
        size = min(_BATCH, max_games - games)
        try:
            played = match(agents[first], agents[second], agents.game, games=size, rng=rng)
        except Exception as error:
            selves = [frame.f_locals.get("self") for frame, _ in walk_tb(error.__traceback__)]
            for name in (first, second):
                if any(agents[name] is each for each in selves):
                    if isinstance(error, NotJudgedError | PlayerError):
                        return NotJudged(name, str(error))
                    error.add_note(f"raised by the agent {name!r}")
            raise
        if played.exact:
            return played
        counts += np.rint(np.array([played.as_x, played.as_o]) * (size // 2)).astype(np.int64)
        games = int(counts.sum())
        of_first, of_second = zip(forfeits, played.forfeits, strict=True)
        forfeits = summed(sum(of_first, ())), summed(sum(of_second, ()))
        together = match_of(counts, forfeits)
        if together.width <= width or games > max_games - 2:
            return together
