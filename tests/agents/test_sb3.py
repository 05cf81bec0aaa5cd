"""Models of Stable-Baselines3 as agents."""

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE, open_boards
from ttt_env.errors import FileError, ParameterError, UnknownAgentError

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from stable_baselines3.common.policies import ActorCriticPolicy  # noqa: E402
from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402

from ttt_env.agents.learned.sb3 import SB3  # noqa: E402
from ttt_env.envs.sb3 import make_vec_env  # noqa: E402

ALGORITHMS = {
    "MaskablePPO": (contrib.MaskablePPO, {"n_steps": 16, "batch_size": 16}),
    "PPO": (sb3.PPO, {"n_steps": 16, "batch_size": 16}),
    "A2C": (sb3.A2C, {}),
    "DQN": (sb3.DQN, {"learning_starts": 8}),
    "QRDQN": (contrib.QRDQN, {"learning_starts": 8}),
    "TRPO": (contrib.TRPO, {"n_steps": 16, "batch_size": 16}),
}


def new_model(algorithm, observation="planes", game="tictactoe-v0", **extra):
    make_model, options = ALGORITHMS[algorithm]
    policy = "MultiInputPolicy" if observation == "dict" else "MlpPolicy"
    env = ttt_env.make(game, opponent="random", observation=observation)
    return make_model(policy, env, device="cpu", seed=0, **options, **extra)


SOME = open_boards()[::99]


