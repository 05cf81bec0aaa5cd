"""Positions and game records as text, and back."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ttt_env.errors import IllegalMoveError, NotationError, brief
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_text, items_of
from ttt_env.rules.game import Game, Position, Seat, as_cell

if TYPE_CHECKING:
    from ttt_env.render.svg import Picture

_GLYPHS = ".XO?"  # "?" if both players have the cell, in an impossible position
_EMPTY = str.maketrans("_-", "..")
_MOVES = re.compile(r"\s*([0-9]{1,9}\s+)*([0-9]{1,9})?")


def format_position(position: Position) -> str:
    """Rows of `X`, `O`, `.` joined by `/`; layers of a three-dimensional board joined by `|`."""
    width = position.game.shape[-1]
    x, o = position.x_mask, position.o_mask
    glyphs = "".join(_GLYPHS[(x >> c & 1) + 2 * (o >> c & 1)] for c in range(position.game.n_cells))
    return _joined(position.game, [glyphs[i : i + width] for i in range(0, len(glyphs), width)])


def parse_position(text: str, game: Game | str) -> Position:
    """The position that `text` shows; see `Position.parse`."""
    game = get_game(game)
    as_text("the text of a position", text, NotationError)
    glyphs = text.upper().translate(_EMPTY)
    if len(re.sub(r"[/|\n]", "", glyphs)) == game.n_cells:
        glyphs = glyphs.replace(" ", ".")  # each space is an empty cell
    glyphs = re.sub(r"\s", "", glyphs)
    width = game.shape[-1]
    pattern = _joined(game, ["[XO.]" * width] * (game.n_cells // width)).replace("|", r"\|")
    if not re.fullmatch(f"{pattern}|[XO.]{{{game.n_cells}}}", glyphs):
        empty = format_position(game.start)
        raise NotationError(
            f"{brief(text)} is not a position of {game.name}: write X, O and . as in {empty}, "
            f"or {game.n_cells} letters in a row"
        )
    glyphs = re.sub(r"[/|]", "", glyphs)
    return position_of([(glyph == "X") - (glyph == "O") for glyph in glyphs], game)


def position_of(stones: Sequence[int], game: Game) -> Position:
    """The position with these stones, `[cells]`: 1 for X, −1 for O, 0 for an empty cell."""
    x = sum(1 << cell for cell, stone in enumerate(stones) if stone == 1)
    o = sum(1 << cell for cell, stone in enumerate(stones) if stone == -1)
    mine, theirs = (x, o) if (x | o).bit_count() % 2 == 0 else (o, x)
    return Position(game, mine, theirs).checked()


def _joined(game: Game, rows: list[str]) -> str:
    per_layer = game.shape[-2] if len(game.shape) > 2 else len(rows)
    return "|".join("/".join(rows[i : i + per_layer]) for i in range(0, len(rows), per_layer))


@dataclass(frozen=True)
class GameRecord:
    """The moves of a game from the empty board; it may stop before the end.

    Attributes:
        game: The game.
        cells: The cells in the order of the moves.

    Raises:
        IllegalMoveError: A move is not legal.

    Example:
        >>> record = GameRecord.parse("tictactoe-v0: 4 0 8 2 6")
        >>> str(record.positions()[-1]), record.is_over
        ('O.O/.X./X.X', False)

    """

    game: Game
    cells: tuple[int, ...]

    def __post_init__(self) -> None:
        game = get_game(self.game)
        object.__setattr__(self, "game", game)
        moves = items_of(self.cells, game.n_cells)
        if moves is None:
            raise NotationError(f"the moves of a game are a list of cells, not {brief(self.cells)}")
        object.__setattr__(self, "cells", tuple(as_cell(move, game) for move in moves))
        self.positions()

    @classmethod
    def parse(cls, text: str, game: Game | str | None = None) -> Self:
        """The record that `text` shows.

        Args:
            text: `game id: cell cell …`.
            game: The game, for one that is not registered.

        Raises:
            NotationError: The text has another form, names another game, or a move is not legal.

        """
        name, colon, moves = as_text("a game record", text, NotationError).rpartition(":")
        name = name.strip()
        if not colon or not _MOVES.fullmatch(moves):
            raise NotationError(f"{brief(text)} is not a game record; expected e.g. 'tictactoe-v0: 4 0 8'")
        record_game = get_game(name if game is None else game)
        if record_game.name != name and game is not None:
            raise NotationError(f"{brief(text)} is a game of {brief(name)}, not of {record_game.name!r}")
        try:
            return cls(record_game, tuple(map(int, moves.split())))
        except IllegalMoveError as error:
            raise NotationError(f"{brief(text)} is not a game record: {error}") from error

    def __str__(self) -> str:
        return f"{self.game.name}: {' '.join(map(str, self.cells))}".rstrip()

    def positions(self) -> list[Position]:
        """All positions of the game, beginning with the empty board: one more than there are moves."""
        positions = [self.game.start]
        for cell in self.cells:
            positions.append(positions[-1].play(cell))
        return positions

    def picture(self, blunders: Collection[int] = ()) -> Picture:
        """The boards after every move, to show in a notebook or to save as SVG or PNG.

        On more than 27 cells it is one board, with the numbers of the moves.

        Args:
            blunders: The numbers of moves to mark, yellow and with a `?`, as
                `ttt_env.analysis.known.blunders_of` returns them.

        """
        from ttt_env.render.svg import Picture, draw_game

        return Picture(draw_game(self, blunders))

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def save(self, path: str | Path, blunders: Collection[int] = ()) -> None:
        """Write the game under `path`: animated if it ends in .gif, else as `picture` does.

        Args:
            path: A path that ends in .gif, .svg or .png.
            blunders: The numbers of moves to mark.

        Raises:
            ParameterError: The path has another suffix.
            ImportError: A GIF or a PNG is written without the extra `plot`.

        """
        from ttt_env.render.pixels import draw_gif
        from ttt_env.render.svg import write

        write(path, {".gif": lambda: draw_gif(self, blunders), **self.picture(blunders).formats})

    @property
    def is_over(self) -> bool:
        """True if the game was played to its end."""
        return self.positions()[-1].is_over

    @property
    def winner(self) -> Seat | None:
        """The seat that won; None in a draw and in an unfinished game."""
        return self.positions()[-1].winner

    def value(self, seat: Seat) -> int:
        """1 if `seat` won, −1 if it lost, 0 otherwise.

        Args:
            seat: "X" or "O".

        """
        return 0 if self.winner is None else 1 if self.winner == seat else -1
