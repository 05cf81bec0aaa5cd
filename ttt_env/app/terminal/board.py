"""A board for people at a terminal, in colour if possible, and as clear without it."""

from rich.text import Text

from ttt_env.render.layout import TileStyle, layers_of, n_abreast, tile_styles
from ttt_env.render.text import lines_of
from ttt_env.render.words import column_name
from ttt_env.rules import Coordinates, Position, Seat

STYLES: dict[Seat, str] = {"X": "bold red", "O": "bold cyan"}
_QUIET = "dim"
_GAP = 3
_DENSE = 3  # columns of a cell without lines around it: a stone between brackets
_FRAMES = {"none": "{}", "last": "[{}]", "completed": "*{}*"}


def board(position: Position, last: int | None = None, numbers: bool = True, width: int = 80) -> Text:
    """The board with the names of its rows and columns, and as many layers side by side as `width` allows.

    The stone of the move `last` is in brackets, stones of completed winning sets are between stars. With
    `numbers`, the legal cells show theirs. A board that is wider than `width` has neither numbers nor lines
    between its cells.
    """
    game = position.game
    layers, rows, columns = layers_of(game.shape)
    wide = len(str(game.n_cells - 1)) + 2
    is_dense = game.coordinates is None and len(str(rows)) + 2 + columns * (wide + 1) > width
    wide, block = (_DENSE, _dense_block) if is_dense else (wide, _block)
    legal = position.legal_mask
    cells = [
        _cell(look, wide, "·" if is_dense else str(cell) if numbers and legal >> cell & 1 else "")
        for cell, look in enumerate(tile_styles(position, last))
    ]
    if game.coordinates is not None:
        return _scattered(cells, game.coordinates)
    lines = [cells[i : i + columns] for i in range(0, len(cells), columns)]
    blocks = [block(lines[i : i + rows], wide) for i in range(0, len(lines), rows)]
    if layers > 1:
        size = blocks[0][-1].cell_len
        titles = [Text(f"layer {layer}".center(size), "bold") for layer in range(1, layers + 1)]
        blocks = [[title, *block] for title, block in zip(titles, blocks, strict=True)]
    abreast = n_abreast(len(blocks), blocks[0][-1].cell_len, _GAP, width)
    beside = (zip(*blocks[i : i + abreast], strict=True) for i in range(0, len(blocks), abreast))
    return Text("\n\n").join(
        Text("\n").join(Text(" " * _GAP).join(parts) for parts in lines_beside) for lines_beside in beside
    )


def _scattered(cells: list[Text], coordinates: Coordinates) -> Text:
    """The cells at these coordinates, each in round brackets."""
    whole = [Text.assemble(("(", _QUIET), cell, (")", _QUIET)) for cell in cells]
    lines = (
        Text.assemble(*(part for spaces, cell in line for part in (" " * spaces, whole[cell])))
        for line in lines_of(coordinates, whole[0].cell_len)
    )
    return Text("\n").join(lines)


def _cell(look: TileStyle, wide: int, free: str) -> Text:
    if look.mark is None:
        return Text(free.center(wide), _QUIET)
    style = STYLES[look.mark] + (" reverse" if look.accent == "completed" else "")
    return Text(_FRAMES[look.accent].format(look.mark).center(wide), style)


def _block(lines: list[list[Text]], wide: int) -> list[Text]:
    margin = len(str(len(lines)))
    names = " ".join(column_name(column).center(wide) for column in range(len(lines[0])))
    top, middle, bottom = (
        Text(" " * (margin + 1) + left + joint.join(["─" * wide] * len(lines[0])) + right, _QUIET)
        for left, joint, right in ("┌┬┐", "├┼┤", "└┴┘")
    )
    block = [Text(f"{'':{margin + 2}}{names} ", _QUIET), top]
    bar = Text.assemble(
        ("│", _QUIET)
    )  # a span: the style of a `Text` itself would spread to the cells it joins
    for row, cells in enumerate(lines, 1):
        block += [Text.assemble((f"{row:>{margin}} ", _QUIET), bar, bar.join(cells), bar), middle]
    return [*block[:-1], bottom]


def _dense_block(lines: list[list[Text]], wide: int) -> list[Text]:
    margin = len(str(len(lines)))
    names = "".join(column_name(column).center(wide) for column in range(len(lines[0])))
    rows = [Text.assemble((f"{row:>{margin}} ", _QUIET), *cells) for row, cells in enumerate(lines, 1)]
    return [Text(f"{'':{margin + 1}}{names}", _QUIET), *rows]
