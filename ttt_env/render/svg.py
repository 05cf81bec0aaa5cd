"""Positions and games as SVG, with a policy or below lines of text, and pictures to show and save."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import NamedTuple, TypeVar

from ttt_env.errors import ParameterError, extra_for
from ttt_env.render import layout as plan
from ttt_env.render.words import percent
from ttt_env.rules import SEATS, GameRecord, Position
from ttt_env.storage import write_atomically

Format = TypeVar("Format")

_LEGIBLE_CELL = 52  # pixels that a cell needs to hold a probability
_SHARE_LETTERS = 0.2  # the height of a probability, in widths of a cell
_HALF_CAPITAL = 0.36  # the distance from the middle of a letter to its foot, in heights
_ROUNDING = 1e-6


def draw_svg(
    position: Position,
    last: int | None = None,
    size: int | None = None,
    policy: Sequence[float] | None = None,
    is_blunder: bool = False,
    better: Collection[int] = (),
) -> str:
    """A self-contained SVG document of the board, with the text of the position as its title.

    The tile of the move `last` is tinted, yellow for a blunder; the tiles of completed winning sets are
    highlighted. The free cells that were `better` than it have a green tick. With `policy`, `[cells]`, free
    cells are shaded by its probabilities and show them. `size` is the width in pixels, by default half that
    of `draw_pixels`, or more if probabilities need it.

    Raises `ParameterError` if `policy` is not a distribution over the free cells.
    """
    layout = plan.layout_of(position.game)
    shares: dict[int, float] = {}
    if policy is not None:
        chances, free = [float(share) for share in policy], position.legal_cells
        fits = [share >= 0 if cell in free else share == 0 for cell, share in enumerate(chances)]
        if len(chances) != position.game.n_cells or not all(fits) or not abs(sum(chances) - 1) < _ROUNDING:
            raise ParameterError(
                f"policy={chances}: {position} takes probabilities of the cells {free}, else 0"
            )
        shares = {cell: chances[cell] for cell in free}
    looks = plan.tile_styles(position, last, is_blunder)
    tiles = [
        _share(box, shares[cell], layout)
        if cell in shares
        else tile(box, look, layout) + (_tick(box, layout) if cell in better else "")
        for cell, (box, look) in enumerate(zip(layout.tiles, looks, strict=True))
    ]
    usual = layout.width // 2 if policy is None else legible_width(layout)
    return document(str(position), layout, size or usual, tiles)


def legible_width(layout: plan.Layout) -> int:
    """The width in pixels of a picture with text in its cells."""
    return int(layout.width * max(0.5, _LEGIBLE_CELL / layout.cell))


def document(title: str, layout: plan.Layout, width: int, tiles: Iterable[str]) -> str:
    """The SVG document of a board with these tiles, `width` pixels wide."""
    height = width * layout.height / layout.width
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width} {layout.height}" '
            f'width="{width}" height="{height:g}" role="img">',
            f"<title>{escape(title)}</title>",
            _rect(plan.Box(0, 0, layout.width, layout.height), plan.CARD_RADIUS * layout.cell, plan.CARD),
            *(_rect(panel, layout.panel_radius, plan.PANEL) for panel in layout.panels),
            *tiles,
            "</svg>",
        ]
    )


def _tick(box: plan.Box, layout: plan.Layout) -> str:
    x, y, unit = box.x + box.width / 2, box.y + box.height / 2, layout.cell / 8
    path = f"M{x - 1.5 * unit:g} {y:g}l{unit:g} {1.2 * unit:g} {2 * unit:g} {-2.4 * unit:g}"
    style = f'stroke="{plan.CHANCE}" stroke-width="{plan.STROKE * layout.cell:g}" stroke-linecap="round"'
    return f'<path d="{path}" fill="none" {style} stroke-linejoin="round"/>'


def _share(box: plan.Box, share: float, layout: plan.Layout) -> str:
    """A free tile, shaded by the probability of a move to it, and that probability."""
    ink = plan.INK if share else plan.PALE_INK
    return labelled_tile(box, layout, percent(share), _SHARE_LETTERS, plan.shade(share), ink)


def labelled_tile(
    box: plan.Box, layout: plan.Layout, text: str, letters: float, ground: str, ink: str
) -> str:
    """A tile with text on it, in these colours; `letters` is the text's height in widths of a cell."""
    x, y, height = box.x + box.width / 2, box.y + box.height / 2, letters * layout.cell
    style = 'font-family="sans-serif" font-weight="bold" text-anchor="middle"'
    return _rect(box, layout.tile_radius, ground) + (
        f'<text x="{x:g}" y="{y + _HALF_CAPITAL * height:g}" font-size="{height:g}" {style} '
        f'fill="{ink}">{escape(text)}</text>'
    )


