"""Groups of empty cells in which the defender answers the attacker and so breaks every set, compiled.

In a group of two, a pair, the defender takes the one cell when the attacker takes the other, which breaks
every set that holds both (Hales and Jewett, Regularity and positional games, 1963). What the pairs do not
break may be broken by play in one larger group, which is searched (Uiterwijk, Set matching: an enhancement of
the Hales-Jewett pairing strategy, 2017).

Pairs are chosen one after the other, first for the hardest set: that of the fewest cells for its weight,
which grows when it cannot be broken (Boussemart, Hemery, Lecoutre and Sais, Boosting systematic search by
weighting constraints, 2004). Where no pair is left for it, the last choice with a part in that is changed
(Prosser, Hybrid algorithms for the constraint satisfaction problem, 1993).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, ONE, ZERO, cell_of, count, is_several, lowest, size
from ttt_env.compiled.canonical import COMPLETE, NO, OPEN, YES
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.rules import BOARD_CELLS, Game, Masks

_LEVELS = 33  # a pair takes two of 64 cells
_MOST_PAIRS = 64 * 63 // 2
_TRIED = 1 << 62
_SMALL_GROWTH = 0.1  # the growth of a set's weight where it refuses one pair; 1 where there is none for it
_GROUP_MOVES = 5000  # tried in one group
_REPAIRS = 1000  # pairs tried beside those that held in the last position


class Pairs(NamedTuple):
    """The pairs that are being tried: a level for each pair, `[levels]`.

    `rests` `[levels, sets]` are the cells outside of all pairs that the attacker still lacks of the sets that
    no pair breaks, `n_rests` of them, and `numbers` say which sets these are; `missing` `[sets]` is what the
    attacker lacks of each set. `weights` `[sets]` grow when a set cannot be broken, and stay for the next
    search. `options` `[levels, pairs]` are the pairs to choose from, `chosen_pairs` the choice at each level,
    and `costs` how much they leave to be broken. `level_of` `[cells]` is the level of the pair of each cell;
    the bits of `conflicts` are the levels whose pairs rule others out at this one. `last_pairs` are the pairs
    that held in the last position, then zeros.
    `in_group` `[2 · depths, sets]` is what the attacker lacks in the larger group, before a move of the
    attacker and after it at each depth, `gains` and `replies` `[depths]` the moves of the two players that
    are not tried yet.
    """

    rests: Masks
    n_rests: NDArray[np.int64]
    numbers: NDArray[np.int64]
    missing: Masks
    weights: NDArray[np.float64]
    level_of: NDArray[np.int64]
    conflicts: Masks
    options: Masks
    costs: NDArray[np.int64]
    n_options: NDArray[np.int64]
    chosen_pairs: Masks
    last_pairs: Masks
    in_group: Masks
    n_in_group: NDArray[np.int64]
    gains: Masks
    replies: Masks


def new_pairs(game: Game) -> Pairs:
    """Room for searches of this game."""
    n_sets = len(game.winning_sets)
    return Pairs(
        rests=np.zeros((_LEVELS, n_sets), np.uint64),
        n_rests=np.zeros(_LEVELS, np.int64),
        numbers=np.zeros((_LEVELS, n_sets), np.int64),
        missing=np.zeros(n_sets, np.uint64),
        weights=np.ones(n_sets, np.float64),
        level_of=np.zeros(BOARD_CELLS, np.int64),
        conflicts=np.zeros(_LEVELS, np.uint64),
        options=np.zeros((_LEVELS, _MOST_PAIRS), np.uint64),
        costs=np.zeros((_LEVELS, _MOST_PAIRS), np.int64),
        n_options=np.zeros(_LEVELS, np.int64),
        chosen_pairs=np.zeros(_LEVELS, np.uint64),
        last_pairs=np.zeros(_LEVELS, np.uint64),
        in_group=np.zeros((2 * _LEVELS, n_sets), np.uint64),
        n_in_group=np.zeros(_LEVELS, np.int64),
        gains=np.zeros(_LEVELS, np.uint64),
        replies=np.zeros(_LEVELS, np.uint64),
    )


@inner
def holds_by_groups(
    attacker: np.uint64, defender: np.uint64, sets: WinningSets, p: Pairs, budget: int, max_group: int
) -> int:
    """The number of pairs by which the defender breaks every set, with the attacker to move.

    What they leave, `rests`, is broken by play in one group of at most `max_group` cells. −1 if none were
    found, which may be as `budget` pairs were too few to try. Without a group, as many as can stay of the
    pairs that held last are tried first, because a search asks about similar positions.
    """
    if not _begin(p, attacker, defender, sets, max_group):
        return -1
    n_pairs = -1
    if max_group == 0:
        n_kept = _place_last_pairs(p)
        if n_kept > 0:
            n_pairs = _place_others(p, n_kept, min(budget, _REPAIRS), ZERO)
    if n_pairs < 0:
        n_pairs = _place_others(p, ZERO, budget, max_group)
    if n_pairs >= 0 and max_group == 0:
        for level in range(_LEVELS):
            p.last_pairs[level] = p.chosen_pairs[level] if level < n_pairs else NONE
    return n_pairs


@inner
def _place_last_pairs(p: Pairs) -> int:
    """Choose the pairs that held last if they break a set and leave no single cell; returns their number."""
    level = 0
    for number in range(_LEVELS):
        pair = p.last_pairs[number]
        if pair != NONE and _breaks(p, level, pair) and _cost(p, level, pair) >= 0:
            p.chosen_pairs[level] = pair
            _place(p, level)
            level += 1
    return level


@inner
def _breaks(p: Pairs, level: int, pair: np.uint64) -> bool:
    for number in range(p.n_rests[level]):
        if p.rests[level, number] & pair == pair:
            return True
    return False


@inner
def _place_others(p: Pairs, n_kept: int, budget: int, max_group: int) -> int:
    """`holds_by_groups` with the first `n_kept` pairs as they are."""
    level = n_kept
    while level >= n_kept:
        p.n_options[level] = 0
        p.conflicts[level] = NONE if max_group == 0 else (ONE << np.uint64(level)) - ONE
        unbroken = NONE  # the cells of what no pair breaks
        for number in range(p.n_rests[level]):
            unbroken |= p.rests[level, number]
        answer = OPEN if size(unbroken) > max_group else _takes_all(p, level)
        if answer == NO:
            return level
        if answer == OPEN:
            _list_options(p, level)
        while not _choose(p, level):
            level = _last_conflict(p, level)
            if level < n_kept:
                return -1
        if budget == 0:
            return -1
        budget -= 1
        _place(p, level)
        level += 1
    return -1


@inner
def _last_conflict(p: Pairs, level: int) -> int:
    """The last level whose pair rules others out at this one, and so has to change; −1 if there is none."""
    conflicts = p.conflicts[level]
    while level > 0:
        level -= 1
        if conflicts & (ONE << np.uint64(level)) != NONE:
            p.conflicts[level] |= conflicts ^ (ONE << np.uint64(level))
            return level
    return -1


@inner
def _begin(p: Pairs, attacker: np.uint64, defender: np.uint64, sets: WinningSets, max_group: int) -> bool:
    """Put what the attacker lacks at the first level; False if there is clearly no way to break it."""
    n, room, n_apart = 0, size(sets.full & ~(attacker | defender)) // 2, 0
    for number in range(len(sets.masks)):
        mask = sets.masks[number]
        if mask & defender == NONE:
            rest = mask & ~attacker
            if not is_several(rest):
                return False
            p.rests[0, n], p.numbers[0, n], p.missing[number] = rest, number, rest
            n += 1
            if n_apart <= room and _is_apart(p, rest, n_apart):
                p.rests[1, n_apart] = rest
                n_apart += 1
    p.n_rests[0] = n
    return n_apart <= room or max_group > 0


@inner
def _is_apart(p: Pairs, rest: np.uint64, n_apart: int) -> bool:
    """True if no pair breaks both this set and one of those already known to need a pair each."""
    for number in range(n_apart):
        if is_several(rest & p.rests[1, number]):
            return False
    return True


@inner
def _list_options(p: Pairs, level: int) -> None:
    """The pairs that break the hardest set, without those that leave a single cell of another."""
    hardest, n = _hardest_set(p, level), 0
    cells = p.rests[level, hardest]
    _add_conflicts(p, level, hardest)
    while cells != NONE:
        first = lowest(cells)
        cells ^= first
        others = cells
        while others != NONE:
            pair = first | lowest(others)
            others ^= lowest(others)
            cost = _cost(p, level, pair)
            if cost < 0:
                _add_conflicts(p, level, -1 - cost)
                p.weights[p.numbers[level, -1 - cost]] += _SMALL_GROWTH
            else:
                p.options[level, n], p.costs[level, n] = pair, cost
                n += 1
    p.n_options[level] = n
    if n == 0:
        p.weights[p.numbers[level, hardest]] += 1.0


@inner
def _hardest_set(p: Pairs, level: int) -> int:
    """The set of two cells or, without one, of the fewest for its weight."""
    best, least = 0, np.inf
    for number in range(p.n_rests[level]):
        n_cells = int(count(p.rests[level, number]))
        if n_cells == 2:
            return number
        share = n_cells / p.weights[p.numbers[level, number]]
        if share < least:
            best, least = number, share
    return best


@inner
def _add_conflicts(p: Pairs, level: int, number: int) -> None:
    """Add the levels of the pairs that hold the other cells that the attacker lacks of this set."""
    cells = p.missing[p.numbers[level, number]] & ~p.rests[level, number]
    while cells != NONE:
        cell = lowest(cells)
        cells ^= cell
        p.conflicts[level] |= ONE << np.uint64(p.level_of[cell_of(cell)])


@inner
def _cost(p: Pairs, level: int, pair: np.uint64) -> int:
    """The weight of what is left, Σ 2^(−cells); −1 − the place of a set with a single cell left."""
    total = 0
    for number in range(p.n_rests[level]):
        rest = p.rests[level, number]
        if rest & pair != pair:
            rest &= ~pair
            if not is_several(rest):
                return -1 - number
            total += COMPLETE >> int(count(rest))
    return total


@inner
def _choose(p: Pairs, level: int) -> bool:
    """Choose the pair of least cost that was not chosen yet at this level."""
    best, least = -1, _TRIED
    for number in range(p.n_options[level]):
        if p.costs[level, number] < least:
            best, least = number, p.costs[level, number]
    if best < 0:
        return False
    p.chosen_pairs[level], p.costs[level, best] = p.options[level, best], _TRIED
    return True


@inner
def _place(p: Pairs, level: int) -> None:
    """Put at the next level what the chosen pair does not break."""
    pair, n = p.chosen_pairs[level], 0
    for number in range(p.n_rests[level]):
        rest = p.rests[level, number]
        if rest & pair != pair:
            p.rests[level + 1, n], p.numbers[level + 1, n] = rest & ~pair, p.numbers[level, number]
            n += 1
    p.n_rests[level + 1] = n
    p.level_of[cell_of(lowest(pair))] = p.level_of[cell_of(pair ^ lowest(pair))] = level


# --- One larger group -------------------------------------------------------------------------------------


@inner
def _takes_all(p: Pairs, level: int) -> int:
    """YES if the attacker, to move, can take all of a remaining set; NO if not, OPEN after too many moves."""
    p.n_in_group[0] = p.n_rests[level]
    for number in range(p.n_rests[level]):
        p.in_group[0, number] = p.rests[level, number]
    depth, answer = ZERO, _judge(p, ZERO)
    for _ in range(_GROUP_MOVES):
        if answer == OPEN:  # the next move of the attacker
            if p.gains[depth] == NONE:
                answer = NO
            elif not _gain(p, depth):
                answer = YES
            else:
                _reply(p, depth)
                depth += 1
                answer = _judge(p, depth)
        elif depth == 0:
            return answer
        else:
            depth -= 1
            if answer == NO:
                answer = OPEN
            elif p.replies[depth] != NONE:
                _reply(p, depth)
                depth += 1
                answer = _judge(p, depth)
    return OPEN


@inner
def _judge(p: Pairs, depth: int) -> int:
    """YES if the attacker, to move, can take all of a set, else NO; OPEN if moves have to be tried."""
    total, cells = 0, NONE
    for number in range(p.n_in_group[depth]):
        rest = p.in_group[2 * depth, number]
        if not is_several(rest):
            return YES
        total += COMPLETE >> int(count(rest))
        cells |= rest
    p.gains[depth] = cells
    return NO if 2 * total < COMPLETE else OPEN  # Erdős and Selfridge, On a combinatorial game, 1973


@inner
def _gain(p: Pairs, depth: int) -> bool:
    """Let the attacker take the next cell; False if the defender then had to reply in two cells at once."""
    gain, all_cells, blocks = lowest(p.gains[depth]), NONE, NONE
    p.gains[depth] ^= gain
    for number in range(p.n_in_group[depth]):
        rest = p.in_group[2 * depth, number] & ~gain
        p.in_group[2 * depth + 1, number] = rest
        all_cells |= rest
        if not is_several(rest):
            blocks |= rest
    p.replies[depth] = all_cells if blocks == NONE else blocks
    return not is_several(blocks)


@inner
def _reply(p: Pairs, depth: int) -> None:
    """Let the defender try the next reply."""
    reply, n = lowest(p.replies[depth]), 0
    p.replies[depth] ^= reply
    for number in range(p.n_in_group[depth]):
        rest = p.in_group[2 * depth + 1, number]
        if rest & reply == NONE:
            p.in_group[2 * depth + 2, n] = rest
            n += 1
    p.n_in_group[depth + 1] = n


# --- Called from Python -----------------------------------------------------------------------------------


@compiled
def groups_of(
    attacker: np.uint64, defender: np.uint64, sets: WinningSets, p: Pairs, budget: int, max_group: int
) -> int:
    """`holds_by_groups`, to be called from Python."""
    n_pairs: int = holds_by_groups(attacker, defender, sets, p, budget, max_group)
    return n_pairs
