"""BenchMARL's IQL in self-play on the parallel environment, where one player moves and the other one waits.

Follows BenchMARL's examples of a task and of a callback,
https://github.com/facebookresearch/BenchMARL/blob/main/examples/extending/task/environments/customenv/common.py
and https://github.com/facebookresearch/BenchMARL/blob/main/examples/callback/custom_callback.py
and answers its question for games by turns with masks, https://github.com/facebookresearch/BenchMARL/issues/76

BenchMARL lets all agents act in each step. A mask that allows nothing, as the one who waits has it, is an
error where TorchRL draws an action, so a wrapper allows that player cell 0, which the game ignores: one cell
and not all, as then there is one value of waiting and not the largest of nine. What differs otherwise: each
seat has a network of its own, as the stones alone tell them whose turn it is; games start from random
positions; and a callback ends the experiment when the exact exploitability is 0.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "ttt-env", "torchrl==0.11.1", "tensordict==0.11.0", "hydra-core==1.3.8", "tqdm==4.70.1",
# ]
# [tool.frameworks]
# no-deps = ["benchmarl==1.5.2"]
# ///

import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import torch
from benchmarl.algorithms import IqlConfig
from benchmarl.environments.common import TaskClass
from benchmarl.experiment import Callback, Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from numpy.typing import NDArray
from outcome import assert_unbeatable, is_unbeatable
from pettingzoo.utils import BaseParallelWrapper
from tensordict import TensorDictBase
from torchrl.data import Composite
from torchrl.envs import EnvBase, MarlGroupMapType, PettingZooWrapper, check_env_specs

import ttt_env  # ttt_env

GAME = ttt_env.get_game("tictactoe-v0")  # ttt_env
CONFIG = {
    "share_policy_params": False,
    "gamma": 1.0,
    "lr": 1e-3,
    "polyak_tau": 0.03,
    "exploration_eps_init": 0.3,
    "exploration_eps_end": 0.1,
    "exploration_anneal_frames": 8192,
    "max_n_frames": 102_400,
    "off_policy_n_envs_per_worker": 32,
    "off_policy_collected_frames_per_batch": 1024,
    "off_policy_n_optimizer_steps": 60,
    "off_policy_train_batch_size": 512,
    "off_policy_memory_size": 16_384,  # what a player has seen of the other one's past is soon wrong
    "evaluation": False,
    "loggers": [],
    "create_json": False,
}


class CellZeroToWait(BaseParallelWrapper):  # ttt_env
    """Both players, where the mask of the one who waits allows cell 0."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """The observations and infos of a new game."""
        observations, infos = super().reset(seed, options)
        return observations, with_masks(infos)

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        """Observations, rewards, terminations, truncations and infos after the move."""
        *results, infos = super().step(actions)
        return *results, with_masks(infos)


def with_masks(infos: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The infos, with cell 0 allowed in a mask that allows nothing."""
    for info in infos.values():
        info["action_mask"][0] |= not info["action_mask"].any()
    return infos


class TicTacToe(TaskClass):
    """The game from random positions, both players in one group."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], EnvBase]:
        """A function that makes the players of a game, with other positions at each call."""
        seeds = count(1000 * (seed or 0))

        def make_players() -> EnvBase:
            start = partial(ttt_env.random_position, GAME)  # ttt_env
            env = ttt_env.make(GAME, api="parallel", observation="flat", start=start)  # ttt_env
            return PettingZooWrapper(
                CellZeroToWait(env),  # ttt_env
                use_mask=True,
                group_map=MarlGroupMapType.ALL_IN_ONE_GROUP,
                seed=next(seeds),
                device=device,
            )

        return make_players

    def supports_continuous_actions(self) -> bool:
        """Cells are not."""
        return False

    def supports_discrete_actions(self) -> bool:
        """Cells are."""
        return True

    def max_steps(self, env: EnvBase) -> int:
        """A game has no more moves than cells."""
        return GAME.n_cells  # ttt_env

    def has_render(self, env: EnvBase) -> bool:
        """Nothing is drawn."""
        return False

    def group_map(self, env: EnvBase) -> dict[str, list[str]]:
        """The one group, with both players."""
        return env.group_map

    def observation_spec(self, env: EnvBase) -> Composite:
        """The stones, which the networks see."""
        return part_of(env.observation_spec, "observation")

    def action_mask_spec(self, env: EnvBase) -> Composite:
        """The masks."""
        return part_of(env.observation_spec, "action_mask")

    def action_spec(self, env: EnvBase) -> Composite:
        """The cells."""
        return env.full_action_spec

    def state_spec(self, env: EnvBase) -> None:
        """There is no state beside the observations."""

    def info_spec(self, env: EnvBase) -> None:
        """There are no infos beside the masks."""

    @staticmethod
    def env_name() -> str:
        """The name of the environments of this package in BenchMARL's folders."""
        return "ttt_env"  # ttt_env


def part_of(spec: Composite, key: str) -> Composite:
    """The spec of the group with this key alone."""
    players = spec["agents"]
    return Composite({"agents": Composite({key: players[key].clone()}, shape=players.shape)})


class Unbeatable(KeyboardInterrupt):
    """The end of the experiment: BenchMARL closes it as if the user had ended it."""


class Exploitability(Callback):
    """After each batch, print what the best responses to the network get; none gains anything: the end."""

    def on_setup(self) -> None:
        """Turn the networks of both seats into one agent."""
        networks = self.experiment.algorithm.get_policy_for_loss("agents")[0].mlp

        def scores(stones: NDArray[np.float32]) -> torch.Tensor:
            seen = torch.as_tensor(stones)
            scores_of_seats = networks(seen[:, None].expand(-1, 2, -1)).detach()
            own, others = seen.unflatten(-1, (2, -1)).sum(-1).T
            return torch.where((own == others)[:, None], *scores_of_seats.unbind(1))  # X has the move

        self.agent = ttt_env.make_agent(scores, GAME, observation="flat")  # ttt_env

    def on_train_end(self, training_td: TensorDictBase, group: str) -> None:
        """Raises `Unbeatable` if nobody gains anything against the agent."""
        if is_unbeatable(self.agent, f"{self.experiment.total_frames:7,} moves"):  # ttt_env
            raise Unbeatable  # ttt_env


def main() -> None:
    """Check the environment, train one network on both seats, and compute what it is worth."""
    torch.set_num_threads(1)  # so small a network gains nothing from a second one
    task, exact = TicTacToe("tictactoe", {}), Exploitability()
    check_env_specs(task.get_env_fun(1, False, 0, "cpu")())
    config = ExperimentConfig.get_from_yaml()
    for name, value in CONFIG.items():
        setattr(config, name, value)
    with tempfile.TemporaryDirectory() as config.save_folder, suppress(Unbeatable):
        Experiment(
            task=task,
            algorithm_config=IqlConfig(delay_value=True, loss_function="smooth_l1"),
            model_config=MlpConfig([256, 256], torch.nn.Linear, torch.nn.ReLU),
            seed=0,
            config=config,
            callbacks=[exact],
        ).run()
    assert_unbeatable(exact.agent, ["benchmarl", "torchrl"])


if __name__ == "__main__":
    main()
