"""Tabular Q-learning: one table for both seats, learned in self-play."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

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
from ttt_env.agents.learned.lookup import Codes, codes, rows_of
from ttt_env.agents.pretrained import pretrained_file
from ttt_env.analysis.induction import best
from ttt_env.errors import FileError
from ttt_env.rules import (
    Between,
    Boards,
    Game,
    Position,
    canonical_boards,
    check_coded,
    check_enumerable,
    checked,
    n_placements,
)
from ttt_env.storage import Arrays, ArraySpec, read_arrays, save_arrays

if TYPE_CHECKING:
    from ttt_env.agents.learned.q_learning_kernel import Graph


class QLearning(Agent):
    """Plays the move of the largest Q-value, uniform over ties (Watkins 1989).

    Q(s, a), the value of move a in position s for the player who makes it, is stored under the position that
    the move leads to, symmetric ones merged: one number for all moves to the same position ("afterstates":
    Sutton and Barto, Reinforcement Learning, 6.8). `ttt_env.train` learns the table, `save` writes it.

    Args:
        game: The game, or its id.
        path: The file of a table; by default the one that comes with this package for the game.

    Raises:
        FileError: The file is not such a table of this game, or none comes with this package for it.

    Example:
        >>> from ttt_env import make_agent
        >>> make_agent("q-learning").explain(Position.parse("XX./OO./XO.")).cells
        [2]

    """

    is_stationary = True

    def __init__(self, game: Game | str, path: str | None = None) -> None:
        super().__init__(game)
        file = pretrained_file("q-learning", self.game) if path is None else Path(path)
        check_coded(self.game)
        rows = (None,), n_placements(self.game)
        forms = {"positions": ArraySpec(np.uint64, *rows), "values": ArraySpec(np.float64, *rows)}
        loaded = read_arrays(file, self.game, "Q-table", forms)
        positions, values = self._positions, self._values = loaded["positions"], loaded["values"]
        if not 0 < len(positions) == len(values) or not (positions[1:] > positions[:-1]).all():
            raise FileError(f"{file} is not a Q-table: its positions do not ascend, one for each value")
        if not np.isfinite(values).all():
            raise FileError(f"{file} is not a Q-table: one of its values is not a number")

    @classmethod
    def of(cls, game: Game, positions: Codes, values: Floats) -> QLearning:
        """The agent with the `values` `[P]` of canonical `positions`, given by ascending base-3 code."""
        agent = cls.__new__(cls)
        Agent.__init__(agent, game)
        agent._positions, agent._values = positions, values
        return agent

    def q(self, boards: Boards) -> Floats:
        """The Q-values, `[B, cells]`; NaN where no move is legal.

        Raises `PolicyError` for a move to a position that is not in the table.
        """
        q = np.full(boards.legal.shape, np.nan)
        rows, cells = np.nonzero(boards.legal)
        if len(rows):
            after = boards[rows].play(cells)
            q[rows, cells] = self._values[rows_of(canonical_boards(after)[0], self._positions, self, after)]
        return q

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        return best(self.q(boards), boards.legal)

    def _explain(self, position: Position) -> Explanation:
        q = of_legal_cells(position, self.q(Boards.of([position]))[0])
        reason = "In the learned table {cells} has the largest Q-value."
        return self._policy_explanation(position, reason, CellNumbers("Q-value", q))

    def save(self, path: str | Path) -> None:
        """Write the table as a compressed `.npz` file. Raises `FileError` if it cannot be written."""
        save_arrays(path, self.game, self.arrays())

    def arrays(self) -> Arrays:
        """The arrays that a file of the table holds, by name."""
        return {"positions": self._positions, "values": self._values}


PositiveShare: TypeAlias = Annotated[float, Between(0, 1, is_open=True)]


class QLearner(Learner):
    """Q-learning in self-play; `q[number]` is the value of the position of this number in `graph`.

    Both seats move at random with probability `epsilon`, else by the table as it is, and after every move
    Q(s, a) ← (1 − α)·Q(s, a) + α·(reward or −max Q(s', ·)), one game after the other. A step is a game. The
    agent is due whenever the games have grown by a quarter, on 3×3 from the first 500 on.

    Args:
        game: The game.
        seed: The seed of the training.
        alpha: The learning rate, above 0, at most 1. Moves and rewards are deterministic, so 1 is exact.
        epsilon: The probability of a random move, above 0, at most 1.

    Raises:
        GameTooLargeError: The game has too many positions.

    Example:
        >>> from ttt_env import get_game
        >>> from ttt_env.agent import Budget
        >>> learner = QLearner(get_game("tictactoe-v0"))
        >>> learner.advance(Budget(steps=500))
        >>> learner.steps, learner.agent()
        (500, <QLearning of tictactoe-v0>)

    """

    name = plays_as = "q-learning"
    about = "It plays against itself, half of the moves at random."
    keeps_latest = True

    @checked
    def __init__(
        self, game: Game, seed: int = 0, *, alpha: PositiveShare = 1.0, epsilon: PositiveShare = 0.5
    ) -> None:
        super().__init__(game, seed)
        self.alpha, self.epsilon = alpha, epsilon
        self.positions, self.graph = game_graph(game)
        self.q = np.zeros(len(self.positions))
        self.random = np.random.default_rng(seed).integers(1 << 63, size=1).astype(np.uint64)
        self.games = self.moves = 0
        _prepare()

    @property
    def steps(self) -> int:  # noqa: D102
        return self.games

    def advance(self, budget: Budget = NO_LIMIT) -> None:  # noqa: D102
        from ttt_env.agents.learned.q_learning_kernel import play_games

        games = int(min(max(500, len(self.q) // 2, self.games // 4), budget.steps))
        self.moves += play_games(self.graph, self.q, self.random, self.alpha, self.epsilon, games)
        self.games += games

    def agent(self) -> QLearning:  # noqa: D102
        order = np.argsort(self.positions)
        return QLearning.of(self.game, self.positions[order], self.q[order])

    def state(self) -> Any:  # noqa: D102
        return self.q, self.random, self.games, self.moves

    def restore(self, state: Any) -> None:  # noqa: D102
        self.q, self.random, self.games, self.moves = state


@cache
def _prepare() -> None:
    """Compile the training, or load it from disk, before its clock starts."""
    from ttt_env.agents.learned import q_learning_kernel as kernel
    from ttt_env.compiled.compiler import ready

    no_numbers = np.zeros(1), np.zeros(1, np.uint64)
    ready("q-learning", lambda: kernel.play_games(kernel.NO_MOVES, *no_numbers, 1.0, 1.0, 0))


@lru_cache(maxsize=1)
def game_graph(game: Game) -> tuple[Codes, Graph]:
    """All reachable positions, up to symmetry, by base-3 code, and the moves between them.

    Raises `GameTooLargeError` for a game of too many positions.
    """
    from ttt_env.agents.learned.q_learning_kernel import Graph

    check_enumerable(game, "for a table of Q-values")
    layers, degrees, successors, n_known = [Boards.start(game)], [], [], 1
    while layers[-1].legal.any():
        rows, cells = np.nonzero(layers[-1].legal)
        after, _ = canonical_boards(layers[-1][rows].play(cells))
        _, indices, numbers = np.unique(codes(after), return_index=True, return_inverse=True)
        degrees.append(layers[-1].legal.sum(axis=1))
        layers.append(after[indices])
        successors.append(numbers + n_known)
        n_known += len(indices)
    degrees.append(layers[-1].legal.sum(axis=1))
    first = np.concatenate([[0], np.cumsum(np.concatenate(degrees))])
    rewards = [layer.is_won * np.int8(-1 if game.misere else 1) for layer in layers]
    graph = Graph(first, np.concatenate(successors).astype(np.int32), np.concatenate(rewards))
    return np.concatenate([codes(layer) for layer in layers]), graph
