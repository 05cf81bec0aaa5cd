"""DQN in a single file, as CleanRL writes it, taught until its moves are certified unbeatable.

CleanRL is not a library: users copy one of its files and change it. This one follows `cleanrl/dqn.py`
(https://docs.cleanrl.dev/rl-algorithms/dqn/#dqnpy) in its order and its names, written anew and without its
logging. One vector environment takes the place of `SyncVectorEnv`; taken cells, which the observation shows,
are neither explored nor valued in a target; now and then the best response to the learner joins its
opponents. That file steps one environment and warns that it can do no more; here they are 64, and the replay
buffer is our own.

CleanRL asks for Gymnasium 0.29, whose vector environments give the first observation of a new episode in the
step that ends the last one. Since Gymnasium 1.0 that is the autoreset mode "same_step". Under a newer
Gymnasium CleanRL's own file runs once one line of it is changed, to `gym.make("ttt_env:ttt_env/tictactoe-v0",
opponent="random", observation="flat")`; the other marked lines are what makes its learner unbeatable.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "gymnasium==1.4.0", "torch==2.13.0"]
# [tool.frameworks]
# teacher = "solver"
# ///

from collections import deque
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from outcome import MakeEnv, Report, assert_unbeatable, learned

import ttt_env  # ttt_env
from ttt_env.training import StartDistribution  # ttt_env


@dataclass
class Args:
    """The names of `dqn.py`; a timestep is one of all environments."""

    total_timesteps: int = 8_000
    learning_rate: float = 1e-3
    num_envs: int = 64
    buffer_size: int = 100_000
    gamma: float = 1.0
    target_network_frequency: int = 50
    batch_size: int = 512
    start_e: float = 1.0
    end_e: float = 0.1
    exploration_fraction: float = 0.1
    learning_starts: int = 50
    train_frequency: int = 1


class QNetwork(nn.Module):
    """The action values of all cells."""

    def __init__(self, envs: gym.vector.VectorEnv) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(int(np.prod(envs.single_observation_space.shape)), 128),
            nn.ReLU(),
            nn.Linear(128, 128),
            nn.ReLU(),
            nn.Linear(128, int(envs.single_action_space.n)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Action values, `[B, cells]`, those of taken cells far below all others."""
        taken = x.unflatten(1, (-1, 2)).any(2)  # ttt_env
        return self.network(x).masked_fill(taken, -1e6)  # ttt_env


class ReplayBuffer:
    """The latest transitions of a batch of environments, in arrays."""

    def __init__(self, size: int, n_inputs: int) -> None:
        self.obs, self.next_obs = torch.zeros(size, n_inputs), torch.zeros(size, n_inputs)
        self.actions = torch.zeros(size, dtype=torch.long)
        self.rewards, self.dones = torch.zeros(size), torch.zeros(size)
        self.added = 0

    def add(self, *transitions: torch.Tensor) -> None:
        """Observations, next observations, actions, rewards, dones: one row for each environment."""
        rows = (self.added + torch.arange(len(transitions[0]))) % len(self.actions)
        for kept, new in zip(self._columns(), transitions, strict=True):
            kept[rows] = new
        self.added += len(rows)

    def sample(self, batch_size: int) -> list[torch.Tensor]:
        """As many transitions, drawn with replacement, in the order of `add`."""
        rows = torch.randint(min(self.added, len(self.actions)), (batch_size,))
        return [column[rows] for column in self._columns()]

    def _columns(self) -> tuple[torch.Tensor, ...]:
        return self.obs, self.next_obs, self.actions, self.rewards, self.dones


def train(make_env: MakeEnv, seed: int, report: Report) -> ttt_env.Agent:
    """The agent, taught until the report says that it is enough."""
    args = Args()
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # for networks this small more threads only wait for each other

    game, opponents = make_env.game, ["random", "minimax"]  # ttt_env
    seen, responses = {"observation": "flat", "autoreset_mode": "same_step"}, deque(maxlen=4)  # ttt_env
    how = {"opponent": opponents, "start": StartDistribution(game)}  # ttt_env
    envs = make_env(num_envs=args.num_envs, **how, **seen)  # ttt_env
    envs = gym.wrappers.vector.RecordEpisodeStatistics(envs)
    q_network, target_network = QNetwork(envs), QNetwork(envs)
    player = ttt_env.make_agent(q_network, game, observation="flat")  # ttt_env
    target_network.load_state_dict(q_network.state_dict())
    optimizer = torch.optim.Adam(q_network.parameters(), lr=args.learning_rate)
    rb = ReplayBuffer(args.buffer_size, envs.single_observation_space.shape[0])

    obs = torch.as_tensor(envs.reset(seed=seed)[0])
    for global_step in range(1, args.total_timesteps + 1):
        progress = global_step / (args.exploration_fraction * args.total_timesteps)
        epsilon = max(args.start_e + (args.end_e - args.start_e) * progress, args.end_e)
        with torch.no_grad():
            q_values = q_network(obs)
            drawn = torch.where(q_values > -1e6, torch.rand_like(q_values), -1.0)  # ttt_env
            explores = torch.rand(args.num_envs, 1) < epsilon
            actions = torch.where(explores, drawn, q_values).argmax(1)
        next_obs, rewards, terminations, truncations, _ = envs.step(actions.numpy())
        next_obs, ended = torch.as_tensor(next_obs), torch.as_tensor(terminations | truncations)
        rb.add(obs, next_obs, actions, torch.as_tensor(rewards).float(), ended.float())
        obs = next_obs

        if global_step > args.learning_starts and global_step % args.train_frequency == 0:
            b_obs, b_next_obs, b_actions, b_rewards, b_dones = rb.sample(args.batch_size)
            with torch.no_grad():
                target_max = target_network(b_next_obs).max(1).values
                td_target = b_rewards + args.gamma * target_max * (1 - b_dones)
            old_val = q_network(b_obs).gather(1, b_actions[:, None]).squeeze(1)
            loss = F.mse_loss(td_target, old_val)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if global_step % args.target_network_frequency == 0:
            target_network.load_state_dict(q_network.state_dict())
        if global_step % 200 == 0:
            steps = global_step * args.num_envs
            print(f"{steps:,} steps, mean return {np.mean(envs.return_queue):+.2f}")
            if report(player):  # ttt_env
                break  # ttt_env
            responses.append(ttt_env.best_response(player))  # ttt_env
            envs.unwrapped.set_opponent([*opponents, *responses])  # ttt_env
    envs.close()
    return player


if __name__ == "__main__":
    assert_unbeatable(learned(train, seed=1), ["gymnasium", "torch"])
