"""A small network of tanh units that says how good a board is for the player who has just moved."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from ttt_env.agent import Floats
from ttt_env.errors import ParameterError, PolicyFileError, unknown
from ttt_env.rules.boards import Boards
from ttt_env.rules.checks import as_number
from ttt_env.rules.game import Game
from ttt_env.storage.policy_file import Arrays, Form, read_arrays

View = Literal["mover", "board"]
_LAYERS = ["layer_1", "layer_2", "layer_3", "layer_4"]
_MOST_LETTERS = 10  # of the name of a view
_MOST_NUMBER = 1e6  # in a file: what the units add up stays far from the largest number that there is


@dataclass(frozen=True)
class BoardNetwork:
    """The numbers of a network, and what it sees of a board of `game`.

    `layers` are matrices `[out, in + 1]`, the biases in the last column. An empty cell is `empty`. With the
    view "mover" the stones of the player who has just moved are 1 and the other's −1; with "board" X is 1 and
    O −1, and one more input says who has just moved, X 1 or O −1.
    """

    game: Game
    layers: list[Floats]
    view: View
    empty: float

    @classmethod
    def random(
        cls, game: Game, rng: np.random.Generator, view: View, empty: float, spread: float
    ) -> "BoardNetwork":
        """A network before training: all numbers of a layer uniform in ±spread/√(its inputs).

        Raises `ParameterError` for another view, an `empty` outside [0, 1], a spread below 0.
        """
        if view not in get_args(View):
            raise ParameterError(unknown("view of value-network", view, get_args(View)))
        sizes = layer_sizes(game, view)
        most = as_number("spread", spread, "value-network", 1e3)
        layers = [most * rng.uniform(-1, 1, (after, n + 1)) / np.sqrt(n) for n, after in pairwise(sizes)]
        return cls(game, layers, view, as_number("empty", empty, "value-network", 1.0))

    def with_numbers(self, numbers: Floats) -> "BoardNetwork":
        """The same network with other numbers, all of them in one row."""
        ends = np.cumsum([layer.size for layer in self.layers])[:-1]
        parts = zip(np.split(numbers.copy(), ends), self.layers, strict=True)
        return BoardNetwork(
            self.game, [part.reshape(layer.shape) for part, layer in parts], self.view, self.empty
        )

    def inputs(self, boards: Boards) -> Floats:
        """What the network sees of positions, `[B, inputs]`."""
        moved, other = boards.cells(boards.theirs), boards.cells(boards.mine)
        own = np.ones((len(boards), 1))
        if self.view == "board":
            own[boards.ply % 2 == 0] = -1.0
        seen: Floats = np.where(moved, own, np.where(other, -own, self.empty))
        return seen if self.view == "mover" else np.hstack([seen, own])

    def values(self, boards: Boards) -> Floats:
        """How good positions are for the player who has just moved, `[B]`, inside [−1, 1]."""
        signals = self.inputs(boards)
        for layer in self.layers:
            signals = np.tanh(signals @ layer[:, :-1].T + layer[:, -1])
        return signals[:, 0]

    def arrays(self) -> Arrays:
        """What a file of the network holds."""
        looks = {"view": np.array(self.view), "empty": np.array(self.empty)}
        return {**looks, **dict(zip(_LAYERS, self.layers, strict=True))}


def layer_sizes(game: Game, view: View) -> list[int]:
    """The inputs, the units of the hidden layers, the output: 9, 18, 9, 3, 1 on 3×3."""
    n = game.n_cells
    return [n + (view == "board"), 2 * n, n, max(1, n // 3), 1]


def load_network(path: Path, game: Game) -> BoardNetwork:
    """The network in a file. Raises `PolicyFileError` if it holds none for this game."""
    looks = {"view": Form(np.str_, (), _MOST_LETTERS), "empty": Form(np.float64)}
    layer = Form(np.float64, (None, None), 2 * game.n_cells + 2)
    loaded = read_arrays(path, game, "value network", looks | dict.fromkeys(_LAYERS, layer))
    view: Any = str(loaded["view"])
    empty, layers = float(loaded["empty"]), [loaded[name] for name in _LAYERS]
    if view not in get_args(View) or not 0 <= empty <= 1:
        raise PolicyFileError(f"{path} is no value network: it does not say what it sees of a board")
    if not all((np.abs(layer) <= _MOST_NUMBER).all() for layer in layers):
        raise PolicyFileError(f"{path} is no value network: numbers of ±{_MOST_NUMBER:g} are the largest")
    shapes = [(after, n + 1) for n, after in pairwise(layer_sizes(game, view))]
    if [layer.shape for layer in layers] != shapes:
        raise PolicyFileError(f"{path} is no value network for {game.name}: its layers have another form")
    return BoardNetwork(game, layers, view, empty)
