"""Check a proof that `Proof.save` wrote, with Python and NumPy alone (format: docs/reference/formats.md).

A set of cells is a mask, an integer whose bit c stands for cell c. The seat is the player whose strategy is
checked: `own` are its stones and `other` those of the other player.
"""

import sys
from itertools import product
from math import prod
from zipfile import is_zipfile

import numpy as np

# The type of each array, and how many axes it has. Those of a table begin with its seat, x_ or o_.
HEAD = """format U 0, game U 0, shape <i8 1, winning_masks <u8 1, misere |b1 0, start <u8 1, bounds |i1 1,
    automorphisms |u1 2, principal_variation |u1 1, nodes <i8 0, seconds <f8 0"""
TABLE = "positions <u8 2, moves |u1 1, n_sequences |u1 1, sequences |u1 2"
HEAD, TABLE = (dict(item.split(maxsplit=1) for item in text.split(",")) for text in (HEAD, TABLE))
FORMAT, FORMAT_2 = "ttt_env proof 1", "ttt_env proof 2"
IDS, END, MOST_BYTES = ("tictactoe-v0", "qubic-v0", "square-v0", "mnk-v0"), 64, 1 << 31


def demand(holds, fault):
    """Raise `ValueError` unless this holds."""
    if not holds:
        raise ValueError(fault)


def read(path):
    """The arrays of a file, by name, as text, Python numbers and lists of them."""
    demand(is_zipfile(path), f"{path!a} is not there, or no NumPy archive (.npz), or cut off")
    with np.load(path, allow_pickle=False) as archive:
        demand(len(archive.files) == len({*archive.files}), "an array is there twice")
        demand(sum(item.file_size for item in archive.zip.infolist()) <= MOST_BYTES, "it is too large")
        arrays = {name: archive[name] for name in archive.files}
    for name, array in arrays.items():
        form = TABLE.get(name[2:]) if name[:2] in ("x_", "o_") else HEAD.get(name)
        is_right = form in (f"{array.dtype.str} {array.ndim}", f"{array.dtype.kind} {array.ndim}")
        demand(is_right, f"{name!a} has the wrong type or shape, or should not be there")
    demand(HEAD.keys() <= arrays.keys(), f"arrays are missing: {HEAD.keys() - arrays.keys()}")
    return {name: array.tolist() for name, array in arrays.items()}


def lines(n_axes, k):
    """The forms of k cells in a row, as the steps from the first cell to each."""
    return (
        [[i * d for d in way] for i in range(k)] for way in product((-1, 0, 1), repeat=n_axes) if any(way)
    )


def squares(n, tilts):
    """The forms of the corners of squares: a side goes a cells down and b to the right."""
    return [[(0, 0), (a, b), (a + b, b - a), (b, -a)] for a in tilts for b in range(1, n)]


def catalogue():
    """The id, the shape and the forms of the winning sets of each game of the catalogue, without misère."""
    yield from (("tictactoe-v0", (3, 3), lines(2, 3)), ("qubic-v0", (4, 4, 4), lines(3, 4)))
    for n in range(2, 9):
        yield f"square-v0:n={n}".replace(":n=4", ""), (n, n), squares(n, range(n))
        yield f"square-v0:n={n},tilted=false".replace("n=4,", ""), (n, n), squares(n, [0])
    for m, n in product(range(1, 65), repeat=2):
        for k in range(1, max(m, n) + 1) if m * n <= 64 else []:
            yield f"mnk-v0:m={m},n={n},k={k}", (n, m), lines(2, k)


def rules_of(name):
    """The shape, the winning sets and misère of an id of the catalogue; None if the name is none."""
    for plain, shape, forms in catalogue():
        misere = plain + (",misere=true" if ":" in plain else ":misere=true")
        if name in (plain, misere):
            cells = [*product(*map(range, shape))]
            found = [[tuple(np.add(cell, step)) for step in form] for form in forms for cell in cells]
            sets = {sum(1 << cells.index(c) for c in places) for places in found if {*places} <= {*cells}}
            return [*shape], sets, name == misere


