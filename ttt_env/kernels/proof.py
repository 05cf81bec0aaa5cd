"""The proof search as compiled code: alpha-beta for a question whose answer is yes or no.

`Search` is the whole state of a search, so `search` may stop after any number of nodes and be called again.
Positions that were met before, or symmetric ones, are not searched again. The attacker tries the `WIDTH` best
moves alone; who asks again with a greater width finds wins early (iterative broadening, Ginsberg and Harvey
1992). A yes is always a proof, a no is one if it `IS_EXACT`: no move was left out that could have changed it.
"""

import os
from functools import lru_cache

import numpy as np

from ttt_env.kernels.bits import NONE, ONE, cell_of, compiled
from ttt_env.kernels.proof_moves import (
    ANSWER,
    DEPTH,
    IS_EXACT,
    NO,
    NODES,
    OPEN,
    PHASE,
    ROOT_ATTACKS,
    TABLE_BITS,
    WIDTH,
    YES,
    Rules,
    Search,
    Threats,
    attacks,
    heaviest,
    judge,
)
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import SIGNED_CODE_CELLS
from ttt_env.rules.symmetry import symmetries

ALL = 64  # as many moves as there are cells
_ASCEND, _DESCEND = 0, 1
_BUCKET = 4  # entries of the table in one line of the processor's cache
_FIRST_BITS, _MAX_BITS = 14, 26  # of the number of buckets
_MEMORY_SHARE = 32  # a table takes no more than this fraction of the memory
_LEVELS = 34  # a threat and its reply take two of 64 cells
_SCATTER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two products are the same (Knuth, 1973)
_64, _WIDTH_MASK, _ANSWER_MASK = np.uint64(64), np.int64(127), np.uint64(255)


@compiled
def search(s: Search, rules: Rules, n_nodes: int) -> int:
    """The answer, YES or NO, or OPEN if so many nodes more were not enough."""
    stop = s.state[NODES] + n_nodes
    while s.state[NODES] < stop:
        if s.state[PHASE] == _DESCEND:
            _enter(s, rules)
        elif s.state[DEPTH] == 0:
            return int(s.state[ANSWER])
        else:
            _return_to_parent(s, rules)
    return OPEN


@compiled
def _enter(s: Search, rules: Rules) -> None:
    depth = s.state[DEPTH]
    s.state[PHASE] = _ASCEND
    if _is_known(s, _key(s, depth)):
        return
    s.state[NODES] += 1
    s.entered[depth], s.n_tried[depth], s.is_exact[depth] = s.state[NODES], 0, True
    answer = judge(s, depth, rules)
    if answer == OPEN:
        _try_next(s, depth, rules)
    else:
        s.state[ANSWER], s.state[IS_EXACT] = answer, 1


@compiled
def _try_next(s: Search, depth: int, rules: Rules) -> None:
    stone = heaviest(s.candidates[depth], s.weights[depth])
    s.candidates[depth] ^= stone
    s.n_tried[depth] += 1
    side = 0 if attacks(s, depth) else 1
    s.attacker[depth + 1] = s.attacker[depth] | (NONE if side else stone)
    s.defender[depth + 1] = s.defender[depth] | (stone if side else NONE)
    cell = cell_of(stone)
    for symmetry in range(len(rules.codes)):
        s.codes[depth + 1, symmetry] = s.codes[depth, symmetry] + rules.codes[symmetry, side, cell]
    s.state[DEPTH] = depth + 1
    s.state[PHASE] = _DESCEND


@compiled
def _return_to_parent(s: Search, rules: Rules) -> None:
    depth = s.state[DEPTH] - 1
    s.state[DEPTH] = depth
    attacking = attacks(s, depth)
    if attacking and s.state[ANSWER] == NO:
        s.is_exact[depth] &= s.state[IS_EXACT] == 1
    if (s.state[ANSWER] == YES) == attacking:  # a move that does what the player wants
        _remember(s, depth)
    elif s.candidates[depth] == NONE:
        _settle(s, depth, attacking)
    elif attacking and s.n_tried[depth] >= s.state[WIDTH]:
        s.is_exact[depth] = False
        _settle(s, depth, attacking)
    else:
        _try_next(s, depth, rules)


@compiled
def _settle(s: Search, depth: int, attacking: bool) -> None:
    """No move does what the player wants."""
    s.state[ANSWER] = NO if attacking else YES
    s.state[IS_EXACT] = 1 if s.is_exact[depth] else 0
    _remember(s, depth)


# --- The transposition table ------------------------------------------------------------------------------

# An entry is the key's product with _SCATTER, without the upper bits, which are the place of its bucket, then
# the width for which the answer holds (7 bits), then the answer. No entry is 0: widths are not.


@compiled
def _key(s: Search, depth: int) -> np.uint64:
    key: np.uint64 = s.codes[depth].min() * _SCATTER
    return key


@compiled
def _bucket(s: Search, key: np.uint64) -> int:
    return _BUCKET * int(key >> (_64 - np.uint64(s.state[TABLE_BITS])))


@compiled
def _is_known(s: Search, key: np.uint64) -> bool:
    """Whether the table has an answer that holds; it is then put in the state."""
    bits = np.uint64(s.state[TABLE_BITS])
    first = _bucket(s, key)
    for entry in s.table[first : first + _BUCKET]:
        if entry >> bits == (key << bits) >> bits:
            answer = int(entry & ONE)
            width = int(entry >> ONE) & _WIDTH_MASK
            if width >= s.state[WIDTH] or answer == YES:
                s.state[ANSWER] = answer
                s.state[IS_EXACT] = 1 if width >= ALL or answer == YES else 0
                return True
    return False


