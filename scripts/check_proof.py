"""Checks a proof that `Proof.save` has written, by Python and NumPy alone: docs/proofs.md describes the file.

A mask stands for cells by its bits; a position is two masks, the strategy's own stones and the other's.
"""

import sys
from itertools import product
from zipfile import is_zipfile

import numpy as np

ABOUT = "format game shape winning_masks misere start bounds automorphisms principal_variation nodes seconds"
TABLE = "positions moves n_sequences sequences"
BOARDS = {"tictactoe-v0": (3, 3, 3), "qubic-v0": (0, 0, 4), "mnk-v0": (5, 5, 4), "square-v0": (0, 4, 0)}
ONE, CELLS, BATCH = np.uint64(1), np.arange(64, dtype=np.uint64), 4096


def demand(holds, fault):
    """Raise `ValueError` unless this holds, everywhere."""
    if not np.all(holds):
        raise ValueError(fault)


def rules_of(name):
    """The shape, the winning sets and misère of a game of the catalogue."""
    kind, _, rest = name.partition(":")
    given = dict(item.split("=") for item in rest.split(",") if item)
    m, n, k = (int(given.get(key, BOARDS[kind][i])) for i, key in enumerate("mnk"))
    shape = {"qubic-v0": (4, 4, 4), "square-v0": (n, n)}.get(kind, (n, m))
    ways = filter(any, product((-1, 0, 1), repeat=len(shape)))
    forms = [[[i * d for d in way] for i in range(k)] for way in ways]
    if kind == "square-v0":
        tilts = range(n) if given.get("tilted") != "false" else [0]
        forms = [((0, 0), (a, b), (a + b, b - a), (b, -a)) for a in tilts for b in range(1, n)]
    number = {cell: c for c, cell in enumerate(product(*map(range, shape)))}
    sets = [{tuple(np.add(cell, step)) for step in form} for cell in number for form in forms]
    masks = {sum(1 << number[c] for c in cells) for cells in sets if cells <= number.keys()}
    return shape, masks, given.get("misere") == "true"


