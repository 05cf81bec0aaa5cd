"""Files of proofs: what they say is true, others can check it, and whoever changes them is found out."""

import runpy
import subprocess
import sys
import time

import numpy as np
import pytest

import ttt_env
from tests.documents import ROOT
from ttt_env import Game, Proof, ResultFileError, get_game, prove
from ttt_env.analysis import extraction
from ttt_env.analysis import proof as proof_module
from ttt_env.analysis.worst_case import worst_case
from ttt_env.errors import ProofError
from ttt_env.rules.game import random_position

CHECKER = ROOT / "scripts" / "check_proof.py"
PAGE = ROOT / "docs" / "proofs.md"
QUBIC = ROOT / "docs" / "proofs" / "qubic-v0.npz"
SEVEN = ROOT / "docs" / "proofs" / "mnk-v0-m-7-n-7-k-5.npz"
GAMES = [
    "tictactoe-v0",
    "tictactoe-v0:misere=true",
    "mnk-v0:m=4,n=3,k=3",
    "mnk-v0:m=4,n=3,k=3,misere=true",
    "mnk-v0:m=4,n=4,k=4",
    "mnk-v0:m=5,n=2,k=3",
    "square-v0",
    "square-v0:n=5",
    "mnk-v0:m=6,n=5,k=4",
    "mnk-v0:m=6,n=6,k=5",
]

check = runpy.run_path(str(CHECKER))["check"]


def saved(game, path, position=None):
    """The file of a proof, as its arrays."""
    prove(game, position).save(path)
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


# --- The checker agrees -----------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_a_proof_is_checked(game, tmp_path):
    found = prove(game)
    found.save(tmp_path / "proof.npz")
    verdict = check(tmp_path / "proof.npz")
    assert {1: "X wins", 0: "drawn", -1: "O wins"}[found.value] in verdict


@pytest.mark.parametrize("misere", [False, True], ids=["normal", "misère"])
def test_proofs_of_random_games_and_positions_are_checked(misere, tmp_path):
    rng, n_won = np.random.default_rng(11), 0
    for number in range(40):
        shape = [(3, 3), (2, 5), (11,), (2, 2, 3)][number % 4]
        n_cells = int(np.prod(shape))
        sizes = rng.choice([2, 3, 4, 5], size=rng.integers(1, 14))
        sets = [rng.choice(n_cells, size=size, replace=False).tolist() for size in sizes]
        game = Game(f"random {number}", shape, sets, misere)
        position = random_position(game, rng) if number % 2 else game.start
        found = prove(game, position)
        found.save(tmp_path / "proof.npz")
        words = {0: "drawn", 1: f"{position.to_move} wins", -1: f"{'XO'[1 - position.ply % 2]} wins"}
        assert words[found.value] in check(tmp_path / "proof.npz")
        assert found.value == ttt_env.solve(game).value_of(position)
        n_won += found.value != 0
        assert plays_out(found)
    assert n_won > 5


@pytest.mark.parametrize(("name", "n_stones"), [("square-v0", 6), ("mnk-v0:m=5,n=4,k=4", 8)])
def test_draws_by_pairs_are_checked_and_played(name, n_stones, tmp_path):
    game, rng, n_paired = get_game(name), np.random.default_rng(3), 0
    for _ in range(30):
        position = game.start
        for cell in rng.permutation(game.n_cells)[:n_stones].tolist():
            position = position if position.is_over else position.play(cell)
        found = prove(game, position)
        if not position.is_over and found.value == 0:
            found.save(tmp_path / "proof.npz")
            assert "drawn" in check(tmp_path / "proof.npz")
            n_paired += any(len(one.sequences) for one in found.strategies)
            assert plays_out(found) and plays_out(Proof.load(tmp_path / "proof.npz"))
    assert n_paired > 0


def plays_out(found):
    """Every strategy is played against every reply; whether it does what the proof says."""
    for strategy in found.strategies:
        pending, seen = [found.position], set()
        while pending:
            position = pending.pop()
            if position.is_over:
                if position.winner != strategy.seat and (strategy.wins or position.winner is not None):
                    return False
                continue
            cell = strategy.cell(position)
            cells = position.legal_cells if cell is None else [cell]
            assert (cell is None) == (position.to_move != strategy.seat)
            for after in map(position.play, cells):
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
    return True


