"""The results of analyses: win, draw and loss, matches, exploitability; as text, dictionaries and files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Forfeit, Outcome, quote_reply
from ttt_env.render.words import gain, percent, signed
from ttt_env.rules import GameRecord, Seat
from ttt_env.storage.codec import Saved

_Z95 = 1.959964  # two-sided 95 % of the normal distribution
_DIGITS = 14  # of a sum of up to 64 bits; the last ones are rounding errors


class Result(NamedTuple):
    """The outcome of games, from one agent's side.

    Attributes:
        win: The probability that it wins.
        draw: The probability of a draw.
        loss: The probability that it loses.

    Example:
        >>> result = Result(win=0.5, draw=0.25, loss=0.25)
        >>> result.value
        0.25
        >>> print(result)
        wins 50%, draws 25%, loses 25%

    """

    win: float
    """The probability that the agent wins, 0 to 1."""
    draw: float
    """The probability of a draw, 0 to 1."""
    loss: float
    """The probability that it loses, 0 to 1."""

    @property
    def value(self) -> float:
        """Win − loss."""
        return self.win - self.loss

    def __str__(self) -> str:
        return f"wins {percent(self.win)}, draws {percent(self.draw)}, loses {percent(self.loss)}"


class ForfeitCount(NamedTuple):
    """The number of games that an agent has lost by naming no free cell, for one reason.

    `position` is the first such position, as text, and `reply` the agent's answer there.
    """

    outcome: Outcome
    games: int
    position: str
    reply: str

    def __str__(self) -> str:
        games, reply = f"{self.games:,} game{'s' * (self.games > 1)}", quote_reply(self.reply, self.outcome)
        return f"{games}: {self.outcome} (first in {self.position}: {reply})"


Forfeits: TypeAlias = tuple[tuple[ForfeitCount, ...], tuple[ForfeitCount, ...]]
"""The games that the first agent, and the second, has lost by naming no free cell."""
Ending: TypeAlias = tuple[Seat, GameRecord, Forfeit | None]
"""The seat of the first agent in a game of a match, its moves, and the forfeit that ended it, if any."""


@dataclass(frozen=True)
class Match(Saved):
    """The result of the first agent against the second one, from the first agent's side.

    Attributes:
        as_x: The first agent's result when it moves first.
        as_o: Its result when it moves second.
        exact: True if the results are computed, False if they are sampled from games.
        games: The number of games, half of them on each seat; None if the result is exact.
        distinct_games: The number of different games among them.
        interval: The 95 % confidence interval of `score`; None if the result is exact, and where the games do
            not determine it because each seat has only repeated one game.
        forfeits: The games that the first and the second agent lost by naming no free cell.

    Example:
        >>> import ttt_env
        >>> played = ttt_env.match("win-block", "random", "tictactoe-v0")
        >>> print(played.as_o)
        wins 69.97%, draws 23.93%, loses 6.09%
        >>> f"{played.score:+.3f}", played.exact, played.interval
        ('+0.761', True, None)

    """

    FORMAT = "ttt_env match 3"
    DERIVED = ("score",)

    as_x: Result
    as_o: Result
    exact: bool
    games: int | None = None
    distinct_games: int | None = None
    interval: tuple[float, float] | None = None
    forfeits: Forfeits = ((), ())

    @property
    def score(self) -> float:
        """Win − loss averaged over the two seats, in [−1, 1]."""
        return (self.as_x.value + self.as_o.value) / 2

    @property
    def width(self) -> float:
        """The width of the interval; 0 if there is none."""
        low, high = self.interval or (0.0, 0.0)
        return high - low

    @property
    def margin(self) -> float:
        """The largest distance from the score to an end of the interval.

        It is half the width, unless the interval is cut off at 1 or −1; 0 without an interval.
        """
        low, high = self.interval or (self.score, self.score)
        return max(high - self.score, self.score - low)

    def swap_agents(self) -> Match:
        """The same match from the second agent's side."""
        as_x, as_o = (Result(*reversed(result)) for result in (self.as_o, self.as_x))
        interval = self.interval and (-self.interval[1], -self.interval[0])
        return replace(self, as_x=as_x, as_o=as_o, interval=interval, forfeits=self.forfeits[::-1])

    def __str__(self) -> str:
        return "\n".join(
            [
                f"Score {gain(self.score, 4)} for the first agent, {self._origin}.",
                f"  as X, moving first   {self.as_x}",
                f"  as O, moving second  {self.as_o}",
                *(
                    f"The {which} agent lost {loss}."
                    for which, losses in zip(("first", "second"), self.forfeits, strict=True)
                    for loss in losses
                ),
            ]
        )

    @property
    def _origin(self) -> str:
        if self.exact:
            return "computed: wins minus losses, averaged over both seats"
        origin = f"sampled in {self.games:,} games, {self.distinct_games:,} different"
        if self.interval is None:
            return origin
        low, high = (signed(end, 2) for end in self.interval)
        return f"{origin}: with 95 % confidence in [{low}, {high}]"


