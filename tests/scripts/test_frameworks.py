"""The environments under the checkers, wrappers and learners of PettingZoo, Gymnasium and SB3."""

import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TransformReward
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env as sb3_check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

import ttt_env
from tests.support.games import lowest
from tests.support.marks import slow
from ttt_env.envs.board import BoardEnv
from ttt_env.rules.catalogue import CATALOGUE

with warnings.catch_warnings():
    # api_test creates a game of PettingZoo in the way that PettingZoo 1.27 deprecates.
    warnings.filterwarnings("ignore", "The old environment creation API has been", DeprecationWarning)
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test

GAMES: dict[str, dict[str, Any]] = {
    **{id: {"id": id} for id in CATALOGUE},
    **{f"{id} misere": {"id": id, "misere": True} for id in CATALOGUE},
    "64 cells": {"id": "mnk-v0", "m": 8, "n": 8, "k": 5},
    "a user's own": {"id": ttt_env.Game("corners", (2, 3), [(0, 2, 3, 5), (1, 4)])},
    "one axis": {"id": ttt_env.Game("row", (5,), [(0, 1), (2, 3, 4)], misere=True)},
    "columns": {"id": "connect-four-v0"},
}
KINDS = ["planes", "dict", "flat"]
# Every game with one kind of observation, every kind with a plain game; the slow tests have all products.
CASES = [
    pytest.param(
        {**game, "observation": kind},
        id=f"{name.replace(' ', '_')}-{kind}",
        marks=[pytest.mark.slow] * (kind != KINDS[number % 3] and name != "tictactoe-v0"),
    )
    for number, (name, game) in enumerate(GAMES.items())
    for kind in KINDS
]

# The warnings of PettingZoo's api_test about every environment of this kind, and why they stay.
API_TEST_WARNINGS = {
    # The players are called X and O, as everyone calls them.
    'We recommend agents to be named in the format <descriptor>_<number>, like "player_0"',
    # An empty board has no stones.
    "Observation numpy array is all zeros.",
    # observation="dict" is PettingZoo's own form for games with illegal moves; api_test exempts its own games
    # by name.
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
    # Qubic has three axes, and the planes are the fourth.
    "Observation has more than 3 dimensions",
}

# The warnings of SB3's check_env about boards. `{}` is the key of a dict observation. Learners flatten
# boards; they are not pictures for a CnnPolicy.
SB3_WARNINGS = {
    "It seems that your observation {} is an image but its `dtype` is (int8) whereas it has to be "
    "`np.uint8`. "
    "If your observation is not an image, we recommend you to flatten the observation to have only a 1D "
    "vector",
    "It seems that your observation space {} is an image but the upper and lower bounds are not in [0, 255]. "
    "Because the CNN policy normalize automatically the observation you may encounter issue if the values "
    "are not in that range.",
    "The minimal resolution for an image is 36x36 for the default `CnnPolicy`. You might need to use a "
    "custom features extractor cf. https://stable-baselines3.readthedocs.io/en/master/guide/custom_policy.html",
    # Boards of one or three axes.
    "Your observation {} has an unconventional shape (neither an image, nor a 1D vector). We recommend you "
    "to flatten the observation to have only a 1D vector or use a custom policy to properly process the "
    "data.",
}


@pytest.fixture(params=CASES)
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The parameters of `make`: a game, and a kind of observation."""
    return dict(request.param)


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """A display that shows nothing, and windows that do not wait for a viewer."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(BoardEnv.metadata, "render_fps", 10_000)


@contextmanager
def ignoring(texts: set[str], key: str = "") -> Iterator[None]:
    """Ignore warnings of exactly these texts; other warnings stay errors."""
    with warnings.catch_warnings():
        for text in texts:
            warnings.filterwarnings("ignore", re.escape(text.replace("{}", key)) + r"\Z", UserWarning)
        yield


