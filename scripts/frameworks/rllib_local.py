"""Training for the RLlib scripts of this folder: on this machine alone, until nothing beats the agent."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import ray
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig

import ttt_env


@contextmanager
def local_ray() -> Iterator[str]:
    """Ray on two cores of this machine without web page and statistics, and a folder for what is written.

    Neither a process of it nor the folder is left at the end.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with TemporaryDirectory(prefix="rllib") as folder:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        try:
            yield folder
        finally:
            ray.shutdown()


@contextmanager
def trainer(config: AlgorithmConfig) -> Iterator[Algorithm]:
    """The algorithm of a configuration, which trains in this process."""
    torch.set_num_threads(1)  # for networks this small more threads only wait for each other
    with local_ray():
        algorithm = config.build_algo()
        try:
            yield algorithm
        finally:
            algorithm.stop()
            shutil.rmtree(algorithm.logdir)


def train_until_unbeatable(algorithm: Algorithm, agent: ttt_env.Agent, iterations: int) -> None:
    """Train until the agent that plays as the algorithm's module is unbeatable, which is computed."""
    for iteration in range(1, iterations + 1):
        moves = algorithm.train()["num_env_steps_sampled_lifetime"]
        exact = ttt_env.exploitability(agent, agent.game)
        if iteration % 4 == 0 or exact.exploitability <= 0:
            print(f"{moves:,.0f} moves: the best response to X gets {exact.as_x:g}, to O {exact.as_o:g}")
        if exact.exploitability <= 0:
            return