def test_the_checker_runs_by_itself(tmp_path):
    prove("mnk-v0:m=4,n=3,k=3").save(tmp_path / "proof.npz")
    command = [sys.executable, "-I", str(CHECKER), str(tmp_path / "proof.npz")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("mnk-v0:m=4,n=3,k=3: X wins; 11 replies")
    (tmp_path / "proof.npz").write_bytes((tmp_path / "proof.npz").read_bytes()[:-100])
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith(
        f"not proved: {tmp_path / 'proof.npz'} is not there, or no"
    )
    run = subprocess.run([*command[:-1], "--help"], capture_output=True, text=True)
    assert run.stderr.startswith("python check_proof.py FILE")


def test_the_checker_knows_nothing_of_the_package():
    assert "import ttt_env" not in CHECKER.read_text("utf-8") and "from ttt_env" not in CHECKER.read_text(
        "utf-8"
    )


def kept():
    """The files that the page about proofs lists; Qubic's takes some seconds."""
    files = sorted(QUBIC.parent.glob("*.npz"))
    return [pytest.param(file, id=file.stem, marks=[pytest.mark.slow] * (file == QUBIC)) for file in files]


@pytest.mark.parametrize("file", kept())
def test_those_of_the_documentation_are_checked_and_as_it_says(file):
    proof, said = ttt_env.Proof.load(file), check(file)
    verdict = "X wins" if proof.value == 1 else "the game is drawn"
    assert said.startswith(f"{proof.position.game.name}: {verdict}; ")
    shown = {1: "X wins", 0: "draw"}[proof.value]
    (row,) = (line for line in PAGE.read_text("utf-8").splitlines() if f"| `{file.name}` |" in line)
    assert f"| {shown} |" in row and f"| {file.stat().st_size:,} |" in row


# --- Whoever changes a file is found out ------------------------------------------------------------------


def refused(arrays, path, fault="."):
    np.savez(path, **arrays)
    with pytest.raises((ValueError, KeyError, IndexError, TypeError), match=fault):
        check(path)


@pytest.mark.parametrize(
    "game", ["mnk-v0:m=6,n=5,k=4", "square-v0:n=5", "square-v0", "mnk-v0:m=4,n=3,k=3,misere=true"]
)
class TestTampering:
    def test_changed_moves(self, game, tmp_path):
        arrays, rng = saved(game, tmp_path / "p.npz"), np.random.default_rng(1)
        seat = "x" if "x_moves" in arrays else "o"
        n_refused = 0
        for row in rng.choice(len(arrays[f"{seat}_moves"]), 8):
            moves = arrays[f"{seat}_moves"].copy()
            own, other = arrays[f"{seat}_positions"][row].tolist()
            taken = [cell for cell in range(64) if (own | other) >> cell & 1]
            moves[row] = taken[0] if taken else 63
            refused({**arrays, f"{seat}_moves": moves}, tmp_path / "q.npz")
            moves[row] = (arrays[f"{seat}_moves"][row] + 1) % 9  # legal or not, it is not what was proved
            np.savez(tmp_path / "q.npz", **{**arrays, f"{seat}_moves": moves})
            try:
                check(tmp_path / "q.npz")
            except ValueError:
                n_refused += 1
        assert n_refused > 0

    def test_removed_and_added_positions(self, game, tmp_path):
        arrays = saved(game, tmp_path / "p.npz")
        seat = "x" if "x_moves" in arrays else "o"
        names = [f"{seat}_{name}" for name in ("positions", "moves", "n_sequences")]
        if not len(arrays[f"{seat}_sequences"]):
            for row in (0, len(arrays[names[0]]) // 2, len(arrays[names[0]]) - 1):
                refused(
                    {**arrays, **{name: np.delete(arrays[name], row, axis=0) for name in names}},
                    tmp_path / "q.npz",
                )
            twice = {name: np.concatenate([arrays[name], arrays[name][-1:]]) for name in names}
            refused({**arrays, **twice}, tmp_path / "q.npz", "come up")
        refused({**arrays, names[0]: arrays[names[0]][1:]}, tmp_path / "q.npz")

    def test_changed_rules(self, game, tmp_path):
        arrays = saved(game, tmp_path / "p.npz")
        for change in (
            {"winning_masks": arrays["winning_masks"][1:]},
            {"winning_masks": np.append(arrays["winning_masks"], np.uint64(3))},
            {"misere": ~arrays["misere"]},
            {"game": np.array("mnk-v0:m=5,n=6,k=4")},
            {"shape": arrays["shape"] + 1},
        ):
            refused({**arrays, **change}, tmp_path / "q.npz", "rules of")

    def test_changed_claims(self, game, tmp_path):
        arrays = saved(game, tmp_path / "p.npz")
        for bounds in ([1, 1], [0, 0], [-1, -1], [0, 1], [2, 2]):
            if bounds != arrays["bounds"].tolist():
                refused({**arrays, "bounds": np.array(bounds, np.int8)}, tmp_path / "q.npz")
        refused({**arrays, "start": np.array([1, 0], np.uint64)}, tmp_path / "q.npz")
        refused({**arrays, "start": np.array([0, 1], np.uint64)}, tmp_path / "q.npz", "no position")
        wrong = arrays["automorphisms"].copy()
        wrong[0, :2] = wrong[0, 1::-1]
        refused({**arrays, "automorphisms": wrong}, tmp_path / "q.npz", "automorphism")

    def test_missing_and_further_arrays(self, game, tmp_path):
        arrays = saved(game, tmp_path / "p.npz")
        for name in arrays:
            refused({key: array for key, array in arrays.items() if key != name}, tmp_path / "q.npz")
        refused({**arrays, "note": np.zeros(1)}, tmp_path / "q.npz", "note")

    def test_files_cut_short(self, game, tmp_path):
        prove(game).save(tmp_path / "p.npz")
        content = (tmp_path / "p.npz").read_bytes()
        for size in (0, 10, len(content) // 2, len(content) - 1):
            (tmp_path / "q.npz").write_bytes(content[:size])
            with pytest.raises(Exception):  # noqa: B017, whatever NumPy or zipfile raise
                check(tmp_path / "q.npz")


def test_changed_pairs(tmp_path):
    """Each pair is needed: without it, with one cell twice, or with a taken cell the draw is not proved."""
    arrays = saved("mnk-v0:m=6,n=6,k=5", tmp_path / "p.npz")
    sequences, rows = (
        arrays["o_sequences"],
        np.repeat(np.arange(len(arrays["o_moves"])), arrays["o_n_sequences"]),
    )
    assert len(sequences) > 2
    for row, cells in enumerate(sequences[:2]):
        pairs = cells[cells < 64].reshape(-1, 2)
        assert len(np.unique(pairs)) == pairs.size > 0
        for number, first in enumerate(pairs[:, 0].tolist()):
            for wrong in (
                (64, 64),
                (first, 64),
                (first, first),
                (first, int(pairs[number - 1, 0])),
                (first, int(arrays["o_moves"][rows[row]])),
            ):
                changed = sequences.copy()
                changed[row, 2 * number : 2 * number + 2] = wrong
                refused({**arrays, "o_sequences": changed}, tmp_path / "q.npz", "no answer|come up")
    refused({**arrays, "o_sequences": sequences[:, 1:]}, tmp_path / "q.npz")
    refused({**arrays, "o_sequences": sequences[:, :0]}, tmp_path / "q.npz")


def test_what_are_no_pairs_is_not_loaded(tmp_path):
    arrays = saved("mnk-v0:m=6,n=6,k=5", tmp_path / "p.npz")
    changed = arrays["o_sequences"].copy()
    changed[0, 1] = 64
    for wrong in (changed, arrays["o_sequences"][:, 1:]):
        np.savez(tmp_path / "q.npz", **{**arrays, "o_sequences": wrong})
        with pytest.raises(ResultFileError, match="no pairs"):
            Proof.load(tmp_path / "q.npz")


@pytest.mark.parametrize("column", [0, -1])
def test_changed_threats(column, tmp_path):
    arrays = saved("square-v0:n=5", tmp_path / "p.npz")
    n_refused = 0
    for row in range(len(arrays["x_sequences"])):
        threats = arrays["x_sequences"].copy()
        last = np.flatnonzero(threats[row] < 64)[column]
        threats[row, last] = (threats[row, last] + 1) % 25
        np.savez(tmp_path / "q.npz", **{**arrays, "x_sequences": threats})
        try:
            check(tmp_path / "q.npz")
        except ValueError:
            n_refused += 1
    assert n_refused > len(arrays["x_sequences"]) // 2
    refused({**arrays, "x_sequences": arrays["x_sequences"][1:]}, tmp_path / "q.npz", "lacks")


# --- Saving and loading -----------------------------------------------------------------------------------


def test_a_loaded_proof_has_its_strategies(tmp_path):
    found = prove("mnk-v0:m=4,n=3,k=3")
    found.save(tmp_path / "p.npz")
    loaded = Proof.load(tmp_path / "p.npz")
    assert loaded == found and len(loaded.strategies) == 1
    loaded.save(tmp_path / "q.npz")
    assert (tmp_path / "q.npz").stat().st_size == (tmp_path / "p.npz").stat().st_size


@pytest.mark.parametrize("game", ["mnk-v0:m=4,n=4,k=4", "mnk-v0:m=5,n=2,k=3", "tictactoe-v0"])
def test_a_draw_by_groups_of_cells_is_one_by_a_table_too(game, tmp_path):
    found = prove(game)
    found.save(tmp_path / "p.npz")
    loaded = Proof.load(tmp_path / "p.npz")
    assert loaded == found and bool(found.regions) == (game != "tictactoe-v0")
    assert game == "mnk-v0:m=4,n=4,k=4" or plays_out(loaded)


def test_a_proof_without_its_search_searches_again(tmp_path):
    found = Proof.from_json(prove("mnk-v0:m=4,n=4,k=3").to_json())
    found.save(tmp_path / "p.npz")
    assert "X wins" in check(tmp_path / "p.npz")


def test_too_many_positions_are_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(extraction, "MOST_POSITIONS", 5)
    with pytest.raises(ProofError, match="more than 5 positions"):
        prove("tictactoe-v0").save(tmp_path / "p.npz")
    assert not (tmp_path / "p.npz").exists()


def test_what_a_search_has_wrong_is_searched_again(tmp_path):
    """The threats of a search say that it knows a winning cell, and are wrong: two positions with one key."""
    found = prove("mnk-v0:m=6,n=5,k=4")
    guide = proof_module._Guide(found._prover, "X", True)
    wrong = found.position.play(0).play(1)
    assert guide.cell(found.position) in wrong.game.start.legal_cells
    with pytest.raises(ProofError, match="no move"):
        proof_module._Guide(prove("tictactoe-v0")._prover, "X", True).cell(get_game("tictactoe-v0").start)


def test_an_unknown_value_is_saved_and_refused_by_the_checker(tmp_path):
    prove("qubic-v0", nodes=10).save(tmp_path / "p.npz")
    with pytest.raises(ValueError, match="no value"):
        check(tmp_path / "p.npz")


@pytest.mark.parametrize(
    "name", ["x_positions", "x_moves", "x_sequences", "start", "bounds", "x_n_sequences"]
)
def test_damaged_files_are_not_loaded(name, tmp_path):
    arrays = saved("square-v0:n=5", tmp_path / "p.npz")
    for wrong in (arrays[name] * 0 + 77, arrays[name][1:], arrays[name].astype(np.float32), np.array("x")):
        np.savez(tmp_path / "q.npz", **{**arrays, name: wrong})
        with pytest.raises(ResultFileError, match=r"q\.npz"):
            Proof.load(tmp_path / "q.npz")
    (tmp_path / "q.npz").write_text("{}")
    with pytest.raises(ResultFileError):
        Proof.load(tmp_path / "q.npz")


def test_a_file_of_too_large_a_board_is_not_loaded(tmp_path):
    arrays = saved("mnk-v0:m=4,n=3,k=3", tmp_path / "p.npz")
    np.savez(tmp_path / "q.npz", **{**arrays, "shape": np.array([1 << 62, 3])})
    with pytest.raises(ResultFileError, match=r"q\.npz .*cells"):
        Proof.load(tmp_path / "q.npz")


# --- Checkpoints ------------------------------------------------------------------------------------------

KILLED = """
import sys, ttt_env
from ttt_env.analysis import proof
proof._CHECKPOINT_SECONDS, proof._CHECKPOINT_SHARE = 0.05, 0
ttt_env.prove(sys.argv[1], checkpoint=sys.argv[2])
"""


def test_a_killed_search_goes_on(tmp_path):
    path = tmp_path / "search.npz"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, "qubic-v0", str(path)], stderr=subprocess.DEVNULL
    )
    try:
        while not path.exists():
            time.sleep(0.05)
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    with np.load(path) as archive:
        before = int(archive["nodes"])
    assert before > 0
    assert prove("qubic-v0", nodes=1000, checkpoint=path).nodes == before + 1000


@pytest.mark.parametrize("rounds", [None, ((2000, 200_000),)], ids=["alpha-beta", "threats"])
def test_interrupted_searches_end_with_the_same_value(rounds, tmp_path, monkeypatch):
    if rounds is not None:
        monkeypatch.setattr(proof_module, "_THREAT_ROUNDS", rounds)
    game, nodes = (
        ("mnk-v0:m=5,n=3,k=3,misere=true", 5_000) if rounds is None else ("mnk-v0:m=6,n=6,k=4", 20_000)
    )
    path, n_calls = tmp_path / "search.npz", 0
    while (found := prove(game, nodes=nodes, checkpoint=path)).value is None:
        n_calls += 1
        assert n_calls < 100
    whole = prove(game)
    assert found.value == whole.value
    assert n_calls > 0 or rounds is not None
    found.save(tmp_path / "p.npz")
    check(tmp_path / "p.npz")
    again = prove(game, checkpoint=path)
    assert again.value == whole.value and again.nodes - found.nodes < whole.nodes // 2


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = tmp_path / "search.npz"
    prove("qubic-v0", nodes=100, checkpoint=path)
    content = path.read_bytes()
    with pytest.raises(ResultFileError, match="other"):
        prove("square-v0", checkpoint=path)
    with pytest.raises(ResultFileError, match="another position"):
        prove("qubic-v0", get_game("qubic-v0").start.play(0), checkpoint=path)
    assert path.read_bytes() == content
    saved("mnk-v0:m=4,n=3,k=3", path)
    with pytest.raises(ResultFileError, match="no checkpoint"):
        prove("mnk-v0:m=4,n=3,k=3", checkpoint=path)
    path.write_bytes(content[:500])
    with pytest.raises(ResultFileError, match="no checkpoint"):
        prove("qubic-v0", checkpoint=path)


# --- The agent --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "game", ["mnk-v0:m=4,n=3,k=3", "tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=6,n=5,k=4"]
)
def test_the_agent_keeps_what_is_proved(game, tmp_path):
    found = prove(game)
    found.save(tmp_path / "p.npz")
    for strategy in found.strategies:
        worst = worst_case(f"strategy:{tmp_path / 'p.npz'}", strategy.seat, game)
        assert worst.value == int(strategy.wins)


