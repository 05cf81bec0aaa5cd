"""Masked DQN with Tianshou's multi-agent manager, self-play on the two-player environment.

Follows Tianshou's own example of tic-tac-toe,
https://github.com/thu-ml/tianshou/blob/master/test/pettingzoo/tic_tac_toe.py

What differs: the environment, which starts from random positions so that all of them come up. As in the
example a `MultiAgentOffPolicyAlgorithm` lets each seat's algorithm play, and training stops at a score; but
both seats are one `DQN`, and the score is the exact exploitability instead of a sampled rate of wins. Returns
are of two steps, not of three: after two steps the same player is to move, and `DQN` takes its own value of
what is seen then. The exploration is set by `eps_inference`, too, because in Tianshou 2.0 the policies of the
seats are not told that they are training.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "tianshou==2.0.1"]
# [tool.frameworks]
# teacher = "rules"
# ///

import logging
from functools import partial

import numpy as np
import torch
from outcome import MakeEnv, Report, assert_unbeatable, learned
from tianshou.algorithm import DQN, MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import ttt_env  # ttt_env


def train(make_env: MakeEnv, seed: int, report: Report) -> ttt_env.Agent:
    """One network for both seats, trained until the report says that it is enough."""
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # so small a network gains nothing from a second one
    # Otherwise Tianshou says at each collection that returns of two players are not a sequence of numbers.
    logging.getLogger("tianshou").setLevel(logging.ERROR)
    start = partial(ttt_env.random_position, make_env.game)  # ttt_env

    def make_players() -> PettingZooEnv:
        """Both players of a game, as Tianshou steps them."""
        return PettingZooEnv(make_env(start=start))  # ttt_env

    env = make_players()
    train_envs, test_envs = DummyVectorEnv([make_players] * 64), DummyVectorEnv([make_players])
    train_envs.seed(seed)
    test_envs.seed(seed)

    network = Net(
        state_shape=env.observation_space["observation"].shape,
        action_shape=env.action_space.n,
        hidden_sizes=[256, 256],
    )
    policy = DiscreteQLearningPolicy(
        model=network, action_space=env.action_space, eps_training=0.3, eps_inference=0.3
    )
    learner = DQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=1.0,
        n_step_return_horizon=2,
        target_update_freq=100,
        huber_loss_delta=1.0,
    )
    players = MultiAgentOffPolicyAlgorithm(algorithms=[learner, learner], env=env)
    train_collector = Collector[CollectStats](
        players, train_envs, VectorReplayBuffer(100_000, len(train_envs)), exploration_noise=True
    )
    test_collector = Collector[CollectStats](players, test_envs)
    train_collector.reset()
    train_collector.collect(n_step=4096)

    agent = ttt_env.make_agent(
        lambda planes: network(planes)[0], make_env.game, observation="planes"
    )  # ttt_env

    def score(stats: CollectStats) -> float:
        print(f"{train_collector.collect_step:7,} moves")
        return float(report(agent)) - 1.0

    players.run_training(
        OffPolicyTrainerParams(
            training_collector=train_collector,
            test_collector=test_collector,
            max_epochs=80,
            epoch_num_steps=2560,
            collection_step_num_env_steps=640,
            test_step_num_episodes=1,
            batch_size=1024,
            update_step_num_gradient_steps_per_sample=0.0125,
            compute_score_fn=score,
            stop_fn=lambda score: score >= 0,
            multi_agent_return_reduction=lambda returns: returns[:, 0],
            show_progress=False,
            verbose=False,
        )
    )

    return agent


if __name__ == "__main__":
    assert_unbeatable(learned(train, seed=0), ["tianshou"])
