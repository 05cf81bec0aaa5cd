"""The proof search, compiled: alpha-beta for a question whose answer is yes or no.

The question is always "does the attacker win?". The attacker is one of the players; the other, the defender,
wants no more than not to lose. What answers it here, or leaves few moves:

- a player who can win does; one who must block does; one who must block twice has lost;
- the defender holds if Σ 2^(−empty cells) over the sets without defender stones is small enough (Erdős and
  Selfridge, On a combinatorial game, 1973); "no set left" is the smallest sum there is;
- the defender holds by a reply after which pairs of cells break every set (`pairing`);
- the attacker wins by a sequence of threats, each of which leaves one reply; and if it would do so after a
  pass of the defender, the defender has to play where that hinders the sequence (Allis, Searching for
  solutions in games and artificial intelligence, 1994).

Moves are ordered by these sums, of both players. In a misère game, where who completes a set loses, none of
this holds; there the defender holds if the attacker has a stone in every set.

`ProofSearch` is the whole state of a search, so `search` may stop after any number of nodes and be called
again. Positions that were met before, or symmetric ones, are not searched again. The attacker tries the
`WIDTH` best moves alone; asking again with a greater width finds wins early (iterative broadening, Ginsberg
and Harvey 1992). A yes is always a proof, a no is one if it `IS_EXACT`: no move was left out that could have
changed it.
"""

import os
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, ONE, cell_of, completing, is_several
from ttt_env.compiled.canonical import (
    COMPLETE,
    NO,
    OPEN,
    YES,
    codes_of,
    heaviest,
    least,
    stone_codes,
    weigh,
)
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.threats import Threats, hindering, new_threats, wins_by_threats
from ttt_env.proofs.pairing_kernel import Pairs, holds_by_groups, new_pairs
from ttt_env.rules.boards import Masks
from ttt_env.rules.game import Game
from ttt_env.rules.symmetry import symmetries

ALL = 64  # as many moves as there are cells
_ASCEND, _DESCEND = 0, 1
_BUCKET = 4  # entries of the table in one line of the processor's cache
_FIRST_BITS, _MAX_BITS = 14, 26  # of the number of buckets
_MEMORY_SHARE = 32  # a table takes no more than this fraction of the memory
_SCATTER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two products are the same (Knuth, 1973)
_64, _WIDTH_MASK, _ANSWER_MASK = np.uint64(64), np.int64(127), np.uint64(255)
_THREAT_NODES = 100  # threats tried for one sequence
_PAIRED_REPLIES = 10  # of the defender, after which pairs are looked for
_PAIRS = 50  # tried after one reply

# The indices of `ProofSearch.state`.
DEPTH, PHASE, ANSWER, IS_EXACT, NODES, WIDTH, ROOT_ATTACKS, BY_THREATS, TABLE_BITS = range(9)


class ProofSearch(NamedTuple):
    """The positions from the root to the current one, `[depth]`, and the transposition table.

    `codes` are those of each position by `canonical.stone_codes`, which `of_stones` holds, the attacker's
    stones first.
    """

    attacker: Masks
    defender: Masks
    candidates: Masks
    n_tried: NDArray[np.int64]
    is_exact: NDArray[np.bool_]
    entered: NDArray[np.int64]
    weights: NDArray[np.int64]
    codes: Masks
    of_stones: Masks
    state: NDArray[np.int64]
    table: Masks
    threats: Threats
    pairs: Pairs


# --- A position -------------------------------------------------------------------------------------------


