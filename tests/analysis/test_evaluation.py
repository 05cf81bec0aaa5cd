"""Exact results against naive recursion in fractions, and against published figures."""

from functools import cache

import numpy as np
import pytest

from tests import reference
from tests.support import naive
from tests.support.games import CONNECT_THREE, LOPSIDED, MISERE, TICTACTOE, TREE, boards_of, positions_of
from tests.support.marks import slow_unless
from tests.support.naive import twin
from tests.support.naive_agent import Plays
from tests.support.refusals import all_raise
from ttt_env import (
    Agent,
    Game,
    IllegalMoveError,
    best_response,
    certify,
    exploitability,
    get_game,
    make_agent,
    match,
    play_game,
    solve,
)
from ttt_env.analysis.induction import backward_induction, best, uniform
from ttt_env.analysis.layers import reachable
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyError, UnknownAgentError

ONE_MOVE = Game("one move", (3,), [(0,), (1,), (2,)])
SMALL = [TICTACTOE, MISERE, LOPSIDED, ONE_MOVE, CONNECT_THREE, TREE, get_game("mnk-v0:m=4,n=2,k=2")]
POLICIES = ["uniform", "optimal", "odd", "first"]
# Fast cases: every policy on small boards, but on 3×3 only the two that differ most.
CASES = slow_unless(
    lambda game, name: (
        game.n_cells < 9 or game is CONNECT_THREE or (game is TICTACTOE and name in ("uniform", "odd"))
    ),
    SMALL,
    POLICIES,
)


def random_function():
    rng = np.random.default_rng(0)
    return lambda position: int(rng.choice(position.legal_cells))


def approximately(*fractions):
    return pytest.approx([float(fraction) for fraction in fractions], abs=1e-13)


class TestMatch:
    @pytest.mark.parametrize(
        "game, one, two",
        slow_unless(
            lambda game, *names: (
                game.n_cells < 9
                or game is CONNECT_THREE
                or (game is TICTACTOE and names == ("odd", "uniform"))
            ),
            SMALL,
            ["optimal", "odd", "first"],
            ["uniform", "odd"],
        ),
        ids=str,
    )
    def test_match_equals_naive_recursion(self, game, one, two):
        other = twin(game)
        first, second = getattr(other, one), getattr(other, two)
        found = match(Plays(game, one), Plays(game, two), game)
        assert (found.exact, found.games, found.interval) == (True, None, None)
        assert list(found.as_x) == approximately(*other.results(first, second)[other.empty])
        assert list(found.as_o) == approximately(*reversed(other.results(second, first)[other.empty]))
        assert found.score == pytest.approx((found.as_x.value + found.as_o.value) / 2)

    def test_random_against_random_matches_published_results(self):
        found = match("random", "random")
        assert list(found.as_x) == approximately(*reference.RANDOM_V_RANDOM)
        assert list(found.as_o) == approximately(*reversed(reference.RANDOM_V_RANDOM))
        assert found.as_x.value == pytest.approx(reference.OPENSPIEL_UNIFORM_VALUE, abs=1e-10)
        assert found.score == 0

    def test_optimal_results_match_published_ones(self):
        found = match("minimax", "random")
        assert list(found.as_x) == approximately(*reference.OPTIMAL_V_RANDOM)
        assert list(found.as_o) == approximately(*reversed(reference.RANDOM_V_OPTIMAL))
        assert found.as_x.loss == found.as_o.loss == 0
        assert match("minimax", "minimax").as_x == (0, 1, 0)
        assert match("minimax", "minimax", "mnk-v0:m=4,n=3,k=3").as_x == (1, 0, 0)


