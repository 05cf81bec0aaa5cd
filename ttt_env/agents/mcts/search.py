"""A Monte Carlo tree search that can be run, stepped through, read, and continued after a move."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from math import inf, sqrt
from time import perf_counter
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ttt_env import rules
from ttt_env.agent import Floats
from ttt_env.agents.learned.value_network import BoardNetwork
from ttt_env.agents.mcts import search_kernel as kernel
from ttt_env.agents.mcts.agent import MAX_C, Playout
from ttt_env.agents.mcts.search_kernel import Tree
from ttt_env.compiled.compiler import ready
from ttt_env.compiled.sets import winning_sets
from ttt_env.compiled.stopping import check_stopped
from ttt_env.compiled.threats import UNKNOWN, new_threats
from ttt_env.errors import IllegalMoveError, ImpossiblePositionError, ParameterError, brief
from ttt_env.render.svg import Picture
from ttt_env.render.tree import TreeNode, tree_dot
from ttt_env.rules import SEATS, Between, Game, Position, Seconds, Seed, Share, cells_of, checked


@dataclass(frozen=True)
class Node:
    """A node of the tree; `cell` is the move that leads to it, None at the root.

    `wins` and `value` are for the player who made that move. `wins` sums up the results of its visits, 1 for
    a win and the `draw` of the search for a draw. `value` is 1, 0 or −1 where a win, draw or loss is certain,
    by the rules or by proof, else None. `children` are in the order in which they were first tried.
    """

    cell: int | None
    visits: int
    wins: float
    value: int | None
    children: tuple[Node, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The node and all nodes below it as dictionaries and lists for JSON."""
        return {**vars(self), "children": [child.as_dict() for child in self.children]}

    def picture(self, position: Position, path: tuple[int | None, ...]) -> TreeNode:
        """The node and all nodes below it for a drawing: labels w/n, and the nodes on the path marked.

        `path` begins with the cell of this node if the node is on it.
        """
        is_marked = path[:1] == (self.cell,)
        caption = [f"{self.wins:g}/{self.visits}"]
        if self.value is not None:  # proved, for the player who has just moved
            winner = SEATS[(position.ply + (self.value == 1)) % 2]
            caption.append(f"{winner} wins" if self.value else "draw")
        children = tuple(
            child.picture(position.child(child.cell), path[1:] if is_marked else ())
            for child in self.children
            if child.cell is not None
        )
        return TreeNode(position, self.cell, tuple(caption), children, is_marked)


def read_node(tree: Tree, slot: int, max_depth: int, min_visits: int) -> Node:
    """The node in this slot and its descendants within `max_depth` that have at least `min_visits` visits."""
    node, nodes = tree.nodes[slot], tree.nodes
    first, value = int(node["first_child"]), int(node["value"])
    children = [
        read_node(tree, child, max_depth - 1, min_visits)
        for child in range(first, first + int(node["n_children"]))
        if max_depth > 0 and nodes["visits"][child] >= min_visits
    ]
    return Node(
        cell=int(node["cell"]) if slot else None,
        visits=int(node["visits"]),
        wins=float(node["wins"]),
        value=None if value == UNKNOWN else value,
        children=tuple(children),
    )


PLAYOUTS = get_args(Playout)
StoppedBy = Literal["proved", "decided", "settled"]  # None if the budget was used up
MAX_SLOTS = 1 << 24  # half a gigabyte of nodes
_FIRST_SLOTS = 1 << 12
_max_slots = ContextVar("max_slots", default=MAX_SLOTS)
_FIRST_CHUNK, _CHUNK = 64, 4096  # simulations between two checks of the clock; the latter take some 10 ms
_SHOWN = 50  # a notebook shows moves with more than a 50th of the simulations


@contextmanager
def tree_limit(max_slots: int) -> Iterator[None]:
    """Limit the trees of searches inside the block, in this thread, to `max_slots` nodes of 32 bytes.

    A search whose tree is full continues with the nodes that it has.
    """
    token = _max_slots.set(max_slots)
    try:
        yield
    finally:
        _max_slots.reset(token)


