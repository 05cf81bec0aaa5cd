"""Draws by pairs and groups of cells, each checked by exhaustive search."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ttt_env
from tests.support.marks import slow
from ttt_env.analysis.layers import reachable
from ttt_env.compiled.sets import winning_sets
from ttt_env.proofs.pairing_kernel import groups_of, new_pairs
from ttt_env.proofs.proof import Proof, prove
from ttt_env.proofs.strategy import drawing_regions
from ttt_env.rules.game import cells_of, random_position


def sets_by_group(position, groups):
    """The cells missing to the mover in each unbroken set, by the group that breaks the set."""
    lacking = [[] for _ in groups]
    for cells in map(set, position.game.winning_sets):
        if any(position[cell] and (position[cell] == 1) != (position.to_move == "X") for cell in cells):
            continue
        rest = {cell for cell in cells if not position[cell]}
        pairs = [n for n, group in enumerate(groups) if len(group) == 2 and rest >= set(group)]
        others = [n for n, group in enumerate(groups) if len(group) > 2 and rest & set(group)]
        assert pairs or len(others) == 1, (position, cells)
        number = (pairs or others)[0]
        lacking[number].append(frozenset(rest & set(groups[number])))
    return lacking


@cache
def breaks(lacking):
    """Whether the second player can get a stone into each of these sets, by exhaustive search."""
    if not lacking:
        return True
    cells = frozenset().union(*lacking)
    return not any(min(map(len, after_move(lacking, cell))) == 0 for cell in cells) and all(
        any(breaks(after_reply(after_move(lacking, cell), reply)) for reply in cells - {cell} or [None])
        for cell in cells
    )


def after_move(lacking, cell):
    return frozenset(rest - {cell} for rest in lacking)


def after_reply(lacking, reply):
    return frozenset(rest for rest in lacking if reply not in rest)


def check_groups(position, groups):
    cells = [cell for group in groups for cell in group]
    assert len(set(cells)) == len(cells)
    assert set(cells) <= set(position.legal_cells)
    for group in sets_by_group(position, groups):
        assert breaks(frozenset(group)), (position, groups)


def has_valid_groups(position, solution):
    """Whether groups are found; they are checked, and the player to move must not win."""
    groups = drawing_regions(position)
    if groups is None:
        return False
    check_groups(position, groups)
    assert solution.value_of(position) <= 0, position
    return True


@pytest.mark.slow
def test_groups_are_valid_on_every_position_of_3x3():
    game = ttt_env.get_game("tictactoe-v0")
    solution, n_claims = ttt_env.solve(game), 0
    for layer in reachable(game):
        for position in layer.boards(layer.open_slots):
            n_claims += has_valid_groups(position, solution)
    assert n_claims > 1000


@pytest.mark.parametrize(
    "game",
    ["mnk-v0:m=4,n=3,k=3", "mnk-v0:m=4,n=3,k=4", slow("mnk-v0:m=4,n=4,k=4"), slow("square-v0")],
)
def test_groups_are_valid_on_random_positions(game):
    game, rng = ttt_env.get_game(game), np.random.default_rng(1)
    solution = ttt_env.solve(game)
    assert sum(has_valid_groups(random_position(game, rng), solution) for _ in range(300))


@st.composite
def small_games(draw):
    n_cells = draw(st.integers(3, 9))
    sets = st.lists(st.integers(0, n_cells - 1), min_size=1, max_size=4, unique=True)
    return ttt_env.Game("small", (n_cells,), draw(st.lists(sets, min_size=1, max_size=12)))


@settings(max_examples=60, deadline=None)
@given(small_games(), st.integers(0, 1000))
@pytest.mark.slow
def test_groups_are_valid_in_small_games(game, seed):
    solution, rng = ttt_env.solve(game), np.random.default_rng(seed)
    for position in (game.start, random_position(game, rng), random_position(game, rng)):
        has_valid_groups(position, solution)


@pytest.mark.parametrize(
    ("m", "n", "k"),
    # Hales and Jewett 1963 pair 5,5,5. Pairs do not suffice for 4,4,4: its 10 sets have 16 cells.
    [(5, 5, 5), (6, 6, 6), (7, 7, 7), (8, 8, 8), (4, 4, 4), (6, 5, 5)],
)
def test_empty_boards_are_drawn_by_pairs_or_groups(m, n, k):
    start = ttt_env.get_game("mnk-v0", m=m, n=n, k=k).start
    groups = drawing_regions(start)
    check_groups(start, groups)
    assert (max(map(len, groups)) > 2) == ((m, n, k) in [(4, 4, 4), (6, 5, 5)])


def test_group_of_five_cells_breaks_three_sets():
    """Three pairs would need six cells."""
    game = ttt_env.Game("three sets", (5,), [(0, 1, 2), (0, 3, 4), (1, 3)])
    assert drawing_regions(game.start) == ((0, 1, 2, 3, 4),)
    check_groups(game.start, ((0, 1, 2, 3, 4),))


def test_won_and_misere_games_have_no_groups():
    misere = "mnk-v0:m=5,n=5,k=5,misere=true"
    for name in ("mnk-v0:m=4,n=3,k=3", "mnk-v0:m=6,n=5,k=4", "square-v0:n=5", "qubic-v0", misere):
        assert drawing_regions(ttt_env.get_game(name).start) is None, name
    # If every set is already broken, the result is not None but empty.
    assert drawing_regions(ttt_env.Position.parse("XOX/OOX/XXO")) == ()


def are_paired(rests):
    """Whether disjoint pairs of cells can break all of these sets, by exhaustive search."""
    if not rests:
        return True
    fewest = min(rests, key=len)
    return any(
        are_paired([rest - set(pair) for rest in rests if not rest >= set(pair)])
        for pair in combinations(sorted(fewest), 2)
    )


def count_paired(game, positions):
    """Check that pairs are found exactly where they exist; return the number of such positions."""
    sets, room, n_paired = winning_sets(game), new_pairs(game), 0
    for position in positions:  # Each search starts with the pairs and weights of earlier ones.
        masks = np.uint64(position.mine), np.uint64(position.theirs)
        lacking = [set(cells_of(s & ~position.mine)) for s in game.winning_masks if not s & position.theirs]
        is_paired = groups_of(*masks, sets, room, 10**6, 0) >= 0
        assert is_paired == are_paired(lacking), position
        n_paired += is_paired
    return n_paired


@pytest.mark.parametrize("name", ["mnk-v0:m=5,n=4,k=4", "square-v0", slow("mnk-v0:m=6,n=6,k=5")])
def test_pairs_are_found_if_and_only_if_they_exist(name):
    game, rng = ttt_env.get_game(name), np.random.default_rng(5)
    assert 10 < count_paired(game, [random_position(game, rng) for _ in range(150)]) < 140


@pytest.mark.parametrize(
    "board",
    [
        "......../......../...O..../.X.O...X/......../...O.X../........",
        "......../......../...O.X../.X.XO.../..O...../......../........",
        "......../......../..XO.O../.....X../...XO.../......../........",
        "......../......../.X.XXO../....O.../..O.OX../......../........",
    ],
)
def test_pairs_are_found_after_long_search_on_large_board(board):
    """The search takes thousands of tries; it revises only choices that are involved in a failure."""
    game = ttt_env.get_game("mnk-v0", m=8, n=7, k=5)
    position, room = ttt_env.Position.parse(board, game), new_pairs(game)
    masks = np.uint64(position.mine), np.uint64(position.theirs)
    n_pairs = groups_of(*masks, winning_sets(game), room, 10**6, 0)
    assert n_pairs > 0
    check_groups(position, [cells_of(pair) for pair in room.chosen_pairs[:n_pairs].tolist()])


def test_proof_by_groups_searches_only_for_its_line():
    found = prove("mnk-v0:m=6,n=6,k=6", nodes=1)
    assert (found.value, found.principal_variation) == (0, ())
    check_groups(found.position, found.regions)
    assert Proof.from_json(found.to_json()) == found
    for searched in ("mnk-v0:m=5,n=4,k=4", "mnk-v0:m=4,n=3,k=3"):
        assert prove(searched).regions == ()
