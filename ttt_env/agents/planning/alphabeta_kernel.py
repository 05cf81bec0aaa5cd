"""Depth-limited alpha-beta as compiled code, for every game.

Values are whole numbers: the threats of the player to move minus the other's, which is the utility of
`planning.lookahead` in fifths, clipped to ±5; ±6 is a win or a loss, 0 a draw. With so few values, all
searches are made with a null window, "is the value at least t?", and the table makes their repetition cheap
(Plaat, Schaeffer, Pijls and de Bruin, Best-first fixed-depth minimax algorithms, 1996). Equal values are
exactly equal.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, SCATTER, cell_of, completing, count, is_several, playable
from ttt_env.compiled.canonical import NO, OPEN, YES, codes_of, heaviest, least_code, stone_codes, weigh
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.rules import Game, Masks, Position

WIN, _MAX_THREATS = 6, 5
_RETURN, _ENTER = 0, 1
_TABLE_BITS = np.uint64(20)
_SHIFT = np.uint64(64) - _TABLE_BITS
_1 = np.uint64(1)

# The indices of `DepthSearch.state`; `DEPTH` is the number of plies that the search looks ahead of the root.
PLY, ROOT, DEPTH, PHASE, ANSWER, NODES = range(6)


class DepthSearch(NamedTuple):
    """The state of a search: the positions from the root to the current one, by ply, and the table.

    `threshold` is the t of "is the value for the player to move at least t?". `codes` are the codes of each
    position by `canonical.stone_codes`, which `of_stones` holds, X's stones first. Each entry of the
    transposition table has the position's key in `keys`, and in `bounds` the depth of its search, the lower
    and the upper bound of the value.
    """

    mine: Masks
    theirs: Masks
    candidates: Masks
    threshold: NDArray[np.int64]
    weights: NDArray[np.int64]
    codes: Masks
    of_stones: Masks
    state: NDArray[np.int64]
    keys: Masks
    bounds: NDArray[np.int8]


def new_search(game: Game) -> DepthSearch:
    """A search of this game with an empty table."""
    n_cells, of_stones = game.n_cells, stone_codes(game)
    return DepthSearch(
        np.zeros(n_cells + 1, np.uint64),
        np.zeros(n_cells + 1, np.uint64),
        np.zeros(n_cells + 1, np.uint64),
        np.zeros(n_cells + 1, np.int64),
        np.zeros((n_cells + 1, n_cells), np.int64),
        np.zeros((n_cells + 1, len(of_stones)), np.uint64),
        of_stones,
        np.zeros(NODES + 1, np.int64),
        np.zeros(1 << int(_TABLE_BITS), np.uint64),
        np.zeros((1 << int(_TABLE_BITS), 3), np.int8),
    )


def set_root(s: DepthSearch, position: Position, depth: int, threshold: int) -> None:
    """Set the question whether the value of this open position, at this depth, is at least `threshold`."""
    ply, mine, theirs = position.ply, position.mine, position.theirs
    s.mine[ply], s.theirs[ply] = mine, theirs
    s.threshold[ply] = threshold
    s.codes[ply] = codes_of(s.of_stones, *((theirs, mine) if ply % 2 else (mine, theirs)))
    s.state[[PLY, ROOT, DEPTH, PHASE]] = ply, ply, depth, _ENTER


@compiled
def search(s: DepthSearch, sets: WinningSets, n_nodes: int) -> int:
    """The answer, YES or NO; OPEN if `n_nodes` further nodes were not enough, and another call continues."""
    stop = s.state[NODES] + n_nodes
    while s.state[NODES] < stop:
        if s.state[PHASE] == _ENTER:
            _enter(s, sets)
        elif s.state[PLY] == s.state[ROOT]:
            return int(s.state[ANSWER])
        else:
            _return_to_parent(s)
    return OPEN


@inner
def _enter(s: DepthSearch, sets: WinningSets) -> None:
    ply = s.state[PLY]
    s.state[PHASE] = _RETURN
    s.state[NODES] += 1
    depth = s.state[DEPTH] + s.state[ROOT] - ply
    answer = _recall(s, ply, depth)
    if answer == OPEN:
        answer = _judge(s, ply, depth, sets)
    if answer == OPEN:
        _try_next(s, ply)
    else:
        s.state[ANSWER] = answer


@inner
def _judge(s: DepthSearch, ply: int, depth: int, sets: WinningSets) -> int:
    """The answer if no search is needed, else OPEN; `candidates` and `weights` are then set."""
    mine, theirs, threshold = s.mine[ply], s.theirs[ply], s.threshold[ply]
    free = playable(sets, mine | theirs)
    if free == NONE:
        return _answer(0 >= threshold)
    if depth == 0:
        # `ttt_env.agents.planning.planners.utility` in fifths
        threats = _n_threats(mine, theirs, sets) - _n_threats(theirs, mine, sets)
        if sets.misere:
            threats = -threats
        return _answer(max(-_MAX_THREATS, min(_MAX_THREATS, threats)) >= threshold)
    completes = completing(mine, theirs, sets.masks) & free
    if sets.misere:
        candidates = free & ~completes
    elif completes != NONE:
        return YES
    else:
        candidates = _safe_moves(mine, theirs, depth, free, sets)
    if candidates == NONE:
        return _answer(-WIN >= threshold)
    s.candidates[ply] = candidates
    for cell in range(s.weights.shape[1]):
        s.weights[ply, cell] = 0
    weigh(mine, theirs, sets.masks, s.weights[ply])
    weigh(theirs, mine, sets.masks, s.weights[ply])
    if sets.misere:
        for cell in range(s.weights.shape[1]):
            s.weights[ply, cell] = -s.weights[ply, cell]
    return OPEN


@inner
def _answer(holds: bool) -> int:
    return YES if holds else NO


@inner
def _safe_moves(
    mine: np.uint64, theirs: np.uint64, depth: int, free: np.uint64, sets: WinningSets
) -> np.uint64:
    """The legal cells that stop the other player from winning at once, if the depth reaches so far."""
    block = completing(theirs, mine, sets.masks) & free
    if depth < 2 or block == NONE:
        return free
    return NONE if is_several(block) else block


@inner
def _n_threats(stones: np.uint64, others: np.uint64, sets: WinningSets) -> int:
    n_threats = 0
    for number in range(len(sets.masks)):
        mask = sets.masks[number]
        if mask & others == NONE and count(mask & ~stones) == _1:
            n_threats += 1
    return n_threats


@inner
def _try_next(s: DepthSearch, ply: int) -> None:
    candidates = s.candidates[ply]
    stone = heaviest(candidates, s.weights[ply])
    s.candidates[ply] = candidates ^ stone
    s.mine[ply + 1] = s.theirs[ply]
    s.theirs[ply + 1] = s.mine[ply] | stone
    s.threshold[ply + 1] = 1 - s.threshold[ply]
    cell = cell_of(stone)
    for symmetry in range(len(s.of_stones)):  # inlined: a function would slow the search by a tenth
        s.codes[ply + 1, symmetry] = s.codes[ply, symmetry] + s.of_stones[symmetry, ply & 1, cell]
    s.state[PLY] = ply + 1
    s.state[PHASE] = _ENTER


@inner
def _return_to_parent(s: DepthSearch) -> None:
    """Pass the answer up a ply: a move after which it is NO reaches the threshold, and makes it YES."""
    ply = s.state[PLY] - 1
    s.state[PLY] = ply
    if s.state[ANSWER] == NO or s.candidates[ply] == NONE:
        s.state[ANSWER] = YES if s.state[ANSWER] == NO else NO
        depth, key = s.state[DEPTH] + s.state[ROOT] - ply, _key(s, ply)
        place = int(key * SCATTER >> _SHIFT)
        if s.keys[place] != key or s.bounds[place, 0] != depth:
            s.keys[place] = key
            s.bounds[place, 0], s.bounds[place, 1], s.bounds[place, 2] = depth, -WIN, WIN
        if s.state[ANSWER] == YES:
            s.bounds[place, 1] = max(s.bounds[place, 1], s.threshold[ply])
        else:
            s.bounds[place, 2] = min(s.bounds[place, 2], s.threshold[ply] - 1)
    else:
        _try_next(s, ply)


# --- The transposition table ------------------------------------------------------------------------------


@inner
def _key(s: DepthSearch, ply: int) -> np.uint64:
    return np.uint64(s.codes[ply, least_code(s.codes[ply])] + _1)


@inner
def _recall(s: DepthSearch, ply: int, depth: int) -> int:
    """The table's answer for this depth, else OPEN. A win or loss at a smaller depth is valid, too."""
    place = int(_key(s, ply) * SCATTER >> _SHIFT)
    if s.keys[place] != _key(s, ply):
        return OPEN
    known_depth, lower, upper = s.bounds[place]
    if lower >= s.threshold[ply] and (known_depth == depth or (lower == WIN and known_depth <= depth)):
        return YES
    if upper < s.threshold[ply] and (known_depth == depth or (upper == -WIN and known_depth <= depth)):
        return NO
    return OPEN
