"""Check a policy file that `PolicyTable.save` has written, with Python and NumPy alone: play every reply.

docs/reference/formats.md has the format. A set of cells is a mask, an integer whose bit c stands for cell
c; a position is two masks: the stones of the player to move and those of the other.
"""

import sys
from io import BytesIO
from itertools import pairwise, product
from math import prod
from zipfile import ZipFile

import numpy as np

# The form of each array about the game and the agent: its type, U for text, and its axes, N for any length.
HEAD = """format U, game U, shape <i8 N, winning_masks <u8 N, misere |b1, supports |i1 N, label U, seats U,
    versions U, forfeit_positions <u8 N 2, forfeit_reasons U N"""
HEAD = dict(item.split(maxsplit=1) for item in HEAD.split(","))
# The forms of positions, and of moves: a cell each, a set of cells each, or the chance of each empty cell.
POSITIONS, CELLS, SETS, CHANCES = "<u8 N 2", "|u1 N", "<u8 N", "<f8 N {}"
FORMAT, NO_CELL, RESULTS = "ttt_env policy 1", 255, ("draw", "win", "loss")
IDS = "tictactoe-v0", "qubic-v0", "square-v0", "mnk-v0", "connect-four-v0", "score-four-v0"
FALLING, MOST_BYTES = IDS[4:], 1 << 31


def demand(holds, fault):
    """Raise `ValueError` unless this holds."""
    if not holds:
        raise ValueError(fault)


def array_in(data):
    """The array in a member of an archive."""
    return np.lib.format.read_array(BytesIO(data), allow_pickle=False)


def form(array):
    """The form of an array, as in `HEAD`."""
    kind = "U" if array.dtype.kind == "U" else array.dtype.str
    return " ".join([kind, *["N", *map(str, array.shape[1:])][: array.ndim]])


def read(file):
    """The arrays of a file by name: those of `HEAD` as text, Python numbers and lists of them; the others."""
    with ZipFile(file) as archive:
        members = {item.filename.removesuffix(".npy"): item for item in archive.infolist()}
        demand(len(members) == len(archive.infolist()), "an array is there twice")
        demand(sum(item.file_size for item in members.values()) <= MOST_BYTES, "it is too large")
        arrays = {name: array_in(archive.read(item)) for name, item in members.items()}
    demand(HEAD.keys() <= arrays.keys(), f"arrays are missing: {sorted(HEAD.keys() - arrays.keys())}")
    for name, expected in HEAD.items():
        demand(form(arrays[name]) == expected, f"{name} has the wrong type or shape")
    demand(len(arrays["forfeit_positions"]) == len(arrays["forfeit_reasons"]), "forfeits and reasons differ")
    return {name: arrays.pop(name).tolist() for name in HEAD}, arrays


def lines(n_axes, k):
    """The forms of k cells in a row, as the steps from the first cell to each."""
    ways = (way for way in product((-1, 0, 1), repeat=n_axes) if any(way))
    return ([[i * d for d in way] for i in range(k)] for way in ways)


def squares(n, tilts):
    """The forms of the corners of squares: a side goes a cells down and b to the right."""
    return [[(0, 0), (a, b), (a + b, b - a), (b, -a)] for a in tilts for b in range(1, n)]


def catalogue():
    """The id, the shape and the forms of the winning sets of each game of the catalogue, without misère.

    In those of which an id begins with `FALLING` every cell rests on the next one along the first axis.
    """
    yield from (("tictactoe-v0", (3, 3), lines(2, 3)), ("qubic-v0", (4, 4, 4), lines(3, 4)))
    for n in range(2, 9):
        yield f"square-v0:n={n}".replace(":n=4", ""), (n, n), squares(n, range(n))
        yield f"square-v0:n={n},tilted=false".replace("n=4,", ""), (n, n), squares(n, [0])
    for m, n in product(range(1, 65), repeat=2):
        for k in range(1, max(m, n) + 1) if m * n <= 64 else []:
            yield f"mnk-v0:m={m},n={n},k={k}", (n, m), lines(2, k)
            name = f"connect-four-v0:m={m},n={n},k={k}"
            yield name.replace(":m=7,n=6,k=4", ""), (n, m), lines(2, k)
    for k, h in product(range(1, 9), range(1, 65)):
        if k * k * h <= 64:
            yield f"score-four-v0:k={k},h={h}".replace(":k=4,h=4", ""), (h, k, k), lines(3, k)