@inner
def _judge_attack(s: ProofSearch, depth: int, sets: WinningSets) -> int:
    """The answer where the attacker is to move; or OPEN, and `candidates` and `weights` are set."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    s.candidates[depth] = completing(attacker, defender, sets.masks)
    if s.candidates[depth] != NONE:
        return YES
    block = completing(defender, attacker, sets.masks)
    if is_several(block):
        return NO
    total = weigh(attacker, defender, sets.masks, weights)
    s.candidates[depth] = block if block != NONE else sets.full & ~(attacker | defender)
    best = heaviest(s.candidates[depth], weights)
    if total == 0 or total + weights[cell_of(best)] < COMPLETE:
        return NO
    if wins_by_threats(attacker, defender, block, sets, s.threats, _THREAT_NODES):
        s.candidates[depth] = s.threats.gain[0]
        s.state[BY_THREATS] = 1
        return YES
    weigh(defender, attacker, sets.masks, weights)
    return OPEN


@inner
def _judge_defence(s: ProofSearch, depth: int, sets: WinningSets) -> int:
    """The answer where the defender is to move; or OPEN, and `candidates` and `weights` are set."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    if completing(defender, attacker, sets.masks) != NONE:
        return NO
    block = completing(attacker, defender, sets.masks)
    s.candidates[depth] = block if block != NONE else sets.full & ~(attacker | defender)
    if is_several(block):
        return YES
    total = weigh(attacker, defender, sets.masks, weights)
    if block == NONE and total < COMPLETE:
        return NO
    if block == NONE and wins_by_threats(attacker, defender, NONE, sets, s.threats, _THREAT_NODES):
        s.candidates[depth] = hindering(attacker, defender, sets, s.threats)
        if s.candidates[depth] == NONE:
            return YES
    weigh(defender, attacker, sets.masks, weights)
    return NO if _holds_by_pairs(s, depth, sets) else OPEN


@inner
def _holds_by_pairs(s: ProofSearch, depth: int, sets: WinningSets) -> bool:
    """True if the defender, to move, has a reply after which pairs hold; it is then the only candidate."""
    cells = s.candidates[depth]
    for _ in range(_PAIRED_REPLIES):
        if cells == NONE:
            break
        reply = heaviest(cells, s.weights[depth])
        cells ^= reply
        if holds_by_groups(s.attacker[depth], s.defender[depth] | reply, sets, s.pairs, _PAIRS, 0) >= 0:
            s.candidates[depth] = reply
            return True
    return False


@inner
def _judge_misere(s: ProofSearch, depth: int, sets: WinningSets, attacking: bool) -> int:
    """The answer in a misère game; or OPEN, and `candidates` and `weights` are set."""
    attacker, defender, weights = s.attacker[depth], s.defender[depth], s.weights[depth]
    free = sets.full & ~(attacker | defender)
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
    """The answer at this depth without a search; or OPEN, and `candidates` and `weights` are set."""
    for cell in range(s.weights.shape[1]):
        s.weights[depth, cell] = 0
    attacking = attacks(s, depth)
    if sets.misere:
        return _judge_misere(s, depth, sets, attacking)
    return _judge_attack(s, depth, sets) if attacking else _judge_defence(s, depth, sets)


# --- The search -------------------------------------------------------------------------------------------


@compiled
def search(s: ProofSearch, sets: WinningSets, n_nodes: int) -> int:
    """The answer, YES or NO; OPEN if `n_nodes` nodes more were not enough, and another call searches on.

    With none at all the root is judged, so that its `candidates` and `weights` are known.
    """
    if n_nodes == 0:
        judge(s, 0, sets)
    stop = s.state[NODES] + n_nodes
    while s.state[NODES] < stop:
        if s.state[PHASE] == _DESCEND:
            _enter(s, sets)
        elif s.state[DEPTH] == 0:
            return int(s.state[ANSWER])
        else:
            _return_to_parent(s, sets)
    return OPEN


@inner
def _enter(s: ProofSearch, sets: WinningSets) -> None:
    depth = s.state[DEPTH]
    s.state[PHASE] = _ASCEND
    if _is_known(s, _key(s, depth)):
        return
    s.state[NODES] += 1
    s.entered[depth], s.n_tried[depth], s.is_exact[depth] = s.state[NODES], 0, True
    answer = judge(s, depth, sets)
    if answer == OPEN:
        _try_next(s, depth)
    else:
        s.state[ANSWER], s.state[IS_EXACT] = answer, 1


