"""The results of analyses: win, draw and loss, matches, exploitability; as text, dictionaries and files."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import FORFEITS, Forfeit, Outcome, quoted
from ttt_env.analysis.recorded import COMPUTED, Source
from ttt_env.analysis.saved import Saved
from ttt_env.errors import shown
from ttt_env.render.words import gain, percent, signed
from ttt_env.rules import Seat
from ttt_env.storage import Fields

CLOSE = 1e-9
"""The largest distance of a number in a file from the one that follows from the others."""
_POSITION = re.compile(r"[XO./|]+")
_Z95 = 1.959964  # two-sided 95 % of the normal distribution
_DIGITS = 14  # of a sum of up to 64 bits; the last ones are rounding errors


class Result(NamedTuple):
    """The probabilities of a game's ends, from one agent's side.

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

    @classmethod
    def read(cls, entries: Fields) -> Self:
        """The result of a file. Raises `ResultFileError` for shares that do not sum to 1."""
        result = cls(*(entries.number(end, 0, 1) for end in cls._fields))
        if abs(sum(result) - 1) > CLOSE:
            raise entries.error("loss", f"{result.loss}, where the three shares are to sum to 1")
        return result


class Forfeited(NamedTuple):
    """The number of games that an agent has lost by naming no free cell, for one reason.

    `position` is the first such position, as text, and `said` the agent's answer there.
    """

    outcome: Outcome
    games: int
    position: str
    said: str

    def __str__(self) -> str:
        games, said = f"{self.games:,} game{'s' * (self.games > 1)}", quoted(self.said, self.outcome)
        return f"{games} by naming no free cell: {self.outcome} (first in {self.position}: {said})"

    @classmethod
    def read(cls, entries: Fields) -> Self:
        """The forfeits of a file."""
        position = entries.text("position")
        if not _POSITION.fullmatch(position):
            raise entries.error("position", f"{shown(position)}, which shows no board")
        outcome = entries.choice("outcome", FORFEITS)
        return cls(outcome, entries.integer("games", 1), position, entries.text("said"))


Forfeits: TypeAlias = tuple[tuple[Forfeited, ...], tuple[Forfeited, ...]]
"""The games that the first agent, and the second, has lost by naming no free cell."""
Ending: TypeAlias = tuple[Seat, int, Forfeit | None]
"""A game of a match: the seat of the first agent, the value for X, and the forfeit that ended it, if any."""


