"""The record of an attempt: a line of JSON, and the policy in an archive, from which it is judged again."""

import hashlib
import io
import lzma
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lines import change_lines, read_lines
from numpy.lib.format import read_array, write_array
from numpy.typing import NDArray

import ttt_env
from contest import protocol
from contest.entries import TEACHERS, Entry
from contest.protocol import Attempt, Ended, Point, judge_table
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.dossier import versions
from ttt_env.errors import FileError, TttEnvError
from ttt_env.rules import Game
from ttt_env.storage import file_errors
from ttt_env.storage.codec import decode_value

FORMAT = "ttt_env leaderboard 1"
SUFFIX = ".jsonl"
POLICIES = "policies.xz"  # beside the lines: the table of each policy, by its fingerprint
CLOSE = 1e-9  # of two computations of the same sum on different machines
Record = dict[str, Any]
Table = list[NDArray[Any]]


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


def packed(policy: Lookup) -> bytes:
    """A table as arrays that compress well: steps between codes, where it may move, and how likely."""
    arrays, content = policy.arrays(), io.BytesIO()
    chances, steps = arrays["policies"], np.diff(arrays["codes"], prepend=np.uint64(0))
    bits = np.packbits(chances != 0)
    for array in (np.array(fingerprint(policy)), arrays["merged"], steps, bits, chances[chances != 0]):
        write_array(content, array)
    return content.getvalue()


def policies_beside(file: Path) -> dict[str, Table]:
    """The arrays of all tables in the archive beside a file of lines, by fingerprint; none without one."""
    tables: dict[str, Table] = {}
    if (path := file.parent / POLICIES).exists():
        with lzma.open(path) as archive:
            while archive.peek(1):
                name, *arrays = (read_array(archive) for _ in range(5))
                tables[str(name)] = arrays
    return tables


def table_of(game: Game, arrays: Table) -> Lookup:
    """The table that `packed` has written."""
    merged, steps, bits, chances = arrays
    policies = np.zeros((len(steps), game.n_cells), np.float32)
    policies[np.unpackbits(bits, count=policies.size).reshape(policies.shape) != 0] = chances
    return Lookup.from_arrays(game, np.cumsum(steps, dtype=np.uint64), policies, merged=bool(merged))


def read(file: Path) -> list[Record]:
    """The lines of a file; none if there is no such file.

    Raises `FileError`, which names the file, for one that cannot be read, and also the line and the
    entry for an entry that is missing, or has a wrong type or range.
    """
    with file_errors(file, "read"):
        records = read_lines(file)
    for number, record in enumerate(records, 1):
        if record.get("format") != FORMAT:
            raise FileError(f"{file}, line {number}: it is not a line of a leaderboard ({FORMAT})")
        try:
            _check(record)
        except TttEnvError as error:
            raise FileError(f"{file}, line {number}: {error}") from error
    return records


class _Line(NamedTuple):
    """The entries of a line, beside those of its last `Point`."""

    algorithm: str
    source: str
    teacher: str
    is_seeded: bool
    game: str
    seed: int
    limit_cpu_seconds: float
    ended: Ended
    curve: list[tuple[int, float, float, float, float, float]]
    policy: str | None
    versions: dict[str, str]
    machine: dict[str, Any]


def _check(data: Record) -> None:
    """Raise `FileError` for an entry that is missing, or has a wrong type or range."""
    line = decode_value(_Line, data)
    if line.teacher not in TEACHERS:
        raise FileError(f"teacher: {line.teacher!r}, expected one of {', '.join(TEACHERS)}")
    if ttt_env.get_game(line.game).name != line.game:
        raise FileError(f"game: {line.game!r}, expected {ttt_env.get_game(line.game).name!r}")
    if not line.curve:
        raise FileError("curve: it has no points")
    for point in [decode_value(Point, data), *map(Point._make, line.curve)]:
        if min(point) < 0 or max(point[3:]) > 1:
            raise FileError(f"curve: {point}, expected numbers ≥ 0, and shares up to 1")


def files_in(paths: Iterable[Path]) -> list[Path]:
    """These files, and all `.jsonl` files in those that are folders."""
    groups = (sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path] for path in paths)
    return [file for group in groups for file in group]


def read_all(paths: Iterable[Path]) -> list[Record]:
    """The lines of these files and folders. Raises `FileError` for one without lines, and as `read`."""
    found = {path: [record for file in files_in([path]) for record in read(file)] for path in paths}
    for path, records in found.items():
        if not records:
            why = "holds no lines of a leaderboard" if path.exists() else "does not exist"
            raise FileError(f"{path} {why}")
    return [record for records in found.values() for record in records]


def add(file: Path, record: Record, policy: Lookup | None) -> None:
    """Append the policy, and put the line in the place of one of its run; several runs may add at once."""
    read(file)  # it is left alone if it holds anything else
    if policy is not None:
        with (file.parent / POLICIES).open("ab", buffering=0) as archive:
            archive.write(lzma.compress(packed(policy)))

    def with_record(lines: list[Record]) -> list[Record]:
        return sorted([*(other for other in lines if key(other) != key(record)), record], key=key)

    change_lines(file, with_record)


def faults(file: Path) -> Iterator[str]:
    """The errors in the lines of a file, after judging every policy again; nothing if all is well."""
    records, policies = read(file), policies_beside(file)
    if len({key(record) for record in records}) < len(records):
        yield f"{file}: a run is there twice"
    for record in records:
        name = f"{file.name}: {' '.join(map(str, key(record)))}"
        yield from (f"{name}: {fault}" for fault in _faults_of(record, policies))


def _faults_of(record: Record, policies: Mapping[str, Table]) -> Iterator[str]:
    game = ttt_env.get_game(record["game"])
    yield from _breaches(record, game)
    if record["policy"] is None:
        return
    if (arrays := policies.get(record["policy"])) is None:
        yield f"{POLICIES} has no policy of its fingerprint"
        return
    try:
        policy = table_of(game, arrays)
        judged = judge_table(policy)
    except (TttEnvError, ValueError) as error:
        yield f"its policy cannot be judged: {error}"
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
    if record["policy"] is None and protocol.is_always_kept(game):
        yield f"its policy is missing, and none is too large to be kept on {game.name}"


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
