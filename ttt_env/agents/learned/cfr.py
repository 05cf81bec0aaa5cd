"""Counterfactual regret minimisation: both seats play each other and regret the moves not played."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ttt_env.agent import NO_LIMIT, Budget, Learner
from ttt_env.agents.learned.lookup import Lookup, playable_cells_of
from ttt_env.agents.learned.q_learning import game_graph
from ttt_env.rules import Game, checked
from ttt_env.storage import save_arrays

if TYPE_CHECKING:
    from ttt_env.agents.learned.cfr_kernel import Regrets
    from ttt_env.agents.learned.q_learning_kernel import Graph

Variant: TypeAlias = Literal["cfr", "cfr+"]
_TIE = 1e-6  # totals closer than this share of the largest one are equal: they are sums of rounded numbers


@cache
def _prepare() -> None:
    """Compile the sweeps, or load them from disk, before the clock of a training starts."""
    from ttt_env.agents.learned import cfr_kernel as kernel
    from ttt_env.agents.learned.q_learning_kernel import NO_MOVES
    from ttt_env.compiled.compiler import ready

    state = _no_regrets(NO_MOVES)
    ready(
        "cfr",
        lambda: kernel.set_movers(NO_MOVES, state.seat),
        lambda: kernel.sweep(NO_MOVES, state, kernel.BOTH, 1.0, False),
    )


def _no_regrets(graph: Graph) -> Regrets:
    from ttt_env.agents.learned.cfr_kernel import Regrets

    n_positions, n_moves = len(graph.reward), len(graph.next)
    regret, total, strategy = np.zeros((3, n_moves))
    return Regrets(
        regret,
        total,
        strategy,
        np.zeros(n_positions, np.int8),
        np.zeros((2, n_positions)),
        np.zeros(n_positions),
    )


class CFRLearner(Learner):
    """Counterfactual regret minimisation: the regrets of all moves, and one strategy for both seats.

    Each iteration, which is a step, traverses all positions of the game. The regret of a move is what it
    would have earned more than the strategy did, times the probability that the other's moves lead to the
    position; the next strategy plays each move in proportion to the sum of its regrets, if above 0. Nothing
    in it is random.

    The exploitability of the average falls like 1/√iterations at least and is never exactly 0, because it
    keeps a share of the uniform start; that of the `purified` average becomes 0 when the best moves have the
    largest share.

    An information set is a position, symmetric ones merged, whatever moves led to it: both players see all of
    it. The agent is due whenever the iterations have grown by a quarter.

    Args:
        game: The game.
        seed: Without effect: nothing is random.
        variant: "cfr" (Zinkevich, Johanson, Bowling and Piccione, "Regret Minimization in Games with
            Incomplete Information", 2007), or "cfr+": sums of regrets never fall below 0, the seats learn in
            turns, and iteration t has the weight t in the average (Tammelin, "Solving Large Imperfect
            Information Games Using CFR+", 2014).
        purified: Whether the agent plays only the most likely moves of the average, uniform among equals
            (Ganzfried, Sandholm and Waugh, "Strategy Purification and Thresholding", 2012).

    Raises:
        GameTooLargeError: The game has too many positions.

    Example:
        >>> from ttt_env import get_game
        >>> from ttt_env.agent import Budget
        >>> learner = CFRLearner(get_game("tictactoe-v0"))
        >>> learner.advance(Budget(steps=1))
        >>> learner.steps, learner.agent()
        (1, <Lookup of tictactoe-v0>)

    """

    name, plays_as = "cfr", "lookup"
    about = "It goes through all positions again and again, and regrets what it did not play."
    default_budget = Budget(steps=4_000)
    keeps_latest = True

    @checked
    def __init__(self, game: Game, seed: int = 0, *, variant: Variant = "cfr", purified: bool = True) -> None:
        from ttt_env.agents.learned import cfr_kernel as kernel

        super().__init__(game, seed)
        self.is_plus, self.purified = variant == "cfr+", purified
        self._kernel = kernel
        self.positions, self.graph = game_graph(game)
        self.regrets = _no_regrets(self.graph)
        self.iterations = self.moves = 0
        _prepare()
        kernel.set_movers(self.graph, self.regrets.seat)

    @property
    def steps(self) -> int:  # noqa: D102
        return self.iterations

    def advance(self, budget: Budget = NO_LIMIT) -> None:  # noqa: D102
        learners = (0, 1) if self.is_plus else (self._kernel.BOTH,)  # the seats that learn in turns
        for _ in range(int(min(max(1, self.iterations // 4), budget.steps))):
            self.iterations += 1
            for learner in learners:
                weight = float(self.iterations) if self.is_plus else 1.0
                self._kernel.sweep(self.graph, self.regrets, learner, weight, self.is_plus)
                self.moves += len(self.graph.next)

    def agent(self) -> Lookup:
        """The average strategy of all iterations, purified or not, as a table."""
        weights, n_moves = self.regrets.total, np.diff(self.graph.first)
        is_open = n_moves > 0
        begins, codes = self.graph.first[:-1][is_open], self.positions[is_open]
        rows = np.repeat(np.arange(len(codes)), n_moves[is_open])  # of each move
        if self.purified and len(weights):
            largest = np.maximum.reduceat(weights, begins)[rows]
            weights = np.where(weights >= largest * (1 - _TIE), 1.0, 0.0)
        sums = np.add.reduceat(weights, begins)
        shares = np.where(sums[rows] > 0, weights, 1.0)
        shares /= np.add.reduceat(shares, begins)[rows]
        policies = np.zeros((len(codes), self.game.n_cells), np.float32)
        policies[playable_cells_of(codes, self.game)] = shares  # moves are in the order of their cells
        order = np.argsort(codes)
        return Lookup.from_arrays(self.game, codes[order], policies[order], merged=True)

    def save(self, path: str | Path) -> None:  # noqa: D102
        save_arrays(path, self.game, {**self.agent().arrays(), "trained_as": np.array(self.name)})

    def state(self) -> Any:  # noqa: D102
        return tuple(self.regrets), self.iterations, self.moves

    def restore(self, state: Any) -> None:  # noqa: D102
        regrets, self.iterations, self.moves = state
        self.regrets = type(self.regrets)(*regrets)
