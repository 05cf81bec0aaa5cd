"""The C program that counts positions and finds values of boards on which stones fall."""

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


def found(program, what, width, height, depth, k, misere=0, bits=16):
    numbers = map(str, (width, height, depth, k, misere, bits))
    run = subprocess.run([program, what, *numbers], capture_output=True, text=True, check=True)
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
    def test_counts_and_values_are_the_naive_ones(self, program, name, board, misere):
        other = twin(get_game(name, misere=bool(misere)))
        due = other.value(other.empty)
        assert found(program, "count", *board, misere) == (len(other.boards()), due)
        assert found(program, "value", *board, misere)[1] == due

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
    def test_counts_and_values_are_the_published_ones(self, program, name, size, bits):
        due = (reference.CONNECT_FOUR | reference.CONNECT_FOUR_LARGE)[name]
        assert found(program, "count", *size, 1, 4, 0, bits) == due

    @pytest.mark.slow
    def test_pegs_of_two_beads_have_the_positions_of_the_package(self, program):
        n_positions = sum(map(len, reachable(get_game("score-four-v0:k=3,h=2"))))
        assert found(program, "count", 3, 2, 3, 3, 0, 23) == (n_positions, 0)

    @pytest.mark.parametrize(
        "arguments, said",
        [
            ("count 4 4", "expected count or value, and WIDTH"),
            ("count 8 8 1 4 0 20", "at most 63 cells"),
            ("count 4 4 1 4 0 10", "the table is full: raise BITS"),
        ],
    )
    def test_what_it_cannot_do_is_an_error(self, program, arguments, said):
        run = subprocess.run([program, *arguments.split()], capture_output=True, text=True)
        assert run.returncode == 1 and said in run.stderr


def test_without_a_c_compiler_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="no C compiler `cc`: install one"):
        runpy.run_path(str(SCRIPT))["compiled"](tmp_path)
