"""Monte Carlo tree search, compiled: one kernel for every game.

UCT (Kocsis and Szepesvári, Bandit based Monte-Carlo planning, 2006) in the four phases of Chaslot et al.
(2008), `select`, `expand`, `playout`, `backpropagate`, with the proofs of MCTS-Solver (Winands, Björnsson and
Saito 2008).
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agents.learned.value_network_kernel import BoardView, NetworkLayers, encode_position, forward
from ttt_env.compiled.bits import (
    NONE,
    ZERO,
    completes,
    completing,
    completion_value,
    is_several,
    nth_cell,
    playable,
    size,
    stone,
)
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.playouts import playout
from ttt_env.compiled.random_numbers import draw_below, next_bits, seed_by
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.threats import (
    DRAW,
    UNKNOWN,
    Threats,
    proved_value,
    search_threats,
    wins_by_threats,
)
from ttt_env.rules import Game, Masks

_THREAT_NODES = 100  # the budget of threats for one sequence
_MIN_PATH = 64  # the free slots at which a tree grows


class UctSettings(NamedTuple):
    """The exploration constant, the result of a draw, whether playouts win and block, whether to prove."""

    c: float
    draw: float
    win_block: bool
    solve: bool


NODE = np.dtype(
    [
        ("visits", np.int64),
        ("wins", np.float64),
        ("untried", np.uint64),
        ("first_child", np.int32),
        ("n_children", np.int8),
        ("cell", np.int8),
        ("value", np.int8),
    ],
    align=True,
)
"""The fields of a node, side by side: with an array for each field, 3×3 took a quarter longer.