@pytest.mark.parametrize("observation", ["planes", "dict"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_model_of_any_algorithm_is_loaded_and_masked(algorithm, observation, tmp_path):
    model = new_model(algorithm, observation)
    model.save(tmp_path / "model")  # This writes model.zip.
    agent = ttt_env.make_agent(f"sb3:{tmp_path}/model.zip")
    policies = agent.policies(SOME)
    assert np.allclose(policies.sum(axis=1), 1)
    assert (policies[~SOME.legal] == 0).all()
    assert np.array_equal(policies, SB3.from_model(TICTACTOE, model).policies(SOME))
    assert ttt_env.make_agent(f"sb3:{tmp_path}/model")  # The suffix may be omitted.


def test_policy_matches_predict():
    model = new_model("MaskablePPO")
    agent = SB3.from_model(TICTACTOE, model)
    for position in SOME:
        env = ttt_env.make("tictactoe-v0", opponent="random", start=position, play_as=position.to_move)
        observation, info = env.reset(seed=0)
        predicted, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
        policy = agent.policy(position)
        assert policy[predicted] == policy.max()
        assert (
            position.ply == 0 or policy[predicted] == 1
        )  # An empty board is all zeros: all cells are equal.


def test_q_network_plays_its_best_legal_cell():
    import torch

    model = new_model("DQN")
    policies = SB3.from_model(TICTACTOE, model).policies(SOME)
    with torch.no_grad():
        q = model.q_net(model.q_net.obs_to_tensor(SOME.planes)[0]).numpy()
    assert np.array_equal(policies.argmax(axis=1), np.where(SOME.legal, q, -np.inf).argmax(axis=1))


def test_stochastic_policy_is_masked_distribution():
    model = new_model("MaskablePPO")
    agent = SB3.from_model(TICTACTOE, model, deterministic=False)
    tensor, _ = model.policy.obs_to_tensor(SOME.planes)
    probabilities = model.policy.get_distribution(tensor, action_masks=SOME.legal).distribution.probs
    assert np.allclose(agent.policies(SOME), probabilities.detach().numpy(), atol=1e-6)


def test_model_preferring_taken_cells_plays_best_free_cell():
    import torch

    model, position = new_model("PPO"), ttt_env.Position.parse("XO./.../...")
    with torch.no_grad():
        model.policy.action_net.weight[:] = 0
        model.policy.action_net.bias[:] = torch.tensor([900.0, 0, 1, 2, 3, 2, 1, 2, 1])
    assert SB3.from_model(TICTACTOE, model).policy(position)[4] == 1
    weights = np.exp([-np.inf, -np.inf, 1, 2, 3, 2, 1, 2, 1])
    drawn = SB3.from_model(TICTACTOE, model, deterministic=False).policy(position)
    assert np.allclose(drawn, weights / weights.sum(), atol=1e-4)


def test_model_with_flat_observation_plays(tmp_path):
    from gymnasium.wrappers import FlattenObservation

    env = FlattenObservation(ttt_env.make("tictactoe-v0", opponent="random"))
    sb3.PPO("MlpPolicy", env, n_steps=16, batch_size=16, device="cpu").save(tmp_path / "flat.zip")
    assert ttt_env.match(f"sb3:{tmp_path}/flat.zip", "random").exact


def test_model_of_other_game_is_refused(tmp_path):
    model = new_model("A2C", game="square-v0")
    model.save(tmp_path / "square.zip")
    for given, name in ((f"sb3:{tmp_path}/square.zip", "square.zip"), (model, "this A2C")):
        with pytest.raises(FileError, match=f"{name} is not a model for tictactoe-v0"):
            ttt_env.make_agent(given)


def test_trained_model_remembers_its_game(tmp_path):
    ttt_env.train(algo="a2c", steps=10, out=tmp_path / "model.zip")
    assert ttt_env.make_agent(f"sb3:{tmp_path}/model.zip", "mnk-v0:m=3,n=3,k=3")
    for other in ("mnk-v0:m=3,n=3,k=2", "tictactoe-v0:misere=true"):
        with pytest.raises(FileError, match=f"a model for tictactoe-v0, not for {other}"):
            ttt_env.make_agent(f"sb3:{tmp_path}/model.zip", other)


@pytest.mark.parametrize("content", [None, b"", b"no zip at all"])
def test_invalid_model_file_is_refused(content, tmp_path):
    path = tmp_path / "model.zip"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError, match=r"model\.zip is not a model"):
        ttt_env.make_agent(f"sb3:{path}")


def test_copy_is_unaffected_by_training():
    model = new_model("MaskablePPO")
    agent = SB3.from_model(TICTACTOE, model)
    before, copy = agent.policies(SOME), agent.copy()
    model.learn(64)
    assert not np.array_equal(agent.policies(SOME), before)
    assert np.array_equal(copy.policies(SOME), before)


class TestLiveModels:
    def test_live_model_is_accepted_as_agent(self):
        model = new_model("MaskablePPO")
        agent = SB3.from_model(TICTACTOE, model)
        assert np.array_equal(ttt_env.make_agent(model).policies(SOME), agent.policies(SOME))
        assert ttt_env.match(model, "random") == ttt_env.match(agent, "random")
        assert ttt_env.certify(model).unbeatable == ttt_env.certify(agent).unbeatable
        for opponent in (model, ["random", model]):
            env = ttt_env.make("tictactoe-v0", opponent=opponent, play_as="O")
            assert env.reset(seed=0)[1]["action_mask"].sum() == 8

    def test_model_of_derived_class_is_accepted(self):
        class Mine(sb3.PPO):
            pass

        env = ttt_env.make("tictactoe-v0", opponent="random")
        assert isinstance(ttt_env.make_agent(Mine("MlpPolicy", env, n_steps=16, batch_size=16)), SB3)

    def test_model_overriding_predict_is_refused(self):
        class Careful(sb3.DQN):
            def predict(self, *arguments, **options):
                return np.int64(8), None

        model = Careful("MlpPolicy", ttt_env.make("tictactoe-v0", opponent="random"), buffer_size=8)
        with pytest.raises(ParameterError, match="Careful has a predict of its own"):
            ttt_env.make_agent(model)
        model = new_model("DQN")
        model.predict = Careful.predict
        with pytest.raises(ParameterError, match="DQN has a predict of its own"):
            ttt_env.make_agent(model)

    @pytest.mark.parametrize("method", ["predict", "_predict"])
    def test_policy_overriding_predict_is_refused(self, method):
        class Mine(ActorCriticPolicy):
            pass

        setattr(Mine, method, lambda self, *arguments, **options: None)
        model = sb3.PPO(Mine, ttt_env.make("tictactoe-v0", opponent="random"), n_steps=16, batch_size=16)
        with pytest.raises(ParameterError, match=f"Mine has a {method} of its own"):
            ttt_env.make_agent(model)

    def test_copy_of_derived_agent_keeps_attributes(self):
        class Mine(SB3):
            def __init__(self, *arguments, bonus=3, **options):
                self.bonus = bonus
                super().__init__(*arguments, **options)

        model = new_model("PPO")
        mine = Mine.__new__(Mine)
        vars(mine).update(vars(SB3.from_model(TICTACTOE, model)), bonus=4)
        copied = mine.copy()
        assert copied.bonus == 4 and copied.network is not mine.network
        np.testing.assert_array_equal(copied.policies(SOME), mine.policies(SOME))

    def test_model_of_normalised_observations_is_refused(self):
        envs = VecNormalize(make_vec_env("tictactoe-v0", n_envs=1), norm_obs=False)
        assert ttt_env.make_agent(sb3.PPO("MlpPolicy", envs, n_steps=16, batch_size=16)).is_stationary
        envs.norm_obs = True
        model = sb3.PPO("MlpPolicy", envs, n_steps=16, batch_size=16)
        with pytest.raises(ParameterError, match=r"normalised by VecNormalize.*norm_obs=False"):
            ttt_env.make_agent(model)

    def test_other_sb3_objects_are_refused(self):
        for thing in (new_model("A2C").policy, new_model("A2C").get_env()):
            with pytest.raises(UnknownAgentError, match="model of Stable-Baselines3 itself"):
                ttt_env.make_agent(thing)


def test_spaces_are_checked_before_network_is_built(tmp_path):
    """A network for this many moves would not fit into memory."""
    from gymnasium.spaces import Discrete

    model = new_model("A2C")
    model.action_space = Discrete(10**12)
    model.save(tmp_path / "model.zip")
    with pytest.raises(FileError, match=r"not a model for tictactoe-v0.*1000000000000"):
        ttt_env.make_agent(f"sb3:{tmp_path}/model.zip")


def test_diverged_model_is_refused(tmp_path):
    import torch

    model = new_model("A2C")
    with torch.no_grad():
        next(model.policy.parameters())[0] = torch.nan
    model.save(tmp_path / "model.zip")
    with pytest.raises(FileError, match=r"model\.zip .* one of its weights is not finite"):
        ttt_env.make_agent(f"sb3:{tmp_path}/model.zip")
