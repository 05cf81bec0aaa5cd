"""Time the vector environments and their peers, print the tables, and draw the chart of the speeds."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from panels import with_grid

from speed.contenders import BOTH, CONTENDERS, GOALS, SIZES, our_batch
from speed.measuring import Window, measured, moves_per_second, recorded, steps_of, verdict
from ttt_env.render.charts import new_figure, save

Speeds = dict[tuple[str, int], list[float]]  # moves a second in each round, by name and number of games
TAKES = "np.take"
GOAL_FACTOR = 3
_WIDTH = 36
_APART = 1.42  # labels of the chart are at least this factor apart


def print_vector(seconds: float, rounds: int) -> Speeds:
    """Time all that can be imported, print all tables, and return the speeds."""
    print("\nMany games at once\n")
    windows = dict(all_windows())
    speeds = measured(windows, moves_per_second, seconds, rounds)
    print(
        f"  million steps/s by the number of games; a step is a move of one game; medians of {rounds} rounds"
    )
    print("  random legal moves: recorded beforehand, or, where it says so, drawn in the loop\n")
    print_speeds(speeds)
    print_goals(speeds)
    print_bytes(speeds)
    return speeds


def all_windows() -> Iterator[tuple[tuple[str, int], Window]]:
    """The windows to time. Prints a line for each peer that is not installed."""
    for contender in CONTENDERS:
        try:
            yield from [((contender.name, size), contender.window(size)) for size in contender.sizes]
        except ImportError as error:
            print(f'  {contender.name} is left out, {error}: pip install ".[peers,train]"')
    yield from (((TAKES, size), takes(size)) for size in SIZES)


def takes(n_games: int) -> Window:
    """A window of the bare cost of a step: `np.take` for the successors and for each array that it returns.

    These are observation, mask, seat, ended, reward, and the rewards of both; arrays that
    always hold the same are not counted. The tables have a row for each board of the recorded games, and are
    read in the same order.
    """
    batch = our_batch(n_games)
    steps, n_moves = recorded(batch, steps_of(n_games))
    batch.start()
    seen = np.stack([batch.envs.step(cells)[0].reshape(n_games, -1) for cells in steps])
    boards, numbers = np.unique(seen @ (1 << np.arange(seen.shape[2])), return_inverse=True)
    n_boards, n_cells = len(boards), seen.shape[2] // 2
    successors = np.ones(n_boards * n_cells, np.int64)
    int8s = [(n_boards, 2 * n_cells), (n_boards, n_cells), *[(n_boards,)] * 2]
    floats = [(n_boards,), (n_boards, 2)]
    tables = [np.ones(shape, np.int8) for shape in int8s] + [np.ones(shape) for shape in floats]
    pairs = [(rows, rows * n_cells + cells) for rows, cells in zip(numbers, steps, strict=True)]

    def window() -> int:
        for rows, moves in pairs:
            successors.take(moves)
            for table in tables:
                table.take(rows, axis=0)
        return n_moves

    return window


def print_speeds(speeds: Speeds) -> None:
    """Print a line for each environment."""
    print(f"  {'':{_WIDTH}}" + "".join(f"{size:>10,}" for size in SIZES))
    for name in dict.fromkeys(name for name, _ in speeds if name != TAKES):
        of_sizes = (speeds.get((name, size)) for size in SIZES)
        texts = ("" if rounds is None else f"{median(rounds) / 1e6:.3f}" for rounds in of_sizes)
        print(f"  {name:{_WIDTH}}" + "".join(f"{text:>10}" for text in texts))


def print_goals(speeds: Speeds) -> None:
    """Print how many times faster ours are than the peers that are there."""
    print("\n  times the peer; the ratios are medians over the rounds")
    print("  goals for Pgx's scan and OpenSpiel are for moves drawn in the loop; recorded ones are beside\n")
    for goal in GOALS:
        if (goal.peer, goal.peer_size) in speeds:
            pairs = zip(speeds[goal.ours, goal.size], speeds[goal.peer, goal.peer_size], strict=True)
            ratio = median(ours / theirs for ours, theirs in pairs)
            text = f"{goal.ours} at {goal.size:,} : {goal.peer} at {goal.peer_size:,}"
            reached = "" if goal.times is None else f"  goal {goal.times:g}: {verdict(ratio >= goal.times)}"
            print(f"  {text:76}{ratio:>7.1f}{reached}")


def print_bytes(speeds: Speeds) -> None:
    """Print what a step costs beside what `takes` costs, in nanoseconds a move."""
    print(f"\n  nanoseconds a move: {BOTH}, beside {TAKES} alone on the same shapes; goal ≤ {GOAL_FACTOR}\n")
    print(f"  {'games':>12}{'step':>12}{'np.take':>12}{'factor':>10}")
    for size in SIZES:
        ours, bare = (1e9 / median(speeds[name, size]) for name in (BOTH, TAKES))
        factor = median(b / a for a, b in zip(speeds[BOTH, size], speeds[TAKES, size], strict=True))
        print(f"  {size:>12,}{ours:>12,.1f}{bare:>12,.1f}{factor:>10.1f}  {verdict(factor <= GOAL_FACTOR)}")
    alone, in_batch = (1e9 / median(speeds[BOTH, size]) for size in (1, SIZES[-1]))
    print(f"\n  One game alone takes {alone / 1e3:,.0f} µs a move, the cost of calling Python and NumPy.")
    print(f"  A batch shares it: in the largest it is {alone / SIZES[-1]:,.1f} of the {in_batch:,.1f} ns.")


def plot(speeds: Speeds, path: Path) -> None:
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


def draw_line(axes: Any, points: Mapping[int, float], colour: str) -> None:
    """The measured points; dotted beyond, as a loop over games gets no faster with more of them."""
    axes.plot(list(points), list(points.values()), "o-", color=colour, markersize=4)
    last = max(points)
    axes.plot([last, SIZES[-1]], [points[last]] * 2, ":", color=colour, linewidth=1.2)


def write_labels(axes: Any, ends: Mapping[str, tuple[float, str]]) -> None:
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
