"""The table of a tournament: points, tie-breaks, and ratings from the scores of those who have met."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import nan, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from ttt_env.agent import Floats
from ttt_env.analysis.results import Match
from ttt_env.errors import extra_for
from ttt_env.tournament.meetings import Meeting, pooled, seen_by

ELO = 400 / np.log(10)  # points per unit of the logistic curve: 400 more are ten to one
_ALPHA, _POPULATION = 100, 50  # the strength of selection, and who it selects among
_EVEN = 1e-14  # a gain below it is rounding
_ROUNDINGS = (
    12,
    9,
    8,
    7,
    6,
    5,
    4,
)  # digits to which scores are rounded for the Nash average, until the solvers succeed
_SCORED = 1e-6  # at most, against that mixture
# As near as the solvers come: agents may differ by a billionth.
_NARROW = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_TIGHT = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 20_000}
_PRECISION = 0.01  # of the prior: a standard deviation of ten units, 1737 points


def bradley_terry(scores: Floats) -> Floats:
    """The Bradley–Terry ratings `[n]`, in Elo points of mean 0, for scores `[n, n]` in [−1, 1].

    `scores[i, j]` is win − loss of `i` against `j`, NaN where they did not meet; a draw is half a win,
    and every pairing weighs as much as one game. The advantage of the first move is not modelled, as scores
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

    A score that is computed has the margin 0, and so has a rating that rests on such scores alone. The errors
    of different pairs are independent, and small enough for the ratings to change in proportion to them (the
    delta method).
    """
    n = len(scores)
    strengths = bradley_terry(scores) / ELO
    centred = np.eye(n) - 1 / n
    # A score that is higher by d pulls row and column apart by d / 2 in the gradient, which is 0 at the mode.
    sensitivity = centred @ np.linalg.inv(_hessian(strengths, scores)) / 2
    known = np.where(np.isnan(scores), 0.0, margins)
    apart = sensitivity[:, :, None] - sensitivity[:, None, :]
    variances: Floats = (apart**2 * np.triu(known, 1) ** 2).sum(axis=(1, 2))
    reach: Floats = ELO * np.sqrt(variances)
    return reach


def nash_mixture(scores: Floats) -> Floats:
    """The Nash average of agents with scores `[n, n]` in [−1, 1]: the weights `[n]` of a mixture of them.

    `scores[i, j]` is minus `scores[j, i]`; the diagonal is not read. The mixture is the equilibrium of
    greatest entropy of the game in which both players choose an agent and get its score (Balduzzi et al.
    2018, "Re-evaluating evaluation"). No agent scores more than 0 against it, to within 1e-6, or 1e-4
    where some scores hardly differ. Copies of an agent share its weight and change nothing else; an agent
    that is beaten by the mixture has none.

    Raises `ImportError` if scipy, of the extra `tournament`, is not installed.
    """
    payoffs = np.where(np.eye(len(scores), dtype=np.bool_), 0.0, np.nan_to_num(scores))
    for digits in _ROUNDINGS:  # fewer where scores that hardly differ are too hard for the solver's 64 bits
        for options in (_NARROW, {}):
            mixture = _equilibrium(payoffs.round(digits), options)
            if mixture is not None and (payoffs @ mixture).max() <= max(_SCORED, 0.1**digits):
                return mixture
    raise ArithmeticError(f"no Nash average was found of the scores {payoffs.tolist()}")


def _equilibrium(payoffs: Floats, options: Mapping[str, float]) -> Floats | None:
    """The equilibrium of greatest entropy, `[n]`, as far as 64 bits go; None where they do not."""
    n = len(payoffs)
    # The multiples of equilibria are the cone weights ≥ 0, payoffs @ weights ≤ 0. In it, as many weights as
    # possible are raised to 1: these are the agents that any equilibrium plays.
    raised = solvers().linprog(
        np.repeat([0.0, -1.0], n),
        np.block([[payoffs, np.zeros((n, n))], [-np.eye(n), np.eye(n)]]),
        np.zeros(2 * n),
        bounds=[(0, None)] * n + [(0, 1)] * n,
        method="highs",
        options=options,
    )
    if raised.x is None or not (support := raised.x[n:] > 0.5).any():
        return None
    # There the greatest entropy has weights exp(−multipliers @ payoffs), scaled; each agent has a multiplier,
    # ≥ 0 unless it is played itself, which make the dual, a convex function, as small as possible.
    columns = payoffs[:, support]

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        logits = -multipliers @ columns
        weights = np.exp(logits - logits.max())
        total = weights.sum()
        return float(np.log(total) + logits.max()), -(columns @ weights) / total

    bounds = [(None if is_played else 0, None) for is_played in support]
    best = solvers().minimize(dual, np.zeros(n), jac=True, bounds=bounds, method="L-BFGS-B", options=_TIGHT).x
    logits = -best @ columns
    mixture = np.zeros(n)
    mixture[support] = np.exp(logits - logits.max())
    weights: Floats = mixture / mixture.sum()
    return weights


def alpha_rank(scores: Floats) -> Floats:
    """The α-rank of agents with scores `[n, n]` in [−1, 1]: the share `[n]` of time in which each is played.

    In a population of 50 that plays one agent, now and then somebody tries another one, whom the others
    imitate the more eagerly the more he scores; this is the stationary distribution over who is played
    (Omidshafiei et al. 2019). Selection has the strength α = 100 and looks at the current opponent alone, as
    in OpenSpiel by default. `scores[i, j]` is minus `scores[j, i]`; the diagonal is not read.
    """
    gains = 2 * _ALPHA * np.nan_to_num(scores).T  # [s, r]: what r gains over s, who is played now
    size = np.abs(gains)
    with np.errstate(invalid="ignore"):
        takes_over = np.where(size < _EVEN, 1 / _POPULATION, np.expm1(-size) / np.expm1(-_POPULATION * size))
    takes_over *= np.exp(np.minimum(gains, 0) * (_POPULATION - 1))
    np.fill_diagonal(takes_over, 0)
    chain = takes_over / max(1, len(takes_over) - 1)
    # The flow out of each agent is the flow into it; and the shares sum to 1.
    balance = np.vstack([chain.T - np.diag(chain.sum(axis=1)), np.ones(len(chain))])
    shares: Floats = np.linalg.lstsq(balance, np.eye(len(chain) + 1)[-1])[0]
    return np.maximum(shares, 0)


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
    """The points that row is expected to get of each game against column, `[n, n]` in [0, 1]."""
    expected: Floats = (1 + np.tanh((strengths[:, None] - strengths) / 2)) / 2
    return expected


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
