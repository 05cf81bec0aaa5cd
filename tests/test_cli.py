"""The command `ttt`, run as a program."""

import hashlib
import json
import re
import signal
import subprocess
import sys
import time

import pytest

import ttt_env


def ttt(*arguments, cwd=None, answers=""):
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "ttt_env.app", *arguments],
        cwd=cwd,
        input=answers,
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_demo_trains_saves_and_judges(tmp_path):
    run = ttt("demo", "--seconds", "3", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "Scorecard of models/demo.zip" in run.stdout
    assert "against minimax" in run.stdout and "What next" in run.stdout
    agent = ttt_env.make_agent(f"sb3:{tmp_path}/models/demo.zip")
    verdict = "CERTIFIED UNBEATABLE" if ttt_env.certify(agent).unbeatable else "BEATABLE."
    assert f"\n{verdict}" in run.stdout
    env = ttt_env.make("tictactoe-v0", opponent=f"sb3:{tmp_path}/models/demo.zip")
    env.reset(seed=0)


def test_train_shows_exploitability_as_it_falls(tmp_path):
    run = ttt("train", "q-learning", "--steps", "2000", "--out", "q.npz", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    shown = re.findall(r" s  exploitability (\d\.\d{4})", run.stdout)
    assert shown == sorted(shown, reverse=True) and len(set(shown)) == len(shown) > 0
    kept = ttt_env.exploitability(f"q-learning:{tmp_path}/q.npz").exploitability
    assert float(shown[-1]) == pytest.approx(kept, abs=5e-5)
    assert "Scorecard of q.npz" in run.stdout


@pytest.mark.parametrize(("algo", "file"), [("ppo", "sb3:m.zip"), ("value-network", "value-network:m.npz")])
def test_an_interrupt_keeps_the_best_model_and_judges_it(algo, file, tmp_path):
    """The file appears with the first look, so the interrupt falls into the training."""
    out = tmp_path / file.partition(":")[2]
    command = [sys.executable, "-m", "ttt_env.app", "train", algo, "--seconds", "1000", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        deadline = time.monotonic() + 120
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(2)
        run.send_signal(signal.SIGINT)
        told, mistakes = run.communicate(timeout=120)
    assert run.returncode == 0, mistakes
    assert "Interrupted: the best model so far is kept." in told
    shown = re.findall(r" s  exploitability (\d\.\d{4})", told)
    kept = ttt_env.exploitability(f"{file.partition(':')[0]}:{out}").exploitability
    assert float(shown[-1]) == pytest.approx(kept, abs=5e-5)


def test_demo_shows_the_exact_results(tmp_path):
    run = ttt("certify", "random")
    as_x = ttt_env.match("random", "minimax").as_x
    row = next(line for line in run.stdout.splitlines() if line.startswith("against minimax"))
    assert [float(cell) for cell in row.split()[2:5]] == pytest.approx(as_x, abs=5e-5)


def test_certify_draws_a_game_that_refutes():
    run = ttt("certify", "random")
    record = ttt_env.certify("random").refutations["X"]
    assert str(record) in run.stdout
    assert f"{len(record.cells)}. O" in run.stdout


def test_certify_minimax():
    assert "CERTIFIED UNBEATABLE" in ttt("certify", "minimax", "--game", "mnk-v0:m=4,n=3,k=3").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["mnk-v0", "m=4", "n=3", "k=3"], "X wins"),
        (["mnk-v0:m=5,n=5", "k=4"], "A draw"),
        (["tictactoe-v0", "--position", "XX./OO./XO."], "X wins"),
        (["qubic-v0", "--nodes", "2000"], "Unknown: the budget was too small"),
    ],
)
def test_solve(arguments, told):
    run = ttt("solve", *arguments)
    assert run.returncode == 0, run.stderr
    assert told in run.stdout and " nodes, " in run.stdout


