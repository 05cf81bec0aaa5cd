"""Proofs in games with gravity against the strong solution, published values and a plain search."""

from functools import cache

import numpy as np
import pytest

import ttt_env
from tests.proofs.test_proof import assert_proof_agrees
from tests.support.marks import slow
from tests.support.random_games import random_game
from ttt_env.agents.advice import advise
from ttt_env.analysis.known import known_value
from ttt_env.errors import FileError, ProofError
from ttt_env.proofs import file as proof_file
from ttt_env.proofs import gravity_kernel as kernel
from ttt_env.proofs.agent import ProvedStrategy
from ttt_env.proofs.proof import prove
from ttt_env.proofs.strategy import drawing_regions
from ttt_env.rules import cells_of
from ttt_env.rules.game import random_position
from ttt_env.rules.symmetry import symmetries, transform

SEVEN_BY_SIX = ttt_env.get_game("connect-four-v0")
FOUR_BY_FOUR = ttt_env.get_game("connect-four-v0:m=4,n=4")
SIX_BY_FOUR = ttt_env.get_game("connect-four-v0:m=6,n=4")

# Tromp, John's Connect Four Playground: values of boards by width and height. RECOMPUTED.
PUBLISHED = {
    "connect-four-v0:m=4,n=4": 0,
    "connect-four-v0:m=4,n=5": 0,
    "connect-four-v0:m=5,n=4": 0,
    "connect-four-v0:m=5,n=5": 0,
    "connect-four-v0:m=6,n=4": -1,
    "connect-four-v0:m=4,n=6": 0,
    "connect-four-v0:m=5,n=6": 0,
    "connect-four-v0:m=6,n=5": 0,
    "connect-four-v0": 1,  # Allen 1988, Allis 1988; 288 CPU seconds
}


def with_random_supports(game, rng):
    """The game with random supports for about two thirds of its cells."""
    cells, supports = rng.permutation(game.n_cells).tolist(), [None] * game.n_cells
    for number, cell in enumerate(cells):
        if number and rng.random() < 2 / 3:
            supports[cell] = cells[int(rng.integers(number))]
    return ttt_env.Game("heap", game.shape, game.winning_sets, game.misere, supports=supports)


def after_random_moves(game, ply, rng):
    """An open position at this ply where the player to move cannot win at once."""
    while True:
        position = game.start
        while position.ply < ply and not position.is_over:
            position = position.play(int(rng.choice(position.legal_cells)))
        if not position.is_over and not any(position.play(cell).winner for cell in position.legal_cells):
            return position


def value_by_plain_search(position):
    """The value by negamax, from the winning sets and supports alone."""
    game = position.game

    @cache
    def value(mine, theirs):
        taken, values = mine | theirs, []
        for cell, support in enumerate(game.supports):
            if taken >> cell & 1 or (support is not None and not taken >> support & 1):
                continue
            after = mine | 1 << cell
            is_complete = any(after & mask == mask for mask in game.winning_masks)
            values.append(1 if is_complete else -value(theirs, after))
            if values[-1] == 1:
                break
        return max(values, default=0)

    return value(position.mine, position.theirs)


@pytest.mark.parametrize(
    ("game", "n_positions"),
    [
        ("connect-four-v0:m=4,n=4", 40),
        slow("connect-four-v0:m=4,n=4", 120),
        ("connect-four-v0:m=4,n=4,misere=true", 120),
        ("connect-four-v0:m=3,n=3,k=3", 60),
        slow("score-four-v0:k=3,h=2", 80),
        slow("score-four-v0:k=3,h=2,misere=true", 40),
        slow("connect-four-v0:m=5,n=4", 400),
    ],
)
def test_proofs_of_random_positions_match_solution(game, n_positions):
    game, rng = ttt_env.get_game(game), np.random.default_rng(1)
    solution = ttt_env.solve(game)
    assert_proof_agrees(game.start, solution)
    for _ in range(n_positions):
        assert_proof_agrees(random_position(game, rng), solution)


@pytest.mark.parametrize("misere", [False, True], ids=["normal", "misère"])
@pytest.mark.parametrize("n_games", [6, slow(16)])
def test_proofs_with_random_supports_match_solution(n_games, misere):
    rng = np.random.default_rng(2)
    for number in range(n_games):
        game = with_random_supports(random_game(number, rng, misere), rng)
        solution = ttt_env.solve(game)
        assert_proof_agrees(game.start, solution)
        for _ in range(8):
            assert_proof_agrees(random_position(game, rng), solution)


LONG = "connect-four-v0:m=5,n=6", "connect-four-v0:m=6,n=5", "connect-four-v0"


@pytest.mark.parametrize(
    ("game", "value"), [slow(*case) if case[0] in LONG else case for case in PUBLISHED.items()]
)
def test_values_match_published_ones(game, value):
    assert prove(game).value == value


