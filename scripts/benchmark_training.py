"""Measure the cost of our environment to MaskablePPO: frames per second, next to costless environments.

MaskablePPO trains on `make_vec_env` and on two `VecEnv`s of the same spaces that compute nothing. One replays
steps recorded from ours: Stable-Baselines3 does the same there at the ends of episodes, so the ratio to it is
the cost of the environment alone. The other shows an empty board for ever and so spares SB3 those ends.

The three take turns in each round, and each round gives a ratio of its own. torch uses one thread.
"""

import argparse
import time
from statistics import median
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnvWrapper

import ttt_env

GOAL = 0.9
N_STEPS = 64


class NoCost(VecEnvWrapper):
    """Around another environment, returns prepared steps: observations, rewards, dones, infos and masks."""

    def __init__(self, like: Any, steps: list[tuple[Any, ...]]) -> None:
        super().__init__(like)
        self.steps, self.at = steps, 0

    def reset(self) -> Any:
        """The observations of the first step."""
        return self.steps[0][0]

    def step_async(self, actions: Any) -> None:
        """Ignore the actions."""

    def step_wait(self) -> tuple[Any, ...]:
        """The next step."""
        self.at = (self.at + 1) % len(self.steps)
        return self.steps[self.at][:4]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """The masks of the step."""
        return self.steps[self.at][4]


def recorded(envs: Any, n_steps: int, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Steps of random legal games."""
    envs.reset()
    steps = []
    for _ in range(n_steps):
        masks = np.stack(envs.env_method("action_masks"))
        envs.step_async((masks * rng.random(masks.shape)).argmax(axis=1))
        steps.append((*envs.step_wait(), envs.env_method("action_masks")))
    return steps


def constant(envs: Any) -> list[tuple[Any, ...]]:
    """One step: an empty board, and nobody is done."""
    n, space = envs.num_envs, envs.observation_space
    masks = list(np.ones((n, envs.action_space.n), np.bool_))
    empty = np.zeros((n, *space.shape), space.dtype)
    return [(empty, np.zeros(n, np.float32), np.zeros(n, np.bool_), [{}] * n, masks)]


def frames_per_second(envs: Any, n_rollouts: int) -> float:
    """Train a fresh model for some rollouts; the first warms up and is not in the time."""
    size = envs.num_envs * N_STEPS
    model = MaskablePPO(
        "MlpPolicy", envs, n_steps=N_STEPS, batch_size=size // 4, n_epochs=1, device="cpu", seed=0
    )
    model.learn(size)
    begin = time.perf_counter()
    model.learn(size * n_rollouts, reset_num_timesteps=False)
    return size * n_rollouts / (time.perf_counter() - begin)


def main() -> None:
    """Measure, and print a table for each number of environments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--rollouts", type=int, default=6, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"MaskablePPO, frames per second; median of {arguments.rounds} rounds\n")
    print(f"{'envs':>5}{'ours':>12}{'replayed':>12}{'constant':>12}{'of replayed':>13}{'of constant':>13}")
    for n in arguments.envs:
        ours = ttt_env.envs.sb3.make_vec_env("tictactoe-v0", n, seed=0)
        replayed = recorded(
            ttt_env.envs.sb3.make_vec_env("tictactoe-v0", n, seed=0), 97, np.random.default_rng(0)
        )
        three = [ours, NoCost(ours, replayed), NoCost(ours, constant(ours))]
        rounds = [
            [frames_per_second(envs, arguments.rollouts) for envs in three] for _ in range(arguments.rounds)
        ]
        speeds = "".join(f"{median(column):>12,.0f}" for column in zip(*rounds, strict=True))
        shares = [median(row[0] / row[other] for row in rounds) for other in (1, 2)]
        print(f"{n:>5}{speeds}" + "".join(f"{share:>13.2f}" for share in shares))
    print(f"\ngoal at 256: {GOAL} of an environment of no cost")


if __name__ == "__main__":
    main()
