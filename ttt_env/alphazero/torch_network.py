"""The network of AlphaZero in torch, which learns; `inference_network` turns it into the one that plays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.alphazero.network import N_PLANES, NetworkSize, PolicyValueNetwork, is_convolutional
from ttt_env.errors import extra_for
from ttt_env.rules import Boards, Game, Masks

with extra_for("a residual network needs", "train"):
    import torch
    from torch import Tensor, nn

_CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
_NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}


class ResidualNetwork(nn.Module):
    """A residual network with a policy and a value head; `PolicyValueNetwork` plays with its weights.

    Its layers are convolutions over three cells along each axis of the board, or dense unless the board has
    two or three axes. Each is followed by batch normalisation.
    """

    def __init__(self, game: Game, size: NetworkSize) -> None:
        super().__init__()
        self.game, self.size = game, size
        channels, blocks, filters, units = size
        self._axes = game.shape if is_convolutional(game) else (1,)
        kernel = 3 if is_convolutional(game) else 1
        n_inputs = N_PLANES if is_convolutional(game) else N_PLANES * game.n_cells
        n_places = int(np.prod(self._axes))
        self.first = self._layer(n_inputs, channels, kernel)
        self.blocks = nn.ModuleList(self._layer(channels, channels, kernel) for _ in range(2 * blocks))
        self.policy_filter = self._layer(channels, filters, 1)
        self.policy = nn.Linear(filters * n_places, game.n_cells)
        self.value_filter = self._layer(channels, filters, 1)
        self.hidden = nn.Linear(filters * n_places, units)
        self.value = nn.Linear(units, 1)

    @classmethod
    def of(cls, network: PolicyValueNetwork) -> "ResidualNetwork":
        """A network that plays as this one does, to be trained further with fixed normalisations."""
        net, weights, size = cls(network.game, network.size), network.weights, network.size
        first = weights["first"]
        if not is_convolutional(network.game):
            first = first.transpose(1, 0, 2).reshape(1, -1, size.channels)
        blocks = weights["blocks"].reshape(len(net.blocks), -1, size.channels, size.channels)
        layers: list[tuple[Any, NDArray[np.float32], NDArray[np.float32]]] = [
            (net.first, first, weights["first_bias"]),
            *zip(net.blocks, blocks, weights["block_biases"], strict=True),
        ]
        for name in ("policy_filter", "value_filter"):
            layers.append((getattr(net, name), weights[name][None], weights[f"{name}_bias"]))
        with torch.no_grad():
            for (convolution, norm), array, bias in layers:  # so that `_fold_layer` returns these numbers
                folded = torch.from_numpy(array.transpose(2, 1, 0))
                convolution.weight.copy_(folded.reshape(convolution.weight.shape))
                norm.bias.copy_(torch.from_numpy(bias))
                norm.running_var.fill_(1.0 - norm.eps)
            for name in ("policy", "hidden", "value"):
                linear = getattr(net, name)
                linear.weight.copy_(torch.from_numpy(weights[name].T))
                linear.bias.copy_(torch.from_numpy(weights[f"{name}_bias"]))
        return net.eval()

    def _layer(self, n_inputs: int, n_outputs: int, kernel: int) -> nn.Sequential:
        n_axes = len(self._axes)
        convolution = _CONVOLUTIONS[n_axes](n_inputs, n_outputs, kernel, padding=kernel // 2, bias=False)
        return nn.Sequential(convolution, _NORMS[n_axes](n_outputs))

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        return self.value.weight.device

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of the moves, `[B, cells]`, and the values for the player to move, `[B]`."""
        signals = torch.relu(self.first(planes.reshape(len(planes), -1, *self._axes)))
        for number in range(0, len(self.blocks), 2):
            inside = torch.relu(self.blocks[number](signals))
            signals = torch.relu(signals + self.blocks[number + 1](inside))
        policy = torch.relu(self.policy_filter(signals)).flatten(2).transpose(1, 2).flatten(1)
        value = torch.relu(self.value_filter(signals)).flatten(2).transpose(1, 2).flatten(1)
        return self.policy(policy), torch.tanh(self.value(torch.relu(self.hidden(value)))).squeeze(1)

    @torch.inference_mode()
    def evaluate_into(self, masks: Masks, priors: NDArray[np.float32], values: NDArray[np.float32]) -> None:
        """`Evaluator.evaluate_into`, on the device of the weights."""
        planes = self.planes(Boards(self.game, masks[:, 0], masks[:, 1]))
        logits, estimates = self(planes)
        chances = torch.softmax(logits.masked_fill(planes[:, -1] == 0, -torch.inf), dim=1)
        answers = torch.cat([chances, estimates[:, None]], dim=1).cpu().numpy()  # one transfer
        priors[:], values[:] = answers[:, :-1], answers[:, -1]

    def planes(self, boards: Boards) -> Tensor:
        """The input for positions, `[B, 3, cells]`: own stones, the other player's, empty cells."""
        masks = torch.from_numpy(np.stack([boards.mine, boards.theirs], axis=1).view(np.int64))
        cells = torch.arange(self.game.n_cells, device=self.device)
        stones = masks.to(self.device)[:, :, None] >> cells & 1
        return torch.cat([stones, 1 - stones.sum(dim=1, keepdim=True)], dim=1).float()

    def inference_network(self) -> PolicyValueNetwork:
        """The network as it plays and as its file stores it, without torch and in half precision."""
        return self.fold_normalisation().half_precision()

    def fold_normalisation(self) -> PolicyValueNetwork:
        """The same network without torch, with the normalisations folded into its weights."""
        layers = {"first": self.first, "policy_filter": self.policy_filter, "value_filter": self.value_filter}
        folded = {name: _fold_layer(layer) for name, layer in layers.items()}
        weights = {}
        for name, (numbers, bias) in folded.items():
            weights[name], weights[f"{name}_bias"] = numbers[0], bias
        # [taps, inputs, C]: a convolution has a tap for each offset, a dense network one for each cell.
        first = folded["first"][0]
        n_taps = len(first) if is_convolutional(self.game) else self.game.n_cells
        if not is_convolutional(self.game):  # `[planes·cells, out]` as `[cells, planes, out]`
            first = first[0].reshape(N_PLANES, n_taps, -1).transpose(1, 0, 2)
        weights["first"] = first.reshape(n_taps, N_PLANES, -1)
        blocks = [_fold_layer(layer) for layer in self.blocks]
        channels = self.size.channels
        n_inputs = (3 ** len(self._axes) if is_convolutional(self.game) else 1) * channels
        weights["blocks"] = _stack([w.reshape(n_inputs, channels) for w, _ in blocks], (n_inputs, channels))
        weights["block_biases"] = _stack([bias for _, bias in blocks], (channels,))
        for name, linear in (("policy", self.policy), ("hidden", self.hidden)):
            weights[name], weights[f"{name}_bias"] = _numbers(linear.weight).T, _numbers(linear.bias)
        weights["value"], weights["value_bias"] = _numbers(self.value.weight)[0], _numbers(self.value.bias)
        return PolicyValueNetwork(self.game, weights)


def _numbers(tensor: Tensor) -> NDArray[np.float32]:
    numbers: NDArray[np.float32] = tensor.detach().cpu().numpy().astype(np.float32)
    return numbers


def _fold_layer(layer: nn.Module) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The weights `[taps, in, out]` and biases `[out]` of a convolution with its normalisation."""
    assert isinstance(layer, nn.Sequential)
    convolution: Any = layer[0]
    norm: Any = layer[1]
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    weights = convolution.weight.flatten(2) * scale[:, None, None]
    return _numbers(weights.permute(2, 1, 0)), _numbers(norm.bias - norm.running_mean * scale)


def _stack(arrays: Sequence[NDArray[np.float32]], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Arrays of this shape as one; there may be none."""
    return np.array(arrays, np.float32).reshape(-1, *shape)
