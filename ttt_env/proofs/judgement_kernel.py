"""Positions whose answer a proof search knows without moves, with their zones; and where not, the best moves.

`search_kernel` describes the question, the answers and the zones.
"""

from typing import Any

import numpy as np

from ttt_env.compiled.bits import NONE, ZERO, cell_of, completing, count, is_several, lowest
from ttt_env.compiled.canonical import COMPLETE, NO, OPEN, YES, heaviest, weigh
from ttt_env.compiled.compiler import inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.threats import hindering_cells, wins_by_threats
from ttt_env.proofs.pairing_kernel import holds_by_groups
from ttt_env.proofs.state_kernel import BY_THREATS, ROOT_ATTACKS, ProofSearch

ALL_CELLS = 64  # of a set, or more
_THREAT_NODES = 1000  # threats tried for one sequence
_PAIRED_REPLIES = 7  # of the defender, after which pairs are looked for
_PAIRS: Any = np.int64(60)  # tried after one reply


@inner
def _judge_attack(s: ProofSearch, depth: int, sets: WinningSets) -> int:
    """The answer where the attacker is to move, with the zone; or OPEN, with `candidates` and `weights`."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    s.candidates[depth] = completing(attacker, defender, sets.masks)
    if s.candidates[depth] != NONE:
        return YES
    block = completing(defender, attacker, sets.masks)
    if is_several(block):
        s.zones[depth] = with_cells_of_sets(block, 2, attacker, defender, sets)
        return NO
    total = weigh(attacker, defender, sets.masks, weights)
    s.candidates[depth] = block if block != NONE else sets.full & ~(attacker | defender)
    best = heaviest(s.candidates[depth], weights)
    if total == 0 or total + weights[cell_of(best)] < COMPLETE:
        s.zones[depth] = with_cells_of_sets(block, ALL_CELLS, attacker, defender, sets)
        return NO
    if wins_by_threats(attacker, defender, block, sets, s.threats, _THREAT_NODES):
        s.candidates[depth] = s.threats.gain[0]
        s.state[BY_THREATS] = 1
        return YES
    weigh(defender, attacker, sets.masks, weights)
    return OPEN


@inner
def _judge_defence(s: ProofSearch, depth: int, sets: WinningSets) -> int:
    """The answer where the defender is to move, with the zone; or OPEN, with `candidates` and `weights`."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    win = completing(defender, attacker, sets.masks)
    if win != NONE:
        s.zones[depth] = with_cells_of_sets(lowest(win), 1, attacker, defender, sets)
        return NO
    block = completing(attacker, defender, sets.masks)
    s.candidates[depth] = block if block != NONE else sets.full & ~(attacker | defender)
    if is_several(block):
        return YES
    total = weigh(attacker, defender, sets.masks, weights)
    if block == NONE and total < COMPLETE:
        s.zones[depth] = with_cells_of_sets(NONE, ALL_CELLS, attacker, defender, sets)
        return NO
    if block == NONE and wins_by_threats(attacker, defender, NONE, sets, s.threats, _THREAT_NODES):
        s.candidates[depth] = hindering_cells(attacker, defender, sets, s.threats)
        if s.candidates[depth] == NONE:
            return YES
    weigh(defender, attacker, sets.masks, weights)
    return NO if _holds_by_pairs(s, depth, sets) else OPEN


@inner
def _holds_by_pairs(s: ProofSearch, depth: int, sets: WinningSets) -> bool:
    """True if the defender, to move, has a reply after which pairs hold: they and the reply are the zone."""
    cells = s.candidates[depth]
    for _ in range(_PAIRED_REPLIES):
        if cells == NONE:
            break
        reply = heaviest(cells, s.weights[depth])
        cells ^= reply
        n_pairs = holds_by_groups(s.attacker[depth], s.defender[depth] | reply, sets, s.pairs, _PAIRS, ZERO)
        if n_pairs >= 0:
            s.candidates[depth] = s.zones[depth] = reply
            for number in range(n_pairs):
                s.zones[depth] |= s.pairs.chosen_pairs[number]
            return True
    return False


@inner
def _judge_misere(s: ProofSearch, depth: int, sets: WinningSets, attacking: bool) -> int:
    """The answer in a misère game, all cells as its zone; or OPEN, with `candidates` and `weights`."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    s.zones[depth], free = sets.full, sets.full & ~(attacker | defender)
    if weigh(defender, attacker, sets.masks, weights) == 0 or free == NONE:
        return NO
    if attacking:
        s.candidates[depth] = free & ~completing(attacker, defender, sets.masks)
    else:
        s.candidates[depth] = free & ~completing(defender, attacker, sets.masks)
    if s.candidates[depth] == NONE:
        return NO if attacking else YES
    weigh(attacker, defender, sets.masks, weights)
    for cell in range(len(weights)):  # best are the cells through which sets weigh least
        weights[cell] = -weights[cell]
    return OPEN


@inner
def attacks(s: ProofSearch, depth: int) -> bool:
    """True if the attacker is to move."""
    return bool((s.state[ROOT_ATTACKS] + depth) & 1 == 1)


@inner
def judge(s: ProofSearch, depth: int, sets: WinningSets) -> int:
    """The answer at this depth without a search, with the zone; or OPEN, with `candidates` and `weights`."""
    for cell in range(s.weights.shape[1]):
        s.weights[depth, cell] = 0
    attacking = attacks(s, depth)
    if sets.misere:
        return _judge_misere(s, depth, sets, attacking)
    return _judge_attack(s, depth, sets) if attacking else _judge_defence(s, depth, sets)


@inner
def with_cells_of_sets(
    zone: np.uint64, n_cells: int, attacker: np.uint64, defender: np.uint64, sets: WinningSets
) -> np.uint64:
    """The zone, and in it as many empty cells, or all, of each set that the attacker can still complete."""
    for mask in sets.masks:
        if mask & defender == NONE:
            rest = mask & ~attacker
            n_missing = n_cells - int(count(rest & zone))
            rest &= ~zone
            while n_missing > 0 and rest != NONE:
                zone |= lowest(rest)
                rest ^= lowest(rest)
                n_missing -= 1
    return zone
