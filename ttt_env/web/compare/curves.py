"""Curves: line charts, which a template turns into SVG and texts, and what they show.

Softmax minimax against itself at two temperatures gives the curves of Lachlan Gibson's "Making tic-tac-toe
interesting with AI", computed instead of sampled. A training run is a folder with event files of TensorBoard,
as `ttt train --tensorboard`, `SelfPlay` and Stable-Baselines3 write them. It goes by the name under which it
is listed: what a visitor sends is compared with the list, and never used as a path.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from math import ceil, floor, isfinite, log10
from pathlib import Path
from typing import NamedTuple, TypeVar

from ttt_env.analysis.induction import backward_induction, softmax
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.results import Result
from ttt_env.errors import ParameterError, extra_for, unknown
from ttt_env.rules import Boards, get_game
from ttt_env.web.controls import Control

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
    """A number on an axis, and its place."""

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
        extent = self.high - self.low
        # The least of 1, 2, 5, 10, … that divides the extent by few enough ticks.
        power: float = 10 ** floor(log10(extent / _MAX_TICKS))
        step = next(power * of for of in (1, 2, 5, 10) if extent / (power * of) <= _MAX_TICKS)
        numbers = range(ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9) + 1)
        return [Tick(self.place(n * step), _shown(n * step, step)) for n in numbers]


@dataclass(frozen=True)
class DrawnLine:
    """A line in the plot, and the height of its name beside its end, in percent from the top.

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
    """All that a template draws of a chart; `mark` is the place of a vertical line, in percent."""

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
    drawn = []
    for line, label_at in zip(shown, heights, strict=True):
        points = _thinned(line.points, _MAX_POINTS)
        places = [(x.place(a), 100 - y.place(b)) for a, b in points]
        corners = places if len(places) > 1 else 2 * places  # a line of no length is drawn as a dot
        path = "M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in corners)
        drawn.append(DrawnLine(line.name, line.look, path, label_at, points, _thinned(places, _MARKS)))
    return Chart(x, y, tuple(drawn), None if mark is None else x.place(mark))


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


GAME = get_game("tictactoe-v0")
SLIDERS = {
    seat: Control(seat, f"temperature of {seat.upper()}", 0, 2, 0.05, ("Precise", "Chaotic"), default=default)
    for seat, default in (("x", "1"), ("o", "0.5"))
}
OPENINGS = {"centre": 4, "corner": 0, "edge": 1}
_GRID = [round(0.05 * step, 2) for step in range(41)]  # the temperatures that the sliders stop at


@dataclass(frozen=True)
class Ends:
    """The result of the game between two temperatures, from X's side, and the value of its openings for X."""

    result: Result
    openings: dict[str, float]


def temperatures(fields: Mapping[str, str]) -> tuple[float, float]:
    """The temperatures of X and O on the sliders. Raises `ParameterError` if one is out of bounds."""
    x, o = (float(slider.checked(fields.get(seat, slider.default))) for seat, slider in SLIDERS.items())
    return x, o


def ends(x: float, o: float) -> Ends:
    """The result if both seats play softmax minimax and know the other's temperature: one sweep."""
    outcomes = backward_induction(reachable(GAME), softmax(x), softmax(o))
    win, loss = outcomes.start
    q = outcomes.values().q(Boards.start(GAME))[0]
    return Ends(Result(win, 1 - win - loss, loss), {name: float(q[cell]) for name, cell in OPENINGS.items()})


def softmax_curves(x: float, o: float) -> tuple[Ends, Chart, Chart]:
    """The ends at these temperatures; the chances, and the worth of the openings, over all of O's."""
    ends_at = {at: ends(x, at) for at in sorted({*_GRID, o})}
    across = Axis("temperature of O", _GRID[0], _GRID[-1])
    chances = [
        Line(name, look, [(at, 100 * each.result[place]) for at, each in ends_at.items()])
        for place, (name, look) in enumerate([("X wins", "x"), ("draw", "draw"), ("O wins", "o")])
    ]
    worth = [
        Line(name, f"line-{place}", [(at, each.openings[name]) for at, each in ends_at.items()])
        for place, name in enumerate(OPENINGS)
    ]
    return (
        ends_at[o],
        chart(across, Axis("probability, %", 0, 100), chances, o),
        chart(across, Axis("wins − losses of X", -1, 1), worth, o),
    )


