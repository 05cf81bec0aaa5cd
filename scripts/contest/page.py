"""The display of the lines: a table in Markdown, and a figure."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from panels import with_grid

from contest.entries import TEACHERS
from contest.records import Record, key
from ttt_env.render.charts import new_figure, save
from ttt_env.render.table import Table

GAMES = {
    "tictactoe-v0": "3×3",
    "tictactoe-v0:misere=true": "misère 3×3",
    "mnk-v0:m=4,n=3,k=3": "4,3,3",
    "square-v0": "Square",
}
"""The games of the leaderboard, by id."""
COLUMNS = ("algorithm", "CPU seconds", "at 0", "taught by", "steps")
COLOURS = ("tab20", "tab20b")
CURVES = 6  # in a panel
UNNAMED = {"gymnasium", "numpy", "peft", "python", "tensordict"}  # their versions are in the lines alone


class Runs:
    """All runs of an algorithm on a game."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records, first = records, records[0]
        self.algorithm, self.game, self.teacher = first["algorithm"], first["game"], first["teacher"]
        self.n_at_zero = sum(record["ended"] == "goal" for record in records)

    def until_zero(self, name: str) -> NDArray[np.float64]:
        """The quartiles of what the runs needed of something, infinite for one that never came to 0."""
        needed = [record[name] if record["ended"] == "goal" else inf for record in self.records]
        return np.quantile(needed, (0.25, 0.5, 0.75), method="nearest")

    def quartiles(self, name: str) -> NDArray[np.float64]:
        """The quartiles of a figure at the end of the runs."""
        return np.quantile([record[name] for record in self.records], (0.25, 0.5, 0.75), method="nearest")

    def curve(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """The quartiles of the exploitability last reported after so many steps, `[3, steps]`.

        Before the first report it is NaN, and after the end of a run what it was there.
        """
        found = np.full((len(self.records), len(steps)), np.nan)
        for row, record in zip(found, self.records, strict=True):
            at, values = (np.array(record["curve"])[:, column] for column in (0, 3))
            last = np.searchsorted(at, steps, side="right") - 1
            row[last >= 0] = values[last[last >= 0]]
        is_known = ~np.isnan(found).any(axis=0)
        quartiles = np.full((3, len(steps)), np.nan)
        quartiles[:, is_known] = np.quantile(found[:, is_known], (0.25, 0.5, 0.75), axis=0, method="nearest")
        return quartiles


def grouped(records: Sequence[Record], by: str = "steps") -> dict[str, list[Runs]]:
    """The runs of each game, with the least of this first; the games of the leaderboard come first."""
    by_key = sorted(records, key=key)
    runs = [Runs(list(group)) for _, group in groupby(by_key, lambda record: key(record)[:2])]
    games = [*GAMES, *sorted({each.game for each in runs} - set(GAMES))]
    return {
        game: sorted((each for each in runs if each.game == game), key=partial(_rank, by))
        for game in games
        if any(each.game == game for each in runs)
    }


def _rank(by: str, runs: Runs) -> tuple[float, float, float, str]:
    median = runs.until_zero(by)[1]
    return -runs.n_at_zero / len(runs.records), median, runs.quartiles("exploitability")[1], runs.algorithm


def table(records: Sequence[Record]) -> str:
    """A table in Markdown for each game, by teacher, and below them what was run where."""
    parts = []
    for game, runs in grouped(records, by="cpu_seconds").items():
        by_teacher = sorted(runs, key=lambda each: TEACHERS.index(each.teacher))
        body = Table.of(COLUMNS, [_row(each) for each in by_teacher], "lrrlr").to_markdown(is_markup=True)
        parts.append(f"### {GAMES.get(game, game)}\n\n{body}\n\n")
    return "".join(parts) + (_notes(records) if records else "")


def _row(runs: Runs) -> tuple[str, ...]:
    at_zero = f"{runs.n_at_zero}/{len(runs.records)}"
    if runs.n_at_zero < len(runs.records):
        at_zero += f"; {_spread(runs.quartiles('exploitability'), lambda number: f'{number:.2g}')}"
    return (
        runs.algorithm,
        _spread(runs.until_zero("cpu_seconds"), _short),
        at_zero,
        runs.teacher,
        _shown(runs.until_zero("steps")[1], lambda number: f"{number:,.0f}"),
    )


def _short(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:,.0f}"


def _shown(number: float, shown: Callable[[float], str]) -> str:
    """The number, or a dash for what is infinite."""
    return "–" if np.isinf(number) else shown(float(number))


def _spread(quartiles: NDArray[np.float64], shown: Callable[[float], str]) -> str:
    """The median, and the quartiles behind it if they differ."""
    low, middle, high = (_shown(number, shown) for number in quartiles)
    return middle if low == high else f"{middle} ({low} to {high})"


def _notes(records: Sequence[Record]) -> str:
    """The versions of the packages that learn, and the machines, of all runs, each once."""
    packages: dict[str, set[str]] = {}
    for record in records:
        for package in record["versions"].keys() - UNNAMED:
            packages.setdefault(package, set()).add(record["versions"][package])
    found = [record["machine"] for record in records]
    machines = sorted({f"{each['processor']}, {each['cores']} cores, {each['system']}" for each in found})
    used = ", ".join(f"{name} {' and '.join(sorted(numbers))}" for name, numbers in sorted(packages.items()))
    return f"Versions: {used}.\n\nMachines: {'; '.join(machines)}.\n"


def plot(records: Sequence[Record], *paths: Path) -> None:
    """Draw a row for each game: the steps to exploitability 0, and how the exploitability falls.

    On the left a line for each algorithm has the median of its seeds, and the quartiles as a bar; who did
    not come to 0 has no dot. On the right are the curves of the algorithms that need the fewest steps, in the
    same colours.
    """
    from matplotlib import colormaps

    games = grouped(records)
    names = sorted({runs.algorithm for rows in games.values() for runs in rows})
    found = [colour for each in COLOURS for colour in colormaps[each].colors]  # type: ignore[attr-defined]
    colours = dict(zip(names, found, strict=False))
    heights = [max(1.0, 0.2 * len(rows)) for rows in games.values()]
    figure = new_figure(9.2, sum(heights) + 0.9 * len(games))
    panels: Any = figure.subplots(
        len(games), 2, squeeze=False, sharex="row", gridspec_kw={"height_ratios": heights}
    )
    for (left, right), (game, rows) in zip(panels, games.items(), strict=True):
        with_grid(left, title=GAMES.get(game, game), xscale="log", xlabel="steps", yticks=range(len(rows)))
        left.set_yticklabels([runs.algorithm for runs in rows])
        left.set_ylim(len(rows) - 0.5, -0.5)
        with_grid(right, xlabel="steps", ylabel="exploitability: median", ylim=(-0.05, 1.05))
        for row, runs in enumerate(rows):
            colour = colours[runs.algorithm]
            _draw_steps(left, row, runs.until_zero("steps"), colour)
            if row < CURVES:
                steps = np.geomspace(100, max(101, *(record["steps"] for record in runs.records)), 100)
                right.step(steps, runs.curve(steps)[1], where="post", color=colour, lw=1.4)
    save(figure, *paths)


def _draw_steps(panel: Any, row: int, quartiles: NDArray[np.float64], colour: Any) -> None:
    """The median as a dot, and from the lower to the upper quartile a line, as far as they are finite."""
    low, middle, high = quartiles
    if np.isfinite(low):
        ends = [end if np.isfinite(end) else low for end in (middle, high)]
        panel.plot([low, max(ends)], [row, row], color=colour, lw=2.5, solid_capstyle="butt")
    if np.isfinite(middle):
        panel.plot(middle, row, "o", color=colour, ms=5)
