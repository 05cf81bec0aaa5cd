"""AgileRL's DQN in self-play against a pool of past selves and the best responses to them.

Follows the self-play lesson of AgileRL's tutorial on Connect Four:
https://github.com/AgileRL/AgileRL/blob/main/tutorials/PettingZoo/agilerl_dqn_curriculum.py

What differs: the opponents play inside a vector environment, so nobody has to pair the observations of one
player with the rewards that come after the other's reply. Games begin in all kinds of positions. The best
responses need no training. AgileRL's DQN bootstraps from the largest value of all actions, the taken cells
too; so it gets no mask and learns that a taken cell loses. The tutorial's curriculum and evolution of a
population are not needed here. The training ends when the greedy policy is unbeatable.

AgileRL 2.58.0 imports peft without asking for it, so peft stands among the dependencies.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[torch]", "agilerl==2.58.0", "peft==0.21.0"]
# [tool.frameworks]
# teacher = "responses"
# ///

from collections import deque
from functools import partial

import numpy as np
import torch
from agilerl.algorithms.dqn import DQN
from agilerl.components.data import Transition
from agilerl.components.replay_buffer import ReplayBuffer
from outcome import assert_unbeatable, learned

import ttt_env  # ttt_env

NUM_ENVS = 64
UPDATES = 2  # after each step of the environments
EVALUATE = 100  # steps
STEPS = 5_000


def train(make_env, seed, report):
    """The agent, trained until the report says that it is enough."""
    torch.set_num_threads(1)  # for networks this small more threads only wait for each other
    torch.manual_seed(seed)
    np.random.seed(seed)
    game = make_env.game  # ttt_env
    envs = make_env(  # ttt_env
        num_envs=NUM_ENVS,  # ttt_env
        start=partial(ttt_env.random_position, game),  # ttt_env
        observation="flat",  # ttt_env
        autoreset_mode="same_step",  # ttt_env
    )  # ttt_env
    learner = DQN(
        envs.single_observation_space,  # ttt_env
        envs.single_action_space,  # ttt_env
        batch_size=256,
        lr=5e-4,
        gamma=1.0,
        tau=0.01,
        net_config={"encoder_config": {"hidden_size": [128, 128]}, "head_config": {"hidden_size": [64]}},
    )
    memory = ReplayBuffer(max_size=50_000)
    agent = ttt_env.make_agent(learner.actor, game, observation="flat")  # ttt_env
    opponent_pool, epsilon = deque(maxlen=8), 1.0
    observation, _ = envs.reset(seed=seed)  # ttt_env
    for step in range(1, STEPS + 1):
        action = learner.get_action(observation, epsilon)
        next_observation, reward, terminated, _, _ = envs.step(action)  # ttt_env
        transition = Transition(
            obs=torch.as_tensor(observation),
            action=action,
            reward=reward.astype(np.float32),
            next_obs=torch.as_tensor(next_observation),
            done=terminated.astype(np.float32),
            batch_size=[NUM_ENVS],
        )
        memory.add(transition.to_tensordict())
        observation, epsilon = next_observation, max(0.1, 0.99 * epsilon)
        if len(memory) >= learner.batch_size:
            for _ in range(UPDATES):
                learner.learn(memory.sample(learner.batch_size))
        if step % EVALUATE == 0:
            if report(agent):  # ttt_env
                break  # ttt_env
            past_self = learner.clone().actor
            opponent_pool.append(ttt_env.make_agent(past_self, game, observation="flat"))  # ttt_env
            opponent_pool.append(ttt_env.best_response(agent, game))  # ttt_env
            envs.set_opponent(["random", *opponent_pool])  # ttt_env
    return agent


if __name__ == "__main__":
    assert_unbeatable(learned(train, seed=0), ["agilerl", "peft"])
