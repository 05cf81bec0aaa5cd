"""Exact analysis of games with gravity against published figures, and naive recursion on any supports."""

import numpy as np
import pytest

from tests import reference
from tests.support.games import boards_of, positions_of
from tests.support.marks import slow, slow_but_the_first
from tests.support.naive import twin
from tests.support.naive_agent import Plays
from ttt_env import Game, certify, exploitability, get_game, solve
from ttt_env.analysis.layers import reachable
from ttt_env.rules import symmetries
from ttt_env.rules.sizes import n_placements

SMALL = (
    "connect-four-v0:m=3,n=3,k=3",
    "connect-four-v0:m=2,n=4,k=3",
    "connect-four-v0:m=4,n=2,k=3",
    "score-four-v0:k=2,h=2",
)


@pytest.mark.parametrize("name", slow_but_the_first(reference.CONNECT_FOUR))
def test_positions_and_values_match_published_ones(name):
    game = get_game(name)
    n_positions, value = reference.CONNECT_FOUR[name]
    assert sum(map(len, reachable(game))) == n_positions <= n_placements(game)
    assert solve(game).value == value


def random_game(number, rng):
    """A game of seven cells with random winning sets and supports; a cell may carry several others."""
    order = rng.permutation(7).tolist()
    supports = [None] * 7
    for place, cell in enumerate(order):
        if place and rng.random() < 0.7:
            supports[cell] = order[int(rng.integers(place))]
    sets = [rng.choice(7, size=int(rng.integers(2, 4)), replace=False).tolist() for _ in range(4)]
    return Game(f"random {number}", (7,), sets, misere=bool(number % 2), supports=supports)


RANDOM = [random_game(number, np.random.default_rng(number)) for number in range(40)]


def test_random_games_have_cells_carrying_several_others():
    carried = [[cell for cell in game.supports if cell is not None] for game in RANDOM]
    assert sum(len(set(cells)) < len(cells) for cells in carried) > 20


@pytest.mark.parametrize(
    "game", [*(f"{n}{m}" for n in SMALL for m in ("", ",misere=true")), *RANDOM], ids=str
)
class TestAgainstNaiveRecursion:
    def test_positions_and_values_match_naive_recursion(self, game):
        game = get_game(game)
        layers = reachable(game)
        assert [len(layer) for layer in layers] == [len(layer) for layer in twin(game).layers()]
        for board, position in positions_of(game).items():
            assert position.legal_cells == twin(game).moves(board)
            assert position.checked() is position
        values = solve(game).values
        assert values.of(boards_of(game)).tolist() == [
            twin(game).value(board) for board in positions_of(game)
        ]

    @pytest.mark.parametrize("name", ["odd", slow("first"), slow("uniform"), slow("optimal")])
    def test_strength_of_agents_matches_naive_recursion(self, game, name):
        game = get_game(game)
        policy = getattr(twin(game), name)
        found = certify(Plays(game, name), game)
        for seat in "XO":
            layers = twin(game).layers({seat: policy})
            ends = [board for layer in layers for board in layer if not twin(game).moves(board)]
            assert found.worst_case[seat] == min(twin(game).result(board, seat) for board in ends)
        due = sum(twin(game).best_reply(seat, policy)[0] for seat in "XO")
        assert exploitability(Plays(game, name), game).nash_conv == pytest.approx(float(due), abs=1e-12)

    def test_symmetries_keep_supports(self, game):
        game = get_game(game)
        for permutation in symmetries(game):
            for cell, below in enumerate(game.supports):
                assert game.supports[permutation[cell]] == (None if below is None else permutation[below])
