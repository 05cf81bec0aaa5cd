"""Policy files: the checking script, a naive reader and the package agree on valid and mutated files."""

import random
import re
import struct
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import cache, lru_cache
from io import BytesIO
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple
from zipfile import ZipFile
from zlib import crc32

import check_policy
import numpy as np
import pytest

import ttt_env
from tests.support.agents import Nth
from tests.support.documents import ROOT
from tests.support.games import LOPSIDED, MISERE, SHORT, TICTACTOE
from tests.support.marks import slow
from tests.support.naive import mover, play
from tests.support.naive_proof_checker import cells_of, mask_of
from tests.support.policy_files import Found, NaiveRules, agent_arrays, read, table_arrays, table_in, write
from ttt_env import Game, PolicyTable, certify, get_game
from ttt_env.storage.archive import game_of_file

CHECKER = ROOT / "scripts" / "check_policy.py"
FANO = Game("Fano", (7,), [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)])
SMALL = get_game("mnk-v0:m=3,n=2,k=2,misere=true")

# The script looks for an id among thousands of games, and the files of the tests have the same arrays.
check_policy.rules_of = cache(check_policy.rules_of)
check_policy.array_in = lru_cache(maxsize=4096)(check_policy.array_in)


def by_script(data):
    """The result of the script for a file."""
    _, _, seats = check_policy.check(BytesIO(data))
    return {seat: Found(worst, n, len(cells)) for seat, (worst, cells, _, n) in seats.items()}


def by_package(data):
    """The result of the package for a file."""
    with NamedTemporaryFile(suffix=".npz") as file:
        file.write(data)
        file.flush()
        table = PolicyTable(game_of_file(file.name), file.name)
    certificate = certify(table, complete=True)
    return {
        seat: Found(
            certificate.worst_case[seat],
            certificate.n_positions[seat],
            len(certificate.worst_games[seat].cells),
        )
        for seat in table.seats
    }


# The result of each reader for the bytes of a file is a `Found` for each seat, or it raises `ValueError`.
READERS = [by_script, read, by_package]


def agreed_result(data):
    """The result of all readers for a file; None if all of them refuse it."""
    results = []
    for reader in READERS:
        try:
            results.append(reader(data))
        except ValueError:
            results.append(None)
    assert all(one == results[0] for one in results), results
    return results[0]


def archive_of(members):
    """The bytes of an uncompressed archive with these members, several times faster than `zipfile`."""
    content, directory = b"", b""
    for name, data in members.items():
        file = f"{name}.npy".encode()
        sizes = struct.pack("<3I2H", crc32(data), len(data), len(data), len(file), 0)
        head = struct.pack("<5H", 20, 0, 0, 0, 33) + sizes  # version 2.0, stored, 1 January 1980
        directory += b"PK\1\2\x14\0" + head + struct.pack("<3H2I", 0, 0, 0, 0, len(content)) + file
        content += b"PK\3\4" + head + file + data
    count = len(members)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, len(directory), len(content), 0)
    return content + directory + end


def encoded(array):
    """The bytes of an array in NumPy's format."""
    written = BytesIO()
    np.lib.format.write_array(written, np.asanyarray(array))
    return written.getvalue()


def bytes_of(arrays):
    return archive_of({name: encoded(array) for name, array in arrays.items()})


# --- Written tables ---------------------------------------------------------------------------------------


def on_the_centre(position):
    """Name the centre, even if it is taken."""
    return 4 if position.ply < 6 else position.legal_cells[-1]


def wandering(position):
    return position.legal_cells[position.ply * position.mine % len(position.legal_cells)]


AGENTS = [
    (TICTACTOE, "ppo"),
    (TICTACTOE, on_the_centre),
    (MISERE, on_the_centre),
    (get_game("mnk-v0:m=3,n=3,k=3"), wandering),
    (get_game("mnk-v0:m=4,n=3,k=3"), Nth(get_game("mnk-v0:m=4,n=3,k=3"), 0)),
    (FANO, "random"),
    (FANO, "softmax"),
    (FANO, wandering),
    (LOPSIDED, "minimax"),
    (SHORT, "random"),
    (SMALL, "softmax:temperature=0.5"),
    slow(TICTACTOE, "minimax"),
    slow(TICTACTOE, "random"),
    slow(TICTACTOE, "softmax"),
    slow(TICTACTOE, "epsilon:ppo,epsilon=0.1"),
    slow(MISERE, "minimax"),
    slow(get_game("square-v0:n=3,tilted=false"), "win-block"),
]


@pytest.mark.parametrize(("game", "agent"), AGENTS, ids=lambda one: getattr(one, "__name__", str(one)))
def test_all_readers_agree_with_certify(game, agent):
    certificate, arrays = ttt_env.certify(agent, game), agent_arrays(game, agent, "an agent")
    results = agreed_result(bytes_of(arrays))
    assert {seat: one.worst for seat, one in results.items()} == certificate.worst_case
    assert {seat: one.n_positions for seat, one in results.items()} == certificate.n_positions
    forfeits = sorted([one.position.mine, one.position.theirs] for one in certificate.forfeits)
    assert forfeits == arrays["forfeit_positions"].tolist()
    for seat, refutation in certificate.refutations.items():
        assert refutation is None or len(refutation.cells) == results[seat].shortest
        assert agreed_result(bytes_of(of_seat(arrays, seat))) == {seat: results[seat]}
    assert_games_follow_file(bytes_of(arrays))