def rules_of(name):
    """Shape, winning sets, misère and supports of an id of the catalogue; None if the name is not an id."""
    for plain, shape, forms in catalogue():
        misere = plain + (",misere=true" if ":" in plain else ":misere=true")
        if name in (plain, misere):
            cells = [*product(*map(range, shape))]
            found = [[tuple(np.add(cell, step)) for step in steps] for steps in forms for cell in cells]
            sets = {sum(1 << cells.index(c) for c in places) for places in found if {*places} <= {*cells}}
            step = prod(shape[1:])
            falls = name.startswith(FALLING)
            supports = [c + step if falls and c + step < len(cells) else -1 for c in range(len(cells))]
            return [*shape], sorted(sets), name == misere, supports


def game_in_words(name, shape, sets, misere, supports):
    """The game of these rules. Raises an error for an id with other rules, and for what looks like an id."""
    demand(name.isprintable() and 0 < len(name.strip()) == len(name) <= 500, "its name is not a line of text")
    if name.partition(":")[0].strip() not in IDS:
        more = misere * ", misère" + (max(supports) >= 0) * ", with supports"
        return f"a game of its own, {name!a}, shape {shape}{more}, {len(sets)} winning sets in the file"
    demand(rules := rules_of(name), f"{name!a} begins like an id of the catalogue, but is not one")
    demand(rules == (shape, sets, misere, supports), f"these are not the rules of {name}")
    return f"{name} (rules of the catalogue)"


class Rules:
    """The rules in a file. Raises an error for what is not a game, and for an id whose rules they are not."""

    def __init__(self, name, shape, sets, misere, supports):
        self.n, self.misere = prod(shape), misere
        demand(0 < len(shape) < 7 and min(shape) > 0 and self.n <= 64, "it is not a board of up to 64 cells")
        is_right = all(one < other for one, other in pairwise([0, *sets, 1 << self.n]))
        demand(is_right, "the winning sets are not ascending, or one is empty or not on the board")
        demand(0 < len(sets) <= 20_000, "there are no winning sets, or too many")
        demand(len(supports) == self.n and {*supports} <= {*range(-1, self.n)}, "a support is not a cell")
        self.sets_with = {1 << cell: [s for s in sets if s >> cell & 1] for cell in range(self.n)}
        self.supports = {1 << cell: 1 << of if of >= 0 else 0 for cell, of in enumerate(supports)}
        taken = 0
        for _ in supports:
            taken |= sum(self.moves(taken))
        demand(taken == 2**self.n - 1, "cells that support each other can never be taken")
        self.text = game_in_words(name, shape, sets, misere, supports)

    def moves(self, taken):
        """The cells, each as a mask, that may be taken now."""
        return [c for c, support in self.supports.items() if not c & taken and support & taken == support]

    def result(self, stones, cell, taken):
        """The result for who owns these stones, the last one on this cell; None if the game continues."""
        if any(s & stones == s for s in self.sets_with[cell]):
            return -1 if self.misere else 1
        return 0 if taken == 2**self.n - 1 else None


def with_a_chance(chances, taken, n):
    """The cells that have a chance, as a mask. `chances` has one for each empty cell, in ascending order."""
    empty, total = [cell for cell in range(n) if not taken >> cell & 1], sum(chances)
    is_right = min(chances) >= 0 and (abs(total - 1) <= 1e-9 or total == 0)
    demand(is_right and len(empty) == len(chances), "chances are below 0, or do not sum to 1")
    return sum(1 << cell for cell, chance in zip(empty, chances, strict=True) if chance > 0)


def rows_of(positions, moves, n, ply):
    """The rows of one ply: for each position the moves as a mask, 0 if the agent names no free cell."""
    chances = CHANCES.format(n - ply)
    is_right = form(positions) == POSITIONS and form(moves) in (CELLS, SETS, chances)
    demand(is_right and len(positions) == len(moves) > 0, f"ply {ply} has the wrong types or shapes")
    pairs, rows = [*map(tuple, positions.tolist())], moves.tolist()
    demand(all(one < other for one, other in pairwise(pairs)), "positions are not ascending, or there twice")
    if form(moves) == CELLS:
        rows = [1 << cell if cell != NO_CELL else 0 for cell in rows]
    elif form(moves) == chances:
        rows = [with_a_chance(row, mine | theirs, n) for (mine, theirs), row in zip(pairs, rows, strict=True)]
    return dict(zip(pairs, rows, strict=True))


