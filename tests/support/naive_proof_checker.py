"""A second proof checker, written only from docs/reference/formats.md, as plainly as possible.

Sets of cells are Python sets, positions are pairs of them, and every number is a Python integer or fraction.
Nothing of `ttt_env` or of `scripts/check_proof.py` is used.
"""

from fractions import Fraction
from itertools import product
from zipfile import ZipFile

import numpy as np

from tests.support.naive import lines, squares

HEAD = {
    "format": (None, 0),
    "game": (None, 0),
    "shape": ("int64", 1),
    "misere": ("bool", 0),
    "winning_masks": ("uint64", 1),
    "start": ("uint64", 1),
    "bounds": ("int8", 1),
    "automorphisms": ("uint8", 2),
    "principal_variation": ("uint8", 1),
    "nodes": ("int64", 0),
    "seconds": ("float64", 0),
}
TABLE = {
    "positions": ("uint64", 2),
    "moves": ("uint8", 1),
    "n_sequences": ("uint8", 1),
    "sequences": ("uint8", 2),
}


def proof_arrays(name, shape, masks, misere, start, value, automorphisms, tables):
    """The arrays of a file that claims this value, with the tables of its seats; the claim may be wrong."""
    return {
        "format": np.array("ttt_env proof 1"),
        "game": np.array(name),
        "shape": np.array(shape),
        "winning_masks": np.array(masks, np.uint64),
        "misere": np.array(misere),
        "start": np.array(start, np.uint64),
        "bounds": np.array([value, value], np.int8),
        "automorphisms": np.array(automorphisms, np.uint8),
        "principal_variation": np.zeros(0, np.uint8),
        "nodes": np.array(0),
        "seconds": np.array(0.0),
        **tables,
    }


class RefusedError(Exception):
    """The file proves nothing."""


def refuse_unless(holds, why):
    if not holds:
        raise RefusedError(why)


def arrays_of(path):
    """The arrays of the file, with checked types and numbers of axes."""
    with ZipFile(path) as zipped:
        members = zipped.namelist()
    refuse_unless(len(members) == len(set(members)), "twice")
    arrays = {}
    with np.load(path, allow_pickle=False) as archive:
        refuse_unless(len(set(archive.files)) == len(members), "twice")
        for name in archive.files:
            form = TABLE.get(name[2:]) if name[:2] in ("x_", "o_") else HEAD.get(name)
            refuse_unless(form is not None, f"unknown {name}")
            dtype, n_axes = form
            array = arrays[name] = archive[name]
            is_typed = array.dtype.kind == "U" if dtype is None else array.dtype == np.dtype(dtype)
            refuse_unless(is_typed and array.ndim == n_axes, f"form of {name}")
    for name in HEAD:
        refuse_unless(name in arrays, f"no {name}")
    refuse_unless(arrays["start"].shape == arrays["bounds"].shape == (2,), "form of start, bounds")
    return arrays


def cells_of(mask):
    return frozenset(cell for cell in range(64) if mask >> cell & 1)


def mask_of(cells):
    return sum(1 << cell for cell in cells)


# --- The rules --------------------------------------------------------------------------------------------


