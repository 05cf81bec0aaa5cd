"""The chart of speeds over the number of games, each line labelled where it ends."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from panels import with_grid

from speed.contenders import CONTENDERS, SIZES
from ttt_env.render.charts import new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART = 1.42  # labels are at least this factor apart


def plot(speeds: Mapping[tuple[str, int], list[float]], path: Path) -> None:
    """Draw the lines of all environments that have a colour and were timed."""
    figure = new_figure(9.5, 5.6)
    axes = figure.subplots()
    ends = {}
    for name, colour in [(contender.name, contender.colour) for contender in CONTENDERS]:
        points = {size: median(speeds[name, size]) for size in SIZES if (name, size) in speeds}
        if colour and points:
            draw_line(axes, points, colour)
            ends[name] = points[max(points)], colour
    write_labels(axes, ends)
    with_grid(
        axes,
        xscale="log",
        yscale="log",
        xlabel="games at once (dotted: stepped in a loop, one after the other)",
        ylabel="steps/s (moves of one game)",
    )
    axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
    axes.minorticks_off()
    figure.suptitle("Tic-tac-toe environments: steps a second, recorded random legal moves, CPU", fontsize=12)
    save(figure, path)


def draw_line(axes: "Axes", points: Mapping[int, float], colour: str) -> None:
    """The measured points; dotted beyond, as a loop over games gets no faster with more of them."""
    axes.plot(list(points), list(points.values()), "o-", color=colour, markersize=4)
    last = max(points)
    axes.plot([last, SIZES[-1]], [points[last]] * 2, ":", color=colour, linewidth=1.2)


def write_labels(axes: "Axes", ends: Mapping[str, tuple[float, str]]) -> None:
    """The names right of the ends of the lines, moved up until they are apart."""
    above = 0.0
    for name, (speed, colour) in sorted(ends.items(), key=lambda item: item[1]):
        above = max(speed, above * _APART)
        axes.annotate(
            f"{name}: {short(speed)}", (SIZES[-1], speed), (SIZES[-1] * 1.5, above),
            color=colour, va="center", fontsize=9, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "relpos": (0, 0.5)},
        )  # fmt: skip


def short(speed: float) -> str:
    """The number in thousands or millions."""
    return f"{speed / 1e6:.3g} M" if speed >= 1e6 else f"{speed / 1e3:.3g} k"
