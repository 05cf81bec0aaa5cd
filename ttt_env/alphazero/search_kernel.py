"""The search of AlphaZero, compiled: many games at once, whose leaves one network evaluates in batches.

PUCT with a network's priors and values (Silver et al., A general reinforcement learning algorithm that
masters chess, shogi and Go through self-play, Science 2018), for every game. Each game has a tree of its own.
`simulate` advances all games as far as the `EvaluationTable` allows, and adds to it the positions that the
network has to evaluate next. The network's answers are cached, one for all symmetric positions. With `solve`,
proved values are backed up (MCTS-Solver: Winands, Björnsson and Saito 2008); with `threats` forced moves are
made at once: see `follow_forced`.
"""

from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env import rules
from ttt_env.compiled.bits import (
    NONE,
    ONE,
    SCATTER,
    ZERO,
    cell_of,
    completes,
    completing,
    completion_value,
    is_several,
    lowest,
    playable,
    stone,
)
from ttt_env.compiled.canonical import canonical
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.random_numbers import Random, draw_below, seed_by
from ttt_env.compiled.sets import WinningSets
from ttt_env.compiled.threats import (
    DRAW,
    LOSS,
    UNKNOWN,
    WIN,
    Threats,
    new_threats,
    proved_value,
    search_threats,
    wins_soon,
)
from ttt_env.rules import Game, Masks, motions

_THREAT_NODES: Any = np.int64(100)  # the budget of threats for one sequence
_ROOT_THREAT_NODES: Any = np.int64(10_000)  # for a sequence of each length, at the root
_29 = np.uint64(29)

NODE = np.dtype(
    [
        ("total", np.float64),
        ("visits", np.int32),
        ("first_child", np.int32),
        ("prior", np.float32),
        ("n_children", np.int8),
        ("cell", np.int8),
        ("value", np.int8),
    ],
    align=True,
)
"""The fields of a node, side by side.

The children, if the node is expanded, are side by side from `first_child` on, in random order. `total` is
the sum of the results of all `visits`, `value` WIN, DRAW or LOSS where the game is over or proved, else
UNKNOWN: both for the player who has just moved, who chose the node. `prior` is the network's probability of
choosing it.
"""
_NEW_ROOT = np.array((0.0, 0, 0, 1.0, 0, -1, UNKNOWN), NODE)  # without visits


class PuctSettings(NamedTuple):
    """The constants of PUCT, the share of noise in the priors of the roots, and what is proved.

    An unvisited move counts as much as its position does so far, minus `reduction`. With `solve` proved
    values are backed up; with `threats`, which needs it, forced moves and winning threats are searched too.
    """

    c_init: float
    c_base: float
    reduction: float
    noise: float
    solve: bool
    threats: bool


class Forest(NamedTuple):
    """The trees of `G` games, and the state of each search.

    `nodes` `[G, slots]` is of type `NODE`, each root in slot 0, and `used` `[G]` counts the slots in use.
    `roots` `[G, 2]` are the masks of the positions, `left` `[G]` the simulations still to be made, `noise`
    `[G, cells]` what is mixed into the priors of the root. `paths` `[G, cells + 1]` are the slots of the
    current simulation from the root on, `lengths` `[G]` their numbers, 0 if none has begun, and `leaves`
    `[G, 2]` the masks at their ends. `moves` `[G]` counts the moves on the paths of all simulations so far.
    """

    nodes: NDArray[np.void]
    used: NDArray[np.int64]
    roots: Masks
    left: NDArray[np.int64]
    noise: NDArray[np.float32]
    paths: NDArray[np.int32]
    lengths: NDArray[np.int64]
    leaves: Masks
    moves: NDArray[np.int64]
    random: Random
    threats: Threats


class EvaluationTable(NamedTuple):
    """The network's answers and pending queries: a hash table of positions, symmetric ones merged.

    `places` are rows, or −1, by a hash of the position, `boards` `[rows, 2]` the positions. `counts` are the
    number of rows in use, and the number of these, the first ones, that the network has evaluated. `priors`
    `[rows, cells]` and `values` `[rows]` are its answers, the value for the player to move. `permutations`
    `[S, cells]` are the symmetries of the board.
    """

    places: NDArray[np.int32]
    boards: Masks
    priors: NDArray[np.float32]
    values: NDArray[np.float32]
    counts: NDArray[np.int64]
    permutations: NDArray[np.uint8]


