"""Many agents judged at once: what each would be told alone, whoever does the work."""

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
def test_each_is_judged_as_if_alone(workers):
    agents = [*SPECS, lowest]
    for analysis in (certify, exploitability):
        alone = [analysis(agent, DRAWN) for agent in agents]
        found = analysis(agents, DRAWN, workers=workers)
        assert list(found) == [*SPECS, "lowest"] and list(found.values()) == alone


def test_a_mapping_gives_names_and_an_agent_the_game():
    certificates = certify({"one": ttt_env.make_agent("minimax", DRAWN), "another": "random"})
    assert [c.game.name for c in certificates.values()] == [DRAWN] * 2
    assert [c.unbeatable for c in certificates.values()] == [True, False]
    assert certify([]) == {}


def test_progress():
    told = []
    certify(["minimax", "random"], DRAWN, progress=lambda *numbers: told.append(numbers))
    assert told == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.slow
def test_the_agent_that_fails_is_named(workers):
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
def test_errors_before_anything_is_judged(agents, game, error, message):
    told = []
    with pytest.raises(error, match=message):
        certify(agents, game, progress=lambda *numbers: told.append(numbers))
    assert told == []


def test_arguments_of_one_agent_and_of_several():
    with pytest.raises(ParameterError, match="but several were given"):
        certify(["minimax"], answers="answers.jsonl")
    with pytest.raises(ParameterError, match="for several agents"):
        exploitability("minimax", backend="ray")


def test_what_is_no_agent_is_refused():
    all_raise(UnknownAgentError, "", certify, [None, 3, b"minimax", [3], [["minimax"]]])
