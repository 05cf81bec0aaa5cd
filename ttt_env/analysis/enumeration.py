"""Games whose values fill files: all positions counted and valued ply by ply, by many workers.

This is the sweep of `induction` with `best` on both seats, where every value is −1, 0 or 1, and it fills the
slots of the same `Grid` with the same values as `solve`. What makes larger games possible is what it leaves
out: one byte for a slot, only two plies in use at a time, and no list of the positions, because whether a
game reaches a slot can be told from its stones (`analysis.enumeration_kernel`).

A ply is cut into chunks of whole rows, whose values depend on the next ply alone. So chunks are computed in
any order, by processes of this machine or of a Ray cluster, and each is a file as soon as it is known: a
process or machine that dies loses its chunk, and a call with the same folder goes on where another ended.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from itertools import pairwise
from math import comb, prod
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.grid import Grid
from ttt_env.analysis.saved import Saved
from ttt_env.compiled.sets import winning_sets
from ttt_env.errors import ResultFileError
from ttt_env.render.words import RESULTS
from ttt_env.rules import Game, as_integer, as_path, get_game
from ttt_env.rules.sizes import check_filed
from ttt_env.storage import (
    MOST,
    Fields,
    game_from_dict,
    game_to_dict,
    opened,
    parse_json,
    reason,
    write_atomically,
)
from ttt_env.storage.files import check_regular
from ttt_env.workers import Backend, Progress, Workers

CHUNK = 1 << 22  # placements: half a second of work, and little enough to be sent about

Bytes = NDArray[np.int8]
Tally = NDArray[np.int64]
Rows = tuple[int, int, int]  # of a ply: the ply, the first row, the one after the last


@dataclass(frozen=True)
class WorkerShare:
    """The work of one process: chunks and their placements, the time that they took, peak memory in bytes.

    `seconds` is wall-clock time, `cpu_seconds` the CPU time of the process. The memory is the largest
    resident set of the process so far, including what it shares with others; 0 where the system does not
    report it.
    """

    worker: str
    chunks: int
    placements: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int

    def __add__(self, other: "WorkerShare") -> "WorkerShare":
        return WorkerShare(
            self.worker,
            self.chunks + other.chunks,
            self.placements + other.placements,
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_bytes, other.peak_bytes),
        )

    @classmethod
    def read(cls, entries: Fields) -> Self:
        """The share of a file."""
        return cls(
            entries.text("worker"),
            entries.integer("chunks", 1),
            entries.integer("placements", 1),
            entries.number("seconds", 0, MOST),
            entries.number("cpu_seconds", 0, MOST),
            entries.integer("peak_bytes"),
        )


@dataclass(frozen=True)
class CountedPly:
    """The number of reachable positions of one ply.

    `won`, `drawn` and `lost` count the unfinished ones, by their value for the player to move; `ended` those
    with a complete winning set, `full` full boards without one. `placements` are all ways to place as many
    stones, reached or not. `workers` has the work of each process.
    """

    ply: int
    placements: int
    won: int
    drawn: int
    lost: int
    ended: int
    full: int
    workers: tuple[WorkerShare, ...]

    @property
    def positions(self) -> int:
        """All positions of this ply that games reach, over or not."""
        return self.won + self.drawn + self.lost + self.ended + self.full


@dataclass(frozen=True)
class Enumeration(Saved):
    """The number of positions of a game by value, ply by ply from the empty board.

    The values themselves are in the folder that the enumeration wrote: `Solution.load(folder, game)`.

    >>> import tempfile
    >>> import ttt_env
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     enumeration = ttt_env.enumerate_positions("mnk-v0:m=3,n=2,k=2", folder)
    >>> [ply.positions for ply in enumeration.plies]
    [1, 6, 30, 60, 24, 8, 0]
    """

    FORMAT = "ttt_env enumeration 1"
    _MAY_BE_UNFINISHED: ClassVar[bool] = False

    game: Game
    plies: tuple[CountedPly, ...]

    @property
    def value(self) -> int:
        """The value of the empty board for X: 1 won, 0 drawn, −1 lost."""
        return self.plies[0].won - self.plies[0].lost

    @property
    def positions(self) -> int:
        """All positions that games reach, over or not."""
        return sum(ply.positions for ply in self.plies)

    @property
    def workers(self) -> tuple[WorkerShare, ...]:
        """The work of each process, in the order of their names."""
        return _by_worker(share for ply in self.plies for share in ply.workers)

    def __str__(self) -> str:
        columns = ("won", "drawn", "lost", "ended", "full")
        lines = [
            f"{self.game.name}: {self.positions:,} positions. On the empty board X {RESULTS[self.value]}.",
            "ply     placements      positions" + "".join(f"{name:>14}" for name in columns),
        ]
        for ply in self.plies:
            counts = "".join(f"{getattr(ply, name):14,}" for name in columns)
            lines.append(f"{ply.ply:3}{ply.placements:15,}{ply.positions:15,}{counts}")
        lines += [
            f"{share.worker}: {share.chunks} chunks of {share.placements:,} placements in "
            f"{share.seconds:.1f} s ({share.cpu_seconds:.1f} s of a core), "
            f"at most {share.peak_bytes / 2**20:,.0f} MiB"
            for share in self.workers
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "format": self.FORMAT,
            "game": game_to_dict(self.game),
            "plies": [{**asdict(ply), "positions": ply.positions} for ply in self.plies],
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        entries = Fields(data)
        game = entries.read("game", game_from_dict)
        plies = tuple(_read_ply(each, game) for each in entries.parts("plies"))
        missing = game.n_cells + 1 - len(plies)
        if [ply.ply for ply in plies] != list(range(missing, game.n_cells + 1)):
            raise entries.error("plies", "each up to the full board is to be there once, in their order")
        if missing and not cls._MAY_BE_UNFINISHED:
            raise entries.error("plies", f"the first {missing} are missing: the enumeration is unfinished")
        for ply, after in pairwise(plies):
            if not _can_follow(after, ply, game):
                raise entries.error("plies", f"the counts of {ply.ply} and {after.ply} contradict each other")
        return cls(game, plies)


class PartialEnumeration(Enumeration):
    """The counts in the folder of an enumeration, which may not have come to its first plies yet."""

    _MAY_BE_UNFINISHED = True


def _read_ply(entries: Fields, game: Game) -> CountedPly:
    number = entries.integer("ply", 0, game.n_cells)
    placements = prod(_sizes(game, number))
    names = ("won", "drawn", "lost", "ended", "full")
    won, drawn, lost, ended, full = (entries.integer(name, 0, placements) for name in names)
    workers = tuple(map(WorkerShare.read, entries.parts("workers")))
    ply = CountedPly(number, placements, won, drawn, lost, ended, full, workers)
    entries.agrees("placements", placements)
    entries.agrees("positions", ply.positions)
    if not (1 if number == 0 else 0) <= ply.positions <= placements:
        raise entries.error("positions", f"{ply.positions:,}, of {placements:,} placements")
    first_end = 2 * min(map(len, game.winning_sets)) - 1
    unfinished = ply.positions - ended - full
    if ended and number < first_end:
        raise entries.error("ended", f"{ended:,}, but no game is over before {first_end} moves")
    if (unfinished and number == game.n_cells) or (full and number < game.n_cells):
        raise entries.error(
            "full", f"{full:,}, but boards are full after {game.n_cells} moves, and only then"
        )
    if sum(share.placements for share in ply.workers) != placements:
        raise entries.error("workers", f"they have not done the {placements:,} placements of this ply")
    return ply


def _can_follow(after: CountedPly, ply: CountedPly, game: Game) -> bool:
    """True if the rules allow these counts of two plies in a row.

    A move to each free cell leads out of every unfinished position. Into a position lead at least one and
    at most as many moves as its last player has stones.
    """
    free, stones = game.n_cells - ply.ply, ply.ply // 2 + 1
    won, lost = _with_ended(after.won, after.lost, after.ended, game)
    drawn, unfinished = after.drawn + after.full, ply.won + ply.drawn + ply.lost
    return (
        after.positions <= free * unfinished <= stones * after.positions
        and ply.won <= stones * lost <= stones * free * ply.won
        and ply.drawn <= stones * drawn <= stones * free * (ply.won + ply.drawn)
        and free * ply.lost <= stones * won
    )


def _with_ended(won: int, lost: int, ended: int, game: Game) -> tuple[int, int]:
    """The positions that are won and lost for the player to move, those that are over among them."""
    return (won + ended, lost) if game.misere else (won, lost + ended)


def _by_worker(shares: Iterable[WorkerShare]) -> tuple[WorkerShare, ...]:
    sums: dict[str, WorkerShare] = {}
    for share in shares:
        sums[share.worker] = sums[share.worker] + share if share.worker in sums else share
    return tuple(sums[name] for name in sorted(sums))


def enumerate_positions(
    game: Game | str,
    folder: str | Path,
    *,
    workers: int | None = None,
    backend: Backend = "loky",
    address: str | None = None,
    chunk: int = CHUNK,
    progress: Progress | None = None,
) -> Enumeration:
    """Count the positions of a game of up to 21 cells, and write the values of all of them to `folder`.

    `Solution.load(folder, game)` gives the values. The folder is made if it is missing, and takes a byte for
    each placement of stones (0.74 GB for 20 cells), and while a ply is computed the size of this ply again.
    A call with the folder of an unfinished enumeration continues it; only one call at a time may do so.

    The work is shared out as in `tournament`, to `workers` processes of this machine or, with
    `backend="ray"`, of the Ray cluster at `address`, where all machines have to see the folder under the
    same path. `chunk` is about the number of placements of a task. `progress` is called with the numbers of
    tasks that have been done and of all.

    Raises `GameTooLargeError` for a game of more than 21 cells, `ResultFileError` if the folder holds
    another game, a damaged file, or not what a worker has written there, `OSError` if it cannot be written.

    >>> import tempfile
    >>> import ttt_env
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = ttt_env.enumerate_positions("tictactoe-v0", folder)
    ...     solution = ttt_env.Solution.load(folder, "tictactoe-v0")
    >>> found.positions, found.value
    (5478, 0)
    >>> solution.best_cells(ttt_env.Position.parse("X../.../..."))
    [4]
    """
    game = get_game(game)
    check_filed(game)
    chunk = as_integer("chunk", chunk, "an enumeration", 1)
    pool = Workers(workers, backend, address)
    files = _Files(as_path("folder", folder, "an enumeration").absolute(), game)
    plies = files.read_counts()
    tasks: list[list[Rows]] = []  # by ply
    for ply in range(game.n_cells + 1):
        n_rows, n_patterns = _sizes(game, ply)
        step = max(1, chunk // n_patterns)
        tasks.append([(ply, first, min(first + step, n_rows)) for first in range(0, n_rows, step)])
    if len(plies) < len(tasks):
        files.write_counts(plies)  # so that another game's chunks are never taken for this one's
        with pool:
            for ply in reversed(range(len(tasks))):
                if ply not in plies:
                    missing = [task for task in tasks[ply] if not files.chunk(*task).exists()]
                    before = sum(len(tasks[done]) for done in plies) + len(tasks[ply]) - len(missing)
                    told = progress and partial(_tell, progress, before, sum(map(len, tasks)))
                    pool.run(
                        partial(_compute, files),
                        missing,
                        named=lambda ply, first, end: f"rows {first:,} to {end - 1:,} of ply {ply}",
                        progress=told,
                    )
                    plies[ply] = files.join(ply, tasks[ply])
                    files.write_counts(plies)
                files.remove_chunks(ply)
    return Enumeration(game, tuple(plies[ply] for ply in range(game.n_cells + 1)))


def load_layers(folder: str | Path, game: Game) -> list[Bytes]:
    """The values of all slots, ply by ply, as arrays that are read from the files when they are used.

    Each file is read through once before, to check it.

    Raises `GameTooLargeError` for a game of more than 21 cells, `ResultFileError` unless the folder holds a
    whole enumeration of this game, the values in which agree with its counts.
    """
    check_filed(game)
    files = _Files(Path(folder).absolute(), game)
    plies = range(game.n_cells + 1)
    if len(files.read_counts()) < len(plies):
        raise ResultFileError(f"{folder} holds no whole enumeration of {game.name}")
    return [files.layer(ply) for ply in plies]


def _sizes(game: Game, ply: int) -> tuple[int, int]:
    """The numbers of rows and of patterns in the grid of a ply."""
    return comb(game.n_cells, ply), comb(ply, ply // 2)


def _tell(progress: Progress, before: int, total: int, n_done: int, _: int) -> None:
    progress(before + n_done, total)


class _Files:
    """The files of an enumeration.

    `ply-NN.npy` has the values of a ply, `ply-NN.rows-FIRST-END.npz` those of a chunk until its ply is whole,
    `enumeration.json` the counts of the plies that are whole.
    """

    def __init__(self, folder: Path, game: Game) -> None:
        self.folder, self.game = folder, game
        self._counts = folder / "enumeration.json"

    def chunk(self, ply: int, first: int, end: int) -> Path:
        """The path of a chunk."""
        return self.folder / f"ply-{ply:02}.rows-{first}-{end}.npz"

    def _layer(self, ply: int) -> Path:
        return self.folder / f"ply-{ply:02}.npy"

    def read_counts(self) -> dict[int, CountedPly]:
        """The counts of the plies that are whole.

        Raises `ResultFileError` if they are of another game, or if their values are not there or others.
        """
        if not self._counts.exists():
            return {}
        counted = PartialEnumeration.load(self._counts)
        if counted.game != self.game:
            raise ResultFileError(
                f"{self.folder} holds an enumeration of {counted.game.name}, not of {self.game.name}"
            )
        for ply in counted.plies:
            if not self._agree(self.layer(ply.ply), ply.won, ply.lost, ply.ended):
                raise ResultFileError(f"{self._layer(ply.ply)} has other values than {self._counts} counts")
        return {ply.ply: ply for ply in counted.plies}

    def _agree(self, values: Bytes, won: int, lost: int, ended: int) -> bool:
        """True if as many slots have each value as were counted; all others, reached or not, have 0."""
        won, lost = _with_ended(won, lost, ended, self.game)
        blocks = [values[at : at + CHUNK] for at in range(0, len(values), CHUNK)]
        found = [[np.count_nonzero(block == value) for value in (1, 0, -1)] for block in blocks]
        return bool(np.array_equal(np.sum(found, axis=0), [won, len(values) - won - lost, lost]))

    def write_counts(self, plies: Mapping[int, CountedPly]) -> None:
        """Write the counts of the plies that are whole."""
        Enumeration(self.game, tuple(plies[ply] for ply in sorted(plies))).save(self._counts)

    def layer(self, ply: int) -> Bytes:
        """The values of a ply, `int8[slots]`, read when they are used. Raises `ResultFileError` without."""
        path, n_slots = self._layer(ply), prod(_sizes(self.game, ply))
        try:
            check_regular(path)  # a pipe might never end
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise ResultFileError(f"{path} cannot be read: {reason(error)}") from error
        if not isinstance(values, np.ndarray) or values.dtype != np.int8 or values.shape != (n_slots,):
            raise ResultFileError(f"{path} does not hold the {n_slots:,} values of a ply of {self.game.name}")
        return values

    def join(self, ply: int, tasks: list[Rows]) -> CountedPly:
        """The counts of a ply all of whose chunks are there; its values become one file.

        Raises `ResultFileError` if a chunk cannot be read.
        """
        n_slots = prod(_sizes(self.game, ply))
        tallies: list[Tally] = []
        shares: list[WorkerShare] = []

        def write(file: BinaryIO) -> None:
            header = {"descr": "|i1", "fortran_order": False, "shape": (n_slots,)}
            np.lib.format.write_array_header_1_0(file, header)
            for task in tasks:
                values, tally, share = self._read_chunk(*task)
                file.write(values.tobytes())
                tallies.append(tally)
                shares.append(share)

        write_atomically(self._layer(ply), write)
        won, drawn, lost, ended, full = np.sum(tallies, axis=0).tolist()
        return CountedPly(ply, n_slots, won, drawn, lost, ended, full, _by_worker(shares))

    def write_chunk(self, rows: Rows, values: Bytes, tally: Tally, share: WorkerShare) -> None:
        """Write what a worker has computed."""
        text = np.array(json.dumps(asdict(share)))
        write_atomically(
            self.chunk(*rows), lambda file: np.savez(file, values=values, tally=tally, share=text)
        )

    def _read_chunk(self, ply: int, first: int, end: int) -> tuple[Bytes, Tally, WorkerShare]:
        path, n_slots = self.chunk(ply, first, end), (end - first) * _sizes(self.game, ply)[1]
        try:
            with opened(path) as file, np.load(file, allow_pickle=False) as parts:
                values, tally, text = parts["values"], parts["tally"], str(parts["share"])
            share = WorkerShare.read(Fields(parse_json(text)))
            is_typed = values.dtype == np.int8 and tally.dtype == np.int64
            is_shaped = values.shape == (n_slots,) and tally.shape == (5,) and share.placements == n_slots
            won, _, lost, ended, _ = tally.tolist()
            if not (is_typed and is_shaped and tally.min() >= 0 and self._agree(values, won, lost, ended)):
                raise ResultFileError("its values and its counts are not those of a chunk")
            return values, tally, share
        except FileNotFoundError:
            raise ResultFileError(
                f"{path} is not there, though a worker has written it: all machines need the same folder"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
            raise ResultFileError(f"{path} cannot be read: {reason(error)}; remove it to go on") from error

    def remove_chunks(self, ply: int) -> None:
        """Remove the files of a ply's chunks, which are parts of its own file by now."""
        for path in self.folder.glob(f"ply-{ply:02}.rows-*.npz"):
            path.unlink(missing_ok=True)


