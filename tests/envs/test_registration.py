"""`make` and the registries: environments by name."""

import pickle
import subprocess
import sys
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest

import ttt_env
from tests.support.refusals import all_raise
from ttt_env import errors
from ttt_env.envs.single import SingleAgentEnv
from ttt_env.envs.two_player import TwoPlayerEnv
from ttt_env.rules.catalogue import CATALOGUE

MODULES = {id: getattr(ttt_env, id.replace("-", "_")) for id in CATALOGUE}


@pytest.mark.parametrize("id", CATALOGUE)
def test_every_id_makes_environments(id: str) -> None:
    env, game = ttt_env.make(id), ttt_env.get_game(id)
    assert isinstance(env, pettingzoo.AECEnv)
    assert env.possible_agents == ["X", "O"] and env.game == game
    assert env.metadata["name"] == id.replace("-", "_")  # of a module
    single = ttt_env.make(id, opponent="random")
    assert isinstance(single, gymnasium.Env) and single.game == game
    registered = gymnasium.make(f"ttt_env/{id}")
    assert registered.unwrapped.game == game
    assert registered.spec is not None and registered.spec.id == f"ttt_env/{id}"
    for build in (MODULES[id].env, MODULES[id].raw_env):
        env = build(misere=True, observation="planes")
        assert isinstance(env, TwoPlayerEnv) and env.game == ttt_env.get_game(id, misere=True)
        assert env.observation_space("O").shape == (*env.game.shape, 2)


def test_parallel_env_needs_reset_and_action_of_mover() -> None:
    env: Any = ttt_env.make("tictactoe-v0", api="parallel")
    with pytest.raises(errors.EpisodeOrderError, match=r"call reset\(\)"):
        env.step({"X": 4, "O": 0})
    env.reset(seed=0)
    for actions in ({"O": 4}, None, 4):
        with pytest.raises(errors.ParameterError, match="expected a dict with an action of X"):
            env.step(actions)
    for cell in (0, 3, 1, 4, 2):
        *_, terminations, _, _ = env.step({"X": cell, "O": cell})
    assert terminations == {"X": True, "O": True}
    with pytest.raises(errors.EpisodeOrderError, match="after the end"):
        env.step({"X": 5, "O": 5})


GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "parameters": ("mnk-v0", {"m": 4, "n": 3, "k": 3}),
    "in the id": ("mnk-v0:m=4,n=3,k=3", {}),
    "both": ("mnk-v0:m=4,n=3", {"k": 3}),
    "numpy": ("mnk-v0", {"m": np.int64(4), "n": 3, "k": 3}),
}


@pytest.mark.parametrize("opponent", [None, "random"])
@pytest.mark.parametrize(("id", "parameters"), GAMES.values(), ids=GAMES)
def test_game_parameters_are_accepted(id: str, parameters: dict[str, Any], opponent: str | None) -> None:
    env = ttt_env.make(id, opponent=opponent, **parameters, observation="planes")
    env.reset(seed=0)
    assert env.game.shape == (3, 4)
    assert env.position.game.name == "mnk-v0:m=4,n=3,k=3"


@pytest.mark.slow
def test_gymnasium_finds_ids_without_import() -> None:
    """The module before the id is imported, as in a worker process that has imported nothing."""
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('ttt_env:ttt_env/tictactoe-v0', opponent='minimax', play_as='X')\n"
        "env.reset(seed=0)\n"
        "print(int(env.step(4)[4]['action_mask'].sum()))\n"
        "kind = gymnasium.VectorizeMode.VECTOR_ENTRY_POINT\n"
        "envs = gymnasium.make_vec('ttt_env:ttt_env/square-v0', 3, vectorization_mode=kind)\n"
        "print(envs.reset(seed=0)[0].shape)\n"
    )
    output = subprocess.check_output([sys.executable, "-W", "error", "-c", code], text=True)
    assert output.split("\n") == ["7", "(3, 4, 4, 2)", ""]


