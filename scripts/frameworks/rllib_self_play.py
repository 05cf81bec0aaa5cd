"""RLlib's PPO in multi-agent self-play, through a MultiAgentEnv of the two-player environment.

Follows RLlib's own tic-tac-toe and its example of action masks:
https://github.com/ray-project/ray/blob/master/rllib/examples/envs/classes/multi_agent/tic_tac_toe.py
https://github.com/ray-project/ray/blob/master/rllib/examples/rl_modules/action_masking_rl_module.py

What differs: rules, rewards and masks are those of the package, and games begin in all kinds of positions.
A loss by the other's last move arrives at the loser; that is checked before the training, also of RLlib's
own wrapper `PettingZooEnv`. This wrapper leaves the observation under the key `observation`, and the
masking module wants `observations`, so the training steps `TwoPlayers`. One module plays both seats, and
the training ends when its greedy policy is unbeatable.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[torch]", "ray[rllib]==2.60.0", "gymnasium==1.2.2"]
# ///

from functools import partial

import numpy as np
import torch
from gymnasium.spaces import Box, Dict
from outcome import outcome
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from rllib_local import train_until_unbeatable, trainer

import ttt_env  # ttt_env

GAME = ttt_env.get_game("tictactoe-v0")  # ttt_env


class TwoPlayers(MultiAgentEnv):
    """Both players of a game: one acts at a time, and at the end both get their rewards."""

    def __init__(self, config):
        super().__init__()
        start = partial(ttt_env.random_position, GAME)  # ttt_env
        self.game = ttt_env.make(GAME, start=start, observation="flat")  # ttt_env
        self.agents = self.possible_agents = list(self.game.possible_agents)  # ttt_env
        mask = Box(0, 1, (GAME.n_cells,), np.int8)  # ttt_env
        self.observation_spaces = {  # ttt_env
            seat: Dict(observations=self.game.observation_space(seat), action_mask=mask)  # ttt_env
            for seat in self.agents  # ttt_env
        }  # ttt_env
        self.action_spaces = self.game.action_spaces  # ttt_env

    def reset(self, *, seed=None, options=None):
        """Start a game."""
        self.game.reset(seed=seed, options=options)  # ttt_env
        return self._seen_by(self.game.agent_selection), {}  # ttt_env

    def step(self, actions):
        """Play the cell of the seat to move; the other one sees the board next."""
        self.game.step(actions[self.game.agent_selection])  # ttt_env
        is_over = self.game.terminations[self.game.agent_selection]  # ttt_env
        seats = self.agents if is_over else [self.game.agent_selection]  # ttt_env
        rewards = {seat: self.game.rewards[seat] for seat in seats}  # ttt_env
        return self._seen_by(*seats), rewards, {"__all__": is_over}, {"__all__": False}, {}  # ttt_env

    def _seen_by(self, *seats):  # ttt_env
        masks = self.game.infos  # ttt_env
        return {seat: {"observations": self.game.observe(seat), **masks[seat]} for seat in seats}  # ttt_env


def check_rewards(env, games=200):
    """Play at random and compare what the seats get with who has won."""
    rng = np.random.default_rng(0)
    board = env.game if isinstance(env, TwoPlayers) else env.env
    for game in range(games):
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


def greedy_agent(module):  # ttt_env
    """The agent that plays the likeliest cell of a module."""

    def logits(flat):  # ttt_env
        seen = {"observations": torch.as_tensor(flat), "action_mask": torch.ones(len(flat), 9)}  # ttt_env
        return module.forward_inference({"obs": seen})["action_dist_inputs"]  # ttt_env

    return ttt_env.make_agent(logits, GAME, observation="flat")  # ttt_env


def main():
    """Train until unbeatable."""
    check_rewards(TwoPlayers({}))
    check_rewards(PettingZooEnv(ttt_env.make(GAME)))
    config = (
        PPOConfig()
        .environment(TwoPlayers)  # ttt_env
        .env_runners(num_env_runners=0, num_envs_per_env_runner=64)
        .multi_agent(policies={"both"}, policy_mapping_fn=lambda *_, **__: "both")
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(
                rl_module_specs={
                    "both": RLModuleSpec(
                        module_class=ActionMaskingTorchRLModule,
                        model_config={
                            "fcnet_hiddens": [128, 128],
                            "head_fcnet_hiddens": [64, 64],
                            "head_fcnet_activation": "relu",
                            "vf_share_layers": False,
                        },
                    )
                }
            )
        )
        .training(
            train_batch_size_per_learner=4096,
            minibatch_size=512,
            num_epochs=8,
            lr=2e-3,
            gamma=1.0,
            lambda_=0.95,
            entropy_coeff=0.02,
        )
        .debugging(seed=0, log_level="ERROR")
    )
    with trainer(config) as algorithm:
        agent = greedy_agent(algorithm.get_module("both"))  # ttt_env
        train_until_unbeatable(algorithm, agent, iterations=30)
        certificate = outcome(agent, ["ray", "gymnasium"])
    assert certificate.unbeatable


if __name__ == "__main__":
    main()