@compiled
def _remember(s: Search, depth: int) -> None:
    """Put the answer in the table: each of a bucket's entries is for searches of another size."""
    key, bits = _key(s, depth), np.uint64(s.state[TABLE_BITS])
    n_nodes = s.state[NODES] - s.entered[depth]
    place = 0 if n_nodes >= 4096 else 1 if n_nodes >= 64 else 2 if n_nodes >= 4 else 3
    width = ALL if s.state[IS_EXACT] == 1 else s.state[WIDTH]
    entry = np.uint64(width << 1 | s.state[ANSWER])
    s.table[_bucket(s, key) + place] = (key << bits) | entry


# --- From outside -----------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def rules_of(game: Game) -> Rules:
    """The rules of a game of up to 64 cells as arrays."""
    through = np.zeros((game.n_cells, max(map(len, game.winning_masks_through))), np.uint64)
    for cell, masks in enumerate(game.winning_masks_through):
        through[cell, : len(masks)] = masks
    return Rules(
        np.uint64(game.full_mask),
        np.array(game.winning_masks, np.uint64),
        through,
        np.array([len(masks) for masks in game.winning_masks_through]),
        _codes(game),
        1 << min(max(map(len, game.winning_sets)), 40),
        game.misere,
    )


def _codes(game: Game) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
    """What each stone adds to a position's code, `[symmetries, 2, cells]`: base three, or random numbers.

    Random numbers for boards of more than 39 cells: two of 10⁸ positions then have the same code with a
    probability below 1 in 1000 (Zobrist, A new hashing method with application for game playing, 1970).
    """
    if game.n_cells <= SIGNED_CODE_CELLS:
        digits = np.array([[stone * 3**cell for cell in range(game.n_cells)] for stone in (1, 2)], np.uint64)
    else:
        digits = np.random.default_rng(0).integers(0, 1 << 64, (2, game.n_cells), np.uint64)
    return np.stack([digits[:, list(permutation)] for permutation in symmetries(game)])


def new_search(game: Game) -> Search:
    """A search of this game with an empty table."""
    depths = game.n_cells + 2
    state = np.zeros(TABLE_BITS + 1, np.int64)
    state[TABLE_BITS] = _FIRST_BITS
    return Search(
        attacker=np.zeros(depths, np.uint64),
        defender=np.zeros(depths, np.uint64),
        candidates=np.zeros(depths, np.uint64),
        n_tried=np.zeros(depths, np.int64),
        is_exact=np.zeros(depths, np.bool_),
        entered=np.zeros(depths, np.int64),
        weights=np.zeros((depths, game.n_cells), np.int64),
        codes=np.zeros((depths, len(symmetries(game))), np.uint64),
        state=state,
        table=np.zeros(_BUCKET << _FIRST_BITS, np.uint64),
        threats=_new_threats(),
    )


def _new_threats() -> Threats:
    return Threats(
        attacker=np.zeros(_LEVELS, np.uint64),
        defender=np.zeros(_LEVELS, np.uint64),
        block=np.zeros(_LEVELS, np.uint64),
        gain=np.zeros(_LEVELS, np.uint64),
        reply=np.zeros(_LEVELS, np.uint64),
        tried=np.zeros(_LEVELS, np.int64),
        found=np.zeros(2, np.uint64),
    )


def grown(s: Search) -> Search:
    """The same search with a larger table, if it has filled this one and there is memory for another."""
    bits = int(s.state[TABLE_BITS])
    if s.state[NODES] < 2 << bits or bits >= _most_bits():
        return s
    old, new, more = np.uint64(bits), np.uint64(bits + 2), np.zeros(4 * len(s.table), np.uint64)
    places = np.flatnonzero(s.table)
    entries = s.table[places]
    keys = (places // _BUCKET).astype(np.uint64) << (_64 - old) | entries >> old
    at = (keys >> (_64 - new)).astype(np.int64) * _BUCKET + places % _BUCKET
    more[at] = keys << new | entries & _ANSWER_MASK
    s.state[TABLE_BITS] = bits + 2
    return s._replace(table=more)


@lru_cache(maxsize=1)
def _most_bits() -> int:
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not POSIX
        memory = 1 << 32
    return min(_MAX_BITS, (memory // _MEMORY_SHARE // (_BUCKET * 8)).bit_length() - 1)


def set_root(s: Search, rules: Rules, attacker: int, defender: int, attacks: bool, width: int) -> None:
    """Begin at this position; what the table knows is kept."""
    s.attacker[0], s.defender[0] = attacker, defender
    s.codes[0] = 0
    for side, stones in enumerate((attacker, defender)):
        for cell in range(rules.codes.shape[2]):
            if stones >> cell & 1:
                s.codes[0] += rules.codes[:, side, cell]
    s.state[[DEPTH, PHASE, WIDTH, ROOT_ATTACKS]] = 0, _DESCEND, width, attacks


def first_look(s: Search, rules: Rules) -> tuple[int, list[int]]:
    """The candidates at the root, as a mask, and the weights of all cells."""
    s.candidates[0] = 0
    judge(s, 0, rules)
    return int(s.candidates[0]), s.weights[0].tolist()


def is_exact(s: Search) -> bool:
    """Whether the last answer holds for any width."""
    return bool(s.state[IS_EXACT])
