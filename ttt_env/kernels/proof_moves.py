"""What a proof search sees in one position, as compiled code: an answer, or the moves worth a search.

The question is always "does the attacker win?". The attacker is one of the players; the other, the defender,
wants no more than not to lose. What answers it here, or leaves few moves:

- who can win does; who must block does; who must block twice has lost;
- the defender holds if Σ 2^(−empty cells) over the sets without defender stones is small enough (Erdős and
  Selfridge, On a combinatorial game, 1973); "no set left" is the smallest sum there is;
- the attacker wins by a sequence of threats, each of which leaves one reply; and if it would do so after a
  pass of the defender, the defender has to play where that hinders the sequence (Allis, Searching for
  solutions in games and artificial intelligence, 1994).

Moves are ordered by these sums, of both players. In a misère game, where who completes a set loses, none of
this holds; there the defender holds if the attacker has a stone in every set.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.kernels.bits import NONE, cell_of, compiled, completing, count, is_several, lowest

Masks = NDArray[np.uint64]

NO, YES, OPEN = 0, 1, 2
_TWO = np.uint64(2)
_LEAST = -(1 << 62)
_THREAT_NODES = 100  # threats that are tried for one sequence

# What `Search.state` holds.
DEPTH, PHASE, ANSWER, IS_EXACT, NODES, WIDTH, ROOT_ATTACKS, TABLE_BITS = range(8)


class Rules(NamedTuple):
    """A game: its cells, its sets, and those through each cell, `through[cell, :n_through[cell]]`.

    `codes` `[symmetries, 2, cells]` is what an attacker's and a defender's stone add to the code of a
    position that is moved by a symmetry; the smallest of these codes is the position's.
    `unit` is a set that is complete, in the sums of Erdős and Selfridge.
    """

    full: np.uint64
    sets: Masks
    through: Masks
    n_through: NDArray[np.int64]
    codes: Masks
    unit: int
    misere: bool


class Threats(NamedTuple):
    """The sequence of threats that is being tried: a level for each threat, `[levels]`.

    `gain` and `reply` are the cells of the two players, `block` is where the attacker has to play, if
    anywhere. `found` are the attacker's and the defender's cells of a sequence that wins.
    """

    attacker: Masks
    defender: Masks
    block: Masks
    gain: Masks
    reply: Masks
    tried: NDArray[np.int64]
    found: Masks


class Search(NamedTuple):
    """The positions from the root to where the search stands, `[depth]`, and the transposition table."""

    attacker: Masks
    defender: Masks
    candidates: Masks
    n_tried: NDArray[np.int64]
    is_exact: NDArray[np.bool_]
    entered: NDArray[np.int64]
    weights: NDArray[np.int64]
    codes: Masks
    state: NDArray[np.int64]
    table: Masks
    threats: Threats


# --- Threats ----------------------------------------------------------------------------------------------


@compiled
def wins_by_threats(
    attacker: np.uint64, defender: np.uint64, block: np.uint64, rules: Rules, threats: Threats
) -> bool:
    """Whether the attacker, to move, wins by threats alone; False also if too many were tried."""
    t, level, budget = threats, 0, _THREAT_NODES
    _push_threat(t, 0, attacker, defender, block)
    while level >= 0 and budget > 0:
        if not _next_threat(t, level, rules):
            level -= 1
            continue
        budget -= 1
        gain, reply = t.gain[level], t.reply[level]
        after, met = t.attacker[level] | gain, t.defender[level] | reply
        completes = completing(after, t.defender[level], _through(rules, gain))
        if is_several(completes):
            _keep_sequence(t, level, completes)
            return True
        forced = completing(met, after, _through(rules, reply))
        if not is_several(forced):
            level += 1
            _push_threat(t, level, after, met, forced)
    return False


@compiled
def _through(rules: Rules, stone: np.uint64) -> Masks:
    cell = cell_of(stone)
    return rules.through[cell, : rules.n_through[cell]]


@compiled
def _push_threat(t: Threats, level: int, attacker: np.uint64, defender: np.uint64, block: np.uint64) -> None:
    t.attacker[level], t.defender[level], t.block[level], t.tried[level] = attacker, defender, block, 0


@compiled
def _next_threat(t: Threats, level: int, rules: Rules) -> bool:
    """Put the next pair of gain and reply at this level: the empty cells of a set that lacks two."""
    while t.tried[level] < 2 * len(rules.sets):
        number = t.tried[level]
        t.tried[level] += 1
        mask = rules.sets[number >> 1]
        rest = mask & ~t.attacker[level]
        if mask & t.defender[level] == NONE and count(rest) == _TWO:
            gain = lowest(rest) if number & 1 else rest ^ lowest(rest)
            if t.block[level] == NONE or t.block[level] == gain:
                t.gain[level], t.reply[level] = gain, rest ^ gain
                return True
        elif number & 1 == 0:
            t.tried[level] += 1
    return False


@compiled
def _keep_sequence(t: Threats, level: int, completes: np.uint64) -> None:
    t.found[0], t.found[1] = t.gain[level], completes
    for above in range(level):
        t.found[0] |= t.gain[above]
        t.found[1] |= t.reply[above]


@compiled
def _hindering(attacker: np.uint64, defender: np.uint64, rules: Rules, threats: Threats) -> np.uint64:
    """The cells by which the defender can hinder the sequence found: its own, and counter-threats."""
    cells = threats.found[0] | threats.found[1]
    stones = defender | threats.found[1]
    for mask in rules.sets:
        if mask & attacker == NONE and count(mask & ~stones) <= _TWO:
            cells |= mask
    hindering: np.uint64 = cells & ~(attacker | defender)
    return hindering


# --- A position -------------------------------------------------------------------------------------------


@compiled
def weigh(stones: np.uint64, others: np.uint64, rules: Rules, weights: NDArray[np.int64]) -> int:
    """Add to each empty cell the sum over the sets without `others` that hold it; all of them together."""
    total = 0
    for mask in rules.sets:
        if mask & others == NONE:
            rest = mask & ~stones
            weight = max(rules.unit >> int(count(rest)), 1)
            total += weight
            while rest != NONE:
                stone = lowest(rest)
                rest ^= stone
                weights[cell_of(stone)] += weight
    return total


@compiled
def heaviest(cells: np.uint64, weights: NDArray[np.int64]) -> np.uint64:
    """The one of these cells that weighs most, as a mask."""
    best, most = NONE, _LEAST
    while cells != NONE:
        stone = lowest(cells)
        cells ^= stone
        if weights[cell_of(stone)] > most:
            best, most = stone, weights[cell_of(stone)]
    return best


@compiled
def _judge_attack(s: Search, depth: int, rules: Rules) -> int:
    """The answer where the attacker is to move, or OPEN and the candidates."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    s.candidates[depth] = completing(attacker, defender, rules.sets)
    if s.candidates[depth] != NONE:
        return YES
    block = completing(defender, attacker, rules.sets)
    if is_several(block):
        return NO
    total = weigh(attacker, defender, rules, weights)
    s.candidates[depth] = block if block != NONE else rules.full & ~(attacker | defender)
    best = heaviest(s.candidates[depth], weights)
    if total == 0 or total + weights[cell_of(best)] < rules.unit:
        return NO
    if wins_by_threats(attacker, defender, block, rules, s.threats):
        s.candidates[depth] = s.threats.gain[0]
        return YES
    weigh(defender, attacker, rules, weights)
    return OPEN


