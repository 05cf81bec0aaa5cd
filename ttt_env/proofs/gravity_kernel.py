"""The search of a proof where stones rest on each other: alpha-beta with one question, "does this seat win?".

The question is a null window, so that every answer is a cut. Threats, pairings and zones of the other proof
search are unsound here, because each stone opens the cell above it. What is used holds in any game: a player
completes a set where it can, else blocks, and never plays under a cell that the other player completes a set
at. In a misère game a player does not complete a set where it has another move.
"""

from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import (
    NONE,
    ONE,
    SCATTER,
    ZERO,
    cell_of,
    completing,
    completing_through,
    count,
    is_several,
    lowest,
    playable,
    size,
)
from ttt_env.compiled.canonical import NO, OPEN, YES, heaviest
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.rules import Game, Masks, cells_of
from ttt_env.rules.symmetry import automorphisms

_BEGIN, _ENTER, _RETURN = range(3)
_64 = np.uint64(64)
_FIRST_BITS, _MAX_BITS = 13, 23  # of the number of entries of the table; in the end 128 MiB
_THREAT = 64  # the weight of a new cell that completes a set, in sets through a cell
_KEPT = 1 << 20  # entries of a checkpoint

# The indices of `GravitySearch.state`.
DEPTH, PHASE, ANSWER, NODES, ROOT_SIDE, TABLE_BITS = range(6)


class GravitySearch(NamedTuple):
    """The positions from the root to the current one, `[depth]`, and the table of answers.

    `stones` `[depth, symmetries, 2]` are the masks of each image of a position, the attacker's first, and
    `completes` `[depth, 2]` the cells that complete a set of each player, supported or not; some of them may
    be taken by now. `candidates` are the moves in a position that are left to try, and `weights` `[depth,
    cells]` order them. `images` `[symmetries, cells]` are the stones that each cell is mapped to.
    """

    stones: Masks
    completes: Masks
    candidates: Masks
    weights: NDArray[np.int64]
    images: Masks
    state: NDArray[np.int64]
    table: Masks


def new_search(game: Game) -> GravitySearch:
    """A search of this game with an empty table."""
    depths, n_cells = game.n_cells + 2, game.n_cells
    permutations = np.array(automorphisms(game), np.uint64)
    state = np.zeros(TABLE_BITS + 1, np.int64)
    state[TABLE_BITS] = _FIRST_BITS
    return GravitySearch(
        stones=np.zeros((depths, len(permutations), 2), np.uint64),
        completes=np.zeros((depths, 2), np.uint64),
        candidates=np.zeros(depths, np.uint64),
        weights=np.zeros((depths, n_cells), np.int64),
        images=ONE << permutations,
        state=state,
        table=np.zeros((1 << _FIRST_BITS, 2), np.uint64),
    )


# --- The table of answers ---------------------------------------------------------------------------------

# An entry is the position itself, so that no other one is ever taken for it: all stones and the defender's
# where the attacker wins, else the attacker's and the defender's, which have no cell in common. So a position
# without stones of the defender has no entry. Two entries may hold a position: the first keeps the one with
# fewer stones, and the second the last.


@inner
def _place(attacker: np.uint64, defender: np.uint64, bits: int) -> int:
    mixed = (attacker * SCATTER ^ defender) * SCATTER
    mixed = (mixed ^ mixed >> np.uint64(29)) * SCATTER
    return 2 * np.int64(mixed >> (_64 - np.uint64(bits - 1)))  # type: ignore[return-value]


@inner
def _least_image(s: GravitySearch, depth: int) -> tuple[np.uint64, np.uint64]:
    """The image of a position with the smallest masks, which is the same for symmetric positions."""
    attacker, defender = s.stones[depth, 0, 0], s.stones[depth, 0, 1]
    for symmetry in range(1, s.stones.shape[1]):
        other = s.stones[depth, symmetry, 0]
        if other < attacker or (other == attacker and s.stones[depth, symmetry, 1] < defender):
            attacker, defender = other, s.stones[depth, symmetry, 1]
    return attacker, defender


@inner
def _answer_in_table(s: GravitySearch, depth: int) -> int:
    """The answer in the table, OPEN if there is none."""
    attacker, defender = _least_image(s, depth)
    if defender == NONE:
        return OPEN
    first = _place(attacker, defender, s.state[TABLE_BITS])
    for place in range(first, first + 2):
        if s.table[place, 1] == defender:
            if s.table[place, 0] == attacker:
                return NO
            if s.table[place, 0] == attacker | defender:
                return YES
    return OPEN


