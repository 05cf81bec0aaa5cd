"""The table of a tournament in which not everybody need have met everybody: points, tie-breaks, ratings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import nan, sqrt
from typing import Literal, NamedTuple

import numpy as np

from ttt_env.agent import Floats
from ttt_env.analysis.evaluation import Match
from ttt_env.tournament.pairings import margin_of, turned
from ttt_env.tournament.ratings import bradley_terry, rating_margins

System = Literal["all-play-all", "swiss"]
_EQUAL = 1e-9  # shares of computed matches nearer to ½ are draws
_DIGITS = 9  # of points that decide the order


@dataclass(frozen=True)
class Encounter:
    """What came of one meeting of two players, in a round that is counted from 1."""

    round: int
    first: str
    second: str
    match: Match

    def seen_by(self, name: str) -> Match:
        """The match from the side of one of the two."""
        return self.match if name == self.first else turned(self.match)

    def opponent_of(self, name: str) -> str:
        """The other one of the two."""
        return self.second if name == self.first else self.first


class Standing(NamedTuple):
    """A row of the table.

    `is_exact` says whether all results behind it are computed; otherwise `margin` reaches from `points` to
    the ends of their 95 % interval, where points are shares of games, and None where they are decided match
    by match. `buchholz` is None where everybody meets everybody. `rating_margin` is 0 for a rating that rests
    on computed results alone.
    """

    rank: int
    name: str
    points: float
    is_exact: bool
    margin: float | None
    buchholz: float | None
    sonneborn_berger: float
    rating: float
    rating_margin: float


def share(played: Match) -> float:
    """The points a game of the first player, in [0, 1]: a draw is half a win."""
    return (1 + played.score) / 2


def match_points(played: Match) -> float:
    """1 for the first player if he has more of the points than the other, ½ if both have as many, else 0."""
    lead = share(played) - 0.5
    return 0.5 if abs(lead) < _EQUAL else float(lead > 0)


def points_of(
    system: System, names: Sequence[str], encounters: Sequence[Encounter], byes: Mapping[int, str]
) -> dict[str, float]:
    """The points of each player: shares of games, or in a Swiss tournament match points; a bye is 1 point."""
    counted = match_points if system == "swiss" else share
    points = dict.fromkeys(names, 0.0)
    for encounter in encounters:
        for name in (encounter.first, encounter.second):
            points[name] += counted(encounter.seen_by(name))
    for name in byes.values():
        points[name] += 1.0
    return points


def standings(
    system: System, names: Sequence[str], encounters: Sequence[Encounter], byes: Mapping[int, str]
) -> list[Standing]:
    """The table, the best first; who is equal in points and tie-breaks shares a rank.

    Ties are broken by Buchholz, the points of all opponents, in a Swiss tournament alone; then by Sonneborn
    and Berger's score, the points of each opponent times those that were taken from him (FIDE Handbook C.07).
    A bye counts there as a win against somebody who ends with as many points as oneself.

    Raises `ImportError` if scipy, of the extra `tournament`, is not installed.
    """
    counted = match_points if system == "swiss" else share
    points = points_of(system, names, encounters, byes)
    ratings, margins = _ratings(names, encounters)
    rows = []
    for name in names:
        own = [each for each in encounters if name in (each.first, each.second)]
        taken = [(points[each.opponent_of(name)], counted(each.seen_by(name))) for each in own]
        taken += [(points[name], 1.0)] * list(byes.values()).count(name)
        rows.append(
            Standing(
                0,
                name,
                points[name],
                all(each.match.exact for each in own),
                None if system == "swiss" else sqrt(sum((margin_of(each.match) / 2) ** 2 for each in own)),
                sum(theirs for theirs, _ in taken) if system == "swiss" else None,
                sum(theirs * mine for theirs, mine in taken),
                ratings[name],
                margins[name],
            )
        )
    rows.sort(key=_order)
    ranked: list[Standing] = []
    for _, equals in groupby(rows, key=_order):
        rank = len(ranked) + 1
        ranked += [row._replace(rank=rank) for row in equals]
    return ranked


def _order(row: Standing) -> tuple[float, ...]:
    return tuple(-round(each, _DIGITS) for each in (row.points, row.buchholz or 0.0, row.sonneborn_berger))


def _ratings(
    names: Sequence[str], encounters: Sequence[Encounter]
) -> tuple[dict[str, float], dict[str, float]]:
    """The ratings by name and their 95 % margins, from the mean score of each pair that has met."""
    n = len(names)
    place = {name: at for at, name in enumerate(names)}
    met: Floats = np.zeros((n, n))
    scores, squares = np.zeros((n, n)), np.zeros((n, n))
    for encounter in encounters:
        one, other = place[encounter.first], place[encounter.second]
        for row, column, score in (
            (one, other, encounter.match.score),
            (other, one, -encounter.match.score),
        ):
            met[row, column] += 1
            scores[row, column] += score
            squares[row, column] += margin_of(encounter.match) ** 2
    with np.errstate(invalid="ignore"):
        means, errors = np.where(met > 0, scores / met, nan), np.where(met > 0, np.sqrt(squares) / met, nan)
    ratings, margins = bradley_terry(means), rating_margins(means, errors)
    return (
        dict(zip(names, ratings.tolist(), strict=True)),
        dict(zip(names, margins.tolist(), strict=True)),
    )