@pytest.mark.parametrize("id", CATALOGUE)
@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo before 1.27 has no registry")
def test_pettingzoo_registry(id: str) -> None:
    env = pettingzoo.make("aec", f"ttt_env/{id}", misere=True, observation="planes")
    assert isinstance(env, TwoPlayerEnv) and env.game == ttt_env.get_game(id, misere=True)
    assert pettingzoo.make("aec", f"ttt_env/{id.replace('-', '_')}").game == ttt_env.get_game(id)


class TestMaxEpisodeSteps:
    @pytest.mark.parametrize("id", CATALOGUE)
    def test_specs_hold_longest_episode(self, id: str) -> None:
        n_cells = ttt_env.get_game(id).n_cells
        for env in (ttt_env.make(id, opponent="random"), ttt_env.make_vec(id, 2)):
            assert env.spec is not None and env.spec.max_episode_steps == n_cells
        registered = gymnasium.spec(f"ttt_env/{id}").max_episode_steps
        assert registered is not None and registered >= n_cells

    def test_no_episode_is_truncated(self) -> None:
        """The largest board, with parameters that the registry does not know."""
        env = gymnasium.make("ttt_env/mnk-v0", m=8, n=8, k=8, opponent="random", illegal="raise")
        _, info = env.reset(seed=0)
        n_steps, terminated = 0, False
        while not terminated:
            _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
            assert not truncated
            n_steps += 1
        assert n_steps > ttt_env.get_game("mnk-v0").n_cells

    def test_vector_env_refuses_shorter_limit(self) -> None:
        make = partial(gymnasium.make_vec, "ttt_env/tictactoe-v0", 2, vectorization_mode="vector_entry_point")
        assert make(max_episode_steps=9).num_envs == 2
        with pytest.raises(errors.ParameterError, match="max_episode_steps=8: no episode"):
            make(max_episode_steps=8)


