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
# dependencies = ["ttt-env[rllib]", "ray[rllib]==2.60.0", "gymnasium==1.2.2"]
# ///

from functools import partial

from outcome import outcome
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env
from rllib_local import train_until_unbeatable, trainer

import ttt_env  # ttt_env
from ttt_env.integrations.rllib import module_agent, vector_env  # ttt_env

GAME = ttt_env.get_game("tictactoe-v0")  # ttt_env
CONFIG = {"game": GAME, "opponent": "minimax", "start": partial(ttt_env.random_position, GAME)}  # ttt_env


def ppo():
    """The configuration of the training."""
    return (
        PPOConfig()
        .environment("ttt_env", env_config=CONFIG)  # ttt_env
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
    register_env("ttt_env", vector_env)  # ttt_env
    with trainer(ppo()) as algorithm:
        agent = module_agent(algorithm.get_module(), GAME)  # ttt_env
        train_until_unbeatable(algorithm, agent, iterations=30)
        certificate = outcome(agent, ["ray", "gymnasium"], autoreset="next_step")
    assert certificate.unbeatable


if __name__ == "__main__":
    main()
