"""Every block of the README runs."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
TTT = [sys.executable, "-W", "error", "-m", "ttt_env.app"]


def blocks(language):
    return [pytest.param(text, id=text.split("\n")[0]) for kind, text in BLOCKS if kind == language]


def test_every_block_is_of_a_kind_that_runs():
    assert {kind for kind, _ in BLOCKS} == {"python", "pycon", "sh", "text"}


@pytest.mark.parametrize("text", blocks("python"))
def test_python(text, tmp_path, monkeypatch):
    pytest.importorskip("sb3_contrib")
    monkeypatch.chdir(tmp_path)
    exec(compile(text, "README.md", "exec"), {})


def test_sessions():
    namespace = {}
    for kind, text in BLOCKS:
        if kind == "pycon":
            test = doctest.DocTestParser().get_doctest(text, namespace, "README.md", None, 0)
            result = doctest.DocTestRunner().run(test, clear_globs=False)
            namespace.update(test.globs)
            assert result.attempted and not result.failed


@pytest.mark.parametrize("text", blocks("sh"))
def test_commands(text, tmp_path):
    for line in text.splitlines():
        program, *arguments = line.partition("#")[0].split()
        if program == "make":
            assert shutil.which("make")
            run = subprocess.run(["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True)
        else:
            assert program == "ttt"
            run = subprocess.run(
                [*TTT, *arguments], cwd=tmp_path, input="q\n", capture_output=True, text=True, timeout=120
            )
        assert run.returncode == 0, run.stderr


def test_pictures_are_there():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    assert [path for path in pictures if not (ROOT / path).is_file()] == []
