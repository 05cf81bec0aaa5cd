"""The value network of Thomas Daniels, "A Tic Tac Toe AI with Neural Networks and Machine Learning"."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, Effort, Floats, chances, of_legal_cells
from ttt_env.agent.explanation import CellNumbers, Explanation, named_cells
from ttt_env.agents.learned.board_network import BoardNetwork, Start, View, load_network
from ttt_env.agents.pretrained import effort_of_network, pretrained_file
from ttt_env.compiled.sets import winning_sets
from ttt_env.errors import ParameterError
from ttt_env.rules.boards import Boards
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_number, one_of
from ttt_env.rules.game import Game, Position
from ttt_env.rules.sizes import check_size
from ttt_env.storage.policy_file import save_arrays

Opponents: TypeAlias = Literal["mixed", "random", "self"]
NET, RANDOM = True, False
CYCLES: dict[Opponents, list[tuple[bool, bool]]] = {
    "mixed": [(NET, NET), (NET, RANDOM), (RANDOM, NET), (NET, NET), (RANDOM, NET), (NET, RANDOM)],
    "random": [(NET, RANDOM), (RANDOM, NET)],
    "self": [(NET, NET)],
}
"""The players of X and O, game after game; after the last pair the first follows again."""
_CHUNK = 6_000  # games between two reports: whole cycles


class ValueNetwork(Agent):
    """Looks one move ahead and takes the position that its network likes best, uniformly among equals.

    The network, 9–18–9–3–1 tanh units on 3×3, says how good a position is for the player who has just moved
    (Thomas Daniels, "A Tic Tac Toe AI with Neural Networks and Machine Learning"). For a larger board it has
    one input, two units of the first layer and one of the second for every cell, and one of the third for
    three cells; it may be trained with other layers. `train` trains it, `save` writes it,
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
        return effort_of_network("value-network", game, parameters.get("path"))

    @classmethod
    def of(cls, network: BoardNetwork) -> "ValueNetwork":
        """The agent with this network."""
        agent = cls.__new__(cls)
        Agent.__init__(agent, network.game)
        agent.network = network
        return agent

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        values = self._values(boards)
        is_best = boards.legal & (values == values.max(axis=1, keepdims=True))
        policies: Floats = is_best / is_best.sum(axis=1, keepdims=True)
        return policies

    def _values(self, boards: Boards) -> Floats:
        """The network's value of the position after each move, for its mover, `[B, cells]`; else −∞."""
        rows, cells = np.nonzero(boards.legal)
        values = np.full(boards.legal.shape, -np.inf)
        values[rows, cells] = self.network.values(boards[rows].play(cells))
        return values

    def _explained(self, position: Position) -> Explanation:
        values = of_legal_cells(position, self._values(Boards.of([position]))[0])
        why = Explanation(
            position, chances(self, position), "", (CellNumbers("network’s value after it", values),)
        )
        reason = (
            f"Of the positions one move ahead the network likes best that after {named_cells(why.cells)}."
        )
        return replace(why, reason=reason, facts={"units of each layer": self.network.sizes})

    def save(self, path: str | Path) -> None:
        """Write the network as an `.npz` file. Raises `PolicyFileError` if it cannot be written."""
        save_arrays(path, self.game, self.network.arrays())


@dataclass(frozen=True)
class NetworkSnapshot:
    """The state of a training: games played, moves made in them, seconds used, the agent as it plays now.

    `is_good` and `is_against_random`, `[games]`, are about the games since the last report, in their order:
    whether the network drew with itself or beat the random player, and whether it played the latter.
    """

    games: int
    moves: int
    seconds: float
    is_good: NDArray[np.bool_]
    is_against_random: NDArray[np.bool_]
    agent: ValueNetwork


def train(
    game: Game | str = "tictactoe-v0",
    *,
    seed: int = 0,
    games: int | None = 500_000,
    seconds: float | None = None,
    learning_rate: float = 0.025,
    hidden: Sequence[int] | None = None,
    start: Start = "uniform01",
    view: View = "mover",
    empty: float = 0.01,
    opponents: Opponents = "mixed",
    report: Callable[[NetworkSnapshot], bool | None] | None = None,
) -> ValueNetwork:
    """The agent after learning from `games` games, or for `seconds` if these are over sooner.

    One game is played at a time: the network against itself or a random player, on both seats, in a cycle of
    six games ("mixed"), or only one of the two ("random", "self"). After each, its positions are learned in
    order, each with the target 1, 0 or −1 by how the game ended: a step of gradient descent on half the
    squared error. `hidden` are the sizes of the hidden layers; with the `start` "uniform01" all weights and
    biases begin uniform in [0, 1], as in the library of the source (AForge 2.2), with "symmetric" in ±1/√(the
    inputs of their layer); `view` and `empty` say how the network sees a board, and for whom its output is
    good: see `BoardNetwork`. `report` is called every 6,000 games; if it returns True, the training ends.

    Raises `ParameterError` for parameters out of their ranges, `GameTooLargeError` for a game of more than 64
    cells.
    """
    played_game = get_game(game)
    check_size(played_game)
    one_of("opponents of value-network", opponents, list(CYCLES))
    if games is None and seconds is None:
        raise ParameterError("value-network without games= or seconds= would never end")
    max_games = inf if games is None else as_number("games", games, "value-network")
    max_seconds = inf if seconds is None else as_number("seconds", seconds, "value-network")
    rng = np.random.default_rng(seed)
    network = BoardNetwork.random(played_game, rng, hidden=hidden, start=start, view=view, empty=empty)
    learner = _Learner(network, rng, opponents, learning_rate)
    begin, done, used = perf_counter(), 0, 0.0
    while done < max_games and used < max_seconds:
        is_good = learner.play(ceil(min(_CHUNK, max_games - done)))
        done, used = done + len(is_good), perf_counter() - begin
        if report is not None:
            is_against_random = np.resize([not all(pair) for pair in CYCLES[opponents]], len(is_good))
            if report(
                NetworkSnapshot(done, learner.moves, used, is_good, is_against_random, learner.agent())
            ):
                break
    return learner.agent()


class _Learner:
    """The network while it learns, and what the kernel needs to train it."""

    def __init__(
        self, network: BoardNetwork, rng: np.random.Generator, opponents: Opponents, learning_rate: float
    ) -> None:
        from ttt_env.agents.learned import value_network_kernel as kernel
        from ttt_env.compiled.compiler import ready

        game, self._network = network.game, network
        self._net, board = network.compiled()
        random = rng.integers(1 << 63, size=1).astype(np.uint64)
        rate = as_number("learning_rate", learning_rate, "value-network")
        self._arguments = self._net, board, winning_sets(game), random, np.array(CYCLES[opponents]), rate
        self._run = kernel.play_and_learn
        self.moves = 0
        ready("value-network", lambda: self.play(0))

    def play(self, games: int) -> NDArray[np.bool_]:
        """Play and learn so many games, and say which were good."""
        good = np.empty(games, np.bool_)
        self.moves += self._run(*self._arguments, good)
        return good

    def agent(self) -> ValueNetwork:
        """The agent as it plays now."""
        return ValueNetwork.of(self._network.with_numbers(self._net.numbers))