class TestSampledMatches:
    def test_random_function_is_sampled(self):
        found = match(random_function(), "minimax", games=400, rng=1)
        exact = match("random", "minimax").score
        assert (found.exact, found.games) == (False, 400)
        assert found.interval[0] <= exact <= found.interval[1]
        assert found.interval[0] < found.score < found.interval[1]
        assert found.score == pytest.approx((found.as_x.value + found.as_o.value) / 2)
        assert found.as_x.win == found.as_o.win == 0
        assert sum(found.as_x) == pytest.approx(1)

    def test_match_is_sampled_if_not_stationary_or_too_large(self):
        assert (
            not match(random_function(), "random", games=2).exact
            and not match("random", random_function(), games=2).exact
        )
        found = match("random", "random", "qubic-v0", games=10)
        assert (found.exact, found.games) == (False, 10)

    def test_same_seed_gives_same_match(self):
        once, again = (match("random", "random", "mnk-v0", games=60, rng=5) for _ in range(2))
        assert once == again
        assert match("random", "random", "mnk-v0", games=60, rng=np.random.default_rng(5)) == once
        assert match("random", "random", "mnk-v0", games=60, rng=6) != once

    def test_seats_are_not_mixed_up(self):
        # In this game any first move wins.
        found = match(random_function(), random_function(), ONE_MOVE, games=10)
        assert (found.as_x, found.as_o) == ((1, 0, 0), (0, 0, 1))
        assert found.interval[0] < found.score == 0 < found.interval[1]

    def test_games_are_split_evenly_between_seats(self):
        for games, played in [(2, 2), (3, 2), (7, 6), (10, 10)]:
            assert match(random_function(), "random", games=games).games == played
        bad, message = (1, 0, -4, 2.5, float("nan"), "10"), "games={}: expected an integer ≥ 2"
        all_raise(ParameterError, message, lambda n: match(random_function(), "random", games=n), bad)

    def test_interval_matches_mean_of_two_seats(self):
        found = match("random", "random", games=1000, exact=False)
        variances = [seat.win + seat.loss - seat.value**2 for seat in (found.as_x, found.as_o)]
        error = (sum(variances) / 500) ** 0.5 / 2
        assert found.interval[1] - found.score == pytest.approx(1.96 * error, rel=0.02)
        assert found.score - found.interval[0] == pytest.approx(1.96 * error, rel=0.02)


class TestExploitability:
    def test_uniform_play_matches_openspiel(self):
        found = exploitability("random")
        due = reference.OPENSPIEL_BEST_RESPONSE_TO_UNIFORM
        assert (found.as_o, found.as_x) == pytest.approx((due["X"], due["O"]), abs=1e-10)
        assert found.nash_conv == pytest.approx(reference.OPENSPIEL_UNIFORM_NASH_CONV, abs=1e-6)
        assert found.exploitability == found.nash_conv / 2

    @pytest.mark.parametrize("game", [*SMALL, get_game("mnk-v0:m=4,n=3,k=3")], ids=repr)
    def test_optimal_play_is_not_exploitable(self, game):
        found = exploitability("minimax", game)
        assert found.nash_conv == 0
        assert found.as_o == -found.as_x == solve(game).value

    @pytest.mark.parametrize("game, name", CASES, ids=str)
    def test_exploitability_is_reached_by_best_response(self, game, name):
        agent, policy = Plays(game, name), getattr(twin(game), name)
        found = exploitability(agent, game)
        assert [found.as_x] == approximately(twin(game).best_reply("O", policy)[0])
        assert [found.as_o] == approximately(twin(game).best_reply("X", policy)[0])
        played = match(best_response(agent, game), agent, game)
        assert (played.as_x.value, played.as_o.value) == pytest.approx((found.as_o, found.as_x), abs=1e-12)


def first_of_best(q, legal, moves=None):
    chosen = best(q, legal) > 0
    return chosen & (np.cumsum(chosen, axis=1) == 1)


