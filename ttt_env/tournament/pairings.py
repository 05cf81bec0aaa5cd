"""The single matches of a tournament, which may be played in any process and in any order."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from traceback import walk_tb
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ttt_env.agent import Agent, AgentLike, Floats, make_agent
from ttt_env.analysis.evaluation import (
    Exploitability,
    Forfeits,
    Match,
    Result,
    exploitability,
    match,
    match_of,
    summed,
)
from ttt_env.analysis.recorded import RecordedAgent
from ttt_env.errors import NotJudgedError, PlayerError, PolicyError
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_enumerable, is_tabulated

_BATCH = 100


class Field:
    """The agents of a tournament by name, each made once in every process that plays a part of it."""

    def __init__(self, game: Game, entrants: Mapping[str, AgentLike]) -> None:
        self.game, self.entrants = game, entrants
        self._agents: dict[str, Agent] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Field, (self.game, self.entrants)

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
        raise PolicyError(f"asked only now in {boards[0]}: this position had not come up before")


class Entry(NamedTuple):
    """What has to be known about an agent once, before its matches."""

    exploitability: Exploitability | None
    player: Agent | None  # with all the answers it will ever give; None for an agent that is asked again


class NotJudged(NamedTuple):
    """Why an agent could not be judged."""

    name: str
    reason: str


def entry(field: Field, name: str) -> Entry | NotJudged:
    """The exploitability of an agent, None where it cannot be computed, and its answers on small games.

    Whoever plays against a best response meets all positions that he can ever meet. So these answers, which
    may take an agent long to find, are all that its matches need, in whatever process.
    """
    agent = field[name]
    if not (agent.is_fixed and is_enumerable(field.game)):
        return Entry(None, None)
    try:
        exploited = exploitability(agent, field.game)
    except (NotJudgedError, PlayerError) as error:
        return NotJudged(name, str(error))
    if not isinstance(agent, RecordedAgent):
        return Entry(exploited, None)
    player = copy(agent)
    player.agent = _Absent(field.game)
    return Entry(exploited, player)


def pairing(
    field: Field, entropy: int, width: float, max_games: int, first: str, second: str
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
            with _blaming(field, first, second):
                played = match(field[first], field[second], field.game, games=size, rng=rng)
        except (NotJudgedError, PlayerError) as error:
            for name in _raisers(field, error, first, second):
                return NotJudged(name, str(error))
            raise
        if played.exact:
            return played
        counts += np.rint(np.array([played.as_x, played.as_o]) * (size // 2)).astype(np.int64)
        games = int(counts.sum())
        of_first, of_second = zip(forfeits, played.forfeits, strict=True)
        forfeits = summed(sum(of_first, ())), summed(sum(of_second, ()))
        pooled = match_of(counts, forfeits)
        if width_of(pooled) <= width or games > max_games - 2:
            return pooled


@contextmanager
def _blaming(field: Field, *names: str) -> Iterator[None]:
    """Add a note to an error that says which of these agents raised it."""
    try:
        yield
    except Exception as error:
        for name in _raisers(field, error, *names):
            error.add_note(f"raised by the agent {name!r}")
        raise


def _raisers(field: Field, error: BaseException, *names: str) -> list[str]:
    """Which of these agents raised an error."""
    selves = [frame.f_locals.get("self") for frame, _ in walk_tb(error.__traceback__)]
    return [name for name in names if any(field[name] is each for each in selves)]


def width_of(played: Match) -> float:
    """How wide the 95 % interval of the score is; 0 if the match is exact."""
    low, high = played.interval or (0.0, 0.0)
    return high - low


def margin_of(played: Match) -> float:
    """How far the 95 % interval reaches from the score: half its width, unless it is cut off at 1 or −1."""
    low, high = played.interval or (played.score, played.score)
    return max(high - played.score, played.score - low)


def turned(played: Match) -> Match:
    """The same match from the second agent's side."""
    as_x, as_o = (Result(*reversed(result)) for result in (played.as_o, played.as_x))
    interval = played.interval and (-played.interval[1], -played.interval[0])
    forfeits = played.forfeits[1], played.forfeits[0]
    return replace(played, as_x=as_x, as_o=as_o, interval=interval, forfeits=forfeits)