@inner
def _store(table: Masks, bits: int, attacker: np.uint64, defender: np.uint64, answer: int) -> None:
    if defender == NONE:
        return
    first, stones = _place(attacker, defender, bits), attacker | defender
    old_stones = table[first, 0] | table[first, 1]
    place = first + 1 if old_stones != NONE and count(old_stones) < count(stones) else first
    table[place, 0] = stones if answer == YES else attacker
    table[place, 1] = defender


@compiled
def _store_all(table: Masks, bits: int, entries: Masks) -> None:
    for row in range(len(entries)):
        stones, defender = entries[row, 0], entries[row, 1]
        _store(table, bits, stones & ~defender, defender, NO if stones & defender == NONE else YES)


# --- Its size ---------------------------------------------------------------------------------------------


def n_nodes_left(s: GravitySearch) -> float:
    """The nodes that may be searched until the table should grow; infinite if it has its largest size."""
    bits = int(s.state[TABLE_BITS])
    return inf if bits >= _MAX_BITS else (1 << bits) - int(s.state[NODES])


def with_larger_table(s: GravitySearch) -> GravitySearch:
    """The same search, with a larger table if no nodes are left for this one."""
    if n_nodes_left(s) > 0:
        return s
    return with_answers(s, int(s.state[TABLE_BITS]) + 2, s.table)


def answers_of(s: GravitySearch) -> Masks:
    """The entries of the table, `[answers, 2]`: of a large one the million with the fewest stones."""
    answers: Masks = s.table[s.table[:, 1] != NONE]
    if len(answers) > _KEPT:
        answers = answers[np.argsort(np.bitwise_count(answers[:, 0] | answers[:, 1]), kind="stable")[:_KEPT]]
    return answers


def with_answers(s: GravitySearch, bits: int, answers: Masks) -> GravitySearch:
    """The search with a table of this size that holds these entries. Raises `ValueError` for a wrong size."""
    if not _FIRST_BITS <= bits <= _MAX_BITS or answers.shape[1:] != s.table.shape[1:]:
        raise ValueError("its answers do not fit into the table")
    table = np.zeros((1 << bits, 2), np.uint64)
    _store_all(table, bits, answers)
    s.state[TABLE_BITS] = bits
    return s._replace(table=table)


# --- The search -------------------------------------------------------------------------------------------


@compiled
def search(s: GravitySearch, sets: WinningSets, n_nodes: int) -> int:
    """The answer, YES or NO; OPEN if `n_nodes` nodes more were not enough, and another call searches on."""
    if s.state[PHASE] == _BEGIN:
        _begin(s, sets)
    stop = s.state[NODES] + n_nodes
    while s.state[NODES] < stop:
        if s.state[PHASE] == _ENTER:
            _enter(s, sets)
        elif s.state[DEPTH] == 0:
            return int(s.state[ANSWER])
        else:
            _return_to_parent(s, sets)
    return OPEN


@inner
def _begin(s: GravitySearch, sets: WinningSets) -> None:
    s.completes[0, 0] = completing(s.stones[0, 0, 0], s.stones[0, 0, 1], sets.masks)
    s.completes[0, 1] = completing(s.stones[0, 0, 1], s.stones[0, 0, 0], sets.masks)
    s.state[PHASE] = _ENTER


@inner
def _side(s: GravitySearch, depth: int) -> int:
    """The player to move: 0 for the attacker, whose win is the question, 1 for the defender."""
    return (s.state[ROOT_SIDE] + depth) & 1  # type: ignore[no-any-return]


@inner
def _enter(s: GravitySearch, sets: WinningSets) -> None:
    """Answer the question in a position if no search is needed; else make the first move."""
    depth = s.state[DEPTH]
    side = _side(s, depth)
    s.state[NODES] += 1
    s.state[PHASE] = _RETURN
    free = playable(sets, s.stones[depth, 0, 0] | s.stones[depth, 0, 1])
    candidates, wins = _safe_moves(free, s.completes[depth, side], s.completes[depth, 1 - side], sets)
    if free == NONE:
        s.state[ANSWER] = NO
    elif wins or candidates == NONE:
        s.state[ANSWER] = YES if wins == (side == 0) else NO
    else:
        s.state[ANSWER] = _answer_in_table(s, depth)
        if s.state[ANSWER] == OPEN:
            s.candidates[depth] = candidates
            _weigh(s, depth, side, candidates, sets)
            _make_move(s, depth, side, sets)


