"""Proofs by search against the strong solution and published values, and a plain check of a new result."""

import itertools
import pickle
import tracemalloc
from functools import cache

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support import naive
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from tests.support.random_games import random_game
from ttt_env.analysis.known import short_proof
from ttt_env.analysis.layers import reachable
from ttt_env.compiled.sets import winning_sets
from ttt_env.errors import ImpossiblePositionError, ParameterError
from ttt_env.proofs import prover, state_kernel
from ttt_env.proofs import search_kernel as kernel
from ttt_env.proofs.proof import prove
from ttt_env.rules.game import random_position
from ttt_env.rules.symmetry import canonical, symmetries, transform

CUBE = ttt_env.Game("cube", (3, 3, 3), ttt_env.Game.runs((3, 3, 3), 3))

# Golomb and Hales 2002 (the cube); van den Herik, Uiterwijk and van Rijswijck 2002 (m,n,k).
PUBLISHED = {
    "mnk-v0:m=4,n=3,k=3": 1,
    "mnk-v0:m=5,n=3,k=3": 1,
    "mnk-v0:m=4,n=4,k=3": 1,
    "mnk-v0:m=4,n=4,k=4": 0,
    "mnk-v0:m=5,n=4,k=4": 0,
    "mnk-v0:m=6,n=4,k=4": 0,
    "mnk-v0:m=5,n=5,k=4": 0,
    "mnk-v0:m=6,n=5,k=4": 1,
    "mnk-v0:m=5,n=5,k=5": 0,
    "mnk-v0:m=6,n=6,k=5": 0,
    "mnk-v0:m=7,n=6,k=5": 0,  # The next one is by Hsu and others 2020.
    "mnk-v0:m=7,n=7,k=5": 0,
    "square-v0:n=3,tilted=false": 0,  # Jenrich, arXiv 1109.2341, also for the next two.
    "square-v0:tilted=false": 0,
    "square-v0:n=5,tilted=false": 1,
}


def assert_proof_agrees(position, solution):
    """Check that the proof has the exact value, and that its line keeps it until the result is certain."""
    found = prove(position.game, position)
    value = solution.value_of(position)
    assert (found.value, found.bounds) == (value, (value, value)), position
    for cell in found.principal_variation:
        assert cell in solution.best_cells(position), position
        position = position.play(cell)
    if not position.is_over:
        assert solution.value_of(position) == 0
        assert all(m & position.mine and m & position.theirs for m in position.game.winning_masks)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["tictactoe-v0", "tictactoe-v0:misere=true"])
def test_proofs_of_every_3x3_position_match_solution(game):
    game = ttt_env.get_game(game)
    solution, checked = ttt_env.solve(game), 0
    for layer in reachable(game):
        for position in layer.boards(np.concatenate([layer.open_slots, layer.won_slots, layer.drawn_slots])):
            assert_proof_agrees(position, solution)
            checked += 1
    assert checked == reference.POSITIONS


@pytest.mark.parametrize(
    ("game", "n_positions"),
    [
        ("tictactoe-v0", 80),
        ("tictactoe-v0:misere=true", 80),
        ("mnk-v0:m=4,n=3,k=3", 60),
        ("mnk-v0:m=4,n=3,k=3,misere=true", 60),
        ("mnk-v0:m=4,n=3,k=4", 40),
        slow("mnk-v0:m=4,n=4,k=3", 150),
        slow("square-v0", 150),
        slow("mnk-v0:m=4,n=4,k=4,misere=true", 40),
    ],
)
def test_proofs_of_random_positions_match_solution(game, n_positions):
    game, rng = ttt_env.get_game(game), np.random.default_rng(4)
    solution = ttt_env.solve(game)
    for _ in range(n_positions):
        assert_proof_agrees(random_position(game, rng), solution)


@pytest.mark.parametrize("misere", [False, True], ids=["normal", "misère"])
@pytest.mark.parametrize("n_games", [4, slow(16)])
def test_proofs_of_random_games_match_solution(n_games, misere):
    rng = np.random.default_rng(5)
    for number in range(n_games):
        game = random_game(number, rng, misere)
        solution = ttt_env.solve(game)
        assert_proof_agrees(game.start, solution)
        for _ in range(8):
            assert_proof_agrees(random_position(game, rng), solution)


SWEEP_VALUES = {game: value for game, (_, value) in reference.ENUMERABLE.items()}


@pytest.mark.parametrize(("game", "value"), (PUBLISHED | SWEEP_VALUES).items())
def test_values_match_published_ones_and_sweep(game, value):
    assert prove(game, seconds=60).value == value


@pytest.mark.slow
def test_upright_squares_on_4x4_match_sweep():
    game = ttt_env.get_game("square-v0:tilted=false")
    assert ttt_env.solve(game).value == PUBLISHED[game.name]
    n_positions = sum(naive.positions_by_ply(16, {s for s in naive.squares(4) if is_upright(s)}))
    assert sum(map(len, reachable(game))) == n_positions
    assert ttt_env.certify("minimax", game).unbeatable