`untried` is the mask of the cells without a child. The children are side by side from `first_child` on, in
the order in which they were tried. `value` is WIN, DRAW or LOSS where the game is over or proved, else
UNKNOWN. `wins` and `value` are for the player who has just moved, who chose the node.
"""


class Tree(NamedTuple):
    """A tree in flat arrays.

    `nodes` is of type `NODE`, the root in slot 0. `root` holds the two masks of its position, `random` the
    state of the generator, `path` the slots of the last simulation; `counts` are the number of slots in use,
    the length of the path, and the last result, for the player to move at the root.
    """

    nodes: NDArray[np.void]
    root: Masks
    random: NDArray[np.uint64]
    path: NDArray[np.int64]
    counts: NDArray[np.int64]


def empty_tree(game: Game, slots: int) -> Tree:
    """A tree without a root, with this number of slots."""
    return Tree(
        nodes=np.empty(slots, NODE),
        root=np.zeros(2, np.uint64),
        random=np.zeros(1, np.uint64),
        path=np.zeros(max(_MIN_PATH, game.n_cells) + 1, np.int64),
        counts=np.zeros(3, np.int64),
    )


def double_slots(tree: Tree) -> Tree:
    """The tree with twice as many slots."""
    nodes = np.empty(2 * len(tree.nodes), tree.nodes.dtype)
    nodes[: len(tree.nodes)] = tree.nodes
    return tree._replace(nodes=nodes)


@compiled
def run(
    tree: Tree,
    threats: Threats | None,
    sets: WinningSets,
    settings: UctSettings,
    evaluator: tuple[NetworkLayers, BoardView] | None,
    simulations: int,
    may_grow: bool,
) -> int:
    """Run simulations and return how many: fewer if the root is proved, or if a tree that may grow is full.

    In a full tree that may not grow, the search continues without new nodes. With room for `threats`, which
    needs `solve` and a game that is not misère, these are searched first: see `search_threats`. With an
    `evaluator` a value network says how a simulation ends, instead of a playout. Without these, other code is
    compiled, which contains nothing of them: without threats it is half as fast again.
    """
    for n_done in range(simulations):
        if tree.nodes[0].value != UNKNOWN or (may_grow and not has_room(tree)):
            return n_done
        node, mine, theirs = select(tree, settings)
        if tree.nodes[node].value == UNKNOWN and has_room(tree):
            node, mine, theirs = expand(tree, sets, node, mine, theirs)
            if threats is not None:
                node, mine, theirs = follow_forced(tree, threats, sets, node, mine, theirs)
        result = float(tree.nodes[node].value)
        if result == UNKNOWN:
            if evaluator is None:
                result = float(playout(tree.random, sets, settings.win_block, mine, theirs))
            else:
                net, board = evaluator[0], evaluator[1]
                own = encode_position(net, board, theirs, mine, size(mine | theirs) - 1)
                result = own * forward(net, 0)
        backpropagate(tree, settings, result)
    return simulations


@inner
def has_room(tree: Tree) -> bool:
    """True if there are enough free slots to expand any node."""
    return bool(len(tree.nodes) - tree.counts[0] >= len(tree.path) - 1)


@inner
def select(tree: Tree, settings: UctSettings) -> tuple[int, np.uint64, np.uint64]:
    """The first node on the path of best children that is over, proved or has untried cells; its masks."""
    node, depth, mine, theirs = ZERO, 0, tree.root[0], tree.root[1]
    tree.path[0] = node
    while tree.nodes[node].untried == NONE and tree.nodes[node].value == UNKNOWN:
        node = best_child(tree, settings, node)
        depth += 1
        tree.path[depth] = node
        mine, theirs = theirs, mine | stone(tree.nodes[node].cell)
    tree.counts[1] = depth + 1
    return node, mine, theirs


@inner
def best_child(tree: Tree, settings: UctSettings, node: int) -> int:
    """The child with the largest w/n + c·sqrt(ln n_parent / n), the first of equals.

    Children are in random order, so the first of equals favours no cell. Proofs replace the estimate: a
    proved loss is chosen only if there is nothing else, and a proved draw counts as `settings.draw`.
    """
    first, log_visits = tree.nodes[node].first_child, log(tree.nodes[node].visits)
    best, best_score = first, -np.inf
    for child in range(first, first + tree.nodes[node].n_children):
        n = tree.nodes[child].visits
        score = tree.nodes[child].wins / n + settings.c * sqrt(log_visits / n)
        if settings.solve and tree.nodes[child].value != UNKNOWN:
            score = settings.draw if tree.nodes[child].value == DRAW else -np.inf
        if score > best_score:
            best, best_score = child, score
    return int(best)


@inner
def follow_forced(
    tree: Tree, threats: Threats, sets: WinningSets, node: int, mine: np.uint64, theirs: np.uint64
) -> tuple[int, np.uint64, np.uint64]:
    """Continue from a new node while a single move is forced; the last new node, and its masks."""
    while tree.nodes[node].value == UNKNOWN:
        cell = tree.nodes[node].cell
        value, block = search_threats(mine, theirs, cell, sets, threats, _THREAT_NODES)
        tree.nodes[node].value = value
        if value == UNKNOWN and block != NONE:
            tree.nodes[node].untried = block
        has_choice = is_several(tree.nodes[node].untried)
        if has_choice or value != UNKNOWN or not has_room(tree):
            break
        node, mine, theirs = expand(tree, sets, node, mine, theirs)
    return node, mine, theirs


@inner
def expand(
    tree: Tree, sets: WinningSets, node: int, mine: np.uint64, theirs: np.uint64
) -> tuple[int, np.uint64, np.uint64]:
    """A new child for one of the untried cells, drawn uniformly, and its masks."""
    untried = tree.nodes[node].untried
    n_untried = size(untried)
    cell = nth_cell(untried, draw_below(tree.random, n_untried))
    new_stone = stone(cell)
    child = new_child(tree, node, n_untried)
    tree.nodes[node].untried = untried ^ new_stone
    mine, theirs = theirs, mine | new_stone
    free = playable(sets, mine | theirs)
    init_node(tree, child, cell, free)
    if completes(sets, theirs, cell):
        tree.nodes[child].value = completion_value(sets)
    elif free == NONE:
        tree.nodes[child].value = DRAW
    tree.path[tree.counts[1]] = child
    tree.counts[1] += 1
    return child, mine, theirs


@inner
def new_child(tree: Tree, node: int, n_untried: int) -> int:
    """The slot for a new child after the others; if none is left, these move to twice the space."""
    n, first = tree.nodes[node].n_children, tree.nodes[node].first_child
    if n == child_capacity(n, n_untried):
        tree.nodes[node].first_child = tree.counts[0]
        tree.counts[0] += child_capacity(n + 1, n_untried - 1)
        for i in range(n):
            tree.nodes[tree.nodes[node].first_child + i] = tree.nodes[first + i]
    tree.nodes[node].n_children += 1
    return int(tree.nodes[node].first_child + n)


@inner
def child_capacity(n_children: int, n_untried: int) -> int:
    """The slots that a node has for its children: a power of two, or as many as it ever needs."""
    slots = 2 * min(n_children, 1)
    while slots < n_children:
        slots *= 2
    return min(slots, n_children + n_untried)


@inner
def init_node(tree: Tree, node: int, cell: int, untried: np.uint64) -> None:
    """Make the slot a node that was never visited."""
    record = tree.nodes[node]
    record.visits, record.wins = 0, 0.0
    record.untried = untried
    record.first_child, record.n_children = 0, 0
    record.cell, record.value = cell, UNKNOWN


@inner
def backpropagate(tree: Tree, settings: UctSettings, result: float) -> None:
    """Add the result, for the player who moved last, to all nodes of the path; prove those that can be.

    A result between a loss and a win counts in proportion to its distance to both; 0 counts as a draw.
    """
    proves = settings.solve and tree.nodes[tree.path[tree.counts[1] - 1]].value != UNKNOWN
    for depth in range(tree.counts[1] - 1, -1, -1):
        node = tree.path[depth]
        if proves and tree.nodes[node].value == UNKNOWN:
            is_expanded = tree.nodes[node].untried == NONE
            tree.nodes[node].value = proved_value(tree.nodes, node, is_expanded)
            proves = tree.nodes[node].value != UNKNOWN
        if settings.solve and tree.nodes[node].value != UNKNOWN:
            result = float(tree.nodes[node].value)
        tree.nodes[node].visits += 1
        of_draw = settings.draw * (1.0 - abs(result))
        tree.nodes[node].wins += of_draw + (result if result > 0.0 else 0.0)
        result = -result
    tree.counts[2] = int(np.rint(result))


@compiled
def begin_search(tree: Tree, threats: Threats | None, sets: WinningSets, seed: np.uint64, anew: bool) -> None:
    """Seed the generator by the seed and the position of the root.

    If the search begins `anew`, first reset the tree to its `root`, which no simulation has visited.
    """
    mine, theirs = tree.root[0], tree.root[1]
    if anew:
        tree.counts[0], tree.counts[1], tree.counts[2] = 1, 0, 0
        init_node(tree, 0, -1, playable(sets, mine | theirs))
        if threats is not None:
            threats.failed_keys[:] = NONE  # so that the search depends on the position alone
            restrict_root(tree, threats, sets, mine, theirs)
    seed_by(tree.random, seed, mine, theirs)
    tree.random[0] = next_bits(tree.random)


@inner
def restrict_root(
    tree: Tree, threats: Threats, sets: WinningSets, mine: np.uint64, theirs: np.uint64
) -> None:
    """Restrict the untried moves of the root to these, if there are any.

    Moves that complete a set; else those that stop the other player from it; else the first of a winning
    sequence of threats.
    """
    completes, block = completing(mine, theirs, sets.masks), completing(theirs, mine, sets.masks)
    if completes != NONE:
        tree.nodes[0].untried = completes
    elif is_several(block):
        tree.nodes[0].untried = block
    elif wins_by_threats(mine, theirs, block, sets, threats, _THREAT_NODES):
        tree.nodes[0].untried = threats.gain[0]
    elif block != NONE:
        tree.nodes[0].untried = block


def subtree(tree: Tree, node: int, root: Masks) -> Tree:
    """A tree with as many slots that is the subtree of a child of the root; `root` are the masks there."""
    nodes, counts = np.empty_like(tree.nodes), np.zeros_like(tree.counts)
    counts[0] = _copy_subtree(tree.nodes, node, nodes, np.full(int(tree.counts[0]), -1))
    return Tree(nodes, root, tree.random, tree.path, counts)


@compiled
def _copy_subtree(
    nodes: NDArray[np.void], node: int, target: NDArray[np.void], origin: NDArray[np.int64]
) -> int:
    """Copy the subtree of a node to the target, and return the number of its slots.

    `origin` has a −1 for each slot in use; it becomes the slot that each new one comes from.
    """
    origin[0], n_slots, slot = node, 1, 0
    while slot < n_slots:
        if origin[slot] >= 0:
            target[slot] = nodes[origin[slot]]
            first, n = target[slot].first_child, target[slot].n_children
            for i in range(n):
                origin[n_slots + i] = first + i
            target[slot].first_child = n_slots
            n_slots += child_capacity(n, size(target[slot].untried))
        slot += 1
    return n_slots
