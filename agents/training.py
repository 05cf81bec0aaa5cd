"""Training of Stable-Baselines3 models on the single-agent environment, watched by exact evaluation."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.sb3 import SB3
from ttt_env.agent import Agent, AgentLike
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.evaluation import best_response
from ttt_env.analysis.layers import is_enumerable
from ttt_env.envs.sb3 import make_vec_env
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import Game, Position
from ttt_env.rules.sampling import random_position

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

OPPONENTS: tuple[AgentLike, ...] = ("random", "minimax")
_MAX_CELLS = 12  # up to here the exact certificate and best response cost less than a rollout
_RESPONSES = 4  # best responses to the latest models, kept as opponents
_NO_STEP_LIMIT = 2**62
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
    """Where a training stands: agent steps made, seconds used, and the proof or refutation of now.

    The certificate is None where computing it takes too long to do it all the time.
    """

    steps: int
    seconds: float
    certificate: Certificate | None


Report = Callable[[Progress], None]


@dataclass
class RandomStarts:
    """A start for episodes: with this probability a random position, else the empty board."""

    game: Game
    probability: float = 0.3

    def __call__(self, rng: np.random.Generator) -> Position:
        """The first position of an episode."""
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
    report: Report | None = None,
) -> "MaskablePPO":
    """A MaskablePPO model trained against these opponents, on both seats, for so long.

    On games of up to 12 cells the exact best response to the model, computed anew after every
    rollout, is one more opponent, and training ends when the model is certified unbeatable. `report` is
    called after every rollout.

    Raises `ImportError` without the extra `train`.
    """
    try:
        from sb3_contrib import MaskablePPO
    except ImportError as error:
        raise ImportError('training needs the extra "train": pip install "ttt-env[train]"') from error

    made = get_game(game)
    envs = make_vec_env(made, n_envs, seed=seed, opponent=list(opponents), start=RandomStarts(made))
    model = MaskablePPO("MlpPolicy", envs, seed=seed, device="cpu", **_PPO)
    watch = _Watch(made, model, list(opponents), seconds, report)
    with _one_thread():
        model.learn(_NO_STEP_LIMIT, callback=watch.after_rollout)
    envs.close()
    return model


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch use one thread: for networks this small more only wait for each other."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _Watch:
    """Looks at the model before every rollout: reports, renews the best responses, ends the training."""

    def __init__(
        self,
        game: Game,
        model: "MaskablePPO",
        opponents: list[AgentLike],
        seconds: float,
        report: Report | None,
    ) -> None:
        self.agent = SB3.from_model(game, model)
        self.model, self.opponents, self.report = model, opponents, report
        self.responses: list[Agent] = []
        self.begin = time.monotonic()
        self.seconds = seconds
        self.watches = game.n_cells <= _MAX_CELLS and is_enumerable(game)

    def after_rollout(self, local: dict[str, Any], _: dict[str, Any]) -> bool:
        """What SB3 calls after every step of all environments; False ends the training."""
        used = time.monotonic() - self.begin
        if local["n_steps"] == 0:  # the first step of a rollout: the model has just learned
            return self._look(used)
        return used < self.seconds

    def _look(self, used: float) -> bool:
        certificate = certify(self.agent, self.agent.game) if self.watches else None
        if self.report is not None:
            self.report(Progress(self.model.num_timesteps, used, certificate))
        if certificate is not None and certificate.unbeatable:
            return False
        if self.watches:
            response = best_response(self.agent, self.agent.game)
            self.responses = [*self.responses, response][-_RESPONSES:]
            envs: Any = self.model.get_env()
            envs.env_method("set_opponent", [*self.opponents, *self.responses])
        return used < self.seconds
