"""Training by recipe: budgets, files, and resuming after the process was killed."""

import hashlib
import importlib
import os
import pickle
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ttt_env
from tests.support.games import ANY_MOVE_WINS, TICTACTOE, open_boards
from ttt_env.agent import learner_class
from ttt_env.errors import FileError

pytest.importorskip("sb3_contrib")

import torch

from ttt_env.agents.learned.lookup import Lookup
from ttt_env.agents.learned.sb3 import SB3
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.training.evaluation import evaluate
from ttt_env.training.loop import TrainingOptions, checkpoint_of, train

SMALL = ttt_env.get_game("mnk-v0:m=3,n=2,k=2")


def checkpoint(content):
    """An intact checkpoint with any content."""
    return b"ttt_env checkpoint 4\n" + hashlib.sha256(content).digest() + content


def load_training(out, algo="maskable-ppo", game=TICTACTOE):
    """The training in the checkpoint of a model's file."""
    return TrainingOptions(game, algo).begin(checkpoint=checkpoint_of(out))


def same_weights(one, two):
    pairs = zip(one.network.parameters(), two.network.parameters(), strict=True)
    return all(torch.equal(first, second) for first, second in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("algo", ["dqn", "maskable-ppo", "ppo", "qr-dqn"])
def test_trained_agent_is_unbeatable(algo):
    """Deep Q-learning takes some seconds to be unbeatable on both seats."""
    reports = []
    agent = train(algo=algo, seconds=120.0 if algo == "dqn" else 300.0, report=reports.append)
    assert reports[-1].certificate.unbeatable
    assert ttt_env.certify(agent).unbeatable


def test_missing_torch_names_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for algo in ("alphazero", "dqn"):
        with pytest.raises(ImportError, match=r'needs? the extra "train"'):
            train(algo=algo, steps=1)
    monkeypatch.delitem(sys.modules, "ttt_env.alphazero.torch_network", raising=False)
    with pytest.raises(ImportError, match='a residual network needs the extra "train"'):
        importlib.import_module("ttt_env.alphazero.torch_network")


def test_training_on_other_game(tmp_path):
    reports = []
    train(SMALL, steps=4500, out=tmp_path / "model.zip", report=reports.append)
    saved = ttt_env.certify(ttt_env.make_agent(f"sb3:{tmp_path}/model.zip", SMALL), SMALL)
    assert (
        saved.worst_case == min(reports, key=lambda evaluation: evaluation.criterion).certificate.worst_case
    )


def test_best_model_is_returned_instead_of_last(tmp_path):
    """On a board that X wins with any move, no model is better than the untrained one."""
    options = {"algo": "a2c", "opponents": ["random"], "until": "budget"}
    first = train(ANY_MOVE_WINS, steps=1, **options)
    model = train(ANY_MOVE_WINS, steps=1000, out=tmp_path / "m.zip", **options)
    last = load_training(tmp_path / "m.zip", "a2c", ANY_MOVE_WINS).learner.model
    assert same_weights(model, first) and not same_weights(SB3.from_model(ANY_MOVE_WINS, last), first)


@pytest.mark.slow
def test_equal_seeds_give_equal_models():
    one, two, other = (train(steps=9000, seed=seed, until="budget") for seed in (1, 1, 2))
    assert same_weights(one, two) and not same_weights(one, other)


@pytest.mark.slow
def test_custom_opponents_are_saved(tmp_path):
    """The checkpoint holds functions, too."""
    opponents = ["weights", lambda position: position.legal_cells[-1]]
    train(SMALL, "a2c", opponents=opponents, steps=10, out=tmp_path / "m.zip")
    first, last = load_training(tmp_path / "m.zip", "a2c", SMALL).learner.pool.specs
    assert first == "weights" and last(TICTACTOE.start) == 8


def test_opponents_with_equal_names_all_take_part():
    """Two of them have the same class."""
    lookups = [Lookup.of(spec, SMALL) for spec in ("minimax", "random")]
    opponents, reports = [*lookups, "random", "random"], []
    agent = train(SMALL, "dqn", opponents=opponents, steps=8, until="budget", report=reports.append)
    assert list(reports[-1].results) == ["Lookup", "Lookup (2)", "random", "random (2)"]
    assert list(reports[-1].results.values()) == [ttt_env.match(agent, each, SMALL) for each in opponents]


class TestResume:
    @pytest.mark.slow
    @pytest.mark.parametrize(("algo", "steps"), [("maskable-ppo", 8192), ("ppo", 8192), ("dqn", 8192)])
    def test_resumed_training_equals_uninterrupted_one(self, algo, steps, tmp_path):
        """The same weights, bit by bit: model, optimizer, buffer, pool, games and generators continue."""
        options = {"algo": algo, "seed": 3, "until": "budget"}
        train(steps=steps, out=tmp_path / "one.zip", **options)
        train(steps=2 * steps, out=tmp_path / "one.zip", resume=True, **options)
        train(steps=2 * steps, out=tmp_path / "two.zip", **options)
        one, two = (load_training(tmp_path / f"{n}.zip", algo) for n in ("one", "two"))
        assert one.learner.steps == two.learner.steps == 2 * steps
        assert same_weights(*(SB3.from_model(TICTACTOE, each.learner.model) for each in (one, two)))
        assert one.progress.evaluation.results == two.progress.evaluation.results

    @pytest.mark.parametrize(("algo", "steps"), [("q-learning", 201), ("value-network", 201), ("cfr", 4)])
    @pytest.mark.slow
    def test_learners_without_sb3_resume_exactly(self, algo, steps, tmp_path):
        options = {"algo": algo, "seed": 3, "until": "budget"}
        train(steps=steps, out=tmp_path / "one.npz", **options)
        train(steps=2 * steps, out=tmp_path / "one.npz", resume=True, **options)
        train(steps=2 * steps, out=tmp_path / "two.npz", **options)
        states = [
            pickle.dumps(load_training(tmp_path / f"{n}.npz", algo).learner.state()) for n in ("one", "two")
        ]
        assert states[0] == states[1]

    @pytest.mark.parametrize("algo", ["q-learning", "alphazero", "a2c"])
    @pytest.mark.slow
    def test_deleted_model_is_written_again(self, algo, tmp_path):
        learner = learner_class(algo)
        out = tmp_path / f"model.{learner.suffix}"
        spec = f"{learner.plays_as}:{out}"
        size = {"filters": 2, "blocks": 1} if algo == "alphazero" else {}
        train(algo=algo, steps=1, until="budget", out=out, **size)
        policies = ttt_env.make_agent(spec, TICTACTOE).policies(open_boards()[::99])
        out.unlink()
        train(algo=algo, steps=1, until="budget", out=out, resume=True)
        again = ttt_env.make_agent(spec, TICTACTOE).policies(open_boards()[::99])
        assert np.array_equal(again, policies)

    @pytest.mark.slow
    def test_generators_resume_and_used_up_budget_trains_no_more(self, tmp_path):
        options = {"algo": "a2c", "steps": 100, "out": tmp_path / "model.zip", "until": "budget"}
        model, reports = train(**options), []
        training = load_training(tmp_path / "model.zip", "a2c")
        random.random(), np.random.random(), torch.rand(1)  # no longer in their seeded state
        training.checkpoint = checkpoint_of(tmp_path / "other.zip")
        training.write()
        drawn = random.random(), np.random.random(), torch.rand(1).item()
        load_training(tmp_path / "other.zip", "a2c")
        assert (random.random(), np.random.random(), torch.rand(1).item()) == drawn
        again = train(**options, resume=True, report=reports.append)
        assert (
            load_training(tmp_path / "model.zip", "a2c").learner.steps == training.learner.steps
            and not reports
        )
        assert same_weights(model, again)

    @pytest.mark.slow
    def test_unbeatable_training_resumes_towards_optimal(self, tmp_path):
        """On a board that X wins with any move all models are both; blunders are counted only now."""
        game, out, reports = ANY_MOVE_WINS, tmp_path / "m.zip", []
        train(game, "a2c", steps=50_000, opponents=["random"], out=out)
        assert load_training(out, "a2c", game).learner.steps <= 256
        train(game, "a2c", steps=50_000, until="optimal", out=out, resume=True, report=reports.append)
        assert [evaluation.blunders_everywhere for evaluation in reports] == [0]

    @pytest.mark.slow
    def test_seconds_count_from_first_start(self, tmp_path):
        first, second = [], []
        options = {"algo": "a2c", "out": tmp_path / "model.zip", "until": "budget"}
        train(seconds=0.05, report=first.append, **options)
        steps = [evaluation.steps for evaluation in first]
        assert steps == sorted(set(steps)) and steps[-1] > 0 and 0.05 <= first[-1].seconds < 30
        whole = first[-1].seconds + 0.05
        train(seconds=whole, resume=True, report=second.append, **options)
        assert second[0].seconds > first[-1].seconds and second[-1].seconds >= whole

    def test_new_goal_keeps_best_agent(self, tmp_path):
        """Its blunders everywhere were not counted before: this agent is unbeatable and has 24."""
        options, reports = {"algo": "q-learning", "out": tmp_path / "model.npz"}, []
        first = train(**options, seed=3)
        agent = train(**options, resume=True, until="optimal", steps=4500, report=reports.append)
        counts = [len(blunders_everywhere(each, TICTACTOE)) for each in (first, agent)]
        assert counts[1] == min(evaluation.blunders_everywhere for evaluation in reports) < counts[0]

    @pytest.mark.slow
    def test_best_agent_is_ranked_again_by_new_goal(self, tmp_path):
        """It is not the current model, which continues unchanged."""
        agent = train(algo="a2c", steps=2000, out=tmp_path / "m.zip", until="budget", seed=1)
        options = TrainingOptions(TICTACTOE, "a2c", until="optimal")
        training = options.begin(checkpoint=checkpoint_of(tmp_path / "m.zip"))
        before = load_training(tmp_path / "m.zip", "a2c")
        assert training.progress.best.steps < training.learner.steps
        assert training.progress.best.blunders_everywhere == len(blunders_everywhere(agent, TICTACTOE)) > 0
        models = [each.learner.model for each in (training, before)]
        assert same_weights(*(SB3.from_model(TICTACTOE, model) for model in models))

    def test_resume_from_other_training_is_refused(self, tmp_path):
        out = tmp_path / "model.npz"
        train(algo="q-learning", steps=10, out=out)
        before = checkpoint_of(out).read_bytes()
        for game, algo in ((SMALL, "q-learning"), (TICTACTOE, "value-network")):
            message = f"q-learning on tictactoe-v0, not of {algo} on {game.name}"
            with pytest.raises(FileError, match=message):
                train(game, algo, steps=20, out=out, resume=True)
        assert checkpoint_of(out).read_bytes() == before

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "no checkpoint"),
            (b"", "is not a checkpoint"),
            (pickle.dumps({}), "is not a checkpoint"),
            (b"ttt_env checkpoint 3\n", "of this version"),
            (b"ttt_env checkpoint 4\n", "not a whole checkpoint"),
            (checkpoint(pickle.dumps({}))[:-1], "not a whole checkpoint"),
            (checkpoint(b"\x80\x04\x95"), "of another version .*: pickle data was truncated"),
            (checkpoint(b"cno_such\nthing\n."), "of another version .*: No module named 'no_such'"),
            (checkpoint(pickle.dumps([])), "of another version"),
        ],
    )
    def test_invalid_checkpoint_is_refused(self, content, message, tmp_path):
        if content is not None:
            (tmp_path / "model.zip.checkpoint").write_bytes(content)
        with pytest.raises(FileError, match=message):
            train(steps=10, out=tmp_path / "model.zip", resume=True)


