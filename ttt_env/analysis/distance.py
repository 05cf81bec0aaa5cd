"""The distance of every position of a game from its end, under perfect play of both sides.

A *good* move keeps the value of the position. A *perfect* move also wins as soon, or loses as late, as
best play allows. A draw always fills the board, so that in a drawn position every good move is perfect.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.induction import Values, backward_induction, best
from ttt_env.analysis.layers import Bools, reachable
from ttt_env.rules import Boards, Game, get_game


class Distances:
    """The number of moves from every position of a game to its end, under perfect play.

    `scores` are what perfect play maximises: a game won when n stones are on the board scores
    `n_cells + 1 − n` for the winner, minus this for the loser, and a draw 0. So the sign of a position's
    score is its value.
    """

    def __init__(self, game: Game, scores: Values) -> None:
        self.game, self.scores = game, scores

    def of(self, boards: Boards) -> NDArray[np.int8]:
        """The number of moves still to be made, `[B]`; 0 where the game is over."""
        scores = np.abs(self.scores.of(boards)).astype(np.int8)
        at_end = np.where(scores == 0, self.game.n_cells, self.game.n_cells + 1 - scores)
        plies: NDArray[np.int8] = (at_end - boards.ply).astype(np.int8)
        return plies

    def perfect(self, boards: Boards) -> Bools:
        """True for perfect moves, `[B, cells]`; all False where the game is over."""
        q = np.where(boards.legal, self.scores.q(boards), -np.inf)
        perfect: Bools = boards.legal & (q == q.max(axis=1, keepdims=True))
        return perfect


def distances(game: Game | str) -> Distances:
    """The distances of a game by backward induction over all its positions.

    Raises `GameTooLargeError` if there are too many of them.
    """
    return _distances(get_game(game))


@lru_cache(maxsize=4)
def _distances(game: Game) -> Distances:
    # The game is zero-sum: an earlier win and a later loss are better.
    outcomes = backward_induction(
        reachable(game), best, best, payoff=lambda ply: (game.n_cells + 1.0 - ply, 0.0, 0.0)
    )
    # Best play of both makes every outcome certain: fractions are rounding errors.
    scores = [np.rint(layer[0] - layer[1]).astype(np.int8) for layer in outcomes.layers]
    return Distances(game, Values(game, scores))
