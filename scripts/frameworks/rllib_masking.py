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

from outcome import assert_unbeatable
from ray.tune.registry import register_env
from rllib_local import masking, ppo, train_until_unbeatable, trainer

import ttt_env  # ttt_env
from ttt_env.integrations.rllib import module_agent, vector_env  # ttt_env

GAME = ttt_env.get_game("tictactoe-v0")  # ttt_env
CONFIG = {"game": GAME, "opponent": "minimax", "start": partial(ttt_env.random_position, GAME)}  # ttt_env


def config():
    """The configuration of the training."""
    return (
        ppo(learning_rate=1e-3, entropy=0.01)
        .environment("ttt_env", env_config=CONFIG)  # ttt_env
        .env_runners(gym_env_vectorize_mode="vector_entry_point")  # ttt_env
        .rl_module(rl_module_spec=masking())
    )


def main():
    """Train until unbeatable."""
    register_env("ttt_env", vector_env)  # ttt_env
    with trainer(config()) as algorithm:
        agent = module_agent(algorithm.get_module(), GAME)  # ttt_env
        train_until_unbeatable(algorithm, agent, iterations=30)
        assert_unbeatable(agent, ["ray", "gymnasium"])


if __name__ == "__main__":
    main()
