"""Trees of positions as the page draws them, small boards on a plan that a narrow window turns on its side.

They are those of minimax and softmax minimax, with values and move probabilities, and of Monte Carlo search
after some simulations, with what the last of them did.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby
from math import isclose, isfinite, log, sqrt
from operator import attrgetter

from ttt_env.agents.mcts.agent import Playout
from ttt_env.agents.mcts.search import Node, Search, StoppedBy
from ttt_env.analysis.induction import Values, backward_induction, softmax
from ttt_env.analysis.layers import Responder, reachable
from ttt_env.analysis.solution import solve
from ttt_env.render.layout import Box, completed_mask, layout_of
from ttt_env.render.tree import Spot, n_leaves, spots_of
from ttt_env.render.words import percent, told_value
from ttt_env.rules import SEATS, Boards, Game, Position, Seat, canonical, cells_of
from ttt_env.web.computing import Keeper

_CELL = 20  # of a small board; all of its lengths are in these units
_MAX_ABREAST, _MAX_ABREAST_DENSE = 12, 19  # boards side by side in a wide window


@dataclass(frozen=True)
class Branch:
    """A position in a tree: the moves that lead to it from the root, and what is written at its board.

    `share` is the part of its parent's probability or visits, from 0 to 1, that goes on to this branch: the
    width of the edge. `tone` is the value for X that colours `below`, `alike` how many symmetric moves the
    branch stands for. Lit branches stand out.
    """

    position: Position
    cells: tuple[int, ...]
    above: str
    below: str
    share: float
    tone: float
    alike: int = 1
    children: tuple["Branch", ...] = ()
    is_lit: bool = False

    @property
    def label(self) -> str:
        """The branch in words."""
        moves = f"after {', '.join(map(str, self.cells))}: " if self.cells else ""
        times = f" {self.alike}×" if self.alike > 1 else ""
        return f"{moves}{self.position}, {self.above}{times} {self.below}"


def end_of(position: Position) -> str:
    """The result of a finished game, in words."""
    return f"{position.winner} wins" if position.winner else "draw"


@dataclass(frozen=True)
class TreeLayout:
    """The spots of a tree, its number of leaves and of plies, and whether its boards have to be small."""

    spots: tuple[Spot[Branch], ...]
    leaves: int
    plies: int
    is_dense: bool


def tree_layout(root: Branch) -> TreeLayout:
    """The places of all branches. Parents are centred above their children if all leaves fit side by side."""
    leaves = n_leaves(root)
    spots = tuple(spots_of(root, leaves <= _MAX_ABREAST_DENSE))
    return TreeLayout(spots, leaves, max(spot.depth for spot in spots) + 1, leaves > _MAX_ABREAST)


@dataclass(frozen=True)
class SmallBoard:
    """The plan of the small boards of a tree: its view box, the ratio of height to width, and the tiles."""

    view: str
    ratio: float
    tiles: tuple[Box, ...]

    def marks(self, position: Position, last: int | None) -> Iterator[tuple[str, Box]]:
        """The marks on the board of a position and their tiles: the last move, completed sets, the stones."""
        if last is not None:
            yield "last", self.tiles[last]
        for mark, mask in (
            ("completed", completed_mask(position)),
            ("x", position.x_mask),
            ("o", position.o_mask),
        ):
            yield from ((mark, self.tiles[cell]) for cell in cells_of(mask))


@lru_cache(maxsize=32)
def grid_of(game: Game) -> SmallBoard:
    """The plan of the small boards of a game."""
    layout = layout_of(game, _CELL)
    edge = layout.panels[0].x
    width, height = layout.width - 2 * edge, layout.height - 2 * edge
    return SmallBoard(f"{edge} {edge} {width} {height}", height / width, layout.tiles)


MAX_BOARDS = 80


@dataclass(frozen=True)
class Move:
    """A legal move: its probability, and the value of the position after it for X."""

    cell: int
    probability: float
    value: float


@dataclass(frozen=True)
class SolvedTree:
    """The moves of a position by cell, and the tree of `plies` below it.

    `is_cut` says whether fewer plies are in it than were asked for.
    """

    moves: dict[int, Move]
    tree: Branch
    plies: int
    is_cut: bool


class TreeSolver:
    """Computes the values of games at the temperatures of both seats, and keeps them."""

    def __init__(self) -> None:
        self._values: Keeper[Values] = Keeper(32, 1)

    def tree_of(self, position: Position, temperatures: tuple[float, float], plies: int) -> SolvedTree:
        """The tree where X and O move by softmax of these temperatures; at 0 that is minimax."""
        game, (x, o) = position.game, map(softmax, temperatures)
        if any(temperatures):
            values = self._values.get_or_make(
                game, f"{temperatures}", lambda: backward_induction(reachable(game), x, o).values()
            )
        else:  # whole numbers
            values = solve(game).values
        grower = _Grower(values, (x, o))
        n_plies = plies_that_fit(position, plies)
        moves = {move.cell: move for move in grower.moves(position)}
        return SolvedTree(moves, grower.branch(position, n_plies), n_plies, n_plies < plies)


class _Grower:
    """Makes branches by the values and the responders of a sweep."""

    def __init__(self, values: Values, responders: tuple[Responder, Responder]) -> None:
        self._values, self._responders = values, responders

    def moves(self, position: Position) -> list[Move]:
        """The legal moves, the most probable first."""
        if position.is_over:
            return []
        boards = Boards.of([position])
        q = self._values.q(boards)
        shares = self._responders[position.ply % 2](q, boards.legal)[0]
        sign = 1 if position.to_move == "X" else -1
        moves = [Move(cell, float(shares[cell]), sign * float(q[0, cell])) for cell in position.legal_cells]
        return sorted(moves, key=lambda move: -move.probability)

    def branch(self, position: Position, plies: int, cells: tuple[int, ...] = ()) -> Branch:
        """The tree of so many plies below a position, to which these cells lead."""
        moves = self.moves(position) if plies else []
        alike = distinct_moves(position) if plies else {}
        children = tuple(
            replace(
                self.branch(position.child(move.cell), plies - 1, (*cells, move.cell)),
                above=percent(move.probability),
                share=move.probability,
                alike=alike[move.cell],
                is_lit=isclose(move.probability, moves[0].probability),
            )
            for move in moves
            if move.cell in alike
        )
        value = float(self._values.of(Boards.of([position]))[0])
        value = value if position.to_move == "X" else -value
        below = end_of(position) if position.is_over else told_value(value)
        return Branch(position, cells, "now", below, share=1.0, tone=value, children=children)


def distinct_moves(position: Position) -> dict[int, int]:
    """A move to each position that can come next, symmetric ones merged, and how many moves lead there."""
    alike: dict[Position, list[int]] = {}
    for cell in position.legal_cells:
        alike.setdefault(canonical(position.child(cell)), []).append(cell)
    return {cells[0]: len(cells) for cells in alike.values()}


def plies_that_fit(position: Position, plies: int) -> int:
    """The number of these plies that a tree of at most `MAX_BOARDS` boards has room for, at least one."""
    level, n_boards = [position], 1
    for ply in range(plies):
        level = [parent.child(cell) for parent in level for cell in distinct_moves(parent)]
        n_boards += len(level)
        if n_boards > MAX_BOARDS:
            return max(ply, 1)
    return plies


MAX_SIMULATIONS, MAX_NODES, MAX_CHOICES = 2000, 20, 9

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
    """A search after `done` simulations.

    `tree` has the last path and those of the `n_nodes` nodes in `drawn`.
    `by_cell` are the moves at the root, `choices` those of the largest scores; `n_untried` have no node yet.
    `best` are the most visited cells; `leads` says in words how far one is ahead. The search ends after `end`
    simulations; if that is before its budget, of which so many are `left`, `stopped_by` says why.
    """

    done: int
    end: int
    left: int
    leads: str
    stopped_by: StoppedBy | None
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


def searched(
    position: Position,
    done: int,
    seed: int,
    c: float,
    draw: float,
    playout: Playout,
    simulations: int = MAX_SIMULATIONS,
    early_stop: bool = False,
    tolerance: float | None = None,
) -> Searched:
    """The search from a position after `done` of so many `simulations`, or where it ends, without proofs."""
    new_search = partial(Search, position, c=c, draw=draw, playout=playout, solve=False, seed=seed)
    end, stopped_by = simulations, None
    if early_stop or tolerance is not None:
        whole = new_search(early_stop=early_stop, tolerance=tolerance)
        end, stopped_by = whole.run(simulations), whole.stopped_by
    done, search = min(done, end), new_search()
    if done:
        search.run(done)
    root, path = search.tree(), tuple(search.path)
    visits = _visits(root, ())
    lit = {path[:depth] for depth in range(len(path) + 1)}
    choices = [
        Choice(
            cell,
            child.wins,
            child.visits,
            child.wins / child.visits,
            c * sqrt(log(root.visits) / child.visits),
        )
        for cell, child in _moves(root)
    ]
    return Searched(
        done,
        end,
        simulations - done,
        f"leads by {search.lead}" if isfinite(search.lead) else "is the only one",
        stopped_by if done == end else None,
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
    nodes: set[Cells] = set()
    ends: set[Cells] = {()}
    while ends and len(nodes) + len(ends) <= MAX_NODES:
        nodes |= ends
        after = [cells for cells in visits if cells and cells[:-1] in ends]
        most = max((visits[cells] for cells in after), default=0)
        ends = {cells for cells in after if visits[cells] == most}

    def rank(cells: Cells) -> tuple[int, int]:
        return -visits[cells[:-1]], -visits[cells]

    ranked = sorted((cells for cells in visits if cells), key=rank)
    for _, equals in groupby(ranked, rank):
        more = nodes.union(equals)
        if len(more) > MAX_NODES:
            break
        nodes = more
    return nodes


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
