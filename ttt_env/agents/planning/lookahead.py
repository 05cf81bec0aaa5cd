"""Minimax that looks some moves ahead and judges the positions there."""

from functools import lru_cache

import numpy as np

from ttt_env.agent import Agent, Floats
from ttt_env.agents.heuristics.threats import n_threats
from ttt_env.agents.planning.alphabeta import AlphaBeta
from ttt_env.analysis.induction import Values, backward_induction, best
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.solution import ValueAgent
from ttt_env.rules import Boards, Game, is_enumerable

_PER_THREAT = 0.2
_MAX_UTILITY = 0.99  # less than a win, because the game is not over


def utility(boards: Boards) -> Floats:
    """The estimated value of unfinished positions for the player to move, `[B]`, inside (−1, 1).

    0.2 for every winning set that the player has but for one empty cell, −0.2 for every such set of the
    opponent (misère: the other way round), cut off at ±0.99.
    """
    game = boards.game
    threats = n_threats(game, boards.mine, boards.theirs) - n_threats(game, boards.theirs, boards.mine)
    per_threat = -_PER_THREAT if game.misere else _PER_THREAT
    return np.clip(per_threat * threats, -_MAX_UTILITY, _MAX_UTILITY)


@lru_cache(maxsize=8)
def lookahead(game: Game, depth: int | None, seconds: float | None = None) -> Agent:
    """The agent that plays the best moves of a minimax to this depth, or as deep as it gets in this time.

    Raises `GameTooLargeError` if the game has too many cells for either.
    """
    if depth is None or seconds is not None or not is_enumerable(game):
        return AlphaBeta(game, depth, seconds)
    values_and_responder = _SweptValues(game, depth), best
    return ValueAgent(game, values_and_responder, values_and_responder)


class _SweptValues(Values):
    """The values of moves by a sweep over the next `depth` plies: one sweep for each ply asked for."""

    def __init__(self, game: Game, depth: int) -> None:
        super().__init__(game, [])
        self._depth = depth
        self._next: dict[int, Values] = {}

    def q(self, boards: Boards) -> Floats:
        q = np.full((len(boards), self.game.n_cells), np.nan)
        for ply, at in boards.by_ply():
            if ply not in self._next:
                self._next[ply] = self._next_values(ply)
            q[at] = self._next[ply].q(boards[at])
        return q

    def _next_values(self, ply: int) -> Values:
        """The values of the positions one ply later, swept back from those `depth` plies later."""
        layers = reachable(self.game)[ply : ply + self._depth + 1]
        outcomes = backward_induction(layers, best, best, leaves=utility)
        return Values(self.game, outcomes.values().layers[1:2], ply + 1)
