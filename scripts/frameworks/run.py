"""Run the scripts of this folder, each in an environment of its own, and write down what they show.

`python scripts/frameworks/run.py NAME …` runs these scripts, without names all whose environment comes from
PyPI alone, and ends with an error if one fails. With `--record` their results go to results.json and from
there to the table of README.md; `--table` only writes the table anew. An environment is kept in
build/frameworks/NAME and used again as long as what it was made from is the same; `--python` names that of
another one. A script's output is shown as it comes, and `--seconds` limits its time. Needs nothing but
Python.
"""

import argparse
import ast
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(HERE.parent))
from marked import write_table  # noqa: E402

RESULTS = HERE / "results.json"
README = HERE / "README.md"
ENVIRONMENTS = ROOT / "build" / "frameworks"
MARK = "# ttt_env"
COLUMNS = ("framework", "script", "lines", "exploitability", "seconds")
# Of https://packaging.python.org/en/latest/specifications/inline-script-metadata/
METADATA = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
TESTING = ("pytest>=8", "hypothesis>=6.100")  # what tests/conftest.py needs
SECONDS = 600


@dataclass(frozen=True)
class Script:
    """A script of a framework, and what its text says about it."""

    path: Path

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @cached_property
    def source(self) -> str:
        """The text of the file."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def docstring(self) -> str:
        """The docstring of the script, empty if it has none."""
        return ast.get_docstring(ast.parse(self.source)) or ""

    @property
    def marked_lines(self) -> list[str]:
        """The lines that differ from the framework's own example because the environment is ours."""
        return [line for line in self.source.splitlines() if line.endswith(MARK)]

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """The inline metadata (PEP 723). Raises `ValueError` unless there is one block of it."""
        blocks = [block for block in METADATA.finditer(self.source) if block["type"] == "script"]
        if len(blocks) != 1:
            raise ValueError(f"{self.path}: expected one block of inline metadata, not {len(blocks)}")
        lines = blocks[0]["content"].splitlines(keepends=True)
        return tomllib.loads("".join(line[2:] if line.startswith("# ") else line[1:] for line in lines))

    @property
    def requirements(self) -> list[str]:
        """The requirements for pip: the script's dependencies, with this checkout in the place of ttt-env."""
        return [
            re.sub(r"^ttt-env(?![\w-])(\[[^]]*\])?.*", rf"{ROOT}\1", each)
            for each in self.metadata["dependencies"]
        ]

    @property
    def options(self) -> dict[str, Any]:
        """The options of its environment, from the table `tool.frameworks`.

        `no-deps` are packages that pin more than they need: they are installed without their dependencies,
        and with `no-build-isolation` built with the packages in the environment. `downloads` says what their
        build gets from elsewhere than PyPI. `tests` are test files that need the framework, and run after the
        script. A script that has a `teacher` takes part in the leaderboard with its function `train`.
        """
        return dict(self.metadata.get("tool", {}).get("frameworks", {}))


def scripts() -> dict[str, Script]:
    """All scripts of this folder by name: the files that have inline metadata."""
    found = (Script(path) for path in sorted(HERE.glob("*.py")) if path != Path(__file__))
    return {script.name: script for script in found if METADATA.search(script.source)}


def environment(script: Script, folder: Path = ENVIRONMENTS) -> Path:
    """The Python of an environment that has what the script needs; made unless it is there."""
    home = folder / script.name
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    constraints = ROOT / "constraints.txt"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands: list[list[str | Path]] = [[sys.executable, "-m", "venv", "--clear", home]]
    if script.requirements:
        editable = (["-e", each] if each.startswith(str(ROOT)) else [each] for each in script.requirements)
        commands.append([*install, "-c", constraints, *chain.from_iterable(editable)])
    if "tests" in script.options:
        commands.append([*install, *TESTING])
    if packages := script.options.get("no-deps"):
        isolation = ["--no-build-isolation"] if script.options.get("no-build-isolation") else []
        commands.append([*install, "--no-deps", *isolation, *packages])
    made_from = "\n".join(
        [str(commands), *(path.read_text("utf-8") for path in (constraints, ROOT / "pyproject.toml"))]
    )
    stamp = home / "made_from.txt"
    if not stamp.is_file() or stamp.read_text("utf-8") != made_from:
        for command in commands:
            subprocess.run(command, check=True)
        stamp.write_text(made_from, "utf-8")
    return python


