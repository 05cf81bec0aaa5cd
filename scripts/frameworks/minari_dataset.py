"""Minari collects a data set of games, and a network learns from it to play better than they do.

Follows https://minari.farama.org/main/tutorials/using_datasets/behavioral_cloning/

Minari's `DataCollector` records games of minimax with a tenth of random moves against random players. The
reference scores, by which Minari normalises returns, are computed exactly. The data set is written into a
temporary folder, loaded, and checked: every episode is played again by its seed and cells in an environment
made from the data set, and shows the same observations, rewards, ends and masks. Then a network is trained
to play the recorded cells, without an environment, as in the tutorial. Who knows the players of the data set
beats them now and then, because of their random moves; the network plays the most frequent cell, and is
certified to lose to nobody.

What differs from the tutorial: the environment and who plays in it; a callback that keeps the masks of the
infos and drops what only the last one has, because Minari wants the same infos at each step; that each step
is learned from in all eight symmetries of the board, at a rate that falls to zero; and the exact
certificate in the place of a sampled return.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[torch]", "minari[create,hdf5]==0.5.4", "pillow==13.0.0"]
# ///

import os
import tempfile
from typing import Any

import gymnasium
import minari
import numpy as np
import torch
from minari import DataCollector, MinariDataset, StepDataCallback
from outcome import assert_unbeatable
from torch.nn import Linear, ReLU, Sequential
from torch.utils.data import DataLoader, TensorDataset

import ttt_env  # ttt_env
from ttt_env.datasets import reference_scores  # ttt_env
from ttt_env.rules.symmetry import motions  # ttt_env

GAMES = 3_000
EPOCHS = 10
NAME = "ttt_env/tictactoe/minimax-with-errors-v0"
PLAYER = "epsilon:minimax,epsilon=0.1"
OPPONENT = "random"
SYMMETRIES = motions(ttt_env.get_game("tictactoe-v0"))  # ttt_env


class MaskCallback(StepDataCallback):  # ttt_env
    """Keeps the mask of the infos."""

    def __call__(self, env: gymnasium.Env, **step: Any) -> dict[str, Any]:  # ttt_env
        """The record of a step for Minari."""
        recorded = super().__call__(env, **step)  # ttt_env
        recorded["info"] = {"action_mask": recorded["info"]["action_mask"]}  # ttt_env
        return recorded  # ttt_env


def collect(player: ttt_env.Agent) -> None:
    """Record games of the player, and write them to disk."""
    env = ttt_env.make("tictactoe-v0", opponent=OPPONENT, observation="flat")  # ttt_env
    env = DataCollector(env, step_data_callback=MaskCallback, record_infos=True)  # ttt_env
    rng = np.random.default_rng(0)
    for seed in range(GAMES):
        env.reset(seed=seed)
        terminated = False
        while not terminated:
            cell = player.choose(env.unwrapped.position, rng)  # ttt_env
            _, _, terminated, _, _ = env.step(cell)
    scores = reference_scores(OPPONENT)  # ttt_env
    env.create_dataset(
        NAME,
        eval_env=env.unwrapped.spec,
        algorithm_name=PLAYER,
        author="The ttt_env maintainers",
        author_email="none",
        code_permalink="none",
        description="Minimax with a tenth of random moves against random players.",
        ref_min_score=scores.random,
        ref_max_score=scores.best,
    )
    env.close()


def check(dataset: MinariDataset) -> None:
    """Every episode, played again by its seed and cells, shows what was recorded."""
    env = dataset.recover_environment()
    seeds = [metadata["seed"] for metadata in dataset.storage.get_episode_metadata(range(GAMES))]
    for seed, episode in zip(seeds, dataset.iterate_episodes(), strict=True):
        observation, info = env.reset(seed=int(seed))
        observations, masks, rewards, ends = [observation], [info["action_mask"]], [], []
        for cell in episode.actions:
            observation, reward, terminated, _, info = env.step(cell)
            observations.append(observation)
            masks.append(info["action_mask"])
            rewards.append(reward)
            ends.append(terminated)
        assert np.array_equal(episode.observations, observations)
        assert np.array_equal(episode.infos["action_mask"], masks)
        assert np.array_equal(episode.rewards, rewards) and np.array_equal(episode.terminations, ends)
        assert not episode.truncations.any()


def train(dataset: MinariDataset) -> Sequential:
    """A network that plays the recorded cells."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more threads are slower with networks as small as this
    network = Sequential(Linear(18, 256), ReLU(), Linear(256, 256), ReLU(), Linear(256, 9))
    episodes = list(dataset.iterate_episodes())
    boards = np.concatenate([episode.observations[:-1] for episode in episodes]).reshape(-1, 9, 2)
    cells = np.concatenate([episode.actions for episode in episodes])
    turned = [boards[:, np.argsort(motion)] for motion in SYMMETRIES]  # ttt_env
    observations = torch.tensor(np.concatenate(turned)).flatten(1)  # ttt_env
    actions = torch.tensor(np.concatenate([motion[cells] for motion in SYMMETRIES]))  # ttt_env
    steps = TensorDataset(observations, actions)
    loader = DataLoader(steps, batch_size=256, shuffle=True)
    optimizer = torch.optim.Adam(network.parameters())
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, EPOCHS)
    loss_of = torch.nn.CrossEntropyLoss()
    for epoch in range(1, EPOCHS + 1):
        for observation, action in loader:
            loss = loss_of(network(observation), action)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}", flush=True)
    return network


def main() -> None:
    """Collect, check, train, and say what was learned."""
    player = ttt_env.make_agent(PLAYER, ttt_env.get_game("tictactoe-v0"))  # ttt_env
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        collect(player)
        dataset = minari.load_dataset(NAME)
        print(f"{dataset.total_episodes:,} games, {dataset.total_steps:,} moves", flush=True)
        check(dataset)
        network = train(dataset)
    print("the players of the data set:", ttt_env.exploitability(player))
    agent = ttt_env.make_agent(network, "tictactoe-v0", observation="flat")  # ttt_env
    assert_unbeatable(agent, ["minari"])


if __name__ == "__main__":
    main()
