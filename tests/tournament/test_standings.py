"""The table of a tournament: points, ratings and their margins."""

import numpy as np
import pytest

import ttt_env
from ttt_env.analysis.results import match_of
from ttt_env.tournament.matches import Pair, both_sides
from ttt_env.tournament.standings import bradley_terry, rating_margins, standings

pytest.importorskip("scipy")


def test_points_are_shares_of_games_and_exact_if_computed():
    names = ["minimax", "random", "block"]
    pairs = ("minimax", "random"), ("block", "minimax")
    won, drawn = (ttt_env.match(one, other) for one, other in pairs)
    sampled = match_of(np.array([[30, 10, 60], [20, 10, 70]]), 50)
    games = {Pair(*pairs[0]): won, Pair(*pairs[1]): drawn, Pair("random", "block"): sampled}
    rows = {row.name: row for row in standings(names, both_sides(games))}
    assert rows["minimax"].is_exact and rows["minimax"].margin == 0
    assert rows["minimax"].points == pytest.approx(sum(((1 + won.score) / 2, (1 - drawn.score) / 2)))
    low, high = sampled.interval
    assert not rows["block"].is_exact and rows["block"].margin == pytest.approx((high - low) / 4)
    assert rows["minimax"].rank == 1
    assert rows["minimax"].rating_margin > 0  # it depends on the others' games too


def test_equal_points_share_rank():
    draw, win = (match_of(np.array([counts] * 2), 2) for counts in ((0, 1, 0), (1, 0, 0)))
    matches = both_sides({Pair("b", "a"): draw, Pair("a", "c"): win, Pair("b", "c"): win})
    assert [(row.rank, row.name) for row in standings("cba", matches)] == [(1, "a"), (1, "b"), (3, "c")]


def test_ratings_of_exact_results_have_no_margin():
    scores = np.array([[np.nan, 0.4, 0.9], [-0.4, np.nan, np.nan], [-0.9, np.nan, np.nan]])
    assert rating_margins(scores, np.zeros((3, 3))).tolist() == [0, 0, 0]


@pytest.mark.slow
def test_rating_margins_equal_simulated_spread():
    """The spread of the ratings when the scores are drawn around the true ones."""
    rng = np.random.default_rng(0)
    scores = np.array(
        [[0, 0.3, 0.6, 0.1], [-0.3, 0, np.nan, -0.5], [-0.6, np.nan, 0, -0.2], [-0.1, 0.5, 0.2, 0]]
    )
    np.fill_diagonal(scores, np.nan)
    spread = np.array([[0, 0.02, 0.03, 0.01], [0, 0, 0, 0.04], [0, 0, 0, 0.0], [0, 0, 0, 0]])
    spread += spread.T
    drawn = []
    for _ in range(200):
        errors = np.triu(rng.normal(size=(4, 4)) * spread, 1)
        drawn.append(bradley_terry(scores + errors - errors.T))
    expected = 1.96 * np.std(drawn, axis=0)
    assert rating_margins(scores, 1.96 * spread) == pytest.approx(expected, rel=0.15)
