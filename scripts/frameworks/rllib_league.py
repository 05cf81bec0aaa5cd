"""A league of PPO learners in RLlib, against past selves and the best responses to them.

Follows RLlib's self-play against frozen selves:
https://github.com/ray-project/ray/blob/master/rllib/examples/multi_agent/self_play_with_open_spiel.py
and its callback:
https://github.com/ray-project/ray/blob/master/rllib/examples/multi_agent/utils/self_play_callback.py

What differs: each learner is a trial of Ray Tune on a core of its own, and all share one league. A learner
enters it when it no longer loses to its members on average. That score is computed; RLlib's callback counts
the games won. The best response to the learner enters with it: the strongest exploiter there is, which
needs no training. The members are agents in the environment and not modules beside the learner, so every
step is a move of the learner. A training ends when the learner's greedy policy is unbeatable; the learners
enter as they come, so two runs differ. Environment and configuration are those of rllib_masking.py; its
marked lines come on top of the ones marked here.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = ["ttt-env[rllib]", "ray[rllib]==2.60.0", "gymnasium==1.2.2"]
# ///

from pathlib import Path
from statistics import mean

import ray
import torch
from outcome import assert_unbeatable
from ray import tune
from ray.rllib.algorithms.ppo import PPO
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.tune.registry import register_env
from rllib_local import local_ray
from rllib_masking import GAME, config

import ttt_env  # ttt_env
from ttt_env.agents.learned.lookup import Lookup  # ttt_env
from ttt_env.integrations.rllib import module_agent, vector_env  # ttt_env
from ttt_env.training import OpponentPool  # ttt_env

LEARNERS = 2  # one for each core; Tune starts more of them as cores are free
MODULE = Path("learner_group", "learner", "rl_module", "default_policy")


@ray.remote(num_cpus=0)
class League:
    """The members of the league, which all learners share: bots, past selves and best responses to these."""

    def __init__(self):
        self.pool = OpponentPool(["random", "minimax"], past=4, responses=4)  # ttt_env
        self.pool.bind(GAME)  # ttt_env

    def members(self):
        """The agents that learners are to play against."""
        return self.pool.agents  # ttt_env

    def enter(self, learner):
        """Add a learner as it is now, and the best response to it."""
        self.pool.add(learner, exact=True)  # ttt_env


class LeagueCallback(RLlibCallback):
    """Lets the learner enter the league when it is good enough, and play against the others there."""

    def on_algorithm_init(self, **_):
        """Leave the other core to the other learner."""
        torch.set_num_threads(1)

    def on_train_result(self, *, algorithm, result, **_):
        """Measure the learner, exactly, and choose its opponents."""
        league = ray.get_actor("league")
        learner = Lookup.of(module_agent(algorithm.get_module(), GAME))  # ttt_env
        members = ray.get(league.members.remote())
        score = mean(ttt_env.match(learner, member).score for member in members)  # ttt_env
        if score >= 0:
            ray.get(league.enter.remote(learner))
            members = ray.get(league.members.remote())
        algorithm.env_runner_group.foreach_env_runner(
            lambda runner: runner.env.unwrapped.set_opponent(members)  # ttt_env
        )
        result["score"] = score
        result["exploitability"] = ttt_env.exploitability(learner, GAME).exploitability  # ttt_env
        result["unbeatable"] = int(result["exploitability"] <= 0)


def main():
    """Train the learners side by side and certify the best one."""
    register_env("ttt_env", vector_env)  # ttt_env
    with local_ray() as folder:
        league = League.options(name="league").remote()
        results = tune.Tuner(
            PPO,
            param_space=config()
            .callbacks(LeagueCallback)
            .debugging(seed=tune.grid_search(list(range(LEARNERS)))),
            run_config=tune.RunConfig(
                stop={"unbeatable": 1, "training_iteration": 30},
                storage_path=folder,
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True),
                verbose=0,
            ),
        ).fit()
        print(results.get_dataframe()[["training_iteration", "score", "exploitability"]])
        print(ray.get(league.members.remote()))
        best = results.get_best_result("exploitability", "min")
        agent = module_agent(RLModule.from_checkpoint(Path(best.checkpoint.path, MODULE)), GAME)  # ttt_env
        assert_unbeatable(agent, ["ray", "gymnasium"])


if __name__ == "__main__":
    main()
