"""Networks as ONNX files: exported agents play equally, and foreign networks can play, too."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import ttt_env
from tests.support.agents import network as random_network
from tests.support.games import GAMES, TICTACTOE, open_boards, random_positions
from tests.support.running import ttt
from ttt_env.agents.learned.value_network import BoardNetwork, ValueNetwork
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.errors import FileError, ParameterError, PolicyError
from ttt_env.rules.boards import Boards

pytest.importorskip("onnxscript")
onnxruntime = pytest.importorskip("onnxruntime")
contrib = pytest.importorskip("sb3_contrib")
sb3 = pytest.importorskip("stable_baselines3")
torch = pytest.importorskip("torch")
torch_layers = pytest.importorskip("stable_baselines3.common.torch_layers")

from tests.support.onnx_files import TensorProto, weights_of, write_linear  # noqa: E402
from ttt_env.agents.learned.sb3 import SB3  # noqa: E402
from ttt_env.integrations.onnx.export import export_onnx  # noqa: E402
from ttt_env.training import masking, winning_sets  # noqa: E402

ON_POLICY = {"n_steps": 8, "batch_size": 8}
MODELS = {
    "MaskablePPO, of a recipe": (winning_sets.WinningSetsPPO, "WinningSetsPolicy", "planes", ON_POLICY),
    "DQN, of a recipe": (winning_sets.WinningSetsDQN, "WinningSetsPolicy", "planes", {}),
    "MaskablePPO": (contrib.MaskablePPO, "MlpPolicy", "planes", ON_POLICY),
    "MaskablePPO, dict": (contrib.MaskablePPO, "MultiInputPolicy", "dict", ON_POLICY),
    "PPO, flat": (
        sb3.PPO,
        "MlpPolicy",
        "flat",
        ON_POLICY | {"policy_kwargs": {"share_features_extractor": False}},
    ),
    "A2C": (masking.MaskedA2C, "MlpPolicy", "planes", {}),
    "DQN": (masking.MaskedDQN, "MlpPolicy", "planes", {}),
    "QR-DQN": (masking.MaskedQRDQN, "MlpPolicy", "planes", {}),
}


def export_and_load(agent, folder):
    """The agent of the ONNX file that is exported from this agent."""
    export_onnx(agent, folder / "network.onnx")
    return ttt_env.make_agent(f"onnx:{folder}/network.onnx", agent.game)


def model(name, game=TICTACTOE, **options):
    algorithm, policy, observation, settings = MODELS[name]
    env = ttt_env.make(game, opponent="random", observation=observation)
    return SB3.from_model(game, algorithm(policy, env, seed=0, device="cpu", **settings), **options)


def value_network(view):
    rng = np.random.default_rng(1)
    network = BoardNetwork.random(GAMES["5,4,4"], rng, start="symmetric", view=view, empty=0.2)
    return ValueNetwork.of(network)


def alphazero(board):
    return AlphaZero.of(random_network(GAMES[board]), simulations=1)


OTHER_BOARDS = {
    **{board: partial(alphazero, board) for board in ("misère", "5,4,4", "qubic", "lopsided", "line")},
    **{view: partial(value_network, view) for view in ("xo", "xo+turn")},
}


class TestExport:
    """Exporting a file takes a second, so the fast tests export one of our own networks and one model."""

    @pytest.mark.slow
    def test_export_keeps_nearly_equal_values_and_rules(self, tmp_path):
        """The values of an untrained network differ by less than 32 bits can represent."""
        game, other = (
            ttt_env.Game("mine", (3, 3), sets)
            for sets in (TICTACTOE.winning_sets, TICTACTOE.winning_sets[1:])
        )
        agent = ValueNetwork.of(BoardNetwork.random(game, np.random.default_rng(1)))
        again = export_and_load(agent, tmp_path)
        values = agent.explain(game.start).numbers[0].by_cell.values()
        assert len(set(values)) > 1 == len(set(np.array([*values], np.float32)))
        np.testing.assert_array_equal(again.policies(open_boards(game)), agent.policies(open_boards(game)))
        with pytest.raises(FileError, match="for rules that differ from mine"):
            ttt_env.make_agent(f"onnx:{tmp_path}/network.onnx", other)

    @pytest.mark.slow
    @pytest.mark.parametrize("spec", ["alphazero:simulations=0", "value-network"])
    def test_exported_agent_plays_and_certifies_equally(self, spec, tmp_path):
        agent = ttt_env.make_agent(spec)
        again = export_and_load(agent, tmp_path)
        np.testing.assert_array_equal(again.policies(open_boards()), agent.policies(open_boards()))
        proved = ttt_env.certify(again)
        assert proved.unbeatable
        assert proved.to_dict() == {**ttt_env.certify(agent).to_dict(), "label": proved.label}

    @pytest.mark.slow
    @pytest.mark.parametrize("name", MODELS)
    def test_exported_sb3_model_plays_equally(self, name, tmp_path):
        agent = model(name)
        again = export_and_load(agent, tmp_path)
        np.testing.assert_array_equal(again.policies(open_boards()), agent.policies(open_boards()))
        assert again.temperature == 0

    @pytest.mark.slow
    def test_exported_stochastic_model_plays_equally(self, tmp_path):
        agent = model("MaskablePPO", deterministic=False)
        again = export_and_load(agent, tmp_path)
        assert again.temperature == 1
        np.testing.assert_allclose(again.policies(open_boards()), agent.policies(open_boards()), atol=1e-6)
        greedy = ttt_env.make_agent(f"onnx:{tmp_path}/network.onnx,temperature=0")
        np.testing.assert_array_equal(
            greedy.policies(open_boards()), model("MaskablePPO").policies(open_boards())
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("name", OTHER_BOARDS)
    def test_export_on_every_board_and_view(self, name, tmp_path):
        agent = OTHER_BOARDS[name]()
        boards = Boards.of([agent.game.start, *random_positions(agent.game, 60, seed=4)])
        np.testing.assert_array_equal(
            export_and_load(agent, tmp_path).policies(boards), agent.policies(boards)
        )

    @pytest.mark.slow
    def test_file_is_as_documented(self, tmp_path):
        (tmp_path / "deep").mkdir()
        export_onnx(ttt_env.make_agent("value-network"), tmp_path / "deep" / "network.onnx")
        assert "UNBEATABLE" in ttt("certify", "deep/network.onnx", cwd=tmp_path).stdout
        specs = f"onnx:{tmp_path}/deep/network.onnx", "value-network"
        np.testing.assert_array_equal(*(ttt_env.make_agent(spec).policies(open_boards()) for spec in specs))
        session = onnxruntime.InferenceSession(tmp_path / "deep" / "network.onnx")
        (planes_input,), (scores_output,) = session.get_inputs(), session.get_outputs()
        assert (planes_input.name, planes_input.type, planes_input.shape[1:]) == (
            "planes",
            "tensor(float)",
            [3, 3, 2],
        )
        assert (scores_output.name, scores_output.type, scores_output.shape[1:]) == (
            "scores",
            "tensor(float)",
            [9],
        )
        assert planes_input.shape[0] == scores_output.shape[0] == "batch"
        metadata = session.get_modelmeta().custom_metadata_map
        assert metadata.pop("ttt_env.rules")
        assert metadata == {"ttt_env.game": "tictactoe-v0", "ttt_env.temperature": "0"}
        position = ttt_env.Position.parse("XX./OO./...")
        planes = np.zeros((1, 3, 3, 2), np.float32)
        planes[0, 0, :2, 0] = planes[0, 1, :2, 1] = 1
        (scores,) = session.run(None, {"planes": planes})
        assert scores.argmax() == 2
        assert np.flatnonzero(np.isfinite(scores[0])).tolist() == position.legal_cells

    @pytest.mark.slow
    def test_network_with_fixed_batch_size_is_refused(self, tmp_path):
        class CountsBatch(torch_layers.BaseFeaturesExtractor):
            def forward(self, observations):
                return observations.reshape(len(observations), 18)

        env = ttt_env.make(TICTACTOE, opponent="random")
        features = {
            "features_extractor_class": CountsBatch,
            "features_extractor_kwargs": {"features_dim": 18},
        }
        trained = sb3.PPO("MlpPolicy", env, device="cpu", policy_kwargs=features, **ON_POLICY)
        with pytest.raises(ParameterError, match="makes their number a constant"):
            export_onnx(SB3.from_model(TICTACTOE, trained), tmp_path / "a.onnx")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("spec", ["minimax", "q-learning", "ppo"])
    def test_agent_without_network_is_refused(self, spec, tmp_path):
        with pytest.raises(ParameterError, match=f"{spec} has no network to export"):
            export_onnx(ttt_env.make_agent(spec), tmp_path / "a.onnx")
        assert not list(tmp_path.iterdir())


class TestForeignFiles:
    @pytest.mark.parametrize(
        "form",
        [
            {},
            {"shape": (3, 3, 2)},
            {"shape": (3, 3, 2), "batch": 1},
            {"shape": ("rows", "columns", 2), "dtype": TensorProto.INT8},
            {"dtype": TensorProto.DOUBLE, "output": "scores"},
        ],
        ids=["flat", "planes", "one at a time", "open shape, int8", "double"],
    )
    def test_foreign_network_plays_highest_score(self, form, tmp_path):
        write_linear(tmp_path / "a.onnx", TICTACTOE, **form)
        agent = ttt_env.make_agent(f"onnx:{tmp_path}/a.onnx")
        plain = ttt_env.make_agent(lambda flat: flat @ weights_of(TICTACTOE), TICTACTOE, observation="flat")
        np.testing.assert_array_equal(agent.policies(open_boards()), plain.policies(open_boards()))

    def test_pickle_holds_network(self, tmp_path):
        write_linear(tmp_path / "a.onnx", TICTACTOE)
        agent = ttt_env.make_agent(f"onnx:{tmp_path}/a.onnx")
        pickled = pickle.dumps(agent)
        (tmp_path / "a.onnx").unlink()
        np.testing.assert_array_equal(
            pickle.loads(pickled).policies(open_boards()), agent.policies(open_boards())
        )

    @pytest.mark.parametrize(
        ("form", "message"),
        [
            ({"shape": (2, 3, 3)}, r"shape \['B', 2, 3, 3\]; tictactoe-v0 needs \[B, 3, 3, 2\] or \[B, 18\]"),
            ({"shape": (9,), "weights": np.zeros((9, 9), np.float32)}, "needs"),
            ({"n_inputs": 2}, "inputs x0 tensor.float., x1 tensor.float.; expected one, of numbers"),
            ({"dtype": TensorProto.BOOL}, "one, of numbers"),
            ({"metadata": {"ttt_env.game": "qubic-v0"}}, "one for 'qubic-v0', not for tictactoe-v0"),
            ({"metadata": {"ttt_env.temperature": "hot"}}, "temperature is 'hot'"),
            ({"metadata": {"ttt_env.temperature": "nan"}}, "temperature is 'nan'"),
            ({"metadata": {"ttt_env.temperature": "-1"}}, "temperature is '-1'"),
        ],
    )
    def test_network_of_other_form_is_refused(self, form, message, tmp_path):
        write_linear(tmp_path / "a.onnx", TICTACTOE, **form)
        with pytest.raises(FileError, match=message):
            ttt_env.make_agent(f"onnx:{tmp_path}/a.onnx")

    @pytest.mark.parametrize("content", [None, b"", b"no network", b"PK\x03\x04" * 99])
    def test_invalid_file_is_refused(self, content, tmp_path):
        if content is not None:
            (tmp_path / "a.onnx").write_bytes(content)
        message = "there is no such file" if content is None else "is not an ONNX network that plays"
        with pytest.raises(FileError, match=message):
            ttt_env.make_agent(f"onnx:{tmp_path}/a.onnx")

    @pytest.mark.parametrize(
        ("shape", "weights", "message"),
        [
            (None, np.zeros((18, 8)), r"scores of shape \(4520, 8\)"),
            (None, np.full((18, 9), np.nan), "nan"),
            (("n",), np.zeros((17, 9)), r"a.onnx fails on observations \(4520, 18\)"),
        ],
        ids=["8 scores", "nan", "17 numbers"],
    )
    def test_errors_during_play_are_reported(self, shape, weights, message, tmp_path):
        write_linear(tmp_path / "a.onnx", TICTACTOE, shape=shape, weights=weights.astype(np.float32))
        with pytest.raises(PolicyError, match=message):
            ttt_env.make_agent(f"onnx:{tmp_path}/a.onnx").policies(open_boards())


class _AsDocumented(torch.nn.Module):
    """The export of the documentation of Stable-Baselines3: the action, the value and its probability."""

    def __init__(self, policy):
        super().__init__()
        self.policy = policy

    def forward(self, observation):
        return self.policy(observation, deterministic=True)


@pytest.mark.slow
def test_file_of_actions_names_lines_that_export_scores(tmp_path):
    env = ttt_env.make("tictactoe-v0", opponent="random", observation="flat")
    trained = sb3.PPO("MlpPolicy", env, **ON_POLICY)
    path = tmp_path / "documented.onnx"
    example = torch.zeros(1, 18)
    with warnings.catch_warnings(action="ignore"):  # warnings of PyTorch about its own exporter
        torch.onnx.export(
            _AsDocumented(trained.policy), (example,), str(path), input_names=["input"], dynamo=False
        )
    with pytest.raises(FileError, match="holds actions, not scores of all cells") as caught:
        ttt_env.make_agent(f"onnx:{path}")
    first, second = str(caught.value).splitlines()[-2:]
    exec(first, names := {"ttt_env": ttt_env, "model": trained})
    exec(second.replace("model.onnx", str(tmp_path / "model.onnx")), names)
    assert (
        ttt_env.certify(f"onnx:{tmp_path / 'model.onnx'}").worst_case == ttt_env.certify(trained).worst_case
    )