@pytest.mark.slow
def test_killed_training_resumes(tmp_path):
    """`kill -9` at random moments, three times: files are always complete, and steps only grow."""
    out, steps = tmp_path / "model.zip", 0
    checkpoint = checkpoint_of(out)
    command = [sys.executable, "-m", "ttt_env.app", "train", "ppo", "--until", "budget", "--out", str(out)]
    for resume in ([], ["--resume"]):
        process = subprocess.Popen([*command, "--seconds", "1000", *resume], stdout=subprocess.DEVNULL)
        written = checkpoint.stat().st_mtime_ns if resume else 0
        deadline = time.monotonic() + 600
        n_writes = 0
        while n_writes < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
            now = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
            n_writes += now != written
            written = now
        assert process.poll() is None and n_writes == 3
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        training = load_training(out, "ppo")
        assert training.progress.evaluation.steps == training.learner.steps > steps
        steps = training.learner.steps
        assert ttt_env.match(f"sb3:{out}", "random").exact
    reports = []
    train(algo="ppo", steps=steps + 1, until="budget", out=out, resume=True, report=reports.append)
    assert reports[-1].steps > steps


@pytest.mark.parametrize("agent", ["random", "minimax"])
def test_progress_line_fits_in_80_columns(agent):
    """The bar and the time take 17 of them."""
    evaluation = evaluate(ttt_env.make_agent(agent), {}, 1_269_760, 322.0, everywhere=False)
    assert len(str(evaluation)) <= 80 - 17


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps=0"),
        ({"seconds": 0.0}, "seconds=0.0"),
        ({"seed": -1}, "seed"),
        ({"until": "optimall"}, "did you mean optimal"),
        ({"algo": "maskable-pp"}, "unknown algorithm 'maskable-pp': did you mean maskable-ppo"),
        ({"algo": "dqn", "opponents": ["minmax"]}, "did you mean minimax"),
        ({"algo": "dqn", "policy_kwargs": {"x": 1}}, r"with policy_kwargs=\{'x': 1\}: .*argument 'x'"),
        ({"algo": "dqn", "policy": "Foo"}, "dqn cannot be made with policy='Foo'"),
        ({"algo": "dqn", "random_starts": 0.9}, "probability=0.9, blunders=0.5 of the starts"),
        ({"algo": "alphazero", "opponents": "random"}, "opponents='random' of alphazero"),
        ({"algo": "alphazero", "opponents": ["minmax"]}, "did you mean minimax"),
        ({"game": "qubic-v0"}, "qubic-v0 has 64 cells"),
        ({"game": "qubic-v0", "algo": "cfr"}, "qubic-v0 has 64 cells"),
        ({"resume": "no"}, "resume='no'"),
        ({"algo": "value-network", "learning_rate": np.inf}, "expected a number from 0 to 10"),
        ({"resume": True}, "name its file"),
        (
            {"algo": "dqn", "resume": True, "out": "m.zip", "opponents": ["random"]},
            "it keeps its own",
        ),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_training(arguments, message):
    with pytest.raises(ttt_env.TttEnvError, match=message):
        train(**{"algo": "q-learning", "steps": 10, **arguments})