def checked_game(name, shape, sets, misere):
    """The game in words. Raises an error for what is not a game, and for an id with other rules."""
    demand(
        0 < len(shape) < 4 and min(shape) > 0 and prod(shape) <= 64, "this is not a board of up to 64 cells"
    )
    demand(0 < len({*sets}) == len(sets) <= 20_000, "there are no winning sets, too many, or one twice")
    demand(0 < min(sets) and max(sets) < 2 ** prod(shape), "a winning set is empty, or not on the board")
    if rules := rules_of(name):
        demand(rules == (shape, {*sets}, misere), f"these are not the rules of {name}")
        return f"{name} (rules of the catalogue)"
    demand(name.partition(":")[0] not in IDS, f"{name!a} begins as an id of the catalogue does, and is none")
    return f"a game of its own, called {name!a}{misere * ', misere'}, shape {shape}, {len(sets)} winning sets"


class Checker:
    """The rules of a game, and the check of a table: it wins, or it avoids losing."""

    def __init__(self, n, sets, misere, automorphisms, wins, may_add):
        self.sets, self.misere, self.automorphisms, self.wins = sets, misere, automorphisms, wins
        self.may_add, self.full = may_add, 2**n - 1
        self.n_replies, self.sets_with = 0, {1 << c: [s for s in sets if s >> c & 1] for c in range(n)}
        demand(len(automorphisms) > 0, "there is no automorphism")
        for images in automorphisms:
            moved = {sum(1 << images[c] for c in range(n) if s >> c & 1) for s in sets}
            demand(sorted(images) == [*range(n)] and moved == {*sets}, "an automorphism changes the rules")

    def images(self, masks):
        """The images of masks under each automorphism."""
        for images in self.automorphisms:
            yield sum((masks >> np.uint64(c) & np.uint64(1)) << np.uint64(d) for c, d in enumerate(images))

    def check_cover(self, reached, table):
        """Demand that the table covers each position that is reached, by the smallest image of `own`.

        It covers those with the same stones of `own`, and no more of the other (in misère, the same).
        """
        rows, masks = {}, np.array([*reached], np.uint64).reshape(-1, 2).T
        for number, (own, other) in enumerate(table):
            rows.setdefault(own, {})[other] = number
        others = {own: np.array([*of_own], np.uint64) for own, of_own in rows.items()}
        least = np.min([own for own, _ in self.images(masks)], axis=0, initial=2**64 - 1)
        is_covered, is_used = np.zeros(len(least), bool), np.zeros(len(table), bool)
        for own, other in self.images(masks):
            for at in np.flatnonzero(own == least).tolist():
                if (mask := int(own[at])) in rows:
                    known = others[mask]
                    covers = known == other[at] if self.misere else other[at] & ~known == 0
                    is_covered[at] |= covers.any()
                    is_used[[rows[mask][one] for one in known[covers].tolist()]] = True
        demand(is_covered.all(), "a reply has no answer")
        demand(is_used.all(), "a position of the table is never reached, or there twice")

    def completing(self, sets, own, other):
        """The free cells, as masks, each of which completes one of these sets of `own`."""
        return {lacking for s in sets if (lacking := s & ~own).bit_count() == 1 and not s & other}

    def is_held(self, own, other):
        """True where the other, to move, cannot win (Erdős, Selfridge 1973); in misère, the seat not lose."""
        if self.misere:
            return all(s & other for s in self.sets)
        weights = {s: 2**40 >> min((s & ~other).bit_count(), 40) for s in self.sets if not s & own}
        free = [cell for cell in self.sets_with if not cell & (own | other)]
        shares = [sum(weights.get(s, 0) for s in self.sets_with[cell]) for cell in free]
        return sum(weights.values()) + max(shares, default=0) < 2**40

    def is_broken(self, own, other, row):
        """True if the pairs of this row are free, and each set has one of them or a stone of `own`."""
        pairs = [a | b for a, b in zip(row[::2], row[1::2], strict=True)]
        is_broken = all(s & own or any(pair & ~s == 0 for pair in pairs) for s in self.sets)
        return is_broken and sum(row) & (own | other) == 0

    def is_won(self, own, other, reply, row):
        """True if the seat wins by the threats of this row after a reply: each leaves the other one reply."""
        for stone in row:
            other |= reply
            if stone & (own | other) or self.completing(self.sets_with[reply], other, own) - {stone}:
                return False
            own |= stone
            threats = self.completing(self.sets_with[stone], own, other)
            if len(threats) != 1:
                return len(threats) > 1
            (reply,) = threats
        return False

    def open_replies(self, own, other, rows=()):
        """The positions after those replies of the other that no rule and none of these sequences answers."""
        free = {cell for cell in self.sets_with if not cell & (own | other)}
        threats = set() if self.misere else self.completing(self.sets, own, other)
        ends = self.completing(self.sets, other, own)  # with these the other wins; in misère, it loses
        is_lost = any(s & own == s if self.misere else s & other == s for s in self.sets)
        demand(not is_lost and (self.misere or not ends), "a move loses")
        demand(free or not self.wins, "a move fills the board, and does not win")
        replies = free - ends if not threats else threats if len(threats) == 1 else set()
        self.n_replies += len(replies)
        if self.wins:
            replies = {r for r in replies if not any(self.is_won(own, other, r, row) for row in rows)}
        elif len(free) == 1 or self.is_held(own, other) or any(self.is_broken(own, other, r) for r in rows):
            replies = set()
        return {(own, other | reply) for reply in replies}

    def check_table(self, start, seat, is_to_move, positions, moves, n_sequences, sequences):
        """Demand that the table answers each reply, and that each of its positions covers one reached."""
        demand(len(sequences) == sum(n_sequences), "there are too few or too many sequences")
        rows = [[1 << cell for cell in row[: len(row) - row.count(END)]] for row in sequences]
        for row in rows:
            is_right = {*row} <= self.sets_with.keys() and len({*row}) == len(row) and not self.misere
            demand(is_right, "a sequence leaves the board, has a cell twice, or is for a misère game")
            demand(self.wins or len(row) % 2 == 0, "a sequence is not one of pairs")
        is_won = is_to_move and not self.misere and self.completing(self.sets, *start)
        reached = set() if is_won else {start} if is_to_move else self.open_replies(*start)
        rows = iter(rows)
        for (own, other), move, n in zip(positions, moves, n_sequences, strict=True):
            stone, taken = 1 << move, own | other
            n_added = other.bit_count() - own.bit_count() - seat  # O moves after one more stone of X
            demand(n_added == 0 or (n_added > 0 and self.may_add), "a position has a wrong number of stones")
            demand(not own & other and taken <= self.full, "stones are on one cell, or not on the board")
            demand(stone in self.sets_with and not stone & taken, "a move is not on the board, or not free")
            reached |= self.open_replies(own | stone, other, [next(rows) for _ in range(n)])
        self.check_cover(reached, positions)


