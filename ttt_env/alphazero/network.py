"""A residual network that gives each move of a position a probability, and the position a value."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import FileError, ParameterError
from ttt_env.rules import Between, Boards, Game, Masks, as_integer, check_fields
from ttt_env.storage import Arrays, ArraySpec, array_names, read_arrays, save_arrays

if TYPE_CHECKING:
    from ttt_env.alphazero.network_kernel import ResidualWeights

DEFAULT_SIMULATIONS, MAX_SIMULATIONS = 200, 1_000_000
_SETTINGS = {
    "simulations": ArraySpec(np.int64),
    "threats": ArraySpec(np.bool_),
}  # older files lack these
N_PLANES = 3  # of each cell: stones of the player to move, stones of the opponent, empty cells
_KERNEL = 3  # cells of a convolution along each axis
_MAX_NUMBER = 1e4  # of a weight: so all sums stay far below the largest float


class NetworkSize(NamedTuple):
    """The size of a residual network.

    Each of its `blocks` has two layers of `channels` numbers a place. The heads reduce each place to
    `filters` numbers; the value head has a hidden layer of `units`.
    """

    channels: Annotated[int, Between(1, 256)] = 32
    blocks: Annotated[int, Between(0, 40)] = 2
    filters: Annotated[int, Between(1, 64)] = 4
    units: Annotated[int, Between(1, 1_000)] = 32


def is_convolutional(game: Game) -> bool:
    """True if the network of this game has convolutions, that is, if the board has two or three axes.

    The cells of another board, such as that of a game given by a list of winning sets, are not neighbours of
    each other; its network is dense.
    """
    return len(game.shape) in (2, 3)


def places_of(game: Game) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells that each place sees, `[T, taps]`, and its neighbours among the places, `[T, taps]`.

    A convolution has a place for each cell, which sees the cell and those around it, −1 beyond the edge of
    the board, and has them as neighbours. A dense network has one place, which sees all cells.
    """
    if not is_convolutional(game):
        return np.arange(game.n_cells)[None], np.zeros((1, 1), np.int64)
    cells = np.pad(np.arange(game.n_cells).reshape(game.shape), 1, constant_values=-1)
    taps = [
        cells[tuple(slice(at, at + length) for at, length in zip(offset, game.shape, strict=True))].ravel()
        for offset in product(range(_KERNEL), repeat=len(game.shape))
    ]
    sees = np.stack(taps, axis=1)
    return sees, sees


class Evaluator(Protocol):
    """A network that a search can query."""

    @property
    def game(self) -> Game:
        """The game whose positions it evaluates."""

    def evaluate_into(
        self, masks: Masks, priors: NDArray[np.float32], values: NDArray[np.float32], /
    ) -> None:
        """Write the move probabilities `[B, cells]` and values `[B]` of positions into these arrays.

        `masks` `[B, 2]` are the stones of the player to move and of the opponent.
        """


