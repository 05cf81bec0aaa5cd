"""Counterfactual regret minimisation: both seats play each other, and regret what they did not play."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.agents.learned.lookup import Lookup, free_cells_of
from ttt_env.agents.learned.q_learning import explored
from ttt_env.errors import ParameterError
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_number, one_of
from ttt_env.rules.game import Game

if TYPE_CHECKING:
    from ttt_env.agents.learned.cfr_kernel import Regrets
    from ttt_env.agents.learned.q_learning_kernel import Graph

Variant: TypeAlias = Literal["cfr", "cfr+"]
_TIE = 1e-6  # totals closer than this share of the largest one are equal: they are sums of rounded numbers


@dataclass(frozen=True)
class StrategySnapshot:
    """The state of a training: iterations made, moves looked at, seconds used, and the strategies.

    `average` is the average strategy of all iterations, to which the theorem applies, and `purified` keeps
    only its most likely moves, uniform among equals.
    """

    iterations: int
    moves: int
    seconds: float
    average: Lookup
    purified: Lookup


def train(
    game: Game | str = "tictactoe-v0",
    *,
    iterations: int | None = None,
    seconds: float | None = None,
    variant: Variant = "cfr",
    report: Callable[[StrategySnapshot], bool | None] | None = None,
) -> StrategySnapshot:
    """The strategies after so many iterations or seconds, one for both seats. Nothing in it is drawn.

    Each iteration goes through all positions of the game. What a player regrets in a position is what every
    move would have earned there more than the strategy did, times the probability that the other's moves
    lead there; the next strategy plays each move in proportion to the sum of its regrets, if above 0 ("cfr":
    Zinkevich, Johanson, Bowling and Piccione, "Regret Minimization in Games with Incomplete Information",
    2007). With "cfr+" sums of regrets never fall below 0, the seats learn in turns, and iteration t has the
    weight t in the average (Tammelin, "Solving Large Imperfect Information Games Using CFR+", 2014).

    The exploitability of the average falls like 1/√iterations at least and is never exactly 0, because it
    keeps a share of the uniform beginning; that of the purified average (Ganzfried, Sandholm and Waugh,
    "Strategy Purification and Thresholding", 2012) becomes 0 when the best moves have the largest share.

    An information set is a position, symmetric ones merged, however it came up: both players see all of it.
    `report` is called whenever the iterations have grown by a quarter; if it returns True, the training ends.

    Raises `GameTooLargeError` for a game of too many positions, `ParameterError` for parameters out of their
    ranges, and without a limit.
    """
    one_of("variant of cfr", variant, get_args(Variant))
    if iterations is None and seconds is None:
        raise ParameterError("cfr without iterations= or seconds= would never end")
    max_iterations = inf if iterations is None else as_number("iterations", iterations, "cfr")
    max_seconds = inf if seconds is None else as_number("seconds", seconds, "cfr")
    played_game = get_game(game)
    _prepare()
    begin, learner = perf_counter(), _Learner(played_game, variant)
    while True:
        learner.iterate(int(min(max(1, learner.iterations // 4), max_iterations - learner.iterations)))
        used = perf_counter() - begin
        now = learner.snapshot(used)
        is_enough = report is not None and report(now)
        if is_enough or learner.iterations >= max_iterations or used >= max_seconds:
            return now


@cache
def _prepare() -> None:
    """Compile the sweeps, or load them from disk, before the clock of a training starts."""
    from ttt_env.agents.learned import cfr_kernel as kernel
    from ttt_env.agents.learned.q_learning_kernel import Graph
    from ttt_env.compiled.compiler import ready

    no_moves = Graph(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int8))
    state = _new_state(no_moves)
    ready(
        "cfr",
        lambda: kernel.seats(no_moves, state.seat),
        lambda: kernel.sweep(no_moves, state, kernel.BOTH, 1.0, False),
    )


def _new_state(graph: "Graph") -> "Regrets":
    from ttt_env.agents.learned.cfr_kernel import Regrets

    n_positions, n_moves = len(graph.reward), len(graph.next)
    regret, total, now = np.zeros((3, n_moves))
    return Regrets(
        regret, total, now, np.zeros(n_positions, np.int8), np.zeros((2, n_positions)), np.zeros(n_positions)
    )


class _Learner:
    """The regrets of all moves while they are learned."""

    def __init__(self, game: Game, variant: Variant) -> None:
        from ttt_env.agents.learned import cfr_kernel as kernel

        self._kernel, self.game, self.is_plus = kernel, game, variant == "cfr+"
        self.positions, self.graph = explored(game)
        self.state = _new_state(self.graph)
        kernel.seats(self.graph, self.state.seat)
        self.iterations = self.moves = 0

    def iterate(self, iterations: int) -> None:
        """Go through all positions so many times; where seats learn in turns, twice each time."""
        learners = (0, 1) if self.is_plus else (self._kernel.BOTH,)
        for _ in range(iterations):
            self.iterations += 1
            for learner in learners:
                weight = float(self.iterations) if self.is_plus else 1.0
                self._kernel.sweep(self.graph, self.state, learner, weight, self.is_plus)
                self.moves += len(self.graph.next)

    def snapshot(self, seconds: float) -> StrategySnapshot:
        """The strategies now, as tables."""
        total = self.state.total
        largest = np.maximum.reduceat(total, self._begins)[self._rows] if len(total) else total
        purified = np.where(total >= largest * (1 - _TIE), 1.0, 0.0)
        return StrategySnapshot(
            self.iterations, self.moves, seconds, self._table(total), self._table(purified)
        )

    @property
    def _open(self) -> NDArray[np.intp]:
        """The numbers of the positions in which the game goes on."""
        return np.flatnonzero(np.diff(self.graph.first))

    @property
    def _begins(self) -> NDArray[np.int64]:
        """The first move of each of these."""
        return self.graph.first[self._open]

    @property
    def _rows(self) -> NDArray[np.intp]:
        """For each move which of these it is made in, `[moves]`."""
        return np.repeat(np.arange(len(self._open)), np.diff(self.graph.first)[self._open])

    def _table(self, weights: Floats) -> Lookup:
        """The table of moves by these weights: in proportion to them, and uniform where all are 0."""
        rows, codes = self._rows, self.positions[self._open]
        sums = np.add.reduceat(weights, self._begins)
        shares = np.where(sums[rows] > 0, weights, 1.0)
        shares /= np.add.reduceat(shares, self._begins)[rows]
        policies = np.zeros((len(codes), self.game.n_cells), np.float32)
        policies[free_cells_of(codes, self.game)] = shares  # moves are in the order of their cells
        order = np.argsort(codes)
        return Lookup.from_arrays(self.game, codes[order], policies[order], merged=True)
