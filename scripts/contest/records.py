"""The record of an attempt: a line of JSON, and the policy in a file, from which it is certified again."""

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ttt_env
from contest.entries import TEACHERS, Entry
from contest.protocol import Attempt, Judged, Point, judge_table
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.dossier import versions
from ttt_env.errors import TttEnvError
from ttt_env.rules.game import Game
from ttt_env.storage.files import as_file_name
from ttt_env.storage.line_file import change_lines, read_lines

FORMAT = "ttt_env leaderboard 1"
SUFFIX = ".jsonl"
POLICIES = "policies"  # the folder beside the lines
CLOSE = 1e-9  # of two computations of the same sum on different machines
Record = dict[str, Any]


def key(record: Mapping[str, Any]) -> tuple[str, str, int]:
    """The key of a run: a file holds one line for each algorithm, game and seed."""
    return record["algorithm"], record["game"], record["seed"]


def record_of(entry: Entry, game: Game, seed: int, cpu_seconds: float, made: Attempt) -> Record:
    """The line of an attempt that had so many seconds of the processor."""
    last = made.curve[-1]
    return {
        "format": FORMAT,
        "algorithm": entry.name,
        "source": entry.source,
        "teacher": entry.teacher,
        "is_seeded": entry.is_seeded,
        "game": game.name,
        "seed": seed,
        "limit_cpu_seconds": cpu_seconds,
        "ended": made.ended,
        **last._asdict(),
        "curve": thinned(made.curve),
        "policy": None if made.policy is None else fingerprint(made.policy),
        "versions": {**versions(), **_versions_of(["numba", *entry.packages])},
        "machine": machine(),
    }


def thinned(curve: list[Point]) -> list[list[float]]:
    """The points at which the exploitability changes, and the last one, with shortened seconds and shares."""
    kept = [
        now
        for before, now in zip([None, *curve], curve, strict=False)
        if before is None or before.exploitability != now.exploitability or now is curve[-1]
    ]
    return [[point.steps, *(round(number, 6) for number in point[1:3]), *point[3:]] for point in kept]


def fingerprint(policy: Lookup) -> str:
    """The SHA-256 of a table's game and numbers, however its file is packed."""
    digest = hashlib.sha256(policy.game.name.encode())
    for name, array in sorted(policy.arrays().items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def policy_path(file: Path, record: Mapping[str, Any]) -> Path:
    """The file of the policy of a line: no two policies share a name."""
    algorithm, game, seed = key(record)
    name = f"{as_file_name(algorithm)}-{as_file_name(game)}-{seed}-{record['policy'][:8]}.npz"
    return file.parent / POLICIES / name


def read(file: Path) -> list[Record]:
    """The lines of a file; none if there is no such file. Raises `ValueError` for a line that is none."""
    records = read_lines(file)
    for number, record in enumerate(records, 1):
        if record.get("format") != FORMAT:
            raise ValueError(f"{file}, line {number} is no line of a leaderboard ({FORMAT})")
    return records


def read_all(files: Iterable[Path]) -> list[Record]:
    """The lines of these files, and of all `.jsonl` files in those that are folders."""
    paths = (sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path] for path in files)
    return [record for group in paths for path in group for record in read(path)]


def add(file: Path, record: Record, policy: Lookup | None) -> None:
    """Write the policy, and then the line, in the place of one of the same run; both whole or not at all.

    Several runs may add to a file at once.
    """
    read(file)  # it is left alone if it holds anything else
    if policy is not None:
        policy.save(policy_path(file, record))

    def with_record(lines: list[Record]) -> list[Record]:
        return sorted([*(other for other in lines if key(other) != key(record)), record], key=key)

    change_lines(file, with_record)


def faults(file: Path) -> Iterator[str]:
    """The errors in the lines of a file, after judging every policy again; nothing if all is well."""
    records = read(file)
    if len({key(record) for record in records}) < len(records):
        yield f"{file}: a run is there twice"
    for record in records:
        name = f"{file.name}: {' '.join(map(str, key(record)))}"
        yield from (f"{name}: {fault}" for fault in _faults_of(record, file))


def _faults_of(record: Record, file: Path) -> Iterator[str]:
    yield from _faults_of_text(record)
    if record["policy"] is None:
        return
    try:
        policy = Lookup(ttt_env.get_game(record["game"]), str(policy_path(file, record)))
        judged = judge_table(policy)
    except TttEnvError as error:
        yield str(error)
        return
    if fingerprint(policy) != record["policy"]:
        yield "the policy has another fingerprint"
    for figure, found in judged._asdict().items():
        if not abs(record[figure] - found) <= CLOSE or (record[figure] == 0) != (found == 0):
            yield f"{figure} is {found}, not {record[figure]}"


def _faults_of_text(record: Record) -> Iterator[str]:
    """The contradictions within a line."""
    curve = [Point(*point) for point in record["curve"]]
    if record["teacher"] not in TEACHERS:
        yield f"its teacher is none of {', '.join(TEACHERS)}"
    if (record["ended"] == "goal") != (record["exploitability"] == 0 and record["policy"] is not None):
        yield f"it ended by {record['ended']} with exploitability {record['exploitability']}"
    for name in ("steps", "seconds", "cpu_seconds"):
        numbers = [getattr(point, name) for point in curve]
        if numbers != sorted(numbers):
            yield f"the {name} of its curve fall"
        if abs(numbers[-1] - record[name]) > 1e-5:
            yield f"{name} is {record[name]}, and {numbers[-1]} at the end of its curve"
    if any(getattr(curve[-1], figure) != record[figure] for figure in Judged._fields):
        yield "its curve ends with another policy"


def _versions_of(packages: Iterable[str]) -> dict[str, str]:
    return {package: version(package) for package in packages}


def machine() -> dict[str, Any]:
    """The machine: its processor, its number of cores, and its system."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()}


def _processor() -> str:
    """The name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