@inner
def _try_next(s: ProofSearch, depth: int) -> None:
    stone = heaviest(s.candidates[depth], s.weights[depth])
    s.candidates[depth] ^= stone
    s.n_tried[depth] += 1
    side = 0 if attacks(s, depth) else 1
    s.attacker[depth + 1] = s.attacker[depth] | (NONE if side else stone)
    s.defender[depth + 1] = s.defender[depth] | (stone if side else NONE)
    cell = cell_of(stone)
    for symmetry in range(len(s.of_stones)):  # inline: a separate function slows the search by a tenth
        s.codes[depth + 1, symmetry] = s.codes[depth, symmetry] + s.of_stones[symmetry, side, cell]
    s.state[DEPTH] = depth + 1
    s.state[PHASE] = _DESCEND


@inner
def _return_to_parent(s: ProofSearch, sets: WinningSets) -> None:
    depth = s.state[DEPTH] - 1
    s.state[DEPTH] = depth
    if s.state[BY_THREATS] == 1:  # other replies that do not hinder this sequence lose to it, too
        s.state[BY_THREATS] = 0
        s.candidates[depth] &= hindering(s.attacker[depth + 1], s.defender[depth + 1], sets, s.threats)
    attacking = attacks(s, depth)
    if attacking and s.state[ANSWER] == NO:
        s.is_exact[depth] &= s.state[IS_EXACT] == 1
    if (s.state[ANSWER] == YES) == attacking:  # a move that reaches the player's aim
        _remember(s, depth)
    elif s.candidates[depth] == NONE:
        _settle(s, depth, attacking)
    elif attacking and s.n_tried[depth] >= s.state[WIDTH]:
        s.is_exact[depth] = False
        _settle(s, depth, attacking)
    else:
        _try_next(s, depth)


@inner
def _settle(s: ProofSearch, depth: int, attacking: bool) -> None:
    """Set the answer where no move does what the player to move wants."""
    s.state[ANSWER] = NO if attacking else YES
    s.state[IS_EXACT] = 1 if s.is_exact[depth] else 0
    _remember(s, depth)


# --- The transposition table ------------------------------------------------------------------------------

# An entry is the key's product with _SCATTER, without the upper bits, which are the place of its bucket, then
# the width for which the answer holds (7 bits), then the answer. No entry is 0, as no width is.


@inner
def _key(s: ProofSearch, depth: int) -> np.uint64:
    return least(s.codes[depth]) * _SCATTER


@inner
def _bucket(s: ProofSearch, key: np.uint64) -> int:
    return _BUCKET * int(key >> (_64 - np.uint64(s.state[TABLE_BITS])))


@inner
def _is_known(s: ProofSearch, key: np.uint64) -> bool:
    """True if the table has an answer that holds here; it is then put in the state."""
    bits = np.uint64(s.state[TABLE_BITS])
    first = _bucket(s, key)
    for place in range(first, first + _BUCKET):
        entry = s.table[place]
        if entry >> bits == (key << bits) >> bits:
            answer = int(entry & ONE)
            width = int(entry >> ONE) & _WIDTH_MASK
            if width >= s.state[WIDTH] or answer == YES:
                s.state[ANSWER] = answer
                s.state[IS_EXACT] = 1 if width >= ALL or answer == YES else 0
                return True
    return False


@inner
def _remember(s: ProofSearch, depth: int) -> None:
    """Put the answer in the table: each place in a bucket is for searches of another size."""
    key, bits = _key(s, depth), np.uint64(s.state[TABLE_BITS])
    n_nodes = s.state[NODES] - s.entered[depth]
    place = 0 if n_nodes >= 4096 else 1 if n_nodes >= 64 else 2 if n_nodes >= 4 else 3
    width = ALL if s.state[IS_EXACT] == 1 else s.state[WIDTH]
    entry = np.uint64(width << 1 | s.state[ANSWER])
    s.table[_bucket(s, key) + place] = (key << bits) | entry


