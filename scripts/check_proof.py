"""Check a proof that `Proof.save` has written, with Python and NumPy alone; docs/proofs.md has the format.

A set of cells is a mask, an integer whose bit c stands for cell c. The seat is the player whose strategy is
checked: `own` are its stones and `other` those of the other player, masks `[B]` of many positions at once.
"""

import sys
from itertools import product
from math import prod
from zipfile import is_zipfile

import numpy as np

# The type of each array, and the lengths of its axes: a colon is any length.
HEAD = """format U, game U, shape <i8 :, winning_masks <u8 :, misere |b1, start <u8 2, bounds |i1 2,
    automorphisms |u1 : :, principal_variation |u1 :, nodes <i8, seconds <f8"""
TABLE = "positions <u8 : 2, moves |u1 :, n_sequences |u1 :, sequences |u1 : :"
HEAD, TABLE = ({item.split()[0]: item.split()[1:] for item in text.split(",")} for text in (HEAD, TABLE))
FORMS = HEAD | {f"{seat}_{name}": form for seat in "xo" for name, form in TABLE.items()}
IDS, MOST_BYTES = ("tictactoe-v0", "qubic-v0", "square-v0", "mnk-v0"), 1 << 31
MOST_SETS = 20_000  # so that no sum of their weights, of up to 2^40 each, exceeds 63 bits
STONES = np.array([1 << cell for cell in range(64)] + [0], np.uint64)  # by cell; 64 is no cell
NONE, CELLS = STONES[64], STONES[:64]


def demand(holds, fault):
    """Raise `ValueError` unless this holds, everywhere."""
    if not np.all(holds):
        raise ValueError(fault)


def read(path):
    """The arrays of a file, by name, each of its type and shape."""
    demand(is_zipfile(path), f"{path!a} is not there, or no NumPy archive (.npz), or cut off")
    with np.load(path, allow_pickle=False) as archive:
        names = set(archive.files)
        demand(len(archive.files) == len(names), "an array is there twice")
        demand(HEAD.keys() <= names <= FORMS.keys(), f"arrays are missing, or should not be there: {names!a}")
        demand(sum(item.file_size for item in archive.zip.infolist()) <= MOST_BYTES, "it is too large")
        file = {name: archive[name] for name in names}
    for name, array in file.items():
        dtype, *lengths = FORMS[name]
        shape = [":" if i < len(lengths) and lengths[i] == ":" else str(n) for i, n in enumerate(array.shape)]
        demand(dtype in (array.dtype.str, array.dtype.kind), f"the type of {name} is {array.dtype}")
        demand(shape == lengths, f"the shape of {name} is {array.shape}")
    return file


def lines(n_axes, k):
    """The forms of k cells in a row, as the steps from the first cell to each."""
    ways = (way for way in product((-1, 0, 1), repeat=n_axes) if any(way))
    return ([[i * step for step in way] for i in range(k)] for way in ways)


def squares(n, tilts):
    """The forms of the corners of squares: a side goes a cells down and b to the right."""
    return ([(0, 0), (a, b), (a + b, b - a), (b, -a)] for a in tilts for b in range(1, n))


def catalogue():
    """The id, the shape and the forms of the winning sets of each game of the catalogue, without misère."""
    yield "tictactoe-v0", (3, 3), lines(2, 3)
    yield "qubic-v0", (4, 4, 4), lines(3, 4)
    for n in range(2, 9):
        yield f"square-v0:n={n}".replace(":n=4", ""), (n, n), squares(n, range(n))
        yield f"square-v0:n={n},tilted=false".replace("n=4,", ""), (n, n), squares(n, [0])
    for m, n in product(range(1, 65), repeat=2):
        for k in range(1, max(m, n) + 1) if m * n <= 64 else []:
            yield f"mnk-v0:m={m},n={n},k={k}", (n, m), lines(2, k)