@inner
def _safe_moves(
    free: np.uint64, own: np.uint64, other: np.uint64, sets: WinningSets
) -> tuple[np.uint64, bool]:
    """The moves after which the game is not lost at once, and True if one of them wins.

    `own` and `other` are the cells that complete sets of the two players.
    """
    if sets.misere:
        return free & ~own, False
    if free & own != NONE:
        return free & own, True
    block = free & other
    if is_several(block):
        return NONE, False
    under = NONE
    for number in range(len(sets.turns)):
        above, turns = other & sets.resting[number], sets.turns[number]
        under |= above << turns | above >> (_64 - turns)
    return (free if block == NONE else block) & ~under, False


@inner
def _weigh(s: GravitySearch, depth: int, side: int, cells: np.uint64, sets: WinningSets) -> None:
    """Set the weights of these moves: by the threats that they make, and then by the sets through them."""
    own, other = s.stones[depth, 0, side], s.stones[depth, 0, 1 - side]
    worth = -1 if sets.misere else 1
    while cells != NONE:
        stone = lowest(cells)
        cells ^= stone
        cell = cell_of(stone)
        threats = completing_through(own | stone, other, sets, cell) & ~s.completes[depth, side]
        s.weights[depth, cell] = worth * (_THREAT * size(threats) + sets.first[cell + 1] - sets.first[cell])


@inner
def _make_move(s: GravitySearch, depth: int, side: int, sets: WinningSets) -> None:
    """Make the best move that is left."""
    stone = heaviest(s.candidates[depth], s.weights[depth])
    s.candidates[depth] ^= stone
    cell, below = cell_of(stone), depth + 1
    for symmetry in range(s.stones.shape[1]):
        s.stones[below, symmetry, side] = s.stones[depth, symmetry, side] | s.images[symmetry, cell]
        s.stones[below, symmetry, 1 - side] = s.stones[depth, symmetry, 1 - side]
    threats = completing_through(s.stones[below, 0, side], s.stones[below, 0, 1 - side], sets, cell)
    s.completes[below, side] = s.completes[depth, side] | threats
    s.completes[below, 1 - side] = s.completes[depth, 1 - side]
    s.state[DEPTH], s.state[PHASE] = below, _ENTER


@inner
def _return_to_parent(s: GravitySearch, sets: WinningSets) -> None:
    """Return to the parent: the answer is final there if it suits its mover, or no move is left to try."""
    depth = s.state[DEPTH] - 1
    side = _side(s, depth)
    s.state[DEPTH] = depth
    if s.state[ANSWER] == (YES if side == 0 else NO) or s.candidates[depth] == NONE:
        attacker, defender = _least_image(s, depth)
        _store(s.table, s.state[TABLE_BITS], attacker, defender, s.state[ANSWER])
    else:
        _make_move(s, depth, side, sets)


# --- Called from Python -----------------------------------------------------------------------------------


def set_root(s: GravitySearch, attacker: int, defender: int, attacks: bool, patient: bool = False) -> None:
    """Begin a search at this position; the table is kept. A `patient` search is the same as a hasty one."""
    for side, stones in enumerate((attacker, defender)):
        s.stones[0, :, side] = np.bitwise_or.reduce(s.images[:, cells_of(stones)], axis=1)
    s.state[[DEPTH, PHASE, ROOT_SIDE]] = 0, _BEGIN, not attacks


def root_candidates(s: GravitySearch, sets: WinningSets) -> tuple[int, list[int]]:
    """The moves at the root that are tried, as a mask, and the weights of all cells."""
    _list_root_candidates(s, sets)
    return int(s.candidates[0]), s.weights[0].tolist()


@compiled
def _list_root_candidates(s: GravitySearch, sets: WinningSets) -> None:
    _begin(s, sets)
    side, free = s.state[ROOT_SIDE], playable(sets, s.stones[0, 0, 0] | s.stones[0, 0, 1])
    own, other = s.completes[0, side], s.completes[0, 1 - side]
    candidates, _ = _safe_moves(free, own, other, sets)
    s.candidates[0] = candidates if candidates != NONE else free & other
    _weigh(s, ZERO, side, free, sets)