def _rect(box: plan.Box, radius: float, fill: str) -> str:
    return (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" '
        f'rx="{radius:g}" fill="{fill}"/>'
    )


def tile(box: plan.Box, look: plan.TileStyle, layout: plan.Layout) -> str:
    """A tile in this style and the stone on it, if any."""
    ground, stone = look.colours
    empty = _rect(box, layout.tile_radius, ground)
    if look.mark is None:
        return empty
    x, y = box.x + box.width / 2, box.y + box.height / 2
    if look.mark == "X":
        reach = plan.CROSS_REACH * layout.cell
        left, right, top, bottom = (f"{v:g}" for v in (x - reach, x + reach, y - reach, y + reach))
        shape = f'path d="M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}"'
    else:
        shape = f'circle cx="{x:g}" cy="{y:g}" r="{plan.RING_RADIUS * layout.cell:g}"'
    style = (
        f'fill="none" stroke="{stone}" stroke-width="{plan.STROKE * layout.cell:g}" stroke-linecap="round"'
    )
    return f"{empty}<{shape} {style}/>"


_LETTERS = 0.32  # the height of a number, in widths of a cell


def draw_diagram(record: GameRecord, blunders: Collection[int] = ()) -> str:
    """A self-contained SVG document in which each stone is the number of its move, in the colour of its seat.

    The tiles of completed winning sets are highlighted; `blunders` are yellow, with a `?` after the number.
    """
    layout = plan.layout_of(record.game)
    looks = plan.tile_styles(record.positions()[-1])
    tiles = [tile(box, look, layout) for box, look in zip(layout.tiles, looks, strict=True)]
    for number, cell in enumerate(record.cells, 1):
        seat = looks[cell].mark
        assert seat is not None
        ground, ink = plan.BLUNDER if number in blunders else plan.TINT[seat], plan.INK
        if looks[cell].accent == "completed":
            ground, ink = plan.STONE[seat], plan.TILE
        text = f"{number}{'?' * (number in blunders)}"
        tiles[cell] = labelled_tile(layout.tiles[cell], layout, text, _LETTERS, ground, ink)
    return document(str(record), layout, legible_width(layout), tiles)


_SCALE = 2  # pixels of a PNG for each unit of the SVG, as sharp screens have them
_FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")


@dataclass(frozen=True)
class Picture:
    """A picture as the text of a self-contained SVG document."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the picture to `path`, which ends in .svg or .png; PNG at twice the size, for sharp screens.

        Raises `ParameterError` for another suffix, `ImportError` for a PNG without the extra `plot`, and
        `OSError` if the file cannot be written; it then keeps its old content.
        """
        write(path, self.formats)

    @property
    def formats(self) -> dict[str, Callable[[], bytes]]:
        """For each suffix, the function that makes the content of the file."""
        return {".svg": self.svg.encode, ".png": lambda: _png(self.svg)}


def write(path: str | Path, formats: Mapping[str, Callable[[], bytes]]) -> None:
    """Write what the function for the suffix of `path` returns, whole or not at all.

    Raises `ParameterError` if there is none, `OSError` if the file cannot be written.
    """
    make = format_of(path, formats)
    write_atomically(path, make())


def format_of(path: str | Path, formats: Mapping[str, Format]) -> Format:
    """The entry of `formats` for the suffix of `path`. Raises `ParameterError` if there is none."""
    suffix = Path(path).suffix.lower()
    if suffix not in formats:
        raise ParameterError(
            f"{str(path)!r} is not the name of a picture; expected one that ends in {' or '.join(formats)}"
        )
    return formats[suffix]


def _png(svg: str) -> bytes:
    """The picture as PNG, in the fonts that come with matplotlib: the same on every machine."""
    with extra_for("PNG pictures need", "plot"):
        from matplotlib import get_data_path
        from resvg_py import svg_to_bytes
    fonts = Path(get_data_path()) / "fonts" / "ttf"
    return svg_to_bytes(
        svg,
        zoom=_SCALE,
        skip_system_fonts=True,
        font_files=[str(fonts / name) for name in _FONTS],
        sans_serif_family="DejaVu Sans",
    )