@dataclass(frozen=True)
class PolicyValueNetwork:
    """A residual network of a game for inference, without torch.

    `weights` are the arrays that `network_kernel.ResidualWeights` describes, by name. The network sees a
    position from the side of the player to move, and returns a probability for each move and a value inside
    [−1, 1]. The same position gets the same numbers in every batch.

    `simulations` and `threats` are the default settings of its search: the ones with which its training
    judged it.

    He, Zhang, Ren and Sun, Deep residual learning for image recognition, 2016; Silver et al., Mastering the
    game of Go without human knowledge, 2017.
    """

    game: Game
    weights: Arrays
    simulations: int = DEFAULT_SIMULATIONS
    threats: bool = True

    @property
    def size(self) -> NetworkSize:
        """The size of the network."""
        channels, filters = self.weights["policy_filter"].shape
        return NetworkSize(channels, len(self.weights["blocks"]) // 2, filters, len(self.weights["value"]))

    @cached_property
    def kernel(self) -> "ResidualWeights":
        """The network as the compiled code takes it."""
        # Imports numba: only where a network is queried.
        from ttt_env.alphazero.network_kernel import ResidualWeights

        sees, neighbours = places_of(self.game)
        weights = {name: np.ascontiguousarray(array, np.float32) for name, array in self.weights.items()}
        return ResidualWeights(sees, neighbours, **weights)

    def evaluate(self, boards: Boards) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The move probabilities `[B, cells]` and values `[B]` of open positions."""
        priors = np.empty((len(boards), self.game.n_cells), np.float32)
        values = np.empty(len(boards), np.float32)
        self.evaluate_into(np.stack([boards.mine, boards.theirs], axis=1), priors, values)
        return priors, values

    def evaluate_into(  # noqa: D102
        self, masks: Masks, priors: NDArray[np.float32], values: NDArray[np.float32]
    ) -> None:
        _evaluate()(self.kernel, masks, priors, values)

    def save(self, path: str | Path) -> None:
        """Write the network as an `.npz` file of half-precision numbers.

        Raises `FileError` if it cannot be written. The network that is read from the file is the same
        only if its weights are such numbers already: see `half_precision`.
        """
        save_arrays(path, self.game, self.arrays())

    def arrays(self) -> Arrays:
        """The arrays that a file of the network holds, by name."""
        settings = {name: np.array(getattr(self, name), form.dtype) for name, form in _SETTINGS.items()}
        return {name: array.astype(np.float16) for name, array in self.weights.items()} | settings

    def half_precision(self) -> "PolicyValueNetwork":
        """The network with its weights rounded to half precision, as its file stores them."""
        rounded = {name: array.astype(np.float16).astype(np.float32) for name, array in self.weights.items()}
        return replace(self, weights=rounded)


@cache
def _evaluate() -> Callable[..., None]:
    """The compiled function, imported once: an import for each position would take longer than the call."""
    from ttt_env.alphazero.network_kernel import evaluate

    return evaluate


def shapes_of(game: Game, size: NetworkSize) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of a network, by name."""
    sees, neighbours = places_of(game)
    channels, blocks, filters, units = size
    n_places, n_cells = len(sees), game.n_cells
    return {
        "first": (sees.shape[1], N_PLANES, channels),
        "first_bias": (channels,),
        "blocks": (2 * blocks, neighbours.shape[1] * channels, channels),
        "block_biases": (2 * blocks, channels),
        "policy_filter": (channels, filters),
        "policy_filter_bias": (filters,),
        "policy": (n_places * filters, n_cells),
        "policy_bias": (n_cells,),
        "value_filter": (channels, filters),
        "value_filter_bias": (filters,),
        "hidden": (n_places * filters, units),
        "hidden_bias": (units,),
        "value": (units,),
        "value_bias": (1,),
    }


def load_network(path: str | Path, game: Game) -> PolicyValueNetwork:
    """The network in a file. Raises `FileError` if the file holds none for this game."""
    kind = "network of alphazero"
    largest = shapes_of(game, NetworkSize(256, 40, 64, 1_000))
    forms = {name: ArraySpec(np.float16, (None,) * len(shape), max(shape)) for name, shape in largest.items()}
    has_settings = bool(array_names(path) & _SETTINGS.keys())
    loaded = read_arrays(path, game, kind, forms | _SETTINGS if has_settings else forms)
    settings = {name: loaded.pop(name).item() for name in _SETTINGS if has_settings}
    weights = {name: array.astype(np.float32) for name, array in loaded.items()}
    network = PolicyValueNetwork(game, weights, **settings)
    try:
        as_integer("simulations", network.simulations, "alphazero", 1, MAX_SIMULATIONS)
        check_fields("alphazero", network.size)
        shapes = shapes_of(game, network.size)
    except ParameterError as error:
        raise FileError(f"{path} is not a {kind}: {error}") from error
    if wrong := [name for name, array in loaded.items() if array.shape != shapes[name]]:
        raise FileError(f"{path} is not a {kind} for {game.name}: {', '.join(wrong)}: wrong shape")
    if not all((np.abs(array) <= _MAX_NUMBER).all() for array in loaded.values()):
        raise FileError(f"{path} is not a {kind}: one of its weights is beyond ±{_MAX_NUMBER:g}")
    return network
