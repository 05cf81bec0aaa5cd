"""A position as SVG, with a policy on it if one is given, and a whole game on one board."""

from collections.abc import Iterable, Sequence
from html import escape

from ttt_env.errors import ParameterError
from ttt_env.render.layout import (
    CARD,
    CROSS_REACH,
    INK,
    PALE_INK,
    PANEL,
    RING_RADIUS,
    STONE,
    STROKE,
    TILE,
    TINT,
    Box,
    Layout,
    Look,
    layout_of,
    looks_of,
    shade,
)
from ttt_env.render.words import percent
from ttt_env.rules import GameRecord, Position

_LEGIBLE_CELL = 52  # pixels that a cell needs to hold a probability
_SHARE_LETTERS = 0.2  # the height of a probability, in widths of a cell
_HALF_CAPITAL = 0.36  # the part of a letter's height by which its foot lies below its middle
_ROUNDING = 1e-6


def draw_svg(
    position: Position,
    last: int | None = None,
    size: int | None = None,
    policy: Sequence[float] | None = None,
) -> str:
    """A self-contained SVG document of the board, with the text of the position as its title.

    The tile of the move `last` is tinted; the tiles of completed winning sets stand out. With `policy`,
    `[cells]`, free cells are shaded by its probabilities and show them. `size` is the width in pixels, by
    default half that of `draw_pixels`, or more if probabilities need it.

    Raises `ParameterError` if `policy` is no distribution over the free cells.
    """
    layout = layout_of(position.game)
    shares = {} if policy is None else _checked(policy, position)
    tiles = [
        _share(box, shares[cell], layout) if cell in shares else tile(box, look, layout)
        for cell, (box, look) in enumerate(zip(layout.tiles, looks_of(position, last), strict=True))
    ]
    usual = layout.width // 2 if policy is None else legible_width(layout)
    return document(str(position), layout, size or usual, tiles)


def legible_width(layout: Layout) -> int:
    """The width in pixels of a picture with text in its cells."""
    return int(layout.width * max(0.5, _LEGIBLE_CELL / layout.cell))


def document(title: str, layout: Layout, width: int, tiles: Iterable[str]) -> str:
    """The SVG document of a board with these tiles, `width` pixels wide."""
    height = width * layout.height / layout.width
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width} {layout.height}" '
            f'width="{width}" height="{height:g}" role="img">',
            f"<title>{escape(title)}</title>",
            _rect(layout.card, layout.card_radius, CARD),
            *(_rect(panel, layout.panel_radius, PANEL) for panel in layout.panels),
            *tiles,
            "</svg>",
        ]
    )


def _checked(policy: Sequence[float], position: Position) -> dict[int, float]:
    """The probability of each free cell."""
    shares = [float(share) for share in policy]
    free = position.legal_cells
    fits = [share >= 0 if cell in free else share == 0 for cell, share in enumerate(shares)]
    if len(shares) != position.game.n_cells or not all(fits) or not abs(sum(shares) - 1) < _ROUNDING:
        raise ParameterError(f"policy={shares}: {position} takes probabilities of the cells {free}, else 0")
    return {cell: shares[cell] for cell in free}


def _share(box: Box, share: float, layout: Layout) -> str:
    """A free tile, shaded by the probability of a move to it, and that probability."""
    ink = INK if share else PALE_INK
    return labelled(box, layout, percent(share), _SHARE_LETTERS, shade(share), ink)


def labelled(box: Box, layout: Layout, text: str, letters: float, ground: str, ink: str) -> str:
    """A tile with text on it, in these colours; `letters` is the text's height in widths of a cell."""
    x, y, height = box.x + box.width / 2, box.y + box.height / 2, letters * layout.cell
    style = 'font-family="sans-serif" font-weight="bold" text-anchor="middle"'
    return _rect(box, layout.tile_radius, ground) + (
        f'<text x="{x:g}" y="{y + _HALF_CAPITAL * height:g}" font-size="{height:g}" {style} '
        f'fill="{ink}">{escape(text)}</text>'
    )


def _rect(box: Box, radius: float, fill: str) -> str:
    return (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" '
        f'rx="{radius:g}" fill="{fill}"/>'
    )


def tile(box: Box, look: Look, layout: Layout) -> str:
    """A tile with this look and the stone on it, if any."""
    ground, stone = look.colours
    empty = _rect(box, layout.tile_radius, ground)
    if look.mark is None:
        return empty
    x, y = box.x + box.width / 2, box.y + box.height / 2
    shape = _cross(x, y, layout.cell) if look.mark == "X" else _ring(x, y, layout.cell)
    style = f'fill="none" stroke="{stone}" stroke-width="{STROKE * layout.cell:g}" stroke-linecap="round"'
    return f"{empty}<{shape} {style}/>"


def _cross(x: float, y: float, cell: int) -> str:
    reach = CROSS_REACH * cell
    left, right, top, bottom = (f"{v:g}" for v in (x - reach, x + reach, y - reach, y + reach))
    return f'path d="M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}"'


def _ring(x: float, y: float, cell: int) -> str:
    return f'circle cx="{x:g}" cy="{y:g}" r="{RING_RADIUS * cell:g}"'


_LETTERS = 0.32  # the height of a number, in widths of a cell


def draw_diagram(record: GameRecord) -> str:
    """A self-contained SVG document: each stone is the number of its move, in the colour of its seat.

    The tiles of completed winning sets stand out.
    """
    layout = layout_of(record.game)
    looks = looks_of(record.positions()[-1])
    tiles = [tile(box, look, layout) for box, look in zip(layout.tiles, looks, strict=True)]
    for number, cell in enumerate(record.cells, 1):
        tiles[cell] = labelled(layout.tiles[cell], layout, str(number), _LETTERS, *_colours(looks[cell]))
    return document(str(record), layout, legible_width(layout), tiles)


def _colours(look: Look) -> tuple[str, str]:
    """The colours of the tile of a stone and of the number on it."""
    assert look.mark is not None
    if look.accent == "completed":
        return STONE[look.mark], TILE
    return TINT[look.mark], INK
