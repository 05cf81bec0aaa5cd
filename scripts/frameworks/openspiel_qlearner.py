"""OpenSpiel's tabular Q-learners play each other in the two-player environment until nobody beats them.

Follows
https://github.com/google-deepmind/open_spiel/blob/master/open_spiel/python/examples/tic_tac_toe_qlearner.py

The learners are OpenSpiel's own, and so is the loop: both learn from their games against each other, one as
X and one as O. What differs: the environment is the PettingZoo one of this package, and a function gives
what the learners read, a `TimeStep`, of a position. Half of the moves are random and the step size is 0.2,
where the example has a fifth and 0.1. The example looks at the win rate against random players; here the
training goes on until the exact certificate says that nobody beats the pair, at most for 300,000 episodes.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env", "open-spiel==2.0.2"]
# [tool.frameworks]
# teacher = "rules"
# ///

import numpy as np
from open_spiel.python.algorithms.tabular_qlearner import QLearner
from open_spiel.python.rl_agent import AbstractAgent
from open_spiel.python.rl_environment import StepType, TimeStep
from open_spiel.python.rl_tools import ConstantSchedule
from outcome import MakeEnv, Report, assert_unbeatable, learned

import ttt_env  # ttt_env

EPISODES = 300_000
EVERY = 20_000


def time_step(position: ttt_env.Position, rewards: list[float]) -> TimeStep:  # ttt_env
    """The learners' input: both see the board, and the rewards of X and O."""
    seen = {  # ttt_env
        "info_state": [str(position)] * 2,  # ttt_env
        "legal_actions": [position.legal_cells] * 2,  # ttt_env
        "current_player": "XO".index(position.to_move),  # ttt_env
    }  # ttt_env
    step_type = StepType.LAST if position.is_over else StepType.MID  # ttt_env
    return TimeStep(seen, rewards, [1.0, 1.0], step_type)  # ttt_env


class Learned(ttt_env.Agent):  # ttt_env
    """The policy of the two learners, one for each seat."""

    is_stationary = True  # ttt_env

    def __init__(self, game: ttt_env.Game, learners: list[AbstractAgent]) -> None:  # ttt_env
        super().__init__(game)  # ttt_env
        self.learners = learners  # ttt_env

    def policy(self, position: ttt_env.Position) -> np.ndarray:  # ttt_env
        """The greedy policy of the learner to move."""
        learner = self.learners["XO".index(position.to_move)]  # ttt_env
        return learner.step(time_step(position, [0.0, 0.0]), is_evaluation=True).probs  # ttt_env


def play(learners: list[AbstractAgent], env: ttt_env.envs.two_player.TwoPlayerEnv, episodes: int) -> None:
    """The training loop of the example."""
    for _ in range(episodes):
        env.reset()  # ttt_env
        now = time_step(env.position, [0.0, 0.0])  # ttt_env
        while not now.last():
            action = learners[now.current_player()].step(now).action
            env.step(action)  # ttt_env
            now = time_step(env.position, [env.rewards["X"], env.rewards["O"]])  # ttt_env
        for learner in learners:
            learner.step(now)


def train(make_env: MakeEnv, seed: int, report: Report) -> ttt_env.Agent:
    """The agent, trained until the report says that it is enough."""
    np.random.seed(seed)  # OpenSpiel's learner draws from NumPy's global generator
    env = make_env()  # ttt_env
    schedule = ConstantSchedule(0.5)
    learners = [
        QLearner(player, env.game.n_cells, step_size=0.2, epsilon_schedule=schedule) for player in range(2)
    ]
    agent = Learned(env.game, learners)  # ttt_env
    for episode in range(EVERY, EPISODES + 1, EVERY):
        play(learners, env, EVERY)
        print(f"{episode:,} episodes", flush=True)
        if report(agent):  # ttt_env
            break  # ttt_env
    return agent


if __name__ == "__main__":
    assert_unbeatable(learned(train, seed=0), ["open-spiel"])
