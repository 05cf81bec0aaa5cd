"""Documents with executable blocks: the README and the pages of `docs`."""

import doctest
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.running import Run, script, ttt

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w*|\{[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """The text between two fences, and its kind, such as `python`."""

    kind: str
    text: str

    @property
    def id(self) -> str:
        """The first line of the block."""
        return self.text.split("\n")[0]


def blocks_of(path: Path) -> list[Block]:
    """The blocks of a document, from top to bottom, without directives for Sphinx."""
    found = [Block(*each) for each in _BLOCK.findall(path.read_text("utf-8"))]
    return [block for block in found if not block.kind.startswith("{")]


def spans_of(path: Path) -> list[str]:
    """The code in the running text of a document, each once; a role of Sphinx counts by its target."""
    text = re.sub(r"<!--.*?-->", "", _BLOCK.sub("", path.read_text("utf-8")), flags=re.DOTALL)
    spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    return list(dict.fromkeys(re.sub(r".* <(.*)>", r"\1", span) for span in spans))


def run_session(text: str, namespace: dict[str, Any], name: str) -> None:
    """Run a `pycon` block in a namespace, which keeps its definitions, and compare its output."""
    test = doctest.DocTestParser().get_doctest(text, namespace, name, None, 0)
    result = doctest.DocTestRunner().run(test, clear_globs=False)
    namespace.update(test.globs)
    assert result.attempted and not result.failed


def run_commands(text: str, folder: Path) -> list[tuple[str, str]]:
    """Run an `sh` block in a folder: each line and its output. Of `make` only a dry run is executed."""
    printed = []
    for line in text.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        if program == "make":
            assert shutil.which("make")
            made = subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True)
            run = Run(made.returncode, made.stdout, made.stderr)
        elif program == "python":  # a script of the repository
            run = script(ROOT / arguments[0], *arguments[1:], cwd=folder)
        else:
            assert program == "ttt"
            run = ttt(*arguments, cwd=folder, answers="q\n")
        is_verdict = program == "ttt" and arguments[0] == "certify"
        is_beatable = is_verdict and (": BEATABLE" in run.stdout or '"unbeatable": false' in run.stdout)
        assert run.returncode == int(is_beatable), run.stderr
        printed.append((line, run.stdout))
    return printed
