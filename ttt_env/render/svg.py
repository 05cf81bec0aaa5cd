"""A position as SVG."""

from ttt_env.render.layout import (
    CARD,
    CROSS_REACH,
    PANEL,
    RING_RADIUS,
    STROKE,
    Box,
    Layout,
    Look,
    layout_of,
    looks_of,
)
from ttt_env.rules.game import Position


def draw_svg(position: Position, last: int | None = None, size: int | None = None) -> str:
    """A self-contained SVG document of the board, with the text of the position as its title.

    The tile of the move `last` is tinted; the tiles of completed winning sets stand out. `size` is the
    width in pixels, by default half that of `draw_pixels`.
    """
    layout = layout_of(position.game.shape)
    width = size or layout.width // 2
    height = width * layout.height / layout.width
    looks = looks_of(position, last)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width} {layout.height}" '
            f'width="{width}" height="{height:g}" role="img">',
            f"<title>{position}</title>",
            _rect(layout.card, layout.card_radius, CARD),
            *(_rect(panel, layout.panel_radius, PANEL) for panel in layout.panels),
            *(_tile(box, look, layout) for box, look in zip(layout.tiles, looks, strict=True)),
            "</svg>",
        ]
    )


def _rect(box: Box, radius: float, fill: str) -> str:
    return (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" '
        f'rx="{radius:g}" fill="{fill}"/>'
    )


def _tile(box: Box, look: Look, layout: Layout) -> str:
    ground, stone = look.colours
    tile = _rect(box, layout.tile_radius, ground)
    if look.mark is None:
        return tile
    x, y = box.x + box.width / 2, box.y + box.height / 2
    shape = _cross(x, y, layout.cell) if look.mark == "X" else _ring(x, y, layout.cell)
    style = f'fill="none" stroke="{stone}" stroke-width="{STROKE * layout.cell:g}" stroke-linecap="round"'
    return f"{tile}<{shape} {style}/>"


def _cross(x: float, y: float, cell: int) -> str:
    reach = CROSS_REACH * cell
    left, right, top, bottom = (f"{v:g}" for v in (x - reach, x + reach, y - reach, y + reach))
    return f'path d="M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}"'


def _ring(x: float, y: float, cell: int) -> str:
    return f'circle cx="{x:g}" cy="{y:g}" r="{RING_RADIUS * cell:g}"'