TAG = "exact/exploitability"
OVER = {"steps": "steps, as the training counts them", "seconds": "seconds"}
MAX_SHOWN = 8  # lines that can be told apart
_MAX_LISTED, _MAX_VISITED = 200, 5_000  # runs; folders in which they are looked for
_MAX_BYTES = 32_000_000  # of a run that are read
_HEAD, _CHECKSUM = 12, 4  # bytes
_FILES = "events.out.tfevents."
_MAX_MEASURES = 200
MEANINGS = {
    TAG: "exact points per game that the best opponent wins from the agent: 0 is perfect play",
    "exact/exploitable as X": "exact score of the best opponent against the agent as X",
    "exact/exploitable as O": "exact score of the best opponent against the agent as O",
    "exact/blunders": "positions that the agent can reach in which it may give value away",
    "exact/blunders everywhere": "positions of the whole game in which the agent may give value away",
    "rollout/ep_rew_mean": "reward per episode, averaged over the last hundred",
    "rollout/ep_len_mean": "steps per episode, averaged over the last hundred",
    "rollout/exploration_rate": "share of random moves",
    "train/loss": "loss that the optimiser minimises",
    "train/value_loss": "loss of the value estimate",
    "train/policy_gradient_loss": "loss of the policy",
    "train/entropy_loss": "negative entropy of the policy: closer to 0 is more certain",
    "train/approx_kl": "size of a policy update: approximate Kullback-Leibler divergence",
    "train/clip_fraction": "share of the updates that were clipped",
    "train/explained_variance": "share of the variance of the returns that the value estimate explains",
    "train/learning_rate": "learning rate",
    "time/fps": "steps of the agent per second",
    "exact/score against random": "exact wins − losses per game against the random player",
    "games/good": "good games in a hundred: draws with itself, wins against the random player",
    "games/good against random": "good games in a hundred against the random player",
}
"""The meaning of each tag that this package, its scripts and Stable-Baselines3 log."""


@dataclass(frozen=True)
class Run:
    """A run by its name, and its event files, the oldest first: path, bytes, last change in nanoseconds."""

    name: str
    files: tuple[tuple[Path, int, int], ...]


@dataclass(frozen=True)
class Curve:
    """The logged values of one measure in a run: steps, seconds of training and values `[n]`."""

    name: str
    steps: tuple[int, ...]
    seconds: tuple[float, ...]
    values: tuple[float, ...]


def runs_in(folder: Path) -> list[Run]:
    """The runs in a folder and the folders below it. Links are not followed: they lead elsewhere."""
    runs = []
    for path, folders, names in islice(os.walk(folder), _MAX_VISITED):
        folders.sort()  # the order in which they are walked
        files = tuple(sorted(_files(Path(path), names), key=lambda file: file[2]))  # in the order of writing
        if files:
            runs.append(Run(Path(path).relative_to(folder).as_posix(), files))
        if len(runs) == _MAX_LISTED:
            break
    return runs


def _files(folder: Path, names: list[str]) -> Iterator[tuple[Path, int, int]]:
    for name in names:
        path = folder / name
        if name.startswith(_FILES) and path.is_file() and not path.is_symlink():
            state = path.stat()
            yield path, state.st_size, state.st_mtime_ns