def rules_of(name):
    """The shape, the winning sets and misère of an id of the catalogue; None if the name is none."""
    for plain, shape, forms in catalogue():
        misere = f"{plain}{',' if ':' in plain else ':'}misere=true"
        if name in (plain, misere):
            number = {cell: c for c, cell in enumerate(product(*map(range, shape)))}
            sets = [{tuple(np.add(cell, step)) for step in form} for form in forms for cell in number]
            masks = {sum(1 << number[cell] for cell in cells) for cells in sets if cells <= number.keys()}
            return shape, masks, name == misere


def checked_game(name, shape, sets, misere):
    """The game in words. Raises an error for what is no game, and for an id with other rules than its own."""
    demand(
        len(shape) in (1, 2, 3) and min(shape) > 0 and prod(shape) <= 64, "this is no board of up to 64 cells"
    )
    demand(len(set(sets)) == len(sets) > 0, "a winning set is there twice, or there is none")
    demand(len(sets) <= MOST_SETS, f"there are more than {MOST_SETS} winning sets")
    demand(0 < min(sets) and max(sets) < 2 ** prod(shape), "a winning set is empty, or not on the board")
    if known := rules_of(name):
        demand(known == (tuple(shape), set(sets), misere), f"these are not the rules of {name}")
        return f"{name} (rules of the catalogue)"
    demand(name.partition(":")[0] not in IDS, f"{name!a} begins as an id of the catalogue does, and is none")
    return f"a game of its own, called {name!a}{misere * ', misere'}, shape {shape}, {len(sets)} winning sets"


