"""Training runs in a folder: what each logged, such as its exploitability, over steps and seconds.

A run is a folder with event files of TensorBoard, as `ttt train --tensorboard`, `SelfPlay` and
Stable-Baselines3 write them.
It goes by the name under which it is listed: what a visitor sends is compared with the list, and never used
as a path.
"""

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from ttt_env.app.web.compare.chart import Chart, Line, axis, chart, text_of
from ttt_env.errors import ParameterError, missing_extra, unknown

TAG = "exact/exploitability"
OVER = {"steps": "steps, as the training counts them", "seconds": "seconds"}
MAX_SHOWN = 8  # lines that can be told apart
_MAX_LISTED, _MAX_VISITED = 200, 5_000  # runs; folders in which they are looked for
_MAX_BYTES = 32_000_000  # of a run that are read
_HEAD, _CHECKSUM = 12, 4  # bytes
_FILES = "events.out.tfevents."
_MAX_MEASURES = 200
MEANINGS = {
    TAG: "points a game that the best opponent gets out of the agent, exactly: 0 is perfect play",
    "exact/exploitable as X": "what the best opponent scores against the agent as X, exactly",
    "exact/exploitable as O": "what the best opponent scores against the agent as O, exactly",
    "exact/blunders": "positions that can come up against the agent in which it may give something away",
    "exact/blunders everywhere": "positions of the whole game in which the agent may give something away",
    "rollout/ep_rew_mean": "reward of an episode, on average over the last hundred",
    "rollout/ep_len_mean": "steps of an episode, on average over the last hundred",
    "rollout/exploration_rate": "share of moves at random",
    "train/loss": "loss that the optimiser makes small",
    "train/value_loss": "loss of the value estimate",
    "train/policy_gradient_loss": "loss of the policy",
    "train/entropy_loss": "entropy of the policy, with a minus: nearer to 0 is more certain",
    "train/approx_kl": "how far an update moves the policy: approximate Kullback-Leibler divergence",
    "train/clip_fraction": "share of the updates that were clipped",
    "train/explained_variance": "how much of the returns the value estimate explains: 1 is all",
    "train/learning_rate": "learning rate",
    "time/fps": "steps of the agent a second",
    "exact/score against random": "wins − losses a game against the random player, exactly",
    "games/good": "good games of a hundred: draws with itself, wins over the random player",
    "games/good against random": "good games of a hundred against the random player",
}
"""The meaning of each tag that this package, its scripts and Stable-Baselines3 log."""


@dataclass(frozen=True)
class Run:
    """A run by its name, and its event files: path, bytes, time of the last change in nanoseconds."""

    name: str
    files: tuple[tuple[Path, int, int], ...]

    @property
    def changed(self) -> int:
        """The time of the last change to its files."""
        return max(changed for _, _, changed in self.files)


@dataclass(frozen=True)
class Curve:
    """The logged values of one measure in a run: steps, seconds of training and values `[n]`."""

    name: str
    steps: tuple[int, ...]
    seconds: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def least(self) -> str:
        """The least value as a text."""
        return text_of(min(self.values))

    @property
    def last(self) -> str:
        """The last value as a text."""
        return text_of(self.values[-1])


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
    latest = sorted(runs, key=lambda run: -run.changed)[:MAX_SHOWN]
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
    try:
        from google.protobuf.message import DecodeError
        from tensorboard.compat.proto.event_pb2 import Event
    except ImportError as error:
        raise missing_extra("curves of trainings need", "train") from error
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
        yield _content(path)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it was deleted, or is somebody else's
        return b""


def drawn(curves: Sequence[Curve], over: str, tag: str = TAG) -> Chart:
    """The curves of a measure over `steps` or `seconds`."""
    lines = [
        Line(each.name, f"line-{place}", list(zip(getattr(each, over), each.values, strict=True)))
        for place, each in enumerate(curves)
    ]
    xs, ys = ([point[side] for line in lines for point in line.points] for side in (0, 1))
    return chart(axis(OVER[over], xs), axis(tag, ys), lines)
