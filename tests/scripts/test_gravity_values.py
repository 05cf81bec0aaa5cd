"""The C program that counts positions and computes values of boards with gravity."""

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import reference
from tests.support.marks import slow
from tests.support.naive import twin
from ttt_env import get_game
from ttt_env.analysis.layers import reachable

SCRIPT = Path(__file__).parents[2] / "scripts" / "gravity_values.py"
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "gravity_values"
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run(["cc", *flags, "-o", str(path), str(SCRIPT.with_suffix(".c"))], check=True)
    return path


def run_program(program, task, width, height, depth, k, misere=0, bits=16):
    numbers = map(str, (width, height, depth, k, misere, bits))
    run = subprocess.run([program, task, *numbers], capture_output=True, text=True, check=True)
    return tuple(map(int, run.stdout.split()))


@needs_cc
class TestProgram:
    @pytest.mark.parametrize("misere", [0, 1])
    @pytest.mark.parametrize(
        "name, board",
        [
            ("connect-four-v0:m=3,n=3,k=3", (3, 3, 1, 3)),
            ("connect-four-v0:m=4,n=2,k=2", (4, 2, 1, 2)),
            ("connect-four-v0:m=2,n=4,k=3", (2, 4, 1, 3)),
            ("score-four-v0:k=2,h=2", (2, 2, 2, 2)),
            ("score-four-v0:k=3,h=1", (3, 1, 3, 3)),
        ],
    )
    def test_counts_and_values_equal_naive_ones(self, program, name, board, misere):
        other = twin(get_game(name, misere=bool(misere)))
        value = other.value(other.empty)
        assert run_program(program, "count", *board, misere) == (len(other.boards()), value)
        assert run_program(program, "value", *board, misere)[1] == value

    @pytest.mark.parametrize(
        "name, size, bits",
        [
            ("connect-four-v0:m=4,n=4,k=4", (4, 4), 20),
            slow("connect-four-v0:m=4,n=5,k=4", (4, 5), 22),
            slow("connect-four-v0:m=5,n=4,k=4", (5, 4), 23),
            slow("connect-four-v0:m=5,n=5,k=4", (5, 5), 27),  # two minutes, 2.1 GB
            slow("connect-four-v0:m=6,n=4,k=4", (6, 4), 27),
        ],
    )
    def test_counts_and_values_equal_published_ones(self, program, name, size, bits):
        expected = (reference.CONNECT_FOUR | reference.CONNECT_FOUR_LARGE)[name]
        assert run_program(program, "count", *size, 1, 4, 0, bits) == expected

    @pytest.mark.slow
    def test_score_four_of_height_two_equals_package(self, program):
        n_positions = sum(map(len, reachable(get_game("score-four-v0:k=3,h=2"))))
        assert run_program(program, "count", 3, 2, 3, 3, 0, 23) == (n_positions, 0)

    @pytest.mark.parametrize(
        "arguments, message",
        [
            ("count 4 4", "expected count or value, and WIDTH"),
            ("count 8 8 1 4 0 20", "at most 63 cells"),
            ("count 4 4 1 4 0 10", "the table is full: raise BITS"),
        ],
    )
    def test_bad_arguments_are_errors(self, program, arguments, message):
        run = subprocess.run([program, *arguments.split()], capture_output=True, text=True)
        assert run.returncode == 1 and message in run.stderr


def test_missing_c_compiler_is_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="no C compiler `cc`: install one"):
        runpy.run_path(str(SCRIPT))["compiled"](tmp_path)
