"""The table of a tournament, with points, and ratings from the scores of the matches."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np

from ttt_env.agent import Floats
from ttt_env.analysis.results import Match
from ttt_env.errors import extra_for

ELO = 400 / np.log(10)  # points per unit of the logistic curve: 400 points are odds of ten to one
_PRECISION = 0.01  # of the prior
PRIOR = ELO / _PRECISION**0.5
"""The standard deviation of the prior of the ratings, in Elo points: 1737."""


def bradley_terry(scores: Floats) -> Floats:
    """The Bradley–Terry ratings `[n]`, in Elo points of mean 0, for scores `[n, n]` in [−1, 1].

    `scores[i, j]` is win − loss of `i` against `j`, NaN without a match; a draw is half a win, and
    every match weighs as much as one game. The advantage of the first move is not modelled, as scores
    are over both seats. The ratings are the posterior mode under a wide normal prior (1737 points), without
    which agents that never lose would be infinitely strong (Bradley and Terry 1952; Caron and Doucet 2012).

    Raises `ImportError` if scipy, of the extra `tournament`, is not installed.
    """
    optimum = solvers().minimize(
        _loss, np.zeros(len(scores)), scores, method="trust-exact", jac=_gradient, hess=_hessian, tol=1e-9
    )
    ratings: Floats = ELO * (optimum.x - optimum.x.mean())
    return ratings


def rating_margins(scores: Floats, margins: Floats) -> Floats:
    """The 95 % margins of the `bradley_terry` ratings, `[n]`, for scores with these 95 % margins, `[n, n]`.

    An exact score has the margin 0, and so has a rating from exact scores alone. The errors of different
    pairs are taken as independent, and small enough for the ratings to change in proportion to them (the
    delta method).
    """
    n = len(scores)
    strengths = bradley_terry(scores) / ELO
    centred = np.eye(n) - 1 / n
    # A score that is higher by d pulls row and column apart by d / 2 in the gradient, which is 0 at the mode.
    sensitivity = centred @ np.linalg.inv(_hessian(strengths, scores)) / 2
    known_margins = np.where(np.isnan(scores), 0.0, margins)
    apart = sensitivity[:, :, None] - sensitivity[:, None, :]
    variances: Floats = (apart**2 * np.triu(known_margins, 1) ** 2).sum(axis=(1, 2))
    reach: Floats = ELO * np.sqrt(variances)
    return reach


def solvers() -> Any:
    """The module `scipy.optimize`. Raises `ImportError`, which names the extra, if it is not installed."""
    with extra_for("ratings need", "tournament"):
        import scipy.optimize
    return scipy.optimize


def _loss(strengths: Floats, scores: Floats) -> float:
    """Minus the logarithm of the likelihood times the prior."""
    lead = strengths[:, None] - strengths
    pairs = (1 + scores) / 2 * np.logaddexp(0, -lead)
    return float(np.nansum(pairs) + _PRECISION / 2 * strengths @ strengths)


def _gradient(strengths: Floats, scores: Floats) -> Floats:
    excess: Floats = np.nansum(_expected(strengths) - (1 + scores) / 2, axis=1)
    return excess + _PRECISION * strengths


def _hessian(strengths: Floats, scores: Floats) -> Floats:
    expected = _expected(strengths)
    weights = np.where(np.isnan(scores), 0.0, expected * (1 - expected))
    hessian: Floats = np.diag(weights.sum(axis=1) + _PRECISION) - weights
    return hessian


def _expected(strengths: Floats) -> Floats:
    """The expected points per game of row against column, `[n, n]` in [0, 1]."""
    expected: Floats = (1 + np.tanh((strengths[:, None] - strengths) / 2)) / 2
    return expected


_DIGITS = 9  # of points that decide the order; the rest is rounding


class Standing(NamedTuple):
    """A row of the table, with the points per game of a player, summed over its matches, and its rating.

    `is_exact` is True if all results behind the points are computed; otherwise `margin` is half the width of
    the 95 % interval of the points. `rating_margin` is 0 for a rating from computed results alone.
    """

    rank: int
    name: str
    points: float
    is_exact: bool
    margin: float
    rating: float
    rating_margin: float


def share(match: Match) -> float:
    """The points per game of the first player, in [0, 1]; a draw is half a win."""
    return (1 + match.score) / 2


def standings(names: Sequence[str], matches: Mapping[tuple[str, str], Match]) -> list[Standing]:
    """The table by points, the best first; players with equal points share a rank.

    Raises `ImportError` if scipy, of the extra `tournament`, is not installed.
    """
    scores, margins = cross_table(names, matches)
    points = np.nansum((1 + scores) / 2, axis=1).round(_DIGITS)
    rows = zip(
        (1 + (points > points[:, None]).sum(axis=1)).tolist(),
        names,
        points.tolist(),
        [all(match.exact for (name, _), match in matches.items() if name == each) for each in names],
        np.sqrt(np.nansum((margins / 2) ** 2, axis=1)).tolist(),
        bradley_terry(scores).tolist(),
        rating_margins(scores, margins).tolist(),
        strict=True,
    )
    return sorted(map(Standing._make, rows), key=lambda row: (row.rank, row.name))


def cross_table(names: Sequence[str], matches: Mapping[tuple[str, str], Match]) -> tuple[Floats, Floats]:
    """The scores of row against column and their 95 % margins, `[n, n]`; NaN without a match."""
    cells = [
        [
            (match.score, match.margin) if (match := matches.get((row, column))) else (nan, nan)
            for column in names
        ]
        for row in names
    ]
    table = np.array(cells)
    return table[:, :, 0], table[:, :, 1]
