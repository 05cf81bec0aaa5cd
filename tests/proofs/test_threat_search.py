"""Wins by threats and quiet moves: sound, played out against every reply, with a graph of any size."""

from types import SimpleNamespace

import numpy as np
import pytest

import ttt_env
from tests.support.marks import slow
from tests.support.random_games import random_game
from ttt_env.proofs import proof
from ttt_env.proofs import threat_search_kernel as kernel
from ttt_env.proofs.proof import prove
from ttt_env.proofs.threat_search import ThreatProver
from ttt_env.rules.game import random_position
from ttt_env.rules.symmetry import automorphisms, symmetries


def prover(game, seat="X"):
    return ThreatProver(game, seat, lambda part, n_nodes: part.search(n_nodes)[0])


# --- Automorphisms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "number"),
    # Silver, The group of automorphisms of the game of 3-dimensional ticktacktoe, 1967: 192 of Qubic.
    [("qubic-v0", 192), ("tictactoe-v0", 8), ("mnk-v0:m=4,n=4,k=4", 32), ("mnk-v0:m=5,n=4,k=4", 4)],
)
def test_automorphisms_are_a_group_that_keeps_the_winning_sets(game, number):
    game = ttt_env.get_game(game)
    found, sets = set(automorphisms(game)), {frozenset(cells) for cells in game.winning_sets}
    assert len(found) == len(automorphisms(game)) == number
    assert found >= set(symmetries(game))
    for one in found:
        assert {frozenset(one[cell] for cell in cells) for cells in sets} == sets
        other = automorphisms(game)[-1]
        assert tuple(one[cell] for cell in other) in found


def test_automorphic_positions_are_one_node():
    game, rng = ttt_env.get_game("qubic-v0"), np.random.default_rng(7)
    graph = kernel.new_graph(game)
    keys = set()
    for _ in range(20):
        stones = rng.permutation(64)[:9]
        images = set()
        for permutation in automorphisms(game)[::17]:
            attacker, defender = (
                sum(1 << permutation[cell] for cell in cells) for cells in (stones[:5], stones[5:])
            )
            images.add(int(kernel.key_of(graph, np.uint64(attacker), np.uint64(defender))))
        assert len(images) == 1
        keys |= images
    assert len(keys) == 20


# --- A yes is a proof -------------------------------------------------------------------------------------


def checked(game, rng, n_positions):
    """The number of random positions that were proved to be won; every one of them is."""
    solution, n_won = ttt_env.solve(game), 0
    for _ in range(n_positions):
        position = random_position(game, rng)
        for seat in "XO":
            if prover(game, seat).wins(position, 100):
                n_won += 1
                assert solution.value_of(position) == (1 if seat == position.to_move else -1), position
    return n_won


@pytest.mark.parametrize(
    ("game", "n_positions"),
    [
        ("tictactoe-v0", 100),
        ("mnk-v0:m=4,n=3,k=3", 60),
        slow("mnk-v0:m=4,n=4,k=3", 40),
        slow("square-v0", 40),
    ],
)
def test_wins_agree_with_the_solution(game, n_positions):
    assert checked(ttt_env.get_game(game), np.random.default_rng(8), n_positions) > n_positions // 4


def test_wins_of_random_games_agree_with_the_solution():
    rng = np.random.default_rng(9)
    assert sum(checked(random_game(number, rng), rng, 5) for number in range(12)) > 10


# --- The strategy -----------------------------------------------------------------------------------------


def plays_out(found, game):
    """The number of positions in which X had to move, until it won every game."""
    pending, seen = [game.start], set()
    while pending:
        position = pending.pop()
        after = position.play(found.winning_cell(position))
        assert after.winner == "X" or not after.is_over
        if not after.is_over:
            replies = {after.play(cell) for cell in after.legal_cells} - seen
            assert not any(reply.is_over for reply in replies)
            seen |= replies
            pending += replies
    return len(seen)


@pytest.mark.parametrize("game", ["tictactoe-v0", "mnk-v0:m=4,n=4,k=4", "mnk-v0:m=5,n=4,k=4"])
def test_draws_are_not_won(game):
    game = ttt_env.get_game(game)
    assert not prover(game).wins(game.start, 100)


@pytest.mark.parametrize("game", ["mnk-v0:m=5,n=3,k=3", slow("mnk-v0:m=4,n=4,k=3"), slow("square-v0:n=5")])
@pytest.mark.parametrize("n_first", [None, slow(256)], ids=["whole", "grown and pruned"])
def test_the_strategy_wins_against_every_reply(game, n_first, monkeypatch):
    if n_first is not None:
        monkeypatch.setattr(kernel, "_FIRST_NODES", n_first)
        monkeypatch.setattr(kernel.pruned, "__defaults__", (0,))
    game = ttt_env.get_game(game)
    found = prover(game)
    assert found.wins(game.start, 1000)
    assert plays_out(found, game) > 100


@pytest.mark.parametrize(
    "game", ["mnk-v0:m=4,n=3,k=3", "mnk-v0:m=4,n=4,k=3", "mnk-v0:m=6,n=5,k=4", "square-v0:n=5"]
)
def test_a_proof_by_threats_has_a_line_of_best_play(game, monkeypatch):
    monkeypatch.setattr(proof, "_THREAT_ROUNDS", ((1, 1000),))
    position = ttt_env.get_game(game).start
    found = prove(game)
    assert found.bounds == (1, 1)
    for cell in found.principal_variation:
        position = position.play(cell)
    assert position.winner == "X"


def test_the_budget_of_nodes_holds_for_threats_too(monkeypatch):
    monkeypatch.setattr(proof, "_THREAT_ROUNDS", ((10, 100_000),))
    assert 3000 <= prove("qubic-v0", nodes=4000).nodes <= 4000


def test_compiling_the_search_for_threats_takes_none_of_the_budget(monkeypatch):
    clock = SimpleNamespace(now=0.0)

    def compile_for_an_hour():
        clock.now += 3600

    monkeypatch.setattr(proof, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(proof, "_prepare_threats", compile_for_an_hour)
    monkeypatch.setattr(proof, "_THREAT_ROUNDS", ((1, 1000),))
    found = prove("mnk-v0:m=4,n=4,k=3", seconds=10)
    assert clock.now == 3600
    assert found.value == 1 and found.seconds == 0


def test_two_stones_each_of_qubic_are_won_by_threats_alone():
    game = ttt_env.get_game("qubic-v0")
    position = game.start
    for cell in (0, 1, 21, 2):
        position = position.play(cell)
    found = prover(game)
    assert found.wins(position, 100_000)
    cell = found.winning_cell(position)
    assert cell is not None
    for reply in list(position.play(cell).legal_cells)[::7]:
        after = position.play(cell).play(reply)
        assert found.winning_cell(after) is not None
