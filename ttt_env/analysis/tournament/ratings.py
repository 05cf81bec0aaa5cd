"""Ratings from a cross table."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ELO = 400 / np.log(10)  # points per unit of the logistic curve: 400 more are ten to one
_PRECISION = 0.01  # of the prior: a standard deviation of ten units, 1737 points


def bradley_terry(scores: Floats) -> Floats:
    """The Bradley–Terry ratings `[n]`, in Elo points of mean 0, for scores `[n, n]` in [−1, 1].

    `scores[i, j]` is win − loss of `i` against `j`, NaN where they did not meet; a draw is half a win,
    and every pairing weighs as much as one game. The advantage of the first move is not modelled, as scores
    are over both seats. The ratings are the posterior mode under a wide normal prior (1737 points), without
    which agents that never lose would be infinitely strong (Bradley and Terry 1952; Caron and Doucet 2012).

    Raises `ImportError` if scipy, of the extra `tournament`, is not installed.
    """
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise ImportError('ratings need the extra "tournament": pip install "ttt-env[tournament]"') from error
    optimum = minimize(
        _loss, np.zeros(len(scores)), scores, method="trust-exact", jac=_gradient, hess=_hessian, tol=1e-9
    )
    ratings: Floats = ELO * (optimum.x - optimum.x.mean())
    return ratings


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
