"""The state of a proof search: the positions from the root to the current one, and the table of numbers."""

import os
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, ONE
from ttt_env.compiled.canonical import stone_codes
from ttt_env.compiled.compiler import inner
from ttt_env.compiled.threats import Threats, new_threats
from ttt_env.proofs.pairing_kernel import Pairs, new_pairs
from ttt_env.rules import Game, Masks
from ttt_env.rules.symmetry import automorphisms

NEVER = (1 << 28) - 1  # the number of what is impossible
_BUCKET = 4  # entries of the table that may hold a position
_LONG = 8  # the effort of what is worth a checkpoint, 64 nodes or more, where not all is kept
_KEPT = 1 << 16  # entries that a checkpoint keeps whatever their effort
_FIRST_BITS, _MAX_BITS = 14, 26  # of the number of buckets
_MEMORY_SHARE = 8  # a table takes no more than this fraction of the memory
_64, _28, _56, _NUMBER = (np.uint64(n) for n in (64, 28, 56, NEVER))

# The indices of `ProofSearch.state`.
DEPTH, PHASE, ANSWER, NODES, ROOT_ATTACKS, BY_THREATS, TABLE_BITS, PATIENCE = range(8)


class ProofSearch(NamedTuple):
    """The positions from the root to the current one, `[depth]`, and the transposition table.

    `codes` are the codes of each position, sums of `of_stones` (`canonical.stone_codes`, the attacker's
    stones first); the symmetries are `permutations` and their `inverses`. Each move in a position, `[depth,
    cells]`, has its cell, the key of the position after it and the symmetry that gives this key, its first
    number, and the zone if the defender holds after it. `limits` `[depth, 2]` bound the two numbers of a
    position; `zones` belong to positions in which the defender holds.
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


def new_search(game: Game) -> ProofSearch:
    """A search of this game with an empty table."""
    depths, n_cells = game.n_cells + 2, game.n_cells
    state = np.zeros(PATIENCE + 1, np.int64)
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


# --- The transposition table ------------------------------------------------------------------------------

# An entry is a key, whose upper bits are the place of its bucket; the two numbers of 28 bits each, below the
# effort: 1 + the binary digits of the nodes that they took, so that the second word is never 0; and the zone.


@inner
def _bucket(s: ProofSearch, key: np.uint64) -> int:
    return _BUCKET * int(key >> (_64 - np.uint64(s.state[TABLE_BITS])))


@inner
def place_of(s: ProofSearch, key: np.uint64) -> int:
    """The place of a position in the table; −1 if it is not there."""
    first = _bucket(s, key)
    for place in range(first, first + _BUCKET):
        if s.table[place, 0] == key and s.table[place, 1] != NONE:
            return place
    return -1


@inner
def numbers_of(s: ProofSearch, key: np.uint64) -> tuple[int, int]:
    """The two numbers of a position in the table; both `NEVER` if it is not there."""
    place = place_of(s, key)
    if place < 0:
        return NEVER, NEVER
    entry = s.table[place, 1]
    # Signed like `NEVER`: of a signed and an unsigned number numba would make two floating-point ones.
    return int(np.int64(entry & _NUMBER)), int(np.int64((entry >> _28) & _NUMBER))


@inner
def is_held(s: ProofSearch, key: np.uint64) -> bool:
    """True if the table knows that the defender holds."""
    return bool(numbers_of(s, key)[1] == 0)


@inner
def remember(s: ProofSearch, key: np.uint64, won: int, not_won: int, zone: np.uint64, n_nodes: int) -> None:
    """Put numbers and a zone into the table, in the place of what took the least effort."""
    effort = np.uint64(1)
    while n_nodes > 0:
        effort, n_nodes = effort + ONE, n_nodes >> 1
    first = _bucket(s, key)
    slot, least_effort = first, np.uint64(255)
    for place in range(first, first + _BUCKET):
        entry = s.table[place, 1]
        if s.table[place, 0] == key and entry != NONE:
            slot, effort = place, max(effort, entry >> _56)
            break
        if entry >> _56 < least_effort:
            slot, least_effort = place, entry >> _56
    s.table[slot, 0] = key
    s.table[slot, 1] = effort << _56 | np.uint64(not_won) << _28 | np.uint64(won)
    s.table[slot, 2] = zone


# --- Its size ---------------------------------------------------------------------------------------------


def n_nodes_left(s: ProofSearch) -> float:
    """The nodes that may be searched until the table should grow; infinite if there is no memory for more."""
    bits = int(s.state[TABLE_BITS])
    return inf if bits >= _max_table_bits() else (2 << bits) - int(s.state[NODES])


def with_larger_table(s: ProofSearch) -> ProofSearch:
    """The same search, with a larger table if no nodes are left for this one."""
    if n_nodes_left(s) > 0:
        return s
    return with_answers(s, int(s.state[TABLE_BITS]) + 2, s.table[s.table[:, 1] != NONE])


def answers_of(s: ProofSearch) -> Masks:
    """The entries of the table, `[answers, 3]`; from a large one only entries of 64 nodes or more.

    A search that is resumed for few nodes each time ends only if these entries are kept.
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
