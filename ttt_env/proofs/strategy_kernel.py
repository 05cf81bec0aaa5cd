"""The replies that are left to answer after each move of a strategy, compiled.

A strategy of one seat, to win or not to lose, is a table: a move for each position in which the seat is to
move, one for all symmetric ones and for all those in which the other has fewer stones: stones of the other
that are not there never hurt, except in a misère game. After the move, replies of the other need no position
of their own in the table

- if the seat can then complete a set, or has won because the other, in a misère game, has completed one;
- if they fill the board, and the seat only has to avoid losing;
- if the seat then wins by a sequence of threats, each of which leaves one reply;
- if, in a strategy not to lose, the weights of the sets that the other can still complete are small enough
  (Erdős and Selfridge, On a combinatorial game, 1973), or pairs of cells break all of them (`pairing`).
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
    size,
)
from ttt_env.compiled.canonical import COMPLETE, canonical, heaviest, moved, weigh
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.threats import GAINS, Threats, wins_soon
from ttt_env.proofs.judgement_kernel import ALL_CELLS, with_cells_of_sets
from ttt_env.proofs.pairing_kernel import Pairs, holds_by_groups
from ttt_env.rules import Game, Masks
from ttt_env.rules.symmetry import automorphisms

MOST_SEQUENCES = 64  # of a position: each one answers a reply
MOST_CELLS = 64  # of a sequence
NO_CELL = 64  # after the end of a sequence
NO_MOVE = 255  # in a position in which the other is to move

# The indices of `Cover.totals`.
N_SEQUENCES, N_OPEN = range(2)


class Cover(NamedTuple):
    """Room for what is found about a batch of `B` positions.

    `n_sequences` `[B]` are the numbers of sequences of cells of each position, and `sequences` these cells,
    then `NO_CELL`: each is a sequence of threats, or the pairs that break every set. `open` are those
    positions, as `canonical` gives them, that the table has to cover; `n_open` `[B]` of them come after each
    position, and `steps` are the reply and the number of the permutation that lead to each. `totals` says how
    many sequences and open positions there are.
    """

    n_sequences: NDArray[np.uint8]
    sequences: NDArray[np.uint8]
    open: Masks
    steps: NDArray[np.int64]
    n_open: NDArray[np.int64]
    totals: NDArray[np.int64]


class Finder(NamedTuple):
    """Room for the search for sequences, and the number of threats or pairs that are tried for each."""

    threats: Threats
    pairs: Pairs
    budget: int


def new_cover(size: int) -> Cover:
    """Room for a batch of this size."""
    n_sequences = size * MOST_SEQUENCES
    return Cover(
        np.zeros(size, np.uint8),
        np.zeros((n_sequences, MOST_CELLS), np.uint8),
        np.zeros((n_sequences, 2), np.uint64),
        np.zeros((n_sequences, 2), np.int64),
        np.zeros(size, np.int64),
        np.zeros(2, np.int64),
    )


def permutations_of(game: Game) -> NDArray[np.uint8]:
    """The automorphisms by which positions are merged, `[automorphisms, cells]`."""
    return np.array(automorphisms(game), np.uint8)


@inner
def _is_answered(
    own: np.uint64,
    other: np.uint64,
    reply: np.uint64,
    gains: Masks,
    n_gains: int,
    sets: WinningSets,
    own_met: np.uint64 = NONE,
    other_met: np.uint64 = NONE,
) -> bool:
    """True if the sequence of threats wins after this reply, before which neither could complete a set.

    If there are stones to be met, they have to be those before one of the threats, which
    `gains[MOST_CELLS]` then is.
    """
    other |= reply
    block = completing_through(other, own, sets, cell_of(reply))
    is_met = other_met == NONE
    for number in range(n_gains):
        gain = gains[number]
        if (own | other) & gain != NONE or block & ~gain != NONE:
            return False
        if own == own_met and other == other_met:
            is_met, gains[MOST_CELLS] = True, gain
        own |= gain
        completes = completing_through(own, other, sets, cell_of(gain))
        if is_several(completes):
            return bool(is_met)
        if completes == NONE:
            return False
        other |= completes
        block = completing_through(other, own, sets, cell_of(completes))
    return False


@inner
def _replies_answered(
    own: np.uint64, other: np.uint64, replies: np.uint64, gains: Masks, n_gains: int, sets: WinningSets
) -> np.uint64:
    """The replies after which a sequence of threats wins."""
    answered = NONE
    while replies != NONE:
        reply = lowest(replies)
        replies ^= reply
        if _is_answered(own, other, reply, gains, n_gains, sets):
            answered |= reply
    return answered


@inner
def _new_sequence(number: int, cover: Cover) -> int:
    """The row for the cells of one more sequence of a position."""
    row = cover.totals[N_SEQUENCES]
    for level in range(MOST_CELLS):
        cover.sequences[row, level] = NO_CELL
    cover.totals[N_SEQUENCES] += 1
    cover.n_sequences[number] += 1
    return int(row)


@inner
def _answer_by_threats(
    own: np.uint64,
    other: np.uint64,
    replies: np.uint64,
    sets: WinningSets,
    finder: Finder,
    number: int,
    cover: Cover,
) -> np.uint64:
    """The replies that no sequence of threats answers; sequences that answer one or more are kept."""
    t, unanswered, reply = finder.threats, NONE, NONE  # a sequence that would win after a pass comes first
    if not is_several(replies):
        replies, reply = NONE, replies
    while True:
        block = NONE if reply == NONE else completing_through(other | reply, own, sets, cell_of(reply))
        if not is_several(block) and wins_soon(own, other | reply, block, sets, t, finder.budget):
            n_gains = size(t.winning[GAINS])
            answered = _replies_answered(own, other, replies | unanswered, t.gain, n_gains, sets)
            replies, unanswered = replies & ~answered, unanswered & ~answered
            if answered != NONE or reply != NONE:
                row = _new_sequence(number, cover)
                for level in range(n_gains):
                    cover.sequences[row, level] = cell_of(t.gain[level])
        elif reply != NONE:
            unanswered |= reply
        if replies == NONE:
            return unanswered
        reply = lowest(replies)
        replies ^= reply


@inner
def _holds_by_pairs(
    own: np.uint64, other: np.uint64, sets: WinningSets, finder: Finder, number: int, cover: Cover
) -> bool:
    """True if pairs break every set of the other, who is to move; they are then kept as one sequence."""
    p = finder.pairs
    n_pairs = holds_by_groups(other, own, sets, p, finder.budget, ZERO)
    if n_pairs >= 0:
        row = _new_sequence(number, cover)
        for level in range(n_pairs):
            first = lowest(p.chosen_pairs[level])
            cover.sequences[row, 2 * level] = cell_of(first)
            cover.sequences[row, 2 * level + 1] = cell_of(p.chosen_pairs[level] ^ first)
    return bool(n_pairs >= 0)


@inner
def _replies(
    own: np.uint64, other: np.uint64, wins: bool, sets: WinningSets, weights: NDArray[np.int64]
) -> np.uint64:
    """The replies after a move that need an answer, which is not to complete a set at once."""
    free = sets.full & ~(own | other)
    if sets.misere:
        is_safe = True
        for mask in sets.masks:
            is_safe &= mask & other != NONE
        return NONE if is_safe and not wins else free & ~completing(other, own, sets.masks)
    if not wins:
        for cell in range(len(weights)):
            weights[cell] = 0
        total = weigh(other, own, sets.masks, weights)
        if total == 0 or total + weights[cell_of(heaviest(free, weights))] < COMPLETE:
            return NONE
    completes = completing(own, other, sets.masks)
    if completes == NONE:
        return free
    return NONE if is_several(completes) else completes


@inner
def _is_wrong(own: np.uint64, other: np.uint64, wins: bool, sets: WinningSets) -> bool:
    """True if the seat's move was wrong: the other has won or can at once, or a needed win is impossible."""
    free = sets.full & ~(own | other)
    if sets.misere:
        for mask in sets.masks:
            if own & mask == mask:
                return True
    else:
        for mask in sets.masks:  # in a table all of them, too, as its positions need not be real ones
            if mask & own == NONE and not is_several(mask & ~other):
                return True
    return wins and free == NONE


