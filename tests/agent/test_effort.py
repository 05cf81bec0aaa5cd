"""Agents say for which games they play, and what making them takes, before they are made."""

import numpy as np
import pytest

from tests.support.marks import slow
from ttt_env import get_game, make_agent
from ttt_env.agent import Agent, agent_names, effort_of, making
from ttt_env.analysis.layers import _all_reachable
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyFileError, TttEnvError

NEEDS = {
    "best-response": ":random",
    "epsilon": ":minimax",
    "mixture": ":minimax+random",
    "symmetric": ":minimax",
}
FROM_FILES = ("sb3", "onnx", "process", "strategy", "policy-table")
SPECS = [name + NEEDS.get(name, "") for name in agent_names() if name not in FROM_FILES]
SPECS += ["minimax:depth=2", "minimax:seconds=0.02", "epsilon:(minimax:depth=2)",
          "best-response:(mcts:simulations=2)", "mixture:weights+(mcts:seed=0)",
          "imitation:fallback=minimax"]  # fmt: skip
# For few and for many positions; one for which nobody comes trained.
GAMES = ["tictactoe-v0:misere=true", "mnk-v0:m=8,n=8,k=5"]
SLOW_GAMES = ["tictactoe-v0", "square-v0", "square-v0:n=5", "mnk-v0:m=4,n=3,k=3", "mnk-v0", "qubic-v0",
              "qubic-v0:misere=true"]  # fmt: skip


@pytest.fixture(autouse=True)
def no_games_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("game", [*GAMES, *map(slow, SLOW_GAMES)])
def test_an_agent_plays_the_games_that_it_says_and_no_others(spec, game):
    made = get_game(game)
    try:
        effort_of(spec, made)
    except TttEnvError as error:
        with pytest.raises(type(error)) as refused:
            make_agent(spec, made)
        assert str(refused.value) == str(error)
        return
    cell = make_agent(spec, made).choose(made.start, np.random.default_rng(0))
    assert cell in made.start.legal_cells


@pytest.mark.parametrize("spec", SPECS)
def test_only_who_says_so_looks_at_all_positions(spec):
    game = get_game("mnk-v0:m=5,n=2,k=2")  # in which all is soon over
    _all_reachable.cache_clear()
    try:
        effort = effort_of(spec, game)
    except TttEnvError:
        return
    assert not _all_reachable.cache_info().currsize
    make_agent(spec, game).policy(game.start)
    assert effort != "little" or not _all_reachable.cache_info().currsize


@pytest.mark.parametrize(
    ("spec", "game", "effort"),
    [("random", "mnk-v0:m=8,n=8,k=5", "little"), ("weights", "square-v0", "little"),
     ("minimax", "square-v0", "sweep"), ("minimax:seconds=1", "square-v0", "little"),
     ("minimax:depth=2", "qubic-v0", "little"), ("minimax:depth=2", "square-v0", "sweep"),
     ("lookup", "square-v0", "table"), ("epsilon:lookup", "square-v0", "table"),
     ("mixture:random+(epsilon:minimax)", "square-v0", "sweep"),
     ("best-response:random", "square-v0", "sweep"), ("punish", "square-v0", "sweep"),
     ("best-response:mcts", "square-v0", "searches"), ("punish:mcts", "square-v0", "searches"),
     ("mcts", "qubic-v0", "little"), ("ppo", "tictactoe-v0", "little")],
)  # fmt: skip
def test_what_making_takes(spec, game, effort):
    assert effort_of(spec, game) == effort


@pytest.mark.parametrize(
    ("spec", "game", "error", "told"),
    [("minimax", "qubic-v0", GameTooLargeError, "64 cells.*minimax:depth=4.*minimax:seconds=1"),
     ("minimax:prefer=fast", "mnk-v0:m=5,n=5,k=4", GameTooLargeError, "25 cells.*minimax:depth=4"),
     ("epsilon:minimax", "qubic-v0", GameTooLargeError, "minimax:depth=4"),
     ("ppo", "square-v0", PolicyFileError, "not for square-v0"),
     ("q-learning", "square-v0", PolicyFileError, "trained for tictactoe-v0, tictactoe-v0:misere=true, "),
     ("value-network", "square-v0", PolicyFileError, "trained for tictactoe-v0, not for square-v0"),
     ("best-response:mcts", "qubic-v0", GameTooLargeError, "18 cells are the limit"),
     ("minimax:deep=3", "tictactoe-v0", ParameterError, "deep")],
)  # fmt: skip
def test_why_an_agent_does_not_play(spec, game, error, told):
    with pytest.raises(error, match=told):
        effort_of(spec, game)


def test_agents_of_others_play_everything_unless_they_say_otherwise(monkeypatch):
    class Silent(Agent):
        def __init__(self, game):
            raise AssertionError("nothing is made to find out")

    monkeypatch.setattr(making, "agent_class", lambda name: Silent)
    assert effort_of("silent", "qubic-v0") == "little"


def test_an_agent_that_is_made_takes_little_and_plays_its_own_game():
    assert effort_of(make_agent("random", "qubic-v0"), "qubic-v0") == "little"
    with pytest.raises(TttEnvError, match="qubic-v0"):
        effort_of(make_agent("random", "qubic-v0"), "square-v0")
