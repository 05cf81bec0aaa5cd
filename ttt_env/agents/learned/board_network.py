"""A small network of tanh units that says how good a board is for one of the players."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ttt_env.agent import Floats
from ttt_env.errors import ParameterError, PolicyFileError
from ttt_env.rules.boards import Boards
from ttt_env.rules.checks import as_integer, as_number, one_of
from ttt_env.rules.game import Game
from ttt_env.storage.policy_file import Arrays, Form, array_names, read_arrays

View: TypeAlias = Literal["mover", "xo", "xo+turn"]
Start: TypeAlias = Literal["uniform01", "symmetric"]
_MOST_UNITS = 1_000  # in a layer
_MOST_LAYERS = 9  # of hidden units
_MOST_LETTERS = 10  # of the name of a view
_MOST_NUMBER = 1e6  # in a file: what the units add up stays far from the largest number that there is


@dataclass(frozen=True)
class BoardNetwork:
    """The numbers of a network, and what it sees of a board of `game`.

    `layers` are matrices `[out, in + 1]`, the biases in the last column. An empty cell is `empty`. With the
    view "mover" the stones of the player who has just moved are 1 and the other's −1, and the output says how
    good the position is for that player. With "xo" X is 1 and O −1, and the output is how good the position
    is for X; with "xo+turn" one more input says who has just moved, X 1 or O −1.
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
        """A network before training, with so many units in each `hidden` layer: see `layer_sizes`.

        With the start "uniform01" all weights and biases are uniform in [0, 1], with "symmetric" in
        ±1/√(the inputs of their layer).

        Raises `ParameterError` for another view or start, an `empty` outside [0, 1], other hidden layers.
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
        """The inputs and the units of each layer."""
        return [self.layers[0].shape[1] - 1, *map(len, self.layers)]

    def with_numbers(self, numbers: Floats) -> "BoardNetwork":
        """The same network with other numbers, all of them in one row."""
        ends = np.cumsum([layer.size for layer in self.layers])[:-1]
        parts = zip(np.split(numbers.copy(), ends), self.layers, strict=True)
        return replace(self, layers=[part.reshape(layer.shape) for part, layer in parts])

    def inputs(self, boards: Boards) -> Floats:
        """What the network sees of positions, `[B, inputs]`."""
        moved, other = boards.cells(boards.theirs), boards.cells(boards.mine)
        own = self._side(boards)[:, None]
        seen: Floats = np.where(moved, own, np.where(other, -own, self.empty))
        return np.hstack([seen, own]) if self.view == "xo+turn" else seen

    def values(self, boards: Boards) -> Floats:
        """How good positions are for the player who has just moved, `[B]`, inside [−1, 1]."""
        signals = self.inputs(boards)
        for layer in self.layers:
            signals = np.tanh(signals @ layer[:, :-1].T + layer[:, -1])
        return signals[:, 0] * self._side(boards)

    def _side(self, boards: Boards) -> Floats:
        """What a stone of the player who has just moved is in positions, 1 or −1, `[B]`."""
        is_negative = (boards.ply % 2 == 0) & (self.view != "mover")
        return np.where(is_negative, -1.0, 1.0)

    def arrays(self) -> Arrays:
        """What a file of the network holds."""
        looks = {"view": np.array(self.view), "empty": np.array(self.empty)}
        layers = {f"layer_{number}": layer for number, layer in enumerate(self.layers, 1)}
        return {**looks, **layers}


def layer_sizes(game: Game, view: View, hidden: Sequence[int] | None = None) -> list[int]:
    """The inputs, the units of the hidden layers, the output: 9, 18, 9, 3, 1 on 3×3.

    By default the hidden layers are those of the source, in proportion to the board: two units for a cell,
    one for a cell, one for three cells. Raises `ParameterError` unless there are up to nine, of 1 to 1,000
    units each.
    """
    n = game.n_cells
    sizes = [2 * n, n, max(1, n // 3)] if hidden is None else hidden
    if not isinstance(sizes, list | tuple) or len(sizes) > _MOST_LAYERS:
        raise ParameterError(
            f"hidden={hidden!r} of value-network: up to {_MOST_LAYERS} sizes of layers are allowed"
        )
    units = [as_integer("hidden", size, "value-network", 1, _MOST_UNITS) for size in sizes]
    return [n + (view == "xo+turn"), *units, 1]


def load_network(path: Path, game: Game) -> BoardNetwork:
    """The network in a file. Raises `PolicyFileError` if it holds none for this game."""
    n_layers = max(1, sum(name.startswith("layer_") for name in array_names(path)))
    if n_layers > _MOST_LAYERS + 1:
        raise PolicyFileError(
            f"{path} is no value network: it has {n_layers} layers, {_MOST_LAYERS + 1} at most"
        )
    names = [f"layer_{number}" for number in range(1, n_layers + 1)]
    looks = {"view": Form(np.str_, (), _MOST_LETTERS), "empty": Form(np.float64)}
    layer = Form(np.float64, (None, None), max(_MOST_UNITS, game.n_cells) + 2)  # a bias and whose move it is
    loaded = read_arrays(path, game, "value network", looks | dict.fromkeys(names, layer))
    view: Any = str(loaded["view"])
    empty, layers = float(loaded["empty"]), [loaded[name] for name in names]
    if view not in get_args(View) or not 0 <= empty <= 1:
        raise PolicyFileError(f"{path} is no value network: it does not say what it sees of a board")
    if not all((np.abs(layer) <= _MOST_NUMBER).all() for layer in layers):
        raise PolicyFileError(f"{path} is no value network: numbers of ±{_MOST_NUMBER:g} are the largest")
    if not _is_chain(layers, layer_sizes(game, view, [])[0]):
        raise PolicyFileError(f"{path} is no value network for {game.name}: its layers have another form")
    return BoardNetwork(game, layers, view, empty)


def _is_chain(layers: list[Floats], n_inputs: int) -> bool:
    """Whether each layer takes what the one before gives, and the last gives one number."""
    for layer in layers:
        if not len(layer) or layer.shape[1] != n_inputs + 1:
            return False
        n_inputs = len(layer)
    return n_inputs == 1
