"""Training of Stable-Baselines3 models on the single-agent environment, watched by exact evaluation."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.sb3 import SB3
from ttt_env.agent import Agent, AgentLike
from ttt_env.analysis.certificate import certify
from ttt_env.analysis.evaluation import Exploitability, best_response, exploitability
from ttt_env.analysis.layers import is_enumerable
from ttt_env.registration import make
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import Game, Position
from ttt_env.rules.sampling import random_position

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.callbacks import BaseCallback

OPPONENTS: tuple[AgentLike, ...] = ("random", "minimax")
_PPO: dict[str, Any] = {
    "n_steps": 64,
    "batch_size": 1024,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gamma": 1.0,
    "gae_lambda": 0.95,
    "ent_coef": 0.01,
    "policy_kwargs": {"net_arch": [128, 128]},
}


@dataclass(frozen=True)
class Progress:
    """Where a training stands: agent steps made, seconds used, and the exact exploitability now."""

    steps: int
    seconds: float
    exploitability: Exploitability | None


@dataclass
class RandomStarts:
    """A start for episodes: with this probability a random position, else the empty board."""

    game: Game
    probability: float = 0.3

    def __call__(self, rng: np.random.Generator) -> Position:
        if rng.random() < self.probability:
            return random_position(self.game, rng)
        return self.game.start


def train(
    game: Game | str = "tictactoe-v0",
    opponents: Sequence[AgentLike] = OPPONENTS,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    n_envs: int = 64,
    report: Callable[[Progress], None] | None = None,
) -> "MaskablePPO":
    """Train MaskablePPO against these opponents, on both seats, for a while.

    Where the game can be enumerated, the exact best response to the model, computed anew after every
    rollout, is one more opponent, and training ends when the model is certified unbeatable. `report` is
    called after every rollout.
    """
    try:
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.env_util import make_vec_env
    except ImportError as error:
        raise ImportError('training needs the extra "train": pip install "ttt-env[train]"') from error

    made = get_game(game)
    envs = make_vec_env(
        lambda: make(made, opponent=list(opponents), start=RandomStarts(made)), n_envs=n_envs, seed=seed
    )
    model = MaskablePPO("MlpPolicy", envs, seed=seed, device="cpu", **_PPO)
    watch = _Watch(made, list(opponents), seconds, report or (lambda progress: None))
    model.learn(total_timesteps=2**62, callback=watch.callback())
    envs.close()
    return model
