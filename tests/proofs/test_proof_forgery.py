"""Forged proofs: two independent checkers both refuse them, and accept only true claims.

`scripts/check_proof.py` is compared with a checker written from docs/reference/formats.md alone, on
thousands of changed files; on enumerable games the solution decides which claims are true.
"""

from contextlib import suppress
from functools import cache

import numpy as np
import pytest

from tests.support.documents import ROOT
from tests.support.marks import slow
from tests.support.naive_proof_checker import (
    NaiveChecker,
    RefusedError,
    cells_of,
    mask_of,
    naive_check,
    proof_arrays,
)
from tests.support.proof_checker import check
from ttt_env import Game, Position, Proof, get_game, prove, solve
from ttt_env.errors import FileError
from ttt_env.rules.game import random_position
from ttt_env.rules.symmetry import automorphisms

FOLDER = ROOT / "docs" / "proofs"
SMALL = [
    "tictactoe-v0",
    "tictactoe-v0:misere=true",
    "mnk-v0:m=4,n=3,k=3",
    "mnk-v0:m=4,n=3,k=4",
    "mnk-v0:m=5,n=2,k=3",
    "mnk-v0:m=3,n=2,k=2,misere=true",
    "square-v0:n=3",
    "square-v0:n=3,tilted=false",
    "square-v0:n=2,misere=true",
]
PARTS = ("positions", "moves", "n_sequences", "sequences")


