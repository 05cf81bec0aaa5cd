"""The figures of the scripts: panels with a light grid, lines with bands, and the files that are written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ttt_env.render.charts import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def with_grid(panel: Any, **labels: Any) -> None:
    """Give a panel a light grid, no box around it, and what `Axes.set` takes."""
    panel.set(**labels)
    panel.grid(color="#e6e6e6")
    panel.spines[["top", "right"]].set_visible(False)


def of_measures(
    figure: "Figure", title: str, label: str, measures: Sequence[str], at: Any, lines: Mapping[str, Any]
) -> "Figure":
    """Fill a figure with a panel for each measure: lines are means over the seeds, and bands their range.

    A line has numbers `[at, seeds, measures]`, and its colour and dashes; `label` says what `at` counts.
    """
    panels = figure.subplots(1, len(measures))
    for place, (panel, measure) in enumerate(zip(panels, measures, strict=True)):
        with_grid(panel, title=measure, xlabel=label, xscale="log")
        panel.axhline(0, color="#999999", linewidth=0.8)
        for name, (line, (colour, dashes)) in lines.items():
            numbers = line[:, :, place]
            panel.fill_between(at, numbers.min(1), numbers.max(1), color=colour, alpha=0.15, lw=0)
            panel.plot(at, numbers.mean(1), dashes, color=colour, label=name)
    figure.suptitle(title, fontsize=12)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def write(figure: "Figure", folder: Path, name: str) -> None:
    """Write the figure as SVG and PNG into a folder."""
    save(figure, folder / f"{name}.svg", folder / f"{name}.png")