class Checker:
    """The rules of a game, for many positions at once."""

    def __init__(self, n, sets, misere, automorphisms):
        self.n, self.sets, self.misere, self.full = n, sets, misere, np.uint64(2**n - 1)
        self.batch, self.n_replies = max(1, 2**15 // len(sets)), 0  # so many positions are taken at once
        demand(len(automorphisms) > 0, "there is no automorphism")
        self.images = np.zeros((len(automorphisms), 8, 256), np.uint64)  # of each of the 8 octets of a mask
        for permutation, images in zip(automorphisms, self.images, strict=True):
            demand(
                sorted(permutation.tolist()) == [*range(n)], "an automorphism is no permutation of the cells"
            )
            for c in range(n):
                images[c // 8] |= np.where(np.arange(256) >> c % 8 & 1, STONES[permutation[c]], NONE)
            demand(np.sort(self.moved(sets, images)) == np.sort(sets), "an automorphism changes the rules")

    def moved(self, masks, images):
        """The masks after an automorphism."""
        return np.bitwise_or.reduce([images[i][masks >> np.uint64(8 * i) & np.uint64(255)] for i in range(8)])

    def smallest(self, positions):
        """The smallest images of positions, pairs of integers, under all automorphisms."""
        own, other = np.array([*positions], np.uint64).reshape(-1, 2).T
        best, rest = self.moved(own, self.images[0]), self.moved(other, self.images[0])
        for images in self.images[1:]:
            a, b = self.moved(own, images), self.moved(other, images)
            is_less = (a < best) | ((a == best) & (b < rest))
            best, rest = np.where(is_less, a, best), np.where(is_less, b, rest)
        return set(zip(best.tolist(), rest.tolist(), strict=True))

    def completing(self, own, other):
        """The empty cells, as masks, each of which completes a set of `own`."""
        lacking = self.sets & ~own[:, None]
        lacks_one = (np.bitwise_count(lacking) == 1) & (self.sets & other[:, None] == 0)
        return np.bitwise_or.reduce(np.where(lacks_one, lacking, NONE), axis=1)

    def is_held(self, own, other):
        """True where the other, to move, cannot win (Erdős, Selfridge 1973); in misère, the seat not lose."""
        if self.misere:
            return (self.sets & other[:, None] != 0).all(axis=1)
        n_empty = np.bitwise_count(self.sets & ~other[:, None]).astype(int)
        weights = np.where(self.sets & own[:, None], 0, 2**40 >> np.minimum(n_empty, 40))
        shares = weights @ (self.sets[:, None] & CELLS != 0)  # [B, cells]: of each cell in the sum
        heaviest = np.where(other[:, None] & CELLS, 0, shares).max(axis=1)
        return weights.sum(axis=1) + heaviest < 2**40

    def are_broken(self, own, other, pairs):
        """True where all cells of the pairs `[B, most]` are free, and every set of the other is broken."""
        is_free, is_broken = np.ones(len(own), bool), self.sets & own[:, None] != 0
        for first, second in zip(pairs.T[::2], pairs.T[1::2], strict=False):  # 64s are left over at most
            pair = (STONES[first] | STONES[second])[:, None]
            is_free &= pair[:, 0] & (own | other) == 0
            is_broken |= (pair != 0) & (pair & ~self.sets == 0)
        return is_free & is_broken.all(axis=1)

    def are_won(self, own, other, threats):
        """True where the seat, to move, wins by the threats `[B, most]`: each leaves the other one reply."""
        won, rows = np.zeros(len(own), bool), np.arange(len(own))
        for step in range(threats.shape[1]):
            stone, danger = STONES[threats[rows, step]], self.completing(other, own)
            is_legal = (stone != 0) & (stone & (own | other) == 0) & (danger & ~stone == 0)
            rows, own, other = rows[is_legal], (own | stone)[is_legal], other[is_legal]
            forced = self.completing(own, other)
            won[rows[np.bitwise_count(forced) > 1]] = True
            is_one = np.bitwise_count(forced) == 1
            rows, own, other = rows[is_one], own[is_one], (other | forced)[is_one]
            if len(rows) == 0:
                break
        return won

    def replies(self, wins, own, other):
        """The replies of the other, as masks, that a sequence or the table has to answer."""
        free, n_free = self.full & ~(own | other), self.n - np.bitwise_count(own | other)
        if self.misere:
            demand(self.sets & ~own[:, None] != 0, "a move loses")
            replies = free & ~self.completing(other, own)
        else:
            demand(self.completing(other, own) == 0, "after a move the other wins")
            can = self.completing(own, other)
            replies = np.where(can == 0, free, np.where(np.bitwise_count(can) == 1, can, NONE))
        demand(not wins or n_free > 0, "a move fills the board, and does not win")
        return replies if wins else np.where((n_free == 1) | self.is_held(own, other), NONE, replies)

    def after_replies(self, wins, own, other, numbers=(), sequences=()):
        """The positions after replies that no sequence answers.

        `numbers` are arrays `[B]` of a sequence of each position, −1 for none.
        """
        replies = self.replies(wins, own, other)
        for number in numbers if not wins else ():
            replies[self.are_broken(own, other, sequences[number]) & (number >= 0)] = 0
        rows, cells = np.nonzero(replies[:, None] & CELLS)
        own, other, self.n_replies = own[rows], other[rows] | STONES[cells], self.n_replies + len(rows)
        is_open = np.ones(len(rows), bool)
        for number in numbers if wins else ():
            todo = np.flatnonzero(is_open & (number[rows] >= 0))
            is_open[todo] = ~self.are_won(own[todo], other[todo], sequences[number[rows[todo]]])
        return set(zip(own[is_open].tolist(), other[is_open].tolist(), strict=True))

    def check_form(self, wins, positions, moves, n_sequences, sequences):
        """Demand that the arrays of a table fit each other, and that each number in them is a cell."""
        demand(len(positions) == len(moves) == len(n_sequences), "the arrays of a table differ in length")
        demand(n_sequences.sum(dtype=int) == len(sequences), "there are too few or too many sequences")
        demand(moves < self.n, "a move is not on the board")
        demand(positions & STONES[moves, None] == 0, "a move is on a taken cell")
        demand(not self.misere or len(sequences) == 0, "there are sequences in a misère game")
        for row in sequences.tolist():
            cells = row[: row.index(64)] if 64 in row else row
            demand(set(row[len(cells) :]) <= {64}, "a sequence goes on after its end")
            demand(set(cells) <= {*range(self.n)}, "a cell of a sequence is not on the board")
            demand(len(set(cells)) == len(cells), "a cell is in a sequence twice")
            demand(wins or len(cells) % 2 == 0, "a sequence is not one of pairs")

    def check_table(self, wins, start, is_to_move, positions, moves, n_sequences, sequences):
        """Demand that the table answers each reply, and that each of its positions is reached."""
        self.check_form(wins, positions, moves, n_sequences, sequences)
        if not is_to_move:
            reached = self.after_replies(wins, *start)
        elif not self.misere and self.completing(*start) != 0:
            reached = set()  # the first move wins
        else:
            reached = {(int(start[0][0]), int(start[1][0]))}
        own, other = positions[:, 0] | STONES[moves], positions[:, 1]
        ends = np.cumsum(n_sequences, dtype=int)
        for at in range(0, len(own), self.batch):
            part = slice(at, at + self.batch)
            turns = np.arange(n_sequences[part].max())[:, None]
            numbers = np.where(turns < n_sequences[part], ends[part] - n_sequences[part] + turns, -1)
            reached |= self.after_replies(wins, own[part], other[part], numbers, sequences)
        known, reached = [*map(tuple, positions.tolist())], self.smallest(reached)
        demand(reached <= set(known), "a reply has no answer")
        demand(sorted(reached) == sorted(known), "a position of the table is never reached, or there twice")


def check(path):
    """The value that the file proves, in words. Raises an error if it proves none."""
    file = read(path)
    demand(file["format"] == "ttt_env proof 1", "its format is another one")
    shape, sets, misere = file["shape"].tolist(), file["winning_masks"], bool(file["misere"])
    game, n = checked_game(str(file["game"]), shape, sets.tolist(), misere), prod(shape)
    checker = Checker(n, sets, misere, file["automorphisms"])
    (x, o), (lower, upper) = file["start"].tolist(), file["bounds"].tolist()
    to_move = x.bit_count() - o.bit_count()  # 0 is X, 1 is O
    demand((x | o) >> n == 0 and x & o == 0 and to_move in (0, 1), "the start is no position of the game")
    is_over = (x | o).bit_count() == n or any(mask in (mask & x, mask & o) for mask in sets.tolist())
    demand(not is_over, "the game is over at the start")
    demand(lower == upper and lower in (-1, 0, 1), "the file proves no value")
    if lower != 0:
        seats = [to_move if lower == 1 else 1 - to_move]
    elif x | o == 0 and not misere:
        seats = [1]  # X cannot lose: an additional stone never hurts (strategy stealing; Nash)
    else:
        seats = [0, 1]
    needed = HEAD.keys() | {f"{'xo'[seat]}_{name}" for seat in seats for name in TABLE}
    demand(file.keys() == needed, f"arrays are missing, or should not be there: {file.keys() ^ needed}")
    for seat in seats:
        start, table = file["start"][[seat, 1 - seat], None], [file[f"{'xo'[seat]}_{name}"] for name in TABLE]
        checker.check_table(lower != 0, start, seat == to_move, *table)
    board = "".join(".XO"[(x >> c & 1) + 2 * (o >> c & 1)] for c in range(n))
    verdict = f"{'XO'[seats[0]]} wins" if lower != 0 else "the game is drawn"
    begin = f"from {board}" if x | o else "from the empty board"
    return f"{game}, {begin}: {verdict}; {checker.n_replies:,} replies are answered"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(f"python check_proof.py FILE\n\n{__doc__}")
    try:
        print(check(sys.argv[1]))
    except Exception as error:
        sys.exit(f"not proved: {error}")
