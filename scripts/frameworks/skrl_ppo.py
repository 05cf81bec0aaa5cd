"""PPO of skrl, taught by its own trainer until its moves are certified unbeatable.

This follows skrl's example of PPO with discrete actions, torch_cartpole_direct_box_discrete_ppo.py in the
folder examples/isaaclab of https://github.com/Toni-SM/skrl, with the environment of its Gymnasium examples:
`make_vec` and `wrap_env`. What differs: the environment, a mask for the logits of taken cells, and a loop
that lets the trainer go on in parts, between which the best response to the learner joins its opponents. The
model itself masks the cells that the observation shows as taken: skrl gives it no infos.

Where an episode ends, skrl's PPO takes the next observation for the first one of a new episode, so it wants
the autoreset mode "same_step".
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "skrl==2.1.1", "gymnasium==1.4.0", "torch==2.13.0"]
# [tool.frameworks]
# teacher = "solver"
# ///

from collections import deque
from typing import Any

import torch
import torch.nn as nn
from outcome import MakeEnv, Report, assert_unbeatable, learned
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model
from skrl.trainers.torch import SequentialTrainer
from skrl.utils import set_seed

import ttt_env  # ttt_env
from ttt_env.training import StartDistribution  # ttt_env

ROLLOUTS, PARTS, OPPONENTS = 32, 60, ["random", "minimax"]  # ttt_env


def network(n_inputs: int, n_outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(n_inputs, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, n_outputs)
    )


class Policy(CategoricalMixin, Model):
    """The probabilities of the cells."""

    def __init__(self, env: Any) -> None:
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space)
        CategoricalMixin.__init__(self, unnormalized_log_prob=True)
        self.net = network(self.num_observations, self.num_actions)

    def compute(self, inputs: dict[str, torch.Tensor], role: str) -> tuple[torch.Tensor, dict[str, Any]]:
        """Logits, `[B, cells]`."""
        taken = inputs["observations"].unflatten(1, (-1, 2)).any(2)  # ttt_env
        return self.net(inputs["observations"]).masked_fill(taken, -1e8), {}  # ttt_env


class Value(DeterministicMixin, Model):
    """The critic: the values of the positions."""

    def __init__(self, env: Any) -> None:
        Model.__init__(self, observation_space=env.observation_space, action_space=env.action_space)
        DeterministicMixin.__init__(self)
        self.net = network(self.num_observations, 1)

    def compute(self, inputs: dict[str, torch.Tensor], role: str) -> tuple[torch.Tensor, dict[str, Any]]:
        """Values, `[B, 1]`."""
        return self.net(inputs["observations"]), {}


def train(make_env: MakeEnv, seed: int, report: Report) -> ttt_env.Agent:
    """The agent, taught until the report says that it is enough."""
    set_seed(seed)
    torch.set_num_threads(1)  # for networks this small more threads only wait for each other
    envs = make_env(  # ttt_env
        num_envs=128,
        opponent=OPPONENTS,  # ttt_env
        observation="flat",  # ttt_env
        start=StartDistribution(make_env.game),  # ttt_env
        autoreset_mode="same_step",  # ttt_env
    )
    env = wrap_env(envs, verbose=False)
    models = {"policy": Policy(env), "value": Value(env)}
    player = ttt_env.make_agent(models["policy"].net, make_env.game, observation="flat")  # ttt_env

    cfg = PPO_CFG()
    cfg.rollouts = ROLLOUTS
    cfg.learning_epochs = 8
    cfg.mini_batches = 4
    cfg.discount_factor = 1.0
    cfg.learning_rate = 2e-3
    cfg.grad_norm_clip = 0.5
    cfg.ratio_clip = 0.2
    cfg.entropy_loss_scale = 0.01
    cfg.value_loss_scale = 0.5
    cfg.experiment.write_interval = 0
    cfg.experiment.checkpoint_interval = 0
    agent = PPO(
        models=models,
        memory=RandomMemory(memory_size=ROLLOUTS, num_envs=env.num_envs),
        cfg=cfg,
        observation_space=env.observation_space,
        action_space=env.action_space,
    )
    cfg_trainer = {
        "timesteps": 5 * ROLLOUTS,
        "headless": True,
        "disable_progressbar": True,
        "close_environment_at_exit": False,
    }
    trainer = SequentialTrainer(cfg=cfg_trainer, env=env, agents=agent)

    responses = deque(maxlen=4)  # ttt_env
    for part in range(1, PARTS + 1):  # ttt_env
        trainer.train()
        print(f"{part * 5 * ROLLOUTS * env.num_envs:,} steps")
        if report(player):  # ttt_env
            break  # ttt_env
        responses.append(ttt_env.best_response(player))  # ttt_env
        envs.unwrapped.set_opponent([*OPPONENTS, *responses])  # ttt_env
    env.close()
    return player


if __name__ == "__main__":
    assert_unbeatable(learned(train, seed=1), ["skrl", "gymnasium", "torch"])
