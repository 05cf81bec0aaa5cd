"""RLlib's PPO in multi-agent self-play, through a MultiAgentEnv of the two-player environment.

Follows RLlib's own tic-tac-toe and its example of action masks:
https://github.com/ray-project/ray/blob/master/rllib/examples/envs/classes/multi_agent/tic_tac_toe.py
https://github.com/ray-project/ray/blob/master/rllib/examples/rl_modules/action_masking_rl_module.py

What differs: rules, rewards and masks are those of the package, and games begin in all kinds of positions.
RLlib's environment checker runs first. A loss by the other's last move arrives at the loser; that is
checked before the training, also of RLlib's own wrapper `PettingZooEnv`. This wrapper leaves the
observation under the key `observation`, and the masking module wants `observations`, so the training steps
`MultiAgentGameEnv`. One module plays both seats, and the training ends when its greedy policy is
unbeatable.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[rllib]", "ray[rllib]==2.60.0", "gymnasium==1.2.2"]
# ///

from functools import partial

import numpy as np
from outcome import assert_unbeatable
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.utils.pre_checks.env import check_multiagent_environments
from rllib_local import masking, ppo, train_until_unbeatable, trainer

import ttt_env  # ttt_env
from ttt_env.integrations.rllib import MultiAgentGameEnv, module_agent  # ttt_env

GAME = ttt_env.get_game("tictactoe-v0")  # ttt_env
CONFIG = {"game": GAME, "start": partial(ttt_env.random_position, GAME)}  # ttt_env


def check_rewards(env):
    """Play at random and compare what the seats get with who has won."""
    rng = np.random.default_rng(0)
    board = env.env
    for game in range(200):
        observations, _ = env.reset(seed=game)
        got, is_over = dict.fromkeys("XO", 0.0), False
        while not is_over:
            ((seat, seen),) = observations.items()
            cell = rng.choice(np.flatnonzero(seen["action_mask"]))
            observations, rewards, over, _, _ = env.step({seat: cell})
            got = {seat: got[seat] + rewards.get(seat, 0.0) for seat in got}
            is_over = over["__all__"]
        winner = board.position.winner
        assert got == {seat: (seat == winner) - (winner not in (None, seat)) for seat in "XO"}


def main():
    """Train until unbeatable."""
    check_multiagent_environments(MultiAgentGameEnv(CONFIG))
    check_rewards(MultiAgentGameEnv(CONFIG))
    check_rewards(PettingZooEnv(ttt_env.make(GAME)))
    config = (
        ppo(learning_rate=2e-3, entropy=0.02)
        .environment(MultiAgentGameEnv, env_config=CONFIG)  # ttt_env
        .multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"both": masking()}))
    )
    with trainer(config) as algorithm:
        agent = module_agent(algorithm.get_module("both"), GAME)  # ttt_env
        train_until_unbeatable(algorithm, agent, iterations=30)
        assert_unbeatable(agent, ["ray", "gymnasium"])


if __name__ == "__main__":
    main()