def is_upright(square):
    return len({cell // 4 for cell in square}) == 2


def test_cube_is_won_by_x():
    found, position = prove(CUBE), CUBE.start
    assert found.value == 1
    for cell in found.principal_variation:
        position = position.play(cell)
    assert position.winner == "X"


@pytest.mark.slow
def test_long_proofs_reach_published_values():
    assert prove("mnk-v0:m=7,n=4,k=4", seconds=300).value == 0
    assert prove("mnk-v0:m=6,n=6,k=4", seconds=300).value == 1
    assert prove("mnk-v0:m=8,n=4,k=4", seconds=600).value == 0


def test_square_5x5_is_won_against_every_defence():
    """The value is unpublished, so the winning strategy is played against all replies.

    Only the rules are trusted: the proofs choose X's moves, every reply of O is tried, and X wins every
    game. Symmetric positions are tried once.
    """
    game = ttt_env.get_game("square-v0:n=5")
    assert prove(game).value == 1
    pending, seen, n_won = [game.start], set(), 0
    while pending:
        position = pending.pop()
        after = position.play(prove(game, position).principal_variation[0])
        if after.is_over:
            assert after.winner == "X"
            n_won += 1
            continue
        for cell in urgent_replies(after):
            reply = after.play(cell)
            assert not reply.is_over
            least = canonical(reply)
            if least not in seen:
                seen.add(least)
                pending.append(reply)
    assert n_won > 0
    assert len(seen) > 100


def urgent_replies(position):
    """All replies; if X threatens to win, only those that block one threat, as others lose at once."""
    x = position.theirs
    threats = [c for c in position.legal_cells if position.game.owns_set(x | 1 << c)]
    wins = [c for c in position.legal_cells if position.game.owns_set(position.mine | 1 << c)]
    return wins or threats[:1] or position.legal_cells


def test_symmetric_positions_have_equal_proofs():
    game, rng = ttt_env.get_game("mnk-v0:m=5,n=5,k=4"), np.random.default_rng(6)
    for _ in range(10):
        position = random_position(game, rng)
        values = {prove(game, transform(position, motion)).value for motion in symmetries(game)}
        assert len(values) == 1
        assert values != {None}


def test_proof_is_reproducible_and_pickles():
    one, other = prove("mnk-v0:m=5,n=4,k=4"), prove("mnk-v0:m=5,n=4,k=4")
    assert (one.principal_variation, one.bounds) == (other.principal_variation, other.bounds)
    assert pickle.loads(pickle.dumps(one)) == one
    searched = prove("mnk-v0:m=4,n=3,k=3")
    assert searched.without_search() == searched and len(searched.without_search().strategies) == 1


@pytest.mark.parametrize("budget", [{"nodes": 3000}, {"seconds": 0.1}])
def test_exhausted_budget_leaves_value_unknown(budget):
    found = prove("qubic-v0", **budget)
    assert found.value is None
    assert found.bounds == (0, 1)  # The second player cannot win.
    assert found.principal_variation == ()
    assert found.seconds < 5


def test_node_budget_is_kept():
    assert 2000 <= prove("mnk-v0:m=7,n=4,k=4", nodes=3000).nodes <= 3000
    middle = ttt_env.get_game("qubic-v0").start.play(0)
    assert prove(middle.game, middle, nodes=100).bounds == (-1, 1)
    assert prove(middle.game, middle, nodes=0.5).nodes == 0


@pytest.mark.parametrize("value", [0, -1, float("nan"), "many", True])
@pytest.mark.parametrize("name", ["nodes", "seconds"])
def test_invalid_budgets_are_refused(name, value):
    with pytest.raises(ParameterError, match=f"{name}=.* a number > 0"):
        prove(TICTACTOE, **{name: value})


def test_progress_is_reported():
    reports = []
    prove("mnk-v0:m=8,n=4,k=4", nodes=50_000, progress=reports.append)
    assert len(reports) >= 2
    assert all(a.nodes <= b.nodes and a.seconds <= b.seconds for a, b in itertools.pairwise(reports))
    assert {report.seat for report in reports} == {"X"}


def test_interrupt_leaves_prover_usable():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prove("qubic-v0", progress=interrupt)
    assert prove(TICTACTOE).value == 0


@pytest.mark.slow
def test_machine_speed_does_not_change_search(monkeypatch):
    game = ttt_env.get_game("mnk-v0:m=7,n=4,k=4")  # The table of this game grows.
    found = prove(game)
    monkeypatch.setattr("ttt_env.proofs.prover._SLICE_SECONDS", 1e-4)
    again = prove(game)
    assert (again.nodes, again.principal_variation) == (found.nodes, found.principal_variation)
    assert found.nodes > 1 << 15


SLOW_WITH_SHORT_TURNS = "mnk-v0:m=5,n=5,k=4", "mnk-v0:m=6,n=4,k=4"


@pytest.mark.parametrize(
    "game", [slow(game) if game in SLOW_WITH_SHORT_TURNS else game for game in PUBLISHED if "m=7" not in game]
)
@pytest.mark.slow
def test_alternating_searches_find_published_value(game, monkeypatch):
    monkeypatch.setattr(prover, "_FIRST_TURN", 5)
    found = prove(game)
    found.check()
    assert found.value == PUBLISHED[game]


def test_turn_length_grows_by_two_fifths_each_round():
    spent, turns = 0, []
    for _ in range(6):
        patient, left = prover._turn(spent)
        assert prover._turn(spent + left - 1) == (patient, 1)
        spent += left
        turns.append((patient, round(left / prover._FIRST_TURN, 2)))
    assert turns == [(False, 1), (True, 1), (False, 1.4), (True, 1.4), (False, 1.96), (True, 1.96)]


def test_table_grows_without_loss(monkeypatch):
    game = ttt_env.get_game("mnk-v0:m=6,n=4,k=4")
    small = prove(game, seconds=60)
    monkeypatch.setattr(state_kernel, "_FIRST_BITS", 8)
    assert prove(game, seconds=60).value == small.value == 0


SYMMETRIC = ["tictactoe-v0", "mnk-v0:m=4,n=3,k=3", "square-v0:n=3"]


def rotational_game(rng):
    """A game on 3×3 that is symmetric under rotation but not under reflection."""
    turn, sets = (2, 5, 8, 1, 4, 7, 0, 3, 6), []
    for size in (2, 3, 3, 4):
        cells = rng.choice(9, size=size, replace=False).tolist()
        for _ in range(4):
            sets.append(cells)
            cells = [turn[cell] for cell in cells]
    return ttt_env.Game("turned", (3, 3), sets)


@pytest.mark.parametrize("number", range(12))
def test_stones_outside_zone_do_not_help_attacker(number):
    rng = np.random.default_rng(number)
    makers = (lambda: ttt_env.get_game(SYMMETRIC[number]), lambda: rotational_game(rng))
    game = makers[number // 3]() if number < 6 else random_game(number, rng)
    attacker_wins, search, n_changed = attacker_wins_in(game), state_kernel.new_search(game), 0
    for _ in range(40):
        stones = rng.choice(3, size=game.n_cells, p=[0.5, 0.25, 0.25])
        attacks = bool((stones > 0).sum() % 2)  # As in a game, the stones determine the player to move.
        for permutation in symmetries(game):  # All but the first are in the table.
            board = [stones[cell] for cell in permutation]
            attacker, defender = (sum((x == who) << cell for cell, x in enumerate(board)) for who in (1, 2))
            if any(mask & attacker == mask or mask & defender == mask for mask in game.winning_masks):
                break
            kernel.set_root(search, attacker, defender, attacks)
            wins = kernel.search(search, winning_sets(game), 100_000) == kernel.YES
            assert wins == attacker_wins(attacker, defender, attacks)
            outside = game.full_mask & ~(attacker | defender | int(search.zones[0]))
            for _ in range(0 if wins else 5):
                kept, more = (int(rng.integers(1 << game.n_cells)) for _ in range(2))
                assert not attacker_wins(attacker & kept | outside & more, defender, attacks)
                n_changed += outside & more != 0
    assert n_changed > 20


@pytest.mark.parametrize(("seed", "attacker", "defender"), [(56, 0, 16), (79, 170, 16), (117, 68, 273)])
def test_zone_of_symmetric_position_includes_merged_moves(seed, attacker, defender):
    game = rotational_game(np.random.default_rng(seed))
    search, attacks = state_kernel.new_search(game), True
    kernel.set_root(search, attacker, defender, attacks)
    assert kernel.search(search, winning_sets(game), 100_000) == kernel.NO
    outside = game.full_mask & ~(attacker | defender | int(search.zones[0]))
    assert not attacker_wins_in(game)(attacker | outside, defender, attacks)


def attacker_wins_in(game):
    """A plain function: whether the attacker completes a set of the game before the defender."""

    @cache
    def wins(attacker, defender, attacks):
        if any(mask & attacker == mask for mask in game.winning_masks):
            return True
        if any(mask & defender == mask for mask in game.winning_masks):
            return False
        stones = [1 << cell for cell in range(game.n_cells) if not (attacker | defender) >> cell & 1]
        if attacks:
            return any(wins(attacker | stone, defender, False) for stone in stones)
        return bool(stones) and all(wins(attacker, defender | stone, True) for stone in stones)

    return wins


def test_invalid_positions_are_refused():
    with pytest.raises(ImpossiblePositionError, match="a position of tictactoe-v0, not of square-v0"):
        prove("square-v0", TICTACTOE.start)
    with pytest.raises(ImpossiblePositionError, match="is not a Position of square-v0"):
        prove("square-v0", 7)
    with pytest.raises(ImpossiblePositionError, match="both players on cells"):
        prove(TICTACTOE, ttt_env.Position(TICTACTOE, 1, 1))


def test_cached_short_proofs_keep_no_search():
    game, rng = ttt_env.get_game("qubic-v0"), np.random.default_rng(5)
    positions = [random_position(game, rng) for _ in range(20)]
    short_proof(positions[0])
    tracemalloc.start()
    try:
        proofs = [short_proof(position) for position in positions]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert any(proof.value is not None for proof in proofs)
    assert held < 1_000_000  # Bytes; a single search holds more.