@pytest.mark.parametrize("opponent", [None, "random"])
@pytest.mark.parametrize("id", ["tictactoe-v0", "mnk-v0:m=4,n=3,k=3", ttt_env.Game("two", (2,), [(0, 1)])])
def test_unknown_keyword_error_mentions_it_like_python(id: Any, opponent: str | None) -> None:
    """TorchRL tries `frameskip` and omits it again if the `TypeError` says so."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'") as caught:
        ttt_env.make(id, opponent=opponent, frameskip=1)
    assert "Allowed: " in str(caught.value) and "render_mode" in str(caught.value)


def test_gymnasium_resolves_id_without_version() -> None:
    with pytest.warns(UserWarning, match="latest versioned environment `ttt_env/tictactoe-v0`"):
        gymnasium.make("ttt_env/tictactoe")
    assert gymnasium.make("ttt_env/mnk-v0", m=4, n=3, k=3).unwrapped.game.shape == (3, 4)


@pytest.mark.parametrize("opponent", [None, "random"])
def test_game_object_is_accepted_as_id(opponent: str | None) -> None:
    env = ttt_env.make(CORNERS, opponent=opponent)
    env.reset(seed=0)
    assert env.game is CORNERS and env.position.game is CORNERS


def test_settings_reach_environment() -> None:
    start = ttt_env.Position.parse("X../.O./...")
    settings: Any = {"play_as": "O", "illegal": "raise", "rewards": {"draw": 0.5}, "observation": "dict"}
    opponent = ["random", "minimax"]
    env = ttt_env.make("tictactoe-v0", opponent=opponent, start=start, render_mode="ansi", **settings)
    assert isinstance(env, SingleAgentEnv)
    assert (env.play_as, env.illegal, env.render_mode) == ("O", "raise", "ansi")
    assert env.rewards_of == (1.0, 0.5, -1.0, -1.0)
    assert set(env.observation_space.spaces) == {"observation", "action_mask"}
    env.reset(seed=0)
    assert str(env.position).count("X") == 2


def test_registering_twice_changes_nothing() -> None:
    before = dict(gymnasium.registry)
    ttt_env.register_envs()
    assert gymnasium.registry == before


def test_spec_survives_pickling() -> None:
    spec = ttt_env.make("mnk-v0", m=4, n=3, k=3, opponent="random").spec
    assert gymnasium.make(pickle.loads(pickle.dumps(spec))).unwrapped.game.shape == (3, 4)


T, CORNERS = "tictactoe-v0", ttt_env.Game("corners", (2, 2), [(0, 3), (1, 2)])
BAD_NAMES: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ("tictactoe-v1", {}, errors.UnknownGameError, "did you mean tictactoe-v0"),
    (3, {}, errors.UnknownGameError, "not 3"),
    (T, {"opponent": "minmax"}, errors.UnknownAgentError, "did you mean minimax"),
    (T, {"opponent": 3}, errors.UnknownAgentError, "not 3"),
    (T, {"opponent": ["random", "randon"]}, errors.UnknownAgentError, "did you mean random"),
    (T, {"opponent": []}, errors.ParameterError, "at least one"),
    (T, {"ilegal": "lose"}, errors.ParameterError, "did you mean illegal"),
    (T, {"opponent": "random", "playas": "X"}, errors.ParameterError, "did you mean play_as"),
    ("mnk-v0", {"kk": 3}, errors.ParameterError, "did you mean k"),
    (T, {"m": 3}, errors.ParameterError, "'m'"),
    (CORNERS, {"misere": True}, errors.ParameterError, "'misere'"),
    (T, {"max_cycles": 9}, errors.ParameterError, "'max_cycles'"),
    (
        T,
        {"play_as": "X"},
        errors.ParameterError,
        r"play_as='X' needs an opponent, .*make\('tictactoe-v0', opponent='random', play_as='X'\)",
    ),
    (T, {"opponent_weights": [1, 2]}, errors.ParameterError, r"opponent_weights=\[1, 2\] needs an opponent"),
    (T, {"opponnent": "random"}, errors.ParameterError, "mean opponent"),
    (T, {"opponent": "random", "game": "x"}, errors.ParameterError, "'game'"),
]


@pytest.mark.parametrize(("id", "settings", "error", "text"), BAD_NAMES)
def test_unknown_names_are_refused(
    id: Any, settings: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        ttt_env.make(id, **settings)


BAD_REWARDS: list[Any] = [
    *((1, 0, -1), {"wim": 1}, {"win": "much"}, "1000", {1, 2, 3, 4}, {"win": float("inf")}),
    *({"win": float("nan")}, {"win": 10**400}, None),
]
BAD_VALUES: list[dict[str, Any]] = [
    {"opponent": "random", "play_as": "x"},
    *({"illegal": "los"}, {"observation": "plane"}, {"render_mode": "rgb"}, {"misere": "yes"}),
    *({"rewards": rewards} for rewards in BAD_REWARDS),
    *({"id": "mnk-v0", "m": 3.0}, {"id": "mnk-v0", "m": 0}),
]


def test_bad_values_are_refused() -> None:
    all_raise(errors.ParameterError, "", lambda it: ttt_env.make(**{"id": "tictactoe-v0", **it}), BAD_VALUES)


def test_other_constructors_suggest_nearest_parameter() -> None:
    for caught in (ValueError, TypeError):
        with pytest.raises(caught, match="did you mean observation"):
            ttt_env.tictactoe_v0.env(obseration="dict")
        with pytest.raises(caught, match="did you mean observation"):
            gymnasium.make("ttt_env/tictactoe-v0", obseration="dict")


@pytest.mark.parametrize("opponent", [None, "random"])
def test_bad_starts_are_refused(opponent: str | None) -> None:
    starts: list[Any] = [
        ttt_env.get_game("square-v0").start,
        ttt_env.get_game("tictactoe-v0", misere=True).start,
        ttt_env.Position.parse("XXX/OO./..."),
        ttt_env.Position(ttt_env.get_game("tictactoe-v0"), 0b111, 0),
        *(0, False, ()),
    ]
    make = partial(ttt_env.make, "tictactoe-v0", opponent=opponent)
    all_raise(errors.ImpossiblePositionError, "", lambda start: make(start=start), starts)