def warnings_of(check: Callable[[], object]) -> set[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check()
    return {str(warning.message) for warning in caught}


class TestPettingZoo:
    def test_api(self, settings: dict[str, Any]) -> None:
        with ignoring(API_TEST_WARNINGS):
            api_test(ttt_env.make(**settings), num_cycles=1000)

    def test_seed(self, settings: dict[str, Any]) -> None:
        seed_test(lambda: ttt_env.make(**settings, illegal="resample"))

    def test_render(self, settings: dict[str, Any], no_display: None) -> None:
        render_test(lambda render_mode: ttt_env.make(**settings, render_mode=render_mode))

    def test_pettingzoo_wrappers(self, settings: dict[str, Any]) -> None:
        wrapped = TerminateIllegalWrapper(ttt_env.make(**settings), illegal_reward=-1)
        with ignoring(API_TEST_WARNINGS):
            api_test(OrderEnforcingWrapper(AssertOutOfBoundsWrapper(wrapped)))


def test_recommended_agent_names_give_no_warning() -> None:
    expected = API_TEST_WARNINGS - {next(text for text in API_TEST_WARNINGS if "player_0" in text)}
    with ignoring(expected):
        api_test(ttt_env.make("tictactoe-v0", agent_names=("player_0", "player_1")), num_cycles=100)


def test_each_ignored_api_test_warning_occurs() -> None:
    qubic = [partial(api_test, ttt_env.make("qubic-v0", observation=kind)) for kind in KINDS]
    assert set.union(*map(warnings_of, qubic)) == API_TEST_WARNINGS


class TestPettingZooParallel:
    def test_api(self, settings: dict[str, Any]) -> None:
        parallel_api_test(ttt_env.make(**settings, api="parallel"), num_cycles=100)

    @pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
    def test_seed(self, game: dict[str, Any]) -> None:
        parallel_seed_test(lambda: ttt_env.make(**game, illegal="resample", api="parallel"))

    @pytest.mark.parametrize("id", CATALOGUE)
    def test_parallel_constructors(self, id: str) -> None:
        module = getattr(ttt_env, id.replace("-", "_"))
        envs = [module.parallel_env()]
        if hasattr(pettingzoo, "make"):  # from 1.27 on
            envs.append(pettingzoo.make("parallel", f"ttt_env/{id}"))
        for env in envs:
            assert isinstance(env, pettingzoo.ParallelEnv) and env.reset()[0].keys() == {"X", "O"}

    @pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
    def test_parallel_games_equal_aec_games(self, game: dict[str, Any]) -> None:
        """In each step one agent has free cells, and the action of the other agent changes nothing."""
        both, turns = ttt_env.make(**game, api="parallel"), ttt_env.make(**game)
        rng = np.random.default_rng(0)
        observations, infos = both.reset(seed=0)
        turns.reset(seed=0)
        while both.agents:
            mover = turns.agent_selection
            for name in both.agents:
                mask = observations[name]["action_mask"]
                assert mask.any() == (name == mover) and np.array_equal(mask, infos[name]["action_mask"])
            cell = int(rng.choice(np.flatnonzero(observations[mover]["action_mask"])))
            observations, rewards, terminated, _, infos = both.step({"X": 0, "O": 0, mover: cell})
            turns.step(cell)
            assert rewards == turns.rewards and terminated == turns.terminations
            assert all(
                np.array_equal(observations[name]["observation"], turns.observe(name)["observation"])
                for name in "XO"
            )
        assert all(turns.terminations.values())

    def test_parallel_env_refuses_opponent(self) -> None:
        with pytest.raises(ttt_env.errors.ParameterError, match="takes no opponent"):
            ttt_env.make("tictactoe-v0", "random", api="parallel")  # type: ignore[call-overload]
        with pytest.raises(ttt_env.errors.ParameterError, match="paralel"):
            ttt_env.make("tictactoe-v0", api="paralel")  # type: ignore[call-overload]


class TestGymnasium:
    def test_check_env(self, settings: dict[str, Any], no_display: None) -> None:
        check_env(ttt_env.make(**settings, opponent="random"))

    @pytest.mark.parametrize("id", CATALOGUE)
    def test_gymnasium_make_gives_same_game(self, id: str) -> None:
        for misere in (False, True):
            env = gymnasium.make(f"ttt_env/{id}", opponent="random", misere=misere).unwrapped
            assert env.game == ttt_env.get_game(id, misere=misere)

    @pytest.mark.slow
    def test_gymnasium_make_imports_package_on_request(self) -> None:
        script = """
import gymnasium
env = gymnasium.make("ttt_env:ttt_env/tictactoe-v0", opponent="minimax", play_as="O")
env.reset(seed=1)
print(env.unwrapped.position.ply, env.unwrapped.seat)
"""
        run = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True)
        assert (run.stdout, run.stderr) == ("1 O\n", "")

    def test_masks_and_statistics_pass_through_wrappers(self) -> None:
        inner = gymnasium.make("ttt_env/tictactoe-v0", opponent=lowest, play_as="X")
        env = RecordEpisodeStatistics(TransformReward(FlattenObservation(inner), lambda reward: reward * 2))
        env.reset(seed=0)
        env.step(6)
        taken = [False, True, True, True, True, True, False, True, True]
        assert env.get_wrapper_attr("action_masks")().tolist() == taken
        assert get_action_masks(env).tolist() == taken
        env.step(7)  # O answers 0 and 1
        info = env.step(8)[4]
        assert info["episode"]["r"] == 2.0 and info["episode"]["l"] == 3

    def test_vector_env_stacks_masks_and_resets_only_done_games(self) -> None:
        envs = gymnasium.make_vec("ttt_env/tictactoe-v0", 2, "sync", opponent=lowest, play_as="X")
        envs.reset(seed=0)
        infos = envs.step(np.array([6, 8]))[4]
        free = [[c not in (0, cell) for c in range(9)] for cell in (6, 8)]
        assert infos["action_mask"].tolist() == free
        envs.step(np.array([7, 4]))
        # 6 7 8 is a row, 8 4 3 is not: O has 0 1 2
        _, rewards, terminated, _, _ = envs.step(np.array([8, 3]))
        assert rewards.tolist() == [1.0, -1.0] and terminated.all()
        observations, _, terminated, _, _ = envs.step(np.array([0, 0]))
        assert not observations.any() and not terminated.any()

    @pytest.mark.parametrize(
        "env",
        [
            ttt_env.make("mnk-v0", m=4, n=3, k=3, opponent="random", play_as="O", observation="dict"),
            ttt_env.make(ttt_env.Game("corners", (2, 2), [(0, 3)]), opponent="random", play_as="O"),
            gymnasium.make("ttt_env/square-v0", n=3, opponent="random", play_as="O").unwrapped,
        ],
        ids=lambda env: env.game.name,
    )
    def test_spec_makes_env_again(self, env: ttt_env.envs.single.SingleAgentEnv) -> None:
        again = gymnasium.make(env.spec).unwrapped
        assert (again.game, again.play_as) == (env.game, "O")
        assert again.observation_space == env.observation_space