def test_best_response_to_random_matches_published_values():
    played, due = match(best_response("random"), "random"), reference.BEST_RESPONSE_TO_RANDOM
    assert [played.as_x.value, played.as_o.value] == approximately(due["X"], due["O"])
    # These values need the first of equal moves.
    losses = reference.BEST_RESPONSE_TO_RANDOM_LOSSES
    start = backward_induction(reachable(TICTACTOE), uniform, first_of_best).start
    assert list(start) == approximately(losses["O"], due["O"] + losses["O"])
    _, o_wins = backward_induction(reachable(TICTACTOE), first_of_best, uniform).start
    assert [o_wins] == approximately(losses["X"])
    # As O it is beatable, whichever of equal moves it plays.
    game = twin(TICTACTOE)
    assert game.best_reply("O", game.uniform, prefer=-1)[1] > 0
    assert certify(best_response("random")).refutations["O"] is not None


class TestBestResponseKeepingValue:
    @pytest.mark.parametrize(
        "game, name",
        slow_unless(
            lambda game, name: (
                game is LOPSIDED or (game, name) in ((TICTACTOE, "uniform"), (ONE_MOVE, "odd"))
            ),
            [*SMALL, get_game("mnk-v0:m=4,n=3,k=3")],
            POLICIES,
        ),
        ids=str,
    )
    def test_response_plays_exactly_the_most_profitable_good_moves(self, game, name):
        other, agent = twin(game), Plays(game, name)
        found = best_response(agent, game, keep_value=True)
        policies = dict(zip(positions_of(game), found.policies(boards_of(game)), strict=True))
        for seat in "XO":
            ranges = other.keeping_ranges(seat, getattr(other, name))
            for board in other.boards():
                if other.moves(board) and naive.mover(board) == seat:
                    most = {cell: ranges[naive.play(board, cell)][1] for cell in other.best_cells(board)}
                    due = [cell for cell, value in most.items() if value == max(most.values())]
                    assert np.flatnonzero(policies[board]).tolist() == due
                    assert policies[board][due] == pytest.approx(1 / len(due))
        assert certify(found, game).unbeatable
        played = match(found, agent, game)
        due = [other.keeping_range(seat, getattr(other, name))[1] for seat in "XO"]
        assert [played.as_x.value, played.as_o.value] == approximately(*due)

    def test_response_exploits_sampled_answers(self):
        function = cache(random_function())  # The cache fixes the first answer in each position.
        found = best_response(function, TICTACTOE, keep_value=True)
        assert certify(found).unbeatable
        assert match(found, function, exact=True).score >= match("minimax", function, exact=True).score


def keeping_value(sign):
    """A responder that plays the most (1) or least (−1) profitable of the moves that keep the value."""
    values = solve(TICTACTOE).values

    def respond(q, legal, moves):
        exact = moves.of_policy(np.nan_to_num(values.q(moves.boards), nan=-2))
        return best(sign * q, exact == exact.max(axis=1, keepdims=True))

    return respond


@pytest.mark.parametrize("seat", ["X", "O"])
def test_value_keeping_results_match_published_range(seat):
    assert twin(TICTACTOE).keeping_range(seat, twin(TICTACTOE).uniform) == reference.KEEPING_RANGE[seat]
    for sign, due in zip((-1, 1), reference.KEEPING_RANGE[seat], strict=True):
        seats = (keeping_value(sign), uniform)[:: 1 if seat == "X" else -1]
        x_wins, o_wins = backward_induction(reachable(TICTACTOE), *seats).start
        assert [x_wins - o_wins if seat == "X" else o_wins - x_wins] == approximately(due)


class Broken(Agent):
    """Plays at random with a fault in its policy."""

    is_stationary = True

    def __init__(self, game, fault):
        super().__init__(game)
        self.fault = fault

    def __repr__(self):
        return "<broken>"

    def policy(self, position):
        return self.fault(position, make_agent("random", self.game).policy(position))