def table_of(arrays, seats, n):
    """The rows of all plies: {ply: {position: moves}}."""
    plies = [ply for ply in range(n) if f"moves_{ply}" in arrays and "XO"[ply % 2] in seats]
    faults = arrays.keys() ^ {f"{kind}_{ply}" for kind in ("positions", "moves") for ply in plies}
    demand(not faults, f"arrays are missing, or should not be there: {sorted(faults)}")
    return {ply: rows_of(arrays[f"positions_{ply}"], arrays[f"moves_{ply}"], n, ply) for ply in plies}


def reasons_of(positions, reasons, table):
    """Why the agent names no free cell, for each position of the table in which it names none."""
    found = sorted([*position] for rows in table.values() for position, row in rows.items() if not row)
    demand(positions == found, "the forfeits are not the positions in which no free cell is named")
    return {tuple(position): reason for position, reason in zip(positions, reasons, strict=True)}


def worst_case(seat, rules, table, reasons):
    """The worst result of a seat that moves by the table, 1, 0 or −1, whatever the other plays.

    Then the cells of a shortest game that ends so, the reason if it ends because the seat names no free cell,
    otherwise None, and the number of rows that it reaches.
    """
    worst, n_rows, reached = (2, (), None), 0, {(0, 0): ()}  # the positions of a ply, with a game to each
    for ply in range(rules.n):
        is_own, rows, games, reached = ply % 2 == "XO".index(seat), table.get(ply, {}), reached, {}
        if is_own:
            n_missing, n_more = len(games.keys() - rows.keys()), len(rows.keys() - games.keys())
            faults = f"positions missing at ply {ply}: {n_missing}; rows never reached: {n_more}"
            demand(n_missing == n_more == 0, faults)
            n_rows += len(rows)
        for (mine, theirs), game in games.items():
            moves = rules.moves(mine | theirs)
            if is_own:
                row = rows[mine, theirs]
                demand(row & ~sum(moves) == 0, "a move is on a cell that is taken, or may not be taken yet")
                moves = [cell for cell in moves if cell & row]
            ends = [] if moves else [(-1, game, reasons[mine, theirs])]
            for cell in moves:
                stones, longer = mine | cell, (*game, cell.bit_length() - 1)
                result = rules.result(stones, cell, stones | theirs)
                if result is None:
                    reached.setdefault((theirs, stones), longer)
                else:
                    ends.append((result if is_own else -result, longer, None))
            worst = min([worst, *ends], key=lambda end: (end[0], len(end[1])))
    return *worst, n_rows


def check(file):
    """The agent's label, the game in words, and by seat its `worst_case`; an error if nothing is proved."""
    head, arrays = read(file)
    demand(head["format"] == FORMAT, "its format is another one")
    demand(head["seats"] in ("X", "O", "XO"), "its seats are not X, O or XO")
    rules = Rules(*(head[name] for name in ("game", "shape", "winning_masks", "misere", "supports")))
    table = table_of(arrays, head["seats"], rules.n)
    reasons = reasons_of(head["forfeit_positions"], head["forfeit_reasons"], table)
    return head["label"], rules.text, {s: worst_case(s, rules, table, reasons) for s in head["seats"]}


def in_words(label, game, seats):
    """The findings of `check`, line by line."""
    yield f"{label!a:.200}, {game}; rows: {sum(n_rows for *_, n_rows in seats.values()):,}"
    for seat, (result, cells, reason, n_rows) in seats.items():
        end = "" if reason is None else f", where it names no free cell ({reason!a:.200})"
        shown = f"{RESULTS[result]}, for example {' '.join(map(str, cells)) or 'the empty board'}{end}"
        yield f"worst result as {seat}: {shown}; rows reached: {n_rows:,} of {n_rows:,}"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(f"python check_policy.py FILE\n\n{__doc__}")
    sys.excepthook = lambda kind, error, trace: print(f"not proved: {error}", file=sys.stderr)
    print("\n".join(in_words(*check(sys.argv[1]))))
