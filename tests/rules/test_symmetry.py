"""The symmetries of boards, and canonical positions."""

from functools import cache

import numpy as np
import pytest

from tests import reference
from tests.support.games import (
    CONNECT_THREE,
    LOPSIDED,
    MISERE,
    TICTACTOE,
    TREE,
    boards_of,
    played_positions,
    positions_of,
)
from tests.support.marks import slow
from tests.support.naive import twin
from ttt_env import Boards, Game, get_game
from ttt_env.rules.symmetry import (
    automorphisms,
    canonical,
    canonical_boards,
    motions,
    symmetries,
    transform,
    transform_boards,
)

OBLONG = get_game("mnk-v0:m=4,n=2,k=3")
MIRRORED = Game("mirrored", (3, 3), [(0, 1, 2), (0, 3), (2, 5)])
SMALL = [TICTACTOE, OBLONG, LOPSIDED, MIRRORED, CONNECT_THREE, TREE]
ALL = [*map(get_game, reference.SYMMETRIES), *SMALL]


class TestSymmetries:
    def test_number_of_symmetries_matches_reference(self):
        for game, count in reference.SYMMETRIES.items():
            assert len(set(symmetries(get_game(game)))) == len(symmetries(get_game(game))) == count, game
        assert symmetries(LOPSIDED) == (tuple(range(6)),)
        assert symmetries(MIRRORED) == (tuple(range(9)), (2, 1, 0, 5, 4, 3, 8, 7, 6))

    @pytest.mark.parametrize("game", ALL, ids=repr)
    def test_symmetries_form_group_that_keeps_rules(self, game):
        assert symmetries(game)[0] == tuple(range(game.n_cells))
        sets = set(map(frozenset, game.winning_sets))
        for permutation in symmetries(game):
            assert sorted(permutation) == list(range(game.n_cells))
            assert {frozenset(permutation[cell] for cell in cells) for cells in sets} == sets
            for cell, below in enumerate(game.supports):
                assert game.supports[permutation[cell]] == (None if below is None else permutation[below])
        found = set(symmetries(game))
        assert {tuple(one[cell] for cell in other) for one in found for other in found} == found

    def test_symmetries_keep_neighbours(self):
        def neighbours(one, other):
            return abs(one // 4 - other // 4) + abs(one % 4 - other % 4) == 1

        for p in symmetries(get_game("square-v0")):
            assert all(neighbours(a, b) == neighbours(p[a], p[b]) for a in range(16) for b in range(16))


@pytest.mark.parametrize("game", [*SMALL[1:], slow(TICTACTOE), slow(MISERE)], ids=repr)
def test_symmetric_positions_have_same_value(game):
    values = {position: twin(game).value(board) for board, position in positions_of(game).items()}
    for position, value in values.items():
        for permutation in symmetries(game):
            assert values[transform(position, permutation)] == value


@pytest.mark.parametrize("game", SMALL, ids=repr)
def test_transform_commutes_with_moves(game):
    """All positions of an orbit also have the same canonical position, which belongs to the orbit."""
    for position in boards_of(game)[:: 20 if game.n_cells == 9 else 3]:
        orbit = {permutation: transform(position, permutation) for permutation in symmetries(game)}
        for permutation, moved in orbit.items():
            for cell in position.legal_cells:
                assert transform(position.child(cell), permutation) == moved.play(permutation[cell])
        assert canonical(position) in orbit.values()
        assert {canonical(symmetric) for symmetric in orbit.values()} == {canonical(position)}


LARGER = [get_game("square-v0"), get_game("qubic-v0"), get_game("mnk-v0:m=8,n=8,k=5")]


@pytest.mark.parametrize("game", [*SMALL, *LARGER], ids=repr)
def test_batches_match_single_positions(game):
    boards = Boards.of(played_positions(game, 5)[-50:])
    before = boards.mine.copy(), boards.theirs.copy()
    for permutation in symmetries(game):
        assert list(transform_boards(boards, permutation)) == [transform(p, permutation) for p in boards]
    found, chosen = canonical_boards(boards)
    assert list(found) == [canonical(position) for position in boards]
    for position, number, target in zip(boards, chosen, found, strict=True):
        assert transform(position, symmetries(game)[number]) == target
    assert (boards.mine == before[0]).all() and (boards.theirs == before[1]).all()


@pytest.mark.parametrize("game", [*SMALL, *LARGER], ids=repr)
def test_motions_equal_symmetries(game):
    assert tuple(map(tuple, motions(game).tolist())) == symmetries(game)


def test_position_counts_up_to_symmetry_match_published_ones():
    found = list(canonical_boards(boards_of(TICTACTOE))[0])
    assert found == [canonical(position) for position in positions_of(TICTACTOE).values()]
    plies = [position.ply for position in set(found)]
    assert np.bincount(plies).tolist() == reference.POSITIONS_BY_PLY_UP_TO_SYMMETRY
    assert len(plies) == reference.POSITIONS_UP_TO_SYMMETRY


@cache
def n_games_up_to_symmetry(position):
    after = {canonical(position.play(cell)) for cell in position.legal_cells}
    return sum(map(n_games_up_to_symmetry, after)) if after else 1


def test_game_count_up_to_symmetry_matches_published_one():
    assert n_games_up_to_symmetry(TICTACTOE.start) == reference.GAMES_UP_TO_SYMMETRY


@pytest.mark.parametrize(
    ("game", "number"),
    # Qubic has 192: Silver, The group of automorphisms of the game of 3-dimensional ticktacktoe, 1967.
    [
        ("qubic-v0", 192),
        ("tictactoe-v0", 8),
        ("mnk-v0:m=4,n=4,k=4", 32),
        ("mnk-v0:m=5,n=4,k=4", 4),
        ("score-four-v0", 8),  # Gravity forbids exchanging layers along its axis.
        ("connect-four-v0:m=4,n=4,k=4", 2),
    ],
)
def test_automorphisms_form_group_that_keeps_rules(game, number):
    game = get_game(game)
    found, sets = set(automorphisms(game)), {frozenset(cells) for cells in game.winning_sets}
    assert len(found) == len(automorphisms(game)) == number
    assert found >= set(symmetries(game))
    for one in found:
        assert {frozenset(one[cell] for cell in cells) for cells in sets} == sets
        assert all(
            game.supports[one[c]] == (None if s is None else one[s]) for c, s in enumerate(game.supports)
        )
        other = automorphisms(game)[-1]
        assert tuple(one[cell] for cell in other) in found


def test_automorphisms_of_long_line_are_fast():
    """A proof file could ask for all 10! · 2¹⁰ ways to exchange its layers."""
    line = Game("line", (20,), [(0, 1)])
    assert automorphisms(line) == symmetries(line) == (tuple(range(20)),)
    assert len(automorphisms(Game("line", (20,), [(0, 1), (18, 19)]))) == 2
