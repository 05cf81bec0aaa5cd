"""The search for a win by threats of the second order, compiled: proof-number search on a graph of positions.

A threat of the second order is a move after which the attacker, if the defender passed, would win by a
sequence of threats (`threats`). Only such moves of the attacker are searched, and of the defender only the
replies that hinder the sequence (T. Thomsen, Lambda-search in game trees, ICGA Journal 2000). So a yes is a
proof, and a no says only that threats alone do not win.

The graph keeps every position that was looked at, once for all that are symmetric to it. Of each it counts
how many positions have at least to be won, and how many not, to know the answer (Allis, van der Meulen and
van den Herik, Proof-number search, 1994); each step goes to a position that counts for both. Where all
children count, the greatest number is taken and one for each other open child, as their graphs overlap (Ueda,
Hashimoto, Hashimoto and Iida, Weak proof-number search, 2008).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, ONE, cell_of, completing, completing_through, is_several, lowest, size
from ttt_env.compiled.canonical import NO, OPEN, YES, stone_codes
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.threats import Threats, hindering, new_threats, wins_by_threats
from ttt_env.rules.boards import Masks
from ttt_env.rules.game import Game
from ttt_env.rules.symmetry import automorphisms

NEVER = 1 << 29  # the proof number of what is disproved, and vice versa
_FIRST_NODES = 1 << 14
_MANY_NODES = 1 << 22  # 300 MB
_THREAT_NODES = 1000  # threats tried for one sequence
_SCATTER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two products are the same (Knuth, 1973)
_29, _32, _64 = np.uint64(29), np.uint64(32), np.uint64(64)
WINS_AT_ONCE, LOSES_AT_ONCE = -1, -2  # instead of a node

# The columns of `ThreatGraph.numbers`: proof number, disproof number, the first child, how many there are.
WON, NOT_WON, FIRST, N_CHILDREN = range(4)
_UNEXPANDED = -1

# The indices of `ThreatGraph.state`.
N_NODES, N_EDGES, N_EXPANDED, INDEX_BITS = range(4)


class ThreatGraph(NamedTuple):
    """Positions as nodes, `[nodes]`, in which attacker and defender move in turn.

    `stones` `[nodes, 2]` are those of the attacker and of the defender, `moves` the replies to be searched
    where the defender is to move, `numbers` `[nodes, 4]` the numbers above. The children of a node are
    `edges[FIRST : FIRST + N_CHILDREN]`. `node_at` has the node of each of `keys`, which are 0 where there is
    none, `[places]`. `of_stones` `[2, cells, symmetries]` is what a stone adds to the `codes` of a position.
    """

    stones: Masks
    moves: Masks
    numbers: NDArray[np.int32]
    edges: NDArray[np.int32]
    keys: Masks
    node_at: NDArray[np.int32]
    codes: Masks
    of_stones: Masks
    path: NDArray[np.int32]
    state: NDArray[np.int64]
    threats: Threats


# --- The nodes --------------------------------------------------------------------------------------------


@inner
def _set_codes(g: ThreatGraph, attacker: np.uint64, defender: np.uint64) -> None:
    for symmetry in range(len(g.codes)):
        g.codes[symmetry] = NONE
    for side in range(2):
        stones = defender if side else attacker
        while stones != NONE:
            cell = cell_of(lowest(stones))
            stones ^= lowest(stones)
            for symmetry in range(len(g.codes)):
                g.codes[symmetry] += g.of_stones[side, cell, symmetry]


@inner
def _mixed(code: np.uint64) -> np.uint64:
    mixed: np.uint64 = (code ^ (code >> _32)) * _SCATTER
    mixed = (mixed ^ (mixed >> _29)) * _SCATTER
    return mixed


@inner
def _key_with(g: ThreatGraph, side: int, stone: np.uint64) -> np.uint64:
    """The key of the position of the codes with one stone more, equal for symmetric positions; never 0.

    It is a sum over all codes, not the smallest, as in that many bits would be wasted.
    """
    cell, key = cell_of(stone), NONE
    for symmetry in range(len(g.codes)):
        key += _mixed(g.codes[symmetry] + g.of_stones[side, cell, symmetry])
    return _mixed(key) | ONE


@inner
def _place(g: ThreatGraph, key: np.uint64) -> int:
    """The place in the index where this key is, or may be put."""
    place: int = np.int64(key >> (_64 - np.uint64(g.state[INDEX_BITS])))  # type: ignore[assignment]
    while g.keys[place] != NONE and g.keys[place] != key:
        place = (place + 1) & (len(g.keys) - 1)
    return place


@inner
def _add_node(
    g: ThreatGraph, place: int, key: np.uint64, attacker: np.uint64, defender: np.uint64, moves: np.uint64
) -> int:
    node: int = g.state[N_NODES]
    g.state[N_NODES] += 1
    g.keys[place], g.node_at[place] = key, node
    g.stones[node, 0], g.stones[node, 1], g.moves[node] = attacker, defender, moves
    g.numbers[node, WON], g.numbers[node, NOT_WON] = 1, 1
    g.numbers[node, FIRST], g.numbers[node, N_CHILDREN] = 0, _UNEXPANDED
    return node


@inner
def _add_edge(g: ThreatGraph, first: int, child: int) -> None:
    """Add a child to those from `first` on, unless it is one of them."""
    for edge in range(first, g.state[N_EDGES]):
        if g.edges[edge] == child:
            return
    g.edges[g.state[N_EDGES]] = child
    g.state[N_EDGES] += 1


# --- The children of a node -------------------------------------------------------------------------------


@inner
def _expand_attack(g: ThreatGraph, node: int, sets: WinningSets) -> None:
    """Add the positions after the attacker's threats; there is no sequence of threats that wins at once."""
    attacker, defender, first = g.stones[node, 0], g.stones[node, 1], g.state[N_EDGES]
    block = completing(defender, attacker, sets.masks)
    candidates = block if block != NONE else sets.full & ~(attacker | defender)
    _set_codes(g, attacker, defender)
    while candidates != NONE:
        stone = lowest(candidates)
        candidates ^= stone
        key = _key_with(g, 0, stone)
        place = _place(g, key)
        if g.keys[place] == key:
            _add_edge(g, first, g.node_at[place])
            continue
        after = attacker | stone
        replies = completing_through(after, defender, sets, cell_of(stone))
        if replies == NONE and wins_by_threats(after, defender, NONE, sets, g.threats, _THREAT_NODES):
            replies = hindering(after, defender, sets, g.threats)
        if replies != NONE:
            child = _add_node(g, place, key, after, defender, replies)
            g.numbers[child, WON] = max(1, size(replies) // 2)  # about half of them need a search
            _add_edge(g, first, child)
    g.numbers[node, FIRST], g.numbers[node, N_CHILDREN] = first, g.state[N_EDGES] - first


@inner
def _expand_defence(g: ThreatGraph, node: int, sets: WinningSets) -> None:
    """Add the positions after the replies that the attacker cannot answer by a sequence of threats.

    A sequence that is found need only be searched for again where a reply hinders it too.
    """
    attacker, defender, first = g.stones[node, 0], g.stones[node, 1], g.state[N_EDGES]
    replies = g.moves[node]
    _set_codes(g, attacker, defender)
    while replies != NONE:
        stone = lowest(replies)
        replies ^= stone
        key = _key_with(g, 1, stone)
        place = _place(g, key)
        if g.keys[place] == key:
            _add_edge(g, first, g.node_at[place])
            continue
        after = defender | stone
        block = completing_through(after, attacker, sets, cell_of(stone))
        if completing(attacker, after, sets.masks) != NONE:
            continue
        if not is_several(block) and wins_by_threats(attacker, after, block, sets, g.threats, _THREAT_NODES):
            replies &= hindering(attacker, after, sets, g.threats)
            continue
        child = _add_node(g, place, key, attacker, after, NONE)
        _add_edge(g, first, child)
        if is_several(block):
            g.numbers[child, WON], g.numbers[child, NOT_WON] = NEVER, 0
            break
    g.numbers[node, FIRST], g.numbers[node, N_CHILDREN] = first, g.state[N_EDGES] - first


# --- The search -------------------------------------------------------------------------------------------


@inner
def _update(g: ThreatGraph, node: int, attacks: bool) -> int:
    """Count anew from the children of a node; returns the child where to search on, −1 if there is none."""
    any_of, all_of = (WON, NOT_WON) if attacks else (NOT_WON, WON)
    first, least, most, n_open, best = g.numbers[node, FIRST], NEVER, 0, 0, -1
    for edge in range(first, first + g.numbers[node, N_CHILDREN]):
        child = g.edges[edge]
        if g.numbers[child, any_of] < least:
            least, best = g.numbers[child, any_of], child
        if g.numbers[child, all_of] != 0:
            n_open += 1
            most = max(most, g.numbers[child, all_of])
    g.numbers[node, any_of] = least
    g.numbers[node, all_of] = NEVER if least == 0 else 0 if n_open == 0 else min(NEVER, most + n_open - 1)
    return best


@inner
def _step(g: ThreatGraph, sets: WinningSets, root: int) -> None:
    """Expand one node, and count anew in all on the way to it."""
    depth, node, attacks = 0, root, True
    g.path[0] = root
    while g.numbers[node, N_CHILDREN] != _UNEXPANDED:
        child = _update(g, node, attacks)
        if g.numbers[node, WON] == 0 or g.numbers[node, NOT_WON] == 0:
            break
        node, attacks, depth = child, not attacks, depth + 1
        g.path[depth] = node
    if g.numbers[node, N_CHILDREN] == _UNEXPANDED:
        g.state[N_EXPANDED] += 1
        if attacks:
            _expand_attack(g, node, sets)
        else:
            _expand_defence(g, node, sets)
    while depth >= 0:
        _update(g, g.path[depth], attacks)
        depth, attacks = depth - 1, not attacks


@compiled
def search(g: ThreatGraph, sets: WinningSets, root: int, n_expanded: int) -> int:
    """YES if the attacker, to move, wins by threats from a node, NO if not, OPEN if it is not decided.

    That is the case after `n_expanded` nodes, or if the graph is full. Another call searches on.
    """
    stop, room = g.state[N_EXPANDED] + n_expanded, len(g.codes) + g.of_stones.shape[1]
    while g.numbers[root, WON] != 0 and g.numbers[root, NOT_WON] != 0:
        is_full = g.state[N_NODES] + room > len(g.moves) or g.state[N_EDGES] + room > len(g.edges)
        if is_full or g.state[N_EXPANDED] >= stop:
            return OPEN
        _step(g, sets, root)
    return YES if g.numbers[root, WON] == 0 else NO


@compiled
def key_of(g: ThreatGraph, attacker: np.uint64, defender: np.uint64) -> np.uint64:
    """The key of a position, equal for symmetric positions."""
    key = NONE
    _set_codes(g, attacker, defender)
    for symmetry in range(len(g.codes)):
        key += _mixed(g.codes[symmetry])
    return _mixed(key) | ONE


@compiled
def node_of(g: ThreatGraph, sets: WinningSets, attacker: np.uint64, defender: np.uint64) -> int:
    """The node of a position in which the attacker is to move, which is added if it is not there.

    `WINS_AT_ONCE` if the attacker wins by a sequence of threats, `LOSES_AT_ONCE` if the defender threatens to
    complete two sets.
    """
    key = key_of(g, attacker, defender)
    place = _place(g, key)
    if g.keys[place] == key:
        node: int = g.node_at[place]
        return node
    block = completing(defender, attacker, sets.masks)
    if completing(attacker, defender, sets.masks) != NONE:
        return WINS_AT_ONCE
    if is_several(block):
        return LOSES_AT_ONCE
    if wins_by_threats(attacker, defender, block, sets, g.threats, _THREAT_NODES):
        return WINS_AT_ONCE
    return _add_node(g, place, key, attacker, defender, NONE)


@compiled
def winning_cells(g: ThreatGraph, positions: Masks, cells: NDArray[np.int16]) -> None:
    """Set the cells `[P]` of threats that win in these positions `[P, 2]`; −1 where none is known."""
    for number in range(len(positions)):
        attacker, defender = positions[number, 0], positions[number, 1]
        cells[number] = -1
        key = key_of(g, attacker, defender)
        place = _place(g, key)
        if g.keys[place] == key and g.numbers[g.node_at[place], WON] == 0:
            child = _won_child(g, g.node_at[place])
            wanted = key_of(g, g.stones[child, 0], g.stones[child, 1])
            _set_codes(g, attacker, defender)
            free = ~(attacker | defender)
            for cell in range(g.of_stones.shape[1]):
                stone = ONE << np.uint64(cell)
                if free & stone != NONE and _key_with(g, 0, stone) == wanted:
                    cells[number] = cell
                    break


@inner
def _won_child(g: ThreatGraph, node: int) -> int:
    """The first child of a won node that is won."""
    edge: int = g.numbers[node, FIRST]
    while g.numbers[g.edges[edge], WON] != 0:
        edge += 1
    return int(g.edges[edge])


# --- Called from Python -----------------------------------------------------------------------------------


def new_graph(game: Game) -> ThreatGraph:
    """A graph without nodes."""
    of_stones = stone_codes(game, automorphisms(game))
    return _with_room(
        ThreatGraph(
            stones=np.zeros((0, 2), np.uint64),
            moves=np.zeros(0, np.uint64),
            numbers=np.zeros((0, 4), np.int32),
            edges=np.zeros(0, np.int32),
            keys=np.zeros(0, np.uint64),
            node_at=np.zeros(0, np.int32),
            codes=np.zeros(len(of_stones), np.uint64),
            of_stones=np.ascontiguousarray(of_stones.transpose(1, 2, 0)),
            path=np.zeros(game.n_cells + 2, np.int32),
            state=np.zeros(INDEX_BITS + 1, np.int64),
            threats=new_threats(game),
        ),
        _FIRST_NODES,
    )


def grown(g: ThreatGraph) -> ThreatGraph:
    """The same graph with twice the room, if less than an eighth of it is left."""
    return _with_room(g, 2 * len(g.moves)) if 8 * max(g.state[:2]) > 7 * len(g.moves) else g


def pruned(g: ThreatGraph, max_nodes: int = _MANY_NODES) -> ThreatGraph:
    """The same graph without what was searched in vain, if it has more than `max_nodes`."""
    if g.state[N_NODES] <= max_nodes:
        return g
    kept = np.flatnonzero(g.numbers[: g.state[N_NODES], WON] == 0)
    new_nodes = np.full(len(g.moves), -1, np.int32)
    new_nodes[kept] = np.arange(len(kept), dtype=np.int32)
    edges = np.zeros(g.state[N_EDGES], np.int32)
    n_edges = _keep_edges(g, kept, new_nodes, edges)
    g.state[N_NODES], g.state[N_EDGES] = len(kept), n_edges
    node_at = new_nodes[g.node_at]
    smaller = g._replace(
        stones=g.stones[kept],
        moves=g.moves[kept],
        numbers=g.numbers[kept],
        edges=edges[:n_edges],
        keys=np.where(node_at < 0, NONE, g.keys),
        node_at=node_at,
    )
    return _with_room(smaller, 2 * len(kept) + _FIRST_NODES)


class WonPart(NamedTuple):
    """The won nodes of a graph `[nodes]`, as `ThreatGraph` has them, their `edges` one node after another."""

    stones: Masks
    moves: Masks
    n_children: NDArray[np.int32]
    edges: NDArray[np.int32]
    keys: Masks


def won_part(g: ThreatGraph) -> WonPart:
    """The won part of a graph, which itself does not change."""
    copy = g._replace(numbers=g.numbers[: g.state[N_NODES]].copy(), state=g.state.copy())
    won = pruned(copy, -1)
    n_nodes, n_edges = won.state[:2]
    keys = np.zeros(n_nodes, np.uint64)
    is_place = won.keys != NONE
    keys[won.node_at[is_place]] = won.keys[is_place]
    parts = won.stones[:n_nodes], won.moves[:n_nodes], won.numbers[:n_nodes, N_CHILDREN]
    return WonPart(*parts, won.edges[:n_edges], keys)


def graph_of(game: Game, part: WonPart) -> ThreatGraph:
    """The graph with these won nodes. Raises `ValueError` if they are none."""
    n_nodes, n_edges = len(part.stones), len(part.edges)
    lengths = {n_nodes, len(part.moves), len(part.n_children), len(part.keys)}
    if lengths != {n_nodes} or (part.n_children < 0).any() or part.n_children.sum() != n_edges:
        raise ValueError("its positions, moves and edges do not belong together")
    n_stones = np.bitwise_count(part.stones).sum(axis=1)
    if n_edges and not 0 <= part.edges.min() <= part.edges.max() < n_nodes:
        raise ValueError("an edge leads to no position")
    if (n_stones[part.edges] != np.repeat(n_stones, part.n_children) + 1).any():
        raise ValueError("an edge is no move")
    if (part.keys == NONE).any() or len(np.unique(part.keys)) != n_nodes:
        raise ValueError("two positions have the same key, or one has none")
    numbers = np.zeros((n_nodes, 4), np.int32)
    numbers[:, NOT_WON], numbers[:, N_CHILDREN] = NEVER, part.n_children
    numbers[:, FIRST] = np.cumsum(part.n_children) - part.n_children
    g = new_graph(game)
    g.state[:2] = n_nodes, n_edges
    nodes = np.arange(n_nodes, dtype=np.int32)
    g = g._replace(stones=part.stones, moves=part.moves, numbers=numbers, edges=part.edges)
    return _with_room(g._replace(keys=part.keys, node_at=nodes), 2 * n_nodes + _FIRST_NODES)


@compiled
def _keep_edges(
    g: ThreatGraph, kept: NDArray[np.int64], new_nodes: NDArray[np.int32], edges: NDArray[np.int32]
) -> int:
    """Put the edges between won positions, of the attacker's the first alone; returns their number."""
    n_edges = 0
    for node in kept:
        first, n_children, is_attack = (
            g.numbers[node, FIRST],
            g.numbers[node, N_CHILDREN],
            g.moves[node] == NONE,
        )
        g.numbers[node, FIRST] = n_edges
        for edge in range(first, first + n_children):
            new = new_nodes[g.edges[edge]]
            if new >= 0:
                edges[n_edges] = new
                n_edges += 1
                if is_attack:
                    break
        g.numbers[node, N_CHILDREN] = n_edges - g.numbers[node, FIRST]
    return n_edges


def _with_room(g: ThreatGraph, n_nodes: int) -> ThreatGraph:
    g.state[INDEX_BITS] = bits = n_nodes.bit_length()  # twice as many places as nodes
    larger = g._replace(
        stones=_longer(g.stones, n_nodes),
        moves=_longer(g.moves, n_nodes),
        numbers=_longer(g.numbers, n_nodes),
        edges=_longer(g.edges, n_nodes),
        keys=np.zeros(1 << bits, np.uint64),
        node_at=np.zeros(1 << bits, np.int32),
    )
    _fill_index(larger, g.keys, g.node_at)
    return larger


def _longer(array: NDArray[np.generic], length: int) -> NDArray[Any]:
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@compiled
def _fill_index(g: ThreatGraph, keys: Masks, node_at: NDArray[np.int32]) -> None:
    for old in range(len(keys)):
        if keys[old] != NONE:
            place = _place(g, keys[old])
            g.keys[place], g.node_at[place] = keys[old], node_at[old]