def new_forest(game: Game, n_games: int, slots: int) -> Forest:
    """Trees without roots, with this number of slots each."""
    return Forest(
        nodes=np.empty((n_games, slots), NODE),
        used=np.zeros(n_games, np.int64),
        roots=np.zeros((n_games, 2), np.uint64),
        left=np.zeros(n_games, np.int64),
        noise=np.zeros((n_games, game.n_cells), np.float32),
        paths=np.zeros((n_games, game.n_cells + 1), np.int32),
        lengths=np.zeros(n_games, np.int64),
        leaves=np.zeros((n_games, 2), np.uint64),
        moves=np.zeros(n_games, np.int64),
        random=np.zeros(1, np.uint64),
        threats=new_threats(game, remembers=False),
    )


def empty_table(game: Game, rows: int) -> EvaluationTable:
    """An empty table for this number of positions."""
    return EvaluationTable(
        places=np.full(2 << (rows - 1).bit_length(), -1, np.int32),
        boards=np.empty((rows, 2), np.uint64),
        priors=np.empty((rows, game.n_cells), np.float32),
        values=np.empty(rows, np.float32),
        counts=np.zeros(2, np.int64),
        permutations=motions(game).astype(np.uint8),
    )


def begin_searches(forest: Forest, mine: Masks, theirs: Masks, simulations: int) -> None:
    """Begin the searches of these positions: each tree is a root alone, with `simulations` to be made."""
    forest.roots[:, 0], forest.roots[:, 1] = mine, theirs
    forest.used[:], forest.lengths[:], forest.left[:] = 1, 0, simulations
    forest.nodes[:, 0] = _NEW_ROOT


def moves_of_roots(forest: Forest, game: Game) -> NDArray[np.void]:
    """The nodes after the moves of the roots by cell, `[G, cells]`.

    A cell that may not be played, or whose move was not tried because the other player would complete a set
    next, has a node without visits and with a `prior` of 0. Its `value` is UNKNOWN; for a move that was not
    tried it is LOSS.
    """
    n_games, n_cells = forest.noise.shape
    moves = np.full((n_games, n_cells), _NEW_ROOT)
    moves["prior"] = 0.0
    roots = forest.nodes[:, :1]
    cells = rules.playable(game, forest.roots[:, 0] | forest.roots[:, 1])
    is_legal = cells[:, None] >> np.arange(n_cells, dtype=np.uint64) & ONE != NONE
    moves["value"][is_legal & (roots["n_children"] > 0)] = LOSS
    number = np.arange(n_cells)
    games, numbers = np.nonzero(number < roots["n_children"])
    children = forest.nodes[games, roots["first_child"][games, 0] + numbers]
    moves[games, children["cell"]] = children
    return moves


@inner
def init_node(tree: NDArray[np.void], node: int, cell: int, prior: float) -> None:
    """Initialise a slot as a node without visits."""
    record = tree[node]
    record.total, record.visits, record.prior = 0.0, 0, prior
    record.first_child, record.n_children = 0, 0
    record.cell, record.value = cell, UNKNOWN


@compiled
def simulate(
    forest: Forest, sets: WinningSets, settings: PuctSettings, table: EvaluationTable, seed: np.uint64
) -> int:
    """Run the simulations of all games until they are done or need the network; return how many need it.

    The positions that it is to evaluate are the last rows of `table`. If there is no room for more of them,
    games wait without a row. A search ends as soon as its root is proved.
    """
    n_waiting = 0
    for game in range(len(forest.left)):
        tree = forest.nodes[game]
        while forest.left[game] > 0:
            if tree[0].value != UNKNOWN:
                forest.left[game] = 0
            elif not simulate_once(forest, game, sets, settings, table, seed):
                n_waiting += 1
                break
    return n_waiting


