"""`scripts/mutants.py`: its lists match the current code, and it reports mutants that survive the tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
def larger(a, b):
    return a if a > b else b

def smaller(a, b):
    return a if a < b else b
"""
TESTS = """
from ttt_env.toy import larger

def test_larger():
    assert larger(1, 2) == 2
"""
LIST = """
[[mutant]]
before = '''return a if a > b else b'''
after = '''return a if a < b else b'''
tests = ["tests/test_toy.py"]

[[mutant]]
about = "the smaller is the larger"
before = '''if a < b'''
after = '''if a > b'''
tests = ["tests/test_toy.py"]
"""
MUTANT = "[[mutant]]\nbefore = '''{}'''\nafter = '''{}'''\ntests = ['{}']\n"


def run(*arguments):
    command = [sys.executable, str(ROOT / "scripts" / "mutants.py"), *map(str, arguments)]
    plain = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the toy's tests need no plugin
    return subprocess.run(command, env=plain, capture_output=True, text=True, timeout=300)


@pytest.fixture
def toy(tmp_path):
    """A project with one module, one test file and one list of mutants."""
    for name, text in {
        "ttt_env/toy.py": CODE,
        "ttt_env/__init__.py": "",
        "scripts/nothing.py": "",
        "tests/test_toy.py": TESTS,
        "tests/mutants/toys.toml": LIST,
        "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow', 'browser']\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "-A"], check=True)
    return tmp_path


def files_of(folder):
    return {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts
    }


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone, whose tracked files could be listed")
def test_every_mutant_of_project_applies():
    checked = run("--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.count("applies") >= 60


@pytest.mark.slow
def test_unnoticed_mutant_survives(toy):
    before = files_of(toy)
    judged = run("--root", toy, "--jobs", 2)
    assert judged.stdout.splitlines() == [
        "killed    toys: return a if a < b else b",
        "survived  toys: the smaller is the larger",
        "1 of 2",
    ]
    assert judged.returncode == 1
    assert files_of(toy) == before


@pytest.mark.slow
def test_only_selects_mutants(toy):
    judged = run("--root", toy, "--only", "return a if a > b")
    assert (judged.returncode, judged.stdout) == (0, "killed    toys: return a if a < b else b\n1 of 1\n")
    assert run("--root", toy, "--only", "no mutant has this text").returncode == 1


def test_inapplicable_mutants_fail_check(toy):
    cases = [
        ("if a == b", "if a != b", "tests/test_toy.py", "not found"),
        ("return a", "return b", "tests/test_toy.py", "ambiguous"),
        ("", "return b", "tests/test_toy.py", "ambiguous"),
        ("if a > b", "if a >", "tests/test_toy.py", "no Python"),
        ("if a > b", "if a > b", "tests/test_toy.py", "no change"),
        ("if a > b", "if a < b", "tests/test_gone.py", "no test tests/test_gone.py"),
    ]
    text = "\n".join(MUTANT.format(*entry[:3]) for entry in cases)
    (toy / "tests/mutants/toys.toml").write_text(text, encoding="utf-8")
    checked = run("--root", toy, "--check")
    verdicts = [line.partition(" toys: ")[0].rstrip() for line in checked.stdout.splitlines()]
    assert verdicts == [*(verdict for *_, verdict in cases), "0 of 6"]
    assert checked.returncode == 1


@pytest.mark.slow
def test_timed_out_tests_kill_nothing(toy):
    judged = run("--root", toy, "--seconds", 0.001)
    assert judged.returncode == 1 and judged.stdout.endswith("\n0 of 2\n")


@pytest.mark.slow
def test_tests_that_always_fail_kill_nothing(toy):
    (toy / "tests/test_toy.py").write_text(TESTS + "    assert False\n", encoding="utf-8")
    judged = run("--root", toy, "--only", "the smaller")
    assert judged.stdout.startswith("unchanged tests/test_toy.py fails toys: ") and judged.returncode == 1
