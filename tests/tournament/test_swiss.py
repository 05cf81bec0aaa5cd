"""Swiss pairings, against a search through all pairings, and over whole tournaments."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from ttt_env.errors import ParameterError
from ttt_env.tournament.rounds import most_rounds, swiss_round


def names(n):
    return [f"p{number}" for number in range(n)]


def all_pairings(players):
    """Every way to pair an even number of players."""
    if not players:
        yield []
        return
    first, *rest = players
    for other in rest:
        for pairing in all_pairings([each for each in rest if each != other]):
            yield [(first, other), *pairing]


def test_the_first_round_is_the_upper_half_against_the_lower():
    assert swiss_round(dict.fromkeys(names(8), 0), []).pairs == [
        ("p0", "p4"), ("p1", "p5"), ("p2", "p6"), ("p3", "p7")
    ]  # fmt: skip
    pairs, bye = swiss_round(dict.fromkeys(names(7), 0), [])
    assert pairs == [("p0", "p3"), ("p1", "p4"), ("p2", "p5")] and bye == "p6"


def test_score_groups_stay_together_and_the_lowest_of_an_odd_one_goes_down():
    points = {"a": 2, "b": 2, "c": 2, "d": 1, "e": 1, "f": 1}
    assert swiss_round(points, []).pairs == [("a", "b"), ("c", "d"), ("e", "f")]
    assert swiss_round(points, [("a", "b"), ("d", "c")]).pairs == [("a", "c"), ("b", "d"), ("e", "f")]


def test_the_bye_goes_to_the_lowest_who_has_had_none():
    points = {"a": 1, "b": 1, "c": 0, "d": 0, "e": 0}
    assert swiss_round(points, []).bye == "e"
    assert swiss_round(points, [], ["e"]).bye == "d"
    with pytest.raises(ParameterError, match="at most 5 rounds"):
        swiss_round(points, [], list("abcde"))


@pytest.mark.parametrize("seed", range(20))
def test_no_other_pairing_has_fewer_repeats_or_smaller_differences(seed):
    rng = np.random.default_rng(seed)
    points = {name: int(rng.integers(6)) / 2 for name in names(8)}
    met = [tuple(rng.choice(names(8), 2, replace=False).tolist()) for _ in range(14)]

    def cost(pairs):
        repeats = sum(Counter(map(frozenset, met))[frozenset(pair)] for pair in pairs)
        return repeats, sum(Fraction(points[one] - points[other]) ** 2 for one, other in pairs)

    assert cost(swiss_round(points, met).pairs) == min(map(cost, all_pairings(names(8))))


@pytest.mark.parametrize("n", [2, 5, 6, 9, 24, 31])
def test_over_a_tournament_everybody_plays_once_a_round_and_has_one_bye_at_most(n):
    rng = np.random.default_rng(n)
    points, met, byes = dict.fromkeys(names(n), 0.0), [], []
    for number in range(min(most_rounds(n), 7)):
        pairs, bye = swiss_round(points, met, byes)
        assert sorted(sum(pairs, ()) + ((bye,) if bye else ())) == sorted(names(n))
        assert bye not in byes and (bye is None) == (n % 2 == 0)
        known = set(map(frozenset, met))
        if number < n // 4:  # so early a pairing without repeats exists, whatever has happened
            assert not any(frozenset(pair) in known for pair in pairs)
        met += pairs
        if bye:
            byes.append(bye)
            points[bye] += 1
        for one, other in pairs:
            result = float(rng.choice([0, 0.5, 1]))
            points[one] += result
            points[other] += 1 - result