@inner
def simulate_once(
    forest: Forest,
    game: int,
    sets: WinningSets,
    settings: PuctSettings,
    table: EvaluationTable,
    seed: np.uint64,
) -> bool:
    """Begin or continue a simulation of a game; False if it needs the network first."""
    tree = forest.nodes[game]
    if forest.lengths[game] == 0:
        select(forest, game, settings)
        if settings.threats:
            prove_root_by_threats(forest, game, sets)
            follow_forced(forest, game, sets)
    leaf = forest.paths[game, forest.lengths[game] - 1]
    if tree[leaf].value == UNKNOWN:
        row, symmetry = find(table, forest.leaves[game, 0], forest.leaves[game, 1])
        if row < 0 or row >= table.counts[1]:
            return False
        expand(forest, game, leaf, sets, settings, table.priors[row], table.permutations[symmetry], seed)
        backpropagate(forest, game, settings, -float(table.values[row]))
    else:
        backpropagate(forest, game, settings, 0.0)
    forest.moves[game] += forest.lengths[game] - 1
    forest.lengths[game] = 0
    forest.left[game] -= 1
    return True


@inner
def select(forest: Forest, game: int, settings: PuctSettings) -> None:
    """Follow the best children from the root to a node that is not expanded, over or proved."""
    tree, node, depth = forest.nodes[game], ZERO, 0
    mine, theirs = forest.roots[game, 0], forest.roots[game, 1]
    forest.paths[game, 0] = 0
    while tree[node].n_children > 0 and tree[node].value == UNKNOWN:
        node = best_child(tree, node, settings)
        depth += 1
        forest.paths[game, depth] = node
        mine, theirs = theirs, mine | stone(tree[node].cell)
    forest.lengths[game] = depth + 1
    forest.leaves[game, 0], forest.leaves[game, 1] = mine, theirs


@inner
def prove_root_by_threats(forest: Forest, game: int, sets: WinningSets) -> None:
    """Prove the root, if it is the end of the path and threats win there for the player to move.

    Its children then have no prior, because the network is not queried.
    """
    tree, t = forest.nodes[game], forest.threats
    mine, theirs = forest.leaves[game, 0], forest.leaves[game, 1]
    if forest.lengths[game] > 1 or completing(mine, theirs, sets.masks) != NONE:
        return
    block = completing(theirs, mine, sets.masks)
    if is_several(block) or not wins_soon(mine, theirs, block, sets, t, _ROOT_THREAT_NODES):
        return
    free, first = playable(sets, mine | theirs), forest.used[game]
    while free != NONE:
        cell = lowest(free)
        free ^= cell
        init_node(tree, forest.used[game], cell_of(cell), np.nan)
        if cell == t.gain[0]:
            tree[forest.used[game]].value = WIN
        forest.used[game] += 1
    tree[0].first_child, tree[0].n_children = first, forest.used[game] - first
    tree[0].value = LOSS


@inner
def follow_forced(forest: Forest, game: int, sets: WinningSets) -> None:
    """Continue from the end of the path while the player to move must stop the other from completing a set.

    So the network is queried only about positions in which neither can complete one, and the player to move
    does not win by threats that leave one reply each. Where a player wins by threats, the node at the end of
    the path gets its value. The root is not changed.
    """
    tree = forest.nodes[game]
    while True:
        leaf = forest.paths[game, forest.lengths[game] - 1]
        if leaf == 0 or tree[leaf].value != UNKNOWN:
            return
        mine, theirs = forest.leaves[game, 0], forest.leaves[game, 1]
        cell, t = tree[leaf].cell, forest.threats
        value, block = search_threats(mine, theirs, cell, sets, t, _THREAT_NODES)
        tree[leaf].value = value
        if value != UNKNOWN or block == NONE:
            return
        child = forest.used[game]
        init_node(tree, child, cell_of(block), 1.0)
        if mine | theirs | block == sets.full:
            tree[child].value = DRAW
        tree[leaf].first_child, tree[leaf].n_children = child, 1
        forest.used[game] += 1
        forest.paths[game, forest.lengths[game]] = child
        forest.lengths[game] += 1
        forest.leaves[game, 0], forest.leaves[game, 1] = theirs, mine | block


