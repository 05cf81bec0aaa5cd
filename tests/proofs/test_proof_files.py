"""Files of proofs: independent checking, tampering, loading, checkpoints and the agent that plays them."""

import dataclasses
import re
import subprocess
import sys
import time
import warnings
from functools import cache
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import numpy as np
import pytest

import ttt_env
from tests.support.documents import ROOT
from tests.support.marks import slow, slow_but_the_first
from tests.support.naive_proof_checker import mask_of, proof_arrays
from tests.support.proof_checker import CHECKER, check
from tests.support.random_games import random_game
from ttt_env import Game, Proof, get_game, prove
from ttt_env.errors import FileError, ProofError
from ttt_env.proofs import extraction, state_kernel, strategy_kernel
from ttt_env.rules.game import random_position
from ttt_env.rules.symmetry import automorphisms

PAGE = ROOT / "docs" / "results" / "values.md"
QUBIC = ROOT / "docs" / "proofs" / "qubic-v0.npz"
SEVEN = ROOT / "docs" / "proofs" / "mnk-v0-m-7-n-7-k-5.npz"


@cache
def saved_arrays(game):
    """The arrays of the saved proof of a game."""
    with TemporaryDirectory() as folder:
        prove(game).save(f"{folder}/p.npz")
        with np.load(f"{folder}/p.npz") as archive:
            return {name: archive[name] for name in archive.files}


def seat_in(arrays):
    """The lower-case seat of the only strategy in a file."""
    return "x" if "x_moves" in arrays else "o"


# --- The checker agrees -----------------------------------------------------------------------------------


# test_proof_forgery.py checks smaller boards.
LARGER = ["mnk-v0:m=4,n=3,k=3,misere=true", "mnk-v0:m=4,n=4,k=4", "square-v0", "square-v0:n=5"]
LARGER += ["mnk-v0:m=6,n=5,k=4", "mnk-v0:m=6,n=6,k=5"]
WON_BY_WAITING = Game(
    "seven", (7,), [(1, 6), (1, 5)], misere=True
)  # O wins because X runs out of other moves.


@pytest.mark.parametrize("game", [*LARGER, WON_BY_WAITING], ids=str)
def test_checker_confirms_value(game, tmp_path):
    found = prove(game)
    found.save(tmp_path / "proof.npz")
    verdict = check(tmp_path / "proof.npz")
    assert {1: "X wins", 0: "drawn", -1: "O wins"}[found.value] in verdict


@pytest.mark.parametrize("n_games", [2, slow(60)])
@pytest.mark.parametrize("misere", [False, True], ids=["normal", "misère"])
def test_checker_confirms_proofs_of_random_positions(misere, n_games, tmp_path):
    rng, n_won = np.random.default_rng(11), 0
    for number in range(n_games):
        game = random_game(number, rng, misere)
        position = random_position(game, rng) if number % 2 else game.start
        found = prove(game, position)
        found.save(tmp_path / "proof.npz")
        other = "XO"[1 - position.ply % 2]
        words = {0: "the game is drawn", 1: f"{position.to_move} wins", -1: f"{other} wins"}
        stones = "".join(letter for letter in str(position) if letter in "XO.")
        start = f"from {stones}: " if position.ply else "from the empty board: "
        assert start + words[found.value] in check(tmp_path / "proof.npz")
        assert found.value == ttt_env.solve(game).value_of(position)
        n_won += found.value != 0
        assert reaches_proved_result(found)
    assert n_won > n_games // 6


@pytest.mark.parametrize(("name", "n_stones"), [("square-v0", 6), ("mnk-v0:m=5,n=4,k=4", 8)])
def test_draws_by_pairs_are_checked_and_played(name, n_stones, tmp_path):
    game, rng, n_paired = get_game(name), np.random.default_rng(3), 0
    for _ in range(6):
        position = game.start
        for cell in rng.permutation(game.n_cells)[:n_stones].tolist():
            position = position if position.is_over else position.play(cell)
        found = prove(game, position)
        if not position.is_over and found.value == 0:
            found.save(tmp_path / "proof.npz")
            assert "drawn" in check(tmp_path / "proof.npz")
            n_paired += any(len(one.sequences) for one in found.strategies)
            assert reaches_proved_result(found) and reaches_proved_result(Proof.load(tmp_path / "proof.npz"))
    assert n_paired > 0


def test_finished_game_cannot_be_saved(tmp_path):
    for text in ("XXX/OO./...", "XXO/OOX/XOX"):
        found = prove("tictactoe-v0", ttt_env.Position.parse(text))
        with pytest.raises(ProofError, match="is over: a file needs a position to play from"):
            found.save(tmp_path / "over.npz")
    assert not list(tmp_path.iterdir())


