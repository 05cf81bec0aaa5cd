"""Minimax that looks some moves ahead and judges the positions there."""

from functools import lru_cache
from math import perm

import numpy as np

from agents.threats import n_threats, set_tables
from ttt_env.agent import Floats
from ttt_env.analysis.induction import Values, backward_induction, best
from ttt_env.analysis.layers import is_enumerable, reachable
from ttt_env.analysis.solution import ValueAgent
from ttt_env.errors import GameTooLargeError
from ttt_env.rules.boards import Boards, owns_set
from ttt_env.rules.game import Game

MAX_LEAVES = 5_000_000
_PER_THREAT = 0.2
_MOST = 0.99  # of a game that is not over: less than a win


def utility(boards: Boards) -> Floats:
    """What positions that are not over are taken for by the player to move, `[B]`, inside (−1, 1).

    0.2 for every winning set that lacks one cell, which is empty, and is one's own otherwise, −0.2 for every
    such set of the opponent (misère: the other way round), cut off at ±0.99.
    """
    game = boards.game
    threats = n_threats(game, boards.mine, boards.theirs) - n_threats(game, boards.theirs, boards.mine)
    per_threat = -_PER_THREAT if game.misere else _PER_THREAT
    return np.clip(per_threat * threats, -_MOST, _MOST)


@lru_cache(maxsize=8)
def lookahead(game: Game, depth: int) -> ValueAgent:
    """The agent that plays the best moves of a minimax of this depth.

    Raises `GameTooLargeError` if the game cannot be enumerated and the depth gives too many leaves.
    """
    seat = (_SweptValues if is_enumerable(game) else _TreeValues)(game, depth), best
    return ValueAgent(game, seat, seat)


class _SweptValues(Values):
    """The values of moves by a sweep over the next `depth` plies: one for each ply, when it is asked for."""

    def __init__(self, game: Game, depth: int) -> None:
        super().__init__(game, [])
        self._depth = depth
        self._next: dict[int, Values] = {}

    def q(self, boards: Boards) -> Floats:
        found = np.full((len(boards), self.game.n_cells), np.nan)
        for ply in np.unique(boards.ply).tolist():
            if ply not in self._next:
                self._next[ply] = self._next_values(ply)
            at = np.flatnonzero(boards.ply == ply)
            found[at] = self._next[ply].q(boards[at])
        return found

    def _next_values(self, ply: int) -> Values:
        """The values of the positions one ply on, from those `depth` plies on."""
        layers = reachable(self.game)[ply : ply + self._depth + 1]
        outcomes = backward_induction(layers, best, best, leaves=utility)
        return Values(self.game, outcomes.values().layers[1:2], ply + 1)


class _TreeValues(Values):
    """The values of moves by the tree of the next `depth` plies, for games too large to enumerate."""

    def __init__(self, game: Game, depth: int) -> None:
        super().__init__(game, [])
        self._depth = depth
        set_tables(game)
        n_leaves = perm(game.n_cells, min(depth, game.n_cells))
        if n_leaves > MAX_LEAVES:
            raise GameTooLargeError(
                f"depth={depth} of minimax on {game.name} makes {n_leaves:,} leaves from the empty board; "
                f"a game of so many positions may have {MAX_LEAVES:,}: a smaller depth"
            )

    def q(self, boards: Boards) -> Floats:
        found = np.full((len(boards), self.game.n_cells), np.nan)
        for row in range(len(boards)):
            one = boards[row : row + 1]
            cells = np.flatnonzero(one.legal[0])
            after = one[np.zeros(len(cells), np.intp)].play(cells)
            found[row, cells] = -_tree_values(after, self._depth - 1)
        return found


def _tree_values(boards: Boards, depth: int) -> Floats:
    """Depth-limited minimax for the player to move, `[B]`, of positions after a move."""
    lost = owns_set(boards.game, boards.theirs)
    values = np.where(lost, 1.0 if boards.game.misere else -1.0, 0.0)
    going_on = np.flatnonzero(boards.legal.any(axis=1))
    rest = boards[going_on]
    if depth == 0:
        values[going_on] = utility(rest)
    elif len(rest):
        parents, cells = np.nonzero(rest.legal)
        after = -_tree_values(rest[parents].play(cells), depth - 1)
        values[going_on] = np.maximum.reduceat(after, np.searchsorted(parents, np.arange(len(rest))))
    return values
