"""Depth-limited alpha-beta as compiled code, for every game of up to 64 cells.

Values are whole numbers: the threats of the player to move less the other's, which is the utility of
`planning.lookahead` in fifths, cut off at ±5; ±6 is a win or a loss, 0 a draw. With so few values, all
searches are made with a null window, "is the value at least t?", and the table makes their repetition cheap
(Plaat, Schaeffer, Pijls and de Bruin, Best-first fixed-depth minimax algorithms, 1996). So equals are equal
exactly.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.kernels.bits import NONE, cell_of, compiled, completing, count, is_several
from ttt_env.kernels.proof_moves import NO, OPEN, YES, Masks, Rules, heaviest, weigh

WIN, _MOST_THREATS = 6, 5
_RETURN, _ENTER = 0, 1
_SCATTER = np.uint64(0x9E3779B97F4A7C15)  # odd: Knuth's multiplicative hashing
_TABLE_BITS = np.uint64(20)
_SHIFT = np.uint64(64) - _TABLE_BITS
_1 = np.uint64(1)

# What `Tree.state` holds: the ply of the search and that of the root, how many plies it goes from there.
PLY, ROOT, DEPTH, PHASE, ANSWER, NODES = range(6)


class Tree(NamedTuple):
    """The positions from the root to where the search stands, by ply, and the transposition table.

    `threshold` is the t of "is the value for the player to move at least t?". `codes` are those of
    `proof_kernel.Rules`, with X as the attacker. The table has a position's key, the plies that were looked
    ahead there, the least and the most that the value can be.
    """

    mine: Masks
    theirs: Masks
    candidates: Masks
    threshold: NDArray[np.int64]
    weights: NDArray[np.int64]
    codes: Masks
    state: NDArray[np.int64]
    keys: Masks
    known: NDArray[np.int8]


def new_tree(rules: Rules) -> Tree:
    """A tree with an empty table."""
    n_cells = rules.codes.shape[2]
    return Tree(
        np.zeros(n_cells + 1, np.uint64),
        np.zeros(n_cells + 1, np.uint64),
        np.zeros(n_cells + 1, np.uint64),
        np.zeros(n_cells + 1, np.int64),
        np.zeros((n_cells + 1, n_cells), np.int64),
        np.zeros((n_cells + 1, len(rules.codes)), np.uint64),
        np.zeros(NODES + 1, np.int64),
        np.zeros(1 << int(_TABLE_BITS), np.uint64),
        np.zeros((1 << int(_TABLE_BITS), 3), np.int8),
    )


def set_root(t: Tree, rules: Rules, mine: int, theirs: int, depth: int, threshold: int) -> None:
    """Ask of this position, which is not over, whether its value at this depth is at least `threshold`."""
    ply = (mine | theirs).bit_count()
    t.mine[ply], t.theirs[ply], t.threshold[ply] = mine, theirs, threshold
    t.codes[ply] = 0
    for side, stones in enumerate((theirs, mine) if ply % 2 else (mine, theirs)):
        for cell in range(rules.codes.shape[2]):
            if stones >> cell & 1:
                t.codes[ply] += rules.codes[:, side, cell]
    t.state[[PLY, ROOT, DEPTH, PHASE]] = ply, ply, depth, _ENTER


@compiled
def search(t: Tree, rules: Rules, n_nodes: int) -> int:
    """The answer, YES or NO, or OPEN if so many nodes more were not enough; call it again then."""
    stop = t.state[NODES] + n_nodes
    while t.state[NODES] < stop:
        if t.state[PHASE] == _ENTER:
            _enter(t, rules)
        elif t.state[PLY] == t.state[ROOT]:
            return int(t.state[ANSWER])
        else:
            _return_to_parent(t, rules)
    return OPEN


@compiled
def _enter(t: Tree, rules: Rules) -> None:
    ply = t.state[PLY]
    t.state[PHASE] = _RETURN
    t.state[NODES] += 1
    depth = t.state[DEPTH] + t.state[ROOT] - ply
    answer = _recall(t, ply, depth)
    if answer == OPEN:
        answer = _judge(t, ply, depth, rules)
    if answer == OPEN:
        _try_next(t, ply, rules)
    else:
        t.state[ANSWER] = answer


@compiled
def _judge(t: Tree, ply: int, depth: int, rules: Rules) -> int:
    """The answer if no search is needed, or OPEN and the candidates."""
    free = rules.full & ~(t.mine[ply] | t.theirs[ply])
    threshold = t.threshold[ply]
    if free == NONE:
        return _answer(0 >= threshold)
    if depth == 0:
        return _answer(_utility(t.mine[ply], t.theirs[ply], rules) >= threshold)
    completes = completing(t.mine[ply], t.theirs[ply], rules.sets)
    if rules.misere:
        t.candidates[ply] = free & ~completes
    elif completes != NONE:
        return YES
    else:
        t.candidates[ply] = _not_losing(t, ply, depth, free, rules)
    if t.candidates[ply] == NONE:
        return _answer(-WIN >= threshold)
    t.weights[ply, :] = 0
    weigh(t.mine[ply], t.theirs[ply], rules, t.weights[ply])
    weigh(t.theirs[ply], t.mine[ply], rules, t.weights[ply])
    if rules.misere:
        t.weights[ply, :] = -t.weights[ply]
    return OPEN


@compiled
def _answer(holds: bool) -> int:
    return YES if holds else NO


@compiled
def _not_losing(t: Tree, ply: int, depth: int, free: np.uint64, rules: Rules) -> np.uint64:
    """The cells after which the other player does not win at once, within the depth."""
    block = completing(t.theirs[ply], t.mine[ply], rules.sets)
    if depth < 2 or block == NONE:
        return free
    return NONE if is_several(block) else block


@compiled
def _utility(mine: np.uint64, theirs: np.uint64, rules: Rules) -> int:
    """`ttt_env.agents.planning.lookahead.utility` in fifths."""
    threats = _n_threats(mine, theirs, rules) - _n_threats(theirs, mine, rules)
    if rules.misere:
        threats = -threats
    return max(-_MOST_THREATS, min(_MOST_THREATS, threats))


@compiled
def _n_threats(stones: np.uint64, others: np.uint64, rules: Rules) -> int:
    found = 0
    for mask in rules.sets:
        if mask & others == NONE and count(mask & ~stones) == _1:
            found += 1
    return found


@compiled
def _try_next(t: Tree, ply: int, rules: Rules) -> None:
    stone = heaviest(t.candidates[ply], t.weights[ply])
    t.candidates[ply] ^= stone
    t.mine[ply + 1], t.theirs[ply + 1] = t.theirs[ply], t.mine[ply] | stone
    t.threshold[ply + 1] = 1 - t.threshold[ply]
    cell = cell_of(stone)
    for symmetry in range(len(rules.codes)):
        t.codes[ply + 1, symmetry] = t.codes[ply, symmetry] + rules.codes[symmetry, ply & 1, cell]
    t.state[PLY] = ply + 1
    t.state[PHASE] = _ENTER


@compiled
def _return_to_parent(t: Tree, rules: Rules) -> None:
    """A move whose answer is no is one by which the player to move reaches the threshold."""
    ply = t.state[PLY] - 1
    t.state[PLY] = ply
    if t.state[ANSWER] == NO or t.candidates[ply] == NONE:
        t.state[ANSWER] = YES if t.state[ANSWER] == NO else NO
        _remember(t, ply, t.state[DEPTH] + t.state[ROOT] - ply)
    else:
        _try_next(t, ply, rules)


# --- The transposition table ------------------------------------------------------------------------------


@compiled
def _key(t: Tree, ply: int) -> np.uint64:
    key: np.uint64 = t.codes[ply].min() + _1
    return key


@compiled
def _recall(t: Tree, ply: int, depth: int) -> int:
    """The answer that the table has for this depth, else OPEN. A win that is near is one at any depth."""
    place = int(_key(t, ply) * _SCATTER >> _SHIFT)
    if t.keys[place] != _key(t, ply):
        return OPEN
    looked, least, most = t.known[place]
    if least >= t.threshold[ply] and (looked == depth or (least == WIN and looked <= depth)):
        return YES
    if most < t.threshold[ply] and (looked == depth or (most == -WIN and looked <= depth)):
        return NO
    return OPEN


@compiled
def _remember(t: Tree, ply: int, depth: int) -> None:
    place = int(_key(t, ply) * _SCATTER >> _SHIFT)
    if t.keys[place] != _key(t, ply) or t.known[place, 0] != depth:
        t.keys[place] = _key(t, ply)
        t.known[place, 0], t.known[place, 1], t.known[place, 2] = depth, -WIN, WIN
    if t.state[ANSWER] == YES:
        t.known[place, 1] = max(t.known[place, 1], t.threshold[ply])
    else:
        t.known[place, 2] = min(t.known[place, 2], t.threshold[ply] - 1)
