"""Tournaments on a Ray cluster of three nodes: the same table as here, whatever ends in the middle."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest

from tests.support import faults
from tests.support.running import script, ttt
from ttt_env import Tournament, tournament
from ttt_env.errors import ParameterError, TaskTimeoutError, WorkerError
from ttt_env.workers import Workers, ray_cluster

pytest.importorskip("ray")
from ray.cluster_utils import Cluster

pytestmark = pytest.mark.slow

AGENTS = {
    "random": "random",
    "minimax": "minimax",
    "mcts": "mcts:simulations=20,seed=1",
    "softmax": "softmax:temperature=0.3",
    "lowest": faults.agent_that(lambda _: None),
}
OPTIONS = {"width": 0.4, "rng": 5}
NUMBERS = [(number,) for number in range(40)]
_TASK_SECONDS = 0.5


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three nodes of one CPU each on this machine. The first one keeps the books."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        node = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100_000_000}
        patch.setenv("TTT_ENV_MARK", mark := uuid4().hex)
        cluster = Cluster(initialize_head=True, head_node_args=node)
        for _ in range(2):
            cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
        cluster.wait_for_nodes()
        cluster.mark = mark
        yield cluster
        cluster.shutdown()


def at_work(cluster: Cluster) -> dict[int, str]:
    """The processes of the cluster, by their numbers, with what they call themselves."""
    return faults.marked(cluster.mark)


@pytest.fixture(scope="module")
def expected() -> Tournament:
    return tournament(AGENTS, **OPTIONS)


@pytest.fixture(scope="module")
def workers(cluster: Cluster) -> Iterator[Workers]:
    with Workers(backend="ray", address=cluster.address) as workers:
        yield workers


@pytest.mark.parametrize("workers", [1, 2, None])
def test_table_is_the_same_with_any_number_of_workers(workers, cluster, expected) -> None:
    told, there = [], {"backend": "ray", "address": cluster.address, "workers": workers}
    played = tournament(AGENTS, **OPTIONS, **there, progress=lambda *counts: told.append(counts))
    assert played.to_dict() == expected.to_dict()
    assert told[0] == (0, 15) and told[-1] == (15, 15)


class TestLosses:
    def test_killed_node_changes_no_result(self, cluster, expected) -> None:
        def kill(done: int, total: int) -> None:
            if done == 3:
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)

        slow = AGENTS | {"lowest": faults.agent_that(lambda _: __import__("time").sleep(0.001))}
        try:
            played = tournament(slow, **OPTIONS, backend="ray", address=cluster.address, progress=kill)
        finally:
            cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
        assert played.to_dict() == expected.to_dict()

    def test_work_of_a_killed_node_is_done_again(self, cluster, workers, tmp_path) -> None:
        seconds = _TASK_SECONDS

        def work(number: int) -> int:
            import os
            import time

            import ray

            (tmp_path / f"{ray.get_runtime_context().get_node_id()} {number} {os.getpid()}").touch()
            time.sleep(seconds)
            return number

        def kill() -> None:
            """End a node, and its process at work, when a task has just begun there."""
            nodes = {node.node_id: node for node in cluster.worker_nodes}
            while not killed:
                time.sleep(0.01)
                notes = list(tmp_path.iterdir())
                begun = [note for note in notes if time.time() - note.stat().st_mtime < _TASK_SECONDS / 4]
                begun = [note.name.split() for note in begun]
                there = [(node, pid) for node, _, pid in begun if node in nodes]
                if len(notes) > 6 and there:
                    node, pid = there[0]
                    os.kill(int(pid), signal.SIGKILL)
                    cluster.remove_node(nodes[node], allow_graceful=False)
                    killed.append(node)

        killed: list[str] = []
        killer = Thread(target=kill, daemon=True)
        killer.start()
        try:
            assert workers.run(work, NUMBERS) == list(range(40))
        finally:
            cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
        runs = [note.name.split() for note in tmp_path.iterdir()]
        times = Counter(number for _, number, _ in runs)
        again = {number for number, count in times.items() if count > 1}
        assert len(times) == 40 and again <= {number for node, number, _ in runs if node in killed}
        assert again

    def test_task_of_a_killed_process_is_run_again(self, workers, tmp_path) -> None:
        assert workers.run(faults.kills_its_process(tmp_path, 1), NUMBERS) == list(range(40))
        assert len(list(tmp_path.iterdir())) == 1

    def test_task_that_kills_every_process_is_named(self, workers, tmp_path) -> None:
        with pytest.raises(WorkerError, match="the task of 5: the process that worked on it ended"):
            workers.run(faults.kills_its_process(tmp_path, 100), NUMBERS, named=faults.named)


class TestErrors:
    def test_name_the_agent_and_the_pairing(self, cluster) -> None:
        agents = AGENTS | {"bad": faults.agent_that(faults.raises(lambda: KeyError("no idea")))}
        with pytest.raises(KeyError, match="no idea") as caught:
            tournament(agents, backend="ray", address=cluster.address)
        assert caught.value.__notes__[0] == "raised by the agent 'bad'"
        assert caught.value.__notes__[1].startswith("in 'bad' v ")

    def test_agent_that_takes_too_long_is_named_and_its_process_ended(self, cluster, tmp_path) -> None:
        quick, slow = faults.agent_that(lambda _: None), faults.agent_that(faults.hangs(tmp_path))
        agents = {"quick": quick, "slow": slow}
        with pytest.raises(TaskTimeoutError, match=r"'quick' v 'slow' took longer than 3 s"):
            tournament(agents, backend="ray", address=cluster.address, timeout=3)
        (process,) = tmp_path.iterdir()
        assert faults.is_over(int(process.name))

    def test_function_is_sent_once_to_each_process(self, workers, tmp_path) -> None:
        results = workers.run(faults.counts_its_loads(tmp_path), NUMBERS)
        assert len(list(tmp_path.iterdir())) == len({process for _, process in results}) <= 4

    def test_another_cluster_than_the_connected_one_is_refused(self, cluster, workers) -> None:
        with pytest.raises(ParameterError, match=f"is connected to the Ray cluster at {cluster.address}"):
            with ray_cluster("127.0.0.1:1"):
                pass
        with ray_cluster("auto") as ray:  # here that is the one that this process is connected to
            assert ray.is_initialized()


class TestEnd:
    def test_ctrl_c_leaves_no_process_of_an_own_cluster(self, tmp_path) -> None:
        mark, _ = faults.interrupt_a_tournament(tmp_path, "ray")
        assert faults.eventually(lambda: not faults.marked(mark)), faults.marked(mark)

    def test_ctrl_c_leaves_a_cluster_that_was_there(self, cluster, expected, tmp_path) -> None:
        mark, process = faults.interrupt_a_tournament(tmp_path, "ray", cluster.address)
        assert faults.is_over(process) and faults.eventually(lambda: not faults.marked(mark))
        assert tournament(AGENTS, **OPTIONS, backend="ray", address=cluster.address) == expected

    def test_an_own_cluster_reports_to_nobody_and_ends(self) -> None:
        code = """
