"""Several agents analysed at once give the results of single analyses."""

import pytest

import ttt_env
from tests.support.games import lowest
from tests.support.marks import slow
from tests.support.refusals import all_raise
from ttt_env import certify, exploitability
from ttt_env.errors import ParameterError, PolicyError, UnknownAgentError

SPECS = ["minimax", "mcts:simulations=2,seed=0", "block"]
DRAWN = "mnk-v0:m=4,n=2,k=3"


class Leaking(ttt_env.Agent):
    """Plays taken cells."""

    is_stationary = True

    def policies(self, boards):
        return boards.cells(boards.occupied_masks).astype(float)


@pytest.mark.parametrize("workers", [None, slow(2)])
@pytest.mark.slow
def test_results_match_single_analyses(workers):
    agents = [*SPECS, lowest]
    for analysis in (certify, exploitability):
        alone = [analysis(agent, DRAWN) for agent in agents]
        found = analysis(agents, DRAWN, workers=workers)
        assert list(found) == [*SPECS, "lowest"] and list(found.values()) == alone


def test_mapping_names_agents_and_agent_sets_game():
    certificates = certify({"one": ttt_env.make_agent("minimax", DRAWN), "another": "random"})
    assert [c.game.name for c in certificates.values()] == [DRAWN] * 2
    assert [c.unbeatable for c in certificates.values()] == [True, False]
    assert certify([]) == {}


def test_progress_counts_finished_agents():
    reports = []
    certify(["minimax", "random"], DRAWN, progress=lambda *numbers: reports.append(numbers))
    assert reports == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.slow
def test_failing_agent_is_named(workers):
    agents = {"good": "minimax", "bad one": Leaking(ttt_env.get_game("tictactoe-v0"))}
    with pytest.raises(PolicyError) as caught:
        certify(agents, workers=workers)
    assert any("'bad one'" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("agents", "game", "error", "message"),
    [
        (["minmax"], None, UnknownAgentError, "minmax"),
        (["random", "random"], None, ParameterError, "two agents are called 'random'"),
    ],
    ids=["unknown", "twice"],
)
def test_invalid_agents_are_refused_before_any_analysis(agents, game, error, message):
    reports = []
    with pytest.raises(error, match=message):
        certify(agents, game, progress=lambda *numbers: reports.append(numbers))
    assert reports == []


def test_arguments_for_other_number_of_agents_are_refused():
    with pytest.raises(ParameterError, match="but several were given"):
        certify(["minimax"], answers="answers.jsonl")
    with pytest.raises(ParameterError, match="for several agents"):
        exploitability("minimax", backend="ray")


def test_other_objects_are_refused():
    all_raise(UnknownAgentError, "", certify, [None, 3, b"minimax", [3], [["minimax"]]])