def reaches_proved_result(found):
    """Whether every strategy reaches its proved result against all replies."""
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


@pytest.mark.slow
def test_checker_runs_without_package(tmp_path):
    assert not re.search("(import|from) ttt_env", CHECKER.read_text("utf-8"))
    prove("mnk-v0:m=4,n=3,k=3").save(tmp_path / "proof.npz")
    command = [sys.executable, "-I", str(CHECKER), str(tmp_path / "proof.npz")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    message = "mnk-v0:m=4,n=3,k=3 (rules of the catalogue), from the empty board: X wins; 11"
    assert run.stdout.startswith(message)
    (tmp_path / "proof.npz").write_bytes((tmp_path / "proof.npz").read_bytes()[:-100])
    run = subprocess.run(command, capture_output=True, text=True)
    message = f"not proved: '{tmp_path / 'proof.npz'}' is not there, or no"
    assert run.returncode == 1 and run.stderr.startswith(message)
    run = subprocess.run([*command[:-1], "--help"], capture_output=True, text=True)
    assert run.stderr.startswith("python check_proof.py FILE")


# Each of these takes longer than all others together.
LARGE = ["qubic-v0", "mnk-v0-m-7-n-4-k-4", "mnk-v0-m-8-n-4-k-4", "mnk-v0-m-8-n-7-k-5",
         "mnk-v0-m-9-n-6-k-5", "mnk-v0-m-10-n-5-k-5"]  # fmt: skip
FILES = sorted(QUBIC.parent.glob("*.npz"))  # The page of values links these.
FILE_CASES = [
    pytest.param(file, id=file.stem, marks=[pytest.mark.slow] * (file.stem in LARGE)) for file in FILES
]


@pytest.mark.parametrize("file", FILE_CASES)
def test_documented_proofs_are_valid_and_described_correctly(file):
    proof, report = ttt_env.Proof.load(file), check(file)
    verdict = "X wins" if proof.value == 1 else "the game is drawn"
    proof.check()
    own = "a game of its own, called 'cube', shape [3, 3, 3], 49 winning sets"
    rules = own if file.stem == "cube" else f"{proof.position.game.name} (rules of the catalogue)"
    assert report.startswith(f"{rules}, from the empty board: {verdict}; ")
    shown = {1: "X wins", 0: "draw"}[proof.value]
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if f"(../proofs/{file.name})" in line]
    assert file.name == "tictactoe-v0.npz" or f"| {shown} |" in rows[0]


# --- Changed files are refused ----------------------------------------------------------------------------


@pytest.fixture
def assert_refused(tmp_path):
    """A function that asserts that the checker or another reader refuses a file of given arrays."""

    def refuse(arrays, fault=".", by=check):
        errors = (ValueError, KeyError, IndexError, TypeError) if by is check else FileError
        np.savez(tmp_path / "q.npz", **arrays)
        with pytest.raises(errors, match=fault):
            by(tmp_path / "q.npz")

    return refuse


