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

    The edges to marked nodes stand out.
    """

    position: Position
    last: int | None
    caption: tuple[str, ...]
    children: tuple["TreeNode", ...] = ()
    is_marked: bool = False

    def picture(self) -> Picture:
        """The node and all below as a picture, which a notebook shows just as it does the node."""
        return Picture(tree_svg(self))

    def _repr_svg_(self) -> str:
        return tree_svg(self)


@dataclass(frozen=True)
class _Place:
    """The place of a node: the middle of its board's top edge; and the place of its parent."""

    node: TreeNode
    x: float
    y: float
    parent: "_Place | None"


def tree_svg(root: TreeNode) -> str:
    """A self-contained SVG document of the tree, the root on top, each node a small board."""
    rise = _board_height(root) + _LINE * _n_lines(root) + _RISE
    places = list(_places(root, _MARGIN + _COLUMN * _n_leaves(root) / 2, rise, None))
    width = _COLUMN * _n_leaves(root) + 2 * _MARGIN
    height = max(place.y for place in places) + rise - _RISE + _MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" '
            f'height="{height:g}" role="img" font-family="sans-serif" font-size="12" text-anchor="middle">',
            f"<title>A tree from {root.position}</title>",
            f'<rect width="{width}" height="{height:g}" rx="12" fill="{CARD}"/>',
            *(_edge(place, place.parent) for place in places if place.parent),
            *map(_node, places),
            "</svg>",
        ]
    )


def tree_dot(root: TreeNode) -> str:
    """The tree as a Graphviz `digraph`: each node the text of its board and its caption."""
    lines = ["digraph {", '  node [shape=box, fontname="monospace"]']
    names = {id(place.node): f"n{i}" for i, place in enumerate(_places(root, 0, 0, None))}
    for place in _places(root, 0, 0, None):
        name, node = names[id(place.node)], place.node
        rows = [*sub(r"[/|]", "\n", str(node.position)).split("\n"), *node.caption]
        label = "\\n".join(row.replace("\\", "\\\\").replace('"', '\\"') for row in rows)
        lines.append(f'  {name} [label="{label}"]')
        if place.parent:
            style = f' [color="{_MARKED_EDGE}", penwidth=3]' if node.is_marked else ""
            lines.append(f"  {names[id(place.parent.node)]} -> {name}{style}")
    return "\n".join([*lines, "}"])


def _places(node: TreeNode, x: float, rise: float, parent: _Place | None) -> Iterator[_Place]:
    """The places of the node and of all below: a column for each leaf, parents in the middle of them."""
    place = _Place(node, x, parent.y + rise if parent else _MARGIN, parent)
    yield place
    left = x - _COLUMN * _n_leaves(node) / 2
    for child in node.children:
        width = _COLUMN * _n_leaves(child)
        yield from _places(child, left + width / 2, rise, place)
        left += width


def _n_leaves(node: TreeNode) -> int:
    return sum(map(_n_leaves, node.children)) or 1


def _n_lines(node: TreeNode) -> int:
    return max(len(node.caption), *map(_n_lines, node.children), 0)


def _board_height(node: TreeNode) -> float:
    layout = layout_of(node.position.game)
    return _BOARD * layout.height / layout.width


def _edge(place: _Place, parent: _Place) -> str:
    colour, width = (_MARKED_EDGE, 3) if place.node.is_marked else (_EDGE, 1.5)
    captions = _LINE * len(parent.node.caption)
    top, bottom = parent.y + _board_height(parent.node) + captions + _GAP, place.y
    return (
        f'<path d="M{parent.x:g} {top:g}C{parent.x:g} {bottom:g} {place.x:g} {top:g} {place.x:g} {bottom:g}" '
        f'fill="none" stroke="{colour}" stroke-width="{width}"/>'
    )


def _node(place: _Place) -> str:
    board = draw_svg(place.node.position, place.node.last, _BOARD)
    below = place.y + _board_height(place.node) - 2
    lines = (
        f'<text x="{place.x:g}" y="{below + _LINE * number:g}" fill="{INK}">{escape(line)}</text>'
        for number, line in enumerate(place.node.caption, 1)
    )
    return f'<g transform="translate({place.x - _BOARD / 2:g} {place.y:g})">{board}</g>{"".join(lines)}'