def run(script: Script, python: str | Path, seconds: float = SECONDS) -> dict[str, Any]:
    """The result that the script prints, and the seconds that it took; it runs far from this folder.

    Its output is shown as it comes. It and its tests may take `seconds` each.

    Raises `subprocess.SubprocessError` if it or one of its tests fails or takes too long, `ValueError` if it
    prints no result.
    """
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    outcomes = []
    started = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [python, "-u", script.path],
            cwd=folder,
            env=outside,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        ) as process,
    ):
        limit = threading.Timer(seconds, _kill, [process])
        limit.start()
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                if line.startswith('{"versions"'):
                    outcomes.append(line)
            status = process.wait()
        finally:
            limit.cancel()
            _kill(process)
    took = time.perf_counter() - started
    if took >= seconds:
        raise subprocess.TimeoutExpired(script.name, seconds)
    if status:
        raise subprocess.CalledProcessError(status, script.name)
    if not outcomes:
        raise ValueError(f"{script.name} does not end with outcome(…)")
    if tests := script.options.get("tests"):
        command = [python, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-m", "", *tests]
        subprocess.run(command, cwd=ROOT, env=outside, check=True, timeout=seconds)
    return {**json.loads(outcomes[-1]), "seconds": round(took, 1)}


def _kill(process: subprocess.Popen[str]) -> None:
    """End a script and what it has started, which would keep its output open."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def read_results() -> dict[str, dict[str, Any]]:
    """The recorded results by the script's name."""
    results: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text("utf-8"))
    return results


def record(results: Mapping[str, Any]) -> None:
    """Keep these results beside those of the other scripts, and write the table."""
    merged = {**read_results(), **results}
    kept = {name: merged[name] for name in scripts() if name in merged}
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")
    write_table(README, table(kept))


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The results as a table in Markdown, by the scripts' names."""
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    rows += [_row(script, results[name]) for name, script in scripts().items() if name in results]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(script: Script, result: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        ", ".join(f"{package} {version}" for package, version in result["versions"].items()),
        f"[{script.name}]({script.path.name})",
        str(len(script.marked_lines)),
        f"{result['exploitability']:.4f}" if result["exploitability"] else "0",
        f"{result['seconds']:.0f}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; 1 if a script fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="scripts of this folder; all without")
    parser.add_argument("--record", action="store_true", help="write results.json and the table of README.md")
    parser.add_argument("--table", action="store_true", help="run nothing, write the table of README.md")
    parser.add_argument("--python", type=os.path.abspath, help="of an environment that is there already")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="after which a script is ended; %(default)s"
    )
    options = parser.parse_args(arguments)
    known = scripts()
    from_pypi = [name for name, script in known.items() if "downloads" not in script.options]
    names = [Path(name).stem for name in options.names] or from_pypi
    if unknown := sorted(set(names) - set(known)):
        parser.error(f"no script {', '.join(unknown)}; there are {', '.join(known)}")
    if options.table:
        record({})
        return 0
    failed = False
    for name in names:
        print(f"== {name}", flush=True)
        try:
            result = run(known[name], options.python or environment(known[name]), options.seconds)
        except (subprocess.SubprocessError, ValueError) as error:
            failed = True
            print(f"{name} failed: {error}", file=sys.stderr)
            continue
        print(f"== {name}: {result['seconds']} seconds", flush=True)
        if options.record:
            record({name: result})
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
