"""Runs the tests with the oldest and with the newest versions that pyproject.toml allows.

    python scripts/dependency_ranges.py lowest
    python scripts/dependency_ranges.py newest
    python scripts/dependency_ranges.py newest --python /usr/bin/python3.13 --no-torch

"lowest" has what pyproject.toml names for any extra but `peers` at the lower end of its range; "newest" has
all as new as it is today. Each is an environment of its own in build/ranges. What dependencies need in turn
is as new as they allow in both, as it is for who installs them.

Of PyTorch only the version of constraints.txt is tested: most builds of the others have gigabytes. If this
one has no small build for a Python, `--no-torch` leaves out PyTorch, Stable-Baselines3 and their tests.
"""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "ranges"
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}
OF_TORCH = ["torch", "stable-baselines3", "sb3-contrib"]
TESTS_OF_TORCH = [
    f"tests/{name}.py"
    for name in (
        "scripts/test_frameworks",
        "envs/test_vector_sb3",
    )
]
TESTS = ["-m", "not slow and not browser", "-n", "auto", "--dist", "worksteal"]


def commands(versions: str, python: str, is_with_torch: bool) -> list[list[str]]:
    """The commands that make an environment and test in it: lists of arguments, to be run in this order."""
    environment = FOLDER / versions
    interpreter = str(environment / ("Scripts" if os.name == "nt" else "bin") / "python")
    uv = find_uv_bin()
    install = [uv, "pip", "install", "--quiet", "--python", interpreter, "--constraints", "constraints.txt"]
    for place in os.environ.get("PIP_FIND_LINKS", "").split():
        install += ["--find-links", place]
    resolve = ["--resolution", RESOLUTIONS[versions], "--editable", ".[dev]"]
    tests = [interpreter, "-m", "pytest", *TESTS]
    make = [uv, "venv", "--quiet", "--clear", "--no-python-downloads", "--python", python, str(environment)]
    show = [uv, "pip", "list", "--python", interpreter]
    if is_with_torch:
        # torch first and at its newest: a build for the CPU counts as newer than the one without a name.
        return [make, [*install, "torch"], [*install, *resolve], show, tests]
    excludes = FOLDER / "excludes.txt"
    excludes.write_text("\n".join(OF_TORCH), encoding="utf-8")
    ignored = [f"--ignore={path}" for path in TESTS_OF_TORCH]
    return [
        make,
        [*install, "--excludes", str(excludes), *resolve],
        show,
        [*tests, "--doctest-ignore-import-errors", *ignored],
    ]


def main() -> None:
    """Run the commands, or show them only."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", choices=RESOLUTIONS)
    parser.add_argument("--python", default=sys.executable, help="an interpreter, or its version")
    parser.add_argument("--no-torch", action="store_true", help="leave out PyTorch and what needs it")
    parser.add_argument("--dry-run", action="store_true", help="show the commands without running them")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for command in commands(options.versions, options.python, not options.no_torch):
        print("$", shlex.join(command), flush=True)
        if not options.dry_run and (status := subprocess.run(command, cwd=ROOT).returncode):
            sys.exit(status)


if __name__ == "__main__":
    main()