@pytest.mark.parametrize("ply", [slow(24), 26, slow(28)])
def test_late_seven_by_six_positions_match_plain_search(ply):
    rng = np.random.default_rng(ply)
    values = set()
    for _ in range(10):
        position = after_random_moves(SEVEN_BY_SIX, ply, rng)
        values.add(prove(SEVEN_BY_SIX, position).value)
        assert prove(SEVEN_BY_SIX, position).value == value_by_plain_search(position), position
    assert len(values) > 1


def test_symmetric_positions_have_equal_proofs():
    rng = np.random.default_rng(3)
    for _ in range(5):
        position = after_random_moves(SEVEN_BY_SIX, 16, rng)
        values = {prove(SEVEN_BY_SIX, transform(position, each)).value for each in symmetries(SEVEN_BY_SIX)}
        assert len(values) == 1
        assert values != {None}


@pytest.mark.parametrize("bits", [2, 5])
def test_tiny_table_gives_no_wrong_answer(bits, monkeypatch):
    monkeypatch.setattr(kernel, "_FIRST_BITS", bits)
    monkeypatch.setattr(kernel, "_MAX_BITS", bits)
    solution, rng = ttt_env.solve(FOUR_BY_FOUR), np.random.default_rng(4)
    for _ in range(40):
        assert_proof_agrees(random_position(FOUR_BY_FOUR, rng), solution)


def test_table_grows_without_loss(monkeypatch):
    monkeypatch.setattr(kernel, "_FIRST_BITS", 5)
    assert prove(SIX_BY_FOUR).value == -1


def test_machine_speed_does_not_change_search(monkeypatch):
    found = prove(SIX_BY_FOUR)
    monkeypatch.setattr("ttt_env.proofs.prover._SLICE_SECONDS", 1e-4)
    again = prove(SIX_BY_FOUR)
    assert (again.nodes, again.principal_variation) == (found.nodes, found.principal_variation)
    assert found.nodes > 1 << kernel._FIRST_BITS


def test_checkpoint_resumes_search(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel, "_KEPT", 20_000)
    whole, path = prove(SIX_BY_FOUR), tmp_path / "search.npz"
    first = prove(SIX_BY_FOUR, nodes=whole.nodes // 2, checkpoint=path)
    assert first.value is None
    resumed = prove(SIX_BY_FOUR, checkpoint=path)
    assert resumed.value == whole.value
    assert 0 < resumed.nodes - first.nodes < whole.nodes
    with pytest.raises(FileError, match="not of"):
        prove(FOUR_BY_FOUR, checkpoint=path)


def test_checkpoint_keeps_positions_with_fewest_stones(monkeypatch):
    monkeypatch.setattr(kernel, "_KEPT", 100)
    search = prove(FOUR_BY_FOUR)._prover.questions["X"]._search
    n_stones = [len(cells_of(int(one | other))) for one, other in search.table if other]
    kept = [len(cells_of(int(one | other))) for one, other in kernel.answers_of(search)]
    assert kept == sorted(n_stones)[:100] != sorted(n_stones)


def test_small_budget_leaves_value_unknown():
    found = prove(SEVEN_BY_SIX, nodes=3000)
    assert (found.value, found.bounds, found.principal_variation) == (None, (-1, 1), ())
    assert found.nodes <= 3000


def test_line_of_lost_position_blocks_threats():
    position = ttt_env.Position.parse("......./......./......./......./..OO.../..XXX..", SEVEN_BY_SIX)
    lost = prove(SEVEN_BY_SIX, position)
    assert lost.value == -1
    assert set(lost.principal_variation) == {36, 40}


def test_known_value_and_advice_match_plain_search():
    position = after_random_moves(SEVEN_BY_SIX, 30, np.random.default_rng(6))
    value = value_by_plain_search(position)
    assert known_value(position) == value
    advice = advise(position)
    assert advice.is_exact and advice.value == value
    assert all(-value_by_plain_search(position.play(cell)) == value for cell in advice.cells)


def test_gravity_proof_has_no_strategies(tmp_path):
    proof, unknown = prove(FOUR_BY_FOUR), prove(SEVEN_BY_SIX, nodes=10)
    assert proof.regions == () and drawing_regions(FOUR_BY_FOUR.start) is None
    for refused in (lambda: proof.strategies, proof.check, lambda: proof.save(tmp_path / "proof.npz")):
        with pytest.raises(ProofError, match=r"m=4,n=4,k=4 has gravity.*`prove` finds the value"):
            refused()
    with pytest.raises(ProofError, match="has gravity"):
        unknown.save(tmp_path / "proof.npz")
    assert not list(tmp_path.iterdir())


def test_proof_file_of_gravity_game_is_refused(tmp_path):
    path = tmp_path / "proof.npz"
    proof_file.write(path, proof_file.ProofContents(FOUR_BY_FOUR.start, (0, 0), (), 1, 0.0, ()))
    with pytest.raises(FileError, match="has gravity"):
        ttt_env.Proof.load(path)
    with pytest.raises(FileError, match="has gravity"):
        ProvedStrategy(FOUR_BY_FOUR, str(path))
