"""A board as the templates draw it."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import atan2, ceil
from typing import TYPE_CHECKING, Any

from ttt_env.render.layout import CROSS_REACH, RING_RADIUS, STROKE, layers_of, looks_of, n_abreast, places_of
from ttt_env.render.words import percent, signed
from ttt_env.rules import Game, Position, Seat, cells_of, symmetries

if TYPE_CHECKING:
    from ttt_env.web.insight import MoveInsight

_WIDTH = 100  # of a tile
_REACH, _RADIUS = CROSS_REACH * _WIDTH, RING_RADIUS * _WIDTH
_LOW, _HIGH = _WIDTH / 2 - _REACH, _WIDTH / 2 + _REACH
STONES = {
    "X": f'<path d="M{_LOW:g} {_LOW:g}L{_HIGH:g} {_HIGH:g}M{_HIGH:g} {_LOW:g}L{_LOW:g} {_HIGH:g}"/>',
    "O": f'<circle cx="{_WIDTH / 2:g}" cy="{_WIDTH / 2:g}" r="{_RADIUS:g}"/>',
}
STONE_WIDTH = STROKE * _WIDTH
_MAX_LINES = 100  # of the winning sets that are drawn on a board without rows
_HALF = 0.4  # of a stroke through a single cell, in cells


@dataclass(frozen=True)
class Tile:
    """A cell of a drawn board: its place, its stone, its accent, and what is known about a move there.

    Row and column are numbers of cells from the top left one, whole numbers unless the board is scattered.
    `told` is more to say about it in words; a cell that is lit belongs to what is spoken of.
    """

    cell: int
    layer: int
    row: float
    column: float
    place: str
    mark: Seat | None
    accent: str
    is_free: bool
    insight: "MoveInsight | None"
    told: str = ""
    is_lit: bool = False

    @property
    def label(self) -> str:
        """The cell and its stone in words, for visitors who hear the page instead of seeing it."""
        content = self.mark or ("empty" if self.is_free else "not playable")
        accent = {"last": ", last move", "completed": ", completed"}.get(self.accent, "")
        told = f"; {self.told}" if self.told else ""
        return f"{self.place}: {content}{accent}{told}"

    @property
    def known(self) -> str:
        """The known facts about a move to this cell, in words."""
        if self.insight is None:
            return ""
        known = self.insight
        phrases = [] if known.probability is None else [f"played with {percent(known.probability)}"]
        phrases.append(known.worth_in_words + (", the best" if known.is_best else ""))
        if known.against is not None:
            phrases.append(f"{signed(known.against.value, 3)} against this opponent")
        return ", ".join(phrases)


@dataclass(frozen=True)
class DrawnBoard:
    """The tiles by layer, the height and width of a layer in cells, and the number of layers side by side.

    A board is scattered if its cells have coordinates, and lie in no rows: there nobody sees the winning sets
    unless they are drawn, as `lines`.
    `strokes` are, by layer, the parts of the completed winning sets there as paths of SVG, in cells.
    """

    rows: float
    columns: float
    abreast: int
    layers: tuple[tuple[Tile, ...], ...]
    strokes: tuple[tuple[str, ...], ...]
    is_scattered: bool
    lines: tuple[str, ...] = ()

    @property
    def aspect(self) -> float:
        """The width of all layers as they are arranged, in cells, by their height."""
        return self.columns * self.abreast / (self.rows * ceil(len(self.layers) / self.abreast))


def board_of(position: Position, last: int | None, insights: "tuple[MoveInsight, ...]" = ()) -> DrawnBoard:
    """The board of a position, with what is known about its moves."""
    game = position.game
    known = {insight.cell: insight for insight in insights}
    tiles = []
    for cell, look in enumerate(looks_of(position, last)):
        place, free = place_of(game, cell), bool(position.legal_mask >> cell & 1)
        tiles.append(Tile(cell, *_indices(game, cell), place, look.mark, look.accent, free, known.get(cell)))
    completed = [mask for mask in game.winning_masks if position.theirs & mask == mask]
    strokes = strokes_of(game, completed)
    if game.coordinates is not None:
        places = places_of(game.coordinates)
        lines = strokes_of(game, game.winning_masks[:_MAX_LINES])[0]
        return DrawnBoard(places.height, places.width, 1, (tuple(tiles),), strokes, True, lines)
    n_layers, rows, columns = layers_of(game.shape)
    size = rows * columns
    layers = tuple(tuple(tiles[start : start + size]) for start in range(0, len(tiles), size))
    return DrawnBoard(rows, columns, n_abreast(n_layers, columns, 1, 9), layers, strokes, False)


def strokes_of(game: Game, masks: Iterable[int]) -> tuple[tuple[str, ...], ...]:
    """SVG paths through the cells of these winning sets, a tuple for each layer; the unit is one cell."""
    sets = [[_indices(game, cell) for cell in cells_of(mask)] for mask in masks]
    return tuple(
        tuple(path for places in sets for path in _part(places, layer)) for layer in range(_n_layers(game))
    )


def _part(places: list[tuple[int, float, float]], layer: int) -> list[str]:
    """The path through the cells of a set in this layer, none if it has none there.

    Through a single cell it goes in the direction that the set has from above, as a dot if it is upright.
    """
    here = [(row, column) for level, row, column in places if level == layer]
    if len(here) != 1:
        return [_path(here)] if here else []
    (_, y0, x0), (_, y1, x1) = places[0], places[-1]
    (y, x), up, across = here[0], _HALF * _sign(y1 - y0), _HALF * _sign(x1 - x0)
    return [f"M{x + 0.5 - across:g} {y + 0.5 - up:g}L{x + 0.5 + across:g} {y + 0.5 + up:g}"]


def _path(places: list[tuple[float, float]]) -> str:
    """The path of SVG through the middles of cells that are given by row and column.

    If they are on no line, it goes around their middle.
    """
    (y0, x0), (y1, x1) = places[0], places[-1]
    is_line = all(abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) < _HALF / 10 for y, x in places)
    ends = [min(places), max(places)]
    if not is_line:
        middle_y, middle_x = (sum(each) / len(places) for each in zip(*places, strict=True))
        ends = sorted(places, key=lambda place: atan2(place[0] - middle_y, place[1] - middle_x))
    return "M" + "L".join(f"{x + 0.5:g} {y + 0.5:g}" for y, x in ends) + ("" if is_line else "Z")


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def place_of(game: Game, cell: int) -> str:
    """A cell in words: its number, its layer if there are several, its row and its column if it is in one."""
    if game.coordinates is not None:
        return f"Cell {cell}"
    layer, row, column = _indices(game, cell)
    of_layer = f"layer {layer + 1}, " if _n_layers(game) > 1 else ""
    return f"Cell {cell}, {of_layer}row {row + 1}, column {column + 1}"


def _n_layers(game: Game) -> int:
    return 1 if game.coordinates is not None else layers_of(game.shape)[0]


def _indices(game: Game, cell: int) -> tuple[int, float, float]:
    """The layer, the row and the column of a cell."""
    if game.coordinates is not None:
        x, y = places_of(game.coordinates).corners[cell]
        return 0, round(y, 3), round(x, 3)
    _, rows, columns = layers_of(game.shape)
    layer, rest = divmod(cell, rows * columns)
    return layer, *divmod(rest, columns)


def facts_of_game(game: Game) -> dict[str, Any]:
    """The rules of a game for the scripts, as JSON."""
    return {
        "cells": game.n_cells,
        "sets": game.winning_sets,
        "misere": game.misere,
        "symmetries": symmetries(game),
    }
