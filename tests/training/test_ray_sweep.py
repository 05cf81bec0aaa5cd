"""Sweeps on Ray: the same models as without it, whatever happens to the machines."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("ray")
pytest.importorskip("sb3_contrib")

import torch

import ttt_env
from tests.support import faults
from tests.support.running import ttt
from ttt_env.training import population
from ttt_env.training.masking import MaskedDQN
from ttt_env.training.sweeps import sweep

pytestmark = [
    pytest.mark.slow,
    # Ray's own processes and files, some of which it leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:ray"),
]


def weights(file):
    return list(MaskedDQN.load(file).policy.parameters())


def same_models(one, two):
    """True if two sweeps have the same trials with the same results and the same weights."""
    for first, second in zip(one.trials, two.trials, strict=True):
        same = ("trial", "steps", "ended", "exploitability")
        assert [getattr(first, name) for name in same] == [getattr(second, name) for name in same]
        files = one.folder / first.model, two.folder / second.model
        if first.algorithm == "dqn":
            assert all(torch.equal(*pair) for pair in zip(*map(weights, files), strict=True))
        else:
            assert files[0].read_bytes() == files[1].read_bytes()
    return True


def test_ray_gives_the_same_as_this_process(tmp_path):
    options = {"algos": ["q-learning", "dqn"], "seeds": [0, 1], "steps": 9000, "until": "budget"}
    told, on_ray = [], {"backend": "ray", "workers": 2, "report": lambda *each: told.append(each)}
    shared = sweep(out=tmp_path / "ray", **on_ray, **options)
    assert [ended for _, ended, _ in told] == [0, 1, 2, 3, 4]
    assert same_models(sweep(out=tmp_path / "alone", **options), shared)
    kept = {path.name for path in shared.folder.iterdir()}
    assert kept == {"results.jsonl", *(trial.model for trial in shared.trials)}


def test_asha_stops_what_falls_behind_and_keeps_the_best(tmp_path):
    """Q-learning runs with ever smaller rates, one after the other, and the first is the best."""
    options = {"algos": "q-learning", "out": tmp_path, "seeds": [0], "steps": 20_000, "until": "budget"}
    search = {"alpha": [1.0, 0.01, 0.005, 0.002, 0.001]}
    found = sweep(backend="ray", workers=1, asha=True, search=search, **options)
    stopped = [trial for trial in found.trials if trial.ended == "asha"]
    assert found.trials[0].ended == "budget" and found.best == found.trials[0] and found.best.unbeatable
    assert stopped and all(trial.steps < 20_000 and trial.exploitability > 0 for trial in stopped)
    for trial in stopped:
        agent = trial.agent(tmp_path, found.game)
        assert ttt_env.exploitability(agent).exploitability == trial.exploitability
    told = []
    again = sweep(search=search, report=lambda result, *_: told.append(result), **options)
    assert {result.trial for result in told[1:]} == {trial.trial for trial in stopped}
    assert all(trial.ended == "budget" for trial in again.trials)


def test_distributions_are_drawn_alike(tmp_path):
    from ray import tune

    search = {"alpha": tune.loguniform(1e-2, 1.0), "epsilon": tune.choice([0.3, 0.5])}
    options = {"algos": "q-learning", "seeds": [0], "steps": 500, "samples": 3}
    one, two = (sweep(out=tmp_path / name, search=search, **options) for name in ("one", "two"))
    assert len({trial.hyperparameters["alpha"] for trial in one.trials}) == 3
    assert [trial.hyperparameters for trial in one.trials] == [trial.hyperparameters for trial in two.trials]
    other = sweep(out=tmp_path / "other", search=search, rng=1, **options)
    assert other.trials[0].hyperparameters != one.trials[0].hyperparameters


def test_a_node_that_is_killed_changes_no_result(tmp_path):
    import ray
    from ray.cluster_utils import Cluster

    options = {"algos": "dqn", "seeds": [0, 1, 2], "steps": 20_000, "until": "budget"}
    out, killed = tmp_path / "killed", []
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]

        def kill():
            """Kill a node as soon as both, of one CPU each, have a trial with a checkpoint."""
            deadline = time.monotonic() + 200
            while time.monotonic() < deadline:
                if len(list(out.glob("*.checkpoint"))) == 2:
                    cluster.remove_node(nodes[0], allow_graceful=False)
                    results = out / "results.jsonl"
                    killed.append(len(results.read_text().splitlines()) if results.exists() else 0)
                    return
                time.sleep(0.05)

        Thread(target=kill, daemon=True).start()
        found = sweep(out=out, backend="ray", address=cluster.address, **options)
        assert killed == [0]
        assert same_models(found, sweep(out=tmp_path / "whole", **options))
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_a_population_on_ray_is_the_same(tmp_path):
    options = {"algo": "maskable-ppo", "seeds": (0, 1), "rounds": 2, "round_steps": 100, "until": "budget"}
    population(**options, out=tmp_path / "ray", backend="ray", workers=2)
    population(**options, out=tmp_path / "alone")
    alone, shared = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.npz")}
        for name in ("alone", "ray")
    )
    assert alone == shared and len(alone) == 8


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("backend", ["--ray", ""], ids=["ray", "loky"])
def test_an_interrupt_keeps_what_is_done_and_leaves_no_process(backend, tmp_path):
    mark = uuid.uuid4().hex
    line = f"train dqn {backend} --seeds 0-3 --workers 2 --steps 8000 --until budget --out out"
    run = subprocess.Popen(
        [sys.executable, "-m", "ttt_env.app", *line.split()],
        cwd=tmp_path,
        env={**os.environ, "TTT_SWEEP": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    results, deadline = tmp_path / "out" / "results.jsonl", time.monotonic() + 200
    while (
        not (results.exists() and results.stat().st_size)
        and run.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    told, mistakes = run.communicate(timeout=200)
    assert run.returncode == 130, mistakes
    assert "Interrupted: what is done is kept." in told and "Traceback" not in mistakes
    assert faults.eventually(lambda: not faults.marked(mark)), faults.marked(mark)
    assert 1 <= len(results.read_text().splitlines()) < 4
    assert f"To go on: ttt {' '.join(line.split())}\n" in told
    done = results.read_text()
    again = ttt(*line.replace("--ray", "").replace("--workers 2", "").split(), cwd=tmp_path)
    assert again.returncode == 0 and "Scorecard of out/dqn" in again.stdout
    assert results.read_text().startswith(done) and len(results.read_text().splitlines()) == 4


def test_no_cluster_at_the_address(tmp_path):
    run = ttt("train", "q-learning", "--seeds", "0-1", "--ray", "127.0.0.1:1", "--out", "out", cwd=tmp_path)
    assert run.returncode == 2 and "127.0.0.1:1" in run.stderr and not run.stdout
