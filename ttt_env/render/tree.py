"""A tree of positions as SVG and as Graphviz DOT."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from re import sub

from ttt_env.render.layout import CARD, INK, STONE, layout_of
from ttt_env.render.svg import Picture, draw_svg
from ttt_env.rules import Position

_BOARD = 64  # the width of a board; all lengths are in pixels
_COLUMN = 84
_LINE = 15  # of a caption
_RISE, _GAP = 44, 6  # of the edges, which begin below the captions
_MARGIN = 16
_EDGE, _MARKED_EDGE = "#b3bcc8", STONE["X"]


@dataclass(frozen=True)
class TreeNode:
    """A position as part of a tree: the cell of the move that led to it, and the lines written under it.

    The edges to marked nodes are highlighted.
    """

    position: Position
    last: int | None
    caption: tuple[str, ...]
    children: tuple["TreeNode", ...] = ()
    is_marked: bool = False

    def picture(self) -> Picture:
        """The node and all below it as a picture."""
        return Picture(tree_svg(self))

    def _repr_svg_(self) -> str:
        return tree_svg(self)


@dataclass(frozen=True)
class _Place:
    """The place of a node: its depth, and the middle of its leaves among all leaves."""

    node: TreeNode
    depth: int
    middle: float
    parent: "_Place | None"


def _places_of(node: TreeNode, parent: _Place | None = None, first: int = 0) -> Iterator[_Place]:
    """The places of the node, whose first leaf has the number `first`, and of all below it."""
    middle = first + (_n_leaves(node) - 1) / 2
    place = _Place(node, parent.depth + 1 if parent else 0, middle, parent)
    yield place
    for child in node.children:
        yield from _places_of(child, place, first)
        first += _n_leaves(child)


def _n_leaves(node: TreeNode) -> int:
    """The number of leaves below the node; 1 for a leaf."""
    return sum(map(_n_leaves, node.children)) or 1


def tree_svg(root: TreeNode) -> str:
    """A self-contained SVG document of the tree, the root on top, each node a small board."""
    rise = _board_height(root) + _LINE * _n_lines(root) + _RISE
    places = list(_places_of(root))
    width = _COLUMN * _n_leaves(root) + 2 * _MARGIN
    height = rise * (max(place.depth for place in places) + 1) - _RISE + 2 * _MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" '
            f'height="{height:g}" role="img" font-family="sans-serif" font-size="12" text-anchor="middle">',
            f"<title>A tree from {root.position}</title>",
            f'<rect width="{width}" height="{height:g}" rx="12" fill="{CARD}"/>',
            *(_edge(place, place.parent, rise) for place in places if place.parent),
            *(_node(place, rise) for place in places),
            "</svg>",
        ]
    )


def tree_dot(root: TreeNode) -> str:
    """The tree as a Graphviz `digraph`: each node the text of its board and its caption."""
    lines = ["digraph {", '  node [shape=box, fontname="monospace"]']
    names = {id(place.node): f"n{i}" for i, place in enumerate(_places_of(root))}
    for place in _places_of(root):
        name, node = names[id(place.node)], place.node
        rows = [*sub(r"[/|]", "\n", str(node.position)).split("\n"), *node.caption]
        label = "\\n".join(row.replace("\\", "\\\\").replace('"', '\\"') for row in rows)
        lines.append(f'  {name} [label="{label}"]')
        if place.parent:
            style = f' [color="{_MARKED_EDGE}", penwidth=3]' if node.is_marked else ""
            lines.append(f"  {names[id(place.parent.node)]} -> {name}{style}")
    return "\n".join([*lines, "}"])


def _n_lines(node: TreeNode) -> int:
    return max(len(node.caption), *map(_n_lines, node.children), 0)


def _board_height(node: TreeNode) -> float:
    layout = layout_of(node.position.game)
    return _BOARD * layout.height / layout.width


def _at(place: _Place, rise: float) -> tuple[float, float]:
    """The middle of the top edge of a node's board."""
    return _MARGIN + _COLUMN * (place.middle + 0.5), _MARGIN + rise * place.depth


def _edge(place: _Place, parent: _Place, rise: float) -> str:
    colour, width = (_MARKED_EDGE, 3) if place.node.is_marked else (_EDGE, 1.5)
    (x, bottom), (above, top) = _at(place, rise), _at(parent, rise)
    top += _board_height(parent.node) + _LINE * len(parent.node.caption) + _GAP
    return (
        f'<path d="M{above:g} {top:g}C{above:g} {bottom:g} {x:g} {top:g} {x:g} {bottom:g}" '
        f'fill="none" stroke="{colour}" stroke-width="{width}"/>'
    )


def _node(place: _Place, rise: float) -> str:
    node, (x, y) = place.node, _at(place, rise)
    board = draw_svg(node.position, node.last, _BOARD)
    below = y + _board_height(node) - 2
    lines = (
        f'<text x="{x:g}" y="{below + _LINE * number:g}" fill="{INK}">{escape(line)}</text>'
        for number, line in enumerate(node.caption, 1)
    )
    return f'<g transform="translate({x - _BOARD / 2:g} {y:g})">{board}</g>{"".join(lines)}'