def test_solve_saves_a_tablebase(tmp_path):
    run = ttt("solve", "tictactoe-v0", "--save", "new/solved.npz", cwd=tmp_path)
    assert "play from it as lookup:new/solved.npz" in run.stdout
    assert ttt_env.certify(f"lookup:{tmp_path}/new/solved.npz").unbeatable


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["play", "minmax"], "did you mean minimax?"),
        (["play", "minimax", "--game", "tictacto-v0"], "did you mean tictactoe-v0?"),
        (["play", "minimax", "--seat", "Z"], "Allowed: O, X"),
        (["certify", "minimax", "--game", "qubic-v0"], "64 cells"),
        (["certify", "sb3:nowhere.zip"], "nowhere.zip"),
        (["solve", "mnk-v0", "q=3"], "Allowed: k, m, misere, n"),
        (["solve", "tictactoe-v0", "--seconds", "-1"], "numbers above 0"),
        (["train", "--opponent", "lookup:nowhere.npz"], "nowhere.npz"),
        (["train", "maskabel-ppo"], "did you mean maskable-ppo?"),
        (["train", "q-learning", "--resume"], "q-learning has no --resume"),
        (["train", "--resume", "--out", "nowhere.zip"], "nowhere.zip.checkpoint"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, told):
    run = ttt(*arguments)
    assert run.returncode == 2
    assert run.stderr.startswith("ttt: ") and run.stderr.count("\n") == 1
    assert told in run.stderr


def test_agents_lists_what_is_installed():
    run = ttt("agents")
    assert all(name in run.stdout for name in ttt_env.agent_names())


def test_play_to_the_end(tmp_path):
    answers = "4\nnonsense\n4\n0\n1\n2\n3\n5\n6\n7\n8\nn\n" + "q\n" * 5
    run = ttt("play", "minimax", "--seed", "0", answers=answers)
    assert run.returncode == 0, run.stderr
    assert "'nonsense' is no cell" in run.stdout
    assert "is taken; free are" in run.stdout
    assert "You lose." in run.stdout or "A draw." in run.stdout
    assert "Final score: you 0, draws" in run.stdout


class TestModelFiles:
    def test_export_makes_a_table_that_plays_the_same(self, tmp_path):
        run = ttt("export", "win-block", "tables/policy.npz", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert "lookup:tables/policy.npz" in run.stdout
        table = ttt_env.make_agent(f"lookup:{tmp_path}/tables/policy.npz")
        assert ttt_env.exploitability(table).as_x == pytest.approx(ttt_env.exploitability("win-block").as_x)

    def test_certify_takes_the_path_of_a_model_and_saves_beside_it(self, tmp_path):
        ttt("export", "minimax", "policy.npz", cwd=tmp_path)
        run = ttt("certify", "policy.npz", cwd=tmp_path)
        assert "CERTIFIED UNBEATABLE" in run.stdout and "policy.certificate.json" in run.stdout
        found = json.loads((tmp_path / "policy.certificate.json").read_text())
        assert found["unbeatable"] and found["agent"]["file"] == "policy.npz"

    @pytest.mark.parametrize("algo", ["q-learning", "value-network"])
    def test_certify_and_export_take_the_path_of_whatever_was_trained(self, algo, tmp_path):
        ttt("train", algo, "--steps", "1000", "--out", "m.npz", cwd=tmp_path)
        for model in ("m.npz", f"{algo}:m.npz", f"{algo}:path=m.npz"):
            run = ttt("certify", model, cwd=tmp_path)
            assert run.returncode == 0, run.stderr
            found = json.loads((tmp_path / "m.certificate.json").read_text())
            assert found["agent"] == {
                "name": f"{algo}:m.npz" if model == "m.npz" else model,
                "file": "m.npz",
                "sha256": hashlib.sha256((tmp_path / "m.npz").read_bytes()).hexdigest(),
            }
            (tmp_path / "m.certificate.json").unlink()
        assert "lookup:table.npz" in ttt("export", "m.npz", "table.npz", cwd=tmp_path).stdout

    def test_an_agent_without_a_fixed_policy_is_recorded(self, tmp_path):
        told = ttt("certify", "mcts:simulations=2", cwd=tmp_path).stdout
        assert "RECORDED: it was asked once in" in told

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["certify", "nothing.zip"], "nothing.zip is no model: there is no such file"),
            (["certify", "sb3:nothing.zip,deterministic=false"], "nothing.zip is no model"),
            (["certify", "nothing.npz"], "nothing.npz"),
            (["export", "minimax", "/proc/policy.npz"], "/proc/policy.npz"),
        ],
    )
    def test_what_cannot_be_read_or_written_is_told_in_one_line(self, arguments, told, tmp_path):
        run = ttt(*arguments, cwd=tmp_path)
        assert run.returncode == 2
        first, *more = [line for line in run.stderr.splitlines() if not line.startswith("mcts: compiling")]
        assert first.startswith("ttt: ") and told in first and not more
        assert not list(tmp_path.iterdir())
