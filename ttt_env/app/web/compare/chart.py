"""Line charts in percent of the plot's width and height, which a template turns into SVG and texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

_MAX_TICKS = 6
_MAX_POINTS = 2_000
_LABEL = 7.0  # percent of the height that the name of a line takes

Points = Sequence[tuple[float, float]]


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
    """What is along one side: its label with the unit, its ends and its ticks."""

    label: str
    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value is, in percent of the way from the low end to the high one."""
        return 100 * (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[Tick]:
        """Round numbers between the ends."""
        step = _step(self.high - self.low)
        numbers = range(ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9) + 1)
        return [Tick(self.place(n * step), _shown(n * step, step)) for n in numbers]


@dataclass(frozen=True)
class DrawnLine:
    """A line in the plot, and how high its name stands beside its end, in percent from the top."""

    name: str
    look: str
    path: str
    label_at: float


@dataclass(frozen=True)
class Chart:
    """All that a template draws of a chart; `mark` is where a vertical line stands, in percent."""

    x: Axis
    y: Axis
    lines: tuple[DrawnLine, ...]
    mark: float | None = None


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
    drawn = [
        DrawnLine(line.name, line.look, _path(x, y, line.points), height)
        for line, height in zip(shown, heights, strict=True)
    ]
    return Chart(x, y, tuple(drawn), None if mark is None else x.place(mark))


def _path(x: Axis, y: Axis, points: Points) -> str:
    start = points[: -1 : max(1, ceil(len(points) / _MAX_POINTS))]
    thinned = [*(start or points), points[-1]]  # a line of no length is drawn as a dot
    return "M" + "L".join(f"{x.place(a):.2f} {100 - y.place(b):.2f}" for a, b in thinned)


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
