"""The single matches of a tournament, which may be played in any process and in any order."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np

from ttt_env.agent import Agent, AgentLike, make_agent
from ttt_env.analysis.evaluation import Exploitability, Match, Result, exploitability, match, match_of
from ttt_env.analysis.recorded import Recorded
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_enumerable, is_tabulated

_BATCH = 100


class Field:
    """The agents of a tournament by name, each made once in every process that plays a part of it."""

    def __init__(self, game: Game, entrants: Mapping[str, AgentLike], token: str | None = None) -> None:
        self.game, self.entrants = game, entrants
        self._token = token or uuid4().hex
        self._agents: dict[str, Agent] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _field, (self._token, self.game, self.entrants)

    def __getitem__(self, name: str) -> Agent:
        if name not in self._agents:
            agent = make_agent(self.entrants[name], self.game)
            is_small = is_tabulated(self.game)
            self._agents[name] = Recorded(agent) if agent.is_fixed and is_small else agent
        return self._agents[name]


_arrived: dict[str, Field] = {}  # by token; in a worker process, the field of the current tournament


def _field(token: str, game: Game, entrants: Mapping[str, AgentLike]) -> Field:
    """The field of this tournament in this process, which its first task makes and later ones share."""
    if token not in _arrived:
        _arrived.clear()
        _arrived[token] = Field(game, entrants, token)
    return _arrived[token]


def strength(field: Field, name: str) -> Exploitability | None:
    """The exploitability of an agent, or None where it cannot be computed."""
    if not (field[name].is_fixed and is_enumerable(field.game)):
        return None
    return exploitability(field[name], field.game)


def pairing(field: Field, first: str, second: str, entropy: int, width: float, max_games: int) -> Match:
    """One match: exact where `match` is, else played until its interval is no wider than `width`.

    Its random numbers depend on `entropy` and the two names alone.
    """
    names = [crc32(name.encode()) for name in (first, second)]
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=names))
    counts, games = np.zeros((2, 3), np.int64), 0
    while True:
        size = min(_BATCH, max_games - games)
        played = match(field[first], field[second], field.game, games=size, rng=rng)
        if played.exact:
            return played
        counts += np.rint(np.array([played.as_x, played.as_o]) * (size // 2)).astype(np.int64)
        games = int(counts.sum())
        pooled = match_of(counts)
        if width_of(pooled) <= width or games > max_games - 2:
            return pooled


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
    return replace(played, as_x=as_x, as_o=as_o, interval=interval)
