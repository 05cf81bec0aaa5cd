"""Policy files, read and written by a second, plain implementation, as a reference.

`read` is written only from docs/reference/formats.md, and uses nothing of `ttt_env`, of
`scripts/check_policy.py` or of NumPy. A board is a string of `X`, `O` and `.`, one character per cell.
"""

import re
import struct
from functools import cache, lru_cache
from io import BytesIO
from math import prod
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np

import ttt_env
from tests.support.naive import masks, mover, play
from tests.support.naive_proof_checker import cells_of as cells_of_mask
from tests.support.naive_proof_checker import mask_of, rules_of_id
from ttt_env.agent import answer_of, checked_policy

SEATS = "XO"
cells_of, known_rules = lru_cache(maxsize=1 << 16)(cells_of_mask), cache(rules_of_id)

# --- Reading ----------------------------------------------------------------------------------------------

ANY = None  # as a length
HEAD = {
    "format": ("text", ()),
    "game": ("text", ()),
    "shape": ("<i8", (ANY,)),
    "winning_masks": ("<u8", (ANY,)),
    "misere": ("|b1", ()),
    "supports": ("|i1", (ANY,)),
    "label": ("text", ()),
    "seats": ("text", ()),
    "versions": ("text", ()),
    "forfeit_positions": ("<u8", (ANY, 2)),
    "forfeit_reasons": ("text", (ANY,)),
}
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|])([a-zA-Z])(\d+)', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d+, ?)*\d*)\), \} *\n",
    re.DOTALL,
)
LETTERS = {"<i8": "q", "<u8": "Q", "<f8": "d", "|i1": "b", "|u1": "B", "|b1": "?"}  # of the module struct


class Found(NamedTuple):
    """A seat's worst result (1, 0 or −1), the number of its positions, and the length of a shortest game."""

    worst: int
    n_positions: int
    shortest: int


class Array(NamedTuple):
    """An array: its values are a list of rows if it has two axes."""

    kind: str
    shape: tuple[int, ...]
    values: Any


def refuse_unless(holds, why):
    if not holds:
        raise ValueError(why)


def read(file):
    """The results that the policy file of this path, or of these bytes, proves by seat, or `ValueError`."""
    seats, rules, rows = table_in(file)
    return {seat: worst_case(rules, seat, rows) for seat in seats}


def table_in(file):
    """The seats, the rules and the answers in a file, which need not be complete or legal.

    The answers are the cells that the agent may play on each board; none if it forfeits there.
    """
    try:
        with ZipFile(BytesIO(file) if isinstance(file, bytes) else file) as archive:
            members = [(name.removesuffix(".npy"), archive.read(name)) for name in archive.namelist()]
    except BadZipFile as error:
        raise ValueError("no archive") from error
    arrays = {name: parsed(data) for name, data in members}
    refuse_unless(len(arrays) == len(members), "an array is there twice")
    for name, form in HEAD.items():
        refuse_unless(name in arrays and has_form(arrays[name], *form), f"form of {name}")
    head = {name: arrays.pop(name).values for name in HEAD}
    refuse_unless(head["format"] == "ttt_env policy 1", "format")
    refuse_unless(head["seats"] in ("X", "O", "XO"), "seats")
    rules = NaiveRules(*(head[name] for name in ("game", "shape", "winning_masks", "misere", "supports")))
    rows = {}
    for ply in range(rules.n_cells):
        table = [arrays.pop(f"{part}_{ply}", None) for part in ("positions", "moves")]
        if table != [None, None]:
            refuse_unless(None not in table and SEATS[ply % 2] in head["seats"], f"arrays of ply {ply}")
            rows |= rows_of(rules, ply, *table)
    refuse_unless(not arrays, "other arrays")
    forfeits = sorted(masks(board) for board, cells in rows.items() if not cells)
    refuse_unless([tuple(position) for position in head["forfeit_positions"]] == forfeits, "forfeits")
    refuse_unless(len(head["forfeit_reasons"]) == len(forfeits), "reasons")
    return head["seats"], rules, rows


@lru_cache(maxsize=4096)
def parsed(data):
    """The array of bytes in NumPy's format."""
    header = HEADER.match(data)
    refuse_unless(header, "header of an array")
    order, letter, size = header[1].decode(), header[2].decode(), int(header[3])
    shape = tuple(int(length) for length in header[5].split(b",") if length.strip())
    content, n_items = data[header.end() :], prod(shape)
    kind = "text" if letter == "U" else f"{order}{letter}{size}"
    if kind == "text":
        refuse_unless(len(content) == 4 * size * n_items, "size")
        coding = "utf-32-be" if order == ">" else "utf-32-le"
        parts = [content[4 * size * i : 4 * size * (i + 1)] for i in range(n_items)]
        items = [part.decode(coding, "surrogatepass").rstrip("\0") for part in parts]
    else:
        refuse_unless(kind in LETTERS and len(content) == size * n_items, "type or size")
        items = list(struct.unpack(f"<{n_items}{LETTERS[kind]}", content))
    if len(shape) == 0:
        return Array(kind, shape, items[0])
    if len(shape) == 2:
        n, width = shape
        if header[4] == b"True":  # column by column
            items = [items[column * n + row] for row in range(n) for column in range(width)]
        items = [items[row * width : (row + 1) * width] for row in range(n)]
    return Array(kind, shape, items)