# --- Called from Python -----------------------------------------------------------------------------------


def new_search(game: Game) -> ProofSearch:
    """A search of this game with an empty table."""
    depths = game.n_cells + 2
    state = np.zeros(TABLE_BITS + 1, np.int64)
    state[TABLE_BITS] = _FIRST_BITS
    return ProofSearch(
        attacker=np.zeros(depths, np.uint64),
        defender=np.zeros(depths, np.uint64),
        candidates=np.zeros(depths, np.uint64),
        n_tried=np.zeros(depths, np.int64),
        is_exact=np.zeros(depths, np.bool_),
        entered=np.zeros(depths, np.int64),
        weights=np.zeros((depths, game.n_cells), np.int64),
        codes=np.zeros((depths, len(symmetries(game))), np.uint64),
        of_stones=stone_codes(game),
        state=state,
        table=np.zeros(_BUCKET << _FIRST_BITS, np.uint64),
        threats=new_threats(game, remembers=False),
        pairs=new_pairs(game),
    )


def grown(s: ProofSearch) -> ProofSearch:
    """The same search with a larger table, if it has filled this one and there is memory for another."""
    bits = int(s.state[TABLE_BITS])
    if s.state[NODES] < 2 << bits or bits >= _max_table_bits():
        return s
    old, new, table = np.uint64(bits), np.uint64(bits + 2), np.zeros(4 * len(s.table), np.uint64)
    places = np.flatnonzero(s.table)
    entries = s.table[places]
    keys = (places // _BUCKET).astype(np.uint64) << (_64 - old) | entries >> old
    new_places = (keys >> (_64 - new)).astype(np.int64) * _BUCKET + places % _BUCKET
    table[new_places] = keys << new | entries & _ANSWER_MASK
    s.state[TABLE_BITS] = bits + 2
    return s._replace(table=table)


def answers_of(s: ProofSearch) -> Masks:
    """The places in the table with the answers that took 64 positions or more, and these, `[answers, 2]`."""
    places = np.flatnonzero(s.table)
    places = places[places % _BUCKET < 2]
    return np.stack([places.astype(np.uint64), s.table[places]], axis=1)


def with_answers(s: ProofSearch, bits: int, answers: Masks) -> ProofSearch:
    """The search with a table of this size that holds these answers. Raises `ValueError` for a wrong size."""
    if not _FIRST_BITS <= bits <= _max_table_bits() or (answers[:, 0] >= _BUCKET << bits).any():
        raise ValueError("its answers do not fit into the table")
    s.state[TABLE_BITS] = bits
    table = np.zeros(_BUCKET << bits, np.uint64)
    table[answers[:, 0].astype(np.int64)] = answers[:, 1]
    return s._replace(table=table)


@lru_cache(maxsize=1)
def _max_table_bits() -> int:
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not POSIX
        memory = 1 << 32
    return min(_MAX_BITS, (memory // _MEMORY_SHARE // (_BUCKET * 8)).bit_length() - 1)


def set_root(s: ProofSearch, attacker: int, defender: int, attacks: bool, width: int) -> None:
    """Begin a search at this position; the table is kept."""
    s.attacker[0], s.defender[0] = attacker, defender
    s.codes[0] = codes_of(s.of_stones, attacker, defender)
    s.state[[DEPTH, PHASE, WIDTH, ROOT_ATTACKS, BY_THREATS]] = 0, _DESCEND, width, attacks, 0


def first_look(s: ProofSearch, sets: WinningSets) -> tuple[int, list[int]]:
    """The candidates at the root, as a mask, and the weights of all cells."""
    s.candidates[0] = 0
    search(s, sets, 0)
    return int(s.candidates[0]), s.weights[0].tolist()


def is_exact(s: ProofSearch) -> bool:
    """True if the last answer holds for any width."""
    return bool(s.state[IS_EXACT])
