"""A whole game on one board, as SVG."""

from ttt_env.render.layout import INK, STONE, TILE, TINT, Look, layout_of, looks_of
from ttt_env.render.svg import document, labelled, legible_width, tile
from ttt_env.rules.notation import GameRecord

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