@pytest.mark.parametrize("game", ["square-v0:n=5", "square-v0", "mnk-v0:m=4,n=3,k=3,misere=true"])
class TestTampering:
    def test_moves_on_taken_cells_or_off_board_are_refused(self, game, assert_refused):
        arrays, rng = saved_arrays(game), np.random.default_rng(1)
        seat = seat_in(arrays)
        for row in rng.choice(len(arrays[f"{seat}_moves"]), 3):
            own, other = arrays[f"{seat}_positions"][row].tolist()
            for wrong in ((own | other).bit_length() - 1 if own | other else 63, 63):
                moves = arrays[f"{seat}_moves"].copy()
                moves[row] = wrong
                assert_refused({**arrays, f"{seat}_moves": moves}, "not on the board|free")

    def test_removed_or_added_positions_are_refused(self, game, assert_refused):
        arrays, seat = saved_arrays(game), seat_in(saved_arrays(game))
        names = [f"{seat}_{name}" for name in ("positions", "moves", "n_sequences")]
        if not len(arrays[f"{seat}_sequences"]):
            for row in (0, len(arrays[names[0]]) // 2, len(arrays[names[0]]) - 1):
                assert_refused({**arrays, **{name: np.delete(arrays[name], row, axis=0) for name in names}})
            twice = {name: np.concatenate([arrays[name], arrays[name][-1:]]) for name in names}
            assert_refused({**arrays, **twice}, "there twice")
            assert_refused({**arrays, **twice}, "never reached, or there twice", by=load_and_check)
        assert_refused({**arrays, names[0]: arrays[names[0]][1:]})

    def test_changed_rules_are_refused(self, game, assert_refused):
        arrays = saved_arrays(game)
        for change in (
            {"winning_masks": arrays["winning_masks"][1:]},
            {"winning_masks": np.append(arrays["winning_masks"], np.uint64(3))},
            {"misere": ~arrays["misere"]},
            {"game": np.array("mnk-v0:m=5,n=6,k=4")},
            {"shape": arrays["shape"] + 1},
        ):
            assert_refused({**arrays, **change}, "rules of")

    def test_changed_claims_are_refused(self, game, assert_refused):
        arrays = saved_arrays(game)
        for bounds in ([1, 1], [0, 0], [-1, -1], [0, 1], [2, 2]):
            if bounds != arrays["bounds"].tolist():
                assert_refused({**arrays, "bounds": np.array(bounds, np.int8)})
        assert_refused({**arrays, "start": np.array([1, 0], np.uint64)})
        assert_refused({**arrays, "start": np.array([0, 1], np.uint64)}, "not a position")
        lines = arrays["winning_masks"][0], np.uint64(1 << 63)
        for start in ((0, lines[1]), (lines[1], 0), (1, 1)):
            changed = {**arrays, "start": np.array(start, np.uint64)}
            assert_refused(changed, "not a position")
        wrong = arrays["automorphisms"].copy()
        wrong[0, :2] = wrong[0, 1::-1]
        assert_refused({**arrays, "automorphisms": wrong}, "automorphism")

    def test_missing_or_extra_arrays_are_refused(self, game, assert_refused):
        arrays = saved_arrays(game)
        for name in arrays:
            assert_refused({key: array for key, array in arrays.items() if key != name})
        assert_refused({**arrays, "note": np.zeros(1)}, "note")
        needless = {f"y{name[1:]}": arrays[name] for name in arrays if name[1] == "_"}
        assert_refused({**arrays, **needless}, "should not be there")


def own_game_file(name, n_cells, sets, tables, start=(0, 0)):
    """A file that claims a draw of a user-defined game without symmetries."""
    masks = [mask_of(cells) for cells in sets]
    return proof_arrays(name, [n_cells], masks, False, start, 0, [range(n_cells)], tables)


def test_pairs_sharing_cell_are_refused(assert_refused):
    """X wins this game of seven cells; with pairs that share a cell it would be a draw."""
    sets = [(0, 1, 2), (0, 2, 3), (0, 4, 5), (0, 5, 6)]
    assert ttt_env.solve(Game("seven", (7,), sets)).value == 1
    for cells in [(4, 5, 6), (4, 5, 6, 5), (5, 4, 5, 6), (4, 5, 5, 6), (4, 5, 64, 5), (4, 5, 64, 64, 5, 6)]:
        for width in range(len(cells), len(cells) + 3):
            row = np.full((1, width), 64, np.uint8)
            row[0, : len(cells)] = cells
            table = {
                "o_positions": np.array([[0, 1 << c] for c in range(7)], np.uint64),
                "o_moves": np.array([2, 0, 0, 0, 0, 0, 0], np.uint8),
                "o_n_sequences": np.array([1, 0, 0, 0, 0, 0, 0], np.uint8),
                "o_sequences": row,
            }
            forged = own_game_file("seven", 7, sets, table)
            assert_refused(forged, "twice|pairs|after its end")


def test_arrays_of_other_types_are_refused(assert_refused):
    arrays = saved_arrays("tictactoe-v0")
    for name in ("o_positions", "o_moves", "o_n_sequences", "start", "bounds", "automorphisms"):
        array, wrong = arrays[name], f"'{name}' has the wrong type or shape"
        for dtype in {"|i1", "<i8", ">u8", "<f8", "|b1", "<u4"} - {array.dtype.str}:
            assert_refused({**arrays, name: array.astype(dtype)}, wrong)
        fault = f"{wrong}|too few|changes the rules|zip|unpack"
        for shaped in (array[None], array.ravel()[:1], np.array(1, array.dtype)):
            assert_refused({**arrays, name: shaped}, fault)


def test_names_resembling_ids_are_shown_escaped(tmp_path):
    for name, shown in {
        "tictactoe-v0": "tictactoe-v0 (rules of the catalogue), from the empty board: ",
        "tictactoe-v0 ": "a game of its own, called 'tictactoe-v0 ', ",
        "tictactoe‑v0": r"a game of its own, called 'tictactoe\u2011v0', ",
        "tictactoe-v0\x1b[2K\n": r"a game of its own, called 'tictactoe-v0\x1b[2K\n', ",
        "tictactoe-v0\u200b: X wins": r"a game of its own, called 'tictactoe-v0\u200b: X wins', ",
    }.items():
        np.savez(tmp_path / "q.npz", **{**saved_arrays("tictactoe-v0"), "game": np.array(name)})
        assert check(tmp_path / "q.npz").startswith(shown)


def test_malformed_ids_are_refused(assert_refused):
    sizes = ["", ":m=3,m=3,n=3,k=3", ":n=3,m=3,k=3", ":m=３,n=3,k=3", ":m=3,n=3,k= 3", ":m=03,n=3,k=3"]
    wrong = [f"mnk-v0{size}" for size in sizes] + ["square-v0:n=4", "square-v0:tilted=maybe"]
    wrong += [f"tictactoe-v0:{rest}" for rest in ("", "misere=false", "misere=true,misere=true")]
    for name in wrong:
        pattern = f"{re.escape(ascii(name))} begins as an id"
        assert_refused({**saved_arrays("tictactoe-v0"), "game": np.array(name)}, pattern)


def test_duplicate_array_is_refused(tmp_path):
    for second in ("bounds.npy", "bounds"):
        np.savez(tmp_path / "q.npz", **saved_arrays("tictactoe-v0"))
        with ZipFile(tmp_path / "q.npz", "a") as twice, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile warns of the duplicate.
            twice.writestr(second, twice.read("bounds.npy"))
        for read in (check, Proof.load):
            with pytest.raises(ValueError, match="there twice"):
                read(tmp_path / "q.npz")


def test_too_many_winning_sets_are_refused(assert_refused):
    arrays = saved_arrays("tictactoe-v0") | {"game": np.array("sets")}
    for n_sets, fault in ((20_001, "too many"), (20_000, "not on the board")):
        masks = np.arange(1, n_sets + 1, dtype=np.uint64)
        assert_refused({**arrays, "winning_masks": masks}, fault)


def test_changed_pairs_are_refused(assert_refused):
    """Each pair is needed: if it is missing, repeats a cell or uses a taken cell, no draw is proved."""
    arrays = saved_arrays("mnk-v0:m=5,n=4,k=4")
    sequences, name = arrays["o_sequences"], "o_sequences"
    row = np.repeat(np.arange(len(arrays["o_moves"])), arrays["o_n_sequences"])[0]
    pairs = sequences[0][sequences[0] < 64].reshape(-1, 2)
    assert len(sequences) > 2 and len(np.unique(pairs)) == pairs.size > 0
    for number, first in enumerate(pairs[:, 0].tolist()):
        taken, of_another = int(arrays["o_moves"][row]), int(pairs[number - 1, 0])
        for wrong in ((64, 64), (first, 64), (first, first), (first, of_another), (first, taken)):
            changed = sequences.copy()
            changed[0, 2 * number : 2 * number + 2] = wrong
            fault = "no answer|never reached|twice|pairs|after its end"
            assert_refused({**arrays, name: changed}, fault)
    for wrong in (sequences[:, 1:], sequences[:, :0]):
        assert_refused({**arrays, name: wrong})


def test_invalid_pairs_are_not_loaded(assert_refused):
    arrays = saved_arrays("mnk-v0:m=6,n=6,k=5")
    gap, twice, far = (arrays["o_sequences"].copy() for _ in range(3))
    gap[0, 1], twice[0, 1], far[0, 1] = 64, twice[0, 0], 36
    odd = arrays["o_sequences"][:, 1:]
    for wrong, fault in ((gap, "after its end"), (twice, "twice"), (far, "outside"), (odd, "not pairs")):
        assert_refused({**arrays, "o_sequences": wrong}, fault, by=Proof.load)


@pytest.mark.parametrize("column", [0, -1])
def test_changed_threats_are_refused(column, tmp_path, assert_refused):
    arrays = saved_arrays("square-v0:n=5")
    n_refused, n_sequences = 0, len(arrays["x_sequences"])
    for row in range(n_sequences):
        threats = arrays["x_sequences"].copy()
        last = np.flatnonzero(threats[row] < 64)[column]
        threats[row, last] = (threats[row, last] + 1) % 25
        np.savez(tmp_path / "q.npz", **{**arrays, "x_sequences": threats})
        try:
            check(tmp_path / "q.npz")
        except ValueError:
            n_refused += 1
    assert n_refused > n_sequences // 2
    assert_refused({**arrays, "x_sequences": arrays["x_sequences"][1:]}, "too few")


# --- Saving and loading -----------------------------------------------------------------------------------


def test_loaded_proof_keeps_strategies(tmp_path):
    """A proof read from JSON has no strategies and searches for them when needed."""
    found = prove("mnk-v0:m=4,n=3,k=3")
    for one in (found, Proof.from_json(found.to_json())):
        one.save(tmp_path / "p.npz")
        loaded = Proof.load(tmp_path / "p.npz")
        assert loaded == one and len(loaded.strategies) == 1
        loaded.save(tmp_path / "q.npz")
        assert (tmp_path / "q.npz").stat().st_size == (tmp_path / "p.npz").stat().st_size
        assert "X wins" in check(tmp_path / "q.npz")


@pytest.mark.parametrize("game", ["mnk-v0:m=4,n=4,k=4", "mnk-v0:m=5,n=2,k=3"])
def test_draw_by_groups_round_trips_through_file(game, tmp_path):
    found = prove(game)
    found.save(tmp_path / "p.npz")
    loaded = Proof.load(tmp_path / "p.npz")
    assert loaded == found and found.regions
    assert game == "mnk-v0:m=4,n=4,k=4" or reaches_proved_result(loaded)


def test_too_many_positions_raise(monkeypatch, tmp_path):
    monkeypatch.setattr(extraction, "MOST_POSITIONS", 5)
    with pytest.raises(ProofError, match="more than 5 positions"):
        prove("tictactoe-v0").save(tmp_path / "p.npz")
    assert not (tmp_path / "p.npz").exists()


def test_value_kept_by_no_move_raises():
    with pytest.raises(ProofError, match="no move"):
        prove("tictactoe-v0")._prover.keeping_cells(get_game("tictactoe-v0").start, 1)


def test_damaged_files_are_not_loaded(assert_refused, tmp_path):
    arrays = saved_arrays("square-v0:n=5")
    assert_refused({**arrays, "shape": np.array([1 << 62, 3])}, r"q\.npz .*cells", by=Proof.load)
    for name in ("x_positions", "x_moves", "x_sequences", "start", "bounds", "x_n_sequences"):
        array = arrays[name]
        for wrong in (array * 0 + 77, array[1:], array.astype(np.float32), np.array("x")):
            assert_refused({**arrays, name: wrong}, r"q\.npz", by=Proof.load)
    (tmp_path / "q.npz").write_text("{}")
    with pytest.raises(FileError):
        Proof.load(tmp_path / "q.npz")


def line_of(*cells):
    return {"principal_variation": np.array(cells, np.uint8)}


# The code that reads JSON also refuses impossible results, so one of each kind is enough here.
CONTRADICTIONS = {
    "name": ({"game": np.array("square-v0")}, "rules differ from those of square-v0"),
    "spelling": ({"game": np.array("mnk-v0:m=4,m=5")}, "is not the name of a game"),
    "bounds": ({"bounds": np.array([1, 1], np.int8)}, "strategy of O, and bounds 1 and 1 need one of X"),
    "open": ({"bounds": np.array([0, 1], np.int8)} | line_of(), "of O, and bounds 0 and 1 need one of n"),
    "upside down": ({"bounds": np.array([1, -1], np.int8)}, "bounds 1 and −?-?1"),
    "won": (line_of(0, 3, 1, 4, 2), "principal_variation: it ends"),
    "too long": (line_of(0, 3, 1, 4, 2, 5), "principal_variation: "),
    "endless": ({"seconds": np.array(np.inf)}, "seconds=inf"),
    "automorphisms": ({"automorphisms": np.arange(9, dtype=np.uint8)[None]}, "automorphisms"),
    "start": ({"start": np.array([1, 0], np.uint64)}, "."),
}


@pytest.mark.parametrize(("change", "fault"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_inconsistent_files_are_not_loaded(change, fault, assert_refused, tmp_path):
    assert_refused({**saved_arrays("tictactoe-v0"), **change}, rf"q\.npz .*{fault}", by=Proof.load)
    with pytest.raises(ttt_env.TttEnvError, match=rf"q\.npz .*{fault}"):
        ttt_env.make_agent(f"strategy:{tmp_path / 'q.npz'}", "tictactoe-v0")


def test_invalid_positions_and_moves_are_not_loaded(assert_refused):
    arrays = saved_arrays("square-v0:n=5")
    row = int(arrays["x_positions"][:, 1].argmax())
    own, other = arrays["x_positions"][row].tolist()
    one_more = next(1 << c for c in range(25) if c != arrays["x_moves"][row] and not (own | other) >> c & 1)
    for stones, move, fault in (
        ([own | one_more, other], arrays["x_moves"][row], "X is not to move"),
        ([own, other | one_more], arrays["x_moves"][row], "X is not to move"),
        ([own, other], other.bit_length() - 1, "on a taken cell"),
        ([own, other], own.bit_length() - 1, "on a taken cell"),
        ([own | other, other], arrays["x_moves"][row], "on the same cell"),
        ([own, other], 25, "not one cell"),
    ):
        positions, moves = arrays["x_positions"].copy(), arrays["x_moves"].copy()
        positions[row], moves[row] = stones, move
        assert_refused({**arrays, "x_positions": positions, "x_moves": moves}, fault, by=Proof.load)


def test_added_stones_require_format_2_and_drawing_strategy(assert_refused):
    arrays = saved_arrays("square-v0")
    assert (
        arrays["format"] == "ttt_env proof 2" and saved_arrays("square-v0:n=5")["format"] == "ttt_env proof 1"
    )
    assert saved_arrays("tictactoe-v0:misere=true")["format"] == "ttt_env proof 1"
    assert_refused(
        {**arrays, "format": np.array("ttt_env proof 1")}, "another seat is to move", by=Proof.load
    )
    assert_refused({**arrays, "format": np.array("ttt_env proof 1")}, "a wrong number of stones")
    fewer = arrays["o_positions"] & np.array([-1, 0]).astype(np.uint64)
    assert_refused({**arrays, "o_positions": fewer}, "O is not to move", by=Proof.load)
    assert_refused({**arrays, "format": np.array("ttt_env proof 3")}, "neither", by=Proof.load)
    assert_refused({**arrays, "format": np.array("ttt_env proof 3")}, "another one")


@pytest.mark.parametrize("game", ["square-v0", "mnk-v0:m=6,n=5,k=4"])
@pytest.mark.slow
def test_package_and_script_verdicts_agree(game, tmp_path):
    """`Proof.check` and the script agree on changed moves and sequences.

    test_proof_forgery.py compares them on small games.
    """
    prove(game).check()
    arrays, rng, verdicts = saved_arrays(game), np.random.default_rng(5), []
    seat = seat_in(arrays)
    for _ in range(12):
        moves, sequences = arrays[f"{seat}_moves"].copy(), arrays[f"{seat}_sequences"].copy()
        if rng.random() < 0.4 and sequences.size:
            row = sequences[rng.integers(len(sequences))]
            cells = row[row < 64]
            row[: len(cells)] = rng.permutation(cells)
        else:
            row = int(rng.integers(len(moves)))
            own, other = arrays[f"{seat}_positions"][row].tolist()
            moves[row] = rng.choice([c for c in range(get_game(game).n_cells) if not (own | other) >> c & 1])
        changes = {f"{seat}_moves": moves, f"{seat}_sequences": sequences}
        np.savez(tmp_path / "q.npz", **{**arrays, **changes})
        loaded = Proof.load(tmp_path / "q.npz")
        try:
            check(tmp_path / "q.npz")
            loaded.check()
            verdicts.append(True)
        except ValueError:
            with pytest.raises(ProofError):
                loaded.check()
            verdicts.append(False)
    assert False in verdicts


def test_pair_with_opponents_stone_breaks_nothing(tmp_path, assert_refused):
    """After 0 and 4, X takes cell 1 and threatens both sets; the pair of 0 and 1 does not help."""
    start = (1, 0)  # X cannot lose with any move.
    table = {
        "x_positions": np.zeros((0, 2), np.uint64),
        "x_moves": np.zeros(0, np.uint8),
        "x_n_sequences": np.zeros(0, np.uint8),
        "x_sequences": np.zeros((0, 2), np.uint8),
        "o_positions": np.array([[0, 1]], np.uint64),
        "o_moves": np.array([4], np.uint8),
        "o_n_sequences": np.array([1], np.uint8),
        "o_sequences": np.array([[0, 1]], np.uint8),
    }
    sets = [(0, 1, 2), (0, 1, 3)]
    assert_refused(own_game_file("five", 5, sets, table, start), "no answer")
    with pytest.raises(ProofError, match="has no move in"):
        Proof.load(tmp_path / "q.npz").check()
    held = table | {"o_moves": np.array([1], np.uint8), "o_sequences": np.full((1, 2), 64, np.uint8)}
    np.savez(tmp_path / "q.npz", **own_game_file("five", 5, sets, held, start))
    Proof.load(tmp_path / "q.npz").check()
    assert "drawn" in check(tmp_path / "q.npz")


@pytest.mark.slow
def test_useless_sequences_are_not_played(tmp_path):
    """A file may contain them beside useful ones."""
    game = "mnk-v0:m=6,n=2,k=3"
    arrays = dict(saved_arrays(game))
    ends = np.cumsum(arrays["o_n_sequences"], dtype=np.int64)
    arrays["o_sequences"] = np.pad(arrays["o_sequences"], [(0, 0), (0, 1)], constant_values=64)
    useless = np.full(arrays["o_sequences"].shape[1], 64, np.uint8)
    arrays["o_sequences"] = np.insert(arrays["o_sequences"], ends - arrays["o_n_sequences"], useless, axis=0)
    arrays["o_n_sequences"] = arrays["o_n_sequences"] + np.uint8(1)
    np.savez(tmp_path / "q.npz", **arrays)
    assert "drawn" in check(tmp_path / "q.npz")
    Proof.load(tmp_path / "q.npz").check()
    assert ttt_env.certify(f"strategy:{tmp_path / 'q.npz'}", game).worst_case["O"] == 0


@pytest.mark.parametrize("file", ["mnk-v0-m-4-n-3-k-3", "cube"])
def test_sequences_of_loaded_file_are_played(file):
    found = Proof.load(QUBIC.parent / f"{file}.npz")
    assert len(found.strategies[0].sequences) and reaches_proved_result(found)


def test_proof_without_covered_positions_is_valid():
    prove("mnk-v0:m=5,n=5,k=4").check()


def test_added_stones_must_not_hide_lost_set(assert_refused):
    """O makes two threats with cell 2, but X completes 0 and 1 first; adding X's stone 1 would hide it."""
    sets, start = [(0, 1), (2, 3), (2, 4)], (1, 0)
    game = Game("five", (5,), sets)
    assert ttt_env.solve(game).value_of(game.start.play(0)) == -1
    row = {"moves": [2], "n_sequences": [0], "sequences": np.zeros((0, 2))}
    tables = {f"{seat}_{name}": np.array(array, np.uint8) for seat in "xo" for name, array in row.items()}
    tables["x_positions"], tables["o_positions"] = np.array([[[1, 2]], [[0, 3]]], np.uint64)
    changes = {"format": "ttt_env proof 2", "automorphisms": np.array(automorphisms(game), np.uint8)}
    forged = own_game_file("five", 5, sets, tables, start) | changes
    assert_refused(forged, "a move loses")
    assert_refused(forged, "does not keep the result", by=load_and_check)


def load_and_check(path):
    try:
        Proof.load(path).check()
    except ProofError as error:
        raise FileError(str(error)) from error


@pytest.mark.parametrize("misere", [False, True])
def test_fewer_stones_are_covered_except_in_misere(misere):
    position, table = (np.array([stones], np.uint64) for stones in ((1, 2), (1, 6)))
    identity, room = np.arange(4, dtype=np.uint8)[None], np.zeros(1, np.bool_)
    row, _ = strategy_kernel.covering(position, table, identity, misere, room)[0]
    assert row == (-1 if misere else 0) and room[0] == (not misere)


def test_impossible_stones_are_refused(assert_refused):
    arrays = saved_arrays("square-v0")
    for column, stones in ((1, 1 << 63), (0, 1 << 63), (1, (1 << 16) - 1)):
        positions = arrays["o_positions"].copy()
        positions[:, column] |= np.uint64(stones)
        for by in (check, Proof.load):
            assert_refused({**arrays, "o_positions": positions}, by=by)


@pytest.mark.parametrize("file", ["square-v0", "mnk-v0-m-6-n-5-k-4"])
def test_proof_is_checked_in_batches(file, monkeypatch):
    monkeypatch.setattr(extraction, "_BATCH", 7)
    found = Proof.load(QUBIC.parent / f"{file}.npz")
    assert found.strategies[0].n_sequences[:7].sum() > 0 and len(found.strategies[0]) > 14
    found.check()


def test_wrong_claims_fail_check():
    found = prove("tictactoe-v0")
    with pytest.raises(ProofError):
        dataclasses.replace(found, bounds=(1, 1), _prover=None).check()
    with pytest.raises(ProofError, match="principal_variation"):
        dataclasses.replace(found, principal_variation=(0, 0)).check()
    prove("tictactoe-v0", ttt_env.Position.parse("XXX/OO./...")).check()


IMPOSSIBLE = {
    "bounds": [[10**30, 10**30], [0.5, 0.5], [False, False], ["0", "0"], [-1, -1]],
    "value": [1],
    "principal_variation": [[0, 0], [10**30], [0, 3, 1, 4, 2], "4"],
    "nodes": [-1, 10**30, 1.5],
    "seconds": [-0.5, float("nan"), "1", 10**400],
    "regions": [[[0, 1]]],
    "position": ["XX./.../..."],
    "game": [{"name": "square-v0", "shape": [3, 3], "winning_sets": [[0, 1, 2]]}],
}
FAULTS = {"position": ".", "game": "rules"}


# --- Checkpoints ------------------------------------------------------------------------------------------

KILLED = """
import sys, ttt_env
from ttt_env.proofs import prover
prover._CHECKPOINT_SECONDS, prover._CHECKPOINT_SHARE = 0.05, 0
ttt_env.prove(sys.argv[1], checkpoint=sys.argv[2])
"""


@pytest.mark.slow
def test_killed_search_resumes(tmp_path):
    path = tmp_path / "search.npz"
    command = [sys.executable, "-c", KILLED, "qubic-v0", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
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


@pytest.mark.parametrize(
    ("game", "nodes", "kept"),  # The entries that a checkpoint keeps regardless of effort.
    [
        ("mnk-v0:m=4,n=3,k=3,misere=true", 1_000, 0),
        ("mnk-v0:m=4,n=3,k=3,misere=true", 100, state_kernel._KEPT),
        ("mnk-v0:m=6,n=5,k=4", 50, state_kernel._KEPT),
    ],
)
@pytest.mark.slow
def test_interrupted_searches_find_same_value(game, nodes, kept, tmp_path, monkeypatch):
    monkeypatch.setattr(state_kernel, "_KEPT", kept)
    path, n_calls = tmp_path / "search.npz", 0
    while (found := prove(game, nodes=nodes, checkpoint=path)).value is None:
        n_calls += 1
        assert n_calls < 100
    whole = prove(game)
    assert found.value == whole.value
    assert n_calls > 0
    found.save(tmp_path / "p.npz")
    check(tmp_path / "p.npz")
    again = prove(game, checkpoint=path)
    assert again.value == whole.value and again.nodes - found.nodes < whole.nodes // 2


def test_foreign_checkpoint_is_refused(tmp_path):
    path = tmp_path / "search.npz"
    prove("qubic-v0", nodes=100, checkpoint=path)
    content = path.read_bytes()
    with pytest.raises(FileError, match="other"):
        prove("square-v0", checkpoint=path)
    with pytest.raises(FileError, match="another position"):
        prove("qubic-v0", get_game("qubic-v0").start.play(0), nodes=100, checkpoint=path)
    assert path.read_bytes() == content
    prove("mnk-v0:m=4,n=3,k=3").save(path)
    with pytest.raises(FileError, match="not a checkpoint"):
        prove("mnk-v0:m=4,n=3,k=3", checkpoint=path)
    path.write_bytes(content[:500])
    with pytest.raises(FileError, match="not a checkpoint"):
        prove("qubic-v0", checkpoint=path)


# --- The agent --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "game", slow_but_the_first(["tictactoe-v0:misere=true", "tictactoe-v0", "mnk-v0:m=4,n=3,k=3"])
)
def test_agent_keeps_proved_result(game, tmp_path):
    found = prove(game)
    found.save(tmp_path / "p.npz")
    for strategy in found.strategies:
        found_by_its_moves = ttt_env.certify(f"strategy:{tmp_path / 'p.npz'}", game)
        assert found_by_its_moves.worst_case[strategy.seat] == int(strategy.wins)
    if game == "tictactoe-v0":
        refutations = ttt_env.certify(f"strategy:{tmp_path / 'p.npz'}").refutations
        assert refutations["O"] is None and refutations["X"] is not None


def test_agent_wins_qubic():
    agent = ttt_env.make_agent(f"strategy:{QUBIC}", "qubic-v0")
    assert agent.is_stationary
    for seed in range(3):
        assert ttt_env.play_game(agent, "win-block", "qubic-v0", rng=seed).positions()[-1].winner == "X"


@pytest.mark.parametrize("opponent", ["win-block", "mcts:simulations=100"])
def test_agent_draws_7_7_5_by_pairs(opponent):
    agent = ttt_env.make_agent(f"strategy:{SEVEN},fallback=random", "mnk-v0:m=7,n=7,k=5")
    for seed in range(2):
        game = ttt_env.play_game(opponent, agent, "mnk-v0:m=7,n=7,k=5", rng=seed)
        assert game.positions()[-1].winner != "X"
        for position in game.positions()[1:-1:2]:
            assert "does not lose" in agent.explain(position).reason


def test_fallback_plays_outside_proof(tmp_path):
    game = get_game("mnk-v0:m=4,n=3,k=3")
    prove(game).save(tmp_path / "p.npz")
    agent = ttt_env.make_agent(f"strategy:{tmp_path / 'p.npz'},fallback=newell-simon", game)
    other = ttt_env.make_agent("newell-simon", game)
    position = game.start.play(0)
    assert (agent.policy(position) == other.policy(position)).all()
    assert "newell-simon" in agent.explain(position).reason
    assert "X wins" in agent.explain(game.start).reason


def test_files_without_strategy_are_refused(tmp_path):
    unknown = prove("qubic-v0", nodes=10)
    unknown.save(tmp_path / "p.npz")
    with pytest.raises(ProofError, match="not proved"):
        unknown.check()
    with pytest.raises(ValueError, match="no value"):
        check(tmp_path / "p.npz")
    for name, game, fault in (
        ("p.npz", "qubic-v0", "holds no strategy"),
        ("p.npz", "square-v0", "not of square-v0"),
        ("no.npz", "square-v0", "cannot be read"),
    ):
        with pytest.raises(ttt_env.TttEnvError, match=fault):
            ttt_env.make_agent(f"strategy:{tmp_path / name}", game)
