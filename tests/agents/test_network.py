"""User-supplied networks and scoring functions as agents."""

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE, open_boards
from ttt_env import Position
from ttt_env.errors import ParameterError, PolicyError

CODES = 3 ** np.arange(9)


@cache
def table_of_values() -> Any:
    """The action values of every position by its code, `float32[3⁹, 9]`; taken cells hold 99."""
    boards = open_boards()
    q = np.nan_to_num(ttt_env.solve(TICTACTOE).values.q(boards), nan=99)
    table = np.zeros((3**9, 9), np.float32)
    table[boards.planes.reshape(-1, 9, 2) @ [1, 2] @ CODES] = q
    return table


def minimax(planes: Any) -> Any:
    """The action values of minimax, as a network would return them."""
    return table_of_values()[planes.reshape(-1, 9, 2).astype(int) @ [1, 2] @ CODES]


def favourite(planes: Any) -> Any:
    """Scores that decrease from cell to cell."""
    return np.tile(-np.arange(9.0), (len(planes), 1))


def network_agent(network: Any, observation: Any = "planes") -> ttt_env.Agent:
    return ttt_env.make_agent(network, TICTACTOE, observation=observation)


def module() -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(18, 32),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(32, 9),
    )


def test_network_of_minimax_values_is_unbeatable() -> None:
    agent = network_agent(minimax)
    expected = ttt_env.make_agent("minimax").policies(open_boards())
    assert np.array_equal(agent.policies(open_boards()), expected)
    certificate = ttt_env.certify(agent)
    assert certificate.unbeatable and not certificate.is_sampled
    assert not ttt_env.certify(network_agent(lambda planes: -minimax(planes))).unbeatable