class Search:
    """A UCT search for the player to move in a position, to be run step by step; see `MCTS`.

    The same parameters and the same number of simulations give the same search. It is not thread-safe. An
    interrupt (Ctrl-C) ends `run` between two simulations, and keeps what they found. `stopped_by` says why
    the last run ended: "proved", "decided" (`early_stop`), "settled" (`tolerance`), or None if the budget was
    used up.

    Args:
        position: The position, in which the game must not be over.
        c: The exploration constant.
        draw: The result of a draw, between 0 for a loss and 1 for a win.
        playout: "random" or "win-block".
        solve: Whether proved values are backed up.
        seed: The seed of the search.
        network: A network that evaluates the position which a simulation has reached, instead of a playout.
        threats: Whether forced moves and winning sequences of threats are searched before simulations. Needs
            `solve`; without effect in misère games and in games with gravity.
        early_stop: Whether a run ends as soon as the simulations left cannot take the lead from the most
            visited move, nor draw level with it. With a budget of seconds their number is estimated from the
            speed so far.
        tolerance: Ends a run when the answer has settled: at 64, 128, 256, … simulations through the root, if
            the best moves are the same as at half as many, and the mean result of the first of them, between
            0 and 1, has changed by less than this.

    Raises:
        IllegalMoveError: The game is over in the position.
        ParameterError: A parameter is out of its range.

    Example:
        >>> search = Search(Position.parse("XX./OO./XO."), seed=0)
        >>> search.run(100)  # the simulations that the proof needed
        3
        >>> search.best_cells(), search.is_proved
        ([2], True)

    """

    @checked
    def __init__(
        self,
        position: Position,
        *,
        c: Annotated[float, Between(0, MAX_C)] = sqrt(2),
        draw: Share = 0.5,
        playout: Playout = "random",
        solve: bool = True,
        seed: Seed = 0,
        network: BoardNetwork | None = None,
        threats: bool = False,
        early_stop: bool = False,
        tolerance: Share | None = None,
    ) -> None:
        if not isinstance(position, Position):
            raise ImpossiblePositionError(f"a search begins in a Position, not {brief(position)}")
        self._early_stop, self._tolerance = early_stop, tolerance
        self._settings = kernel.UctSettings(c, draw, playout == "win-block", solve)
        uses_threats = threats and solve and position.game.is_monotone
        self._threats = new_threats(position.game) if uses_threats else None
        self._sets = winning_sets(position.game)
        self.stopped_by: StoppedBy | None = None
        self._answer: tuple[list[int], float] | None = None
        self._network = None if network is None else network.compiled()
        self.position = position
        self._tree = kernel.empty_tree(position.game, _FIRST_SLOTS)
        self.restart(position, seed)
        if self._network is not None:
            ready("mcts", lambda: self._iterate(0))

    @checked
    def restart(self, position: Position, seed: Seed) -> None:
        """Restart the search in another position of the same game.

        Args:
            position: The position.
            seed: The seed of the new search.

        Raises:
            ImpossiblePositionError: The position is of another game.
            IllegalMoveError: The game is over in it.

        """
        position = rules.check_game(position, self.position.game).checked()
        if position.is_over:
            raise IllegalMoveError(f"there is no move to search for: the game {position} is over")
        _prepare(self._threats is not None)
        self._tree.root[:] = position.mine, position.theirs
        self._begin_search(seed, anew=True)
        self.position, self._answer = position, None

    def _begin_search(self, seed: int, anew: bool) -> None:
        kernel.begin_search(self._tree, self._threats, self._sets, np.uint64(seed), anew)

    @checked
    def run(
        self,
        simulations: Annotated[int, Between(1)] | None = None,
        seconds: Seconds | None = None,
    ) -> int:
        """Run a number of simulations, or for some seconds, and return the number of simulations made.

        It is smaller if the position is proved, or where `early_stop` or `tolerance` ends the run.

        Args:
            simulations: The number of simulations.
            seconds: The time; give one of the two.

        Raises:
            ParameterError: Both are given, or neither.

        """
        if (simulations is None) == (seconds is None):
            raise ParameterError("a search takes either simulations= or seconds=")
        n_done, chunk, start = 0, _CHUNK if seconds is None else _FIRST_CHUNK, perf_counter()
        n_left = inf if simulations is None else simulations
        self.stopped_by = None
        while n_left > 0 and not self.is_proved and self.stopped_by is None:
            check_stopped()
            n_done += self._iterate(int(min(chunk, n_left, self._until_next_check(n_left))))
            chunk = min(2 * chunk, _CHUNK)
            if simulations is not None:
                n_left = simulations - n_done
            elif seconds is not None:
                passed = perf_counter() - start
                n_left = n_done * (seconds / passed - 1)
            self.stopped_by = self._reason_to_stop(n_left)
        return n_done

    def _until_next_check(self, n_left: float) -> float:
        """The simulations before `_reason_to_stop` can find a reason, at least."""
        n_simulations = inf
        if self._early_stop and n_left < inf:  # each adds at most 1 to the lead, and `n_left` falls by 1
            n_simulations = max(1, (n_left - self.lead) // 2 + 1)
        if self._tolerance is not None:
            n = self.simulations
            n_simulations = min(n_simulations, max(_FIRST_CHUNK, 1 << n.bit_length()) - n)
        return n_simulations

    def _reason_to_stop(self, n_left: float) -> StoppedBy | None:
        if self.is_proved:
            return "proved"
        if self._tolerance is not None and self._has_settled(self._tolerance):
            return "settled"
        return "decided" if self._early_stop and 0 < n_left < self.lead else None

    def _has_settled(self, tolerance: float) -> bool:
        n = self.simulations
        if n < _FIRST_CHUNK or n & (n - 1):
            return False
        before, cells = self._answer, self.best_cells()
        self._answer = cells, float(self.wins[cells[0]] / max(1, self.visits[cells[0]]))
        return before is not None and before[0] == cells and abs(before[1] - self._answer[1]) < tolerance

    @property
    def lead(self) -> float:
        """The number of simulations by which the best move is ahead of all others that are not proved losses.

        0 if several moves are best, infinite if there is no other.
        """
        best, visits, values = self.best_cells(), self.visits, self.values
        if len(best) > 1:
            return 0
        is_lost = values == -1 if self._settings.solve else np.zeros(len(visits), bool)
        others = [int(visits[cell]) for cell in self._candidates() if cell != best[0] and not is_lost[cell]]
        return int(visits[best[0]]) - max(others, default=-inf)

    def step(self) -> bool:
        """Run one simulation; False if there is none to run because the position is proved.

        `path` and `last_result` then describe it.
        """
        return self.run(simulations=1) == 1

    def _iterate(self, n: int) -> int:
        """Run up to `n` simulations and return how many; a full tree stops them and is then doubled."""
        may_grow = 2 * len(self._tree.nodes) <= min(MAX_SLOTS, _max_slots.get())
        n_done = kernel.run(self._tree, self._threats, self._sets, self._settings, self._network, n, may_grow)
        if n_done < n and not self.is_proved:
            self._tree = kernel.double_slots(self._tree)
        return n_done

    def advance(self, cell: int) -> None:
        """Continue from the position after a move, and keep its subtree.

        Args:
            cell: The cell that was played.

        Raises:
            IllegalMoveError: The move is not legal or ends the game; the search is then unchanged.

        """
        after = self.position.play(rules.as_cell(cell, self.position.game))
        if after.is_over:
            raise IllegalMoveError(f"there is no move to search for: the game {after} is over")
        slot = self._slots.get(int(cell))
        if slot is None:
            self.restart(after, int(self._tree.random[0]))
            return
        self._tree = kernel.subtree(self._tree, slot, np.array([after.mine, after.theirs], np.uint64))
        self.position, self._answer = after, None
        if self.is_proved and not self._slots:  # by threats, which name no move
            self.restart(after, int(self._tree.random[0]))

    @checked
    def follow(self, position: Position, seed: Seed) -> None:
        """Continue from a position one or two moves later, or restart in any other.

        Args:
            position: The position.
            seed: The seed of the simulations from here on.

        Raises:
            ImpossiblePositionError: The position is of another game.
            IllegalMoveError: The game is over in it.

        """
        position = rules.check_game(position, self.position.game)
        for cell in self._moves_to(position):
            self.advance(cell)
        if self.position == position:
            self._begin_search(seed, anew=False)
        else:
            self.restart(position, seed)

    def _moves_to(self, position: Position) -> list[int]:
        """The one or two moves that lead to the position; none if it is not one or two moves away."""
        if position.ply - self.position.ply not in (1, 2):
            return []
        x, o = position.x_mask & ~self.position.x_mask, position.o_mask & ~self.position.o_mask
        cells = cells_of(x) + cells_of(o) if self.position.to_move == "X" else cells_of(o) + cells_of(x)
        after = self.position
        for cell in cells:
            if cell not in after.legal_cells:
                return []
            after = after.child(cell)
        return cells if after == position else []

    @property
    def _slots(self) -> dict[int, int]:
        """The slot of each child of the root, by its cell."""
        nodes = self._tree.nodes
        first = int(nodes[0]["first_child"])
        slots = range(first, first + int(nodes[0]["n_children"]))
        return {int(nodes[slot]["cell"]): slot for slot in slots}

    def _by_cell(self, field: str, default: float) -> Floats:
        """A field of the root's children by cell, `[cells]`; `default` where there is no child."""
        numbers = np.full(self.position.game.n_cells, default, np.float64)
        for cell, slot in self._slots.items():
            numbers[cell] = self._tree.nodes[slot][field]
        return numbers

    @property
    def expected(self) -> float:
        """The mean result of the simulations for the player to move, in [−1, 1]; 0 before the first.

        Better moves get more simulations, so it approaches the result of best play (Kocsis and Szepesvári
        2006). The mean of the best moves alone is too high while each has few visits.
        """
        visits = self.visits.sum()
        return float(2 * self.wins.sum() / visits - 1) if visits else 0.0

    @property
    def simulations(self) -> int:
        """The number of simulations through the root, those before `advance` included."""
        return int(self._tree.nodes[0]["visits"])

    @property
    def visits(self) -> NDArray[np.int64]:
        """The number of simulations that began with each cell, `[cells]`."""
        return self._by_cell("visits", 0).astype(np.int64)

    @property
    def wins(self) -> Floats:
        """The sum of their results for the player to move, 1 for a win and `draw` for a draw, `[cells]`."""
        return self._by_cell("wins", 0)

    @property
    def values(self) -> Floats:
        """The proved value of each move for the player to move, 1, 0 or −1, `[cells]`; NaN if unknown."""
        values = self._by_cell("value", UNKNOWN)
        return np.where(values == UNKNOWN, np.nan, values)

    @property
    def value(self) -> int | None:
        """The proved value of the position for the player to move, 1, 0 or −1; None if unknown."""
        return -int(self._tree.nodes[0]["value"]) if self.is_proved else None

    @property
    def is_proved(self) -> bool:
        """True if the value of the position is proved."""
        return bool(self._tree.nodes[0]["value"] != UNKNOWN)

    @property
    def path(self) -> list[int]:
        """The cells that the last simulation took inside the tree; its playout is not part of it."""
        nodes = self._tree.path[1 : self._tree.counts[1]]
        return [int(cell) for cell in self._tree.nodes["cell"][nodes]]

    @property
    def last_result(self) -> int:
        """The result of the last simulation, 1, 0 or −1 for the player to move in the position.

        The value of a network is rounded to these.
        """
        return int(self._tree.counts[2])

    def best_cells(self) -> list[int]:
        """The best moves so far, by visits; with `solve` proved wins come first and proved losses last.

        Before the first simulation these are all legal moves, or those that threats leave.
        """
        visits = self.visits
        values = self.values if self._settings.solve else np.full(len(visits), np.nan)
        cells = self._candidates()
        ranks = [(values[cell] == 1, values[cell] != -1, visits[cell]) for cell in cells]
        return [cell for cell, rank in zip(cells, ranks, strict=True) if rank == max(ranks)]

    def _candidates(self) -> list[int]:
        """The tried and untried moves: all legal ones except those that threats rule out."""
        return sorted([*self._slots, *cells_of(int(self._tree.nodes[0]["untried"]))])

    def policy(self) -> Floats:
        """Uniform among `best_cells`, `[cells]`."""
        cells, policy = self.best_cells(), np.zeros(self.position.game.n_cells)
        policy[cells] = 1 / len(cells)
        return policy

    def tree(self, max_depth: int = 64, min_visits: int = 1) -> Node:
        """The root, with its descendants within `max_depth` that have at least `min_visits` visits."""
        return read_node(self._tree, 0, max_depth, min_visits)

    def to_json(self, max_depth: int = 64, min_visits: int = 1) -> str:
        """`tree` as JSON, with the game, the position and the settings of the search."""
        settings = self._settings
        content = {
            "game": self.position.game.name,
            "position": str(self.position),
            "c": settings.c,
            "draw": settings.draw,
            "playout": PLAYOUTS[settings.win_block] if self._network is None else None,
            "solve": settings.solve,
            "threats": self._threats is not None,
            "tree": self.tree(max_depth, min_visits).as_dict(),
        }
        return json.dumps(content)

    def to_dot(self, max_depth: int = 2, min_visits: int = 1) -> str:
        """`tree` for Graphviz: boards, w/n, proved values, and the last `path`."""
        return tree_dot(self._drawing(max_depth, min_visits))

    def picture(self, max_depth: int = 2, min_visits: int = 1) -> Picture:
        """`tree` as a picture for a notebook or a file, which shows the same as `to_dot`."""
        return self._drawing(max_depth, min_visits).picture()

    def _repr_svg_(self) -> str:
        return self.picture(1, self.simulations // _SHOWN + 1).svg

    def _drawing(self, max_depth: int, min_visits: int) -> TreeNode:
        return self.tree(max_depth, min_visits).picture(self.position, (None, *self.path))


@cache
def _prepare(with_threats: bool) -> None:
    """Compile all that a search calls, or load it, before its clock starts."""
    game = Game("first two", (2,), [(0, 1)])
    sets, settings, zero = winning_sets(game), kernel.UctSettings(0.0, 0.0, False, True), np.uint64(0)
    tree = kernel.empty_tree(game, _FIRST_SLOTS)
    threats = new_threats(game) if with_threats else None
    ready(
        "mcts",
        lambda: kernel.begin_search(tree, threats, sets, zero, True),
        lambda: kernel.run(tree, threats, sets, settings, None, 1, False),
        lambda: kernel.subtree(tree, int(tree.path[1]), tree.root),
    )
