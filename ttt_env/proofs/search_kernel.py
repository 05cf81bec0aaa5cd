"""The proof search, compiled: depth-first proof-number search for a question whose answer is yes or no.

The question is always "does the attacker win?". The attacker is one of the players; the other, the defender,
wants no more than not to lose. What answers it here, or leaves few moves:

- a player who can win does; one who must block does; one who must block twice has lost;
- the defender holds if Σ 2^(−empty cells) over the sets without defender stones is small enough (Erdős and
  Selfridge, On a combinatorial game, 1973); "no set left" is the smallest sum there is;
- the defender holds by a reply after which pairs of cells break every set (`pairing`);
- the attacker wins by a sequence of threats, each of which leaves one reply; and if it would do so after a
  pass of the defender, the defender has to play where that hinders the sequence (Allis, Searching for
  solutions in games and artificial intelligence, 1994).

In a misère game, where who completes a set loses, none of this holds; there the defender holds if the
attacker has a stone in every set.

A position in which the defender holds has a zone of empty cells: the defender still holds if the attacker has
more stones outside of it, or fewer anywhere. So the zone that refutes one move of the attacker refutes every
move outside of it (Shih, Wu, Wei and Wu, A novel approach to solving goal-achieving problems for board games,
2022). A zone holds every cell that the defender's strategy takes and, of each set that the strategy leaves
open, enough empty cells that the attacker never completes it.

A position has two numbers, which grow with the work that is left to prove that it is won, and that it is not:
the least number of a move for the player who has the choice; for the other the largest number and one for
each further move (Ueda, Hashimoto, Hashimoto and Iida, Weak proof-number search, 2008). The search goes to
the position where the answer is nearest, and stays below a move while its numbers keep within limits (Nagai,
Df-pn algorithm for searching AND/OR trees and its applications, 2002). The less a move not yet tried weighs
in these sums, of both players, the larger is its number.

`ProofSearch` is the whole state of a search, so `search` may stop after any number of nodes and be called
again. Positions that were met before, or symmetric ones, keep their numbers in a table.
"""

import os
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, ONE, cell_of, completing, count, is_several, lowest
from ttt_env.compiled.canonical import (
    COMPLETE,
    NO,
    OPEN,
    YES,
    codes_of,
    heaviest,
    least_code,
    moved,
    stone_codes,
    weigh,
)
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.references import by_reference
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.threats import Threats, hindering, new_threats, wins_by_threats
from ttt_env.proofs.pairing_kernel import Pairs, holds_by_groups, new_pairs
from ttt_env.rules.boards import Masks
from ttt_env.rules.game import Game
from ttt_env.rules.symmetry import automorphisms

NEVER = (1 << 28) - 1  # the number of what is impossible
_ENTER, _CHOOSE, _OVER = 0, 1, 2
_STEPS = (20, 10)  # between the first numbers of the attacker's and of the defender's moves
_BUCKET = 4  # entries of the table that may hold a position
_ALL = 64  # cells of a set, or more
_LONG = 8  # the effort of what is worth a checkpoint, 64 nodes or more, where not all is kept
_KEPT = 1 << 16  # entries that a checkpoint keeps whatever their effort
_FIRST_BITS, _MAX_BITS = 14, 26  # of the number of buckets
_MEMORY_SHARE = 32  # a table takes no more than this fraction of the memory
_SCATTER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two products are the same (Knuth, 1973)
_64, _28, _56, _NUMBER = (np.uint64(n) for n in (64, 28, 56, NEVER))
_THREAT_NODES = 1000  # threats tried for one sequence
_PAIRED_REPLIES = 10  # of the defender, after which pairs are looked for
_PAIRS = 150  # tried after one reply

# The indices of `ProofSearch.state`.
DEPTH, PHASE, ANSWER, NODES, ROOT_ATTACKS, BY_THREATS, TABLE_BITS = range(7)


