"""The comparison of AlphaZero's self-play with OpenSpiel's: its measurements, files and table."""

import json
import subprocess
import sys
from dataclasses import replace

import benchmark_selfplay as benchmark
import numpy as np
import pytest
from benchmark_selfplay import Ours, Work
from frameworks.run import Script

import ttt_env
from tests.support.documents import ROOT
from tests.support.games import TICTACTOE
from tests.support.running import script

SCRIPTS = ROOT / "scripts"
PATH = SCRIPTS / "benchmark_selfplay.py"
SETTINGS = replace(
    benchmark.settings_for(TICTACTOE), games=8, simulations=20, random_starts=0.0, blunder_starts=0.0
)


def work_of(contender, n_turns):
    """The total work of a contender for this number of moves in each of its games."""
    works = [contender.play(0.0) for _ in range(n_turns)]
    return sum(works[1:], works[0])


class TestOurs:
    def test_each_simulation_queries_at_most_one_position(self):
        work = work_of(Ours(TICTACTOE, replace(SETTINGS, games=1), anew=True), 20)
        assert 20 < work.asked <= 20 * 20

    def test_anew_forgets_answers(self):
        assert Ours(TICTACTOE, SETTINGS).play(0.0).moves == 8
        cached, anew = (work_of(Ours(TICTACTOE, SETTINGS, anew=anew), 10) for anew in (False, True))
        assert cached.moves == anew.moves and cached.asked < anew.asked

    def test_answers_are_cached_until_next_network(self, monkeypatch):
        often, seldom = Ours(TICTACTOE, SETTINGS), work_of(Ours(TICTACTOE, SETTINGS), 10)
        monkeypatch.setattr(benchmark, "MOVES", 16)
        assert work_of(often, 10).asked > seldom.asked


def test_network_has_size_of_training():
    network = benchmark.untrained(TICTACTOE, SETTINGS.size)
    assert network.size == SETTINGS.size
    priors, values = network.evaluate(ttt_env.Boards.start(TICTACTOE))
    assert priors.sum() == pytest.approx(1) and np.abs(values).max() < 1


def make_line(setup, ours, round=0):
    """A line in which OpenSpiel makes 10 moves in 10 CPU seconds, and our self-play this number."""
    peer = Work(moves=10, asked=300, cpu=10.0)
    works = {"OpenSpiel": peer._asdict(), "ttt_env": peer._replace(moves=ours)._asdict()}
    return {**setup._asdict(), "round": round, "works": works}


def test_table_has_ratio_of_moves_of_all_rounds():
    setup = benchmark.SETUPS[1]
    text = benchmark.table([make_line(setup, 100), make_line(setup, 500, round=1)])
    assert text.startswith("mnk-v0:m=5,n=5,k=4, 50 simulations per move:\n")
    assert "| ttt_env | 30 | 30 | 1 |" in text


def test_only_missing_rounds_are_measured(tmp_path):
    lines = [make_line(setup, 200) for setup in benchmark.SETUPS]
    lines[0]["round"] = 1
    text = "".join(json.dumps(each) + "\n" for each in lines)
    (tmp_path / "a.jsonl").write_text(text, "utf-8")
    arguments = ["--rounds", "1", "--seconds", "0.001", "--out", "a.jsonl"]
    table = script(PATH, *arguments, "--table", cwd=tmp_path)
    assert "simulations, round" not in table.stdout and "| ttt_env | 20 | 20 |" in table.stdout
    run = script(PATH, *arguments, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("simulations, round") == 1
    added = (tmp_path / "a.jsonl").read_text("utf-8").removeprefix(text)
    assert [json.loads(added)[name] for name in ("game", "simulations", "round")] == ["tictactoe-v0", 50, 0]


def test_dependencies_are_pinned():
    dependencies = Script(PATH).metadata["dependencies"]
    assert [each for each in dependencies if "==" not in each] == ["ttt-env"]


@pytest.mark.slow
def test_benchmark_runs_with_openspiel(tmp_path):
    command = [sys.executable, "-m", "uv", "run", "--quiet", str(PATH)]
    arguments = ["--rounds", "1", "--seconds", "0.001", "--out", "a.jsonl"]
    run = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    lines = [json.loads(text) for text in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert [(each["game"], each["simulations"]) for each in lines] == [
        (setup.game, setup.simulations) for setup in benchmark.SETUPS
    ]
    for each in lines:
        theirs, ours = each["weights"]["OpenSpiel"], each["weights"]["ttt_env"]
        assert theirs == pytest.approx(ours, rel=0.05)
        works = {name: Work(**work) for name, work in each["works"].items()}
        assert len(works) == 7
        assert all(0 < work.asked <= each["simulations"] * work.moves for work in works.values())
    assert run.stdout.count("| OpenSpiel |") == len(lines)
