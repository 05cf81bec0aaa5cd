"""A tree of positions as the page draws it: small boards on a plan that a narrow window turns on its side."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ttt_env.render.layout import CROSS_REACH, RING_RADIUS, Box, completed_mask, layout_of
from ttt_env.rules import Game, Position, cells_of

_CELL = 20  # of a small board; all of its lengths are in these units
_REACH, _RADIUS = CROSS_REACH * _CELL, RING_RADIUS * _CELL
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
class Spot:
    """The place of a branch: its depth, and among the leaves that of its first one and of its middle."""

    branch: Branch
    depth: int
    first: float
    middle: float
    parent: "Spot | None"

    def edge(self, along: str) -> str:
        """The curve from the parent, as the path of an SVG; `along` is "first" or "middle"."""
        assert self.parent is not None
        a, b, d = getattr(self.parent, along), getattr(self, along), self.parent.depth
        return f"M{a:g} {d}C{a:g} {d + 0.6:g} {b:g} {d + 0.4:g} {b:g} {d + 1}"


@dataclass(frozen=True)
class TreeLayout:
    """The spots of a tree, its number of leaves and of plies, and whether its boards have to be small."""

    spots: tuple[Spot, ...]
    leaves: int
    plies: int
    is_dense: bool


def tree_layout(root: Branch) -> TreeLayout:
    """The places of all branches. Parents are centred above their children if all leaves fit side by side."""
    leaves = _n_leaves(root)
    spots = tuple(_spots(root, None, 0, leaves <= _MAX_ABREAST_DENSE))
    return TreeLayout(spots, leaves, max(spot.depth for spot in spots) + 1, leaves > _MAX_ABREAST)


def _spots(branch: Branch, parent: Spot | None, first: int, is_amid: bool) -> Iterator[Spot]:
    middle = first + (_n_leaves(branch) - 1) / 2 if is_amid else first
    spot = Spot(branch, parent.depth + 1 if parent else 0, first, middle, parent)
    yield spot
    for child in branch.children:
        yield from _spots(child, spot, first, is_amid)
        first += _n_leaves(child)


def _n_leaves(branch: Branch) -> int:
    return sum(map(_n_leaves, branch.children)) or 1


@dataclass(frozen=True)
class EmptyBoard:
    """The empty board of a game: its view box, the ratio of height to width, and the path of its tiles."""

    view: str
    ratio: float
    tiles: str


@lru_cache(maxsize=32)
def grid_of(game: Game) -> EmptyBoard:
    """The empty board on which all the small boards of a tree are drawn."""
    layout = layout_of(game, _CELL)
    edge = layout.panels[0].x
    width, height = layout.width - 2 * edge, layout.height - 2 * edge
    return EmptyBoard(f"{edge} {edge} {width} {height}", height / width, "".join(map(_square, layout.tiles)))


def stones_of(branch: Branch) -> dict[str, str]:
    """The paths on a small board by class: the last move, completed sets, and the stones of X and of O."""
    boxes, position = layout_of(branch.position.game, _CELL).tiles, branch.position
    last = [boxes[cell] for cell in branch.cells[-1:]]
    completed = [boxes[cell] for cell in cells_of(completed_mask(position))]
    return {
        "last": "".join(map(_square, last)),
        "completed": "".join(map(_square, completed)),
        "x": "".join(_cross(boxes[cell]) for cell in cells_of(position.x_mask)),
        "o": "".join(_ring(boxes[cell]) for cell in cells_of(position.o_mask)),
    }


def _square(box: Box) -> str:
    return f"M{box.x} {box.y}h{box.width}v{box.height}h-{box.width}z"


def _cross(box: Box) -> str:
    left, top, side = box.x + box.width / 2 - _REACH, box.y + box.height / 2 - _REACH, 2 * _REACH
    return f"M{left:g} {top:g}l{side:g} {side:g}m0 -{side:g}l-{side:g} {side:g}"


def _ring(box: Box) -> str:
    left, middle, radius = box.x + box.width / 2 - _RADIUS, box.y + box.height / 2, f"{_RADIUS:g}"
    half = f"a{radius} {radius} 0 1 1"
    return f"M{left:g} {middle:g}{half} {2 * _RADIUS:g} 0{half} -{2 * _RADIUS:g} 0"