class Checker:
    """The rules of the game in a file, for many positions at once."""

    def __init__(self, file):
        self.name, self.shape, self.misere = str(file["game"]), file["shape"].tolist(), bool(file["misere"])
        self.sets, self.n, self.n_replies = file["winning_masks"], int(np.prod(self.shape)), 0
        masks, self.full = set(self.sets.tolist()), np.uint64(2**self.n - 1)
        demand(0 < min(masks) <= max(masks) <= self.full, "this is no game")
        is_known, rules = self.name.partition(":")[0] in BOARDS, (tuple(self.shape), masks, self.misere)
        demand(not is_known or rules == rules_of(self.name), f"these are not the rules of {self.name}")
        self.origins = []  # the cell that comes to each place, by each automorphism
        for image in file["automorphisms"].tolist():
            moved = {sum(1 << image[c] for c in range(self.n) if mask >> c & 1) for mask in masks}
            demand(sorted(image) == [*range(self.n)] and moved == masks, "an automorphism changes the rules")
            self.origins.append([*np.argsort(image), *range(self.n, 64)])

    def completing(self, own, other):
        """The empty cells that complete a set of `own`."""
        rests = self.sets & ~own[:, None]
        is_one = (self.sets & other[:, None] == 0) & (rests & (rests - ONE) == 0)
        return np.bitwise_or.reduce(np.where(is_one, rests, 0), axis=1)

    def smallest(self, own, other):
        """The smallest images of positions, as a set of pairs of integers."""
        masks, best = np.array([own, other], "<u8"), np.full((2, len(own)), ~np.uint64(0))
        bits = np.unpackbits(masks.view(np.uint8).reshape(2, -1, 8), axis=2, bitorder="little")
        for origin in self.origins:
            octets = np.packbits(bits[:, :, origin], axis=2, bitorder="little")
            a, b = np.ascontiguousarray(octets).view("<u8")[:, :, 0]
            best = np.where((a < best[0]) | ((a == best[0]) & (b < best[1])), (a, b), best)
        return set(map(tuple, best.T.tolist()))

    def is_held(self, own, other):
        """Where the other, to move, cannot win (Erdős and Selfridge, 1973); in misère, need not lose."""
        if self.misere:
            return (other[:, None] & self.sets != 0).all(axis=1)
        n_empty = np.bitwise_count(self.sets & ~other[:, None])
        weights = np.where(self.sets & own[:, None], 0, np.maximum(0.5**n_empty, 0.5**40))
        through = weights @ (self.sets[:, None] >> CELLS & ONE) * (other[:, None] >> CELLS & ONE == 0)
        return weights.sum(axis=1) + through.max(axis=1) < 1

    def are_broken(self, own, other, cells):
        """Where pairs `[B, most]`, one cell after the other, then 64s, break every set of the other."""
        stones = np.where(cells < 64, ONE << (cells & 63).astype(np.uint64), 0)
        pairs, taken = stones[:, ::2] | stones[:, 1::2], np.bitwise_or.reduce(stones, axis=1)
        are_free = (taken & (own | other) == 0) & (np.bitwise_count(taken) == (cells < 64).sum(axis=1))
        breaks = (pairs[:, :, None] & ~self.sets == 0) & (np.bitwise_count(pairs) == 2)[:, :, None]
        return are_free & (breaks.any(axis=1) | (own[:, None] & self.sets != 0)).all(axis=1)

    def are_won(self, own, other, threats):
        """Where threats `[B, most]`, which end with cell 64, win: each leaves the other one reply."""
        won, rows = np.zeros(len(own), bool), np.arange(len(own))
        for step in range(threats.shape[1]):
            cell, block = threats[rows, step].astype(np.uint64), self.completing(other, own)
            stone = ONE << (cell & np.uint64(63))
            go = (cell < 64) & ((own | other) & stone == 0) & (block & ~stone == 0)
            own, other, rows = (own | stone)[go], other[go], rows[go]
            forced = self.completing(own, other)
            won[rows[forced & (forced - ONE) != 0]] = True
            go = (forced != 0) & (forced & (forced - ONE) == 0)
            own, other, rows = own[go], (other | forced)[go], rows[go]
        return won

    def unanswered(self, wins, own, other, sequences):
        """The positions after replies, which the other is to make, that no `[B, sequences, most]` answers."""
        free, can = self.full & ~(own | other), self.completing(own, other)
        danger = self.completing(other, own)
        replies = np.where(can & (can - ONE), 0, np.where(can, can, free))
        if self.misere:
            replies, danger = free & ~danger, (own[:, None] & self.sets == self.sets).any(axis=1)
        demand((danger == 0) & ((free != 0) | (not wins)), "a move loses, or fills the board")
        if not wins:
            replies[self.is_held(own, other) | (free & (free - ONE) == 0)] = 0
            for turn in range(sequences.shape[1]):
                replies[self.are_broken(own, other, sequences[:, turn])] = 0
        rows, cells = np.nonzero(replies[:, None] >> CELLS & ONE)
        own, other = own[rows], other[rows] | ONE << cells.astype(np.uint64)
        is_open, self.n_replies = np.ones(len(rows), bool), self.n_replies + len(rows)
        for turn in range(sequences.shape[1] * wins):
            todo = np.flatnonzero(is_open)
            is_open[todo] = ~self.are_won(own[todo], other[todo], sequences[rows[todo], turn])
        return self.smallest(own[is_open], other[is_open])

    def check_table(self, wins, start, is_to_move, positions, moves, n_sequences, sequences):
        """Demand that every position of a table is answered, and that these are those which come up."""
        own, other, stones = *positions.T, ONE << (moves & 63).astype(np.uint64)
        first, known = np.cumsum(n_sequences, dtype=int) - n_sequences, set(map(tuple, positions.tolist()))
        is_whole = len(own) == len(moves) == len(n_sequences) and n_sequences.sum() == len(sequences)
        demand(is_whole, "the table lacks moves, positions or sequences")
        demand(not self.misere or not len(sequences), "there are sequences in a misère game")
        demand((moves < self.n) & ((own | other) & stones == 0), "a move is not legal")
        reached = self.smallest(*start) if is_to_move else self.unanswered(wins, *start, sequences[None, :0])
        if is_to_move and not self.misere and self.completing(*start):
            reached = set()  # the first move completes a set
        sequences = np.append(sequences, np.full_like(sequences, 64, shape=(1, sequences.shape[1])), axis=0)
        for at in range(0, len(own), BATCH):
            part, turns = slice(at, at + BATCH), np.arange(max(n_sequences[at : at + BATCH]))
            numbers = np.where(turns < n_sequences[part, None], first[part, None] + turns, -1)
            reached |= self.unanswered(wins, own[part] | stones[part], other[part], sequences[numbers])
            demand(reached <= known, f"a reply to one of positions {at} to {at + BATCH} has no answer")
        demand(reached == known and len(known) == len(own), "some positions never come up")


def check(path):
    """What the file proves, in words. Raises an error if it does not."""
    demand(is_zipfile(path), f"{path} is not there, or no NumPy archive (.npz), or cut off")
    with open(path, "rb") as stream, np.load(stream) as archive:
        file = {name: archive[name] for name in archive.files}
    checker, x, o = Checker(file), file["start"][:1], file["start"][1:]
    to_move, (lower, upper) = int(np.bitwise_count(x | o)[0]) % 2, file["bounds"].tolist()
    is_legal = x & o == 0 and np.bitwise_count(x) == np.bitwise_count(o) + to_move and x | o < checker.full
    is_over = any(line & stones == line for line in checker.sets for stones in (x, o))
    demand(is_legal and not is_over, "the start is no position in which a game goes on")
    demand(lower == upper in (-1, 0, 1), "the file proves no value")
    seats, used = [to_move if lower == 1 else 1 - to_move], set(ABOUT.split())
    if lower == 0 and (checker.misere or x | o):  # on an empty board the first player cannot lose:
        seats.append(to_move)  # an additional stone never hurts (strategy stealing; Nash)
    for seat in seats:
        names = ["xo"[seat] + "_" + name for name in TABLE.split()]
        start, arrays, used = (x, o)[:: 1 - 2 * seat], [file[name] for name in names], used | set(names)
        checker.check_table(lower != 0, start, seat == to_move, *arrays)
    demand(used == set(file), f"these arrays should not be there, or are missing: {used ^ set(file)}")
    verdict = f"{'XO'[seats[0]]} wins" if lower else "the game is drawn"
    return f"{checker.name}: {verdict}; {checker.n_replies:,} replies are answered"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(f"python check_proof.py FILE\n\n{__doc__}")
    try:
        print(check(sys.argv[1]))
    except Exception as error:
        sys.exit(f"not proved: {error}")
