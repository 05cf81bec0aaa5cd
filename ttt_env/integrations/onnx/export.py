"""Networks of agents written as ONNX files.

Every file has one input and one output, whatever the network:

- `planes`, `float32[B, *shape, 2]`: 1 where a stone of the player to move (plane 0) or of the other (plane
  1) is, else 0. B is any number of positions.
- `scores`, `float32[B, cells]`: the agent plays the cell of the highest score. Taken cells have −∞, so that
  no mask is needed.

The metadata say for which game the file is (`ttt_env.game`), and at which temperature the agent plays
(`ttt_env.temperature`): 0 is the highest score, uniformly among equals, 1 the softmax of the scores.
"""

import logging
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gymnasium import spaces

from ttt_env.errors import extra_for

with extra_for("ONNX files are written with", "onnx"):
    import onnx
    import onnxscript  # noqa: F401  (torch writes ONNX with it)
    import torch
    from torch import Tensor, nn

from ttt_env.agent import Agent, name_of
from ttt_env.agents.learned.sb3 import SB3
from ttt_env.agents.learned.value_network import BoardNetwork, ValueNetwork
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.alphazero.network import PolicyValueNetwork, places_of
from ttt_env.errors import ParameterError
from ttt_env.integrations.onnx.agent import GAME, RULES, SCORES, TEMPERATURE, rules_of
from ttt_env.rules import Game, motions
from ttt_env.storage import file_errors, write_atomically

INPUT = "planes"
_OPSET = 18
_LOGGER = "torch.onnx._internal.exporter._registration"  # which advertises torchvision
_MASK_BITS = 24  # of a part of a mask: all whole numbers below 2²⁴ are numbers of 32 bits


