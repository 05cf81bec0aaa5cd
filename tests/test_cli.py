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
from ttt_env.agents.learned import q_learning, value_network


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


def stopped(out, signal_number, *arguments):
    """A training that gets a signal once its model is there, so in the middle of it."""
    command = [sys.executable, "-W", "error", "-m", "ttt_env.app", "train", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=out.parents[1]
    ) as run:
        deadline = time.monotonic() + 120
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        run.send_signal(signal_number)
        told, mistakes = run.communicate(timeout=120)
    assert run.returncode == 128 + signal_number, mistakes
    assert "Interrupted: the best model so far is kept." in told
    return told


@pytest.mark.parametrize(("algo", "agent"), [("ppo", "sb3"), ("value-network", "value-network")])
def test_an_interrupt_keeps_the_best_model_and_judges_it(algo, agent, tmp_path):
    out = tmp_path / "models" / ("m.zip" if agent == "sb3" else "m.npz")
    options = ["--seconds", "1000", "--until", "budget", "--out", "models/" + out.name]
    told = stopped(out, signal.SIGINT, algo, *options)
    shown = re.findall(r" s  exploitability (\d\.\d{4})", told)
    kept = ttt_env.exploitability(f"{agent}:{out}").exploitability
    assert float(shown[-1]) == pytest.approx(kept, abs=5e-5)
    assert f"Scorecard of models/{out.name}" in told