@dataclass(frozen=True)
class Match(Saved):
    """The result of the first agent against the second, from the first agent's side.

    `as_x` is the first agent's result when it moves first, `as_o` when it moves second. `exact` is True if
    these results are computed. `source` is their basis: "declared", the policies that both agents declare;
    "recorded", for at least one of them the answers that it gave; or "sampled", `games` games, half of them
    on each seat. Of sampled games `interval` is the 95 % confidence interval of `score`, and `forfeits` are
    the games that the first and the second agent lost by naming no free cell.

    >>> import ttt_env
    >>> played = ttt_env.match("win-block", "random", "tictactoe-v0")
    >>> print(played.as_o)
    wins 69.97%, draws 23.93%, loses 6.09%
    >>> f"{played.score:+.3f}", played.exact, played.interval
    ('+0.761', True, None)
    """

    FORMAT = "ttt_env match 2"

    as_x: Result
    as_o: Result
    exact: bool
    games: int | None = None
    interval: tuple[float, float] | None = None
    source: Source = "declared"
    forfeits: Forfeits = ((), ())

    @property
    def score(self) -> float:
        """Win − loss averaged over the two seats, in [−1, 1]."""
        return (self.as_x.value + self.as_o.value) / 2

    @property
    def width(self) -> float:
        """The width of the interval; 0 if the match is exact."""
        low, high = self.interval or (0.0, 0.0)
        return high - low

    @property
    def margin(self) -> float:
        """The reach of the interval from the score: half its width, unless it is cut off at 1 or −1."""
        low, high = self.interval or (self.score, self.score)
        return max(high - self.score, self.score - low)

    def turned(self) -> "Match":
        """The same match from the second agent's side."""
        as_x, as_o = (Result(*reversed(result)) for result in (self.as_o, self.as_x))
        interval = self.interval and (-self.interval[1], -self.interval[0])
        return replace(self, as_x=as_x, as_o=as_o, interval=interval, forfeits=self.forfeits[::-1])

    def __str__(self) -> str:
        origin = "computed" + (" from the answers given" if self.source == "recorded" else "")
        if self.interval is not None:
            low, high = (signed(end, 2) for end in self.interval)
            reach = f"with 95 % confidence the score is in [{low}, {high}]"
            origin = f"sampled in {self.games} games ({reach})"
        return "\n".join(
            [
                f"The first agent against the second, {origin}:",
                f"  as X, moving first   {self.as_x}",
                f"  as O, moving second  {self.as_o}",
                f"Score {gain(self.score, 4)}: what the first agent wins less what it loses, "
                "averaged over both seats.",
                *(
                    f"The {which} agent lost {lost}."
                    for which, losses in zip(("first", "second"), self.forfeits, strict=True)
                    for lost in losses
                ),
            ]
        )

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "format": self.FORMAT,
            "as_x": self.as_x._asdict(),
            "as_o": self.as_o._asdict(),
            "score": self.score,
            "exact": self.exact,
            "source": self.source,
            "games": self.games,
            "interval": self.interval and list(self.interval),
            "forfeits": [[lost._asdict() for lost in losses] for losses in self.forfeits],
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> "Match":
        entries = Fields(data)
        as_x, as_o = Result.read(entries.part("as_x")), Result.read(entries.part("as_o"))
        if entries.flag("exact"):
            played = Match(as_x, as_o, exact=True, source=entries.choice("source", COMPUTED))
            entries.agrees("games", None)
            entries.agrees("interval", None)
        else:
            source: Source = entries.choice("source", ["sampled"])  # the interval follows from the games
            games = entries.integer("games", 2)
            shares = np.array([as_x, as_o]) * (games // 2)
            counts = np.rint(shares).astype(np.int64)
            if games % 2 or np.abs(shares - counts).max() > CLOSE * games:
                raise entries.error("games", f"{games}, which cannot end in these shares")
            played = match_of(counts)
            ends = entries.part("interval")
            if len(ends) != 2:
                raise entries.error("interval", "two ends are needed")
            for key, end in enumerate(played.interval or ()):
                ends.is_near(key, end, CLOSE)
            played = Match(as_x, as_o, False, games, played.interval, source)
        entries.is_near("score", played.score, CLOSE)
        return replace(played, forfeits=_read_forfeits(entries, played))


def _read_forfeits(entries: Fields, played: Match) -> Forfeits:
    """The losses of both agents by forfeits: in games alone, and no more than they have lost in all."""
    if len(entries.items("forfeits")) != 2:
        raise entries.error("forfeits", "a list for each of the two agents is needed")
    lists = entries.part("forfeits")
    read = []
    for key, lost in enumerate((played.as_x.loss + played.as_o.loss, played.as_x.win + played.as_o.win)):
        losses = tuple(map(Forfeited.read, lists.parts(key)))
        n_lost = round(lost * (played.games or 0) / 2)
        if sum(each.games for each in losses) > n_lost or len({each.outcome for each in losses}) < len(
            losses
        ):
            raise lists.error(key, f"a reason comes twice, or there are more than the {n_lost:,} games lost")
        read.append(losses)
    return read[0], read[1]


@dataclass(frozen=True)
class Exploitability(Saved):
    """The gain of the best response to an agent, in wins − losses per game, for each seat of the *agent*.

    `as_x` is the gain of the best response, moving second, against the agent as X; `as_o` that of the best
    response, moving first, against the agent as O. On a game whose value is a draw, 0 or below means that
    nobody beats the agent on that seat on average.

    `nash_conv` is the sum of both, which is 0 for optimal play of any game (Lanctot et al. 2017). A 0 is
    exact: a gain too small for the digits of a sum, such as that from a slip of probability 1e-15, is
    computed relative to the value of the game. `source` is "declared" for an agent that declares its policy,
    "recorded" for one that was asked once in each position.

    >>> import ttt_env
    >>> found = ttt_env.exploitability("weights", "tictactoe-v0")
    >>> found.as_x, found.as_o, found.exploitability
    (0.0, 1.0, 0.5)
    """

    FORMAT = "ttt_env exploitability 2"

    as_x: float
    as_o: float
    source: Source = "declared"
    nash_conv: float = nan

    def __post_init__(self) -> None:
        if isnan(self.nash_conv):
            object.__setattr__(self, "nash_conv", rounded(self.as_x + self.as_o))

    @property
    def exploitability(self) -> float:
        """`nash_conv` / 2."""
        return self.nash_conv / 2

    def __str__(self) -> str:
        mean = gain(self.exploitability, 4).lstrip("+")
        origin = "computed from the answers it gave" if self.source == "recorded" else "computed"
        return "\n".join(
            [
                f"What the best response gains against the agent, wins − losses per game, {origin}:",
                f"  against the agent as X, moving second itself  {gain(self.as_x, 4)}",
                f"  against the agent as O, moving first itself   {gain(self.as_o, 4)}",
                f"Exploitability {mean}: the mean of the two; 0 is optimal play.",
            ]
        )

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "format": self.FORMAT,
            "as_x": self.as_x,
            "as_o": self.as_o,
            "nash_conv": self.nash_conv,
            "exploitability": self.exploitability,
            "source": self.source,
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        entries = Fields(data)
        as_x, as_o = entries.number("as_x", -1, 1), entries.number("as_o", -1, 1)
        nash_conv = entries.number("nash_conv", 0, 2)
        entries.is_near("nash_conv", as_x + as_o, CLOSE)
        found = cls(as_x, as_o, entries.choice("source", COMPUTED), nash_conv)
        entries.is_near("exploitability", found.exploitability, CLOSE)
        return found


def rounded(number: float) -> float:
    """The number without its last digits, which hold the rounding errors of long sums."""
    return round(number, _DIGITS) + 0.0


def summed(losses: tuple[Forfeited, ...]) -> tuple[Forfeited, ...]:
    """These losses, merged by reason, in the order in which the reasons first occurred."""
    by_reason: dict[Outcome, Forfeited] = {}
    for lost in losses:
        known = by_reason.get(lost.outcome, lost._replace(games=0))
        by_reason[lost.outcome] = known._replace(games=known.games + lost.games)
    return tuple(by_reason.values())


def match_of_games(games: Iterable[Ending]) -> Match:
    """The sampled match of these games, half of them on each seat."""
    counts = np.zeros((2, 3), np.int64)
    losses: tuple[list[Forfeited], list[Forfeited]] = [], []
    for seat, value, forfeit in games:
        counts[int(seat == "O"), 1 - (value if seat == "X" else -value)] += 1
        if forfeit is not None:
            position, outcome, said = forfeit
            losses[int(position.to_move != seat)].append(Forfeited(outcome, 1, str(position), said))
    first, second = (summed(tuple(each)) for each in losses)
    return match_of(counts, (first, second))


def match_of(counts: NDArray[np.int64], forfeits: Forfeits = ((), ())) -> Match:
    """The sampled match with these counts, `[2, 3]`: wins, draws and losses as X, then as O."""
    half = int(counts[0].sum())
    as_x, as_o = (Result(*(counts_of_seat / half).tolist()) for counts_of_seat in counts)
    # One more win and one more loss on each seat keep the interval honest where all games end the same way.
    wins, _, losses = counts.T + np.array([[1], [0], [1]])
    mean = (wins - losses) / (half + 2)
    spread = ((wins + losses) / (half + 2) - mean**2).sum()
    margin = _Z95 * float(np.sqrt(spread / half)) / 2
    score = (as_x.value + as_o.value) / 2
    interval = max(-1.0, score - margin), min(1.0, score + margin)
    return Match(as_x, as_o, False, 2 * half, interval, "sampled", forfeits)
