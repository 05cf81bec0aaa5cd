"""A board as the templates draw it."""

from dataclasses import dataclass

from ttt_env.app.web.insight import MoveInsight
from ttt_env.render.layout import CROSS_REACH, RING_RADIUS, STROKE, layers_of, looks_of, n_abreast
from ttt_env.render.words import OUTCOMES, percent, signed
from ttt_env.rules.game import Position, Seat

_WIDTH = 100  # of a tile
_REACH, _RADIUS = CROSS_REACH * _WIDTH, RING_RADIUS * _WIDTH
_LOW, _HIGH = _WIDTH / 2 - _REACH, _WIDTH / 2 + _REACH
STONES = {
    "X": f'<path d="M{_LOW:g} {_LOW:g}L{_HIGH:g} {_HIGH:g}M{_HIGH:g} {_LOW:g}L{_LOW:g} {_HIGH:g}"/>',
    "O": f'<circle cx="{_WIDTH / 2:g}" cy="{_WIDTH / 2:g}" r="{_RADIUS:g}"/>',
}
STONE_WIDTH = STROKE * _WIDTH


@dataclass(frozen=True)
class Tile:
    """A cell of a drawn board: its place, its stone, its accent, and what is known about a move there.

    `told` is more to say about it in words; a cell that is lit belongs to what is spoken of.
    """

    cell: int
    layer: int
    row: int
    column: int
    place: str
    mark: Seat | None
    accent: str
    is_free: bool
    insight: MoveInsight | None
    told: str = ""
    is_lit: bool = False

    @property
    def label(self) -> str:
        """The cell in words, for visitors who hear the page instead of seeing it."""
        content = self.mark or ("empty" if self.is_free else "not playable")
        accent = {"last": ", last move", "completed": ", completed"}.get(self.accent, "")
        told = f"; {self.told}" if self.told else ""
        return f"{self.place}: {content}{accent}{_insight_text(self.insight)}{told}"


@dataclass(frozen=True)
class DrawnBoard:
    """The tiles by layer, and how many layers stand side by side."""

    columns: int
    abreast: int
    layers: tuple[tuple[Tile, ...], ...]


def board_of(position: Position, last: int | None, insights: tuple[MoveInsight, ...] = ()) -> DrawnBoard:
    """The board of a position, with what is known about its moves."""
    n_layers, rows, columns = layers_of(position.game.shape)
    known = {insight.cell: insight for insight in insights}
    tiles = []
    for cell, look in enumerate(looks_of(position, last)):
        layer, (row, column) = cell // (rows * columns), divmod(cell % (rows * columns), columns)
        place = f"Cell {cell}, " + (f"layer {layer + 1}, " if n_layers > 1 else "")
        place += f"row {row + 1}, column {column + 1}"
        free = bool(position.legal_mask >> cell & 1)
        tiles.append(Tile(cell, layer, row, column, place, look.mark, look.accent, free, known.get(cell)))
    size = rows * columns
    layers = tuple(tuple(tiles[start : start + size]) for start in range(0, len(tiles), size))
    return DrawnBoard(columns, n_abreast(n_layers, columns, 1, 9), layers)


def _insight_text(insight: MoveInsight | None) -> str:
    """What is known about a move, in words."""
    if insight is None:
        return ""
    phrases = [] if insight.probability is None else [f"played with {percent(insight.probability)}"]
    worth = "an unknown result" if insight.value is None else f"a {OUTCOMES[insight.value]}"
    phrases.append(f"worth {worth} under best play")
    if insight.against is not None:
        phrases.append(f"{signed(insight.against.value, 3)} against this opponent")
    return "; " + ", ".join(phrases)
