"""The places and colours of the tiles of a picture: one plan for the SVG and for the pixels.

Lengths are in pixels, x to the right and y down; the constants below are in widths of a cell.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal, NamedTuple

from ttt_env.rules import Coordinates, Game, Position, Seat
from ttt_env.rules.shapes import spacing

CARD = "#f7f5f0"
PANEL = "#c8d0db"
TILE = "#ffffff"
STONE: dict[Seat, str] = {"X": "#e4572e", "O": "#1b6f94"}
TINT: dict[Seat, str] = {"X": "#fde3d8", "O": "#d6eaf3"}
BLUNDER = "#ffd54a"  # yellow, as in the terminal

INK, PALE_INK = "#2b2f36", "#a3abb6"

STROKE = 0.12
CROSS_REACH = 0.205
RING_RADIUS = 0.24
TILE_INSET = 0.025
TILE_RADIUS = 0.11
MARGIN = 0.3
CARD_RADIUS = 0.24
LAYER_GAP = 0.5

CHANCE, DARKEST = "#2a9d68", 0.7  # the opacity of the colour at probability 1: text is still legible on it

MAX_CELL = 134
MAX_PICTURE = 1000
MIN_CELL = 8
MAX_ROW = 18  # cells


class Box(NamedTuple):
    """A rectangle by its top left corner."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Layout:
    """The plan of a picture: a panel for each layer, a tile for each cell. Width and height are even.

    Tiles are round in a game with its own coordinates.
    """

    width: int
    height: int
    cell: int
    panels: tuple[Box, ...]
    tiles: tuple[Box, ...]
    is_round: bool = False

    @property
    def tile_radius(self) -> float:
        """The radius of a tile's corners."""
        return self.tiles[0].width / 2 if self.is_round else TILE_RADIUS * self.cell

    @property
    def panel_radius(self) -> float:
        """The radius of a panel's corners, concentric with the corners of its tiles if these are round."""
        if self.is_round:
            return 2 * TILE_RADIUS * self.cell
        return self.tile_radius + self.tiles[0].x - self.panels[0].x


Accent = Literal["none", "last", "blunder", "completed"]


class TileStyle(NamedTuple):
    """The look of a tile: its stone, and the reason why it is highlighted."""

    mark: Seat | None
    accent: Accent = "none"

    @property
    def colours(self) -> tuple[str, str]:
        """The colours of the tile and of the stone on it."""
        if self.mark is None:
            return TILE, TILE
        stone = STONE[self.mark]
        if self.accent == "completed":
            return stone, TILE
        return {"last": TINT[self.mark], "blunder": BLUNDER}.get(self.accent, TILE), stone


def shade(share: float) -> str:
    """The colour of a cell that is played with this probability.

    Its strength grows with the square root, so that small probabilities are visible.

    >>> shade(0), shade(1)
    ('#ffffff', '#6aba95')
    """
    strength = DARKEST * share**0.5
    return "#" + bytes(round(255 - strength * (255 - part)) for part in bytes.fromhex(CHANCE[1:])).hex()


def tile_styles(position: Position, last: int | None = None, is_blunder: bool = False) -> list[TileStyle]:
    """The style of every cell, where `last` is the cell of the last move, which may be a blunder."""
    completed = completed_mask(position)
    accent: Accent = "blunder" if is_blunder else "last"
    looks = []
    for cell in range(position.game.n_cells):
        mark = mark_at(position, cell)
        is_last = mark is not None and cell == last
        looks.append(TileStyle(mark, "completed" if completed >> cell & 1 else accent if is_last else "none"))
    return looks


def mark_at(position: Position, cell: int) -> Seat | None:
    """The seat whose stone is on `cell`; None if it is free."""
    if position.x_mask >> cell & 1:
        return "X"
    return "O" if position.o_mask >> cell & 1 else None


def completed_mask(position: Position) -> int:
    """The bit mask of the cells of all completed winning sets, which only the last mover can have."""
    completed = 0
    for mask in position.game.winning_masks:
        if position.theirs & mask == mask:
            completed |= mask
    return completed