def of_seat(arrays, seat):
    """The arrays of one seat, from those of a file of both seats."""
    plies = plies_of(arrays)
    other = {f"{part}_{ply}" for ply in plies if "XO"[ply % 2] != seat for part in ("positions", "moves")}
    parity = [(mine | theirs).bit_count() % 2 for mine, theirs in arrays["forfeit_positions"].tolist()]
    is_of_seat = np.array(parity, int) == "XO".index(seat)
    forfeits = {name: arrays[name][is_of_seat] for name in ("forfeit_positions", "forfeit_reasons")}
    rest = {name: array for name, array in arrays.items() if name not in other}
    return rest | forfeits | {"seats": np.array(seat)}


def plies_of(arrays):
    return [int(name.removeprefix("moves_")) for name in arrays if name.startswith("moves_")]


def assert_games_follow_file(data):
    """Assert that the games that the script prints follow the answers in the file and end as stated."""
    _, _, seats = check_policy.check(BytesIO(data))
    _, rules, rows = table_in(data)
    for seat, (worst, cells, reason, _) in seats.items():
        board = "." * rules.n_cells
        for cell in cells:
            assert rules.result(board, seat) is None
            assert cell in (rows[board] if mover(board) == seat else rules.cells(board))
            board = play(board, cell)
        if reason is None:
            assert rules.result(board, seat) == worst
        else:
            assert mover(board) == seat and not rows[board] and worst == -1


# --- Mutations --------------------------------------------------------------------------------------------


class File(NamedTuple):
    """The arrays of a valid file, and their bytes."""

    arrays: dict[str, Any]
    members: dict[str, bytes]

    def changed(self, arrays):
        """The bytes of a file of these arrays, most of which are arrays of this file."""
        members = {
            name: self.members[name] if self.arrays.get(name) is array else encoded(array)
            for name, array in arrays.items()
        }
        return archive_of(members)


SHAPES = [(2, 2), (2, 3), (5,), (3, 2), (1, 2, 2), (7,), (2, 2, 2), (3, 3), (9,)]


def random_rules(number, rng):
    """The rules of a random custom game, as `NaiveRules` takes them; every third game has supports."""
    shape = SHAPES[number % len(SHAPES)]
    n = int(np.prod(shape))
    sizes = np.minimum(rng.choice([1, 2, 3, 4], size=rng.integers(1, 8), p=[0.05, 0.45, 0.4, 0.1]), n)
    sets = {mask_of(rng.choice(n, size=size, replace=False).tolist()) for size in sizes}
    supports, order = [-1] * n, rng.permutation(n).tolist()
    if number % 3 == 0:
        for place, cell in enumerate(order):
            supports[cell] = order[int(rng.integers(place))] if place and rng.random() < 0.6 else -1
    return f"own {number}", list(shape), sorted(sets), bool(rng.integers(2)), supports


def random_answer(rules, style, seed):
    """A policy: for each board a cell, a set of cells or chances, by the style, and sometimes a forfeit."""
    rules = NaiveRules(*rules)

    def answer(board):
        draw = random.Random(f"{seed} {board}")
        cells = rules.cells(board)
        if style.endswith("forfeits") and draw.random() < 0.15:
            return f"no cell: {draw.choice(['', 'pass', '64', 'é'])}"
        chosen = draw.sample(cells, 1 if style.startswith("cells") else draw.randint(1, len(cells)))
        weights = [draw.random() if style.startswith("chances") else 1.0 for _ in chosen]
        return {cell: weight / sum(weights) for cell, weight in zip(chosen, weights, strict=True)}

    return answer


STYLES = ["cells", "cells, forfeits", "sets", "sets, forfeits", "chances", "chances, forfeits"]
IDS = ["mnk-v0:m=2,n=2,k=2", "mnk-v0:m=3,n=2,k=2,misere=true", "square-v0:n=2", "square-v0:n=2,misere=true"]
LARGER_IDS = ["tictactoe-v0", "tictactoe-v0:misere=true", "square-v0:n=3,tilted=false", "mnk-v0:m=3,n=3,k=3"]


@pytest.fixture(scope="module")
def files():
    """Valid files of games of up to 9 cells, of the catalogue and others; most of them small."""
    rng, files = np.random.default_rng(5), []
    games = [get_game(name) for name in [*IDS, *LARGER_IDS]] + [FANO]
    known = [
        (game.name, list(game.shape), sorted(game.winning_masks), game.misere, [-1] * game.n_cells)
        for game in games
    ]
    for number, rules in enumerate([*known, *known, *(random_rules(number, rng) for number in range(72))]):
        style = STYLES[number % len(STYLES)] if len(rules[-1]) < 8 else STYLES[number % 2]
        seats = ["X", "O", "XO"][rng.integers(3)]
        arrays = table_arrays(rules, random_answer(rules, style, number), f"agent {number}", seats)
        if sum(len(arrays[f"moves_{ply}"]) for ply in plies_of(arrays)) < 60 and plies_of(arrays):
            files.append(File(arrays, {name: encoded(array) for name, array in arrays.items()}))
    kinds = {arrays[f"moves_{ply}"].dtype.kind for arrays, _ in files for ply in plies_of(arrays)}
    assert kinds == {"u", "f"} and len(files) > 40
    return files


def some_ply(arrays, rng):
    """A random ply of the table; late plies are more probable."""
    plies = plies_of(arrays)
    return plies[max(rng.integers(len(plies), size=2))]


def empty_cells(arrays, position):
    taken = int(position[0] | position[1])
    return [cell for cell in range(len(arrays["supports"])) if not taken >> cell & 1]


def with_chances(arrays, ply):
    """The moves of a ply in the form that can hold all answers."""
    positions, moves = arrays[f"positions_{ply}"], arrays[f"moves_{ply}"]
    if moves.dtype.kind == "f":
        return moves.copy()
    rows = []
    for position, row in zip(positions, moves.tolist(), strict=True):
        cells = cells_of(row) if moves.dtype == np.uint64 else {row} - {255}
        rows.append([(cell in cells) / max(len(cells), 1) for cell in empty_cells(arrays, position)])
    return np.array(rows, np.float64)