def export_onnx(agent: Agent, path: str | Path) -> None:
    """Write the network of an agent as an ONNX file, which `onnx:PATH` plays.

    Args:
        agent: A model of Stable-Baselines3 (`sb3`), `alphazero`, of which only the network is written, as
            with `simulations=0`, or a `value-network`.
        path: The file.

    Raises:
        ParameterError: The agent is of another kind, or its network only takes a fixed number of positions.
        FileError: The file cannot be written.

    """
    (network, temperature), game = _network_of(agent), agent.game
    example = torch.zeros(2, *game.shape, 2)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls functions that it has deprecated itself
        logging.getLogger(_LOGGER).setLevel(logging.ERROR)
        file = Path(folder, "network.onnx")
        torch.onnx.export(
            network.eval(),
            (example,),
            file,
            input_names=[INPUT],
            output_names=[SCORES],
            opset_version=_OPSET,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        model = onnx.load(file)
    if not model.graph.input[0].type.tensor_type.shape.dim[0].dim_param:
        raise ParameterError(
            f"this network for {game.name} cannot be written for any number of positions at a time: its code "
            "makes their number a constant, as `len(x)` of a tensor does, but not `x.shape[0]`"
        )
    model.producer_name, model.producer_version = "ttt_env", ""
    model.doc_string = (
        f"Plays {game.name}: the cell of the highest score. {INPUT} are the stones of the player to move and "
        "of the other, 0 or 1; taken cells have the score −∞."
    )
    onnx.helper.set_model_props(
        model, {GAME: game.name, RULES: rules_of(game), TEMPERATURE: f"{temperature:g}"}
    )
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    with file_errors(path, "written"):
        write_atomically(path, content)


def _network_of(agent: Agent) -> tuple["CellScores", float]:
    """The network of an agent, and the temperature at which the agent plays by its scores."""
    if isinstance(agent, AlphaZero):
        return _AlphaZeroScores(agent.network), 0.0
    if isinstance(agent, ValueNetwork):
        return _ValueNetworkScores(agent.network), 0.0
    if isinstance(agent, SB3):
        return _SB3Scores(agent), agent.temperature
    raise ParameterError(
        f"{name_of(agent)} has no network to export: sb3, alphazero and value-network have one"
    )


class CellScores(nn.Module):
    """A network from planes `[B, *shape, 2]` to the scores of all cells, `[B, cells]`; −∞ if illegal."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.game, self.n_cells = game, game.n_cells
        below = torch.zeros(game.n_cells, game.n_cells)
        for cell, support in enumerate(game.supports):
            below[cell if support is None else support, cell] = 1.0
        self.rests_on: Tensor
        self.register_buffer("rests_on", below)

    def forward(self, planes: Tensor) -> Tensor:
        """The scores."""
        cells = planes.reshape(-1, self.n_cells, 2)
        return torch.where(self.playable(cells) > 0, self.scores(cells), -torch.inf)

    def playable(self, cells: Tensor) -> Tensor:
        """1 for legal cells, else 0, `[B, cells]`, from planes `[B, cells, 2]`."""
        taken = cells.sum(dim=2)
        return (1.0 - taken) * (taken @ self.rests_on + self.rests_on.diagonal())

    def scores(self, cells: Tensor) -> Tensor:
        """The scores `[B, cells]` for planes `[B, cells, 2]`, arbitrary for taken cells."""
        raise NotImplementedError

    def add_constant(self, name: str, numbers: Any) -> Tensor:
        """The numbers as a constant of the network, by this name."""
        tensor = torch.as_tensor(numbers)
        self.register_buffer(name, tensor)
        return tensor


class _SB3Scores(CellScores):
    """The logits or action values of a model of Stable-Baselines3."""

    def __init__(self, agent: SB3) -> None:
        super().__init__(agent.game)
        policy: Any = agent.copy().network
        self._policy: Any = policy
        self._sees_mask = isinstance(self._policy.observation_space, spaces.Dict)
        n_actions, columns = int(policy.action_space.n), torch.tensor(agent.game.column_of)
        action_of = torch.arange(self.n_cells) if n_actions == self.n_cells else columns
        self._action_of = self.add_constant("action_of", action_of)
        self._cells_of = self.add_constant("cells_of", torch.nn.functional.one_hot(action_of).float())
        self._shape = agent.input_shape

    def scores(self, cells: Tensor) -> Tensor:
        planes = cells.reshape(-1, *self._shape)
        observation: Any = planes
        if self._sees_mask:
            observation = {"observation": planes, "action_mask": self.playable(cells) @ self._cells_of}
        return self._of_actions(observation)[:, self._action_of]

    def _of_actions(self, observation: Any) -> Tensor:
        policy = self._policy
        if hasattr(policy, "quantile_net"):
            return policy.quantile_net(observation).mean(dim=1)  # type: ignore[no-any-return]
        if hasattr(policy, "q_net"):
            return policy.q_net(observation)  # type: ignore[no-any-return]
        features = policy.extract_features(observation)
        if not policy.share_features_extractor:
            features = features[0]
        return policy.action_net(policy.mlp_extractor.forward_actor(features))  # type: ignore[no-any-return]


class _ValueNetworkScores(CellScores):
    """The scores of a value network, for each move the number of moves that lead to a smaller value.

    Values that hardly differ would be equal in 32 bits; their ranks keep the order of 64 bits.
    """

    def __init__(self, network: BoardNetwork) -> None:
        super().__init__(network.game)
        self._view, self._empty, self._n_layers = network.view, network.empty, len(network.layers)
        for number, layer in enumerate(network.layers):
            self.add_constant(f"weights_{number}", layer[:, :-1].T.copy())
            self.add_constant(f"biases_{number}", layer[:, -1].copy())
        self.add_constant("move", torch.eye(self.n_cells, dtype=torch.float64))

    def scores(self, cells: Tensor) -> Tensor:
        cells = cells.double()
        moved, other = cells[:, None, :, 0] + self.get_buffer("move"), cells[:, None, :, 1]
        is_o = torch.remainder(cells.sum(dim=(1, 2)), 2.0)  # X moves if the number of stones is even
        side = (torch.ones_like(is_o) if self._view == "mover" else 1.0 - 2.0 * is_o)[:, None, None]
        signals = side * (moved - other) + self._empty * (1.0 - moved - other)
        if self._view == "xo+turn":
            signals = torch.cat([signals, side.expand(-1, self.n_cells, 1)], dim=2)
        for number in range(self._n_layers):
            if number:
                signals = torch.tanh(signals)
            signals = signals @ self.get_buffer(f"weights_{number}") + self.get_buffer(f"biases_{number}")
        values = torch.where(cells.sum(dim=2) > 0, -torch.inf, (torch.tanh(signals) * side)[:, :, 0])
        return (values[:, :, None] > values[:, None, :]).sum(dim=2).float()


class _AlphaZeroScores(CellScores):
    """The logits of the moves of an AlphaZero network, evaluated in one of all symmetric positions.

    As `AlphaZero` does, it maps a position to the image with the smallest masks, and the scores back.
    """

    def __init__(self, network: PolicyValueNetwork) -> None:
        super().__init__(network.game)
        for name, weights in network.weights.items():
            self.add_constant(name, weights)
        for name, places in zip(("sees", "neighbours"), places_of(network.game), strict=True):
            self.add_constant(
                name, places % (self.n_cells + 1) if name == "sees" else places % (len(places) + 1)
            )
        to_images = torch.as_tensor(motions(network.game).copy())
        self.add_constant("to_images", to_images)
        self.add_constant("from_images", to_images.argsort(dim=1))
        cell = torch.arange(self.n_cells)
        parts = torch.arange(-(-self.n_cells // _MASK_BITS)).flip(0)  # the most significant first
        of_part = cell[:, None] // _MASK_BITS == parts
        self.add_constant("bits", torch.where(of_part, 2.0 ** (cell[:, None] % _MASK_BITS), 0.0))
        self._n_blocks = len(network.weights["blocks"]) // 2

    def scores(self, cells: Tensor) -> Tensor:
        images = cells[:, self.get_buffer("from_images")]  # [B, symmetries, cells, 2]
        is_least = torch.ones_like(images[:, :, 0, 0])
        masks = images.transpose(2, 3) @ self.get_buffer("bits")  # [B, symmetries, 2, parts]
        for part in masks.flatten(2).unbind(2):
            smallest = torch.where(is_least > 0, part, torch.inf).amin(dim=1, keepdim=True)
            is_least = is_least * (part == smallest)
        symmetry = is_least.argmax(dim=1)
        image = torch.gather(images, 1, symmetry[:, None, None, None].expand(-1, 1, self.n_cells, 2))[:, 0]
        logits = self._logits(image)
        return torch.gather(logits, 1, self.get_buffer("to_images")[symmetry])

    def _logits(self, cells: Tensor) -> Tensor:
        w = self.get_buffer
        planes = torch.cat([cells, 1.0 - cells.sum(dim=2, keepdim=True)], dim=2)
        first = w("first").reshape(-1, w("first").shape[2])
        signals = torch.relu(_around(planes, w("sees")) @ first + w("first_bias"))
        for layer in range(0, 2 * self._n_blocks, 2):
            inside = torch.relu(self._layer(signals, layer))
            signals = torch.relu(signals + self._layer(inside, layer + 1))
        policy = torch.relu(signals @ w("policy_filter") + w("policy_filter_bias")).flatten(1)
        return policy @ w("policy") + w("policy_bias")

    def _layer(self, signals: Tensor, layer: int) -> Tensor:
        around = _around(signals, self.get_buffer("neighbours"))
        return around @ self.get_buffer("blocks")[layer] + self.get_buffer("block_biases")[layer]


def _around(signals: Tensor, taps: Tensor) -> Tensor:
    """The neighbours of each place, `[B, T, taps·C]`, in signals `[B, cells, C]`; zeros beyond the edge."""
    beyond = torch.zeros_like(signals[:, :1])
    return torch.cat([signals, beyond], dim=1)[:, taps].flatten(2)
