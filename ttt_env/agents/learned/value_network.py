"""The value network of Thomas Daniels, "A Tic Tac Toe AI with Neural Networks and Machine Learning"."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from ttt_env.agent import (
    NO_LIMIT,
    Agent,
    Budget,
    CellNumbers,
    Effort,
    Explanation,
    Floats,
    Learner,
    of_legal_cells,
)
from ttt_env.agents.learned.board_network import BoardNetwork, Start, View, load_network
from ttt_env.agents.pretrained import effort_of_file, pretrained_file
from ttt_env.analysis.induction import highest
from ttt_env.compiled.sets import winning_sets
from ttt_env.rules import Boards, Game, Position, as_number, check_size, one_of
from ttt_env.storage import save_arrays

Opponents: TypeAlias = Literal["mixed", "random", "self"]
NET, RANDOM = True, False
CYCLES: dict[Opponents, list[tuple[bool, bool]]] = {
    "mixed": [(NET, NET), (NET, RANDOM), (RANDOM, NET), (NET, NET), (RANDOM, NET), (NET, RANDOM)],
    "random": [(NET, RANDOM), (RANDOM, NET)],
    "self": [(NET, NET)],
}
"""The players of X and O, game after game; after the last pair the first follows again."""
_CHUNK = 6_000  # games of a stretch: whole cycles


class ValueNetwork(Agent):
    """Looks one move ahead and takes the position that its network likes best, uniformly among equals.

    The network, 9–18–9–3–1 tanh units on 3×3, says how good a position is for the player who has just moved
    (Thomas Daniels, "A Tic Tac Toe AI with Neural Networks and Machine Learning"). For a larger board it has
    one input, two units of the first layer and one of the second for every cell, and one of the third for
    three cells; it may be trained with other layers. `ttt_env.train` trains it, `save` writes it,
    `value-network:PATH` loads it; without a path it is the one that comes with this package.

    Raises `PolicyFileError` for a file that is no such network of this game, or, without a path, if the
    package has none for it; `GameTooLargeError` for a game of more than 64 cells.
    """

    is_fixed = True

    def __init__(self, game: Game, path: str | None = None) -> None:
        super().__init__(game)
        check_size(game)
        file = pretrained_file("value-network", game) if path is None else Path(path)
        self.network = load_network(file, game)

    @classmethod
    def effort(cls, game: Game, **parameters: Any) -> Effort:  # noqa: D102
        return effort_of_file("value-network", game, parameters.get("path"))

    @classmethod
    def of(cls, network: BoardNetwork) -> "ValueNetwork":
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

    def _explained(self, position: Position) -> Explanation:
        values = of_legal_cells(position, self._values(Boards.of([position]))[0])
        reason = "Of the positions one move ahead the network likes best that after {cells}."
        numbers = CellNumbers("network’s value after it", values)
        return self._why(position, reason, numbers, facts={"units of each layer": self.network.sizes})

    def save(self, path: str | Path) -> None:
        """Write the network as an `.npz` file. Raises `PolicyFileError` if it cannot be written."""
        save_arrays(path, self.game, self.network.arrays())


class NetworkLearner(Learner):
    """The value network while it learns from games, which are its steps.

    One game is played at a time: the network against itself or a random player, on both seats, in a cycle of
    six games ("mixed"), or only one of the two ("random", "self"). After each, its positions are learned in
    order, each with the target 1, 0 or −1 by how the game ended: a step of gradient descent on half the
    squared error. `hidden` are the sizes of the hidden layers; with the `start` "uniform01" all weights and
    biases begin uniform in [0, 1], as in the library of the source (AForge 2.2), with "symmetric" in ±1/√(the
    inputs of their layer); `view` and `empty` say how the network sees a board, and for whom its output is
    good: see `BoardNetwork`. The agent is due every 6,000 games. Of the games of the last `advance`, in
    order, `is_good` and `is_against_random`, `[games]`, say whether the network drew with itself or beat the
    random player, and whether it played the latter.

    Raises `ParameterError` for parameters out of their ranges, `GameTooLargeError` for a game of more than 64
    cells.
    """

    name = plays_as = "value-network"
    about = "Of six games it plays two against itself and four against a random player."
    default_budget = Budget(steps=500_000)
    keeps_latest = True

    def __init__(
        self,
        game: Game,
        seed: int = 0,
        *,
        learning_rate: float = 0.025,
        hidden: Sequence[int] | None = None,
        start: Start = "uniform01",
        view: View = "mover",
        empty: float = 0.01,
        opponents: Opponents = "mixed",
    ) -> None:
        from ttt_env.compiled.compiler import ready  # imports numba: only where something is learned

        check_size(game)
        super().__init__(game, seed)
        self.cycle = np.array(CYCLES[one_of("opponents of value-network", opponents, list(CYCLES))])
        self.rate = as_number("learning_rate", learning_rate, self.name)
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
