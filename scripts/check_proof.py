"""Checks a proof that `Proof.save` has written, by Python and NumPy alone: docs/proofs.md describes the file.

A mask stands for cells by its bits; a position is two masks, the strategy's own stones and the other's.
"""

import sys
from functools import cache
from itertools import product
from math import prod

import numpy as np

ABOUT = "format game shape winning_masks misere start bounds automorphisms principal_variation nodes seconds"
TABLE, REGIONS = "positions moves n_sequences lengths cells", "regions region_of_set"
BOARDS = {"tictactoe-v0": (3, 3, 3), "qubic-v0": (0, 0, 4), "mnk-v0": (5, 5, 4), "square-v0": (0, 4, 0)}
ONE, BATCH, COMPLETE = (
    np.uint64(1),
    4096,
    np.int64(1 << 40),
)  # a complete set weighs so much, half for each empty cell


def demand(holds, message):
    """Raise `ValueError` unless this holds, everywhere."""
    if not np.all(holds):
        raise ValueError(message)


def rules_of(name):
    """The shape, the winning sets and misère of a game of the catalogue."""
    kind, _, rest = name.partition(":")
    given = dict(item.split("=") for item in rest.split(",") if item)
    m, n, k = (int(given.get(key, BOARDS[kind][i])) for i, key in enumerate("mnk"))
    shape = {"qubic-v0": (4, 4, 4), "square-v0": (n, n)}.get(kind, (n, m))
    forms = [
        [[i * d for d in way] for i in range(k)] for way in product((-1, 0, 1), repeat=len(shape)) if any(way)
    ]
    if kind == "square-v0":
        tilts = range(n) if given.get("tilted") != "false" else [0]
        forms = [((0, 0), (a, b), (a + b, b - a), (b, -a)) for a in tilts for b in range(1, n)]
    number = {cell: c for c, cell in enumerate(product(*map(range, shape)))}
    sets = [{tuple(np.add(cell, step)) for step in form} for cell in number for form in forms]
    return (
        shape,
        {sum(1 << number[c] for c in s) for s in sets if s <= number.keys()},
        given.get("misere") == "true",
    )


@cache
def is_safe(free, traces):
    """Whether the second to move in the cells `free` takes one of each of the sets `traces`."""
    for cell in (1 << c for c in range(64) if free >> c & 1):
        rest, left = free - cell, [trace & ~cell for trace in traces]
        answers = [1 << c for c in range(64) if rest >> c & 1]
        after = (is_safe(rest - a, frozenset(t for t in left if not t & a)) for a in answers)
        if 0 in left or (answers and not any(after)):
            return False
    return True