import json, os
from ttt_env.workers import ray_cluster
with ray_cluster(cpus=1) as ray:
    from ray._private.worker import global_worker
    print(json.dumps([global_worker.node.address_info["webui_url"] or "", ray.cluster_resources()["CPU"],
                      ray.get(ray.remote(lambda: os.environ["RAY_USAGE_STATS_ENABLED"]).remote())]))
assert not ray.is_initialized()
assert "RAY_USAGE_STATS_ENABLED" not in os.environ and "RAY_ENABLE_UV_RUN_RUNTIME_ENV" not in os.environ
"""
        mark = uuid4().hex
        env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        env["TTT_ENV_MARK"] = mark
        command = [sys.executable, "-W", "error", "-c", code]
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert run.stdout == '["", 1.0, "0"]\n'
        assert faults.eventually(lambda: not faults.marked(mark)), faults.marked(mark)


def test_bench_writes_nothing_but_its_result_if_a_process_ends(cluster) -> None:
    agents = ["random", "minimax", "mcts:simulations=2000,seed=1", "mcts:simulations=2000,seed=2"]
    here = ttt("bench", *agents, "--json")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "ttt_env.app", "bench", *agents, "--json", "--ray", cluster.address]
    with subprocess.Popen(command, **pipes) as there:
        assert faults.eventually(lambda: any("work_of" in each for each in at_work(cluster).values()))
        for process, name in at_work(cluster).items():
            if "work_of" in name:
                os.kill(process, signal.SIGKILL)
        stdout, stderr = there.communicate(timeout=faults.PATIENCE)
    assert there.returncode == 0 and "died or was killed" in stderr
    assert json.loads(stdout) == json.loads(here.stdout)


def test_league_is_the_same_on_ray(tmp_path) -> None:
    path = Path(__file__).parents[2] / "scripts" / "league.py"
    run = script(path, "--agents", "6", "--backends", "ray", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("the same in") == 2