def chosen_runs(runs: Sequence[Run], names: Sequence[str]) -> list[Run]:
    """The runs of these names; of no names, those last written to.

    Raises `ParameterError` for a name that is not listed, or too many.
    """
    listed = {run.name: run for run in runs}
    for name in names:
        if name not in listed:
            raise ParameterError(unknown("run", name[:60], listed))
    if len({*names}) > MAX_SHOWN:
        raise ParameterError(f"{len({*names})} runs at once: up to {MAX_SHOWN} can be told apart")
    latest = sorted(runs, key=lambda run: -run.files[-1][2])[:MAX_SHOWN]
    return [run for run in runs if (run.name in names if names else run in latest)]


class Scalar(NamedTuple):
    """A number that was logged under a tag after so many steps, at a time in seconds."""

    tag: str
    step: int
    time: float
    value: float


def scalars(content: bytes) -> Iterator[Scalar]:
    """The scalars of an event file, as far as it can be read: it may be still growing, or no such file.

    Each record is read with TensorBoard's definition of an event. Its loader of whole files is not used: it
    allocates as many bytes as a record claims to have.

    Raises `ImportError` if TensorBoard, of the extra `train`, is not installed.
    """
    with extra_for("curves of trainings need", "train"):
        from google.protobuf.message import DecodeError
        from tensorboard.compat.proto.event_pb2 import Event
    for record in _records(content):
        try:
            event = Event.FromString(record)
        except DecodeError:
            return
        for value in event.summary.value:
            if value.WhichOneof("value") == "simple_value":
                yield Scalar(value.tag, event.step, event.wall_time, value.simple_value)


def _records(content: bytes) -> Iterator[bytes]:
    """The records of an event file: each follows its length and a checksum of that, and precedes its own."""
    at = 0
    while at + _HEAD <= len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        end = at + _HEAD + length
        if end + _CHECKSUM > len(content):
            return
        yield content[at + _HEAD : end]
        at = end + _CHECKSUM


def measures(run: Run) -> tuple[str, ...]:
    """The tags of all that a run logged, as many as are offered at most."""
    logged = (scalar for content in _contents(run) for scalar in scalars(content))
    return tuple(in_order(scalar.tag for scalar in logged if isfinite(scalar.value)))[:_MAX_MEASURES]


def in_order(tags: Iterable[str]) -> list[str]:
    """The tags once each: exploitability, then what else is explained, then the rest by name."""
    explained = list(MEANINGS)
    return sorted({*tags}, key=lambda tag: (explained.index(tag) if tag in MEANINGS else len(explained), tag))


def curve(run: Run, tag: str = TAG) -> Curve:
    """The logged values of a measure in a run. A resumed training continues where it stopped."""
    points: list[tuple[int, float, float]] = []
    before = 0.0
    for content in _contents(run):
        logged = list(scalars(content))
        begun = min((scalar.time for scalar in logged), default=0.0)
        ours = (scalar for scalar in logged if scalar.tag == tag and isfinite(scalar.value))
        points += [(scalar.step, before + scalar.time - begun, scalar.value) for scalar in ours]
        before += max((scalar.time for scalar in logged), default=0.0) - begun
    steps, seconds, values = zip(*points, strict=True) if points else ((), (), ())
    return Curve(run.name, steps, seconds, values)


def _contents(run: Run) -> Iterator[bytes]:
    """The event files of a run, as many as are read at most."""
    left = _MAX_BYTES
    for path, size, _ in run.files:
        left -= size
        if left < 0:
            return
        with suppress(OSError):  # it was deleted, or is somebody else's
            yield path.read_bytes()


def drawn(curves: Sequence[Curve], over: str, tag: str = TAG) -> Chart:
    """The curves of a measure over `steps` or `seconds`."""
    lines = [
        Line(each.name, f"line-{place}", list(zip(getattr(each, over), each.values, strict=True)))
        for place, each in enumerate(curves)
    ]
    xs, ys = ([point[side] for line in lines for point in line.points] for side in (0, 1))
    return chart(axis(OVER[over], xs), axis(tag, ys), lines)