class Checker:
    """The rules of the game in a file, for many positions at once."""

    def __init__(self, file):
        self.name, self.shape, self.misere = str(file["game"]), file["shape"].tolist(), bool(file["misere"])
        masks, self.n, self.n_replies = file["winning_masks"].tolist(), prod(self.shape), 0
        self.full, self.sets = np.uint64(2**self.n - 1), file["winning_masks"]
        demand(0 < self.n <= 64 and 0 < min(masks) <= max(masks) <= self.full, "this is no game")
        if self.name.partition(":")[0] in BOARDS:
            is_so = rules_of(self.name) == (tuple(self.shape), set(masks), self.misere)
            demand(is_so, f"these are not the rules of {self.name}")
        through = [[mask for mask in masks if mask >> c & 1] for c in range(self.n)]
        most = max(map(len, through))  # of a full board nobody can complete a set:
        self.through = np.array([own + [2**64 - 1] * (most - len(own)) for own in through], np.uint64).T
        self.origins = []  # the cell that comes to each place, by each automorphism
        for image in file["automorphisms"].tolist():
            moved = {sum(1 << image[c] for c in range(self.n) if mask >> c & 1) for mask in masks}
            is_kept = sorted(image) == list(range(self.n)) and moved == set(masks)
            demand(is_kept, "an automorphism does not keep the winning sets")
            self.origins.append([*np.argsort(image), *range(self.n, 64)])

    def completing(self, own, other, sets):
        """The empty cells that complete a set of `own`: one of `sets`, which are masks or arrays of them."""
        cells = np.zeros_like(own)
        for line in sets:
            rest = line & ~own
            cells |= np.where((line & other == 0) & (rest & (rest - ONE) == 0), rest, 0)
        return cells

    def smallest(self, own, other):
        """The smallest images of positions, as a set of pairs of integers."""
        masks, best = np.array([own, other], "<u8"), np.full((2, len(own)), 2**64 - 1, np.uint64)
        bits = np.unpackbits(masks.view(np.uint8).reshape(2, -1, 8), axis=2, bitorder="little")
        for origin in self.origins:
            moved = np.packbits(bits[:, :, origin], axis=2, bitorder="little")
            a, b = np.ascontiguousarray(moved).view("<u8")[:, :, 0]
            best = np.where((a < best[0]) | ((a == best[0]) & (b < best[1])), (a, b), best)
        return set(map(tuple, best.T.tolist()))

    def is_held(self, own, other):
        """Where the other, who is to move, cannot win: Erdős and Selfridge, 1973; in misère, must not."""
        weights = np.zeros((self.n + 1, len(own)), np.int64)  # through each cell, and in all
        for line in self.sets:
            weight = np.maximum(COMPLETE >> np.bitwise_count(line & ~other), 1) * (line & own == 0)
            for c in [c for c in range(self.n) if int(line) >> c & 1]:
                weights[c] += weight * (other >> np.uint64(c) & ONE == 0)
            weights[-1] += weight
        met = np.all([other & line for line in self.sets], axis=0)
        return met if self.misere else weights[-1] + weights[:-1].max(axis=0) < COMPLETE

    def are_won(self, own, other, reply, gains):
        """Where the threats `gains` `[B, most]`, which end with cell 64, win by force after a reply."""
        won, rows = np.zeros(len(own), bool), np.arange(len(own))
        for step in range(gains.shape[1]):
            block, gain = self.completing(other, own, self.through[:, reply]), gains[rows, step]
            stone = ONE << (gain & 63).astype(np.uint64)
            go = (gain < 64) & ((own | other) & stone == 0) & (block & ~stone == 0)
            own, other, gain, rows = (own | stone)[go], other[go], gain[go], rows[go]
            forced = self.completing(own, other, self.through[:, gain])
            won[rows[forced & (forced - ONE) != 0]] = True
            go = (forced != 0) & (forced & (forced - ONE) == 0)
            own, other, rows, reply = (
                own[go],
                (other | forced)[go],
                rows[go],
                np.bitwise_count(forced[go] - ONE),
            )
        return won

    def open_after(self, wins, own, other, gains):
        """The positions that need an answer of the table, after replies of the other, who is to move.

        `gains` are the sequences of threats of each position, `[B, sequences, most]`.
        """
        free, can = self.full & ~(own | other), self.completing(own, other, self.sets)
        lost = (
            [own & line == line for line in self.sets]
            if self.misere
            else [self.completing(other, own, self.sets)]
        )
        demand(~np.any(lost, axis=0) & ((free != 0) | (not wins)), "a move loses, or fills the board")
        replies = np.where(can == 0, free, np.where(can & (can - ONE) == 0, can, 0))
        if self.misere:
            replies = free & ~self.completing(other, own, self.sets)
        if not wins:
            replies[self.is_held(own, other) | (free & (free - ONE) == 0)] = 0
        rows, reply = np.nonzero(replies[:, None] >> np.arange(self.n, dtype=np.uint64) & ONE)
        own, other = own[rows], other[rows] | ONE << reply.astype(np.uint64)
        is_open, self.n_replies = np.ones(len(rows), bool), self.n_replies + len(rows)
        for turn in range(gains.shape[1]):
            todo = np.flatnonzero(is_open)
            is_open[todo] = ~self.are_won(own[todo], other[todo], reply[todo], gains[rows[todo], turn])
        return self.smallest(own[is_open], other[is_open])

    def check_table(self, wins, start, is_to_move, positions, moves, n_sequences, lengths, cells):
        """Demand that every position of a table is answered, and that these are those which come up."""
        own, other, stones = *positions.T, ONE << (moves & 63).astype(np.uint64)
        sizes = len(moves), len(n_sequences), n_sequences.sum(dtype=int), lengths.sum(dtype=int)
        demand(sizes == (len(own), len(own), len(lengths), len(cells)), "arrays are cut")
        demand((wins and not self.misere) or not len(cells), "there are threats where they do not win")
        demand((moves < self.n) & ((own | other) & stones == 0), "a move is not legal")
        gains = np.full((len(lengths) + 1, max(lengths, default=0)), 64, np.uint8)
        gains[:-1][np.arange(gains.shape[1]) < lengths[:, None]] = cells
        first, known = np.cumsum(n_sequences, dtype=int) - n_sequences, set(map(tuple, positions.tolist()))
        reached = self.smallest(*start) if is_to_move else self.open_after(wins, *start, gains[None, :0])
        if is_to_move and not self.misere and self.completing(*start, self.sets):
            reached = set()
        for at in range(0, len(own), BATCH):
            part, turns = slice(at, at + BATCH), np.arange(max(n_sequences[at : at + BATCH]))
            numbers = np.where(turns < n_sequences[part, None], first[part, None] + turns, -1)
            reached |= self.open_after(wins, own[part] | stones[part], other[part], gains[numbers])
            demand(reached <= known, f"a reply to one of positions {at} to {at + BATCH} has no answer")
        demand(reached == known and len(known) == len(own), "some positions never come up")

    def check_regions(self, start, regions, region_of_set):
        """Demand that who is second to move, in the regions, breaks every set of the other."""
        own, other = (int(stones[0]) for stones in start)
        for number in range(max(regions) + 1):
            cells = sum(1 << c for c in range(self.n) if regions[c] == number)
            traces = [int(m) & ~other & cells for m in self.sets[region_of_set == number]]
            demand(not cells & (own | other) and cells.bit_count() <= 16, f"region {number} is none")
            demand(is_safe(cells, frozenset(traces)), f"region {number} does not break its sets")
        is_broken = (self.sets & start[0] != 0) | (region_of_set >= 0) & (region_of_set <= max(regions))
        demand(is_broken & (not self.misere), "a set is not broken in any region")