def arrays_of(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def random_game(rng, name, misere=False):
    n_cells = int(rng.integers(4, 10))
    sizes = np.minimum(rng.choice([2, 3, 4], size=rng.integers(2, 9), p=[0.3, 0.5, 0.2]), n_cells)
    sets = [rng.choice(n_cells, size=size, replace=False).tolist() for size in sizes]
    return Game(name, (n_cells,), sets, misere)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The arrays of small proofs: of catalogue games, user-defined games and positions."""
    rng, path, found = np.random.default_rng(2), tmp_path_factory.mktemp("proofs") / "p.npz", []
    positions = [get_game(name).start for name in SMALL]
    positions += [random_game(rng, f"own {number}", number % 3 == 0).start for number in range(12)]
    for name in SMALL[:6]:
        positions += [random_position(get_game(name), rng) for _ in range(3)]
    for position in positions:
        if not position.is_over:
            prove(position.game, position).save(path)
            found.append(arrays_of(path))
    assert {int(arrays["bounds"][0]) for arrays in found} == {-1, 0, 1}
    assert any(arrays[name].size for arrays in found for name in arrays if name.endswith("sequences"))
    return found


# --- Mutations --------------------------------------------------------------------------------------------


def seats_of(arrays):
    return [seat for seat in "xo" if f"{seat}_moves" in arrays]


def pick_name(arrays, rng):
    names = sorted(arrays, key=lambda name: (name[:2] not in ("x_", "o_"), name))
    return names[min(int(rng.exponential(5)), len(names) - 1)]


def change_number(arrays, rng):
    name = pick_name(arrays, rng)
    array = arrays[name].copy()
    if array.size and array.dtype.kind in "iu":
        at = tuple(int(rng.integers(length)) for length in array.shape)
        old, info = int(array[at]), np.iinfo(array.dtype)
        choices = [old + 1, old - 1, 0, 63, 64, 65, 255, info.max, info.min, old ^ 1 << int(rng.integers(9))]
        array[at] = min(max(choices[rng.integers(len(choices))], int(info.min)), int(info.max))
    elif array.dtype.kind == "f":
        array = np.array([np.nan, np.inf, -1.0, 1e300][rng.integers(4)])
    elif array.dtype.kind == "b":
        array = ~array
    return arrays | {name: np.asarray(array)}


def change_type(arrays, rng):
    name = pick_name(arrays, rng)
    types = "int8 uint8 int16 int64 uint64 >u8 >i8 float64 bool complex64 U5 S5".split()
    with np.errstate(all="ignore"):
        try:
            return arrays | {name: arrays[name].astype(types[rng.integers(len(types))])}
        except ValueError:  # A name cannot be converted to a number.
            return arrays | {name: np.array(1)}


def change_shape(arrays, rng):
    name = pick_name(arrays, rng)
    array = arrays[name]
    forms = [array[None], array[..., None], array.ravel(), array.T, np.asfortranarray(array)]
    forms += [array.reshape(-1, 1)]
    if array.ndim:
        forms += [array[:0], array[..., :-1], array[..., 1:]]
    if array.dtype.kind in "iu":
        forms += [np.pad(array, [(0, 1)] * array.ndim, constant_values=64)]
    return arrays | {name: forms[rng.integers(len(forms))]}


def change_rows(arrays, rng):
    name = pick_name(arrays, rng)
    array = arrays[name]
    if array.ndim == 0 or not len(array):
        return arrays
    row = int(rng.integers(len(array)))
    forms = [np.delete(array, row, axis=0), array[::-1], np.roll(array, 1, axis=-1)]
    forms += [np.concatenate([array, array[row : row + 1]]), np.concatenate([array, array])]
    forms += [rng.permutation(array), rng.permuted(array, axis=-1)]
    return arrays | {name: forms[rng.integers(len(forms))]}


def change_claims(arrays, rng):
    value = rng.integers(-1, 2)
    bounds = [value, value] if rng.random() < 0.7 else rng.integers(-2, 3, size=2)
    changed = arrays | {"bounds": np.array(bounds, np.int8)}
    seats = seats_of(arrays)
    if rng.random() < 0.6 and len(seats) == 1:  # Add a strategy of the other seat or replace the own one.
        (seat,) = seats
        other = "xo"[seat == "x"]
        changed |= {f"{other}_{part}": changed[f"{seat}_{part}"] for part in PARTS}
        if rng.random() < 0.5:
            changed = {name: array for name, array in changed.items() if not name.startswith(f"{seat}_")}
    return changed


def change_start(arrays, rng):
    n_cells = int(np.prod(arrays["shape"]))
    cells = rng.permutation(n_cells)[: rng.integers(0, 4)].tolist()
    x, o = mask_of(cells[::2]), mask_of(cells[1::2])
    stones = [[x, o], [o, x], arrays["start"][::-1], [x, x], [1 << n_cells, 0]][rng.integers(5)]
    return arrays | {"start": np.array(stones, np.uint64)}


def change_rules(arrays, rng):
    n_cells, masks = int(np.prod(arrays["shape"])), arrays["winning_masks"]
    new = mask_of(rng.choice(n_cells, size=rng.integers(1, 4), replace=False).tolist())
    forms = [
        {"winning_masks": np.delete(masks, rng.integers(len(masks)))},
        {"winning_masks": np.append(masks, np.uint64(new))},
        {"winning_masks": np.append(masks, masks[:1])},
        {"misere": ~arrays["misere"]},
        {"shape": np.array([n_cells])},
        {"shape": np.array([1, n_cells, 1])},
        {"shape": arrays["shape"][::-1].copy()},
        {"shape": np.array([2**32, 2**32, n_cells])},
        {"shape": np.array([-1, -n_cells])},
    ]
    changed = arrays | forms[rng.integers(len(forms))]
    if rng.random() < 0.7:
        changed |= {"game": np.array("a game of mine")}
    if rng.random() < 0.7:
        changed |= {"automorphisms": np.arange(n_cells, dtype=np.uint8)[None]}
    return {name: np.asarray(array) for name, array in changed.items()}


def rename_game(arrays, rng):
    name = str(arrays["game"])
    others = [*SMALL, "mine", f"{name} ", f" {name}", name.upper(), name.replace("3", "３"), f"{name}\n"]
    others += ["mnk-v0:m=3,m=3,n=3,k=3", "mnk-v0:n=3,m=3,k=3", "mnk-v0", "mnk-v0:m=+3,n=3,k=3", f"{name},"]
    others += ["square-v0:tilted=maybe", "square-v0:n=4", "tictactoe-v0:", "tictactoe-v0:misere=false"]
    others += ["x\x1b[2J", "tictactoe-v0\u200b"]
    return arrays | {"game": np.array(others[rng.integers(len(others))])}


def change_automorphisms(arrays, rng):
    images = arrays["automorphisms"]
    row = int(rng.integers(len(images)))
    swapped = images.copy()
    swapped[row, :2] = swapped[row, 1::-1]
    forms = [images[:1], images[row : row + 1], images[:0], images[::-1], images[:, :-1], swapped]
    forms += [np.delete(images, row, axis=0), np.concatenate([images, images])]
    forms += [np.argsort(images, axis=1).astype(np.uint8)]
    return arrays | {"automorphisms": np.ascontiguousarray(forms[rng.integers(len(forms))])}


def change_array_names(arrays, rng):
    name = pick_name(arrays, rng)
    rest = {other: array for other, array in arrays.items() if other != name}
    return [rest, arrays | {"note": np.zeros(2)}, rest | {name.swapcase(): arrays[name]}][rng.integers(3)]


def sequences_by_row(arrays, seat):
    """The sequences of each row of a table."""
    ends = np.cumsum(arrays[f"{seat}_n_sequences"], dtype=int)
    return np.split(arrays[f"{seat}_sequences"], ends)[:-1]


def with_rows(arrays, seat, order, sequences):
    """The table with its rows in this order, each with the given sequences."""
    joined = np.concatenate([arrays[f"{seat}_sequences"][:0], *(sequences[row] for row in order)])
    return arrays | {
        f"{seat}_positions": arrays[f"{seat}_positions"][order],
        f"{seat}_moves": arrays[f"{seat}_moves"][order],
        f"{seat}_n_sequences": np.array([len(sequences[row]) for row in order], np.uint8),
        f"{seat}_sequences": joined,
    }


def change_whole_rows(arrays, rng):
    """Remove, duplicate or reorder rows with their sequences; the file stays well-formed."""
    seat = seats_of(arrays)[0]
    sequences = [rng.permutation(rows) for rows in sequences_by_row(arrays, seat)]
    order = rng.permutation(len(sequences))
    if len(order) and rng.random() < 0.5:
        order = order[1:] if rng.random() < 0.5 else np.append(order, order[:1])
    return with_rows(arrays, seat, order, sequences)


def replace_sequences(arrays, rng):
    """Replace cells in the sequences of some positions; the file stays well-formed."""
    seat, n_cells = seats_of(arrays)[0], int(np.prod(arrays["shape"]))
    sequences, width = sequences_by_row(arrays, seat), arrays[f"{seat}_sequences"].shape[1]
    for row in range(len(sequences)):
        if rng.random() < 0.3:
            n = int(rng.integers(0, min(width, n_cells) // 2 + 1)) * 2
            cells = np.full((1, width), 64, np.uint8)
            cells[0, :n] = rng.permutation(n_cells)[:n]
            sequences[row] = np.concatenate([sequences[row][rng.integers(2) :], cells])
    return with_rows(arrays, seat, np.arange(len(sequences)), sequences)


def change_stones(arrays, rng):
    """Add or remove stones of the other player in some positions; the file stays well-formed."""
    seat, n_cells = seats_of(arrays)[0], int(np.prod(arrays["shape"]))
    positions = arrays[f"{seat}_positions"].copy()
    for row, (own, other) in enumerate(positions.tolist()):
        if rng.random() < 0.3:
            move = 1 << int(arrays[f"{seat}_moves"][row])
            cells = mask_of(np.flatnonzero(rng.random(n_cells) < 0.2).tolist()) & ~(own | move)
            positions[row, 1] = other | cells if rng.random() < 0.7 else other & ~cells
    file_format = np.array(f"ttt_env proof {rng.integers(1, 3)}")
    return arrays | {f"{seat}_positions": positions, "format": file_format}


def replace_moves(arrays, rng):
    """Replace moves by other legal ones in some positions; the file stays well-formed."""
    seat, n_cells = seats_of(arrays)[0], int(np.prod(arrays["shape"]))
    moves = arrays[f"{seat}_moves"].copy()
    for row, (own, other) in enumerate(arrays[f"{seat}_positions"].tolist()):
        free = [cell for cell in range(n_cells) if not (own | other) >> cell & 1]
        if rng.random() < 0.2 and free:
            moves[row] = free[rng.integers(len(free))]
    return arrays | {f"{seat}_moves": moves}


def permute_cells(arrays, rng):
    """Permute the cells of the whole file: a true proof of another game or of the same one."""
    n_cells = int(np.prod(arrays["shape"]))
    images = arrays["automorphisms"]
    image = rng.permutation(n_cells) if rng.random() < 0.5 else images[rng.integers(len(images))]
    image = np.append(image, np.full(65 - n_cells, 64))

    def permuted(masks):
        flat = [mask_of(int(image[c]) for c in cells_of(mask)) for mask in masks.ravel().tolist()]
        return np.array(flat, np.uint64).reshape(masks.shape)

    changed = {name: permuted(arrays[name]) for name in arrays if arrays[name].dtype == np.uint64}
    for seat in seats_of(arrays):
        for part in ("moves", "sequences"):
            changed[f"{seat}_{part}"] = image[arrays[f"{seat}_{part}"]].astype(np.uint8)
    conjugate = np.empty_like(images)
    conjugate[:, image[:n_cells]] = image[images]
    name = "renamed" if rng.random() < 0.8 else str(arrays["game"])
    changed = arrays | changed | {"automorphisms": conjugate, "game": np.array(name)}
    if rng.random() < 0.7:  # The smallest images have changed.
        changed |= {"automorphisms": np.arange(n_cells, dtype=np.uint8)[None]}
    return changed


MUTATIONS = [change_number, change_type, change_shape, change_rows, change_claims]
MUTATIONS += [change_start, change_rules, rename_game, change_automorphisms, change_array_names]
MUTATIONS += [change_whole_rows, replace_sequences, replace_moves, change_stones, permute_cells]


@cache
def true_value(name, shape, masks, misere, start):
    game = Game(name, shape, [sorted(cells_of(mask)) for mask in masks], misere)
    x, o = start
    position = Position(game, *((o, x) if (x | o).bit_count() % 2 else (x, o))).checked()
    return solve(game).value_of(position)


def is_true(arrays):
    """Whether the claim of these accepted arrays is true."""
    rules = tuple(arrays["shape"].tolist()), tuple(arrays["winning_masks"].tolist()), bool(arrays["misere"])
    return true_value("a game", *rules, tuple(arrays["start"].tolist())) == arrays["bounds"][0]


def accepts(checker, path):
    """Whether a checker accepts the file; any exception is a refusal."""
    try:
        checker(path)
    except Exception:
        return False
    return True


def package_accepts(path):
    """Whether the package confirms a file; None if it cannot be loaded or its game is over."""
    try:
        proof = Proof.load(path)
    except FileError:
        return None
    return None if proof.position.is_over else accepts(Proof.check, proof)


def judge(arrays, path):
    """Whether both checkers accept these arrays; they must agree and accept only true claims.

    If the package loads the file, it must reach the same verdict.
    """
    np.savez(path, **arrays)
    verdicts = accepts(check, path), accepts(naive_check, path)
    assert verdicts[0] == verdicts[1], verdicts
    assert package_accepts(path) in (None, verdicts[0])
    assert not verdicts[0] or is_true(arrays)
    return verdicts[0]


def count_accepted_mutations(files, path, n_mutations, seed):
    """The number of accepted mutations of each kind."""
    rng, accepted = np.random.default_rng(seed), dict.fromkeys(MUTATIONS, 0)
    for number in range(n_mutations):
        mutation, arrays = MUTATIONS[number % len(MUTATIONS)], files[rng.integers(len(files))]
        second = [MUTATIONS[rng.integers(len(MUTATIONS))]] if rng.random() < 0.2 else []
        for change in (mutation, *second):
            with suppress(Exception):  # A broken file may not allow a second change.
                arrays = change(arrays, rng)
        accepted[mutation] += judge(arrays, path)
    return accepted


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.npz")), ids=lambda path: path.stem)
def test_both_checkers_accept_documented_files(path):
    assert accepts(check, path) and accepts(naive_check, path)


@pytest.mark.parametrize("n_each", [2, slow(6)])
def test_both_checkers_agree_on_mutations(files, tmp_path, n_each):
    for arrays in files:
        assert judge(arrays, tmp_path / "p.npz")
    accepted = count_accepted_mutations(files, tmp_path / "p.npz", n_each * len(MUTATIONS), 1)
    assert n_each < sum(accepted.values()) < 10 * n_each


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_both_checkers_agree_on_many_mutations(files, tmp_path, seed):
    accepted = count_accepted_mutations(files, tmp_path / "p.npz", 2_000, seed)
    print({mutation.__name__: n for mutation, n in accepted.items()})
    assert 100 < sum(accepted.values()) < 1_000


# --- Forgeries --------------------------------------------------------------------------------------------


class Forger:
    """Builds tables for claims that may be false; they lack only what does not exist."""

    def __init__(self, position, rng):
        self.position, self.game, self.rng = position, position.game, rng
        self.solution = solve(self.game)
        self.images = automorphisms(self.game) if rng.random() < 0.5 else (tuple(range(self.game.n_cells)),)
        self.style = ("random", "careful", "best")[rng.integers(3)]
        self.adds_stones = rng.random() < 0.3

    def move(self, position):
        """A legal cell: any, one that does not allow an immediate win, or a best one."""
        cells = self.rng.permutation(position.legal_cells).tolist()
        if self.style == "best" and self.rng.random() < 0.9:
            best = self.solution.best_cells(position)
            return min(cells, key=lambda cell: cell not in best)
        if self.style != "random":
            for cell in cells:
                after = position.play(cell)
                if not after.is_over and not any(after.child(reply).is_won for reply in after.legal_cells):
                    return cell
        return cells[0]

    def sequences(self, checker, own, other):
        """Random sequences of free cells, which may happen to be useful."""
        free = sorted(checker.cells - own - other)
        found = []
        for _ in range(int(self.rng.integers(0, 4)) if not self.game.misere else 0):
            n = int(self.rng.integers(0, len(free) + 1))
            found.append(self.rng.permutation(free)[: n if checker.wins else n // 2 * 2].tolist())
        return found

    def table(self, seat, wins):
        """The rows of a strategy of this seat that wins or does not lose wherever that is possible."""
        checker = NaiveChecker(
            frozenset(range(self.game.n_cells)),
            {frozenset(cells) for cells in self.game.winning_sets},
            self.game.misere,
            self.images,
            wins,
        )
        stones = cells_of(self.position.x_mask), cells_of(self.position.o_mask)
        own, other = stones if seat == "X" else stones[::-1]
        rows, seen = [], set()
        if self.position.to_move == seat:
            pending = [] if not self.game.misere and checker.completing(own, other) else [(own, other)]
        else:
            pending = self.after(checker, own, other, [])
        while pending:
            masks = checker.smallest(*pending.pop())
            own, other = map(cells_of, masks)
            if masks not in seen and own | other < checker.cells:
                seen.add(masks)
                cell = self.move(Position(self.game, *masks))
                own |= {cell}
                if self.adds_stones and not wins:
                    other |= {cell for cell in checker.cells - own if self.rng.random() < 0.1}
                    masks = masks[0], mask_of(other)
                found = self.sequences(checker, own, other)
                rows.append((masks, cell, found))
                pending += self.after(checker, own, other, found)
        return rows

    def after(self, checker, own, other, sequences):
        try:
            return list(checker.reached_after(own, other, sequences))
        except RefusedError:
            return []

    def file(self, value):
        """The arrays that claim this value for the player to move."""
        position = self.position
        mover, waiting = ("X", "O") if position.to_move == "X" else ("O", "X")
        if value:
            seats = [mover if value == 1 else waiting]
        else:
            seats = ["O"] if position.ply == 0 and not self.game.misere else ["X", "O"]
        tables = {}
        for seat in seats:
            rows = self.table(seat, value != 0)
            cells = [sequence for _, _, found in rows for sequence in found]
            width = max(map(len, cells), default=0) + int(self.rng.integers(2))
            padded = [sequence + [64] * (width - len(sequence)) for sequence in cells]
            table = (
                np.array([masks for masks, _, _ in rows], np.uint64).reshape(-1, 2),
                np.array([cell for _, cell, _ in rows], np.uint8),
                np.array([len(found) for _, _, found in rows], np.uint8),
                np.array(padded, np.uint8).reshape(len(cells), width),
            )
            tables |= {f"{seat.lower()}_{part}": array for part, array in zip(PARTS, table, strict=True)}
        game, start = self.game, (position.x_mask, position.o_mask)
        rules = game.name, game.shape, game.winning_masks, game.misere
        return proof_arrays(*rules, start, value, self.images, tables)


def forge(n_games, path, seed):
    """The numbers of false files (all refused), of accepted true files and of refused true files."""
    rng, n_false, n_true = np.random.default_rng(seed), 0, [0, 0]
    for number in range(n_games):
        kind = number % 4
        game = get_game(SMALL[rng.integers(2)]) if kind == 0 else random_game(rng, f"own {number}", kind == 1)
        position = random_position(game, rng) if number % 3 == 0 else game.start
        if position.is_over:
            continue
        value = solve(game).value_of(position)
        for claim in (-1, 0, 1):
            accepted = judge(Forger(position, rng).file(claim), path)
            assert claim == value or not accepted
            n_false += claim != value
            n_true[accepted] += claim == value
    return n_false, n_true[True], n_true[False]


def test_false_claims_are_refused(tmp_path):
    n_false, n_accepted, _ = forge(16, tmp_path / "p.npz", 3)
    assert n_false > 20 and n_accepted > 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 8))
def test_many_false_claims_are_refused(tmp_path, seed):
    n_false, n_accepted, n_refused = forge(750, tmp_path / "p.npz", seed)
    print(f"{n_false} false files refused; of the true ones {n_accepted} accepted, {n_refused} refused")
    assert n_false > 1_250 and n_accepted > 125