def one_of(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def move_changed(arrays, rng):
    ply = some_ply(arrays, rng)
    moves, n = arrays[f"moves_{ply}"].copy(), len(arrays["supports"])
    row = int(rng.integers(len(moves)))
    if moves.dtype == np.uint8:
        moves[row] = one_of(rng, [*range(n), n, 63, 64, 254, 255])
    elif moves.dtype == np.uint64:
        mask = int(moves[row])
        moves[row] = one_of(rng, [mask ^ 1 << int(rng.integers(n)), mask & mask - 1, 0, 1 << n, 2**64 - 1])
    else:
        moves[row] = one_of(rng, [rng.permutation(moves[row]), np.eye(1, moves.shape[1]), 0])
    return arrays | {f"moves_{ply}": moves}


def legal_move_changed(arrays, rng):
    """Well-formed: another empty cell for a row."""
    ply = some_ply(arrays, rng)
    moves = arrays[f"moves_{ply}"].copy()
    row = int(rng.integers(len(moves)))
    cells = empty_cells(arrays, arrays[f"positions_{ply}"][row])
    number = int(rng.integers(len(cells)))
    if moves.dtype == np.uint8:
        moves[row] = cells[number]
    elif moves.dtype == np.uint64:
        moves[row] = 1 << cells[number] | (0 if rng.random() < 0.5 else int(moves[row]))
    else:
        moves[row] = np.eye(len(cells))[number]
    return arrays | {f"moves_{ply}": moves}


def table_of(arrays, ply):
    return arrays[f"positions_{ply}"], arrays[f"moves_{ply}"]


def with_table(arrays, ply, positions, moves):
    return arrays | {f"positions_{ply}": positions, f"moves_{ply}": moves}


def row_dropped(arrays, rng):
    ply = some_ply(arrays, rng)
    row = int(rng.integers(len(arrays[f"moves_{ply}"])))
    return with_table(arrays, ply, *(np.delete(array, row, axis=0) for array in table_of(arrays, ply)))


def rows_swapped(arrays, rng):
    ply = some_ply(arrays, rng)
    order = np.arange(len(arrays[f"moves_{ply}"]))
    row = int(rng.integers(len(order)))
    order[[row, row - 1]] = order[[row - 1, row]]
    return with_table(arrays, ply, *(array[order] for array in table_of(arrays, ply)))


def row_doubled(arrays, rng):
    ply = some_ply(arrays, rng)
    row = int(rng.integers(len(arrays[f"moves_{ply}"])))
    return with_table(
        arrays, ply, *(np.insert(array, row, array[row], axis=0) for array in table_of(arrays, ply))
    )


def row_added(arrays, rng):
    """Well-formed: a further position with the right numbers of stones, in its place."""
    ply, n = some_ply(arrays, rng), len(arrays["supports"])
    cells = rng.permutation(n)[:ply].tolist()
    position = [mask_of(cells[: ply // 2]), mask_of(cells[ply // 2 :])]
    positions, moves = table_of(arrays, ply)
    row = sum(other < position for other in positions.tolist())
    empty = empty_cells(arrays, position)
    move = {"|u1": empty[0], "<u8": 1 << empty[0], "<f8": np.eye(1, len(empty))}[moves.dtype.str]
    return with_table(
        arrays, ply, np.insert(positions, row, position, axis=0), np.insert(moves, row, move, axis=0)
    )


def bit_flipped(arrays, rng):
    ply = some_ply(arrays, rng)
    name = one_of(rng, [f"positions_{ply}", f"moves_{ply}"])
    changed = bytearray(arrays[name].tobytes())
    changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
    return arrays | {name: np.frombuffer(changed, arrays[name].dtype).reshape(arrays[name].shape)}


def position_changed(arrays, rng):
    ply, n = some_ply(arrays, rng), len(arrays["supports"])
    positions = arrays[f"positions_{ply}"].copy()
    row, side = int(rng.integers(len(positions))), int(rng.integers(2))
    bit = np.uint64(1 << one_of(rng, [*range(n), n, 63]))
    moved = positions[row, 1 - side] ^ bit
    positions[row, side] ^= bit
    if rng.random() < 0.3:
        positions[row, 1 - side] = moved
    return arrays | {f"positions_{ply}": positions}


def chance_changed(arrays, rng):
    ply = some_ply(arrays, rng)
    moves = with_chances(arrays, ply)
    row, column = int(rng.integers(len(moves))), int(rng.integers(moves.shape[1]))
    if rng.random() < 0.5:
        bad_chances = [0.0, -0.0, 1.0, 0.5, -0.5, 2.0, 1e308, np.nan, np.inf, -np.inf, 1e-31, -1e-31]
        moves[row, column] = one_of(rng, bad_chances)
    else:
        moves[row, column] += one_of(rng, [1e-10, -1e-10, 1e-8, -1e-8, 1e-300, 0.25])
    if rng.random() < 0.3:
        moves[row, column - 1] -= moves[row].sum() - 1
    return arrays | {f"moves_{ply}": moves}


def form_changed(arrays, rng):
    """Well-formed: a larger form, which holds the same answers, or chances rounded to another form."""
    ply = some_ply(arrays, rng)
    positions, chances = arrays[f"positions_{ply}"], with_chances(arrays, ply)
    empty = [empty_cells(arrays, position) for position in positions]
    sets = [
        mask_of(cell for cell, chance in zip(cells, row, strict=True) if chance)
        for cells, row in zip(empty, chances.tolist(), strict=True)
    ]
    first = [(mask & -mask).bit_length() - 1 if mask else 255 for mask in sets]
    forms = [
        chances,
        chances,
        np.array(sets, np.uint64),
        np.array(sets, np.uint64),
        np.array(first, np.uint8),
    ]
    return arrays | {f"moves_{ply}": one_of(rng, forms)}


def forfeits_changed(arrays, rng):
    positions, reasons = arrays["forfeit_positions"], arrays["forfeit_reasons"]
    ply = some_ply(arrays, rng)
    position = one_of(rng, arrays[f"positions_{ply}"])
    row = sum(other < position.tolist() for other in positions.tolist())
    forms = [
        (np.insert(positions, row, position, axis=0), np.insert(reasons.astype("U9"), row, "crashed")),
        (positions, np.append(reasons, "")),
        (positions, np.array(["another reason"] * len(reasons), np.str_)),
        (positions[:0], reasons[:0]),
        (positions[::-1], reasons[::-1]),
        (positions[1:], reasons[1:]),
        (np.concatenate([positions, positions]), np.concatenate([reasons, reasons])),
        (positions[:, :1], reasons),
    ]
    positions, reasons = one_of(rng, forms)
    return arrays | {"forfeit_positions": positions, "forfeit_reasons": reasons}


def row_forfeited(arrays, rng):
    """Well-formed: one more position without a legal answer, and a reason."""
    ply = some_ply(arrays, rng)
    moves = arrays[f"moves_{ply}"].copy()
    row = int(rng.integers(len(moves)))
    moves[row] = 255 if moves.dtype == np.uint8 else 0
    position = arrays[f"positions_{ply}"][row].tolist()
    forfeits = dict(
        zip(map(tuple, arrays["forfeit_positions"].tolist()), arrays["forfeit_reasons"].tolist(), strict=True)
    ) | {tuple(position): "timed out"}
    positions = sorted(forfeits)
    return arrays | {
        f"moves_{ply}": moves,
        "forfeit_positions": np.array(positions, np.uint64),
        "forfeit_reasons": np.array([forfeits[one] for one in positions], np.str_),
    }


def sets_changed(arrays, rng):
    n, sets = len(arrays["supports"]), arrays["winning_masks"]
    new = np.uint64(mask_of(rng.choice(n, size=rng.integers(1, n), replace=False).tolist()))
    larger = np.uint64(int(sets[-1]) | 1 << int(rng.integers(n)))  # it is never completed first
    forms = [
        np.delete(sets, rng.integers(len(sets))),
        np.unique(np.append(sets, new)),
        np.unique(np.append(sets, larger)),
        np.unique(np.append(sets, np.uint64(2**n - 1))),
        np.append(sets, new),
        np.append(sets, sets[-1:]),
        np.append(np.uint64(0), sets),
        np.append(sets, np.uint64(1 << n)),
        sets[::-1],
        sets[:0],
    ]
    return renamed(arrays | {"winning_masks": one_of(rng, forms)}, rng)


def renamed(arrays, rng):
    """These arrays, usually under a custom name, which allows any rules."""
    return arrays | {"game": np.array("mine")} if rng.random() < 0.7 else arrays


def misere_changed(arrays, rng):
    return renamed(arrays | {"misere": ~arrays["misere"]}, rng)


def shape_changed(arrays, rng):
    n = len(arrays["supports"])
    shapes = [[n], [1, n], [n, 1], [1, n, 1], arrays["shape"][::-1], [1, 1, 1, n], [], [0], [-1, -n], [n + 1]]
    shapes += [[2**32, 2**32, n], [n, 2], [64], [65]]
    return renamed(arrays | {"shape": np.array(one_of(rng, shapes), np.int64)}, rng)


def supports_changed(arrays, rng):
    supports, n = arrays["supports"].copy(), len(arrays["supports"])
    supports[int(rng.integers(n))] = one_of(rng, [-1, -1, -2, *range(n), n, 127])
    forms = [
        supports,
        supports,
        supports,
        np.full(n, -1, np.int8),
        supports[1:],
        np.append(supports, supports[:1]),
    ]
    return renamed(arrays | {"supports": one_of(rng, forms)}, rng)


def seats_changed(arrays, rng):
    return arrays | {"seats": np.array(one_of(rng, ["X", "O", "XO", "OX", "", "x", "XO ", "XX"]))}


def one_seat_kept(arrays, rng):
    """Well-formed: the table of one of the seats."""
    return of_seat(arrays, one_of(rng, "XO"))


def name_changed(arrays, rng):
    name = str(arrays["game"])
    names = [
        *IDS,
        *LARGER_IDS,
        "mine",
        "mine: 2",
        f"{name} ",
        f" {name}",
        f"{name}\n",
        f"{name},",
        name.upper(),
    ]
    names += ["", " ", "a" * 500, "a" * 501, "x\x1b[2J", "tictactoe-v0\u200b", "tictactoe‑v0", "é", "\ud800"]
    names += [
        "mnk-v0",
        "mnk-v0:",
        "mnk-v0 :m=2,n=2,k=2",
        "mnk-v0:n=2,m=2,k=2",
        "mnk-v0:m=02,n=2,k=2",
        "mnk-v0x",
    ]
    names += [
        "square-v0:n=4",
        "square-v0:n=2,tilted=true",
        "tictactoe-v0:misere=false",
        "qubic-v0:x",
        "qubic-v1",
    ]
    return arrays | {"game": np.array(one_of(rng, names))}


def text_changed(arrays, rng):
    name = one_of(rng, ["format", "label", "versions"])
    texts = [
        "",
        "ttt_env policy 2",
        "ttt_env policy 1 ",
        "ttt_env proof 1",
        "π\n\x1b[0m",
        "a" * 900,
        "\ud800",
    ]
    return arrays | {name: np.array(one_of(rng, texts))}


def some_name(arrays, rng):
    return one_of(rng, sorted(arrays))


def type_changed(arrays, rng):
    name = some_name(arrays, rng)
    types = (
        "int8 uint8 int16 int64 uint64 >u8 >i8 float64 float32 bool complex64 U9 >U9 S5 datetime64[s]".split()
    )
    try:
        return arrays | {name: arrays[name].astype(one_of(rng, types))}
    except (ValueError, TypeError):  # the text of a name is not a number
        return arrays | {name: np.array(1)}


def axes_changed(arrays, rng):
    name = some_name(arrays, rng)
    array = arrays[name]
    forms = [array[None], array[..., None], array.ravel(), array.T, np.asfortranarray(array)]
    if array.ndim:
        forms += [array[:0], array[..., :-1], array[..., 1:], array[:, None], np.repeat(array, 2, axis=-1)]
        forms += [np.repeat(array, 2, axis=0), np.zeros((), array.dtype), array[::-1]]
    return arrays | {name: one_of(rng, forms)}


def array_renamed(arrays, rng):
    name, ply = some_name(arrays, rng), some_ply(arrays, rng)
    rest = {other: array for other, array in arrays.items() if other != name}
    names = [
        "note",
        name.swapcase(),
        f"{name}_",
        f"moves_0{ply}",
        f"moves_{ply + 2}",
        "moves_9",
        "positions_9",
    ]
    without = {other: array for other, array in arrays.items() if not other.endswith(f"_{ply}")}
    moved = dict(zip((f"positions_{ply + 2}", f"moves_{ply + 2}"), table_of(arrays, ply), strict=True))
    forms = [rest, rest | {one_of(rng, names): arrays[name]}, arrays | {one_of(rng, names): arrays[name]}]
    return one_of(rng, [*forms, without, arrays | moved, without | moved])


def ply_emptied(arrays, rng):
    """An empty table at an existing or another ply."""
    n = len(arrays["supports"])
    ply = int(rng.integers(n))
    moves = one_of(rng, [np.zeros(0, np.uint8), np.zeros(0, np.uint64), np.zeros((0, n - ply))])
    return with_table(arrays, ply, np.zeros((0, 2), np.uint64), moves)


def cells_permuted(arrays, rng):
    """Well-formed: the same game with other numbers for its cells."""
    n = len(arrays["supports"])
    image = rng.permutation(n).tolist() if rng.random() < 0.8 else [*range(n)][::-1]

    def moved(mask):
        return mask_of(image[cell] for cell in cells_of(mask))

    changed = renamed(dict(arrays), rng)
    changed["winning_masks"] = np.sort(
        np.array([moved(mask) for mask in arrays["winning_masks"].tolist()], np.uint64)
    )
    supports = {
        image[cell]: image[of] if of >= 0 else -1 for cell, of in enumerate(arrays["supports"].tolist())
    }
    changed["supports"] = np.array([supports[cell] for cell in range(n)], np.int8)
    for ply in plies_of(arrays):
        rows = {}
        for position, row in zip(arrays[f"positions_{ply}"], with_chances(arrays, ply), strict=True):
            cells = [image[cell] for cell in empty_cells(arrays, position)]
            chances = [chance for _, chance in sorted(zip(cells, row.tolist(), strict=True))]
            rows[tuple(moved(mask) for mask in position.tolist())] = chances
        changed[f"positions_{ply}"] = np.array(sorted(rows), np.uint64)
        changed[f"moves_{ply}"] = np.array([rows[position] for position in sorted(rows)], np.float64)
    forfeits = zip(arrays["forfeit_positions"].tolist(), arrays["forfeit_reasons"].tolist(), strict=True)
    ordered = sorted((tuple(map(moved, position)), reason) for position, reason in forfeits)
    changed["forfeit_positions"] = np.array([one for one, _ in ordered], np.uint64).reshape(-1, 2)
    changed["forfeit_reasons"] = np.array([reason for _, reason in ordered], np.str_)
    return changed


MUTATIONS = [move_changed, legal_move_changed, row_dropped, rows_swapped, row_doubled, row_added, bit_flipped]
MUTATIONS += [position_changed, chance_changed, form_changed, forfeits_changed, row_forfeited, sets_changed]
MUTATIONS += [misere_changed, shape_changed, supports_changed, seats_changed, one_seat_kept, name_changed]
MUTATIONS += [text_changed, type_changed, axes_changed, array_renamed, ply_emptied, cells_permuted]


def n_accepted_mutations(files, n_mutations, seed):
    """The number of accepted mutations of each kind."""
    rng, accepted = np.random.default_rng(seed), dict.fromkeys(MUTATIONS, 0)
    for number in range(n_mutations):
        mutation, file = MUTATIONS[number % len(MUTATIONS)], one_of(rng, files)
        with np.errstate(all="ignore"):
            arrays = mutation(file.arrays, rng)
            if rng.random() < 0.2:
                with suppress(Exception):  # an already broken file may not allow a second change
                    arrays = one_of(rng, MUTATIONS)(arrays, rng)
        accepted[mutation] += agreed_result(file.changed(arrays)) is not None
    return accepted


def test_all_readers_accept_reencoded_files(files):
    for file in files:
        data = file.changed(file.arrays)
        assert agreed_result(data) is not None
        assert_games_follow_file(data)


def test_all_readers_agree_on_mutations(files):
    accepted = n_accepted_mutations(files, 250, 1)
    assert 40 < sum(accepted.values()) < 120


@pytest.mark.slow
def test_all_readers_agree_on_each_kind_of_mutation(files):
    accepted = n_accepted_mutations(files, 1_250, 1)
    assert all(accepted[one] for one in (legal_move_changed, form_changed, row_forfeited, cells_permuted))
    assert 200 < sum(accepted.values()) < 600


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_all_readers_agree_on_many_mutations(files, seed):
    accepted = n_accepted_mutations(files, 2_000, seed)
    print({mutation.__name__: n for mutation, n in accepted.items()})
    assert 250 < sum(accepted.values()) < 1_000


# --- Faults -----------------------------------------------------------------------------------------------


@cache
def centre():
    """The arrays of an agent that forfeits if the centre is taken."""
    return agent_arrays(TICTACTOE, on_the_centre, "centre")


@cache
def uneven():
    """The arrays of an agent that plays with unequal chances, in a custom game."""
    return agent_arrays(SHORT, "epsilon:minimax,epsilon=0.5", "uneven")


def assert_refused(arrays, fault):
    """Assert that all readers refuse a file of these arrays, and that the script gives this reason."""
    data = bytes_of(arrays)
    assert agreed_result(data) is None
    with pytest.raises(ValueError, match=fault):
        check_policy.check(BytesIO(data))


def entry_changed(array, at, value):
    changed = array.copy()
    changed[at] = value
    return changed


def head_faults():
    arrays = centre()
    sets, supports, positions = arrays["winning_masks"], arrays["supports"], arrays["forfeit_positions"]
    own = {"game": np.array("mine")}
    rules = "these are not the rules of tictactoe-v0"
    yield {"format": np.array("ttt_env policy 2")}, "its format is another one"
    yield {"seats": np.array("OX")}, "its seats are not X, O or XO"
    yield {"seats": np.array("X")}, r"should not be there: \['moves_1', "
    yield {"note": np.array(1)}, r"should not be there: \['note'\]"
    yield {"moves_9": arrays["moves_1"]}, r"should not be there: \['moves_9'\]"
    yield {"winning_masks": sets[1:]}, rules
    yield {"winning_masks": np.append(sets, np.uint64(511))}, rules
    yield {"misere": ~arrays["misere"]}, rules
    yield {"shape": np.array([1, 9])}, rules
    yield (
        {"game": np.array("tictactoe-v0:misere=true")},
        "these are not the rules of tictactoe-v0:misere=true",
    )
    yield {"game": np.array("square-v0:n=3")}, "these are not the rules of square-v0:n=3"
    yield {"supports": entry_changed(supports, 0, 1)}, rules
    yield {"supports": entry_changed(supports, 0, 9)}, "a support is not a cell"
    yield {"supports": entry_changed(supports, 0, -2)}, "a support is not a cell"
    yield {"supports": supports[1:]}, "a support is not a cell"
    yield own | {"supports": entry_changed(supports, 3, 3)}, "can never be taken"
    yield own | {"supports": entry_changed(entry_changed(supports, 3, 5), 5, 3)}, "can never be taken"
    yield own | {"winning_masks": sets[:0]}, "no winning sets, or too many"
    yield own | {"winning_masks": np.arange(1, 20_002, dtype=np.uint64)}, "on the board"
    yield own | {"winning_masks": sets[::-1]}, "not ascending"
    yield own | {"winning_masks": np.append(sets, sets[-1:])}, "not ascending"
    yield own | {"winning_masks": np.append(np.uint64(0), sets)}, "is empty"
    yield own | {"winning_masks": np.append(sets, np.uint64(512))}, "not on the board"
    yield own | {"shape": np.array([3, 0, 3])}, "not a board of up to 64 cells"
    yield own | {"shape": np.array([5, 13])}, "not a board of up to 64 cells"
    yield own | {"shape": np.array([2**32, 2**32])}, "not a board of up to 64 cells"
    yield own | {"shape": np.array([-3, -3])}, "not a board of up to 64 cells"
    yield own | {"shape": np.array([1, 1, 1, 1, 1, 3, 3])}, "not a board of up to 64 cells"
    yield own | {"shape": np.zeros(0, np.int64)}, "not a board of up to 64 cells"
    yield {"forfeit_positions": positions[1:]}, "forfeits and reasons differ"
    yield {"forfeit_reasons": arrays["forfeit_reasons"][1:]}, "forfeits and reasons differ"
    yield {"forfeit_positions": positions[::-1]}, "the forfeits are not the positions in which"
    yield (
        {
            "forfeit_positions": positions[:0],
            "forfeit_reasons": arrays["forfeit_reasons"][:0],
        },
        "the forfeits are not the positions in which",
    )


def table_faults():
    arrays = centre()
    positions, moves = table_of(arrays, 1)
    yield {"moves_1": moves[1:]}, "ply 1 has the wrong types or shapes"
    yield {"positions_1": positions[1:]}, "ply 1 has the wrong types or shapes"
    yield {"positions_1": np.insert(positions, 1, 0, axis=1)}, "ply 1 has the wrong types or shapes"
    yield {"moves_1": np.full((9, 9), 1 / 9)}, "ply 1 has the wrong types or shapes"
    yield {"moves_1": moves.astype(np.int8)}, "ply 1 has the wrong types or shapes"
    yield {"positions_1": positions.astype(np.int64)}, "ply 1 has the wrong types or shapes"
    yield {"positions_1": positions[::-1]}, "not ascending, or there twice"
    yield {"positions_1": positions[[0, 0, *range(2, 9)]]}, "not ascending, or there twice"
    yield (
        {"positions_1": positions[1:], "moves_1": moves[1:]},
        "positions missing at ply 1: 1; rows never reached: 0",
    )
    yield (
        {"positions_1": entry_changed(positions, (8, 1), 512)},
        "positions missing at ply 1: 1; rows never reached: 1",
    )
    yield {"moves_1": entry_changed(moves, 0, 0)}, "a move is on a cell that is taken"
    yield {"moves_1": entry_changed(moves, 0, 9)}, "a move is on a cell that is taken"
    yield {"moves_1": entry_changed(moves, 0, 254)}, "a move is on a cell that is taken"
    yield {"moves_1": entry_changed(moves, 0, 255)}, "the forfeits are not the positions in which"
    yield {"moves_1": entry_changed(moves, 4, 0)}, "the forfeits are not the positions in which"
    yield {"moves_1": np.full(9, 1 << 9, np.uint64)}, "the forfeits are not the positions in which"


@pytest.mark.parametrize(("change", "fault"), [*head_faults(), *table_faults()])
def test_fault_is_named(change, fault):
    assert_refused({**centre(), **change}, fault)


def test_missing_array_is_named():
    for name in centre():
        rest = {other: array for other, array in centre().items() if other != name}
        assert_refused(rest, f"arrays are missing.*'{name.replace('moves', 'positions')}'")


@pytest.mark.slow
def test_arrays_of_other_types_and_shapes_are_refused():
    for name, array in centre().items():
        fault = f"{name} has the wrong" if name in check_policy.HEAD else "wrong types or shapes"
        for dtype in {"|u1", "|i1", "<i8", ">u8", "<f8", "|b1", "<u4", "|S9"} - {array.dtype.str}:
            other = np.zeros(array.shape, dtype)
            if not (name.startswith("moves") and dtype == "|u1"):
                assert_refused({**centre(), name: other}, fault)
        assert_refused({**centre(), name: array[None]}, fault)
        assert_refused({**centre(), name: array[..., None]}, fault)
    no_forfeit = agent_arrays(TICTACTOE, Nth(TICTACTOE, 0), "first")
    assert_refused(
        {**no_forfeit, "forfeit_positions": np.zeros((0, 3), np.uint64)}, "forfeit_positions has the wrong"
    )


@pytest.mark.parametrize("ply", [0, 2])
@pytest.mark.parametrize("error", [-0.25, np.nan, np.inf, -np.inf, 2.0, 1e-8, -1e-8])
def test_wrong_chances_are_refused(ply, error):
    moves = uneven()[f"moves_{ply}"]
    assert moves.dtype == np.float64
    changed = entry_changed(moves, (0, 0), moves[0, 0] + error)
    assert_refused({**uneven(), f"moves_{ply}": changed}, "chances are below 0, or do not sum to 1")


def test_rounded_chances_are_accepted():
    result, moves = agreed_result(bytes_of(uneven())), uneven()["moves_2"]
    for delta in (1e-10, -1e-10):
        changed = entry_changed(moves, (0, -1), moves[0, -1] + delta)
        assert agreed_result(bytes_of({**uneven(), "moves_2": changed})) == result


def test_smallest_chance_is_move():
    """A chance of 1e-300 adds all games in which its move is played."""
    arrays = agent_arrays(TICTACTOE, Nth(TICTACTOE, 0), "first", "X")
    chances = np.eye(1, 9)
    assert agreed_result(bytes_of({**arrays, "moves_0": chances})) == agreed_result(bytes_of(arrays))
    assert_refused({**arrays, "moves_0": entry_changed(chances, (0, 8), 1e-300)}, "positions missing")


@pytest.mark.parametrize(
    "name",
    [
        *("tictactoe-v0:", "tictactoe-v0:misere=false", "tictactoe-v0:misere=true,misere=true"),
        *("tictactoe-v0 :x", "mnk-v0", "mnk-v0:m=3,m=3,n=3,k=3", "mnk-v0:n=3,m=3,k=3", "mnk-v0:m=03,n=3,k=3"),
        *(
            "mnk-v0:m=3,n=3,k=4",
            "mnk-v0:m=3,n=3,k= 3",
            "mnk-v0:m=３,n=3,k=3",
            "square-v0:n=4",
            "square-v0:n=1",
        ),
        *("square-v0:tilted=maybe", "square-v0:n=9", "qubic-v0:n=4", "square-v0:misere=true,n=3"),
    ],
)
def test_malformed_ids_are_refused(name):
    assert_refused(
        {**centre(), "game": np.array(name)}, f"{re.escape(ascii(name))} begins like an id of the catalogue"
    )


@pytest.mark.parametrize(
    "name", ["", " ", "tictactoe-v0 ", "two\nlines", "x\x1b[2J", "tictactoe-v0\u200b", "a" * 501]
)
def test_name_must_be_one_printable_line(name):
    assert_refused({**centre(), "game": np.array(name)}, "its name is not a line of text")


def test_name_that_looks_like_id_is_printed_escaped():
    _, game, _ = check_policy.check(BytesIO(bytes_of({**centre(), "game": np.array("tictactoe‑v0")})))
    assert game == r"a game of its own, 'tictactoe\u2011v0', shape [3, 3], 8 winning sets in the file"


# --- Games ------------------------------------------------------------------------------------------------


def assert_rules(name):
    game = get_game(name)
    supports = [-1 if below is None else below for below in game.supports]
    rules = [*game.shape], sorted(game.winning_masks), game.misere, supports
    assert check_policy.rules_of(game.name) == rules


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        *(
            "tictactoe-v0",
            "qubic-v0",
            "square-v0",
            "square-v0:tilted=false",
            "square-v0:n=2",
            "square-v0:n=8",
            "connect-four-v0",
            "connect-four-v0:m=4,n=5,k=4",
            "score-four-v0",
            "score-four-v0:k=3,h=2",
        ),
        *("square-v0:n=5,tilted=false", "mnk-v0:m=1,n=1,k=1", "mnk-v0:m=64,n=1,k=64", "mnk-v0:m=8,n=8,k=5"),
        *("mnk-v0:m=7,n=6,k=4", "mnk-v0:m=3,n=5,k=1"),
    ],
)
def test_rules_of_id_equal_package(name, misere):
    assert_rules(get_game(name, misere=misere).name)


@pytest.mark.slow
def test_ids_equal_package():
    names = [plain for plain, _, _ in check_policy.catalogue()]
    assert len(names) == len(set(names)) > 500
    for name in names[::17]:
        assert get_game(name).name == name
        assert_rules(name)


def test_stones_rest_on_supports():
    """Two columns of three cells, filled from below: two stones side by side win."""
    supports = [2, 3, 4, 5, -1, -1]
    rules = "columns", [3, 2], [0b11, 0b1100, 0b110000], False, supports

    def left(board):
        """The lowest empty cell of the left column, then of the right one."""
        return {next(cell for cell in (4, 2, 0, 5, 3, 1) if board[cell] == "."): 1.0}

    arrays = table_arrays(rules, left, "left", "O")
    assert agreed_result(bytes_of(arrays)) == {"O": Found(-1, 8, 3)}
    label, game, _ = check_policy.check(BytesIO(bytes_of(arrays)))
    description = "'columns', shape [3, 2], with supports, 3 winning sets in the file"
    assert (label, game) == ("left", f"a game of its own, {description}")
    high = entry_changed(arrays["moves_1"], 0, 0)
    assert_refused({**arrays, "moves_1": high}, "a cell that is taken, or may not be taken yet")
    free = {**arrays, "supports": np.full(6, -1, np.int8)}
    assert_refused(free, "positions missing")


# --- Archives ---------------------------------------------------------------------------------------------


def test_invalid_archive_is_refused():
    members = {name: encoded(array) for name, array in centre().items()}
    whole = archive_of(members)
    damaged = bytearray(whole)
    damaged[whole.index(members["positions_1"]) + len(members["positions_1"]) - 1] ^= 1
    for data in (b"", b"PK", members["moves_1"], whole[:-30], whole[: len(whole) // 2], bytes(damaged)):
        with pytest.raises(Exception, match=r"not a zip file|Bad CRC-32|Bad magic|Truncated"):
            check_policy.check(BytesIO(data))
        with pytest.raises(ValueError, match="archive"):
            read(data)
    objects = BytesIO()
    np.save(objects, np.array([{}], object), allow_pickle=True)
    for content in (objects.getvalue(), b"", b"text", members["label"][:-4]):
        assert agreed_result(archive_of(members | {"label": content})) is None


def test_duplicate_array_is_refused():
    for second in ("label.npy", "label"):
        file = BytesIO(bytes_of(centre()))
        with ZipFile(file, "a") as twice, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile warns of the second array
            twice.writestr(second, twice.read("label.npy"))
        assert agreed_result(file.getvalue()) is None
        with pytest.raises(ValueError, match="an array is there twice"):
            check_policy.check(file)


def test_sizes_are_checked_before_allocation(monkeypatch):
    data = bytes_of(centre())
    header = b"{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    members = {name: encoded(array) for name, array in centre().items()}
    members["forfeit_reasons"] = b"\x93NUMPY\x01\x00v\x00" + header
    with pytest.raises(ValueError, match="forfeits and reasons differ"):
        check_policy.check(BytesIO(archive_of(members)))
    monkeypatch.setattr(check_policy, "MOST_BYTES", sum(map(len, map(encoded, centre().values()))) - 1)
    with pytest.raises(ValueError, match="it is too large"):
        check_policy.check(BytesIO(data))


# --- The program ------------------------------------------------------------------------------------------


def run(*arguments):
    """Run the script without the package."""
    command = [sys.executable, "-I", str(CHECKER), *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    return process.returncode, process.stdout, process.stderr


@pytest.mark.slow
def test_script_runs_without_package(tmp_path):
    assert re.findall(r"^(?:import|from) (\w+)", CHECKER.read_text("utf-8"), re.MULTILINE) == [
        *("sys", "io", "itertools", "math", "zipfile", "numpy")
    ]
    path = tmp_path / "policy.npz"
    write(path, TICTACTOE, "ppo", "ppo")
    assert run(path) == (
        0,
        "'ppo', tictactoe-v0 (rules of the catalogue); rows: 468\n"
        "worst result as X: draw, for example 4 0 1 7 6 2 5 3 8; rows reached: 133 of 133\n"
        "worst result as O: draw, for example 0 4 1 2 6 3 5 8 7; rows reached: 335 of 335\n",
        "",
    )
    path.write_bytes(path.read_bytes()[:-100])
    assert run(path) == (1, "", "not proved: File is not a zip file\n")
    code, out, err = run(tmp_path / "none.npz")
    assert (code, out) == (1, "") and err.startswith("not proved: ") and "none.npz" in err
    for arguments in ([], ["--help"], [path, path]):
        code, out, err = run(*arguments)
        assert (code, out) == (1, "") and err.startswith("python check_policy.py FILE\n")


def in_words(arrays):
    return [*check_policy.in_words(*check_policy.check(BytesIO(bytes_of(arrays))))]


def test_forfeit_ends_printed_game():
    lost = "where it names no free cell ('taken: 4'); rows reached:"
    assert in_words(centre()) == [
        "'centre', tictactoe-v0 (rules of the catalogue); rows: 46",
        f"worst result as X: loss, for example 4 0, {lost} 9 of 9",
        f"worst result as O: loss, for example 4, {lost} 37 of 37",
    ]
    silent = agent_arrays(FANO, lambda position: "pass", "x" * 300 + "\x1b", "X")
    assert in_words(silent) == [
        f"'{'x' * 199}, a game of its own, 'Fano', shape [7], 7 winning sets in the file; rows: 1",
        "worst result as X: loss, for example the empty board, where it names no free cell "
        """("no cell: 'pass'"); rows reached: 1 of 1""",
    ]
