"""The single matches of a tournament, and what lets them be played in any process and order."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4
from zlib import crc32

import numpy as np

from ttt_env.agent import Agent, AgentLike, BatchAgent, Floats, checked_policies, make_agent
from ttt_env.analysis.evaluation import Exploitability, Match, Result, exploitability, match, match_of
from ttt_env.analysis.grid import grid
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_enumerable, is_tabulated

_BATCH = 100


class Remembered(BatchAgent):
    """A fixed agent that is asked once for each position, however often it plays."""

    def __init__(self, agent: Agent) -> None:
        super().__init__(agent.game)
        self._agent = agent
        n_cells = self.game.n_cells
        sizes = [grid(n_cells, ply).n_slots for ply in range(n_cells)]
        self._tables = [np.empty((size, n_cells)) for size in sizes]
        self._known = [np.zeros(size, np.bool_) for size in sizes]

    def __repr__(self) -> str:
        return repr(self._agent)

    def policies(self, boards: Boards) -> Floats:
        """The move probabilities, `[B, cells]`, of positions to be played that have one ply."""
        ply = int(boards.ply[0])
        slots = grid(self.game.n_cells, ply).slots(boards.mine, boards.theirs)
        table, known = self._tables[ply], self._known[ply]
        new = np.flatnonzero(~known[slots])
        if len(new):
            table[slots[new]] = checked_policies(self._agent, boards[new])
            known[slots[new]] = True
        return table[slots]


class Field:
    """The agents of a tournament by name, each made once in every process that plays a part of it."""

    def __init__(self, game: Game, entrants: Mapping[str, AgentLike], token: str | None = None) -> None:
        self.game, self.entrants = game, entrants
        self._token = token or uuid4().hex
        self._made: dict[str, Agent] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _field, (self._token, self.game, self.entrants)

    def __getitem__(self, name: str) -> Agent:
        if name not in self._made:
            agent = make_agent(self.entrants[name], self.game)
            is_small = is_tabulated(self.game)
            self._made[name] = Remembered(agent) if agent.is_fixed and is_small else agent
        return self._made[name]


_arrived: dict[str, Field] = {}


def _field(token: str, game: Game, entrants: Mapping[str, AgentLike]) -> Field:
    """The field that came with another task of the same tournament, or this one if it is the first."""
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


def width_of(found: Match) -> float:
    """How wide the 95 % interval of the score is; 0 if the match is exact."""
    low, high = found.interval or (0.0, 0.0)
    return high - low


def margin_of(found: Match) -> float:
    """How far the 95 % interval goes from the score: half its width where 1 or −1 does not end it."""
    low, high = found.interval or (found.score, found.score)
    return max(high - found.score, found.score - low)


def turned(found: Match) -> Match:
    """The same match from the second agent's side."""
    as_x, as_o = (Result(*reversed(seat)) for seat in (found.as_o, found.as_x))
    interval = found.interval and (-found.interval[1], -found.interval[0])
    return Match(as_x, as_o, found.exact, found.games, interval)
