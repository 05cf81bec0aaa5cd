"""Matches of two players on both seats, computed or played; processes and order do not change the results."""

from collections.abc import Mapping
from traceback import walk_tb
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from ttt_env.agent import Agent, AgentLike, AskedAgent, Forfeit, Outcome, answer_of, make_agent
from ttt_env.analysis.asking import AskProgress
from ttt_env.analysis.evaluation import exact_match, exploitability, sampled_games
from ttt_env.analysis.play import moves_between
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.analysis.results import Ending, Exploitability, Match, match_of_games
from ttt_env.errors import ForfeitError, NoVerdictError, PlayerError
from ttt_env.rules import SEATS, Game, GameRecord, Position, Seat, is_enumerable, is_tabulated, other_seat

_BATCH = 100


class Pair(NamedTuple):
    """Two players; the first is X in their even-numbered games."""

    first: str
    second: str

    def seated(self, number: int) -> tuple[str, str]:
        """The players of X and O in the game of this number, counted from 0."""
        return (self.first, self.second) if number % 2 == 0 else (self.second, self.first)


class UnjudgedAgent(NamedTuple):
    """A player whose answers could not be obtained, and the reason."""

    name: str
    reason: str


def both_sides(pairs: Mapping[Pair, Match]) -> dict[tuple[str, str], Match]:
    """The match of each pair, from the side of each player."""
    matches: dict[tuple[str, str], Match] = {}
    for (first, second), match in pairs.items():
        matches |= {(first, second): match, (second, first): match.swap_agents()}
    return matches


class PlayedGame(NamedTuple):
    """A game that was played, and the forfeit that ended it, if there was one."""

    record: GameRecord
    forfeit: Forfeit | None = None

    @property
    def winner(self) -> Seat | None:
        """The seat that won; None for a draw."""
        if self.forfeit is None:
            return self.record.winner
        return other_seat(self.forfeit.position.to_move)

    @property
    def value(self) -> int:
        """The value for X, 1 won, 0 drawn, −1 lost."""
        return {"X": 1, None: 0, "O": -1}[self.winner]

    def to_dict(self) -> dict[str, Any]:
        """The game as a dictionary for JSON."""
        outcome, reply = (None, "") if self.forfeit is None else self.forfeit[1:]
        return {"record": str(self.record), "forfeit": outcome, "reply": reply}


class NotCountedError(Exception):
    """A game that does not count, since an accident prevented the answer of the player on this seat."""

    def __init__(self, seat: Seat, reason: str) -> None:
        super().__init__(reason)
        self.seat = seat


def play_to_the_end(x: Agent, o: Agent, rng: np.random.Generator) -> PlayedGame:
    """A game of `x` moving first against `o`; a player that names no free cell, or raises an error, loses.

    Raises `NotCountedError` if an accident prevents an answer of one of them.
    """
    cells: list[int] = []
    forfeit = None
    try:
        for cell in moves_between(x, o, rng):
            cells.append(cell)
    except ForfeitError as error:
        forfeit = error.forfeit
    except (NoVerdictError, PlayerError) as error:
        raise NotCountedError(SEATS[len(cells) % 2], reason_of(error)) from error
    except Exception as error:  # nothing that an entry does may end the tournament
        forfeit = _forfeit(x.game, cells, "raised", f"{type(error).__name__}: {error}")
    return PlayedGame(GameRecord(x.game, tuple(cells)), forfeit)


def _forfeit(game: Game, cells: list[int], outcome: Outcome, reply: str) -> Forfeit:
    return Forfeit(GameRecord(game, tuple(cells)).positions()[-1], outcome, reply[:1000])


def reason_of(error: NoVerdictError | PlayerError) -> str:
    """The reason why a player is not judged, without its name."""
    if isinstance(error, NoVerdictError):
        return f"{error.reason} in position {error.position}"
    return str(error)


