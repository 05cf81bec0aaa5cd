"""Training for the RLlib scripts of this folder: on this machine alone, until nothing beats the agent."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import ray
import torch
from outcome import is_unbeatable
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import ttt_env


def ppo(learning_rate: float, entropy: float) -> PPOConfig:
    """PPO on 64 games in this process; its environment and its module are to be added."""
    return (
        PPOConfig()
        .env_runners(num_env_runners=0, num_envs_per_env_runner=64)
        .training(
            train_batch_size_per_learner=4096,
            minibatch_size=512,
            num_epochs=8,
            lr=learning_rate,
            gamma=1.0,
            lambda_=0.95,
            entropy_coeff=entropy,
        )
        .debugging(seed=0, log_level="ERROR")
    )


def masking() -> RLModuleSpec:
    """RLlib's module that masks actions."""
    layers = {
        "fcnet_hiddens": [128, 128],
        "head_fcnet_hiddens": [64, 64],
        "head_fcnet_activation": "relu",
        "vf_share_layers": False,
    }
    return RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config=layers)


@contextmanager
def local_ray() -> Iterator[str]:
    """Ray on two cores of this machine without web page and statistics, and a folder for what is written.

    Neither a process of it nor the folder is left at the end.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with TemporaryDirectory(prefix="rllib") as folder:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        try:
            yield folder
        finally:
            ray.shutdown()


@contextmanager
def trainer(config: AlgorithmConfig) -> Iterator[Algorithm]:
    """The algorithm of a configuration, which trains in this process."""
    torch.set_num_threads(1)  # for networks this small more threads only wait for each other
    with local_ray():
        algorithm = config.build_algo()
        try:
            yield algorithm
        finally:
            algorithm.stop()
            shutil.rmtree(algorithm.logdir)


def train_until_unbeatable(algorithm: Algorithm, agent: ttt_env.Agent, iterations: int) -> None:
    """Train until the agent that plays as the algorithm's module is unbeatable, which is computed."""
    for _ in range(iterations):
        moves = algorithm.train()["num_env_steps_sampled_lifetime"]
        if is_unbeatable(agent, f"{moves:,.0f} moves"):
            return
