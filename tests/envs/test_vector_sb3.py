"""The vector environment under Stable-Baselines3."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

import ttt_env
from tests.support.games import NEAR_WIN, highest, lowest


def new_envs(n_envs: int = 3, seed: int | None = 0, **settings: Any) -> Any:
    settings = {"opponent": lowest, "play_as": "X", **settings}
    return ttt_env.envs.sb3.make_vec_env("tictactoe-v0", n_envs, seed, **settings)


def trajectory(envs: Any, n_steps: int = 20) -> str:
    rng = np.random.default_rng(0)
    outputs = [envs.reset().tolist()]
    for _ in range(n_steps):
        masks = np.stack(envs.env_method("action_masks"))
        observation, rewards, dones, _ = envs.step(np.argmax(masks * rng.random(masks.shape), axis=1))
        outputs.append((observation.tolist(), rewards.tolist(), dones.tolist()))
    return str(outputs)


def test_vec_env_has_spaces_of_single_env() -> None:
    envs = new_envs(render_mode="rgb_array")
    assert isinstance(envs, VecEnv) and envs.num_envs == 3
    single = ttt_env.make("tictactoe-v0", opponent="random")
    assert envs.observation_space == single.observation_space and envs.action_space == single.action_space
    assert all(envs.observation_space.contains(row) for row in envs.reset())
    assert envs.render().dtype == np.uint8 and len(envs.get_images()) == 3


def test_end_of_episode() -> None:
    envs = new_envs(2)
    envs.set_options({"position": NEAR_WIN})
    assert envs.reset().any()
    observation, rewards, dones, infos = envs.step(np.array([8, 2]))
    assert rewards.tolist() == [0.0, 1.0] and rewards.dtype == np.float32
    assert dones.tolist() == [False, True] and not observation[1].any()
    info = infos[1]
    assert info["terminal_observation"][0, :, 0].tolist() == [1, 1, 1]
    assert info["TimeLimit.truncated"] is False
    assert info["episode"]["r"] == 1.0 and info["episode"]["l"] == 1 and info["episode"]["t"] >= 0
    assert not envs.reset().any()  # options are used once
    envs.set_options([{"position": NEAR_WIN}, {}])
    with pytest.raises(ttt_env.errors.ParameterError, match="differ"):
        envs.reset()
    envs = new_envs(3, observation="dict")
    envs.set_options({"position": NEAR_WIN})
    envs.reset()
    infos = envs.step(np.array([2, 8, 2]))[3]
    for info in infos[0], infos[2]:
        observed = info["terminal_observation"]
        assert set(observed) == {"observation", "action_mask"} and observed["action_mask"].all()
        assert observed["observation"][0, :, 0].tolist() == [1, 1, 1]


def test_other_infos_are_empty_and_lengths_count_steps() -> None:
    envs = new_envs(2, illegal="lose")
    envs.reset()
    lengths = []
    for cells in ([4, 4], [5, 4], [5, 6], [8, 8]):
        _, _, dones, infos = envs.step(np.array(cells))
        assert all(bool(info) == bool(done) for info, done in zip(infos, dones, strict=True))
        lengths += [info["episode"]["l"] for info in infos if info]
    assert lengths == [2, 3]


def test_sb3_contrib_finds_masks() -> None:
    envs = new_envs()
    envs.reset()
    envs.step(np.array([4, 5, 6]))
    assert is_masking_supported(envs)
    assert (get_action_masks(envs) == envs.envs.action_masks()).all()
    assert envs.env_method("action_masks", indices=[1])[0].tolist() == envs.envs.action_masks()[1].tolist()
    assert is_masking_supported(VecNormalize(envs))


def test_attributes_of_sub_envs() -> None:
    envs = new_envs()
    envs.reset()
    assert envs.get_attr("seat") == ["X"] * 3 and str(envs.get_attr("position", 1)[0]) == ".../.../..."
    assert envs.get_attr("illegal", [0, 2]) == ["lose", "lose"]
    assert envs.get_attr("opponent", [1]) == envs.envs.opponents
    for name in ("seat", "illegal"):
        with pytest.raises(ttt_env.errors.ParameterError, match=r"indices=\[3\]: sub-envs 0 to 2"):
            envs.get_attr(name, [3])
    assert envs.has_attr("position") and not envs.has_attr("colour")
    envs.set_attr("illegal", "resample")
    assert envs.envs.illegal == "resample"
    with pytest.raises(AttributeError):
        envs.get_attr("colour")


def test_opponents_can_be_changed() -> None:
    envs = new_envs()
    envs.reset()
    envs.env_method("set_opponent", highest)
    envs.step(np.full(3, 4))
    assert [position.o_mask for position in envs.get_attr("position")] == [1 << 8] * 3
    envs.env_method("set_opponent", ["random", lowest], [0, 1])
    envs.step(np.full(3, 2))
    assert [position.o_mask for position in envs.get_attr("position")] == [1 << 8 | 1] * 3
    with pytest.raises(ttt_env.errors.ParameterError, match="all sub-envs"):
        envs.env_method("set_opponent", "random", indices=[0])


@pytest.mark.parametrize("settings", [{"opponent": None}, {"autoreset_mode": "next_step"}], ids=str)
def test_unsupported_settings_are_refused(settings: Any) -> None:
    with pytest.raises(ttt_env.errors.ParameterError):
        new_envs(**settings)


def test_seeds_and_copies_give_equal_games() -> None:
    settings: Any = {"opponent": ["random", "minimax"], "play_as": "random"}
    assert type(new_envs()) is type(new_envs()) is ttt_env.envs.sb3.GameVecEnv  # so the first is pickled too
    stories = [trajectory(new_envs(seed=seed, **settings)) for seed in (1, 1, 2)]
    assert stories[0] == stories[1] != stories[2]
    envs = new_envs(seed=1, **settings)
    for twin in (copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))):
        assert trajectory(twin) == stories[0]
    envs.seed(2)
    assert trajectory(envs) == stories[2]


def test_vec_monitor_and_vec_normalize() -> None:
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        monitored = VecMonitor(new_envs())
    envs: Any = VecNormalize(monitored)
    envs.reset()
    rng, episodes = np.random.default_rng(0), []
    for _ in range(20):
        _, _, _, infos = envs.step(rng.integers(9, size=3))
        episodes += [info["episode"] for info in infos if info]
    assert episodes and {episode["r"] for episode in episodes} <= {-1.0, 0.0, 1.0}
    assert all(1 <= episode["l"] <= 5 for episode in episodes)


@pytest.mark.parametrize(("kind", "policy"), [("planes", "MlpPolicy"), ("dict", "MultiInputPolicy")])
@pytest.mark.slow
def test_maskable_ppo_learns_without_illegal_moves(kind: str, policy: str) -> None:
    envs = new_envs(8, opponent="random", play_as="random", illegal="raise", observation=kind)
    model = MaskablePPO(policy, envs, n_steps=16, batch_size=64, n_epochs=2, device="cpu", seed=0)
    before = [parameter.clone() for parameter in model.policy.parameters()]
    model.learn(256)
    assert any((one != other).any() for one, other in zip(before, model.policy.parameters(), strict=True))
    assert model.num_timesteps == 256 and {episode["r"] for episode in model.ep_info_buffer} <= {-1, 0, 1}


def test_dqn_learns_and_is_evaluated_without_warnings() -> None:
    envs = new_envs(4, opponent="random", illegal="resample")
    model = DQN("MlpPolicy", envs, learning_starts=50, buffer_size=500, batch_size=16, device="cpu", seed=0)
    model.learn(100)
    mean, _ = evaluate_policy(model, envs, n_eval_episodes=8)
    assert -1 <= mean <= 1
