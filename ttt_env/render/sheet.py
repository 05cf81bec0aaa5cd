"""Boards in rows below lines of text, as SVG: a whole game, or several with explanations."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from ttt_env.render.layout import CARD, INK, layout_of, n_abreast
from ttt_env.render.svg import draw_diagram, draw_svg
from ttt_env.rules import SEATS, Game, GameRecord, Position

_MAX_CELLS = 27  # of a board that is drawn after every move
# All lengths are in pixels.
_CELL = 26
_MAX_BOARD_WIDTH, _MAX_ROW_WIDTH = 360, 900
_LETTER, _LINE = 8.6, 21  # the width of a letter is that of a wide one, as the font is not known
_CAPTION, _GAP, _PADDING = 18, 6, 16


class CaptionedBoard(NamedTuple):
    """A position with the cell of its last move, and a line to write under it."""

    position: Position
    last: int | None
    caption: str


class Section(NamedTuple):
    """Lines of text, the first of them bold, and boards below."""

    lines: Sequence[str]
    boards: Sequence[CaptionedBoard] = ()


def boards_of(record: GameRecord) -> list[CaptionedBoard]:
    """The boards of a game after every move with its number and mover, the last one with the end."""
    positions = record.positions()[1:]
    captions = [f"{number + 1}. {SEATS[number % 2]}" for number in range(len(positions))]
    if record.is_over:
        captions[-1] += f" · {record.winner} wins" if record.winner else " · draw"
    return [
        CaptionedBoard(position, cell, caption)
        for position, cell, caption in zip(positions, record.cells, captions, strict=True)
    ] or [CaptionedBoard(record.game.start, None, "no move yet")]


def draw_game(record: GameRecord) -> str:
    """A self-contained SVG document of a game: the boards after every move, each with its last move tinted.

    On a large board the game is one diagram instead, the stones as the numbers of their moves.
    """
    if record.game.n_cells > _MAX_CELLS:
        return draw_diagram(record)
    return draw_sheet(str(record), [Section((), boards_of(record))])


def draw_sheet(title: str, sections: Sequence[Section]) -> str:
    """A self-contained SVG document of the sections below each other."""
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
            f'<rect {size} rx="12" fill="{CARD}"/>',
            *parts,
            "</svg>",
        ]
    )


def _rows(boards: Sequence[CaptionedBoard], top: float) -> Iterator[tuple[str, float, float]]:
    """Each board as SVG, with the x of its right edge and the y of its bottom edge."""
    if not boards:
        return
    width, height = _size(boards[0].position.game)
    abreast = n_abreast(len(boards), width, _GAP, _MAX_ROW_WIDTH)
    for place, board in enumerate(boards):
        x = _PADDING + place % abreast * (width + _GAP)
        y = top + place // abreast * (height + _CAPTION + _GAP)
        svg = draw_svg(board.position, board.last, width)
        caption = _text(x + width / 2, y + height + 0.75 * _CAPTION, board.caption, "normal", "middle")
        yield f'<g transform="translate({x:g} {y:g})">{svg}</g>{caption}', x + width, y + height + _CAPTION


def _size(game: Game) -> tuple[int, float]:
    layout = layout_of(game)
    width = min(_MAX_BOARD_WIDTH, round(_CELL * layout.width / layout.cell))
    return width, width * layout.height / layout.width


def _text(x: float, y: float, line: str, weight: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="{INK}">{escape(line)}</text>'
    )
