"""The record of an attempt: a line of JSON, and the policy in a file, from which it is certified again."""

import hashlib
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any, get_args

import ttt_env
from contest import protocol
from contest.entries import TEACHERS, Entry
from contest.protocol import Attempt, Ended, Judged, Point, judge_table
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.dossier import versions
from ttt_env.analysis.tablebase import is_tablebase
from ttt_env.errors import ResultFileError, TttEnvError
from ttt_env.rules import Game
from ttt_env.storage import Fields, as_file_name, file_errors
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
        "versions": versions() | {package: version(package) for package in ["numba", *entry.packages]},
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
    """The lines of a file; none if there is no such file.

    Raises `ResultFileError`, which names the file, for one that cannot be read, and also the line and the
    entry for an entry that is missing, or has a wrong type or range.
    """
    with file_errors(file, "read", ResultFileError):
        records = read_lines(file)
    for number, record in enumerate(records, 1):
        if record.get("format") != FORMAT:
            raise ResultFileError(f"{file}, line {number} is no line of a leaderboard ({FORMAT})")
        try:
            _check(Fields(record))
        except ResultFileError as error:
            raise ResultFileError(f"{file}, line {number}: {error}") from error
    return records


def _check(line: Fields) -> None:
    """Raise `ResultFileError` for an entry that is missing, or has a wrong type or range."""
    for key in ("algorithm", "source"):
        line.text(key)
    line.choice("teacher", TEACHERS)
    line.flag("is_seeded")
    line.agrees("game", line.read("game", ttt_env.get_game).name)
    line.integer("seed")
    line.number("limit_cpu_seconds", 0, inf)
    line.choice("ended", get_args(Ended))
    _check_point(line, Point._fields)
    curve = line.parts("curve")
    if not curve or any(len(point) != len(Point._fields) for point in curve):
        raise line.error("curve", f"it is no list of points, each of {len(Point._fields)} numbers")
    for point in curve:
        _check_point(point, range(len(point)))
    if not line.is_null("policy") and not re.fullmatch("[0-9a-f]{64}", line.text("policy")):
        raise line.error("policy", "it is no SHA-256 of 64 hexadecimal digits")
    versions, machine = line.part("versions"), line.part("machine")
    for package in line.table("versions"):
        versions.text(package)
    machine.text("processor")
    machine.optional(machine.integer, "cores")
    machine.text("system")


def _check_point(point: Fields, keys: Iterable[str | int]) -> None:
    """The same for the numbers of a `Point`, which are found by these keys."""
    steps, *others = keys
    point.integer(steps)
    for key, most in zip(others, (inf, inf, 1, 1, 1), strict=True):
        point.number(key, 0, most)


def files_in(paths: Iterable[Path]) -> list[Path]:
    """These files, and all `.jsonl` files in those that are folders."""
    groups = (sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path] for path in paths)
    return [file for group in groups for file in group]


def read_all(paths: Iterable[Path]) -> list[Record]:
    """The lines of these files and folders. Raises `ResultFileError` for one without lines, and as `read`."""
    found = {path: [record for file in files_in([path]) for record in read(file)] for path in paths}
    for path, records in found.items():
        if not records:
            why = "holds no lines of a leaderboard" if path.exists() else "does not exist"
            raise ResultFileError(f"{path} {why}")
    return [record for records in found.values() for record in records]


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
    game = ttt_env.get_game(record["game"])
    yield from _faults_of_text(record)
    yield from _breaches(record, game)
    if record["policy"] is None:
        return
    path = str(policy_path(file, record))
    try:
        if is_tablebase(path):
            yield "its policy is a tablebase, and no table of answers"
            return
        policy = Lookup(game, path)
        judged = judge_table(policy)
    except TttEnvError as error:
        yield str(error)
        return
    if fingerprint(policy) != record["policy"]:
        yield "the policy has another fingerprint"
    if len(policy) > protocol.MOST_ROWS:
        yield f"the policy has {len(policy):,} rows, and only {protocol.MOST_ROWS:,} are kept"
    for figure, found in judged._asdict().items():
        if not abs(record[figure] - found) <= CLOSE or (record[figure] == 0) != (found == 0):
            yield f"{figure} is {found}, not {record[figure]}"


def _breaches(record: Record, game: Game) -> Iterator[str]:
    """The contradictions between a line and the protocol, by which no attempt at this game ends so."""
    ended, curve = record["ended"], record["curve"]
    used, limit, most = record["cpu_seconds"], record["limit_cpu_seconds"], protocol.cpu_seconds_of(game)
    is_at_goal = record["exploitability"] == 0 and record["policy"] is not None and used < limit
    if (ended == "goal") != is_at_goal:
        yield f"it ended by {ended} with exploitability {record['exploitability']}"
    if used >= limit and (ended == "returned" or len(curve) > 1):
        yield f"it went on after its limit of {limit:g} CPU seconds"
    if limit > most:
        yield f"its limit is {limit:g} CPU seconds, and {most:g} are allowed on {game.name}"
    if not protocol.is_always_kept(game):
        return
    if record["policy"] is None:
        yield f"its policy is missing, and none is too large to be kept on {game.name}"
    if any(Point(*point).exploitability == 0 for point in curve[:-1]):
        yield "its curve goes on after exploitability 0"


def _faults_of_text(record: Record) -> Iterator[str]:
    """The contradictions within a line."""
    curve = [Point(*point) for point in record["curve"]]
    if any(point.perfect > point.good for point in curve):
        yield "its curve has a larger share of perfect moves than of good ones"
    for name in ("steps", "seconds", "cpu_seconds"):
        numbers = [getattr(point, name) for point in curve]
        if numbers != sorted(numbers):
            yield f"the {name} of its curve fall"
        if abs(numbers[-1] - record[name]) > 1e-5:
            yield f"{name} is {record[name]}, and {numbers[-1]} at the end of its curve"
    if any(getattr(curve[-1], figure) != record[figure] for figure in Judged._fields):
        yield "its curve ends with another policy"


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
