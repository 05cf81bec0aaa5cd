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
Df-pn algorithm for searching AND/OR trees and its applications, 2002): until its number is a quarter above
that of the second best (Pawlewicz and Lew, Improving depth-first PN-search: 1 + ε trick, 2007). A *patient*
search stays with a move of the attacker until that number has tripled, which refutes many moves sooner, and
finds a winning one later. The less a move not yet tried weighs in these sums, of both players, the larger is
its number.

`ProofSearch` is the whole state of a search, so `search` may stop after any number of nodes and be called
again. Positions that were met before, or symmetric ones, keep their numbers in a table.
"""

import numpy as np

from ttt_env.compiled.bits import NONE, ONE, SCATTER, ZERO, cell_of, completing, count
from ttt_env.compiled.canonical import NO, OPEN, YES, codes_of, heaviest, least_code, moved
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.threats import hindering_cells
from ttt_env.proofs.judgement_kernel import attacks, judge, with_cells_of_sets
from ttt_env.proofs.state_kernel import (
    ANSWER,
    BY_THREATS,
    DEPTH,
    NEVER,
    NODES,
    PATIENCE,
    PHASE,
    ROOT_ATTACKS,
    ProofSearch,
    is_held,
    numbers_of,
    place_of,
    remember,
)

_ENTER, _CHOOSE, _OVER = 0, 1, 2
_HASTY, _PATIENT = 1, 8  # quarters of the second best number
_STEPS = (20, 10)  # between the first numbers of the attacker's and of the defender's moves
_MOST_CELLS = 64


# --- Zones ------------------------------------------------------------------------------------------------


@inner
def _zone_after(s: ProofSearch, depth: int, move: int) -> np.uint64:
    """The zone of the position after this move, in which the defender holds."""
    zone = s.table[place_of(s, s.keys[depth, move]), 2]
    return moved(zone, s.inverses, s.images[depth, move])


@inner
def _cover(s: ProofSearch, depth: int, zone: np.uint64) -> None:
    """Store that no move of the attacker outside of this zone wins; it is the zone of another move."""
    for move in range(s.n_moves[depth]):
        key = s.keys[depth, move]
        if zone & (ONE << np.uint64(s.moves[depth, move])) == NONE and not is_held(s, key):
            remember(s, key, NEVER, 0, moved(zone, s.permutations, s.images[depth, move]), 0)


@inner
def _zone_of_moves(s: ProofSearch, depth: int, sets: WinningSets) -> np.uint64:
    """The zone of a position in which the defender holds by a move or, if the attacker moves, after all."""
    if sets.misere:
        return sets.full
    zones, attacking, rest = s.zones_after[depth], attacks(s, depth), NONE
    for move in range(s.n_moves[depth]):
        if is_held(s, s.keys[depth, move]):
            stone = ONE << np.uint64(s.moves[depth, move])
            zones[move], rest = _zone_after(s, depth, move) | (NONE if attacking else stone), rest | stone
    if not attacking:
        return np.uint64(zones[_move_of_smallest_zone(s, depth, rest)])
    zone = NONE
    while rest != NONE:  # until the zone of each move is joined, or the move is outside of a joined one
        move = _move_of_smallest_zone(s, depth, rest)
        zone |= zones[move]
        rest &= zones[move] & ~(ONE << np.uint64(s.moves[depth, move]))
    image = zone  # of symmetric moves only one is listed
    for symmetry in range(1, len(s.of_stones)):
        if s.codes[depth, symmetry] == s.codes[depth, 0]:
            image |= moved(zone, s.permutations, symmetry)
    attacker, defender = s.attacker[depth], s.defender[depth]
    block = completing(defender, attacker, sets.masks)
    return image if block == NONE else with_cells_of_sets(image | block, 2, attacker, defender, sets)


@inner
def _move_of_smallest_zone(s: ProofSearch, depth: int, cells: np.uint64) -> int:
    best, fewest = 0, _MOST_CELLS + 1
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
    if n_nodes == 0:
        judge(s, ZERO, sets)
    stop = s.state[NODES] + n_nodes
    while s.state[NODES] < stop:
        if s.state[PHASE] == _OVER:
            return int(s.state[ANSWER])
        depth = s.state[DEPTH]
        won, not_won = _enter(s, sets) if s.state[PHASE] == _ENTER else _choose(s, sets)
        if won != NEVER or not_won != NEVER:
            # The only call: the function is compiled into each of its callers.
            _return_to_parent(s, depth, won, not_won, sets)
    return OPEN


@inner
def _enter(s: ProofSearch, sets: WinningSets) -> tuple[int, int]:
    """The numbers of a position that is known or decided; else both `NEVER`, and its moves are listed."""
    depth = s.state[DEPTH]
    s.state[NODES] += 1
    s.entered[depth] = s.state[NODES]
    image = least_code(s.codes[depth])
    won, not_won = numbers_of(s, s.codes[depth, image] * SCATTER)
    if won == 0 or not_won == 0:
        zone = s.table[place_of(s, s.codes[depth, image] * SCATTER), 2]
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
    """List the candidates, best first, one of each group that leads to symmetric positions."""
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
        key, is_new = code * SCATTER, True
        for move in range(n_moves):
            is_new &= s.keys[depth, move] != key
        if is_new:
            s.moves[depth, n_moves], s.keys[depth, n_moves], s.images[depth, n_moves] = cell, key, image
            s.first_numbers[depth, n_moves] = 1 + n_moves * _STEPS[side]
            n_moves += 1
    s.n_moves[depth] = n_moves
    if side == 0:
        for move in range(n_moves):  # after which the defender is known to hold
            if is_held(s, s.keys[depth, move]):
                _cover(s, depth, _zone_after(s, depth, move))


@inner
def _choose(s: ProofSearch, sets: WinningSets) -> tuple[int, int]:
    """The numbers of a position, from its moves, if it is decided or over a limit; else make the best move.

    In that case both are `NEVER`.
    """
    depth = s.state[DEPTH]
    side = 0 if attacks(s, depth) else 1
    least, second, most, n_open, best = NEVER, NEVER, 0, 0, 0
    for move in range(s.n_moves[depth]):
        won, not_won = numbers_of(s, s.keys[depth, move])
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
    excess = second * (_HASTY if side else s.state[PATIENCE]) // 4
    s.limits[depth + 1, side] = min(s.limits[depth, side], second + max(1, excess))
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
def _return_to_parent(s: ProofSearch, depth: int, won: int, not_won: int, sets: WinningSets) -> None:
    """Store the numbers of a position, and return to its parent."""
    image = least_code(s.codes[depth])
    zone = moved(s.zones[depth], s.permutations, image) if not_won == 0 else NONE
    remember(s, s.codes[depth, image] * SCATTER, won, not_won, zone, s.state[NODES] - s.entered[depth])
    if depth == 0:
        s.state[PHASE], s.state[ANSWER] = _OVER, YES if won == 0 else NO
        return
    s.state[DEPTH], s.state[PHASE] = depth - 1, _CHOOSE
    if not_won == 0 and attacks(s, depth - 1):
        _cover(s, depth - 1, s.zones[depth])
    if s.state[BY_THREATS] == 1:  # other replies that do not hinder this sequence lose to it, too
        s.state[BY_THREATS] = 0
        _keep_moves(s, depth - 1, hindering_cells(s.attacker[depth], s.defender[depth], sets, s.threats))


@inner
def _keep_moves(s: ProofSearch, depth: int, cells: np.uint64) -> None:
    """Keep the moves to these cells; the attacker wins after the others."""
    n_kept = 0
    for move in range(s.n_moves[depth]):
        if cells & (ONE << np.uint64(s.moves[depth, move])) == NONE:
            remember(s, s.keys[depth, move], 0, NEVER, NONE, 0)
        else:
            s.moves[depth, n_kept] = s.moves[depth, move]
            s.keys[depth, n_kept], s.images[depth, n_kept] = s.keys[depth, move], s.images[depth, move]
            s.first_numbers[depth, n_kept] = s.first_numbers[depth, move]
            n_kept += 1
    s.n_moves[depth] = n_kept


# --- Called from Python -----------------------------------------------------------------------------------


def set_root(s: ProofSearch, attacker: int, defender: int, attacks: bool, patient: bool = False) -> None:
    """Begin a search at this position, hasty or patient; the table is kept."""
    s.attacker[0], s.defender[0] = attacker, defender
    s.codes[0] = codes_of(s.of_stones, attacker, defender)
    s.state[[DEPTH, PHASE, ROOT_ATTACKS, BY_THREATS]] = 0, _ENTER, attacks, 0
    s.state[PATIENCE] = _PATIENT if patient else _HASTY


def root_candidates(s: ProofSearch, sets: WinningSets) -> tuple[int, list[int]]:
    """The candidates at the root, as a mask, and the weights of all cells."""
    s.candidates[0] = 0
    search(s, sets, 0)
    return int(s.candidates[0]), s.weights[0].tolist()