_MAX_CELLS = 27  # a larger board is not drawn after every move
# All lengths are in pixels.
_CELL = 26
_MAX_BOARD_WIDTH, _MAX_ROW_WIDTH = 360, 900
_LETTER, _LINE = 8.6, 21  # the width of a wide letter, as the font is unknown
_CAPTION, _GAP, _PADDING = 18, 6, 16


class CaptionedBoard(NamedTuple):
    """A position with the cell of its last move, which may be a blunder, and a line to write under it."""

    position: Position
    last: int | None
    caption: str
    is_blunder: bool = False


class Section(NamedTuple):
    """Lines of text, the first of them bold, and boards below."""

    lines: Sequence[str]
    boards: Sequence[CaptionedBoard] = ()


def boards_of(record: GameRecord, blunders: Collection[int] = ()) -> list[CaptionedBoard]:
    """The boards of a game after every move with its number and mover, the last one with the end.

    The moves with the numbers `blunders` have a `?` after it.
    """
    positions = record.positions()[1:]
    numbers = range(1, len(positions) + 1)
    captions = [f"{number}. {SEATS[(number - 1) % 2]}{'?' * (number in blunders)}" for number in numbers]
    if record.is_over:
        captions[-1] += f" · {record.winner} wins" if record.winner else " · draw"
    return [
        CaptionedBoard(position, cell, caption, number in blunders)
        for number, position, cell, caption in zip(numbers, positions, record.cells, captions, strict=True)
    ] or [CaptionedBoard(record.game.start, None, "no move yet")]


def draw_game(record: GameRecord, blunders: Collection[int] = ()) -> str:
    """A self-contained SVG document of a game: the boards after every move, each with its last move tinted.

    The moves with the numbers `blunders` are yellow. On a large board the game is one diagram instead, the
    stones as the numbers of their moves.
    """
    if record.game.n_cells > _MAX_CELLS:
        return draw_diagram(record, blunders)
    return draw_sheet(str(record), [Section((), boards_of(record, blunders))])


def draw_sheet(title: str, sections: Sequence[Section]) -> str:
    """A self-contained SVG document of the sections, one below the other."""
    parts: list[str] = []
    width, y = 0.0, float(_PADDING)
    for section in sections:
        for number, line in enumerate(section.lines):
            parts.append(_text(_PADDING, y + 0.75 * _LINE, line, "bold" if number == 0 else "normal"))
            width, y = max(width, _LETTER * len(line)), y + _LINE
        for part, right, bottom in _rows(section.boards, y):
            parts.append(part)
            width, y = max(width, right - _PADDING), max(y, bottom)
        y += _LINE / 2
    size = f'width="{width + 2 * _PADDING:g}" height="{y + _PADDING - _LINE / 2:g}"'
    style = 'font-family="sans-serif" font-size="14"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {style}>',
            f"<title>{escape(title)}</title>",
            f'<rect {size} rx="12" fill="{plan.CARD}"/>',
            *parts,
            "</svg>",
        ]
    )


def _rows(boards: Sequence[CaptionedBoard], top: float) -> Iterator[tuple[str, float, float]]:
    """Each board as SVG, with the x of its right edge and the y of its bottom edge."""
    if not boards:
        return
    layout = plan.layout_of(boards[0].position.game)
    width = min(_MAX_BOARD_WIDTH, round(_CELL * layout.width / layout.cell))
    height = width * layout.height / layout.width
    abreast = plan.n_abreast(len(boards), width, _GAP, _MAX_ROW_WIDTH)
    for place, board in enumerate(boards):
        x = _PADDING + place % abreast * (width + _GAP)
        y = top + place // abreast * (height + _CAPTION + _GAP)
        svg = draw_svg(board.position, board.last, width, is_blunder=board.is_blunder)
        caption = _text(x + width / 2, y + height + 0.75 * _CAPTION, board.caption, "normal", "middle")
        yield f'<g transform="translate({x:g} {y:g})">{svg}</g>{caption}', x + width, y + height + _CAPTION


def _text(x: float, y: float, line: str, weight: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="{plan.INK}">{escape(line)}</text>'
    )