def test_torch_module_of_minimax_values_is_unbeatable() -> None:
    torch = pytest.importorskip("torch")

    class Values(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding.from_pretrained(torch.tensor(table_of_values()))
            self.register_buffer("weights", torch.tensor(np.outer(CODES, [1, 2]).reshape(-1)))

        def forward(self, flat: Any) -> Any:
            assert flat.dtype == torch.float32 and flat.shape[1:] == (18,) and not self.training
            return self.table(flat.long() @ self.weights)

    network = Values()
    assert ttt_env.certify(ttt_env.make_agent(network, TICTACTOE, observation="flat")).unbeatable
    assert network.training


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.slow
def test_single_policy_matches_batch(temperature: float) -> None:
    agent, boards = ttt_env.make_agent(module(), TICTACTOE, temperature=temperature), open_boards()[::7]
    alone = [agent.policy(position) for position in boards]
    assert np.allclose(agent.policies(boards), alone, atol=1e-5)


def test_certificate_evaluates_one_batch_per_layer() -> None:
    sizes = []

    def counted(planes: Any) -> Any:
        sizes.append(len(planes))
        return minimax(planes)

    ttt_env.certify(network_agent(counted))
    assert len(sizes) <= 2 * 9 and sum(sizes) > 500


def test_temperature_gives_softmax_of_scores() -> None:
    position = Position.parse("XO./.../...")
    agent = ttt_env.make_agent(favourite, TICTACTOE, temperature=2.0)
    weights = np.exp(-np.arange(9) / 2) * [0, 0, 1, 1, 1, 1, 1, 1, 1]
    assert np.allclose(agent.policy(position), weights / weights.sum())
    assert network_agent(favourite).policy(position).tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_equal_scores_give_uniform_policy() -> None:
    agent = network_agent(lambda planes: np.zeros((len(planes), 9), int))
    assert np.array_equal(agent.policies(open_boards()), ttt_env.make_agent("random").policies(open_boards()))


def test_function_receives_requested_observation() -> None:
    seen: list[Any] = []

    def record(observation: Any) -> Any:
        seen.append(observation)
        return np.zeros((len(observation), 9))

    position = Position.parse("XO./.X./...")
    for kind in ("planes", "flat"):
        ttt_env.make_agent(record, TICTACTOE, observation=kind).policy(position)  # type: ignore[arg-type]
    planes, flat = seen
    assert planes.dtype == np.int8 and np.array_equal(planes, position.planes[None])
    assert flat.dtype == np.float32 and np.array_equal(flat, planes.reshape(1, 18))


def test_scores_of_taken_cells_are_ignored() -> None:
    def masked(planes: Any) -> Any:
        taken = planes.reshape(-1, 9, 2).any(axis=2)
        return np.where(taken, np.nan, favourite(planes))

    expected = network_agent(favourite).policies(open_boards())
    assert np.array_equal(network_agent(masked).policies(open_boards()), expected)


class TestTorch:
    def test_modules_keep_mode_and_get_no_gradients(self) -> None:
        network = module()
        network[3].eval()
        modes = [part.training for part in network.modules()]
        network_agent(network).policies(open_boards())
        assert [part.training for part in network.modules()] == modes
        assert all(parameter.grad is None for parameter in network.parameters())
        with pytest.raises(PolicyError, match="RuntimeError"):  # This board has another size.
            ttt_env.make_agent(network, "square-v0").policy(ttt_env.get_game("square-v0").start)
        assert [part.training for part in network.modules()] == modes

    @pytest.mark.parametrize("number_type", ["float64", "bfloat16"])
    def test_module_receives_its_own_dtype(self, number_type: str) -> None:
        torch = pytest.importorskip("torch")
        agent = ttt_env.make_agent(module().to(getattr(torch, number_type)), TICTACTOE, temperature=1)
        other = ttt_env.make_agent(module(), TICTACTOE, temperature=1)
        assert np.allclose(agent.policies(open_boards()), other.policies(open_boards()), atol=0.02)

    def test_function_may_return_tensor_with_gradients(self) -> None:
        torch = pytest.importorskip("torch")
        network = module().eval()
        agent = network_agent(lambda planes: network(torch.tensor(planes).float()))
        expected = network_agent(network).policies(open_boards())
        assert np.array_equal(agent.policies(open_boards()), expected)

    def test_agent_follows_changed_weights(self) -> None:
        network = module()
        agent = ttt_env.make_agent(network, TICTACTOE, temperature=1)
        before = agent.policies(open_boards())
        network[4].bias.data += pytest.importorskip("torch").arange(9.0)
        assert not np.allclose(agent.policies(open_boards()), before)


@pytest.mark.parametrize("network, name", [(lambda: favourite, "favourite"), (module, "Sequential")])
def test_agent_pickles_and_is_named(network: Any, name: str) -> None:
    agent = ttt_env.make_agent(network(), TICTACTOE, temperature=0.5)
    copy = pickle.loads(pickle.dumps(agent))
    assert repr(copy) == f"<NetworkAgent {name} of tictactoe-v0>"
    assert np.array_equal(copy.policies(open_boards()), agent.policies(open_boards()))
    assert copy.policies(open_boards()[:0]).shape == (0, 9)


def test_network_plays_as_opponent_in_envs() -> None:
    agent = ttt_env.make_agent(favourite, TICTACTOE, temperature=0.5)
    env = ttt_env.make(TICTACTOE, opponent=agent, play_as="O")
    assert env.reset(seed=0)[1]["action_mask"].sum() == 8
    envs = ttt_env.make_vec(TICTACTOE, num_envs=8, opponent=agent)
    _, info = envs.reset(seed=0)
    for _ in range(12):
        _, _, _, _, info = envs.step(info["action_mask"].argmax(axis=1))


@pytest.mark.parametrize("id", ["square-v0", "qubic-v0", "mnk-v0:m=5,n=2,k=3"])
def test_network_plays_other_games(id: str) -> None:
    game = ttt_env.get_game(id)
    scores = lambda flat: -flat @ np.ones((2 * game.n_cells, game.n_cells))  # noqa: E731
    agent = ttt_env.make_agent(scores, game, observation="flat")
    assert np.isclose(agent.policy(game.start.play(0)).sum(), 1)


WRONG: dict[str, tuple[Any, str]] = {
    "too few cells": (
        lambda planes: np.zeros((len(planes), 8)),
        r"shape \(1, 3, 3, 2\) .* shape \(1, 8\), not \(1, 9\)",
    ),
    "no batch": (lambda planes: np.zeros(9), r"scores of shape \(9,\), not \(1, 9\)"),
    "a board": (lambda planes: np.zeros((len(planes), 3, 3)), r"\(1, 3, 3\), not \(1, 9\)"),
    "nothing": (lambda planes: None, r"scores of shape \(\), not"),
    "text": (lambda planes: "0", r"scores of shape \(\), not|answers '0'"),
    "policy and value": (lambda planes: (np.zeros((1, 9)), np.zeros(1)), r"answers \(array"),
    "a dictionary": (lambda planes: {"logits": np.zeros((1, 9))}, "answers {'logits'"),
    "NaN": (lambda planes: np.full((1, 9), np.nan), r"gives \[nan, .* in XO\./\.\.\./\.\.\."),
    "infinity": (
        lambda planes: np.array([[0, 0, 0, 0, np.inf, 0, 0, 0, 0]]),
        r"gives \[0\.0, .*inf, .* in XO",
    ),
}


@pytest.mark.parametrize(("network", "message"), WRONG.values(), ids=WRONG)
def test_invalid_scores_are_refused(network: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message) as raised:
        network_agent(network).policy(Position.parse("XO./.../..."))
    text = str(raised.value)
    assert "<NetworkAgent <lambda> of tictactoe-v0>" in text and "[B, cells]" in text


def test_module_with_two_heads_is_refused() -> None:
    torch = pytest.importorskip("torch")

    class ActorCritic(torch.nn.Module):
        def forward(self, planes: Any) -> Any:
            return planes.flatten(1)[:, :9], planes.flatten(1)[:, :1]

    with pytest.raises(PolicyError, match=r"answers \(tensor"):
        network_agent(ActorCritic()).policy(TICTACTOE.start)


def test_batch_dependent_scores_are_refused() -> None:
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(18), torch.nn.Linear(18, 9))

    def in_training(planes: Any) -> Any:
        planes = np.concatenate([planes, planes, TICTACTOE.n_cells * np.ones_like(planes[:1])])
        return network(torch.tensor(planes).float())[: len(planes) // 2]

    with pytest.raises(PolicyError, match=r"in a batch, but .* alone; .*normalise batches"):
        ttt_env.certify(network_agent(in_training))


def test_random_scores_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(PolicyError, match="is it random"):
        ttt_env.certify(network_agent(lambda planes: rng.random((len(planes), 9))))


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no function": (42, {}, "network=42"),
    "a class": (dict, {}, "network=<class 'dict'>"),
    "another observation": (favourite, {"observation": "dict"}, "'dict': expected one of planes, flat"),
    "a negative temperature": (favourite, {"temperature": -1.0}, "temperature=-1"),
    "no number": (favourite, {"temperature": "hot"}, "temperature='hot'"),
}


@pytest.mark.parametrize(("network", "options", "message"), BAD.values(), ids=BAD)
def test_invalid_arguments_are_refused(network: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ttt_env.make_agent(network, TICTACTOE, **{"observation": "planes", **options})
