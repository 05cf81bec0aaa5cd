"""Sequences of threats, compiled: a win by moves that leave the other player one reply each.

A threat takes all cells of a set but one, so the defender has to take the last. If that completes all but one
cell of a set of the defender, the attacker's next threat has to take this cell. A threat to complete two sets
at once wins (Allis, Searching for solutions in games and artificial intelligence, 1994).

Positions from which all threats failed are stored, so that no other order of the same threats, and no later
search, tries them again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import (
    NONE,
    ONE,
    ZERO,
    cell_of,
    completing,
    completing_through,
    count,
    is_several,
    lowest,
)
from ttt_env.compiled.compiler import inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.rules import Game, Masks

MOST_THREATS = 34  # in a sequence: a threat and its reply take two of 64 cells
_LENGTHS = (2, 3, 4, 5, 6, 8, 12, MOST_THREATS)  # of sequences, searched one after the other
_FAILED_BITS = 18  # bits of the number of stored failed positions
_TWO = np.uint64(2)
_FAILED_SHIFT = np.uint64(64 - _FAILED_BITS)
_SCATTER_1, _SCATTER_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_33 = np.uint64(33)

LOSS, DRAW, WIN, UNKNOWN = -1, 0, 1, 2  # values of a position in a search, for the player who has just moved

# The indices of `Threats.winning`.
GAINS, REPLIES = 0, 1


class Threats(NamedTuple):
    """The current sequence: a level for each threat, `[levels]`, and `pairs` `[levels, sets]`.

    `pairs` are the two empty cells of each set that lacks only these. `gain` and `reply` are the cells of the
    two players, `block` is where the attacker has to play, if anywhere. `winning` are the attacker's and the
    defender's cells of a sequence that wins. It has at most `longest[0]` threats, which may be changed where
    nothing is remembered.
    """

    attacker: Masks
    defender: Masks
    block: Masks
    pairs: Masks
    n_pairs: NDArray[np.int64]
    n_tried: NDArray[np.int64]
    gain: Masks
    reply: Masks
    winning: Masks
    failed_keys: Masks
    longest: NDArray[np.int64]
    n_nodes: NDArray[np.int64]


def new_threats(game: Game, remembers: bool = True) -> Threats:
    """Memory for searches of this game; without `remembers` each search is independent of the others."""
    masks = np.zeros((5, MOST_THREATS), np.uint64)
    return Threats(
        attacker=masks[0],
        defender=masks[1],
        block=masks[2],
        pairs=np.zeros((MOST_THREATS, len(game.winning_sets) + 1), np.uint64),
        n_pairs=np.zeros(MOST_THREATS, np.int64),
        n_tried=np.zeros(MOST_THREATS, np.int64),
        gain=masks[3],
        reply=masks[4],
        winning=np.zeros(2, np.uint64),
        failed_keys=np.zeros(1 << _FAILED_BITS if remembers else 0, np.uint64),
        longest=np.full(1, MOST_THREATS),
        n_nodes=np.zeros(1, np.int64),
    )


@inner
def wins_by_threats(
    attacker: np.uint64, defender: np.uint64, block: np.uint64, sets: WinningSets, t: Threats, budget: int
) -> bool:
    """True if the attacker, to move, wins by threats alone; False also if `budget` threats were too few.

    Neither player can complete a set at once, except the defender at `block`, if that is a cell.
    """
    t.attacker[0] = attacker
    t.defender[0] = defender
    t.block[0] = block
    if _has_failed(t, ZERO):
        return False
    t.n_tried[0], t.n_pairs[0], level = 0, 0, ZERO
    for number in range(len(sets.masks)):
        _add_pair(t, level, sets.masks[number])
    while level >= 0:
        if not _next_threat(t, level):
            if len(t.failed_keys) > 0:
                key = _failure_key(t, level)
                t.failed_keys[int(key >> _FAILED_SHIFT)] = key
            level -= 1
            continue
        if budget == 0:
            return False
        budget -= 1
        t.n_nodes[0] += 1
        gain = t.gain[level]
        attacker_after = t.attacker[level] | gain
        completes = completing_through(attacker_after, t.defender[level], sets, cell_of(gain))
        if is_several(completes):
            _store_sequence(t, level, completes)
            return True
        if (
            level + 1 < t.longest[0]
            and _push(t, level, attacker_after, sets)
            and not _has_failed(t, level + 1)
        ):
            level += 1
    return False


@inner
def wins_soon(
    attacker: np.uint64, defender: np.uint64, block: np.uint64, sets: WinningSets, t: Threats, budget: int
) -> bool:
    """As `wins_by_threats`, but short sequences are searched first, with this budget for each length.

    They are found sooner, and fewer replies hinder them. Failed positions must not be stored.
    """
    wins = False
    for longest in _LENGTHS:
        t.longest[0] = longest
        if wins_by_threats(attacker, defender, block, sets, t, budget):
            wins = True
            break
    t.longest[0] = MOST_THREATS
    return wins


@inner
def search_threats(
    mine: np.uint64, theirs: np.uint64, cell: int, sets: WinningSets, t: Threats, budget: int
) -> tuple[int, np.uint64]:
    """The value after a move to this cell, UNKNOWN if threats do not decide it, and the cells to be blocked.

    The player to move wins by completing a set or by threats that leave one reply, the other by two ways to
    complete one. Before the move neither could complete a set, except the other at the cell.
    """
    block, value = completing_through(theirs, mine, sets, cell), UNKNOWN
    if completing(mine, theirs, sets.masks) != NONE:
        value = LOSS
    elif is_several(block):
        value = WIN
    elif wins_by_threats(mine, theirs, block, sets, t, budget):
        value = LOSS
    return value, block


@inner
def _add_pair(t: Threats, level: int, mask: np.uint64) -> None:
    """Add to a level the two empty cells of a set, if it lacks only these and the attacker may take one."""
    rest = mask & ~t.attacker[level]
    if mask & t.defender[level] == NONE and count(rest) == _TWO:
        t.pairs[level, t.n_pairs[level]] = rest
        t.n_pairs[level] += 1


@inner
def _push(t: Threats, level: int, attacker: np.uint64, sets: WinningSets) -> bool:
    """Put the position after gain and reply on the next level, unless the defender then threatens twice."""
    gain, reply, below = t.gain[level], t.reply[level], level + 1
    defender = t.defender[level] | reply
    block = completing_through(defender, attacker, sets, cell_of(reply))
    if is_several(block):
        return False
    t.attacker[below] = attacker
    t.defender[below] = defender
    t.block[below] = block
    t.n_tried[below], t.n_pairs[below] = 0, 0
    cell = cell_of(gain)
    for number in range(sets.first[cell], sets.first[cell + 1]):
        _add_pair(t, below, sets.through[number])
    n, taken = t.n_pairs[below], gain | reply
    for number in range(t.n_pairs[level]):
        pair = t.pairs[level, number]
        if pair & taken == NONE:
            t.pairs[below, n] = pair
            n += 1
    t.n_pairs[below] = n
    return True


@inner
def _next_threat(t: Threats, level: int) -> bool:
    """Put the next gain and reply on this level; False if there is none."""
    while t.n_tried[level] < 2 * t.n_pairs[level]:
        number = t.n_tried[level]
        t.n_tried[level] += 1
        pair, block = t.pairs[level, number >> 1], t.block[level]
        gain = lowest(pair) if number & 1 else pair ^ lowest(pair)
        if block == NONE or block == gain:
            t.gain[level] = gain
            t.reply[level] = pair ^ gain
            return True
    return False


@inner
def _failure_key(t: Threats, level: int) -> np.uint64:
    key = t.attacker[level] * _SCATTER_1
    key = (key ^ (key >> _33) ^ t.defender[level]) * _SCATTER_2
    mixed: np.uint64 = (key ^ (key >> _33)) * _SCATTER_1 | ONE
    return mixed


@inner
def _has_failed(t: Threats, level: int) -> bool:
    if len(t.failed_keys) == 0:
        return False
    key = _failure_key(t, level)
    return bool(t.failed_keys[int(key >> _FAILED_SHIFT)] == key)


@inner
def _store_sequence(t: Threats, level: int, completes: np.uint64) -> None:
    gains, replies = t.gain[level], completes
    for above in range(level):
        gains |= t.gain[above]
        replies |= t.reply[above]
    t.winning[GAINS] = gains
    t.winning[REPLIES] = replies


@inner
def hindering_cells(attacker: np.uint64, defender: np.uint64, sets: WinningSets, t: Threats) -> np.uint64:
    """The cells by which the defender can hinder the winning sequence: those in it, and counter-threats."""
    replies = t.winning[REPLIES]
    cells, stones = t.winning[GAINS] | replies, defender | replies
    for number in range(len(sets.masks)):
        mask = sets.masks[number]
        if mask & attacker == NONE and count(mask & ~stones) <= _TWO:
            cells |= mask
    hindering: np.uint64 = cells & ~(attacker | defender)
    return hindering


@inner
def proved_value(nodes: NDArray[np.void], node: int, is_complete: bool) -> int:
    """The value of a node of a tree that its children prove: LOSS if one of them is a WIN.

    Else, if all values are known and `is_complete` says that no child is missing, the negative of the best.
    """
    best, first = LOSS, nodes[node].first_child
    for child in range(first, first + nodes[node].n_children):
        if nodes[child].value == WIN:
            return LOSS
        is_complete &= nodes[child].value != UNKNOWN
        if nodes[child].value > best:
            best = nodes[child].value
    return int(-best) if is_complete else UNKNOWN