class Vandal(Agent):
    """Plays as another agent and writes into the arrays that it receives."""

    is_stationary = True

    def policies(self, boards):
        policies = make_agent("win-block", self.game).policies(boards)
        boards.legal[...] = policies > 0
        boards.mine[...] = boards.theirs[...] = 0
        return policies


def test_writing_into_boards_changes_nothing():
    vandal, game = Vandal(LOPSIDED), LOPSIDED
    assert exploitability(vandal) == exploitability("win-block", game)
    assert match(vandal, "random") == match("win-block", "random", game)
    assert certify(vandal) == certify("win-block", game)


def goes_below_zero(position, policy):
    cells = position.legal_cells
    return policy + np.eye(9)[cells[0]] - np.eye(9)[cells[-1]]


# Each fault has a pattern of its error message.
FAULTS = {
    "sums to less": (
        lambda position, policy: policy * 0.9,
        r"no policy in [XO./]{11}: \[.*\] should sum to 1 over the free cells",
    ),
    "plays taken cells": (
        lambda position, policy: np.full(9, 1 / 9) if position.ply else policy,
        "0.111111.* should sum to 1 over the free cells and be 0 elsewhere",
    ),
    "plays taken cells as well": (
        lambda position, policy: policy + 0.5 * (policy == 0),
        "0.5.* should sum to 1 over the free cells and be 0 elsewhere",
    ),
    "has another shape": (
        lambda position, policy: policy[:8],
        r"no policy in [XO./]{11}: its shape is \(8,\), not \(9,\)",
    ),
    "goes below zero": (goes_below_zero, "should sum to 1 over the free cells"),
    "is NaN": (lambda position, policy: policy * np.nan, "nan.* should sum to 1"),
    "is zero": (lambda position, policy: policy * 0, r"no policy in [XO./]{11}: all legal moves"),
}


class TestUnusableAgents:
    @pytest.mark.parametrize("fault, message", FAULTS.values(), ids=FAULTS)
    def test_invalid_policy_is_refused(self, fault, message):
        analyses = (exploitability, best_response, certify, lambda agent: match(agent, "random"))
        all_raise(PolicyError, f"<broken> .*{message}", lambda f: f(Broken(TICTACTOE, fault)), analyses)

    def test_too_large_or_other_game_is_refused(self):
        three = (exploitability, best_response, certify)
        message = (
            "random as X: more than 1,000 positions of qubic-v0 are reached, at ply 2 of 64: too many to hold"
        )
        all_raise(GameTooLargeError, message, lambda f: f("random", "qubic-v0", most=1000), three)
        another, four = make_agent("random", "square-v0"), (*three, lambda *those: match("random", *those))
        message = "plays square-v0, not tictactoe-v0"
        all_raise(UnknownAgentError, message, lambda f: f(another, TICTACTOE), four)
        with pytest.raises(UnknownAgentError, match="plays lopsided, not tictactoe-v0"):
            match(make_agent("random"), make_agent("random", LOPSIDED))

    @pytest.mark.parametrize("answer", [0, 9, 0.5, None, "4", True], ids=repr)
    def test_illegal_answer_in_sampled_match_raises(self, answer):
        with pytest.raises(IllegalMoveError, match=f"{answer!r}"):
            match(lambda position: answer, "random")


def test_game_defaults_to_that_of_agent():
    agent = make_agent("random", LOPSIDED)
    assert certify(agent) == certify("random", LOPSIDED)
    assert exploitability(agent) == exploitability("random", LOPSIDED)
    assert best_response(agent).game == LOPSIDED
    due = match("minimax", "random", LOPSIDED)
    assert match("minimax", agent) == match(make_agent("minimax", LOPSIDED), "random") == due
    assert play_game("random", agent, rng=0).game == LOPSIDED


def test_rounding_errors_in_policy_are_accepted():
    agent = Broken(TICTACTOE, lambda position, policy: policy * (1 + 1e-9))
    assert match(agent, "minimax").score == pytest.approx(match("random", "minimax").score, abs=1e-6)
