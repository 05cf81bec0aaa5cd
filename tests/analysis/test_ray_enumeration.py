"""Enumerations and certificates by a Ray cluster of two nodes on this machine, one of which is killed."""

import pytest

import ttt_env

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

GAME = "mnk-v0:m=4,n=4,k=4"


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture
def awake():
    """A function that connects to a cluster and starts a process on each of its nodes.

    Without it one node may have done all the work before a process has started on the other.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def wake(cluster):
        ray.init(cluster.address, log_to_driver=False, logging_level="error")
        at = [NodeAffinitySchedulingStrategy(node.node_id, soft=False) for node in cluster.list_all_nodes()]
        ray.get([ray.remote(ttt_env.solve).options(scheduling_strategy=each).remote(GAME) for each in at])

    yield wake
    ray.shutdown()


def test_a_node_that_is_killed_changes_no_byte(cluster, awake, tmp_path):
    game, doomed, told = GAME, cluster.add_node(num_cpus=1), []
    cluster.wait_for_nodes()
    awake(cluster)

    def kill_in_mid_layer(n_done, n_tasks):
        told.append(n_done)
        if n_done > n_tasks // 2 and cluster.list_all_nodes().count(doomed):
            cluster.remove_node(doomed, allow_graceful=False)

    enumeration = ttt_env.enumerate_positions(
        game,
        tmp_path / "cluster",
        backend="ray",
        address=cluster.address,
        chunk=20_000,
        progress=kill_in_mid_layer,
    )
    assert not cluster.list_all_nodes().count(doomed)
    assert told == sorted(told)
    assert len(enumeration.workers) >= 2
    here = ttt_env.enumerate_positions(game, tmp_path / "here")
    assert (enumeration.value, enumeration.positions) == (here.value, here.positions)
    for path in (tmp_path / "here").glob("*.npy"):
        assert (tmp_path / "cluster" / path.name).read_bytes() == path.read_bytes()


def test_certificates_are_those_of_one_process(cluster):
    cluster.add_node(num_cpus=1)
    agents = ["minimax", "random", "softmax:temperature=0.3", "rules", "block"]
    certificates = ttt_env.certify(agents, backend="ray", address=cluster.address)
    assert certificates == {name: ttt_env.certify(name) for name in agents}
