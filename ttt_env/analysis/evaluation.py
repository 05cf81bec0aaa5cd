"""How strong an agent is: computed over all positions where the game can be enumerated, else sampled."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, AgentLike, checked_policies, make_agent
from ttt_env.analysis.induction import Outcomes, TwoPass, backward_induction, best, follow
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.play import play_cells
from ttt_env.analysis.solution import ValueAgent
from ttt_env.errors import ParameterError, PolicyError
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_generator
from ttt_env.rules.game import Game
from ttt_env.rules.notation import GameRecord
from ttt_env.rules.sizes import is_enumerable

_Z95 = 1.959964  # two-sided 95 % of the normal distribution


class Result(NamedTuple):
    """The probabilities of a game's ends, from one agent's side."""

    win: float
    draw: float
    loss: float

    @property
    def value(self) -> float:
        """Win − loss."""
        return self.win - self.loss


@dataclass(frozen=True)
class Match:
    """How the first agent does against the second, from the first agent's side.

    `exact` says that the results are computed. Otherwise they are sampled: `games` were played, half of
    them on each seat, and `interval` is the 95 % confidence interval of `score`.
    """

    as_x: Result
    as_o: Result
    exact: bool
    games: int | None = None
    interval: tuple[float, float] | None = None

    @property
    def score(self) -> float:
        """Win − loss averaged over the two seats, in [−1, 1]."""
        return (self.as_x.value + self.as_o.value) / 2


@dataclass(frozen=True)
class Exploitability:
    """What the best response to an agent wins, by the seat that the *agent* has.

    `as_x` is the value of the best response, moving second, to the agent as X; `as_o` that of the best
    response, moving first, to the agent as O. On a drawn game 0 or below says that the agent, on
    that seat, is not beaten on average by anybody.
    """

    as_x: float
    as_o: float

    @property
    def nash_conv(self) -> float:
        """The sum over both seats: 0 for optimal play, of any game (Lanctot et al. 2017)."""
        return self.as_x + self.as_o

    @property
    def exploitability(self) -> float:
        """`nash_conv` / 2."""
        return self.nash_conv / 2


def fixed_agent(agent: AgentLike, game: Game | str) -> Agent:
    """The agent, if its policy depends on the position alone. Raises `PolicyError` otherwise."""
    made = make_agent(agent, game)
    if not made.is_fixed:
        raise PolicyError(f"{made!r} is random in a way that no policy says: give it a seed= if it has one")
    return made


def match(
    first: AgentLike,
    second: AgentLike,
    game: Game | str = "tictactoe-v0",
    *,
    games: int = 1000,
    rng: np.random.Generator | int = 0,
) -> Match:
    """The result of `first` against `second`, on both seats.

    Computed if both are fixed policies and the game can be enumerated. Otherwise `games` games, half of
    them on each seat, are played with random numbers from `rng`, a generator or a seed.
    """
    game = get_game(game)
    one, two = make_agent(first, game), make_agent(second, game)
    if not (one.is_fixed and two.is_fixed and is_enumerable(game)):
        return _sampled(one, two, games, as_generator(rng))
    as_x, as_o = (_outcomes(x, o).start for x, o in ((one, two), (two, one)))
    return Match(_result(*as_x), _result(as_o[1], as_o[0]), exact=True)


def _result(win: float, loss: float) -> Result:
    return Result(_rounded(win), _rounded(1.0 - win - loss), _rounded(loss))


def _rounded(number: float) -> float:
    """The number without the last digits, in which the rounding errors of long sums are."""
    return round(number, 14) + 0.0


def _outcomes(x: Agent | None, o: Agent | None) -> Outcomes:
    """The sweep over what can come up between two agents; None is the best response to the other."""
    game = (o if x is None else x).game  # type: ignore[union-attr]
    seats = [None if agent is None else TwoPass(partial(checked_policies, agent)) for agent in (x, o)]
    return backward_induction(reachable(game, *seats), *(seat or best for seat in seats))


def _sampled(one: Agent, two: Agent, games: int, rng: np.random.Generator) -> Match:
    if not isinstance(games, int) or games < 2:
        raise ParameterError(f"games={games!r}: an integer of at least 2, one game on each seat")
    half = games // 2
    as_x = [_played(one, two, rng).value("X") for _ in range(half)]
    as_o = [_played(two, one, rng).value("O") for _ in range(half)]
    return match_of(np.array([[seat.count(value) for value in (1, 0, -1)] for seat in (as_x, as_o)]))


def match_of(counts: NDArray[np.int64]) -> Match:
    """The sampled match of these numbers `[2, 3]` of wins, draws and losses as X and as O."""
    half = int(counts[0].sum())
    as_x, as_o = (Result(*(seat / half).tolist()) for seat in counts)
    # A win and a loss more on each seat keep the interval honest where all games end alike.
    wins, _, losses = counts.T + np.array([[1], [0], [1]])
    mean = (wins - losses) / (half + 2)
    spread = ((wins + losses) / (half + 2) - mean**2).sum()
    margin = _Z95 * float(np.sqrt(spread / half)) / 2
    score = (as_x.value + as_o.value) / 2
    return Match(as_x, as_o, False, 2 * half, (max(-1.0, score - margin), min(1.0, score + margin)))


def _played(x: Agent, o: Agent, rng: np.random.Generator) -> GameRecord:
    return GameRecord(x.game, play_cells(x, o, rng))


def exploitability(agent: AgentLike, game: Game | str = "tictactoe-v0") -> Exploitability:
    """The value of the best response to the agent on each seat.

    Raises `GameTooLargeError` if the game cannot be enumerated, `PolicyError` if the agent is no fixed
    policy.
    """
    fixed = fixed_agent(agent, game)
    against_x, against_o = _outcomes(fixed, None).start, _outcomes(None, fixed).start
    return Exploitability(
        as_x=_rounded(against_x[1] - against_x[0]), as_o=_rounded(against_o[0] - against_o[1])
    )


def best_response(agent: AgentLike, game: Game | str = "tictactoe-v0") -> ValueAgent:
    """The agent that gets the most, on average, out of this one, on both seats and in every position.

    Raises as `exploitability` does.
    """
    fixed = fixed_agent(agent, game)
    layers = reachable(fixed.game)
    policy = partial(checked_policies, fixed)
    as_x = backward_induction(layers, best, follow(policy)).values()
    as_o = backward_induction(layers, follow(policy), best).values()
    return ValueAgent(fixed.game, (as_x, best), (as_o, best))