@compiled
def follow_replies(
    positions: Masks,
    moves: NDArray[np.uint8],
    wins: bool,
    sets: WinningSets,
    permutations: NDArray[np.uint8],
    finder: Finder | None,
    cover: Cover,
) -> int:
    """The number of positions `[B, 2]` whose moves `[B]` are all right, and `cover` is filled for them.

    It is the index of the first wrong move if there is one. A `finder` searches for sequences, which are
    kept in `cover`; without one the sequences in `cover` are used: each is of different cells of the board,
    of an even number if they are pairs, then `NO_CELL`.
    """
    cover.totals[:] = 0
    if finder is not None:
        cover.n_sequences[:] = 0
    weights, gains = np.zeros(64, np.int64), np.zeros(MOST_CELLS + 1, np.uint64)
    for number in range(len(positions)):
        own, other = positions[number, 0], positions[number, 1]
        if moves[number] != NO_MOVE:
            own |= ONE << np.uint64(moves[number])
        if _is_wrong(own, other, wins, sets):
            return number
        replies = _replies(own, other, wins, sets, weights)
        if finder is None:
            replies = _replies_unanswered(own, other, replies, wins, sets, gains, number, cover)
        elif finder.budget > 0 and replies != NONE and not sets.misere:
            if wins:
                replies = _answer_by_threats(own, other, replies, sets, finder, number, cover)
            elif _holds_by_pairs(own, other, sets, finder, number, cover):
                replies = NONE
        n_open = cover.totals[N_OPEN]
        if not _leave_open(own, other, replies, wins, sets, permutations, cover):
            return number
        cover.n_open[number] = cover.totals[N_OPEN] - n_open
    return len(positions)