def test_it_is_certified(tmp_path):
    prove("tictactoe-v0").save(tmp_path / "p.npz")
    certificate = ttt_env.certify(f"strategy:{tmp_path / 'p.npz'}")
    assert certificate.refutations["O"] is None and certificate.refutations["X"] is not None


@pytest.mark.parametrize("seed", range(3))
def test_it_wins_qubic(seed):
    agent = ttt_env.make_agent(f"strategy:{QUBIC}", "qubic-v0")
    assert agent.is_fixed
    assert str(ttt_env.play_game(agent, "win-block", "qubic-v0", rng=seed).positions()[-1].winner) == "X"


@pytest.mark.parametrize("opponent", ["win-block", "mcts:simulations=300"])
def test_it_holds_the_draw_of_seven_in_a_square_by_pairs(opponent):
    agent = ttt_env.make_agent(f"strategy:{SEVEN},fallback=random", "mnk-v0:m=7,n=7,k=5")
    for seed in range(4):
        game = ttt_env.play_game(opponent, agent, "mnk-v0:m=7,n=7,k=5", rng=seed)
        assert game.positions()[-1].winner != "X"
        for position in game.positions()[1:-1:2]:
            assert "does not lose" in agent.explain(position).reason


def test_elsewhere_it_plays_as_its_fallback(tmp_path):
    game = get_game("mnk-v0:m=4,n=3,k=3")
    prove(game).save(tmp_path / "p.npz")
    agent = ttt_env.make_agent(f"strategy:{tmp_path / 'p.npz'},fallback=newell-simon", game)
    other = ttt_env.make_agent("newell-simon", game)
    position = game.start.play(0)
    assert (agent.policy(position) == other.policy(position)).all()
    assert "newell-simon" in agent.explain(position).reason
    assert "X wins" in agent.explain(game.start).reason


def test_files_without_a_strategy_are_refused(tmp_path):
    prove("qubic-v0", nodes=10).save(tmp_path / "p.npz")
    with pytest.raises(ttt_env.TttEnvError, match="holds no strategy"):
        ttt_env.make_agent(f"strategy:{tmp_path / 'p.npz'}", "qubic-v0")
    with pytest.raises(ttt_env.TttEnvError, match="not of square-v0"):
        ttt_env.make_agent(f"strategy:{tmp_path / 'p.npz'}", "square-v0")
    with pytest.raises(ttt_env.TttEnvError, match="cannot be read"):
        ttt_env.make_agent(f"strategy:{tmp_path / 'no.npz'}", "square-v0")
