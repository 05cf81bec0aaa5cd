"""The tree of a Monte Carlo tree search, read out of its arrays."""

from dataclasses import dataclass
from typing import Any

from ttt_env.agents.mcts.search_kernel import Tree
from ttt_env.compiled.threats import UNKNOWN
from ttt_env.render.tree import TreeNode
from ttt_env.rules import SEATS, Position


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
    children: tuple["Node", ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The node and all nodes below it as dictionaries and lists for JSON."""
        return {**vars(self), "children": [child.as_dict() for child in self.children]}

    def picture(self, position: Position, path: tuple[int | None, ...]) -> TreeNode:
        """The node and all nodes below it for a drawing: labels w/n, and the nodes on the path marked.

        `path` begins with the cell of this node if the node is on it.
        """
        is_marked = path[:1] == (self.cell,)
        outcome = () if self.value is None else (_outcome(position, self.value),)
        children = tuple(
            child.picture(position.child(child.cell), path[1:] if is_marked else ())
            for child in self.children
            if child.cell is not None
        )
        return TreeNode(position, self.cell, (f"{self.wins:g}/{self.visits}", *outcome), children, is_marked)


def _outcome(position: Position, value: int) -> str:
    """A proved value for the player who has just moved, in words: a draw, or who wins."""
    if value == 0:
        return "draw"
    return f"{SEATS[(position.ply + (value == 1)) % 2]} wins"


def read_node(tree: Tree, slot: int, max_depth: int, min_visits: int) -> Node:
    """The node in this slot, with those below it within the depth and with at least `min_visits` visits."""
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