def has_form(array, kind, shape):
    is_shaped = len(array.shape) == len(shape) and all(
        expected in (ANY, length) for expected, length in zip(shape, array.shape, strict=True)
    )
    return is_shaped and array.kind == kind


class NaiveRules:
    """A game with supports. Raises `ValueError` for invalid games, and for an id with other rules."""

    def __init__(self, name, shape, set_masks, misere, supports):
        refuse_unless(1 <= len(shape) <= 6 and all(1 <= length <= 64 for length in shape), "shape")
        self.n_cells = prod(shape)
        refuse_unless(self.n_cells <= 64, "number of cells")
        refuse_unless(1 <= len(set_masks) <= 20_000 and set_masks == sorted(set(set_masks)), "sets")
        self.sets, board = [cells_of(mask) for mask in set_masks], set(range(self.n_cells))
        refuse_unless(all(cells and cells <= board for cells in self.sets), "cells of a set")
        self.misere, self.supports = misere, supports
        refuse_unless(len(supports) == self.n_cells and set(supports) <= board | {-1}, "supports")
        for cell in board:
            for _ in board:
                cell = supports[cell] if cell != -1 else -1
            refuse_unless(cell == -1, "a circle of supports")
        refuse_unless(name.isprintable() and name == name.strip() and 1 <= len(name) <= 500, "name")
        rules = known_rules(name)
        if rules is None:
            ids = ("tictactoe-v0", "qubic-v0", "square-v0", "mnk-v0")
            refuse_unless(name.split(":")[0].strip() not in ids, "name like an id")
        else:
            refuse_unless(rules == (tuple(shape), set(self.sets), misere), "rules of an id")
            refuse_unless(set(supports) == {-1}, "supports of an id")

    def cells(self, board):
        """The cells that may be taken."""
        return [
            cell
            for cell, support in enumerate(self.supports)
            if board[cell] == "." and (support == -1 or board[support] != ".")
        ]

    def result(self, board, seat):
        """1, 0 or −1, from this seat's side; None while the game goes on."""
        for stone in SEATS:
            if any(all(board[cell] == stone for cell in cells) for cells in self.sets):
                return 1 if (stone == seat) != self.misere else -1
        return None if "." in board else 0


def rows_of(rules, ply, positions, moves):
    """The cells that the agent may play on each board of a ply; none if it forfeits there."""
    refuse_unless(has_form(positions, "<u8", (ANY, 2)), "form of positions")
    pairs = [tuple(pair) for pair in positions.values]
    refuse_unless(pairs and pairs == sorted(set(pairs)), "order of positions")
    boards = [board_of(rules.n_cells, ply, *pair) for pair in pairs]
    refuse_unless(moves.shape[:1] == (len(boards),), "number of moves")
    if has_form(moves, "|u1", (ANY,)):
        answers = [[] if cell == 255 else [cell] for cell in moves.values]
    elif has_form(moves, "<u8", (ANY,)):
        answers = [cells_of(mask) for mask in moves.values]
    else:
        refuse_unless(has_form(moves, "<f8", (ANY, rules.n_cells - ply)), "form of moves")
        answers = [cells_with_a_chance(*row) for row in zip(boards, moves.values, strict=True)]
    return dict(zip(boards, answers, strict=True))


