"""Line charts in percent of the plot's width and height, which a template turns into SVG and texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TypeVar

_MAX_TICKS = 6
_MAX_POINTS = 500
_MAX_ROWS = 41
_MARKS = 6  # along a line
_LABEL = 7.0  # percent of the height that the name of a line takes

Points = Sequence[tuple[float, float]]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Line:
    """A curve of data: its name, the class that colours it, and its points, from left to right."""

    name: str
    look: str
    points: Points


@dataclass(frozen=True)
class Tick:
    """A number on an axis, and where it stands."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """One axis: its label with the unit, its ends and its ticks."""

    label: str
    low: float
    high: float

    def place(self, value: float) -> float:
        """The place of a value, in percent of the way from the low end to the high one."""
        return 100 * (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[Tick]:
        """Round numbers between the ends."""
        step = _step(self.high - self.low)
        numbers = range(ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9) + 1)
        return [Tick(self.place(n * step), _shown(n * step, step)) for n in numbers]


@dataclass(frozen=True)
class DrawnLine:
    """A line in the plot, and how high its name stands beside its end, in percent from the top.

    `points` are the values that can be read on it, `marks` the places of its marker, in percent from the top
    left.
    """

    name: str
    look: str
    path: str
    label_at: float
    points: Points
    marks: Points


@dataclass(frozen=True)
class Chart:
    """All that a template draws of a chart; `mark` is where a vertical line stands, in percent."""

    x: Axis
    y: Axis
    lines: tuple[DrawnLine, ...]
    mark: float | None = None

    @property
    def table(self) -> list[tuple[str, list[str]]]:
        """Places along `x`, and each line's last value up to there, as texts; "–" outside the line."""
        stops = _thinned(sorted({x for line in self.lines for x, _ in line.points}), _MAX_ROWS)
        return [(text_of(x), [_value(line.points, x) for line in self.lines]) for x in stops]


def text_of(value: float) -> str:
    """The value with four significant digits, and with all those before the point."""
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return text.replace("-", "−")


def _value(points: Points, x: float) -> str:
    if not points[0][0] <= x <= points[-1][0]:
        return "–"
    return text_of(next(value for at, value in reversed(points) if at <= x))


def _step(extent: float) -> float:
    """The least of 1, 2, 5, 10, … that divides the extent by few enough ticks."""
    power: float = 10 ** floor(log10(extent / _MAX_TICKS))
    return next(power * of for of in (1, 2, 5, 10) if extent / (power * of) <= _MAX_TICKS)


def _shown(number: float, step: float) -> str:
    """The number with the digits that tell it from the next one; in thousands, if they are whole."""
    if step >= 1000:
        return f"{number / 1000:,.0f}k" if number else "0"
    return f"{number:,.{max(0, -floor(log10(step)))}f}".replace("-", "−")


def axis(label: str, values: Iterable[float]) -> Axis:
    """The axis from 0, or below, to the greatest of these values."""
    extent = [0.0, *values]
    low, high = min(extent), max(extent)
    return Axis(label, low, high if high > low else low + 1)


def chart(x: Axis, y: Axis, lines: Sequence[Line], mark: float | None = None) -> Chart:
    """The lines between these axes, and a mark at this value of `x`. A line without points is left out."""
    shown = [line for line in lines if line.points]
    heights = _apart([100 - y.place(line.points[-1][1]) for line in shown])
    drawn = [_drawn(x, y, line, height) for line, height in zip(shown, heights, strict=True)]
    return Chart(x, y, tuple(drawn), None if mark is None else x.place(mark))


def _drawn(x: Axis, y: Axis, line: Line, label_at: float) -> DrawnLine:
    points = _thinned(line.points, _MAX_POINTS)
    places = [(x.place(a), 100 - y.place(b)) for a, b in points]
    corners = places if len(places) > 1 else 2 * places  # a line of no length is drawn as a dot
    path = "M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in corners)
    return DrawnLine(line.name, line.look, path, label_at, points, _thinned(places, _MARKS))


def _thinned(items: Sequence[Item], most: int) -> list[Item]:
    """So many of the items, evenly, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


def _apart(heights: Sequence[float]) -> list[float]:
    """The heights, moved down and then up as little as it takes for names not to overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed, above = list(heights), -_LABEL
    for line in order:
        placed[line] = above = max(placed[line], above + _LABEL)
    below = 100.0
    for line in reversed(order):
        placed[line] = min(placed[line], below)
        below = placed[line] - _LABEL
    return placed
