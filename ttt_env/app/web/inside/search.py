"""Monte Carlo tree search after some simulations: the tree so far, and what the last of them did."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import log, sqrt
from operator import attrgetter

from ttt_env.agents.mcts.search import Search
from ttt_env.agents.mcts.tree import Node
from ttt_env.app.web.inside.branch import Branch, end_of
from ttt_env.rules import SEATS, Position, Seat

MAX_NODES, MAX_CHOICES = 20, 9

Cells = tuple[int, ...]


@dataclass(frozen=True)
class Simulation:
    """One simulation: the cells of its path in the tree, whether the last one was new, the winner.

    `is_ended` is True if the game was over there, so that there was no playout.
    """

    path: Cells
    is_expanded: bool
    is_ended: bool
    winner: Seat | None


@dataclass(frozen=True)
class Choice:
    """A move at the root: the wins and visits of its node, and the two terms of its UCT score."""

    cell: int
    wins: float
    visits: int
    mean: float
    bonus: float

    @property
    def score(self) -> float:
        """The UCT score: the next simulation selects the move with the largest one."""
        return self.mean + self.bonus


@dataclass(frozen=True)
class Searched:
    """A search after some simulations. `tree` has the last path and those of the `n_nodes` nodes in `drawn`.

    `by_cell` are the moves at the root, `choices` those of the largest scores; `n_untried` have no node yet.
    `best` are the most visited cells.
    """

    tree: Branch
    by_cell: dict[int, Choice]
    n_nodes: int
    last: Simulation | None
    choices: tuple[Choice, ...]
    n_untried: int
    best: tuple[int, ...]

    @property
    def next(self) -> int | None:
        """The cell that the next simulation selects at the root, if no move is untried."""
        return None if self.n_untried else self.choices[0].cell


def searched(position: Position, done: int, seed: int, c: float, draw: float, playout: str) -> Searched:
    """The search from a position after `done` simulations, without proofs."""
    search = Search(position, c=c, draw=draw, playout=playout, solve=False, seed=seed)
    if done:
        search.run(simulations=done)
    root, path = search.tree(), tuple(search.path)
    visits = _visits(root, ())
    lit = {path[:depth] for depth in range(len(path) + 1)}
    choices = [_choice(cell, child, root.visits, c) for cell, child in _moves(root)]
    return Searched(
        _branch(root, position, (), root.visits, path, drawn(visits) | lit),
        {choice.cell: choice for choice in choices},
        len(visits),
        _simulation(search, root, path) if done else None,
        tuple(sorted(choices, key=attrgetter("score"), reverse=True)[:MAX_CHOICES]),
        len(position.legal_cells) - len(root.children),
        tuple(search.best_cells()),
    )


def _visits(node: Node, cells: Cells) -> dict[Cells, int]:
    """The visits of the node and its descendants, by the cells that lead there, parents first."""
    visits = {cells: node.visits}
    for cell, child in _moves(node):
        visits |= _visits(child, (*cells, cell))
    return visits


def drawn(visits: Mapping[Cells, int]) -> set[Cells]:
    """The nodes of a tree of these visits that are drawn, at most `MAX_NODES`.

    First come the most visited moves, one after the other from the root on; then the moves from the most
    visited positions, of these the most visited first. Equally visited moves from one position are drawn all
    or not at all, and no move is drawn from a position while there is one to draw from a more visited one.
    """
    nodes = _most_visited_path(visits)

    def rank(cells: Cells) -> tuple[int, int]:
        return -visits[cells[:-1]], -visits[cells]

    ranked = sorted((cells for cells in visits if cells), key=rank)
    for _, equals in groupby(ranked, rank):
        more = nodes.union(equals)
        if len(more) > MAX_NODES:
            break
        nodes = more
    return nodes


def _most_visited_path(visits: Mapping[Cells, int]) -> set[Cells]:
    """The most visited moves from the root on: all that are equal, as far as there is room for them."""
    path: set[Cells] = set()
    ends: set[Cells] = {()}
    while ends and len(path) + len(ends) <= MAX_NODES:
        path |= ends
        after = [cells for cells in visits if cells and cells[:-1] in ends]
        most = max((visits[cells] for cells in after), default=0)
        ends = {cells for cells in after if visits[cells] == most}
    return path


def _branch(
    node: Node, position: Position, cells: Cells, n_parent: int, path: Cells, shown: set[Cells]
) -> Branch:
    """The node and what is drawn below it: the most visited moves first, equal ones by their cells."""
    is_lit = path[: len(cells)] == cells
    children = tuple(
        _branch(child, position.child(cell), (*cells, cell), node.visits, path, shown)
        for cell, child in sorted(_moves(node), key=lambda move: (-move[1].visits, move[0]))
        if (*cells, cell) in shown
    )
    above = end_of(position) if position.is_over else f"cell {cells[-1]}" if cells else "root"
    mean = node.wins / node.visits if node.visits else 0.5
    tone = (2 * mean - 1) * (1 if position.ply % 2 else -1)  # the node counts for who has just moved
    below = f"{node.wins:.4g}/{node.visits}"
    share = node.visits / max(n_parent, 1)
    return Branch(position, cells, above, below, share, tone, children=children, is_lit=is_lit)


def _simulation(search: Search, root: Node, path: Cells) -> Simulation:
    node, position = root, search.position
    for cell in path:
        node = dict(_moves(node))[cell]
        position = position.child(cell)
    winner = SEATS[(search.position.ply + (search.last_result < 0)) % 2] if search.last_result else None
    return Simulation(path, node.visits == 1, position.is_over, winner)


def _moves(node: Node) -> Iterator[tuple[int, Node]]:
    """The children with their cells, in the order in which they were tried."""
    return ((child.cell, child) for child in node.children if child.cell is not None)


def _choice(cell: int, child: Node, n_root: int, c: float) -> Choice:
    bonus = c * sqrt(log(n_root) / child.visits)
    return Choice(cell, child.wins, child.visits, child.wins / child.visits, bonus)