@dataclass(frozen=True)
class Exploitability(Saved):
    """The gain of a best response against an agent, in wins − losses per game, for each seat of the *agent*.

    A 0 is exact: a gain too small for the digits of a sum, such as that from a slip of probability 1e-15, is
    computed relative to the value of the game.

    Attributes:
        as_x: The gain of the best response, which moves second, against the agent as X. On a game whose value
            is a draw, 0 or below means that on average no opponent beats the agent on that seat.
        as_o: The gain of the best response, which moves first, against the agent as O.
        nash_conv: The sum of both, 0 for optimal play of any game (NashConv: Lanctot et al. 2017).
        label: The name of the agent.
        n_queries: The number of positions in which it was queried.
        digest: The digest of the `PolicyTable` of its answers.

    Example:
        >>> import ttt_env
        >>> weights = ttt_env.exploitability("weights", "tictactoe-v0")
        >>> weights.as_x, weights.as_o, weights.exploitability
        (0.0, 1.0, 0.5)

    """

    FORMAT = "ttt_env exploitability 3"
    DERIVED = ("exploitability",)

    as_x: float
    as_o: float
    nash_conv: float = nan
    label: str = field(default="", compare=False)
    n_queries: int = 0
    digest: str = ""

    def __post_init__(self) -> None:
        if isnan(self.nash_conv):
            object.__setattr__(self, "nash_conv", round_sum(self.as_x + self.as_o))

    @property
    def exploitability(self) -> float:
        """`nash_conv` / 2."""
        return self.nash_conv / 2

    def __str__(self) -> str:
        mean = gain(self.exploitability, 4).lstrip("+")
        note = ": no opponent gains anything" if self.exploitability == 0 else ", the mean over both seats"
        return "\n".join(
            [
                f"Exploitability {mean}{note}. Asked once in {self.n_queries:,} positions.",
                f"  A best response, moving second, gains {gain(self.as_x, 4)} against it as X",
                f"  A best response, moving first, gains  {gain(self.as_o, 4)} against it as O",
            ]
        )


def round_sum(number: float) -> float:
    """The number without its last digits, which hold the rounding errors of long sums."""
    return round(number, _DIGITS) + 0.0


def merge_forfeits(losses: tuple[ForfeitCount, ...]) -> tuple[ForfeitCount, ...]:
    """These losses, merged by reason, in the order in which the reasons first occurred."""
    by_reason: dict[Outcome, ForfeitCount] = {}
    for loss in losses:
        total = by_reason.get(loss.outcome, loss._replace(games=0))
        by_reason[loss.outcome] = total._replace(games=total.games + loss.games)
    return tuple(by_reason.values())


def match_of_games(games: Iterable[Ending]) -> Match:
    """The sampled match of these games, half of them on each seat."""
    counts = np.zeros((2, 3), np.int64)
    losses: tuple[list[ForfeitCount], list[ForfeitCount]] = [], []
    different: set[tuple[Seat, tuple[int, ...]]] = set()
    for seat, record, forfeit in games:
        different.add((seat, record.cells))
        value = record.value(seat) if forfeit is None else -1 if forfeit.position.to_move == seat else 1
        counts[int(seat == "O"), 1 - value] += 1
        if forfeit is not None:
            position, outcome, reply = forfeit
            losses[int(position.to_move != seat)].append(ForfeitCount(outcome, 1, str(position), reply))
    first, second = (merge_forfeits(tuple(each)) for each in losses)
    return match_of(counts, len(different), (first, second))


def match_of(counts: NDArray[np.int64], distinct_games: int, forfeits: Forfeits = ((), ())) -> Match:
    """The sampled match with these counts, `[2, 3]`: wins, draws and losses as X, then as O."""
    half = int(counts[0].sum())
    as_x, as_o = (Result(*(counts_of_seat / half).tolist()) for counts_of_seat in counts)
    match = Match(as_x, as_o, False, 2 * half, distinct_games, None, forfeits)
    if distinct_games <= 2 < 2 * half:  # one repeated game on each seat is not a sample
        return match
    # One more win and one more loss on each seat keep the interval honest where all games end the same way.
    wins, _, losses = counts.T + np.array([[1], [0], [1]])
    mean = (wins - losses) / (half + 2)
    spread = ((wins + losses) / (half + 2) - mean**2).sum()
    margin = _Z95 * float(np.sqrt(spread / half)) / 2
    return replace(match, interval=(max(-1.0, match.score - margin), min(1.0, match.score + margin)))
