"""Break the code in known small ways, one at a time, and see whether the tests notice.

The lists in `tests/mutants` hold the mutants: `before`, a snippet that occurs exactly once in the tracked
Python files of `ttt_env` and `scripts`; `after`, which takes its place; `tests`, files of which one has to
fail then. The working tree is never changed: each job has a copy of it in `build/mutants`. The exit status is
0 only if all mutants are killed: not where tests take too long, or fail without the mutant.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

PYTEST = [sys.executable, *"-m pytest -x -q -p no:cacheprovider -m".split()]
FAST, SLOW = "not slow and not browser", "slow and not browser"
VERDICTS = {0: "survived", 1: "killed", 2: "killed", None: "too slow"}  # 2: a test file cannot be imported
VERDICTS[5] = VERDICTS[0]  # there are no such tests


class Mutant(NamedTuple):
    """An entry of a list, whose name is `room`."""

    room: str
    tests: list[str]
    before: str = ""
    after: str = ""
    about: str = ""


def tracked(root: Path, *patterns: str) -> list[Path]:
    """The tracked files of the project, or those that patterns name, as paths from its root."""
    command = ["git", "-C", str(root), "ls-files", "-z", *patterns]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return [Path(name) for name in names if name and os.path.lexists(root / name)]


def place_of(mutant: Mutant, root: Path, sources: dict[Path, str]) -> Path | str:
    """The file that the mutant changes, or why it cannot be judged."""
    places = [path for path, text in sources.items() for _ in range(text.count(mutant.before))]
    if len(places) != 1:
        return "ambiguous" if places else "not found"
    if missing := [test for test in mutant.tests or ["named"] if not (root / test).is_file()]:
        return f"no test {missing[0]}"
    try:
        compile(sources[places[0]].replace(mutant.before, mutant.after), places[0], "exec")
    except SyntaxError:
        return "no Python"
    return places[0] if mutant.before != mutant.after else "no change"


def copy_of(root: Path) -> Path:
    """A copy of the tracked files. What numba has kept of an earlier one is for the same path and times."""
    for copy in (root / "build" / "mutants" / str(number) for number in count()):
        with suppress(FileExistsError):  # of another run
            copy.mkdir(parents=True)
            break
    for path in tracked(root):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, copy / path, follow_symlinks=False)
    return copy


def verdict_of(mutant: Mutant, path: Path, copy: Path, seconds: float) -> str:
    """The verdict of the tests on a mutant, which is in the copy meanwhile; slow ones run if it survives."""
    # numba's cache keeps a few versions of the kernels: edited ones have their own, and push no other out.
    is_compiled = path.parent.name == "compiled" or path.name.endswith("_kernel.py")
    cache = copy.parent / ("edited" if mutant.before and is_compiled else "compiled")
    # Bytecode would be taken for that of the file's next mutant, if that is made in the same second.
    own = {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    options = {"cwd": copy, "env": os.environ | own, "start_new_session": True}
    text, times = (copy / path).read_text("utf-8"), (copy / path).stat()
    (copy / path).write_text(text.replace(mutant.before, mutant.after), "utf-8")
    for marks in (FAST, SLOW) if mutant.before else (FAST,):
        command = [*PYTEST, marks, *mutant.tests]
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=-2, **options)
        with suppress(subprocess.TimeoutExpired):
            run.wait(seconds)
        verdict = VERDICTS.get(run.returncode, f"exit status {run.returncode}")
        with suppress(ProcessLookupError):  # the tests, and what they have started
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        if verdict != "survived":
            break
    (copy / path).write_text(text, "utf-8")
    os.utime(copy / path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return verdict


def main() -> int:
    """Judge the mutants, and print a line for each; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent, help="of the project")
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants that have this text in them")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are judged at a time")
    parser.add_argument("--seconds", type=float, default=600.0, help="that the tests of one may take")
    parser.add_argument("--check", action="store_true", help="only say which of them can be judged")
    options = parser.parse_args()
    root, mutants, copies = options.root.resolve(), list[Mutant](), SimpleQueue[Path]()
    for path in sorted((root / "tests" / "mutants").glob("*.toml")):
        mutants += [Mutant(path.stem, **entry) for entry in tomllib.loads(path.read_text("utf-8"))["mutant"]]
    mutants = [m for m in mutants if options.only in "\n".join([m.room, *m.tests, *m[2:]])]
    sources = {at: (root / at).read_text("utf-8") for at in tracked(root, "ttt_env/*.py", "scripts/*.py")}
    tests = [] if options.check else sorted({test for mutant in mutants for test in mutant.tests})

    def judge(mutant: Mutant) -> str:
        place = place_of(mutant, root, sources) if mutant.room else next(iter(sources))
        if isinstance(place, str) or options.check:
            return place if isinstance(place, str) else "applies"
        copy = copies.get()
        try:
            return verdict_of(mutant, place, copy, options.seconds)
        finally:
            copies.put(copy)

    n_good = 0
    try:
        for _ in range(options.jobs if tests else 0):
            copies.put(copy_of(root))
        with ThreadPoolExecutor(options.jobs) as pool:
            unchanged = pool.map(judge, [Mutant("", [test]) for test in tests])
            found = pool.map(judge, mutants)
            bad = {test for test, verdict in zip(tests, unchanged, strict=True) if verdict != "survived"}
            for mutant, verdict in zip(mutants, found, strict=True):
                said = f"unchanged {' '.join(bad)} fails" if bad & set(mutant.tests) else verdict
                about = mutant.about or " ".join(mutant.after.split())[:80]
                print(f"{said:9} {mutant.room}: {about}", flush=True)
                n_good += said in ("killed", "applies")
    finally:
        while not copies.empty():
            shutil.rmtree(copies.get())
    print(f"{n_good} of {len(mutants)}")
    return int(n_good < len(mutants) or not mutants)


if __name__ == "__main__":
    sys.exit(main())
