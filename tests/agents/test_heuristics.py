"""Rule lists and weights against literal implementations, and their exact results."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import ttt_env
from tests.support import naive
from tests.support.games import TICTACTOE, open_boards, random_positions
from tests.support.marks import slow
from tests.support.naive_agent import cells, literal_weights, naive_rule, wins
from ttt_env.agents.heuristics.rules import RULES, NewellSimon, Rules
from ttt_env.agents.heuristics.threats import RuleInput
from ttt_env.agents.heuristics.weights import cell_weights
from ttt_env.errors import ParameterError

SQUARE = ttt_env.get_game("square-v0")
LOPSIDED = ttt_env.Game("lopsided", (3, 4), [(0, 1), (2, 5, 8), (1, 6, 11, 9), (3,), (0, 7, 8, 9)])
GAMES = [
    TICTACTOE,
    ttt_env.get_game("tictactoe-v0:misere=true"),
    SQUARE,
    ttt_env.get_game("mnk-v0:m=5,n=5,k=4"),
    ttt_env.get_game("qubic-v0"),
    LOPSIDED,
]
by_name = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


@cache
def positions(game):
    """A sample of open positions."""
    if game.n_cells == 9:
        twin = naive.twin(game)
        boards = [board for board in twin.boards() if twin.moves(board)]
        return [ttt_env.Position(game, *naive.masks(board)) for board in boards[::12]]
    return random_positions(game, 60 if game.n_cells < 20 else 12, seed=1)


@cache
def newell_simon(board):
    """The rule list as a naive policy on 3×3, by board."""
    position = ttt_env.Position(TICTACTOE, *naive.masks(board))
    for name in "win block fork block-fork centre opposite-corner corner side".split():
        if chosen := naive_rule(name, position):
            return dict.fromkeys(chosen, Fraction(1, len(chosen)))
    raise AssertionError(f"no rule fires in {board}")


EXAMPLES = [
    ("win", "XX./OO./...", {2}),
    ("block", "XX./OO./...", {5}),
    ("fork", "XO./.X./..O", {3, 6}),
    ("block-fork", "X../.O./..X", {1, 3, 5, 7}),  # Corners lose to a fork; a side forces the reply.
    ("block-fork", "XO./.X./..O", set()),
    ("centre", "X../.../...", {4}),
    ("opposite-corner", "X../.O./...", set()),
    ("opposite-corner", "X../.../...", {8}),
    ("corner", "X../.../...", {2, 6, 8}),
    ("side", "X../.../...", {1, 3, 5, 7}),
]


def proposed_cells(name, *positions):
    boards = ttt_env.Boards.of(positions)
    return [cells(mask) for mask in (RULES[name](RuleInput(boards)) & ~boards.occupied_masks).tolist()]


class TestRules:
    @by_name
    @pytest.mark.parametrize("name", RULES)
    def test_rules_propose_cells_of_naive_rules(self, game, name):
        assert proposed_cells(name, *positions(game)) == [naive_rule(name, p) for p in positions(game)]

    def test_rules_propose_cells_of_examples(self):
        for name, text, expected in EXAMPLES:
            assert proposed_cells(name, ttt_env.Position.parse(text)) == [expected], (name, text)
        # Two sets with the same missing cell are only one way to win.
        for last, forks in ((5, set()), (4, {0})):
            game = ttt_env.Game("two sets", (2, 4), [(0, 1, 5), (0, 2, last)])
            position = ttt_env.Position(game, 0b0000_0110, 0b1100_0000)
            assert proposed_cells("fork", position) == [forks] == [naive_rule("fork", position)]

    def test_first_rule_that_fires_moves(self):
        agent = Rules(TICTACTOE, "side+centre")
        only_corners_free = ttt_env.Position.parse(".X./OXX/.O.")
        assert np.flatnonzero(agent.policy(TICTACTOE.start)).tolist() == [1, 3, 5, 7]
        assert agent.policy(only_corners_free)[[0, 2, 6, 8]].tolist() == [0.25] * 4

    @pytest.mark.parametrize(("game", "middle"), [("square-v0", []), ("mnk-v0:m=7,n=5,k=4", [17])])
    def test_only_odd_boards_have_centre(self, game, middle):
        start = ttt_env.get_game(game).start
        found = np.flatnonzero(ttt_env.make_agent("rules:centre", game).policy(start)).tolist()
        assert found == (middle or list(range(16)))

    @pytest.mark.parametrize(
        ("short", "rules"),
        [
            ("block", "rules:block"),
            ("win-block", "rules:win+block"),
            ("rules", "rules:centre+block"),
            ("newell-simon", f"rules:{' + '.join(RULES)}"),
        ],
    )
    def test_short_names_are_rule_lists(self, short, rules):
        boards = ttt_env.Boards.of(positions(TICTACTOE))
        one, other = (ttt_env.make_agent(spec).policies(boards) for spec in (short, rules))
        np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize("rules", ["center", "centre+blok", "centre++block", "", "centre,block"])
    def test_unknown_rules_are_refused(self, rules):
        with pytest.raises(ParameterError, match=r"rule=.*: expected one of win, block, fork, block-fork"):
            Rules(TICTACTOE, rules)

    def test_finished_positions_give_finite_policies(self):
        over = ttt_env.Boards.of([ttt_env.Position.parse("XXX/OO./...")])
        for spec in ("newell-simon", "weights"):
            assert np.isfinite(ttt_env.make_agent(spec).policies(over)).all()


class TestNewellSimon:
    def test_policy_matches_naive_rules(self):
        boards = open_boards()[::4]
        for position, found in zip(boards, NewellSimon(TICTACTOE).policies(boards), strict=True):
            expected = newell_simon(naive.board_of(str(position)))
            np.testing.assert_allclose(found, [float(expected.get(cell, 0)) for cell in range(9)])

    def test_newell_simon_is_unbeatable(self):
        certificate = ttt_env.certify("newell-simon")
        assert certificate.unbeatable
        assert len(certificate.blunders) == 0
        assert ttt_env.exploitability("newell-simon").nash_conv == 0
        match = ttt_env.match("newell-simon", "minimax")
        assert match.as_x == match.as_o == (0, 1, 0)

    def test_results_against_random_are_exact(self):
        match = ttt_env.match("newell-simon", "random")
        assert match.as_x == pytest.approx((23 / 24, 1 / 24, 0), abs=1e-12)
        assert match.as_o == pytest.approx((278 / 315, 37 / 315, 0), abs=1e-12)


def literal_choice(position):
    """The cells that Agarwal's rules allow, taken literally."""
    own, other, free = cells(position.mine), cells(position.theirs), position.legal_cells
    sets = position.game.winning_sets
    if urgent := wins(sets, own, other) or wins(sets, other, own):
        return urgent
    mine, theirs = literal_weights(position, own, other), literal_weights(position, other, own)
    if not any(mine) and not any(theirs):
        return set(free)
    first, second = (theirs, mine) if max(theirs) > max(mine) else (mine, theirs)
    candidates = [cell for cell in free if first[cell] == max(first)]
    return {cell for cell in candidates if second[cell] == max(second[c] for c in candidates)}


