"""A position as text for the terminal."""

from collections.abc import Collection

from ttt_env.render.layout import layers_of, mark_at, n_abreast, places_of
from ttt_env.rules import SEATS, Coordinates, GameRecord, Position

_TERMINAL = 80
_GAP = 3


def draw_text(position: Position, last: int | None = None, numbers: bool = False) -> str:
    """The board in box-drawing lines; the layers of a three-dimensional board side by side.

    A game with coordinates of its own is drawn by them, each cell in round brackets. The stone of the move
    `last` is in brackets. With `numbers`, free cells show theirs.

    >>> print(draw_text(Position.parse("X../.O./..."), last=4, numbers=True))
    ┌───┬───┬───┐
    │ X │ 1 │ 2 │
    ├───┼───┼───┤
    │ 3 │[O]│ 5 │
    ├───┼───┼───┤
    │ 6 │ 7 │ 8 │
    └───┴───┴───┘
    """
    game = position.game
    width = 2 + (len(str(game.n_cells - 1)) if numbers else 1)
    marks = [mark_at(position, cell) or (str(cell) if numbers else "") for cell in range(game.n_cells)]
    if last is not None and marks[last] in SEATS:
        marks[last] = f"[{marks[last]}]"
    glyphs = [f"{mark:^{width}}" for mark in marks]
    if game.coordinates is not None:
        glyphs = [glyph if "[" in glyph else f"({glyph[1:-1]})" for glyph in glyphs]
        placed = lines_of(game.coordinates, width)
        return "\n".join("".join(" " * spaces + glyphs[cell] for spaces, cell in line) for line in placed)
    layers, rows, columns = layers_of(game.shape)
    lines = [glyphs[i : i + columns] for i in range(0, len(glyphs), columns)]
    boards = [_board(lines[i : i + rows]) for i in range(0, len(lines), rows)]
    if layers == 1:
        return "\n".join(boards[0])
    return _side_by_side([[f"layer {i}", *board] for i, board in enumerate(boards)])


def lines_of(coordinates: Coordinates, width: int) -> list[list[tuple[int, int]]]:
    """The lines of a board, each a list of pairs (spaces, cell), with cells `width` characters wide.

    >>> lines_of(((0, 0), (4, 0), (2, 2)), 3)
    [[(0, 0), (5, 1)], [], [(4, 2)]]
    """
    placed = sorted((*place, cell) for cell, place in enumerate(_character_places(coordinates, width)))
    lines: list[list[tuple[int, int]]] = [[] for _ in range(placed[-1][0] + 1)]
    ends = [0] * len(lines)
    for row, column, cell in placed:
        lines[row].append((max(column - ends[row], 0), cell))
        ends[row] = max(column, ends[row]) + width
    return lines


def _character_places(coordinates: Coordinates, width: int) -> list[tuple[int, int]]:
    """The line and the column of characters at which each cell begins."""
    corners = places_of(coordinates).corners

    def misfit(tenths: int) -> int:
        """The largest distance of a column from the next integer, in whole tenths."""
        columns = [x * tenths / 10 for x, _ in corners]
        return max(int(10 * abs(column - round(column))) for column in columns)

    # The width of a cell, in tenths of columns, that best keeps even distances even in the lines.
    tenths = min(range(10 * (width + 1), 20 * (width + 1)), key=misfit)
    return [(round(2 * y), round(x * tenths / 10)) for x, y in corners]


def draw_game(record: GameRecord, blunders: Collection[int] = ()) -> str:
    """The boards of a game after every move, side by side, each under the move's number and mover.

    The moves with the numbers `blunders` have a `?` after it.
    """
    moves = enumerate(zip(record.positions()[1:], record.cells, strict=True), 1)
    blocks = [
        [f"{number}. {SEATS[(number - 1) % 2]}{'?' * (number in blunders)}", *draw_text(*move).split("\n")]
        for number, move in moves
    ]
    return _side_by_side(blocks) if blocks else draw_text(record.game.start)


def _board(lines: list[list[str]]) -> list[str]:
    top, middle, bottom = (
        left + joint.join("─" * len(glyph) for glyph in lines[0]) + right
        for left, joint, right in ("┌┬┐", "├┼┤", "└┴┘")
    )
    board = [top]
    for glyphs in lines:
        board += ["│" + "│".join(glyphs) + "│", middle]
    return [*board[:-1], bottom]


def _side_by_side(blocks: list[list[str]]) -> str:
    width = max(len(line) for block in blocks for line in block)
    abreast = n_abreast(len(blocks), width, _GAP, _TERMINAL)
    rows = (zip(*blocks[i : i + abreast], strict=True) for i in range(0, len(blocks), abreast))
    return "\n\n".join(
        "\n".join((" " * _GAP).join(line.center(width) for line in parts).rstrip() for parts in row)
        for row in rows
    )
