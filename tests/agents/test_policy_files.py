"""Files of agents: a saved agent plays the same, and invalid arrays are refused."""

import numpy as np
import pytest

import ttt_env
from tests.support.agents import learner, network
from tests.support.games import TICTACTOE, open_boards
from ttt_env.agents.learned.value_network import ValueNetworkLearner
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.errors import FileError
from ttt_env.storage.archive import MOST_BYTES, save_arrays

SAVED = {
    "lookup": lambda: ttt_env.make_agent("lookup"),
    "q-learning": lambda: learner(games=500).agent(),
    "value-network": lambda: ValueNetworkLearner(TICTACTOE, view="xo+turn", empty=0.0, hidden=[6, 5]).agent(),
    "alphazero": lambda: AlphaZero.of(network(), 20, seed=0),
}


@pytest.fixture(scope="module")
def saved_agents(tmp_path_factory):
    """The agents by name, and the folder with their files."""
    folder = tmp_path_factory.mktemp("saved_agents")
    agents = {name: make() for name, make in SAVED.items()}
    for name, agent in agents.items():
        (agent.network if name == "alphazero" else agent).save(folder / f"{name}.npz")
    return agents, folder


@pytest.mark.parametrize("name", SAVED)
def test_saved_agent_plays_the_same(saved_agents, name):
    agents, folder = saved_agents
    options = ",simulations=20,seed=0" if name == "alphazero" else ""
    again = ttt_env.make_agent(f"{name}:{folder}/{name}.npz{options}")
    np.testing.assert_array_equal(again.policies(open_boards()), agents[name].policies(open_boards()))


@pytest.mark.parametrize("name", SAVED)
def test_file_of_other_game_or_agent_is_refused(saved_agents, name):
    _, folder = saved_agents
    for other in ("square-v0", "tictactoe-v0:misere=true"):
        with pytest.raises(FileError, match=f"of tictactoe-v0, not of {other}"):
            ttt_env.make_agent(f"{name}:{folder}/{name}.npz", other)
    lacks = {"lookup": "codes", "q-learning": "positions", "value-network": "empty", "alphazero": "block"}
    stranger = "q-learning" if name == "lookup" else "lookup"
    with pytest.raises(FileError, match=f"lacks {lacks[name]}"):
        ttt_env.make_agent(f"{name}:{folder}/{stranger}.npz")


INVALID_ARRAYS = {
    "lookup": [
        {"policies": None},
        {"codes": np.zeros(627, np.uint64)},
        {"codes": np.arange(5, dtype=np.uint64)},
        {"policies": np.full((627, 9), 1 / 9, np.float32)},
        {"policies": np.full((627, 9), np.nan, np.float32)},
        {"policies": np.zeros((627, 9), np.float32)},
        {"policies": np.zeros((627, 9))},
    ],
    "q-learning": [
        {"values": np.zeros(3)},
        {"values": np.full(765, np.nan)},
        {"values": np.zeros(765, np.float32)},
        {"positions": np.zeros(765, np.uint64)},
        {"positions": np.zeros(0, np.uint64), "values": np.zeros(0)},
    ],
    "value-network": [
        {"view": np.array("mover")},
        {"view": np.array("own")},
        {"view": np.array(3)},
        {"view": np.array(["xo"] * 2)},
        {"empty": np.zeros(2)},
        {"empty": np.array(np.nan)},
        {"layer_2": np.zeros((5, 6))},
        {"layer_2": np.zeros(7)},
        {"layer_2": np.zeros((0, 7))},
        {"layer_3": np.zeros((2, 6))},
        {"layer_3": np.zeros((1, 6), np.float32)},
        {"layer_3": np.full((1, 6), np.inf)},
        {"layer_3": np.array([["a"] * 6])},
        {"layer_5": np.zeros((1, 2))},
        {"layer_x": np.zeros((1, 2))},
    ],
    "alphazero": [
        {"policy": None},
        {"value": np.zeros(5)},
        {"value_bias": np.zeros(2, np.float16)},
        {"blocks": np.zeros((2, 9, 6), np.float16)},
        {"blocks": np.zeros((82, 54, 6), np.float16)},
        {"first_bias": np.full(6, np.nan, np.float16)},
        {"hidden_bias": np.full(5, np.inf, np.float16)},
    ],
}
MESSAGES = {
    "lookup": "is not a policy table",
    "q-learning": "is not a Q-table",
    "value-network": "is not a value network",
    "alphazero": "lacks policy|has the wrong form|blocks|beyond ±10000",
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in INVALID_ARRAYS.items() for change in changes]
)
def test_invalid_arrays_are_refused(saved_agents, name, change, tmp_path):
    with np.load(saved_agents[1] / f"{name}.npz") as file:
        arrays = {**file, **change}
    path = tmp_path / "wrong.npz"
    np.savez(path, **{key: array for key, array in arrays.items() if array is not None})
    with pytest.raises(FileError, match=rf"wrong\.npz.*({MESSAGES[name]})"):
        ttt_env.make_agent(f"{name}:{path}")


def test_pickled_objects_are_never_loaded(saved_agents, tmp_path):
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("a pickle was loaded",)

    with np.load(saved_agents[1] / "lookup.npz") as file:
        np.savez(tmp_path / "bomb.npz", **{**file, "codes": np.array([Bomb()], dtype=object)})
    with pytest.raises(FileError, match="something else than numbers"):
        ttt_env.make_agent(f"lookup:{tmp_path}/bomb.npz")


def test_unwritable_path_is_reported(saved_agents, tmp_path):
    table = saved_agents[0]["lookup"]
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "table.npz"):
        with pytest.raises(FileError, match=f"{path} cannot be written"):
            table.save(path)
    table.save(tmp_path / "new" / "table.npz")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["table.npz"]


def test_too_large_file_is_not_written(tmp_path):
    huge = np.broadcast_to(np.uint8(0), (MOST_BYTES + 1,))
    with pytest.raises(FileError, match="policy files hold up to 2,147,483,648"):
        save_arrays(tmp_path / "huge.npz", TICTACTOE, {"huge": huge})
    assert not [*tmp_path.iterdir()]