def test_the_hint_of_a_terminated_training_goes_on_with_it(tmp_path):
    out = tmp_path / "models" / "ppo-mnk-v0-m-3-n-2-k-2.zip"
    options = ["--game", "mnk-v0:m=3,n=2,k=2", "--steps", "1000000", "--until", "budget"]
    told = stopped(out, signal.SIGTERM, "ppo", *options)
    assert "Scorecard" not in told
    program, *arguments = re.search("To go on: (.*)", told)[1].split()
    assert program == "ttt" and arguments == ["train", "ppo", *options, "--resume"]
    arguments[arguments.index("1000000")] = "100"  # fewer than there were: it says what there is, and ends
    run = ttt(*arguments, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert f"Scorecard of models/{out.name}" in run.stdout


class TestTrainedFiles:
    def test_names_hold_algorithm_and_game(self, tmp_path):
        for algo in ("q-learning", "a2c"):
            game = ["--game", "mnk-v0:m=3,n=2,k=2"]
            run = ttt("train", algo, "--steps", "10", *game, cwd=tmp_path)
            assert run.returncode == 0, run.stderr
            spec = re.search(r"ttt play (\S+) --game", run.stdout)[1]
            played = ttt("bench", "random", spec, *game, cwd=tmp_path)
            assert played.returncode == 0, played.stderr
        names = {path.name for path in (tmp_path / "models").iterdir()}
        model = "a2c-mnk-v0-m-3-n-2-k-2.zip"
        assert names == {"q-learning-mnk-v0-m-3-n-2-k-2.npz", model, f"{model}.checkpoint"}

    @pytest.mark.parametrize(
        ("trained", "told"),
        [
            (["a2c"], "m.zip holds a2c on tictactoe-v0, and dqn on tictactoe-v0 does not overwrite it"),
            (
                ["dqn", "--game", "mnk-v0:m=3,n=2,k=2"],
                "m.zip holds dqn on mnk-v0:m=3,n=2,k=2, and dqn",
            ),
            (None, "m.zip is no model of `ttt train`, and dqn"),
        ],
    )
    def test_a_model_of_something_else_is_not_overwritten(self, trained, told, tmp_path):
        if trained is None:
            (tmp_path / "m.zip").write_text("my thesis")
        else:
            assert not ttt("train", *trained, "--steps", "10", "--out", "m.zip", cwd=tmp_path).returncode
        before = (tmp_path / "m.zip").read_bytes()
        for more in ([], ["--resume"] if trained else []):
            run = ttt("train", "dqn", "--steps", "10", "--out", "m.zip", *more, cwd=tmp_path)
            assert run.returncode == 2
            assert told in run.stderr and "--out" in run.stderr
            assert (tmp_path / "m.zip").read_bytes() == before

    def test_tables_of_something_else_are_not_overwritten(self, tmp_path):
        path = tmp_path / "m.npz"
        q_learning.train(games=10).save(path)
        run = ttt("train", "value-network", "--steps", "10", "--out", "m.npz", cwd=tmp_path)
        assert "holds q-learning on tictactoe-v0" in run.stderr
        ttt("export", "minimax", "m.npz", cwd=tmp_path)
        run = ttt("train", "q-learning", "--steps", "10", "--out", "m.npz", cwd=tmp_path)
        assert "holds lookup on tictactoe-v0" in run.stderr

    def test_the_same_again_takes_its_place(self, tmp_path):
        for _ in range(2):
            run = ttt("train", "value-network", "--steps", "10", "--hidden", "5", cwd=tmp_path)
            assert run.returncode == 0, run.stderr

    def test_nothing_to_resume(self, tmp_path):
        run = ttt("train", "dqn", "--resume", cwd=tmp_path)
        assert run.returncode == 2 and not list(tmp_path.iterdir())
        assert "there is no checkpoint models/dqn-tictactoe-v0.zip.checkpoint" in run.stderr
        assert "--out" in run.stderr and "Errno" not in run.stderr and not run.stdout


class TestValueNetworkTraining:
    def test_ends_when_it_is_what_it_shall_be(self, tmp_path):
        """X wins this game with any move, so the first look finds it unbeatable, and optimal everywhere."""
        for until, games in (("unbeatable", 6000), ("optimal", 6000), ("budget", 13000)):
            options = ["--steps", "13000", "--until", until, "--game", "mnk-v0:m=2,n=1,k=1"]
            run = ttt("train", "value-network", *options, cwd=tmp_path)
            assert run.returncode == 0, run.stderr
            assert max(re.findall(r"(\d+),000 steps", run.stdout), key=int) == str(games // 1000)

    def test_has_its_options(self, tmp_path):
        looks = ["--view", "xo+turn", "--empty", "0", "--start", "symmetric", "--learning-rate", "0.05"]
        run = ttt("train", "value-network", "--steps", "700", "--hidden", "7,4", *looks, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert "two against itself and four against a random player" in run.stdout
        expected = value_network.train(
            games=700, hidden=[7, 4], view="xo+turn", empty=0, start="symmetric", learning_rate=0.05
        )
        file = tmp_path / "models" / "value-network-tictactoe-v0.npz"
        made = ttt_env.make_agent(f"value-network:{file}")
        pairs = zip(made.network.layers, expected.network.layers, strict=True)
        assert all((one == two).all() for one, two in pairs)

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["q-learning", "--view", "xo", "--learning-rate", "1"], "has no --view, --learning-rate"),
            (["value-network", "--hidden", "18,x"], "hidden='x'"),
            (["value-network", "--view", "x"], "unknown view"),
            (["value-network", "--until", "optimall"], "did you mean optimal?"),
        ],
    )
    def test_mistakes(self, arguments, told, tmp_path):
        run = ttt("train", *arguments, cwd=tmp_path)
        assert run.returncode == 2 and told in run.stderr
        assert not list(tmp_path.rglob("*.npz"))


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

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["certify", "nothing.zip"], "nothing.zip is no model: there is no such file"),
            (["certify", "sb3:nothing.zip,deterministic=false"], "nothing.zip is no model"),
            (["certify", "nothing.npz"], "nothing.npz"),
            (["export", "mcts", "policy.npz"], "seed="),
            (["export", "minimax", "/proc/policy.npz"], "/proc/policy.npz"),
        ],
    )
    def test_what_cannot_be_read_or_written_is_told_in_one_line(self, arguments, told, tmp_path):
        run = ttt(*arguments, cwd=tmp_path)
        assert run.returncode == 2
        first, *more = [line for line in run.stderr.splitlines() if not line.startswith("mcts: compiling")]
        assert first.startswith("ttt: ") and told in first and not more
        assert not list(tmp_path.iterdir())
