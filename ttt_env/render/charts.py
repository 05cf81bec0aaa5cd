"""Charts as matplotlib figures; matplotlib, of the extra `plot`, is imported when one is drawn."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import extra_for
from ttt_env.render.svg import format_of
from ttt_env.storage import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure

Floats = NDArray[np.float64]
FORMATS: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {}, ".pdf": {"CreationDate": None}}
"""The metadata of a file of each suffix: without a date, the same figure makes the same file."""
_COLOURS = "RdBu"  # red and blue are distinct in every common kind of colour blindness
_FULL = 1.3  # the score of the darkest colours; text is legible on the colours up to 1
_DARK = 0.75  # beyond this score the text is white
_LINE = 28  # the longest name, in characters, that stays on one line
_MIN_WIDTH = 5.6  # of the title, in inches


def new_figure(width: float, height: float) -> "Figure":
    """An empty white figure of this size in inches, made without pyplot.

    Raises `ImportError` if matplotlib is not installed.
    """
    with extra_for("charts need", "plot"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def save(figure: "Figure", *paths: str | Path) -> None:
    """Write the figure under each path, in the format of its suffix; the same figure gives the same file.

    Raises, before anything is written, `ParameterError` for a suffix that is not in `FORMATS`; `OSError` for
    a file that cannot be written and keeps its old content.
    """
    from matplotlib import rc_context

    for path, metadata in [(path, format_of(path, FORMATS)) for path in paths]:
        options: dict[str, Any] = {"format": Path(path).suffix[1:].lower(), "dpi": 160, "metadata": metadata}
        # Text stays text, and ids depend on the picture alone.
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ttt_env"}):
            write_atomically(path, partial(figure.savefig, **options))


def heat_map(names: Sequence[str], values: Floats, texts: Sequence[Sequence[str]], title: str) -> "Figure":
    """A square of cells, one row and one column for each name, coloured by `values` `[n, n]` in [−1, 1].

    The columns have the numbers of the rows. `texts` are written in the cells; NaN is white. Names and title
    are literal text: a `$` in them does not begin a formula.
    """
    side = 0.6 * len(names) + 0.5
    # Long names are broken into lines, one for each parameter.
    folded = [name if len(name) <= _LINE else re.sub("([:,+])", r"\1\n", name) for name in names]
    labels = [f"{name}  {place}" for place, name in enumerate(folded, 1)]
    longest = 0.09 * max(len(line) for label in labels for line in label.split("\n"))
    figure = new_figure(max(side + longest + 1.0, _MIN_WIDTH), side + 0.8)
    axes = figure.subplots()
    image = axes.imshow(values, cmap=_COLOURS, vmin=-_FULL, vmax=_FULL)
    bar = figure.colorbar(image, ax=axes, shrink=0.6, aspect=25, pad=0.02, ticks=[-1, -0.5, 0, 0.5, 1])
    bar.ax.set_ylim(-1, 1)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    places = range(len(labels))
    axes.set_yticks(places, labels, fontsize=10, parse_math=False)
    axes.set_xticks(places, [str(place + 1) for place in places], fontsize=10)
    axes.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
    axes.set_xticks(np.arange(len(labels) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(labels) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0, top=False)
    axes.spines[:].set_visible(False)
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            colour = "white" if abs(value) > _DARK else "black"
            text = texts[row][column].replace(" ", "\n")
            axes.text(column, row, text, ha="center", va="center", fontsize=9, color=colour)
    figure.suptitle(title, fontsize=12, parse_math=False)
    return figure