class AgentsByName:
    """The agents of a tournament by name, each made once in every process that plays its matches."""

    def __init__(self, game: Game, entrants: Mapping[str, AgentLike]) -> None:
        self.game, self.entrants = game, entrants
        self._agents: dict[str, Agent] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return AgentsByName, (self.game, self.entrants)

    def __getitem__(self, name: str) -> Agent:
        if name not in self._agents:
            self._agents[name] = make_agent(self.entrants[name], self.game)
        return self._agents[name]


N_REPEATED_QUERIES = 20
"""The number of positions in which a bot is queried twice, to test that it repeats itself."""


def judged_table(agent: Agent, progress: AskProgress | None = None) -> PolicyTable | str:
    """The answers of an agent in all positions that it can reach, or the reason why it is not judged by them.

    The game must have few positions, and the agent must declare itself stationary, or be a bot that repeats
    its answers in twenty of the positions. Raises `NoVerdictError` or `PlayerError` for a bot that does not
    answer.
    """
    if not is_tabulated(agent.game):
        return f"{agent.game.name} has too many positions"
    if not (agent.is_stationary or isinstance(agent, AskedAgent)):
        return "it is random"
    table = PolicyTable.of(agent, progress=progress, complete=True)
    if isinstance(agent, AskedAgent):
        for position, cell in _sample_answers(table):
            if answer_of(agent, position).cell != cell:
                return "it is random: asked twice in a position, it gave two answers"
    return table


def _sample_answers(table: PolicyTable) -> list[tuple[Position, int]]:
    """Up to twenty positions of all plies in which the player has answered, with its cells."""
    lost_positions = {forfeit.position for forfeit in table.forfeits}
    positions = [
        position
        for first_ply, seat in enumerate(SEATS)
        for layer in table.layers(seat)[first_ply::2]
        for position in layer.boards(layer.open_slots)
        if position not in lost_positions
    ]
    if not positions:
        return []
    places = np.unique(np.linspace(0, len(positions) - 1, N_REPEATED_QUERIES).round().astype(int)).tolist()
    return [(positions[at], int(table.policy(positions[at]).argmax())) for at in places]


class JudgedAgent(NamedTuple):
    """The exploitability of an agent and the player for its matches."""

    exploitability: Exploitability | None
    player: Agent | None  # its table, with every answer that matches need; None to query the agent again


def judge_agent(agents: AgentsByName, name: str) -> JudgedAgent | UnjudgedAgent:
    """The exploitability of an agent, None where it is not computed, and its table on small games.

    The table has all positions that the agent can reach. So its answers, which may be slow to obtain, are all
    that its matches need, in any process.
    """
    agent = agents[name]
    try:
        if isinstance(table := judged_table(agent), PolicyTable):
            return JudgedAgent(exploitability(table), table)
        return JudgedAgent(
            exploitability(agent) if agent.is_stationary and is_enumerable(agents.game) else None, None
        )
    except (NoVerdictError, PlayerError) as error:
        return UnjudgedAgent(name, str(error))


def play_match(
    agents: AgentsByName, entropy: int, width: float, max_games: int, first: str, second: str
) -> Match | UnjudgedAgent:
    """A match, exact where `match` is, else played until its interval is no wider than `width`.

    Its random numbers depend on `entropy` and the two names alone. If one of the two does not answer, that
    player is returned instead.
    """
    names = [crc32(name.encode()) for name in (first, second)]
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=names))
    one, two = agents[first], agents[second]
    games: list[Ending] = []
    try:
        if (computed := exact_match(one, two, agents.game, max_games // 2)) is not None:
            return computed
        while True:
            games += sampled_games(one, two, min(_BATCH, max_games - len(games)) // 2, rng)
            match = match_of_games(games)
            if match.width <= width or len(games) > max_games - 2:
                return match
    except Exception as error:
        selves = [frame.f_locals.get("self") for frame, _ in walk_tb(error.__traceback__)]
        for name in (first, second):
            if any(agents[name] is each for each in selves):
                if isinstance(error, NoVerdictError | PlayerError):
                    return UnjudgedAgent(name, str(error))
                error.add_note(f"raised by the agent {name!r}")
        raise