def layers_of(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """The number of layers, of rows in each, and of columns; of more than three axes, layers in C order."""
    *before, rows, columns = (1, *shape)
    return prod(before), rows, columns


def n_abreast(n_blocks: int, width: int, gap: int, limit: int) -> int:
    """The number of `n_blocks` to put side by side: rows of similar length, within `limit` if possible.

    >>> n_abreast(3, 3, 1, limit=18), n_abreast(4, 4, 1, limit=18)
    (3, 2)
    """
    max_abreast = max(1, (limit + gap) // (width + gap))
    n_rows = -(-n_blocks // max_abreast)
    return -(-n_blocks // n_rows)


def layout_of(game: Game, cell: int | None = None) -> Layout:
    """The layout for the board of a game, with cells of this width; by default one that fits the board."""
    return _in_rows(game.shape, cell) if game.coordinates is None else _by_coordinates(game.coordinates, cell)


class Places(NamedTuple):
    """The places of the cells of a board with coordinates, in widths of a cell from the top left corner.

    `width` and `height` are the whole board's. Cells are as wide as they can be without overlapping.
    """

    width: float
    height: float
    corners: Coordinates


@lru_cache(maxsize=32)
def places_of(coordinates: Coordinates) -> Places:
    """The places of cells that are drawn at these coordinates.

    >>> places_of(((0, 0), (4, 0), (2, 2)))
    Places(width=3.0, height=2.0, corners=((0.0, 0.0), (2.0, 0.0), (1.0, 1.0)))
    """
    unit = spacing(coordinates)
    left, top = (min(axis) for axis in zip(*coordinates, strict=True))
    corners = tuple(((x - left) / unit, (y - top) / unit) for x, y in coordinates)
    width, height = (max(axis) + 1 for axis in zip(*corners, strict=True))
    return Places(width, height, corners)


@lru_cache(maxsize=32)
def _by_coordinates(coordinates: Coordinates, cell: int | None) -> Layout:
    width, height, corners = places_of(coordinates)
    cell = cell or _default_cell_size(width + 2 * MARGIN, height + 2 * MARGIN)
    margin, inset = round(MARGIN * cell), max(1, round(TILE_INSET * cell))
    board = Box(margin, margin, round(width * cell), round(height * cell))
    squares = [Box(margin + round(x * cell), margin + round(y * cell), cell, cell) for x, y in corners]
    return Layout(
        _even(board.width + 2 * margin),
        _even(board.height + 2 * margin),
        cell,
        (_inflate(board, round(MARGIN * cell / 2)),),
        tuple(_inflate(square, -inset) for square in squares),
        is_round=True,
    )


@lru_cache(maxsize=32)
def _in_rows(shape: tuple[int, ...], cell: int | None) -> Layout:
    layers, rows, columns = layers_of(shape)
    abreast = n_abreast(layers, columns, 1, MAX_ROW)
    cell = cell or _default_cell_size(_span(abreast, columns), _span(-(-layers // abreast), rows))
    margin, gap, inset = round(MARGIN * cell), round(LAYER_GAP * cell), max(1, round(TILE_INSET * cell))
    width, height = columns * cell, rows * cell
    boards = [
        Box(margin + column * (width + gap), margin + row * (height + gap), width, height)
        for row, column in (divmod(layer, abreast) for layer in range(layers))
    ]
    return Layout(
        _even(boards[abreast - 1].x + width + margin),
        _even(boards[-1].y + height + margin),
        cell,
        tuple(_inflate(board, inset) for board in boards),
        tuple(
            _inflate(Box(x, y, cell, cell), -inset)
            for board in boards
            for y in range(board.y, board.y + board.height, cell)
            for x in range(board.x, board.x + board.width, cell)
        ),
    )


def _span(n_boards: int, length: int) -> float:
    """The length of `n_boards` boards in a row, gaps and margins included, in cells."""
    return n_boards * length + (n_boards - 1) * LAYER_GAP + 2 * MARGIN


def _default_cell_size(*spans: float) -> int:
    return max(MIN_CELL, min(MAX_CELL, int(MAX_PICTURE / max(spans))))


def _inflate(box: Box, by: int) -> Box:
    return Box(box.x - by, box.y - by, box.width + 2 * by, box.height + 2 * by)


def _even(length: int) -> int:
    return length + length % 2
