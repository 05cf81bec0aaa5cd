"""The table of a tournament in which not everybody need have met everybody: points, tie-breaks, ratings."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import nan, sqrt
from typing import Literal, NamedTuple

import numpy as np

from ttt_env.agent import Floats
from ttt_env.analysis.evaluation import Match
from ttt_env.tournament.meetings import Meeting, pooled, seen_by
from ttt_env.tournament.ratings import bradley_terry, rating_margins

System = Literal["all-play-all", "swiss"]
_EQUAL = 1e-9  # shares of computed matches nearer to ½ are draws
_DIGITS = 9  # of points that decide the order


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
    system: System, names: Sequence[str], meetings: Mapping[Meeting, Match], byes: Mapping[int, str]
) -> dict[str, float]:
    """The points of each player: shares of games, or in a Swiss tournament match points; a bye is 1 point."""
    counted = match_points if system == "swiss" else share
    points = {name: sum((counted(played) for _, played in seen_by(name, meetings)), 0.0) for name in names}
    for name in byes.values():
        points[name] += 1.0
    return points


def standings(
    system: System, names: Sequence[str], meetings: Mapping[Meeting, Match], byes: Mapping[int, str]
) -> list[Standing]:
    """The table, the best first; who is equal in points and tie-breaks shares a rank.

    Ties are broken by Buchholz, the points of all opponents, in a Swiss tournament alone; then by Sonneborn
    and Berger's score, the points of each opponent times those that were taken from him (FIDE Handbook C.07).
    A bye counts there as a win against somebody who ends with as many points as oneself.

    Raises `ImportError` if scipy, of the extra `tournament`, is not installed.
    """
    counted = match_points if system == "swiss" else share
    points = points_of(system, names, meetings, byes)
    table, errors = cross_table(names, pooled(meetings))
    ratings, margins = bradley_terry(table), rating_margins(table, errors)
    rows = []
    for place, name in enumerate(names):
        own = seen_by(name, meetings)
        taken = [(points[opponent], counted(played)) for opponent, played in own]
        taken += [(points[name], 1.0)] * list(byes.values()).count(name)
        rows.append(
            Standing(
                0,
                name,
                points[name],
                all(played.exact for _, played in own),
                None if system == "swiss" else sqrt(sum((played.margin / 2) ** 2 for _, played in own)),
                sum(theirs for theirs, _ in taken) if system == "swiss" else None,
                sum(theirs * mine for theirs, mine in taken),
                float(ratings[place]),
                float(margins[place]),
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


def cross_table(names: Sequence[str], matches: Mapping[tuple[str, str], Match]) -> tuple[Floats, Floats]:
    """The scores of row against column and their 95 % margins, `[n, n]`; NaN where the two have not met."""
    cells = [
        [(met.score, met.margin) if (met := matches.get((row, column))) else (nan, nan) for column in names]
        for row in names
    ]
    table = np.array(cells)
    return table[:, :, 0], table[:, :, 1]