def check(path):
    """The value that the file proves, in words. Raises an error if it proves none."""
    file = read(path)
    demand(file["format"] in (FORMAT, FORMAT_2), "its format is another one")
    shape, sets, misere, n = file["shape"], file["winning_masks"], file["misere"], prod(file["shape"])
    game = checked_game(file["game"], shape, sets, misere)
    (x, o), (lower, upper) = file["start"], file["bounds"]
    to_move = x.bit_count() - o.bit_count()  # 0 is X, 1 is O
    demand(x | o < 2**n - 1 and x & o == 0 and to_move in (0, 1), "the start is not a position to play from")
    demand(not any(s in (s & x, s & o) for s in sets), "the game is over at the start")
    demand(lower == upper and lower in (-1, 0, 1), "the file proves no value")
    # On an empty board X needs no table to draw: an additional stone never hurts (strategy stealing; Nash).
    seats = {1: [to_move], -1: [1 - to_move], 0: [0, 1] if x | o or misere else [1]}[lower]
    needed = HEAD.keys() | {f"{'xo'[seat]}_{name}" for seat in seats for name in TABLE}
    demand(file.keys() == needed, f"arrays are missing, or should not be there: {file.keys() ^ needed}")
    may_add = file["format"] == FORMAT_2 and lower == 0 and not misere
    checker = Checker(n, sets, misere, file["automorphisms"], lower != 0, may_add)
    for seat in seats:
        table = [file[f"{'xo'[seat]}_{name}"] for name in TABLE]
        checker.check_table([(x, o), (o, x)][seat], seat, seat == to_move, *table)
    board = "".join(".XO"[(x >> c & 1) + 2 * (o >> c & 1)] for c in range(n)) if x | o else "the empty board"
    verdict = f"{'XO'[seats[0]]} wins" if lower else "the game is drawn"
    return f"{game}, from {board}: {verdict}; {checker.n_replies:,} replies are answered"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(f"python check_proof.py FILE\n\n{__doc__}")
    sys.excepthook = lambda kind, error, trace: print(f"not proved: {error}", file=sys.stderr)
    print(check(sys.argv[1]))
