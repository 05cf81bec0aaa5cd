"""A benchmark with a protocol: how many steps and seconds an algorithm needs to exploitability 0.

    python scripts/leaderboard.py run --algorithm maskable-ppo dqn --game tictactoe-v0 --seeds 10
    python scripts/leaderboard.py run --algorithm mymodule:train --teacher rules --out mine.jsonl
    python scripts/leaderboard.py verify mine.jsonl
    python scripts/leaderboard.py table --write
    python scripts/leaderboard.py plot

`docs/results/leaderboard.md` is the rule that a submission follows, and shows the results. `run` adds a line
to a file for each seed of each game and skips those that are there, so a run that was killed goes on.
An algorithm is one of this package, by name; a script of `scripts/frameworks` that takes part, by name, which
then runs in an environment of its own; or a function of yours, as `module:function`, found from the folder
that you are in. Without names all algorithms of this package run, on all games.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from contest import page, records
from contest.entries import ENTRIES, TEACHERS, Entry
from contest.protocol import attempt, cpu_seconds_of
from frameworks import run as frameworks
from marked import write_table

import ttt_env
from ttt_env.errors import FileError
from ttt_env.storage import as_file_name

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "contest" / "results"
PAGE = HERE.parent / "docs" / "results" / "leaderboard.md"
FIGURE = HERE / "figures" / "leaderboard.svg"
WARM_UP = "tictactoe-v0", 0, 120.0, 2  # game, seed, seconds of the processor, reports


def participants() -> dict[str, frameworks.Script]:
    """The scripts of the frameworks that take part: those whose metadata name their teacher."""
    return {name: script for name, script in frameworks.scripts().items() if "teacher" in script.options}


def entry_of(algorithm: str, teacher: str | None, packages: Sequence[str]) -> Entry:
    """The algorithm of this name, script or `module:function`. Raises `ValueError` if there is none."""
    if algorithm in ENTRIES:
        return ENTRIES[algorithm]
    if algorithm in participants():
        script = participants()[algorithm]
        sys.path.insert(0, str(script.path.parent))
        train = import_module(script.name).train
        pinned = [each.partition("==")[0] for each in script.metadata["dependencies"] if "==" in each]
        source = f"scripts/frameworks/{script.path.name}:train"
        return Entry(algorithm, source, train, script.options["teacher"], pinned)
    module, _, function = algorithm.partition(":")
    if not function:
        known = ", ".join([*ENTRIES, *participants()])
        raise ValueError(f"no algorithm {algorithm}: known are {known}, or name yours as module:function")
    if teacher is None:
        raise ValueError(f"say what taught {algorithm}: --teacher {', '.join(TEACHERS)}")
    sys.path.insert(0, "")
    return Entry(algorithm, algorithm, getattr(import_module(module), function), teacher, packages)


def run(options: argparse.Namespace) -> int:
    """Run what is missing, seed by seed, and write each line as soon as it is known."""
    for algorithm in options.algorithm or ENTRIES:
        if algorithm in participants() and not options.here:
            if status := _run_elsewhere(algorithm, options):
                return status
            continue
        entry = entry_of(algorithm, options.teacher, options.packages)
        file = options.out or RESULTS / f"{as_file_name(entry.name)}{records.SUFFIX}"
        is_warm = False
        taken = [each for each in options.game if entry.games is None or each in entry.games]
        for game in map(ttt_env.get_game, taken):
            seeds = range(options.seeds if entry.is_seeded else 1)
            known = {records.key(record) for record in records.read(file)}
            for seed in [each for each in seeds if (entry.name, game.name, each) not in known]:
                if not is_warm:
                    attempt(entry.train, ttt_env.get_game(WARM_UP[0]), *WARM_UP[1:])
                    is_warm = True
                limit = options.cpu_seconds or cpu_seconds_of(game)
                made = attempt(entry.train, game, seed, limit)
                record = records.record_of(entry, game, seed, limit, made)
                records.add(file, record, made.policy)
                print(_line(record), flush=True)
    return 0


def _run_elsewhere(algorithm: str, options: argparse.Namespace) -> int:
    """Run a framework's script with the Python of an environment of its own; its exit status."""
    python = options.python or frameworks.environment(participants()[algorithm])
    command = [python, __file__, "run", "--here", "--algorithm", algorithm, "--seeds", str(options.seeds)]
    command += ["--game", *options.game]
    command += ["--cpu-seconds", str(options.cpu_seconds)] if options.cpu_seconds else []
    command += ["--out", options.out.resolve()] if options.out else []
    return subprocess.run(command).returncode


def _line(record: records.Record) -> str:
    """A line of JSON in a few words."""
    return (
        f"{record['algorithm']}, {record['game']}, seed {record['seed']}: {record['ended']} after "
        f"{record['steps']:,} steps, {record['seconds']:.2f} s ({record['cpu_seconds']:.2f} s of a core), "
        f"exploitability {record['exploitability']:.4f}"
    )


def verify(options: argparse.Namespace) -> int:
    """Judge every policy anew, and say which lines are not as they claim."""
    lines = records.read_all(options.files)
    found = [fault for file in records.files_in(options.files) for fault in records.faults(file)]
    n_unseen = sum(line["policy"] is None for line in lines)
    unseen = f"; {n_unseen} without a policy to judge" if n_unseen else ""
    print("\n".join(found) or f"all is as {len(lines)} lines say{unseen}")
    return int(bool(found))


def table(options: argparse.Namespace) -> int:
    """Print the table, or write it into the page."""
    rows = page.table(records.read_all(options.files))
    if options.write:
        write_table(PAGE, rows)
    else:
        print(rows, end="")
    return 0


def plot(options: argparse.Namespace) -> int:
    """Draw the exploitability over the steps."""
    page.plot(records.read_all(options.files), options.out)
    print(f"written: {options.out}")
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="run algorithms, and keep what came out")
    running.add_argument("--algorithm", nargs="+", default=[])
    running.add_argument("--game", nargs="+", default=list(page.GAMES))
    running.add_argument("--seeds", type=int, default=10, help="how many, from 0 on")
    seconds_help = "the limit of a run; by default, and at most for `verify`, that of the game"
    running.add_argument("--cpu-seconds", type=float, help=seconds_help)
    running.add_argument("--out", type=Path, help="file to add to; by default that of the algorithm here")
    running.add_argument("--teacher", choices=TEACHERS, help="what a function of yours learns from")
    running.add_argument("--packages", nargs="+", default=[], help="those whose versions belong to it")
    running.add_argument("--python", help="that of an environment that has what a framework's script needs")
    running.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    running.set_defaults(command=run)
    for name, command, text in (
        ("verify", verify, "certify the policies again"),
        ("table", table, "make the table"),
        ("plot", plot, "make the figure"),
    ):
        reading = commands.add_parser(name, help=text)
        reading.add_argument(
            "files", type=Path, nargs="*", default=[RESULTS], help="files, or folders of them"
        )
        reading.set_defaults(command=command)
        if name == "table":
            reading.add_argument("--write", action="store_true", help="into docs/results/leaderboard.md")
        if name == "plot":
            reading.add_argument("--out", type=Path, default=FIGURE)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked for; the exit status."""
    options = parsed(arguments)
    try:
        status: Any = options.command(options)
    except FileError as error:  # names the file and the line
        print(error, file=sys.stderr)
        return 1
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