class TestWeights:
    def test_opening_weights_on_square_are_exact(self):
        opening = [[3, 5, 5, 3], [5, 7, 7, 5], [5, 7, 7, 5], [3, 5, 5, 3]]
        for weights in cell_weights(ttt_env.Boards.start(SQUARE)):
            assert weights.reshape(4, 4).tolist() == opening

    @by_name
    def test_weights_match_literal_weights(self, game):
        mine, theirs = cell_weights(ttt_env.Boards.of(positions(game)))
        for row, position in enumerate(positions(game)):
            own, other = cells(position.mine), cells(position.theirs)
            assert mine[row].tolist() == literal_weights(position, own, other)
            assert theirs[row].tolist() == literal_weights(position, other, own)

    @by_name
    def test_policy_matches_literal_choice(self, game):
        policies = ttt_env.make_agent("weights", game).policies(ttt_env.Boards.of(positions(game)))
        for position, policy in zip(positions(game), policies, strict=True):
            chosen = literal_choice(position)
            assert policy == pytest.approx([(c in chosen) / len(chosen) for c in range(game.n_cells)])

    @pytest.mark.parametrize(("game", "moves"), [("tictactoe-v0", 7), slow("square-v0", 11)])
    def test_weights_agent_loses_only_as_o(self, game, moves):
        certificate = ttt_env.certify("weights", game)
        assert certificate.worst_case == {"X": 0, "O": -1}
        assert certificate.refutations["X"] is None
        assert len(certificate.refutations["O"].cells) == moves
        assert ttt_env.exploitability("weights", game).as_x == 0
        assert ttt_env.exploitability("weights", game).as_o == 1

    @pytest.mark.slow
    def test_results_against_random_on_square_are_exact(self):
        match = ttt_env.match("weights", "random", "square-v0")
        assert match.exact
        assert match.as_x == pytest.approx((0.99969536636203, 0.00030463363797, 0), abs=1e-12)
        assert match.as_o == pytest.approx((0.96859351174401, 0.03136268718883, 4.380106716e-05), abs=1e-12)