class TestStableBaselines:
    def test_check_env(self, settings: dict[str, Any]) -> None:
        env = ttt_env.make(**settings, opponent="random")
        with ignoring(SB3_WARNINGS, key="observation" if settings["observation"] == "dict" else ""):
            sb3_check_env(env)

    def test_check_env_finds_nothing_with_flat_observations(self, settings: dict[str, Any]) -> None:
        sb3_check_env(FlattenObservation(ttt_env.make(**settings, opponent="random")))


def test_each_ignored_sb3_warning_occurs() -> None:
    envs = [ttt_env.make(id, opponent="random") for id in ("tictactoe-v0", "qubic-v0")]
    texts = set.union(*(warnings_of(partial(sb3_check_env, env)) for env in envs))
    assert texts == {text.replace("{}", "") for text in SB3_WARNINGS}


def monitored(**settings: Any) -> gymnasium.Env[Any, Any]:
    """An environment inside SB3's own wrapper, through which masks must be found."""
    return Monitor(ttt_env.make("tictactoe-v0", opponent="random", **settings))


def learn(learner: type[PPO] | type[MaskablePPO], envs: VecEnv, kind: str = "planes") -> Any:
    policy = "MultiInputPolicy" if kind == "dict" else "MlpPolicy"
    try:
        return learner(policy, envs, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu").learn(128)
    finally:
        envs.close()


@pytest.mark.parametrize("vector", [DummyVecEnv, slow(SubprocVecEnv)])
class TestLearning:
    @pytest.mark.parametrize("kind", ["planes", "dict", "flat"])
    @pytest.mark.slow
    def test_masked_learner_makes_no_illegal_moves(self, vector: type[VecEnv], kind: str) -> None:
        envs = vector([partial(monitored, illegal="raise", observation=kind)] * 2)
        assert learn(MaskablePPO, envs, kind).num_timesteps == 128

    def test_unmasked_learner_learns_from_illegal_moves(self, vector: type[VecEnv]) -> None:
        assert learn(PPO, vector([monitored] * 2)).num_timesteps == 128
        if vector is DummyVecEnv:  # in the other kind an error ends the process
            with pytest.raises(ttt_env.IllegalMoveError):
                learn(PPO, vector([partial(monitored, illegal="raise")] * 2))

    def test_masks_and_set_opponent_work_through_vector_env(self, vector: type[VecEnv]) -> None:
        start = ttt_env.Position.parse("XO./.../...")
        envs = vector([partial(monitored, play_as="X", start=start)] * 2)
        envs.env_method("set_opponent", lowest)
        envs.reset()
        assert get_action_masks(envs).tolist() == [[False] * 2 + [True] * 7] * 2
        planes, _, _, _ = envs.step([8, 8])
        assert planes[:, 0, 2, 1].tolist() == [1, 1]
        envs.close()