def board_of(n_cells, ply, mine, theirs):
    """The board with these stones of the player to move and of the other."""
    own, other = cells_of(mine), cells_of(theirs)
    refuse_unless(not own & other and own | other <= set(range(n_cells)), "stones")
    refuse_unless((len(own), len(other)) == (ply // 2, ply - ply // 2), "number of stones")
    seat, opponent = SEATS if ply % 2 == 0 else SEATS[::-1]
    return "".join(seat if cell in own else opponent if cell in other else "." for cell in range(n_cells))


def cells_with_a_chance(board, chances):
    refuse_unless(all(0 <= chance < 2 for chance in chances), "a chance")
    refuse_unless(not any(chances) or abs(sum(chances) - 1) <= 1e-9, "sum of chances")
    empty = [cell for cell, stone in enumerate(board) if stone == "."]
    return [cell for cell, chance in zip(empty, chances, strict=True) if chance]


def worst_case(rules, seat, rows):
    """The worst result of a seat, computed board by board. The rows are those of both seats."""
    asked = set()

    @cache
    def worst_from(board):
        """The worst result from a board on, and the total number of moves of the shortest game with it."""
        n_moves = len(board) - board.count(".")
        if (result := rules.result(board, seat)) is not None:
            return result, n_moves
        cells = rules.cells(board)
        if mover(board) == seat:
            refuse_unless(board in rows, f"{board} is missing")
            refuse_unless(set(rows[board]) <= set(cells), f"a move on {board}")
            asked.add(board)
            cells = rows[board]
        return min((worst_from(play(board, cell)) for cell in cells), default=(-1, n_moves))

    worst, shortest = worst_from("." * rules.n_cells)
    refuse_unless(asked == {board for board in rows if mover(board) == seat}, "a row is never reached")
    return Found(worst, len(asked), shortest)


# --- Writing ----------------------------------------------------------------------------------------------


def write(file, game, agent, label, seats=SEATS):
    """Write the policy file of an agent of `ttt_env`, which is asked in each reachable position."""
    np.savez_compressed(file, **agent_arrays(game, agent, label, seats))


def agent_arrays(game, agent, label, seats=SEATS):
    """The arrays of the policy file of an agent of `ttt_env`."""
    player = ttt_env.make_agent(agent, game)

    def answer(board):
        position = ttt_env.Position(game, *masks(board))
        if player.plays_by == "choose":
            found = answer_of(player, position)
            return f"{found.outcome}: {found.reply}" if found.cell is None else {found.cell: 1.0}
        policy = checked_policy(player, position)
        return {cell: chance for cell, chance in enumerate(policy.tolist()) if chance}

    rules = game.name, game.shape, sorted(game.winning_masks), game.misere, [-1] * game.n_cells
    return table_arrays(rules, answer, label, seats)


def table_arrays(rules, answer, label, seats=SEATS):
    """The arrays of the policy file of any answers, in a game of these rules, as `NaiveRules` takes them.

    `answer` takes a board and returns the positive chances by cell, or a text: the reason of a forfeit.
    """
    name, shape, set_masks, misere, supports = rules
    asked = {}
    for seat in seats:
        ask(NaiveRules(*rules), seat, answer, "." * len(supports), asked, set())
    forfeits = sorted((masks(board), reply) for board, reply in asked.items() if isinstance(reply, str))
    arrays = {
        "format": np.array("ttt_env policy 1"),
        "game": np.array(name),
        "shape": np.array(shape, np.int64),
        "winning_masks": np.array(set_masks, np.uint64),
        "misere": np.array(misere),
        "supports": np.array(supports, np.int8),
        "label": np.array(label),
        "seats": np.array(seats),
        "versions": np.array(f"ttt_env {ttt_env.__version__}, NumPy {np.__version__}"),
        "forfeit_positions": np.array([position for position, _ in forfeits], np.uint64).reshape(-1, 2),
        "forfeit_reasons": np.array([reason for _, reason in forfeits], np.str_),
    }
    for ply in range(len(supports)):
        boards = sorted((board for board in asked if len(board) - board.count(".") == ply), key=masks)
        if boards:
            arrays[f"positions_{ply}"] = np.array([masks(board) for board in boards], np.uint64)
            arrays[f"moves_{ply}"] = smallest(boards, [asked[board] for board in boards])
    return arrays


def ask(rules, seat, answer, board, asked, seen):
    """Add the seat's answers on this board and on all later boards to `asked`."""
    if board in seen or rules.result(board, seat) is not None:
        return
    seen.add(board)
    cells = rules.cells(board)
    if mover(board) == seat:
        asked[board] = answer(board)
        cells = [] if isinstance(asked[board], str) else asked[board]
    for cell in cells:
        ask(rules, seat, answer, play(board, cell), asked, seen)


def smallest(boards, replies):
    """The answers on the boards of a ply, in the smallest form that can hold all of them."""
    replies = [{} if isinstance(reply, str) else reply for reply in replies]
    if all(len(reply) <= 1 for reply in replies):
        return np.array([next(iter(reply), 255) for reply in replies], np.uint8)
    if all(chance == 1 / len(reply) for reply in replies for chance in reply.values()):
        return np.array([mask_of(reply) for reply in replies], np.uint64)
    empty = [[cell for cell, stone in enumerate(board) if stone == "."] for board in boards]
    rows = zip(empty, replies, strict=True)
    return np.array([[reply.get(cell, 0.0) for cell in cells] for cells, reply in rows], np.float64)