@compiled
def _judge_defence(s: Search, depth: int, rules: Rules) -> int:
    """The answer where the defender is to move, or OPEN and the candidates."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    if completing(defender, attacker, rules.sets) != NONE:
        return NO
    block = completing(attacker, defender, rules.sets)
    s.candidates[depth] = block if block != NONE else rules.full & ~(attacker | defender)
    if is_several(block):
        return YES
    total = weigh(attacker, defender, rules, weights)
    if block == NONE and total < rules.unit:
        return NO
    if block == NONE and wins_by_threats(attacker, defender, NONE, rules, s.threats):
        s.candidates[depth] = _hindering(attacker, defender, rules, s.threats)
        if s.candidates[depth] == NONE:
            return YES
    weigh(defender, attacker, rules, weights)
    return OPEN


@compiled
def _judge_misere(s: Search, depth: int, rules: Rules, attacking: bool) -> int:
    """The answer in a game that who completes a set loses, or OPEN and the candidates."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    free = rules.full & ~(attacker | defender)
    if weigh(defender, attacker, rules, weights) == 0 or free == NONE:
        return NO
    if attacking:
        s.candidates[depth] = free & ~completing(attacker, defender, rules.sets)
    else:
        s.candidates[depth] = free & ~completing(defender, attacker, rules.sets)
    if s.candidates[depth] == NONE:
        return NO if attacking else YES
    weigh(attacker, defender, rules, weights)
    weights[:] = -weights  # who has least to do with sets lives longest
    return OPEN


@compiled
def attacks(s: Search, depth: int) -> bool:
    """Whether the attacker is to move."""
    return bool((s.state[ROOT_ATTACKS] + depth) & 1 == 1)


@compiled
def judge(s: Search, depth: int, rules: Rules) -> int:
    """The answer at this depth, or OPEN and the candidates and their weights."""
    s.weights[depth, :] = 0
    attacking = attacks(s, depth)
    if rules.misere:
        return _judge_misere(s, depth, rules, attacking)
    return _judge_attack(s, depth, rules) if attacking else _judge_defence(s, depth, rules)