class ProofSearch(NamedTuple):
    """The positions from the root to the current one, `[depth]`, and the transposition table.

    `codes` are those of each position by `canonical.stone_codes`, which `of_stones` holds, the attacker's
    stones first; the symmetries themselves are `permutations` and their `inverses`. Of the moves in a
    position, `[depth, cells]`, are kept the cell, the key of the position after it and the symmetry that
    gives this key, the number with which it begins, and the zone if the defender holds after it; `limits`
    `[depth, 2]` are those of its two numbers. `zones` are those of positions in which the defender holds.
    """

    attacker: Masks
    defender: Masks
    candidates: Masks
    n_moves: NDArray[np.int64]
    moves: NDArray[np.int64]
    keys: Masks
    images: NDArray[np.int64]
    first_numbers: NDArray[np.int64]
    zones_after: Masks
    zones: Masks
    limits: NDArray[np.int64]
    entered: NDArray[np.int64]
    weights: NDArray[np.int64]
    codes: Masks
    of_stones: Masks
    permutations: NDArray[np.uint8]
    inverses: NDArray[np.uint8]
    state: NDArray[np.int64]
    table: Masks
    threats: Threats
    pairs: Pairs


# --- A position -------------------------------------------------------------------------------------------


@inner
def _judge_attack(s: ProofSearch, depth: int, sets: WinningSets) -> int:
    """The answer where the attacker is to move, with the zone; or OPEN, with `candidates` and `weights`."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    s.candidates[depth] = completing(attacker, defender, sets.masks)
    if s.candidates[depth] != NONE:
        return YES
    block = completing(defender, attacker, sets.masks)
    if is_several(block):
        s.zones[depth] = _with_cells_of_sets(block, 2, attacker, defender, sets)
        return NO
    total = weigh(attacker, defender, sets.masks, weights)
    s.candidates[depth] = block if block != NONE else sets.full & ~(attacker | defender)
    best = heaviest(s.candidates[depth], weights)
    if total == 0 or total + weights[cell_of(best)] < COMPLETE:
        s.zones[depth] = _with_cells_of_sets(block, _ALL, attacker, defender, sets)
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
        s.zones[depth] = _with_cells_of_sets(lowest(win), 1, attacker, defender, sets)
        return NO
    block = completing(attacker, defender, sets.masks)
    s.candidates[depth] = block if block != NONE else sets.full & ~(attacker | defender)
    if is_several(block):
        return YES
    total = weigh(attacker, defender, sets.masks, weights)
    if block == NONE and total < COMPLETE:
        s.zones[depth] = _with_cells_of_sets(NONE, _ALL, attacker, defender, sets)
        return NO
    if block == NONE and wins_by_threats(attacker, defender, NONE, sets, s.threats, _THREAT_NODES):
        s.candidates[depth] = hindering(attacker, defender, sets, s.threats)
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
        n_pairs = holds_by_groups(s.attacker[depth], s.defender[depth] | reply, sets, s.pairs, _PAIRS, 0)
        if n_pairs >= 0:
            s.candidates[depth] = s.zones[depth] = reply
            for number in range(n_pairs):
                s.zones[depth] |= s.pairs.chosen[number]
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


# --- Zones ------------------------------------------------------------------------------------------------


@inner
def _with_cells_of_sets(
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


@inner
def _zone_after(s: ProofSearch, depth: int, move: int) -> np.uint64:
    """The zone of the position after this move, in which the defender holds."""
    zone = s.table[_place(s, s.keys[depth, move]), 2]
    return moved(zone, s.inverses, s.images[depth, move])


@inner
def _cover(s: ProofSearch, depth: int, zone: np.uint64) -> None:
    """Remember that the attacker does not win by a move outside of this zone, which is that of another."""
    for move in range(s.n_moves[depth]):
        key = s.keys[depth, move]
        if zone & (ONE << np.uint64(s.moves[depth, move])) == NONE and not _is_held(s, key):
            _remember(s, key, NEVER, 0, moved(zone, s.permutations, s.images[depth, move]), 0)


@inner
def _cover_by_known(s: ProofSearch, depth: int) -> None:
    """`_cover` by the zones of all moves after which the defender is known to hold."""
    for move in range(s.n_moves[depth]):
        if _is_held(s, s.keys[depth, move]):
            _cover(s, depth, _zone_after(s, depth, move))


@inner
def _zone_of_moves(s: ProofSearch, depth: int, sets: WinningSets) -> np.uint64:
    """The zone of a position in which the defender holds by a move or, if the attacker moves, after all."""
    if sets.misere:
        return sets.full
    zones, attacking, left = s.zones_after[depth], attacks(s, depth), NONE
    for move in range(s.n_moves[depth]):
        if _is_held(s, s.keys[depth, move]):
            stone = ONE << np.uint64(s.moves[depth, move])
            zones[move], left = _zone_after(s, depth, move) | (NONE if attacking else stone), left | stone
    if not attacking:
        return np.uint64(zones[_move_of_smallest_zone(s, depth, left)])
    zone = NONE
    while left != NONE:  # until each move has its own zone joined, or is outside of a joined one
        move = _move_of_smallest_zone(s, depth, left)
        zone |= zones[move]
        left &= zones[move] & ~(ONE << np.uint64(s.moves[depth, move]))
    image = zone  # of symmetric moves only one is listed
    for symmetry in range(1, len(s.of_stones)):
        if s.codes[depth, symmetry] == s.codes[depth, 0]:
            image |= moved(zone, s.permutations, symmetry)
    attacker, defender = s.attacker[depth], s.defender[depth]
    block = completing(defender, attacker, sets.masks)
    return image if block == NONE else _with_cells_of_sets(image | block, 2, attacker, defender, sets)


@inner
def _move_of_smallest_zone(s: ProofSearch, depth: int, cells: np.uint64) -> int:
    best, fewest = 0, _ALL + 1
    for move in range(s.n_moves[depth]):
        if cells & (ONE << np.uint64(s.moves[depth, move])) != NONE:
            n_cells = int(count(s.zones_after[depth, move]))
            if n_cells < fewest:
                best, fewest = move, n_cells
    return best


# --- The search -------------------------------------------------------------------------------------------


@compiled
def search(s: ProofSearch, sets: WinningSets, n_nodes: int) -> int:
    """The answer, YES or NO; OPEN if `n_nodes` nodes more were not enough, and another call searches on.

    With none at all the root is judged, so that its `candidates` and `weights` are known.
    """
    s, sets = by_reference(s), by_reference(sets)
    if n_nodes == 0:
        judge(s, 0, sets)
    stop = s.state[NODES] + n_nodes
    while s.state[NODES] < stop:
        if s.state[PHASE] == _OVER:
            return int(s.state[ANSWER])
        depth = s.state[DEPTH]
        won, not_won = _enter(s, sets) if s.state[PHASE] == _ENTER else _choose(s, sets)
        if won != NEVER or not_won != NEVER:
            _leave(s, depth, won, not_won, sets)  # only here: it is compiled into each of its callers
    return OPEN


@inner
def _enter(s: ProofSearch, sets: WinningSets) -> tuple[int, int]:
    """The numbers of a position that is known or decided; else both `NEVER`, and its moves are listed."""
    depth = s.state[DEPTH]
    s.state[NODES] += 1
    s.entered[depth] = s.state[NODES]
    image = least_code(s.codes[depth])
    won, not_won = _numbers(s, s.codes[depth, image] * _SCATTER)
    if won == 0 or not_won == 0:
        zone = s.table[_place(s, s.codes[depth, image] * _SCATTER), 2]
        s.zones[depth] = moved(zone, s.inverses, image)
        return won, not_won
    answer = judge(s, depth, sets)
    if answer == OPEN:
        _list_moves(s, depth)
        s.state[PHASE] = _CHOOSE
        return NEVER, NEVER
    return (0, NEVER) if answer == YES else (NEVER, 0)


@inner
def _list_moves(s: ProofSearch, depth: int) -> None:
    """List the candidates, best first, one of those that lead to symmetric positions."""
    side = 0 if attacks(s, depth) else 1
    candidates, n_moves = s.candidates[depth], 0
    while candidates != NONE:
        stone = heaviest(candidates, s.weights[depth])
        candidates ^= stone
        cell = cell_of(stone)
        code, image = s.codes[depth, 0] + s.of_stones[0, side, cell], 0
        for symmetry in range(1, len(s.of_stones)):
            other = s.codes[depth, symmetry] + s.of_stones[symmetry, side, cell]
            if other < code:
                code, image = other, symmetry
        key, is_new = code * _SCATTER, True
        for move in range(n_moves):
            is_new &= s.keys[depth, move] != key
        if is_new:
            s.moves[depth, n_moves], s.keys[depth, n_moves], s.images[depth, n_moves] = cell, key, image
            s.first_numbers[depth, n_moves] = 1 + n_moves * _STEPS[side]
            n_moves += 1
    s.n_moves[depth] = n_moves
    if side == 0:
        _cover_by_known(s, depth)


@inner
def _choose(s: ProofSearch, sets: WinningSets) -> tuple[int, int]:
    """The numbers of a position, from its moves, if it is decided or over a limit; else make the best move.

    In that case both are `NEVER`.
    """
    depth = s.state[DEPTH]
    side = 0 if attacks(s, depth) else 1
    least, second, most, n_open, best = NEVER, NEVER, 0, 0, 0
    for move in range(s.n_moves[depth]):
        won, not_won = _numbers(s, s.keys[depth, move])
        if won == NEVER and not_won == NEVER:
            any_of, all_of = s.first_numbers[depth, move], 1
        else:
            any_of, all_of = (not_won, won) if side else (won, not_won)
        if any_of < least:
            least, second, best = any_of, least, move
        else:
            second = min(second, any_of)
        if all_of != 0:
            n_open += 1
            most = max(most, all_of)
    rest = NEVER if least == 0 else 0 if n_open == 0 else min(NEVER - 1, most + n_open - 1)
    won, not_won = (rest, least) if side else (least, rest)
    if least >= s.limits[depth, side] or rest >= s.limits[depth, 1 - side] or least == 0 or rest == 0:
        if not_won == 0:
            s.zones[depth] = _zone_of_moves(s, depth, sets)
        return won, not_won
    s.limits[depth + 1, side] = min(s.limits[depth, side], second + max(1, second // 4))
    s.limits[depth + 1, 1 - side] = s.limits[depth, 1 - side] - (n_open - 1)
    _make_move(s, depth, side, s.moves[depth, best])
    return NEVER, NEVER


@inner
def _make_move(s: ProofSearch, depth: int, side: int, cell: int) -> None:
    stone = ONE << np.uint64(cell)
    s.attacker[depth + 1] = s.attacker[depth] | (NONE if side else stone)
    s.defender[depth + 1] = s.defender[depth] | (stone if side else NONE)
    for symmetry in range(len(s.of_stones)):  # inline: a separate function slows the search by a tenth
        s.codes[depth + 1, symmetry] = s.codes[depth, symmetry] + s.of_stones[symmetry, side, cell]
    s.state[DEPTH] = depth + 1
    s.state[PHASE] = _ENTER


@inner
def _leave(s: ProofSearch, depth: int, won: int, not_won: int, sets: WinningSets) -> None:
    """Remember the numbers of a position, and go back to the one before."""
    image = least_code(s.codes[depth])
    zone = moved(s.zones[depth], s.permutations, image) if not_won == 0 else NONE
    _remember(s, s.codes[depth, image] * _SCATTER, won, not_won, zone, s.state[NODES] - s.entered[depth])
    if depth == 0:
        s.state[PHASE], s.state[ANSWER] = _OVER, YES if won == 0 else NO
        return
    s.state[DEPTH], s.state[PHASE] = depth - 1, _CHOOSE
    if not_won == 0 and attacks(s, depth - 1):
        _cover(s, depth - 1, s.zones[depth])
    if s.state[BY_THREATS] == 1:  # other replies that do not hinder this sequence lose to it, too
        s.state[BY_THREATS] = 0
        _keep_moves(s, depth - 1, hindering(s.attacker[depth], s.defender[depth], sets, s.threats))


@inner
def _keep_moves(s: ProofSearch, depth: int, cells: np.uint64) -> None:
    """Keep the moves to these cells; the attacker wins after the others."""
    n_kept = 0
    for move in range(s.n_moves[depth]):
        if cells & (ONE << np.uint64(s.moves[depth, move])) == NONE:
            _remember(s, s.keys[depth, move], 0, NEVER, NONE, 0)
        else:
            s.moves[depth, n_kept] = s.moves[depth, move]
            s.keys[depth, n_kept], s.images[depth, n_kept] = s.keys[depth, move], s.images[depth, move]
            s.first_numbers[depth, n_kept] = s.first_numbers[depth, move]
            n_kept += 1
    s.n_moves[depth] = n_kept


# --- The transposition table ------------------------------------------------------------------------------

# An entry is a key, whose upper bits are the place of its bucket; the two numbers of 28 bits each, below the
# effort: 1 + the binary digits of the nodes that they took, so that the second word is never 0; and the zone.


@inner
def _bucket(s: ProofSearch, key: np.uint64) -> int:
    return _BUCKET * int(key >> (_64 - np.uint64(s.state[TABLE_BITS])))


@inner
def _place(s: ProofSearch, key: np.uint64) -> int:
    """The place of a position in the table; −1 if it is not there."""
    first = _bucket(s, key)
    for place in range(first, first + _BUCKET):
        if s.table[place, 0] == key and s.table[place, 1] != NONE:
            return place
    return -1


@inner
def _numbers(s: ProofSearch, key: np.uint64) -> tuple[int, int]:
    """The two numbers of a position in the table; both `NEVER` if it is not there."""
    place = _place(s, key)
    if place < 0:
        return NEVER, NEVER
    entry = s.table[place, 1]
    # Signed like `NEVER`: of a signed and an unsigned number numba would make two floating-point ones.
    return int(np.int64(entry & _NUMBER)), int(np.int64((entry >> _28) & _NUMBER))


@inner
def _is_held(s: ProofSearch, key: np.uint64) -> bool:
    """True if the table knows that the defender holds."""
    return bool(_numbers(s, key)[1] == 0)


@inner
def _remember(s: ProofSearch, key: np.uint64, won: int, not_won: int, zone: np.uint64, n_nodes: int) -> None:
    """Put numbers and a zone into the table, in the place of what took the least effort."""
    effort = np.uint64(1)
    while n_nodes > 0:
        effort, n_nodes = effort + ONE, n_nodes >> 1
    first = _bucket(s, key)
    chosen, least_effort = first, np.uint64(255)
    for place in range(first, first + _BUCKET):
        entry = s.table[place, 1]
        if s.table[place, 0] == key and entry != NONE:
            chosen, effort = place, max(effort, entry >> _56)
            break
        if entry >> _56 < least_effort:
            chosen, least_effort = place, entry >> _56
    s.table[chosen, 0] = key
    s.table[chosen, 1] = effort << _56 | np.uint64(not_won) << _28 | np.uint64(won)
    s.table[chosen, 2] = zone


# --- Called from Python -----------------------------------------------------------------------------------


def new_search(game: Game) -> ProofSearch:
    """A search of this game with an empty table."""
    depths, n_cells = game.n_cells + 2, game.n_cells
    state = np.zeros(TABLE_BITS + 1, np.int64)
    state[TABLE_BITS] = _FIRST_BITS
    permutations = np.array(automorphisms(game), np.uint8)
    return ProofSearch(
        attacker=np.zeros(depths, np.uint64),
        defender=np.zeros(depths, np.uint64),
        candidates=np.zeros(depths, np.uint64),
        n_moves=np.zeros(depths, np.int64),
        moves=np.zeros((depths, n_cells), np.int64),
        keys=np.zeros((depths, n_cells), np.uint64),
        images=np.zeros((depths, n_cells), np.int64),
        first_numbers=np.zeros((depths, n_cells), np.int64),
        zones_after=np.zeros((depths, n_cells), np.uint64),
        zones=np.zeros(depths, np.uint64),
        limits=np.full((depths, 2), NEVER, np.int64),
        entered=np.zeros(depths, np.int64),
        weights=np.zeros((depths, n_cells), np.int64),
        codes=np.zeros((depths, len(automorphisms(game))), np.uint64),
        of_stones=stone_codes(game, automorphisms(game)),
        permutations=permutations,
        inverses=np.argsort(permutations, axis=1).astype(np.uint8),
        state=state,
        table=np.zeros((_BUCKET << _FIRST_BITS, 3), np.uint64),
        threats=new_threats(game),
        pairs=new_pairs(game),
    )


def n_nodes_left(s: ProofSearch) -> float:
    """The nodes that may be searched until the table should be larger; without end if there is no memory."""
    bits = int(s.state[TABLE_BITS])
    return inf if bits >= _max_table_bits() else (2 << bits) - int(s.state[NODES])


def grown(s: ProofSearch) -> ProofSearch:
    """The same search, with a larger table if no nodes are left for this one."""
    if n_nodes_left(s) > 0:
        return s
    return with_answers(s, int(s.state[TABLE_BITS]) + 2, s.table[s.table[:, 1] != NONE])


def answers_of(s: ProofSearch) -> Masks:
    """The entries of the table, `[answers, 3]`: of a large one those that took 64 positions or more.

    A search that is called again for few nodes each time ends only if what these found is kept.
    """
    answers: Masks = s.table[s.table[:, 1] != NONE]
    return answers if len(answers) <= _KEPT else answers[answers[:, 1] >> _56 >= _LONG]


def with_answers(s: ProofSearch, bits: int, answers: Masks) -> ProofSearch:
    """The search with a table of this size that holds these entries. Raises `ValueError` for a wrong size."""
    if not _FIRST_BITS <= bits <= _MAX_BITS:
        raise ValueError("its answers do not fit into the table")
    buckets = (answers[:, 0] >> np.uint64(64 - bits)).astype(np.int64)
    order = np.argsort(buckets, kind="stable")
    buckets = buckets[order]
    numbers = np.arange(len(buckets)) - np.searchsorted(buckets, buckets)  # within a bucket
    fits = numbers < _BUCKET
    table = np.zeros((_BUCKET << bits, 3), np.uint64)
    table[_BUCKET * buckets[fits] + numbers[fits]] = answers[order[fits]]
    s.state[TABLE_BITS] = bits
    return s._replace(table=table)


@lru_cache(maxsize=1)
def _max_table_bits() -> int:
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not POSIX
        memory = 1 << 32
    return min(_MAX_BITS, (memory // _MEMORY_SHARE // (_BUCKET * 24)).bit_length() - 1)


def set_root(s: ProofSearch, attacker: int, defender: int, attacks: bool) -> None:
    """Begin a search at this position; the table is kept."""
    s.attacker[0], s.defender[0] = attacker, defender
    s.codes[0] = codes_of(s.of_stones, attacker, defender)
    s.state[[DEPTH, PHASE, ROOT_ATTACKS, BY_THREATS]] = 0, _ENTER, attacks, 0


def first_look(s: ProofSearch, sets: WinningSets) -> tuple[int, list[int]]:
    """The candidates at the root, as a mask, and the weights of all cells."""
    s.candidates[0] = 0
    search(s, sets, 0)
    return int(s.candidates[0]), s.weights[0].tolist()