@inner
def _leave_open(
    own: np.uint64,
    other: np.uint64,
    replies: np.uint64,
    wins: bool,
    sets: WinningSets,
    permutations: NDArray[np.uint8],
    cover: Cover,
) -> bool:
    """Add the positions after these replies to the open ones; False if a reply ends a game to be won."""
    while replies != NONE:
        reply = lowest(replies)
        replies ^= reply
        if own | other | reply == sets.full:
            if wins:
                return False
            continue
        at = cover.totals[N_OPEN]
        cover.open[at, 0], cover.open[at, 1], number = canonical(own, other | reply, permutations)
        cover.steps[at, 0], cover.steps[at, 1] = cell_of(reply), number
        cover.totals[N_OPEN] += 1
    return True


@inner
def _replies_unanswered(
    own: np.uint64,
    other: np.uint64,
    replies: np.uint64,
    wins: bool,
    sets: WinningSets,
    gains: Masks,
    number: int,
    cover: Cover,
) -> np.uint64:
    """The replies that no sequence of this position answers; moves on to the sequences of the next one."""
    for _ in range(cover.n_sequences[number]):
        sequence = cover.sequences[cover.totals[N_SEQUENCES]]
        cover.totals[N_SEQUENCES] += 1
        if wins:
            n_gains = _gains_of(sequence, gains)
            replies &= ~_replies_answered(own, other, replies, gains, n_gains, sets)
        elif _are_breaking(own, other, sequence, sets):
            replies = NONE
    return replies


@inner
def _gains_of(cells: NDArray[np.uint8], gains: Masks) -> int:
    """The number of threats of a sequence, which `gains` then are, as masks."""
    n_gains = 0
    while n_gains < len(cells) and cells[n_gains] != NO_CELL:
        gains[n_gains] = ONE << np.uint64(cells[n_gains])
        n_gains += 1
    return n_gains


