"""The recipes, and the Q-networks that mask by their observations."""

import numpy as np
import pytest

import ttt_env
from tests.support.games import open_boards
from tests.support.marks import slow
from ttt_env.agent.learner import learner_class, learner_names
from ttt_env.envs.sb3 import make_vec_env

pytest.importorskip("sb3_contrib")

import torch
from stable_baselines3 import PPO

from ttt_env.training.loop import TrainingOptions, train
from ttt_env.training.masking import MaskedA2C, MaskedActorCriticPolicy, MaskedDQN, MaskedQRDQN
from ttt_env.training.recipe import recipe, recipe_names

MASKED = {"DQN": MaskedDQN, "QR-DQN": MaskedQRDQN}
NETWORKS = {"DQN": "q", "QR-DQN": "quantile"}


def test_every_recipe_is_a_learner():
    assert {"maskable-ppo", "ppo", "a2c", "dqn", "qr-dqn"} <= set(recipe_names())
    assert {name for name in learner_names() if learner_class(name).plays_as == "sb3"} == set(recipe_names())
    assert all(learner_class(name).name == name for name in learner_names())


@pytest.mark.parametrize("name", [name if name == "qr-dqn" else slow(name) for name in recipe_names()])
def test_every_recipe_trains(name, tmp_path):
    """Long enough for each to learn once: the network has changed afterwards."""
    reports, game = [], ttt_env.get_game("tictactoe-v0")
    train(algo=name, steps=5000, until="budget", out=tmp_path / "best.zip", report=reports.append)
    training = TrainingOptions(game, name).begin(checkpoint=tmp_path / "best.zip.checkpoint")
    model = training.learner.model
    assert isinstance(model, recipe(name).algorithm_class())
    assert 5000 <= reports[-1].steps == model.num_timesteps < 10_000
    fresh = type(model)(env=model.get_env(), seed=0, device="cpu", **recipe(name).hyperparameters)
    pairs = zip(model.policy.parameters(), fresh.policy.parameters(), strict=True)
    assert model._n_updates > 0 and not all(torch.equal(one, two) for one, two in pairs)


def raising_envs():
    """Environments in which a taken cell is an error."""
    return make_vec_env("tictactoe-v0", n_envs=16, seed=0, opponent="random", illegal="raise")


def masked(name, **options):
    small = {"learning_starts": 64, "buffer_size": 1024, "target_update_interval": 64, "gamma": 1.0}
    return MASKED[name]("MlpPolicy", raising_envs(), device="cpu", seed=0, **{**small, **options})


@pytest.mark.parametrize("name", MASKED)
class TestMaskedQNetworks:
    def test_taken_cells_score_below_free_ones(self, name):
        """Whatever the network computes; also in the target network, for the next positions."""
        boards, policy = open_boards(), masked(name).policy
        tensor, _ = policy.obs_to_tensor(boards.planes)
        for which in ("net", "net_target"):
            network = getattr(policy, f"{NETWORKS[name]}_{which}")
            with torch.no_grad():
                bias = list(network.parameters())[-1]
                bias.mul_(1000)
                q = network(tensor).reshape(len(boards), -1, 9).mean(dim=1).numpy()
            assert np.isfinite(q).all()
            taken, free = np.where(boards.legal, -np.inf, q), np.where(boards.legal, q, np.inf)
            assert (taken.max(axis=1) < free.min(axis=1)).all()

    def test_chosen_cells_are_free(self, name):
        boards, model = open_boards(), masked(name)
        model.exploration_rate = 0.7
        for deterministic in (True, False):
            cells, _ = model.predict(boards.planes, deterministic=deterministic)
            assert boards.legal[np.arange(len(boards)), cells].all()
        one, _ = model.predict(boards.planes[3])
        assert one.shape == () and boards.legal[3, one]

    def test_exploration_is_uniform_over_free_cells(self, name):
        board = ttt_env.Position.parse("XO./.X./..O")
        planes = np.repeat(ttt_env.Boards.of([board]).planes, 4_000, axis=0)
        model = masked(name)
        model.exploration_rate = 1.0
        cells, _ = model.predict(planes)
        counts = np.bincount(cells, minlength=9)
        assert np.flatnonzero(counts).tolist() == board.legal_cells
        assert np.abs(counts[board.legal_cells] - 800).max() < 5 * np.sqrt(640)
        model.exploration_rate = 0.25
        greedy = model.predict(planes[:1], deterministic=True)[0][0]
        share = (model.predict(planes)[0] == greedy).mean()
        assert abs(share - 0.8) < 5 * np.sqrt(0.8 * 0.2 / 4_000)

    def test_learning_never_plays_taken_cell(self, name):
        """The targets stay finite, too: the last board of a game may have no free cell."""
        model = masked(name).learn(400)
        assert all(torch.isfinite(weights).all() for weights in model.policy.parameters())


class TestMaskedActorCritic:
    def test_taken_cells_have_no_probability(self):
        boards = open_boards()
        policy = MaskedA2C("MlpPolicy", raising_envs(), device="cpu", seed=0).policy
        tensor, _ = policy.obs_to_tensor(boards.planes)
        chances = policy.get_distribution(tensor).distribution.probs.detach().numpy()
        assert (chances[~boards.legal] == 0).all() and (chances[boards.legal] > 0).all()
        for deterministic in (True, False):
            cells, _ = policy.predict(boards.planes, deterministic=deterministic)
            assert boards.legal[np.arange(len(boards)), cells].all()

    @pytest.mark.slow
    def test_learning_never_plays_taken_cell(self):
        envs = raising_envs()
        MaskedA2C("MlpPolicy", envs, device="cpu", seed=0).learn(500)
        PPO(MaskedActorCriticPolicy, envs, n_steps=32, batch_size=64, device="cpu", seed=0).learn(500)


def test_minimax_is_opponent_only_in_enumerable_games():
    dqn = recipe("dqn")
    assert dqn.of_game(ttt_env.get_game("tictactoe-v0")).pool["scripted"] == ["minimax"]
    assert dqn.of_game(ttt_env.get_game("qubic-v0")).pool["scripted"] == ["random"]
