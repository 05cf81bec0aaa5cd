"""Ratings from a cross table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import missing_extra

Floats = NDArray[np.float64]
ELO = 400 / np.log(10)  # points per unit of the logistic curve: 400 more are ten to one
_ALPHA, _POPULATION = 100, 50  # the strength of selection, and who it selects among
_EVEN = 1e-14  # a gain below it is rounding
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
    optimum = _scipy().minimize(
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
    2018, "Re-evaluating evaluation"). No agent scores more than 0 against it. Copies of an agent share its
    weight and change nothing else; an agent that is beaten by the mixture has none.

    Raises `ImportError` if scipy, of the extra `tournament`, is not installed.
    """
    payoffs = np.nan_to_num(scores)
    n = len(payoffs)
    # The multiples of equilibria are the cone weights ≥ 0, payoffs @ weights ≤ 0. In it, as many weights as
    # possible are raised to 1: these are the agents that any equilibrium plays.
    support = (
        _scipy()
        .linprog(
            np.repeat([0.0, -1.0], n),
            np.block([[payoffs, np.zeros((n, n))], [-np.eye(n), np.eye(n)]]),
            np.zeros(2 * n),
            bounds=[(0, None)] * n + [(0, 1)] * n,
            method="highs",
            options=_NARROW,
        )
        .x[n:]
        > 0.5
    )
    # There the greatest entropy has weights exp(−multipliers @ payoffs), scaled; each agent has a multiplier,
    # ≥ 0 unless it is played itself, which make the dual, a convex function, as small as possible.
    columns = payoffs[:, support]

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        logits = -multipliers @ columns
        weights = np.exp(logits - logits.max())
        total = weights.sum()
        return float(np.log(total) + logits.max()), -(columns @ weights) / total

    bounds = [(None if is_played else 0, None) for is_played in support]
    best = _scipy().minimize(dual, np.zeros(n), jac=True, bounds=bounds, method="L-BFGS-B", options=_TIGHT).x
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


def _scipy() -> Any:
    """The module `scipy.optimize`. Raises `ImportError`, which names the extra, if it is not installed."""
    try:
        import scipy.optimize
    except ImportError as error:
        raise missing_extra("ratings need", "tournament") from error
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
