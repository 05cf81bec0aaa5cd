"""RLlib's PPO with its action-masking module against minimax, on the package's vector environment.

Follows RLlib's example of action masks:
https://github.com/ray-project/ray/blob/master/rllib/examples/rl_modules/action_masking_rl_module.py

What differs: the environment is the package's vector environment, which RLlib steps as it is with
`gym_env_vectorize_mode="vector_entry_point"`. RLlib's module wants the observation under the key
`observations`, and its networks a vector of floating-point numbers. Games begin in all kinds of positions,
and minimax punishes every mistake in them, so what is learned holds against every opponent. The training
ends when the module's greedy policy is unbeatable.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[torch]", "ray[rllib]==2.60.0", "gymnasium==1.2.2"]
# ///

from functools import partial

import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from gymnasium.wrappers.vector import TransformObservation
from outcome import outcome
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env
from rllib_local import train_until_unbeatable, trainer

import ttt_env  # ttt_env

GAME = ttt_env.get_game("tictactoe-v0")  # ttt_env
SPACE = Dict(observations=Box(0.0, 1.0, (18,)), action_mask=Box(0, 1, (9,), np.int8))  # ttt_env


def as_module_wants(seen):  # ttt_env
    """The observations of the environments, as RLlib's module reads them."""
    planes = seen["observation"].reshape(-1, 18).astype(np.float32)  # ttt_env
    return {"observations": planes, "action_mask": seen["action_mask"]}  # ttt_env


def against_minimax(config):  # ttt_env
    """The vector environment."""
    start = partial(ttt_env.random_position, GAME)  # ttt_env
    envs = ttt_env.make_vec(GAME, config["num_envs"], "minimax", start=start, observation="dict")  # ttt_env
    return TransformObservation(envs, as_module_wants, single_observation_space=SPACE)  # ttt_env


def greedy_agent(module):  # ttt_env
    """The agent that plays the likeliest cell of a module."""

    def logits(flat):  # ttt_env
        seen = {"observations": torch.as_tensor(flat), "action_mask": torch.ones(len(flat), 9)}  # ttt_env
        return module.forward_inference({"obs": seen})["action_dist_inputs"]  # ttt_env

    return ttt_env.make_agent(logits, GAME, observation="flat")  # ttt_env


def ppo():
    """The configuration of the training."""
    return (
        PPOConfig()
        .environment("against_minimax")  # ttt_env
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=64,
            gym_env_vectorize_mode="vector_entry_point",  # ttt_env
        )
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule,
                model_config={
                    "fcnet_hiddens": [128, 128],
                    "head_fcnet_hiddens": [64, 64],
                    "head_fcnet_activation": "relu",
                    "vf_share_layers": False,
                },
            ),
        )
        .training(
            train_batch_size_per_learner=4096,
            minibatch_size=512,
            num_epochs=8,
            lr=1e-3,
            gamma=1.0,
            lambda_=0.95,
            entropy_coeff=0.01,
        )
        .debugging(seed=0, log_level="ERROR")
    )


def main():
    """Train until unbeatable."""
    register_env("against_minimax", against_minimax)  # ttt_env
    with trainer(ppo()) as algorithm:
        agent = greedy_agent(algorithm.get_module())  # ttt_env
        train_until_unbeatable(algorithm, agent, iterations=30)
        certificate = outcome(agent, ["ray", "gymnasium"], autoreset="next_step")
    assert certificate.unbeatable


if __name__ == "__main__":
    main()