def _compute(files: _Files, ply: int, first: int, end: int) -> None:
    """Compute the values of these rows of a ply, and write them with what it took."""
    from ttt_env.analysis.enumeration_kernel import N_TALLIES, fill

    _prepare()
    begun, cpu_begun = time.perf_counter(), time.process_time()
    n_cells, sets = files.game.n_cells, winning_sets(files.game)
    after = files.layer(ply + 1) if ply < n_cells else np.empty(0, np.int8)
    grid, rows = _grid(n_cells, ply), slice(first, end)
    next_row, below = (np.ascontiguousarray(table[:, rows]) for table in (grid.next_row, grid.below))
    values, tally = np.empty((end - first) * grid.n_patterns, np.int8), np.zeros(N_TALLIES, np.int64)
    occupied = grid.occupied[rows]
    fill(values, tally, _read_only(after), occupied, grid.patterns, next_row, below, grid.next_pattern, sets)
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu_begun
    worker = f"{platform.node()}:{os.getpid()}"
    share = WorkerShare(worker, 1, len(values), seconds, cpu_seconds, _peak_bytes())
    files.write_chunk((ply, first, end), values, tally, share)


def _read_only(values: Bytes) -> Bytes:
    """The values as an array that cannot be written, which is what the code is compiled for."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


@cache
def _prepare() -> None:
    """Compile what a worker calls, or load it from disk, before its clock starts."""
    from ttt_env.analysis.enumeration_kernel import N_TALLIES, fill
    from ttt_env.compiled.compiler import ready

    game = Game("one cell", (1,), [(0,)])
    grid = Grid(1, 1)
    arrays = grid.occupied, grid.patterns, grid.next_row, grid.below, grid.next_pattern
    values, tally, after = np.empty(1, np.int8), np.zeros(N_TALLIES, np.int64), np.empty(0, np.int8)
    ready("the enumeration", lambda: fill(values, tally, _read_only(after), *arrays, winning_sets(game)))


@lru_cache(maxsize=1)
def _grid(n_cells: int, ply: int) -> Grid:
    """The grid of the ply being computed; `grid` would keep the grids of all plies of a large game."""
    return Grid(n_cells, ply)


def _peak_bytes() -> int:
    """The largest resident set of this process so far, in bytes; 0 where the system does not tell it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    kib = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kib
