"""Stable-Baselines3 and sb3-contrib, in the ways of their documentation, until MaskablePPO is unbeatable.

The ways are those of https://stable-baselines3.readthedocs.io (guide/examples, guide/vec_envs) and of
https://sb3-contrib.readthedocs.io (modules/ppo_mask): `check_env`, `make_vec_env` by an id, in one process
and in several, `VecNormalize`, `ActionMasker`, and with masks `MaskableEvalCallback` and `evaluate_policy`.
The last way has this package's own `make_vec_env` and callback: many games in one environment, opponents that
are the learner's past selves and the best responses to it, and an end as soon as it is certified.

A `VecEnv` begins the next episode in the step that ends the last one: the autoreset mode "same_step".
"""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "ttt-env[train]", "stable-baselines3==2.9.2", "sb3-contrib==2.9.2", "gymnasium==1.4.0", "torch==2.13.0",
# ]
# ///

import tempfile

import gymnasium as gym
import numpy as np
import torch
from outcome import assert_unbeatable
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked
from sb3_contrib.common.maskable.utils import get_action_masks
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import SubprocVecEnv, VecNormalize

import ttt_env  # ttt_env
from ttt_env.training import SelfPlayCallback, StartDistribution  # ttt_env

ID = "ttt_env/tictactoe-v0"  # ttt_env
SETTINGS = {"opponent": "random", "observation": "flat"}  # ttt_env
N_STEPS = 2_000  # of each way before the last: enough to see that it runs


def mask_fn(env: gym.Env) -> np.ndarray:
    """The legal cells, as the documentation of MaskablePPO hands them to `ActionMasker`."""
    return env.unwrapped.action_masks()  # ttt_env


def by_id() -> None:
    """PPO by the id of an environment, as in the quickstart."""
    vec_env = make_vec_env(ID, n_envs=4, seed=0, env_kwargs=SETTINGS)  # ttt_env
    model = PPO("MlpPolicy", vec_env, n_steps=128, seed=0, device="cpu").learn(N_STEPS)
    mean, _ = evaluate_policy(model, vec_env, n_eval_episodes=50)
    print(f"PPO by id: mean return {mean:+.2f}")


def in_processes() -> None:
    """DQN on environments in processes of their own, which draw numbers of their own."""
    vec_env = make_vec_env(ID, n_envs=2, seed=0, env_kwargs=SETTINGS, vec_env_cls=SubprocVecEnv)  # ttt_env
    model = DQN("MlpPolicy", vec_env, learning_starts=100, seed=0, device="cpu").learn(N_STEPS)
    mean, _ = evaluate_policy(model, vec_env, n_eval_episodes=50)
    print(f"DQN in processes: mean return {mean:+.2f}")
    vec_env.close()


def normalized() -> None:
    """PPO with running averages of observations and rewards."""
    vec_env = VecNormalize(make_vec_env(ID, n_envs=4, seed=0, env_kwargs=SETTINGS))  # ttt_env
    model = PPO("MlpPolicy", vec_env, n_steps=128, seed=0, device="cpu").learn(N_STEPS)
    mean, _ = evaluate_policy(model, vec_env, n_eval_episodes=50)
    print(f"PPO, normalised: mean return {mean:+.2f}")


def masked() -> None:
    """MaskablePPO with a callback that evaluates it now and then.

    `ActionMasker` is the documentation's way; without it, as in `eval_env`, MaskablePPO finds the same masks.
    """
    env = gym.make(ID, **SETTINGS)  # ttt_env
    check_env(env)
    eval_env = Monitor(gym.make(ID, **SETTINGS, illegal="raise"))  # ttt_env
    with tempfile.TemporaryDirectory() as folder:
        callback = MaskableEvalCallback(
            eval_env, eval_freq=1_000, n_eval_episodes=20, best_model_save_path=folder, verbose=0
        )
        model = MaskablePPO("MlpPolicy", ActionMasker(env, mask_fn), n_steps=256, seed=0, device="cpu")
        model.learn(N_STEPS, callback=callback)
        model = MaskablePPO.load(f"{folder}/best_model", device="cpu")
    mean, _ = evaluate_masked(model, eval_env, n_eval_episodes=50)
    print(f"MaskablePPO: mean return {mean:+.2f}")
    observation, _ = eval_env.reset(seed=0)
    ended = False
    while not ended:
        action, _ = model.predict(observation, action_masks=get_action_masks(eval_env))
        observation, reward, terminated, truncated, _ = eval_env.step(action)
        ended = terminated or truncated
    print(f"MaskablePPO, one game: {reward:+.0f}")


def unbeatable() -> MaskablePPO:
    """MaskablePPO on the vector environment, until it is certified."""
    game, start = "tictactoe-v0", StartDistribution("tictactoe-v0")  # ttt_env
    vec_env = ttt_env.envs.sb3.make_vec_env(game, 64, seed=0, observation="flat", start=start)  # ttt_env
    model = MaskablePPO(
        "MlpPolicy",
        vec_env,
        n_steps=64,
        batch_size=1024,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=1.0,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [128, 128]},
        seed=0,
        device="cpu",
    )
    return model.learn(3_000_000, callback=SelfPlayCallback())  # ttt_env


def main() -> None:
    """Go all the ways, and print what the model of the last one is worth."""
    torch.set_num_threads(1)  # for networks this small more threads only wait for each other
    for way in (by_id, in_processes, normalized, masked):
        way()
    agent = ttt_env.make_agent(unbeatable())  # ttt_env
    packages = ["stable-baselines3", "sb3-contrib", "gymnasium", "torch"]
    assert_unbeatable(agent, packages)


if __name__ == "__main__":
    main()
