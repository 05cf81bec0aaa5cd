"""PPO in a single file, as CleanRL writes it, taught until its moves are certified unbeatable.

This follows `cleanrl/ppo.py` (https://docs.cleanrl.dev/rl-algorithms/ppo/#ppopy) as `cleanrl_dqn.py` follows
`cleanrl/dqn.py`; it says there how Gymnasium's versions differ. One vector environment takes the place of
`SyncVectorEnv`, the logits of taken cells are masked, which the observation shows, and now and then the best
response to the learner joins its opponents.
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
from outcome import MakeEnv, Report, assert_unbeatable, learned
from torch.distributions.categorical import Categorical

import ttt_env  # ttt_env
from ttt_env.training import StartDistribution  # ttt_env


@dataclass
class Args:
    """The names of `ppo.py`; the values are larger where games are as fast as these."""

    total_timesteps: int = 3_000_000
    learning_rate: float = 2e-3
    num_envs: int = 128
    num_steps: int = 32
    gamma: float = 1.0
    gae_lambda: float = 0.95
    num_minibatches: int = 4
    update_epochs: int = 4
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


def layer_init(layer: nn.Linear, std: float = 2**0.5) -> nn.Linear:
    """The layer with orthogonal weights and without biases."""
    nn.init.orthogonal_(layer.weight, std)
    nn.init.zeros_(layer.bias)
    return layer


def network(n_inputs: int, n_outputs: int, std: float) -> nn.Sequential:
    """Two hidden layers; `std` is the scale of the outputs at the beginning."""
    hidden = [layer_init(nn.Linear(n_inputs, 128)), nn.Tanh(), layer_init(nn.Linear(128, 128)), nn.Tanh()]
    return nn.Sequential(*hidden, layer_init(nn.Linear(128, n_outputs), std))


class Agent(nn.Module):
    """An actor and a critic that share nothing."""

    def __init__(self, envs: gym.vector.VectorEnv) -> None:
        super().__init__()
        n_inputs = int(np.prod(envs.single_observation_space.shape))
        self.critic = network(n_inputs, 1, std=1.0)
        self.actor = network(n_inputs, int(envs.single_action_space.n), std=0.01)

    def get_action_and_value(self, x: torch.Tensor, action: torch.Tensor | None = None) -> tuple:
        """Actions, their log probabilities, the entropies and the values of these observations."""
        logits = self.actor(x)
        logits = logits.masked_fill(x.unflatten(1, (-1, 2)).any(2), -1e8)  # ttt_env
        probs = Categorical(logits=logits)
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action), probs.entropy(), self.critic(x).flatten()


def advantages_of(args: Args, rewards, values, dones, next_value, next_done) -> torch.Tensor:
    """Generalised advantage estimates, `[steps, envs]`."""
    advantages, last = torch.zeros_like(rewards), 0.0
    for t in reversed(range(args.num_steps)):
        goes_on = 1.0 - (next_done if t == args.num_steps - 1 else dones[t + 1])
        nextvalues = next_value if t == args.num_steps - 1 else values[t + 1]
        delta = rewards[t] + args.gamma * nextvalues * goes_on - values[t]
        advantages[t] = last = delta + args.gamma * args.gae_lambda * goes_on * last
    return advantages


def loss_of(args: Args, agent: Agent, obs, actions, logprobs, advantages, returns) -> torch.Tensor:
    """The loss of a minibatch: clipped policy, value, entropy."""
    _, newlogprob, entropy, newvalue = agent.get_action_and_value(obs, actions)
    ratio = (newlogprob - logprobs).exp()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
    pg_loss = torch.max(-advantages * ratio, -advantages * clipped).mean()
    v_loss = 0.5 * ((newvalue - returns) ** 2).mean()
    return pg_loss - args.ent_coef * entropy.mean() + args.vf_coef * v_loss


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
    agent = Agent(envs)
    player = ttt_env.make_agent(agent.actor, game, observation="flat")  # ttt_env
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)

    shape = (args.num_steps, args.num_envs)
    obs = torch.zeros(shape + envs.single_observation_space.shape)
    actions = torch.zeros(shape, dtype=torch.long)
    logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(4))
    batch_size = args.num_steps * args.num_envs
    next_obs = torch.as_tensor(envs.reset(seed=seed)[0])
    next_done = torch.zeros(args.num_envs)

    num_iterations = args.total_timesteps // batch_size
    for iteration in range(1, num_iterations + 1):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - (iteration - 1) / num_iterations)
        for step in range(args.num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                actions[step], logprobs[step], _, values[step] = agent.get_action_and_value(next_obs)
            next_obs, reward, terminations, truncations, _ = envs.step(actions[step].numpy())
            next_obs, rewards[step] = torch.as_tensor(next_obs), torch.as_tensor(reward)
            next_done = torch.as_tensor(terminations | truncations).float()
        with torch.no_grad():
            next_value = agent.critic(next_obs).flatten()
            advantages = advantages_of(args, rewards, values, dones, next_value, next_done)
        batch = [obs, actions, logprobs, advantages, advantages + values]
        batch = [tensor.flatten(0, 1) for tensor in batch]
        for _ in range(args.update_epochs):
            for indices in torch.randperm(batch_size).chunk(args.num_minibatches):
                loss = loss_of(args, agent, *(tensor[indices] for tensor in batch))
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
        if iteration % 5 == 0:
            won = np.mean(envs.return_queue)
            print(f"{iteration * batch_size:,} steps, mean return {won:+.2f}")
            if report(player):  # ttt_env
                break  # ttt_env
            responses.append(ttt_env.best_response(player))  # ttt_env
            envs.unwrapped.set_opponent([*opponents, *responses])  # ttt_env
    envs.close()
    return player


if __name__ == "__main__":
    assert_unbeatable(learned(train, seed=1), ["gymnasium", "torch"])
