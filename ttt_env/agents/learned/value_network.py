"""The value network of Thomas Daniels, "A Tic Tac Toe AI with Neural Networks and Machine Learning"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

import numpy as np

from ttt_env.agent import (
    NO_LIMIT,
    Agent,
    Budget,
    CellNumbers,
    Explanation,
    Floats,
    Learner,
    of_legal_cells,
)
from ttt_env.agents.pretrained import pretrained_file
from ttt_env.analysis.induction import highest
from ttt_env.compiled.sets import winning_sets
from ttt_env.errors import FileError, ParameterError, brief
from ttt_env.rules import Between, Boards, Game, Position, Share, as_integer, checked
from ttt_env.storage import Arrays, ArraySpec, array_names, read_arrays, save_arrays

if TYPE_CHECKING:
    from ttt_env.agents.learned.value_network_kernel import BoardView, NetworkLayers

View: TypeAlias = Literal["mover", "xo", "xo+turn"]
Start: TypeAlias = Literal["uniform01", "symmetric"]
_MAX_UNITS = 1_000  # in a layer
_MAX_LAYERS = 9  # of hidden units
_MAX_LETTERS = 10  # of the name of a view
_MOST_RATE = 10.0  # larger rates soon push the weights beyond the limit of a file
_MAX_NUMBER = 1e6  # in a file: so the sums in the units stay far below the largest float
Opponents: TypeAlias = Literal["mixed", "random", "self"]
NET, RANDOM = True, False
CYCLES: dict[Opponents, list[tuple[bool, bool]]] = {
    "mixed": [(NET, NET), (NET, RANDOM), (RANDOM, NET), (NET, NET), (RANDOM, NET), (NET, RANDOM)],
    "random": [(NET, RANDOM), (RANDOM, NET)],
    "self": [(NET, NET)],
}
"""The players of X and O, game after game; after the last pair the first follows again."""
_CHUNK = 6_000  # games of a call of `advance`: whole cycles


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
    @checked
    def random(
        cls,
        game: Game,
        rng: np.random.Generator,
        *,
        hidden: Sequence[int] | None = None,
        start: Start = "uniform01",
        view: View = "mover",
        empty: Share = 0.01,
    ) -> BoardNetwork:
        """An untrained network; `hidden` are the sizes of its hidden layers: see `layer_sizes`.

        With the start "uniform01" all weights and biases are uniform in [0, 1], with "symmetric" in ±1/√(the
        inputs of their layer).

        Raises `ParameterError` for hidden layers out of bounds.
        """
        sizes = layer_sizes(game, view, hidden)
        if start == "symmetric":
            layers = [rng.uniform(-1, 1, (after, n + 1)) / np.sqrt(n) for n, after in pairwise(sizes)]
        else:
            layers = [rng.uniform(0, 1, (after, n + 1)) for n, after in pairwise(sizes)]
        return cls(game, layers, view, empty)

    @property
    def sizes(self) -> list[int]:
        """The number of inputs, and of the units of each layer."""
        return [self.layers[0].shape[1] - 1, *map(len, self.layers)]

    def with_numbers(self, numbers: Floats) -> BoardNetwork:
        """The network with these weights and biases, which come in one flat array."""
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

    def compiled(self) -> tuple[NetworkLayers, BoardView]:
        """The network and its view of a board, as compiled code takes them."""
        # Imports numba: only where it is used.
        from ttt_env.agents.learned.value_network_kernel import BoardView, NetworkLayers

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

    By default the hidden layers are as in the source, in proportion to the board: two units for a cell, one
    for a cell, one for three cells. Raises `ParameterError` for more than nine hidden layers, or a size
    outside 1 to 1,000.
    """
    n = game.n_cells
    sizes = [2 * n, n, max(1, n // 3)] if hidden is None else hidden
    if not isinstance(sizes, list | tuple) or len(sizes) > _MAX_LAYERS:
        raise ParameterError(
            f"hidden={brief(hidden)} of value-network: expected the sizes of at most {_MAX_LAYERS} layers"
        )
    units = [as_integer("hidden", size, "value-network", 1, _MAX_UNITS) for size in sizes]
    return [n + (view == "xo+turn"), *units, 1]


def load_network(path: Path, game: Game) -> BoardNetwork:
    """The network in a file. Raises `FileError` if the file holds none for this game."""
    n_layers = max(1, sum(name.startswith("layer_") for name in array_names(path)))
    if n_layers > _MAX_LAYERS + 1:
        raise FileError(
            f"{path} is not a value network: it has {n_layers} layers, more than {_MAX_LAYERS + 1}"
        )
    names = [f"layer_{number}" for number in range(1, n_layers + 1)]
    encoding = {"view": ArraySpec(np.str_, (), _MAX_LETTERS), "empty": ArraySpec(np.float64)}
    layer = ArraySpec(
        np.float64, (None, None), max(_MAX_UNITS, game.n_cells) + 2
    )  # the bias, and the input of whose turn it is
    loaded = read_arrays(path, game, "value network", encoding | dict.fromkeys(names, layer))
    view: Any = str(loaded["view"])
    empty, layers = float(loaded["empty"]), [loaded[name] for name in names]
    if view not in get_args(View) or not 0 <= empty <= 1:
        raise FileError(f"{path} is not a value network: its view of the board is invalid")
    if not all((np.abs(layer) <= _MAX_NUMBER).all() for layer in layers):
        raise FileError(f"{path} is not a value network: one of its weights is beyond ±{_MAX_NUMBER:g}")
    outputs = list(map(len, layers))
    inputs = [layer_sizes(game, view, [])[0], *outputs[:-1]]
    if 0 in outputs or outputs[-1] != 1 or [layer.shape[1] - 1 for layer in layers] != inputs:
        raise FileError(f"{path} is not a value network for {game.name}: its layers have other shapes")
    return BoardNetwork(game, layers, view, empty)


class ValueNetwork(Agent):
    """Looks one move ahead and moves to the position that its network values most, uniform over ties.

    The network, 9–18–9–3–1 tanh units on 3×3, values a position for the player who has just moved (Thomas
    Daniels, "A Tic Tac Toe AI with Neural Networks and Machine Learning"). On a larger board it has, per
    cell, one input, two units in the first layer and one in the second, and one in the third per three cells;
    it may be trained with other layers. `ttt_env.train` trains it, `save` writes it.

    Args:
        game: The game, or its id.
        path: The file of a network; by default the one that comes with this package for the game.

    Raises:
        FileError: The file is not such a network of this game, or none comes with this package for it.

    Example:
        >>> from ttt_env import certify
        >>> certify("value-network", "tictactoe-v0").unbeatable
        True

    """

    is_stationary = True

    def __init__(self, game: Game | str, path: str | None = None) -> None:
        super().__init__(game)
        file = pretrained_file("value-network", self.game) if path is None else Path(path)
        self.network = load_network(file, self.game)

    @classmethod
    def of(cls, network: BoardNetwork) -> ValueNetwork:
        """The agent with this network."""
        agent = cls.__new__(cls)
        Agent.__init__(agent, network.game)
        agent.network = network
        return agent

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        return highest(self._values(boards), boards.legal)

    def _values(self, boards: Boards) -> Floats:
        """The network's value of the position after each move, for its mover, `[B, cells]`; else −∞."""
        rows, cells = np.nonzero(boards.legal)
        values = np.full(boards.legal.shape, -np.inf)
        values[rows, cells] = self.network.values(boards[rows].play(cells))
        return values

    def _explain(self, position: Position) -> Explanation:
        values = of_legal_cells(position, self._values(Boards.of([position]))[0])
        reason = "The network values the position after {cells} most."
        numbers = CellNumbers("network’s value after it", values)
        return self._policy_explanation(
            position, reason, numbers, facts={"units of each layer": self.network.sizes}
        )

    def save(self, path: str | Path) -> None:
        """Write the network as an `.npz` file. Raises `FileError` if it cannot be written."""
        save_arrays(path, self.game, self.network.arrays())


class ValueNetworkLearner(Learner):
    """The value network while it learns from games, which are its steps.

    One game is played at a time. After each, its positions are learned in order, each with the target 1, 0 or
    −1 by how the game ended: a step of gradient descent on half the squared error. The agent is due every
    6,000 games. Of the games of the last `advance`, in order, `is_good` and `is_against_random`, `[games]`,
    say whether the network drew with itself or beat the random player, and whether its opponent was the
    latter.

    Args:
        game: The game.
        seed: The seed of the training.
        learning_rate: The learning rate, 0 to 10.
        hidden: The sizes of the hidden layers; by default those of `layer_sizes`.
        start: The initial weights and biases: uniform in [0, 1] with "uniform01", as in the library of the
            source (AForge 2.2), in ±1/√(the inputs of their layer) with "symmetric".
        view: How the network sees a board, and for whom its output is good: see `BoardNetwork`.
        empty: The input of an empty cell.
        opponents: "self", "random" (a random player, on both seats in turn), or "mixed": a cycle of six
            games, two against itself and four against the random player.

    Example:
        >>> from ttt_env import get_game
        >>> from ttt_env.agent import Budget
        >>> learner = ValueNetworkLearner(get_game("tictactoe-v0"))
        >>> learner.advance(Budget(steps=100))
        >>> learner.steps, learner.agent()
        (100, <ValueNetwork of tictactoe-v0>)

    """

    name = plays_as = "value-network"
    about = "Of six games it plays two against itself and four against a random player."
    default_budget = Budget(steps=500_000)
    keeps_latest = True

    @checked
    def __init__(
        self,
        game: Game,
        seed: int = 0,
        *,
        learning_rate: Annotated[float, Between(0, _MOST_RATE)] = 0.025,
        hidden: Sequence[int] | None = None,
        start: Start = "uniform01",
        view: View = "mover",
        empty: Share = 0.01,
        opponents: Opponents = "mixed",
    ) -> None:
        from ttt_env.compiled.compiler import ready  # imports numba: only for training

        super().__init__(game, seed)
        self.cycle, self.rate = np.array(CYCLES[opponents]), learning_rate
        rng = np.random.default_rng(seed)
        network = BoardNetwork.random(game, rng, hidden=hidden, start=start, view=view, empty=empty)
        self._learn_with(network)
        self.random = rng.integers(1 << 63, size=1).astype(np.uint64)
        self.games = self.moves = 0
        self.is_good = self.is_against_random = np.empty(0, np.bool_)
        ready(self.name, lambda: self.advance(Budget(steps=0)))

    def _learn_with(self, network: BoardNetwork) -> None:
        self._network = network
        self.net, self.board = network.compiled()

    @property
    def steps(self) -> int:  # noqa: D102
        return self.games

    def advance(self, budget: Budget = NO_LIMIT) -> None:  # noqa: D102
        from ttt_env.agents.learned.value_network_kernel import play_and_learn

        self.is_good = np.empty(int(min(_CHUNK, budget.steps)), np.bool_)
        cycle = np.roll(self.cycle, -self.games, axis=0)
        self.is_against_random = np.resize(~cycle.all(axis=1), len(self.is_good))
        self.moves += play_and_learn(
            self.net, self.board, winning_sets(self.game), self.random, cycle, self.rate, self.is_good
        )
        self.games += len(self.is_good)

    def agent(self) -> ValueNetwork:  # noqa: D102
        return ValueNetwork.of(self._network.with_numbers(self.net.numbers))

    def state(self) -> Any:  # noqa: D102
        return self.agent().network, self.random, self.games, self.moves

    def restore(self, state: Any) -> None:  # noqa: D102
        network, self.random, self.games, self.moves = state
        self._learn_with(network)
