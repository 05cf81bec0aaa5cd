"""Tournaments and certificates computed by a Ray cluster equal those of one process."""

import pytest

from tests.support import faults
from ttt_env import tournament

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow

AGENTS = {
    "random": "random",
    "minimax": "minimax",
    "mcts": "mcts:simulations=20,seed=1",
    "softmax": "softmax:temperature=0.3",
    "lowest": faults.agent_that(lambda _: None),
}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


@pytest.mark.parametrize("workers", [1, 2, None])
def test_table_does_not_depend_on_number_of_workers(workers):
    counts = []
    played = tournament(
        AGENTS, width=0.4, rng=5, backend="ray", workers=workers, progress=lambda *done: counts.append(done)
    )
    assert played.to_dict() == tournament(AGENTS, width=0.4, rng=5).to_dict()
    assert counts[0] == (0, 15) and counts[-1] == (15, 15)


def test_error_names_agent_and_pairing():
    agents = AGENTS | {"bad": faults.agent_that(faults.raises(lambda: KeyError("no idea")))}
    with pytest.raises(KeyError, match="no idea") as caught:
        tournament(agents, backend="ray")
    assert caught.value.__notes__[0] == "raised by the agent 'bad'"
    assert caught.value.__notes__[1].startswith("in 'bad' v ")
