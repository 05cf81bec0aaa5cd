"""Enumerations and certificates by a Ray cluster of two nodes on this machine, one of which is killed."""

import pytest

import ttt_env

pytest.importorskip("ray")
pytestmark = pytest.mark.slow


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        yield cluster
    finally:
        cluster.shutdown()


def test_a_node_that_is_killed_changes_no_byte(cluster, tmp_path):
    game, doomed, told = "mnk-v0:m=4,n=4,k=4", cluster.add_node(num_cpus=1), []

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
    certificates = ttt_env.certify_all(agents, backend="ray", address=cluster.address)
    assert certificates == {name: ttt_env.certify(name) for name in agents}
