"""PufferLib's emulation over our environments, and its PPO, PuffeRL, until its moves are unbeatable.

This follows examples/pufferl.py and examples/pettingzoo_env.py of https://github.com/PufferAI/PufferLib.

PufferLib's own `masks` say which agents are there, not which actions are allowed, and its
trainer knows no others. Here the policy masks the logits of taken cells itself, since the observation shows
them. With `observation="dict"` the mask travels inside the flattened observation, and `nativize_tensor` gives
it back: that is shown with two players, in PettingZoo's conversion of turn-based games, as PufferLib takes
only parallel environments.

PufferLib resets an environment itself, in the step after the end of an episode, as Gymnasium's mode
"next_step" does. So the policy is shown the ended game once more, and what it answers is ignored.

PufferLib 3.0.0 declares numpy<2, gymnasium<=0.29.1 and pettingzoo<=1.24.1, and works with those of this
package: after the dependencies below, `pip install --no-deps --no-build-isolation pufferlib==3.0.0` installs
it. Its build downloads what its own games need, raylib and Box2D, from GitHub.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "ttt-env", "gymnasium==1.4.0", "torch==2.13.0", "gym==0.23.0", "psutil==7.2.2", "pyro-ppl==1.9.2",
#   "rich==15.0.0", "rich-argparse==1.8.0", "setuptools==80.10.2", "wheel==0.48.0",
# ]
# [tool.frameworks]
# no-deps = ["pufferlib==3.0.0"]
# no-build-isolation = true
# downloads = "raylib and Box2D, for its own games"
# ///

import tempfile
from collections import deque
from contextlib import chdir, closing
from typing import Any

import numpy as np
import torch
from outcome import assert_unbeatable, is_unbeatable
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import ttt_env  # ttt_env
from ttt_env.training import StartDistribution  # ttt_env

with tempfile.TemporaryDirectory() as _folder, chdir(_folder):  # it puts a link into the working directory
    import pufferlib.emulation
    import pufferlib.pytorch
    import pufferlib.vector
    from pufferlib import pufferl

OPPONENTS = ["random", "minimax"]  # ttt_env
N_ENVS, HORIZON = 128, 32


def make_game(buf: dict[str, np.ndarray] | None = None, seed: int = 0) -> Any:
    """One player against a bot, as PufferLib's environment."""
    start = StartDistribution("tictactoe-v0")  # ttt_env
    env = ttt_env.make("tictactoe-v0", OPPONENTS, observation="flat", start=start)  # ttt_env
    env = pufferlib.EpisodeStats(env)
    return pufferlib.emulation.GymnasiumPufferEnv(env=env, buf=buf, seed=seed)


def make_players(buf: dict[str, np.ndarray] | None = None, seed: int = 0) -> Any:
    """Both players of a game, as PufferLib's environment of two agents."""
    env = turn_based_aec_to_parallel(ttt_env.make("tictactoe-v0"))  # ttt_env
    return pufferlib.emulation.PettingZooPufferEnv(env=env, buf=buf, seed=seed)


class Policy(torch.nn.Module):
    """Two hidden layers for both the logits and the value."""

    def __init__(self, env: Any) -> None:
        super().__init__()
        n_inputs, n_cells = env.single_observation_space.shape[0], env.single_action_space.n
        layer_init = pufferlib.pytorch.layer_init
        self.net = torch.nn.Sequential(
            layer_init(torch.nn.Linear(n_inputs, 128)),
            torch.nn.Tanh(),
            layer_init(torch.nn.Linear(128, 128)),
            torch.nn.Tanh(),
        )
        self.action_head = layer_init(torch.nn.Linear(128, n_cells), std=0.01)
        self.value_head = layer_init(torch.nn.Linear(128, 1), std=1.0)

    def forward_eval(
        self, observations: torch.Tensor, state: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits, `[B, cells]`, and values, `[B, 1]`."""
        hidden = self.net(observations)
        taken = observations.unflatten(1, (-1, 2)).any(2)  # ttt_env
        return self.action_head(hidden).masked_fill(taken, -1e8), self.value_head(hidden)  # ttt_env

    forward = forward_eval


class Trainer(pufferl.PuffeRL):
    """PuffeRL without its dashboard."""

    def print_dashboard(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing."""


def play_by_emulated_masks() -> None:
    """Play both sides of some games at random, by the masks in PufferLib's flattened observations."""
    players = pufferlib.vector.make(make_players, num_envs=16, backend=pufferlib.vector.Serial)
    native = pufferlib.pytorch.nativize_dtype(players.emulated)
    observations, _ = players.reset(0)
    rewards, generator = [], torch.Generator().manual_seed(0)
    for _ in range(50):
        seen = pufferlib.pytorch.nativize_tensor(torch.as_tensor(observations), native)
        free = torch.where(seen["action_mask"].any(1, keepdim=True), seen["action_mask"], 1)
        actions = torch.multinomial(free.float(), 1, generator=generator).squeeze(1)
        observations, reward, *_ = players.step(actions.numpy().astype(np.int32))
        rewards.append(reward.reshape(-1, 2).copy())
    won = np.array(rewards)
    assert not won.sum(axis=2).any(), "what one player wins the other loses: nobody has played a taken cell"
    print(f"two players by emulation: {int((won > 0).sum())} games won by X or O")


def config(folder: str) -> dict[str, Any]:
    """PufferLib's default configuration, changed where this game is another one than its own."""
    return pufferl.load_config("default")["train"] | {
        "env": "ttt_env",
        "device": "cpu",
        "data_dir": folder,
        "optimizer": "adam",
        "total_timesteps": 1_000_000,
        "learning_rate": 2e-3,
        "gamma": 1.0,
        "gae_lambda": 0.95,
        "adam_beta1": 0.9,
        "ent_coef": 0.01,
        "vf_coef": 0.5,
        "max_grad_norm": 0.5,
        "update_epochs": 8,
        "bptt_horizon": HORIZON,
        "minibatch_size": 1024,
    }


def main() -> None:
    """Train until nobody can beat the agent, and print what it is worth."""
    torch.manual_seed(1)
    torch.set_num_threads(1)  # for networks this small more threads only wait for each other
    play_by_emulated_masks()
    vecenv = pufferlib.vector.make(make_game, num_envs=N_ENVS, backend=pufferlib.vector.Serial, seed=1)
    policy = Policy(vecenv.driver_env)
    network = torch.nn.Sequential(policy.net, policy.action_head)  # ttt_env
    player = ttt_env.make_agent(network, "tictactoe-v0", observation="flat")  # ttt_env

    with tempfile.TemporaryDirectory() as folder, closing(Trainer(config(folder), vecenv, policy)) as trainer:
        responses = deque(maxlen=4)  # ttt_env
        while trainer.global_step < trainer.config["total_timesteps"]:
            trainer.evaluate()
            trainer.train()
            if trainer.epoch % 5 == 0:  # ttt_env
                if is_unbeatable(player, f"{trainer.global_step:,} steps"):  # ttt_env
                    break  # ttt_env
                responses.append(ttt_env.best_response(player))  # ttt_env
                for env in vecenv.envs:  # ttt_env
                    env.env.unwrapped.set_opponent([*OPPONENTS, *responses])  # ttt_env

    assert_unbeatable(player, ["pufferlib", "gymnasium", "torch"])


if __name__ == "__main__":
    main()