@inner
def best_child(tree: NDArray[np.void], node: int, settings: PuctSettings) -> int:
    """The child with the largest Q + c·P·sqrt(n) / (1 + n_child), the first of equals.

    Q is the mean of its results; for an unvisited child that of the node itself, minus the reduction. A
    proved draw has the score 0 and needs no exploration; a proved loss is chosen only if there is nothing
    else.
    """
    n = tree[node].visits
    explore = (settings.c_init + log((1.0 + n + settings.c_base) / settings.c_base)) * sqrt(n)
    unvisited = -tree[node].total / n - settings.reduction
    first = tree[node].first_child
    best, best_score = first, -np.inf
    for child in range(first, first + tree[node].n_children):
        visits = tree[child].visits
        score = tree[child].total / visits if visits > 0 else unvisited
        score += explore * tree[child].prior / (1.0 + visits)
        if settings.solve and tree[child].value != UNKNOWN:
            score = 0.0 if tree[child].value == DRAW else -np.inf
        if score > best_score:
            best, best_score = child, score
    return int(best)


@inner
def expand(
    forest: Forest,
    game: int,
    leaf: int,
    sets: WinningSets,
    settings: PuctSettings,
    priors: NDArray[np.float32],
    image: NDArray[np.uint8],
    seed: np.uint64,
) -> None:
    """Give a leaf a child for each free cell, with the priors of the symmetric position in the table.

    The order of the children is drawn from the seed and the position, so that the first of equals favours no
    cell. A child in which the game is over has its value. With `threats` the root has only the children that
    stop the other player from completing a set, if there are any.
    """
    tree = forest.nodes[game]
    mine, theirs = forest.leaves[game, 0], forest.leaves[game, 1]
    free, first = playable(sets, mine | theirs), forest.used[game]
    seed_by(forest.random, seed, mine, theirs)
    is_last = not is_several(sets.full ^ (mine | theirs))
    if settings.threats and leaf == 0 and completing(mine, theirs, sets.masks) == NONE:
        block = completing(theirs, mine, sets.masks)
        free = block if block != NONE else free
    n = 0
    while free != NONE:
        cell = cell_of(lowest(free))
        free ^= lowest(free)
        prior = priors[image[cell]]
        if leaf == 0 and settings.noise > 0.0:
            prior = (1.0 - settings.noise) * prior + settings.noise * forest.noise[game, cell]
        slot = first + draw_below(forest.random, n + 1)
        tree[first + n] = tree[slot]
        init_node(tree, slot, cell, prior)
        if completes(sets, mine | stone(cell), cell):
            tree[slot].value = completion_value(sets)
        elif is_last:
            tree[slot].value = DRAW
        n += 1
    tree[leaf].first_child, tree[leaf].n_children = first, n
    forest.used[game] = first + n


@inner
def backpropagate(forest: Forest, game: int, settings: PuctSettings, result: float) -> None:
    """Add the result, for the player who moved last, to the nodes of the path; prove those that can be.

    The value of a node that is over or proved replaces the result.
    """
    tree = forest.nodes[game]
    proves = settings.solve
    for depth in range(forest.lengths[game] - 1, -1, -1):
        node = forest.paths[game, depth]
        if proves and tree[node].value == UNKNOWN:
            tree[node].value = proved_value(tree, node, True)
            proves = tree[node].value != UNKNOWN
        if tree[node].value != UNKNOWN:
            result = float(tree[node].value)
        tree[node].visits += 1
        tree[node].total += result
        result = -result


# --- What is known of positions ----------------------------------------------------------------------------


@inner
def find(table: EvaluationTable, mine: np.uint64, theirs: np.uint64) -> tuple[int, int]:
    """The row of a position, and the symmetry that maps the position to it; a new row if it has none.

    The row is −1 if there is no room for another one.
    """
    mine, theirs, symmetry = canonical(mine, theirs, table.permutations)
    mask = len(table.places) - 1
    place = int((mine * SCATTER ^ theirs) * SCATTER >> _29) & mask
    while table.places[place] >= 0:
        row = table.places[place]
        if table.boards[row, 0] == mine and table.boards[row, 1] == theirs:
            return int(row), symmetry
        place = (place + 1) & mask
    row = table.counts[0]
    if row == len(table.boards):
        return -1, symmetry
    table.places[place] = row
    table.boards[row, 0], table.boards[row, 1] = mine, theirs
    table.counts[0] += 1
    return int(row), symmetry
