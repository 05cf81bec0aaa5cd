"""Agents that several tests use, and the files of the pretrained agents."""

import json

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE
from ttt_env import Agent
from ttt_env.agent.learner import Budget
from ttt_env.agents.learned.q_learning import QLearner
from ttt_env.agents.pretrained import FOLDER
from ttt_env.alphazero.network import NetworkSize, PolicyValueNetwork, shapes_of
from ttt_env.analysis.rows import compact
from ttt_env.storage.archive import array_names

SMALL = NetworkSize(channels=6, blocks=1, filters=2, units=5)
SAMPLED = sorted(path for path in FOLDER.glob("*.npz") if path.with_suffix(".scorecard.json").exists())
FILES = sorted(set(FOLDER.glob("*.npz")) - set(SAMPLED))  # judged exactly
TABLES = [path for path in FILES if "codes" in array_names(path)]
NETWORKS = [path for path in FILES if path not in TABLES]


def network(game=TICTACTOE, size=SMALL, seed=0, scale=0.7):
    """A network of random weights, in half precision as in a file."""
    rng = np.random.default_rng(seed)
    weights = {name: scale * rng.standard_normal(shape) for name, shape in shapes_of(game, size).items()}
    return PolicyValueNetwork(game, weights).half_precision()


def advanced(learner, steps):
    """The learner itself, after this number of steps in all."""
    while learner.steps < steps:
        learner.advance(Budget(steps=steps - learner.steps))
    return learner


def learner(game="tictactoe-v0", games=500, seed=0, **hyperparameters):
    """A table after this many games of Q-learning."""
    return advanced(QLearner(ttt_env.get_game(game), seed, **hyperparameters), games)


class Nth(Agent):
    """Plays the free cell of this rank, counted cyclically from the lowest."""

    is_stationary = True

    def __init__(self, game, rank):
        super().__init__(game)
        self.rank = rank

    def policy(self, position):
        free, policy = position.legal_cells, np.zeros(self.game.n_cells)
        policy[free[self.rank % len(free)]] = 1
        return policy


class Wandering(Nth):
    """The same moves, but not declared stationary, and so asked by `choose`."""

    is_stationary = False


def cases_of(paths):
    """The files as cases of a test that certifies them; a search on 16 cells takes up to a minute."""
    slow = [pytest.mark.slow]
    return [pytest.param(path, id=path.stem, marks=slow if path in NETWORKS else []) for path in paths]


def certificate(path, suffix=".certificate.json"):
    return json.loads(path.with_suffix(suffix).read_text(encoding="utf-8"))


def shipped(path):
    """The name of the agent of a file, and its game."""
    return path.stem.split("@")[0], ttt_env.get_game(certificate(path)["game"]["name"])


def asked(policy):
    """A seat that moves by this policy of batches, in the form that `reached_layers` takes."""

    def ask(moves):
        return compact(moves.of_policy(policy(moves.boards) * 1.0), moves.cells)

    return ask