def rules_of_id(name):
    """The shape, the winning sets and misère of an id; None if this package does not write such an id."""
    kind, _, rest = name.partition(":")
    items = rest.split(",") if rest else []
    misere = items[-1:] == ["misere=true"]
    if misere:
        items.pop()
    if kind in ("tictactoe-v0", "qubic-v0"):
        shape = (3, 3) if kind == "tictactoe-v0" else (4, 4, 4)
        rules = shape, lines(shape, shape[0]), misere
        written = []
    elif kind == "square-v0":
        sizes = [n for n in range(2, 9) if f"n={n}" in items]
        n, tilted = (sizes[0] if sizes else 4), "tilted=false" not in items
        found = {each for each in squares(n) if tilted or len({cell // n for cell in each}) == 2}
        rules = (n, n), found, misere
        written = [f"n={n}"] * (n != 4) + ["tilted=false"] * (not tilted)
    elif kind == "mnk-v0":
        for m, n in product(range(1, 65), repeat=2):
            if items[:2] == [f"m={m}", f"n={n}"] and m * n <= 64:
                for k in range(1, max(m, n) + 1):
                    if items == [f"m={m}", f"n={n}", f"k={k}"]:
                        rules, written = ((n, m), lines((n, m), k), misere), items
                        break
                else:
                    return None
                break
        else:
            return None
    else:
        return None
    written = written + ["misere=true"] * misere
    return rules if name == ":".join([kind, ",".join(written)][: 1 + bool(written)]) else None


# --- The check --------------------------------------------------------------------------------------------


class NaiveChecker:
    """A game and the strategy of one seat, whose stones come first in each position."""

    def __init__(self, cells, winning_sets, misere, automorphisms, wins):
        self.cells, self.winning_sets, self.misere, self.wins = cells, winning_sets, misere, wins
        self.automorphisms = automorphisms

    def completing(self, stones, others):
        """The free cells that complete a set for these stones."""
        lacking = [winning - stones for winning in self.winning_sets]
        return {cell for rest in lacking if len(rest) == 1 for cell in rest if cell not in others}

    def smallest(self, own, other):
        """The smallest masks among the images of a position."""
        return min((mask, mask_of(cells)) for mask, cells in self.images(own, other))

    def images(self, own, other):
        """The images of a position with the smallest mask of its owner."""
        images = [
            (mask_of(image[c] for c in own), frozenset(image[c] for c in other))
            for image in self.automorphisms
        ]
        least = min(mask for mask, _ in images)
        return [image for image in images if image[0] == least]

    def covers(self, table_other, other):
        return other == table_other if self.misere else other <= table_other

    def cannot_win_any_more(self, own, other):
        """True if the other player, who is to move, can no longer complete a set."""
        if self.misere:
            return all(winning & other for winning in self.winning_sets)
        weights = {
            winning: Fraction(1, 2 ** min(len(winning - other), 40))
            for winning in self.winning_sets
            if not winning & own
        }
        shares = [
            sum(weight for winning, weight in weights.items() if cell in winning)
            for cell in self.cells - own - other
        ]
        return sum(weights.values()) + max(shares, default=0) < 1

    def pairs_hold(self, own, other, sequence):
        pairs = [frozenset(sequence[i : i + 2]) for i in range(0, len(sequence), 2)]
        if any(cell in own | other for cell in sequence):
            return False
        return all(winning & own or any(pair <= winning for pair in pairs) for winning in self.winning_sets)

    def threats_win(self, own, other, sequence):
        for cell in sequence:
            danger = self.completing(other, own)
            if cell in own | other or danger - {cell}:
                return False
            own = own | {cell}
            threatened = self.completing(own, other)
            if len(threatened) >= 2:
                return True
            if not threatened:
                return False
            other = other | threatened
        return False

    def reached_after(self, own, other, sequences):
        """The positions, after replies of the other player, that only the table can answer."""
        free = self.cells - own - other
        loser = own if self.misere else other
        refuse_unless(not any(winning <= loser for winning in self.winning_sets), "a move loses")
        if not self.misere:
            refuse_unless(not self.completing(other, own), "the other wins")
        refuse_unless(free or not self.wins, "nobody wins")
        if not self.wins:
            if self.cannot_win_any_more(own, other):
                return
            if any(self.pairs_hold(own, other, sequence) for sequence in sequences):
                return
        for reply in free:
            after = other | {reply}
            if self.misere and any(winning <= after for winning in self.winning_sets):
                continue
            if not self.misere and self.completing(own, after):
                continue
            if not self.wins and len(free) == 1:
                continue
            if self.wins and any(self.threats_win(own, after, sequence) for sequence in sequences):
                continue
            yield own, after


def check_table(checker, start, seat, seat_moves, has_added_stones, table):
    """Refuse a table that is not a strategy from the start, given as two sets of cells."""
    positions, moves = table["positions"], table["moves"].tolist()
    counts, rows = table["n_sequences"].tolist(), table["sequences"].tolist()
    refuse_unless(all(len(position) == 2 for position in positions), "two masks")
    refuse_unless(len(positions) == len(moves) == len(counts), "lengths")
    refuse_unless(sum(counts) == len(rows) and not (checker.misere and rows), "number of sequences")
    sequences = []
    for row in rows:
        end = row.index(64) if 64 in row else len(row)
        cells = row[:end]
        refuse_unless(row[end:] == [64] * (len(row) - end), "a sequence goes on")
        refuse_unless(len(set(cells)) == len(cells) and set(cells) <= checker.cells, "cells of a sequence")
        refuse_unless(checker.wins or len(cells) % 2 == 0, "no pairs")
        sequences.append(cells)
    reached = set()
    if not seat_moves:
        reached |= set(checker.reached_after(*start, []))
    elif checker.misere or not checker.completing(*start):
        reached.add(start)
    seen = {}
    for number, (own_mask, other_mask) in enumerate(positions.tolist()):
        refuse_unless((own_mask, cells_of(other_mask)) not in seen.get(own_mask, []), "twice")
        seen.setdefault(own_mask, []).append((own_mask, cells_of(other_mask)))
        own, other, move = cells_of(own_mask), cells_of(other_mask), moves[number]
        refuse_unless(own | other <= checker.cells and not own & other, "stones")
        n_of_seat = len(own) + (seat == 1)
        refuse_unless(len(other) >= n_of_seat if has_added_stones else len(other) == n_of_seat, "stones")
        refuse_unless(move in checker.cells and move not in own | other, "illegal move")
        first = sum(counts[:number])
        answers = sequences[first : first + counts[number]]
        for after in checker.reached_after(own | {move}, other, answers):
            reached.add(after)
    used = set()
    for position in reached:
        covering = {
            row
            for own_mask, other in checker.images(*position)
            for row in seen.get(own_mask, [])
            if checker.covers(row[1], other)
        }
        refuse_unless(covering, "a position is not in the table")
        used |= covering
    refuse_unless(len(used) == len(positions), "a position of the table is not reached")


def naive_check(path):
    """The value of the start for the player to move, and the start.

    Raises `RefusedError` if the file is not a proof; other errors of Python or NumPy are refusals, too.
    """
    arrays = arrays_of(path)
    refuse_unless(str(arrays["format"]) in ("ttt_env proof 1", "ttt_env proof 2"), "format")
    name, misere, shape = str(arrays["game"]), bool(arrays["misere"]), tuple(arrays["shape"].tolist())
    n_cells = 1
    for length in shape:
        refuse_unless(1 <= length <= 64, "shape")
        n_cells *= length
    refuse_unless(1 <= len(shape) <= 3 and n_cells <= 64, "shape")
    cells = frozenset(range(n_cells))
    masks = arrays["winning_masks"].tolist()
    winning_sets = {cells_of(mask) for mask in masks}
    refuse_unless(0 < len(masks) == len(winning_sets) <= 20_000, "sets")
    refuse_unless(all(winning and winning <= cells for winning in winning_sets), "sets")
    rules = rules_of_id(name)
    if rules is None:
        refuse_unless(name.split(":")[0] not in ("tictactoe-v0", "qubic-v0", "square-v0", "mnk-v0"), "name")
    else:
        refuse_unless(rules == (shape, winning_sets, misere), "rules")
    automorphisms = arrays["automorphisms"].tolist()
    refuse_unless(automorphisms, "no automorphism")
    for image in automorphisms:
        refuse_unless(sorted(image) == sorted(cells), "automorphism")
        moved = {frozenset(image[c] for c in winning) for winning in winning_sets}
        refuse_unless(moved == winning_sets, "automorphism")
    stones = [cells_of(mask) for mask in arrays["start"].tolist()]
    refuse_unless(not stones[0] & stones[1] and stones[0] | stones[1] < cells, "start")
    to_move = len(stones[0]) - len(stones[1])
    refuse_unless(to_move in (0, 1), "start")
    refuse_unless(not any(winning <= s for winning in winning_sets for s in stones), "start")
    lower, upper = arrays["bounds"].tolist()
    refuse_unless(lower == upper and lower in (-1, 0, 1), "bounds")
    if lower == 0:
        seats = [0, 1] if misere or stones[0] | stones[1] else [1]
    else:
        seats = [to_move if lower == 1 else 1 - to_move]
    expected = set(HEAD) | {f"{'xo'[seat]}_{part}" for seat in seats for part in TABLE}
    refuse_unless(set(arrays) == expected, "arrays")
    for seat in seats:
        checker = NaiveChecker(cells, winning_sets, misere, automorphisms, lower != 0)
        table = {part: arrays[f"{'xo'[seat]}_{part}"] for part in TABLE}
        added = str(arrays["format"]) == "ttt_env proof 2" and lower == 0 and not misere
        check_table(checker, (stones[seat], stones[1 - seat]), seat, seat == to_move, added, table)
    return lower, stones
