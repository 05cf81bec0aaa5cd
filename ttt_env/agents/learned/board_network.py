"""A small network of tanh units that says how good a board is for one of the players."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from ttt_env.agent import Floats
from ttt_env.errors import ParameterError, PolicyFileError
from ttt_env.rules import Boards, Game, as_integer, as_number, one_of
from ttt_env.storage import Arrays, Form, array_names, read_arrays

if TYPE_CHECKING:
    from ttt_env.agents.learned.value_network_kernel import BoardView, NetworkLayers

View: TypeAlias = Literal["mover", "xo", "xo+turn"]
Start: TypeAlias = Literal["uniform01", "symmetric"]
_MAX_UNITS = 1_000  # in a layer
_MAX_LAYERS = 9  # of hidden units
_MAX_LETTERS = 10  # of the name of a view
_MAX_NUMBER = 1e6  # in a file: so the sums in the units stay far below the largest float


@dataclass(frozen=True)
class BoardNetwork:
    """The weights and biases of a network, and how it encodes a board of `game`.

    `layers` are matrices `[out, in + 1]`, the biases in the last column. The input of an empty cell is
    `empty`. With the view "mover" the stones of the player who has just moved are 1 and the other's −1, and
    the output says how good the position is for that player. With "xo" X is 1 and O −1, and the output is how
    good the position is for X; with "xo+turn" one more input says who has just moved, X 1 or O −1.
    """

    game: Game
    layers: list[Floats]
    view: View
    empty: float

    @classmethod
    def random(
        cls,
        game: Game,
        rng: np.random.Generator,
        *,
        hidden: Sequence[int] | None = None,
        start: Start = "uniform01",
        view: View = "mover",
        empty: float = 0.01,
    ) -> "BoardNetwork":
        """An untrained network; `hidden` are the sizes of its hidden layers: see `layer_sizes`.

        With the start "uniform01" all weights and biases are uniform in [0, 1], with "symmetric" in
        ±1/√(the inputs of their layer).

        Raises `ParameterError` for another view or start, an `empty` outside [0, 1], or hidden layers out of
        bounds.
        """
        one_of("view of value-network", view, get_args(View))
        sizes = layer_sizes(game, view, hidden)
        if one_of("start of value-network", start, get_args(Start)) == "symmetric":
            layers = [rng.uniform(-1, 1, (after, n + 1)) / np.sqrt(n) for n, after in pairwise(sizes)]
        else:
            layers = [rng.uniform(0, 1, (after, n + 1)) for n, after in pairwise(sizes)]
        return cls(game, layers, view, as_number("empty", empty, "value-network", 1.0))

    @property
    def sizes(self) -> list[int]:
        """The number of inputs, and of the units of each layer."""
        return [self.layers[0].shape[1] - 1, *map(len, self.layers)]

    def with_numbers(self, numbers: Floats) -> "BoardNetwork":
        """The same network with these weights and biases, all of them in one flat array."""
        ends = np.cumsum([layer.size for layer in self.layers])[:-1]
        parts = zip(np.split(numbers.copy(), ends), self.layers, strict=True)
        return replace(self, layers=[part.reshape(layer.shape) for part, layer in parts])

    def inputs(self, boards: Boards) -> Floats:
        """The inputs of the network for these positions, `[B, inputs]`."""
        moved, other = boards.cells(boards.theirs), boards.cells(boards.mine)
        own = self._side(boards)[:, None]
        cells: Floats = np.where(moved, own, np.where(other, -own, self.empty))
        return np.hstack([cells, own]) if self.view == "xo+turn" else cells

    def values(self, boards: Boards) -> Floats:
        """The values of positions for the player who has just moved, `[B]`, inside [−1, 1]."""
        signals = self.inputs(boards)
        for layer in self.layers:
            signals = np.tanh(signals @ layer[:, :-1].T + layer[:, -1])
        return signals[:, 0] * self._side(boards)

    def compiled(self) -> "tuple[NetworkLayers, BoardView]":
        """The network and how it sees a board, as compiled code takes them."""
        from ttt_env.agents.learned.value_network_kernel import (  # imports numba: only where it is used
            BoardView,
            NetworkLayers,
        )

        sizes = np.array(self.sizes)
        net = NetworkLayers(sizes, np.concatenate(self.layers, axis=None), *np.zeros((2, sizes.sum())))
        masks = np.zeros((self.game.n_cells, 2), np.uint64)
        return net, BoardView(self.view == "mover", self.empty, np.zeros(sizes[1]), masks)

    def _side(self, boards: Boards) -> Floats:
        """The input of a stone of the player who has just moved, 1 or −1, `[B]`."""
        is_negative = (boards.ply % 2 == 0) & (self.view != "mover")
        return np.where(is_negative, -1.0, 1.0)

    def arrays(self) -> Arrays:
        """The arrays that a file of the network holds, by name."""
        encoding = {"view": np.array(self.view), "empty": np.array(self.empty)}
        layers = {f"layer_{number}": layer for number, layer in enumerate(self.layers, 1)}
        return {**encoding, **layers}


def layer_sizes(game: Game, view: View, hidden: Sequence[int] | None = None) -> list[int]:
    """The number of inputs, of units in each hidden layer, and of outputs: 9, 18, 9, 3, 1 on 3×3.

    By default the hidden layers are those of the source, in proportion to the board: two units for a cell,
    one for a cell, one for three cells. Raises `ParameterError` for more than nine hidden layers, or a size
    outside 1 to 1,000.
    """
    n = game.n_cells
    sizes = [2 * n, n, max(1, n // 3)] if hidden is None else hidden
    if not isinstance(sizes, list | tuple) or len(sizes) > _MAX_LAYERS:
        raise ParameterError(
            f"hidden={hidden!r} of value-network: up to {_MAX_LAYERS} sizes of layers are allowed"
        )
    units = [as_integer("hidden", size, "value-network", 1, _MAX_UNITS) for size in sizes]
    return [n + (view == "xo+turn"), *units, 1]


def load_network(path: Path, game: Game) -> BoardNetwork:
    """The network in a file. Raises `PolicyFileError` if the file holds none for this game."""
    n_layers = max(1, sum(name.startswith("layer_") for name in array_names(path)))
    if n_layers > _MAX_LAYERS + 1:
        raise PolicyFileError(
            f"{path} is no value network: it has {n_layers} layers, {_MAX_LAYERS + 1} at most"
        )
    names = [f"layer_{number}" for number in range(1, n_layers + 1)]
    encoding = {"view": Form(np.str_, (), _MAX_LETTERS), "empty": Form(np.float64)}
    layer = Form(
        np.float64, (None, None), max(_MAX_UNITS, game.n_cells) + 2
    )  # the bias, and the input of whose turn it is
    loaded = read_arrays(path, game, "value network", encoding | dict.fromkeys(names, layer))
    view: Any = str(loaded["view"])
    empty, layers = float(loaded["empty"]), [loaded[name] for name in names]
    if view not in get_args(View) or not 0 <= empty <= 1:
        raise PolicyFileError(f"{path} is no value network: it does not say what it sees of a board")
    if not all((np.abs(layer) <= _MAX_NUMBER).all() for layer in layers):
        raise PolicyFileError(f"{path} is no value network: a weight of it is beyond ±{_MAX_NUMBER:g}")
    outputs = list(map(len, layers))
    inputs = [layer_sizes(game, view, [])[0], *outputs[:-1]]
    if 0 in outputs or outputs[-1] != 1 or [layer.shape[1] - 1 for layer in layers] != inputs:
        raise PolicyFileError(f"{path} is no value network for {game.name}: its layers have another form")
    return BoardNetwork(game, layers, view, empty)