def check(path):
    """What the file proves, in words. Raises an error if it does not."""
    with np.load(path) as archive:
        file = {name: archive[name] for name in archive.files}
    checker, x, o, (lower, upper) = (
        Checker(file),
        file["start"][:1],
        file["start"][1:],
        file["bounds"].tolist(),
    )
    to_move = int(np.bitwise_count(x | o)[0]) % 2
    is_open = not any(line & stones == line for line in checker.sets for stones in (x, o)) and x & o == 0
    is_legal = is_open and x | o < checker.full and np.bitwise_count(x) == np.bitwise_count(o) + to_move
    demand(is_legal, "the start is no position in which a game goes on")
    demand(lower == upper in (-1, 0, 1), "the file proves no value")
    seats, used = [to_move if lower == 1 else 1 - to_move], {*ABOUT.split()}
    if lower == 0 and (checker.misere or x | o):  # on an empty board the first player cannot lose:
        seats.append(to_move)  # an additional stone never hurts (strategy stealing; Nash)
    for seat in seats:
        is_table = f"{'xo'[seat]}_regions" not in file or seat == to_move or lower != 0
        names = [f"{'xo'[seat]}_{name}" for name in (TABLE if is_table else REGIONS).split()]
        start, arrays, used = (x, o)[:: 1 - 2 * seat], [file[name] for name in names], used | {*names}
        if is_table:
            checker.check_table(lower != 0, start, seat == to_move, *arrays)
        else:
            checker.check_regions(start, *arrays)
    demand(used == set(file), f"the file holds {', '.join(used ^ set(file))}")
    verdict = "the game is drawn" if lower == 0 else f"{'XO'[seats[0]]} wins"
    return f"{checker.name} from {x[0]:#x}, {o[0]:#x}: {verdict}; {checker.n_replies:,} replies are answered"


if __name__ == "__main__":
    try:
        print(check(sys.argv[1]))
    except Exception as error:
        sys.exit(f"not proved: {error}")