@inner
def _are_breaking(own: np.uint64, other: np.uint64, cells: NDArray[np.uint8], sets: WinningSets) -> bool:
    """True if the pairs of a sequence are free, and every set without an own stone holds one of them."""
    n_cells = 0
    while n_cells < len(cells) and cells[n_cells] != NO_CELL:
        if (own | other) >> np.uint64(cells[n_cells]) & ONE != NONE:
            return False
        n_cells += 1
    for mask in sets.masks:
        is_broken = mask & own != NONE
        for at in range(0, n_cells, 2):
            pair = ONE << np.uint64(cells[at]) | ONE << np.uint64(cells[at + 1])
            is_broken |= mask & pair == pair
        if not is_broken:
            return False
    return True


@compiled
def covering(
    positions: Masks,
    table: Masks,
    permutations: NDArray[np.uint8],
    misere: bool,
    is_reached: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The row of a table that covers each of the positions `[B, 2]`, and the permutation to it: `[B, 2]`.

    A row of the `table` `[T, 2]` covers a position if the seat has the same stones there, and the other no
    more, in a misère game the same. The rows are in ascending order of the seat's stones, which are the least
    of their images. Of several that cover a position it is the one with the most stones; −1 if there is none.
    `is_reached` `[T]` becomes True for each that covers one.
    """
    coverage = np.full((len(positions), 2), -1, np.int64)
    for number in range(len(positions)):
        own, other = positions[number, 0], positions[number, 1]
        least = own
        for symmetry in range(1, len(permutations)):
            least = min(least, moved(own, permutations, symmetry))
        begin, most = np.searchsorted(table[:, 0], least), -1
        for symmetry in range(len(permutations)):
            if moved(own, permutations, symmetry) == least:
                image, row = moved(other, permutations, symmetry), begin
                while row < len(table) and table[row, 0] == least:
                    if image == table[row, 1] or (image & ~table[row, 1] == NONE and not misere):
                        is_reached[row] = True
                        if int(count(table[row, 1])) > most:
                            coverage[number, 0], coverage[number, 1] = row, symmetry
                            most = int(count(table[row, 1]))
                    row += 1
    return coverage


@compiled
def zone_after(own: np.uint64, other: np.uint64, zone: np.uint64, sets: WinningSets) -> np.uint64:
    """The zone of a position after a move of a seat that does not lose; `search_kernel` says what a zone is.

    The given `zone` is that of the pairs that hold, or of all positions after the replies; none where a rule
    answers every reply.
    """
    completes = completing(own, other, sets.masks)
    if zone == NONE and not is_several(completes):  # their weights are small enough
        return with_cells_of_sets(NONE, ALL_CELLS, other, own, sets)
    return zone if completes == NONE else with_cells_of_sets(zone | completes, 2, other, own, sets)


@compiled
def next_threat(
    own: np.uint64,
    other: np.uint64,
    positions: Masks,
    moves: NDArray[np.uint8],
    n_sequences: NDArray[np.uint8],
    sequences: NDArray[np.uint8],
    permutations: NDArray[np.uint8],
    sets: WinningSets,
) -> int:
    """The next cell of a sequence of a table that has led to these stones and wins; −1 if there is none.

    `own` are the stones of a seat that wins; the arrays are the fields of `Strategy`.
    """
    gains = np.zeros(MOST_CELLS + 1, np.uint64)
    for symmetry in range(len(permutations)):
        mine, theirs = moved(own, permutations, symmetry), moved(other, permutations, symmetry)
        first = 0
        for row in range(len(positions)):
            after, others = positions[row, 0] | ONE << np.uint64(moves[row]), positions[row, 1]
            last = first + n_sequences[row]
            if after & ~mine == NONE and others & ~theirs == NONE:
                for number in range(first, last):
                    n_gains, replies = _gains_of(sequences[number], gains), theirs & ~others
                    while replies != NONE:
                        reply = lowest(replies)
                        replies ^= reply
                        if _is_answered(after, others, reply, gains, n_gains, sets, mine, theirs):
                            cell = cell_of(gains[MOST_CELLS])
                            for origin in range(permutations.shape[1]):
                                if permutations[symmetry, origin] == cell:
                                    return origin
            first = last
    return -1
