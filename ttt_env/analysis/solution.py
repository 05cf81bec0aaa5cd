"""The solution of a game, and agents that move by action values."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, CellNumbers, Explanation, Floats, Unit, of_legal_cells
from ttt_env.analysis.induction import Values, backward_induction, best
from ttt_env.analysis.layers import Bools, Moves, Responder, reachable
from ttt_env.rules import Boards, Game, Position, check_game, get_game


class Distances:
    """The number of moves from every position of a game to its end, under perfect play.

    `scores` are what perfect play maximises: a game won with n stones on the board scores `n_cells + 1 − n`
    for the winner, the negative for the loser, and a draw 0. So the sign of a position's score is its value.
    """

    def __init__(self, game: Game, scores: Values) -> None:
        self.game, self.scores = game, scores

    def of(self, boards: Boards) -> NDArray[np.int8]:
        """The number of moves left, `[B]`; 0 where the game is over."""
        scores = np.abs(self.scores.of(boards)).astype(np.int8)
        at_end = np.where(scores == 0, self.game.n_cells, self.game.n_cells + 1 - scores)
        plies: NDArray[np.int8] = (at_end - boards.ply).astype(np.int8)
        return plies

    def perfect_moves(self, boards: Boards) -> Bools:
        """True for perfect moves, `[B, cells]`; all False where the game is over."""
        return self.scores.highest(boards)


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


class ValueAgent(Agent):
    """Moves by action values: each seat has the values of a sweep and a responder to them.

    With the solution of the game as `keeps` it chooses only among the moves that are not blunders.
    """

    is_stationary = True
    _remembers = True

    def __init__(
        self,
        game: Game,
        x: tuple[Values, Responder],
        o: tuple[Values, Responder],
        keeps: Solution | None = None,
    ) -> None:
        super().__init__(game)
        self._seats, self._keeps = (x, o), keeps

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        policies = np.zeros((len(boards), self.game.n_cells))
        for parity, (values, respond) in enumerate(self._seats):
            at = np.flatnonzero((boards.ply % 2 == parity) & ~boards.is_over)
            if len(at):
                of_seat = boards[at]
                allowed = of_seat.legal if self._keeps is None else self._keeps.best_moves(of_seat)
                policies[at] = respond(values.q(of_seat), allowed)
        return policies

    def numbers(
        self, position: Position, meaning: str = "value of the move", unit: Unit = "value"
    ) -> CellNumbers:
        """The action values of the legal cells for the player to move."""
        values, _ = self._seats[position.ply % 2]
        return CellNumbers(meaning, of_legal_cells(position, values.q(Boards.of([position]))[0]), unit)

    def _explain(self, position: Position) -> Explanation:
        reason = "The largest value is that of {cells}."
        return self._policy_explanation(position, reason, self.numbers(position))


class Solution:
    """A strongly solved game: the value of every position under best play by both sides.

    Args:
        game: The game.
        values: The value of each of its positions.

    Example:
        >>> from ttt_env import Position
        >>> solution = solve("tictactoe-v0")
        >>> position = Position.parse("XX./OO./XO.")
        >>> solution.value_of(position), solution.best_cells(position)
        (1, [2])

    """

    def __init__(self, game: Game, values: Values) -> None:
        self.game, self.values = game, values

    def __repr__(self) -> str:
        return f"Solution({self.game.name}, value={self.value})"

    @property
    def value(self) -> int:
        """The value of the empty board for X, which is 1 (won), 0 (drawn) or −1 (lost)."""
        return self.value_of(self.game.start)

    def value_of(self, position: Position | str) -> int:
        """The value for the player to move, or who would be to move after the end: 1 won, 0 drawn, −1 lost.

        Args:
            position: A position of this game, or its text.

        Raises:
            ImpossiblePositionError: The position is of another game.

        """
        return int(self.values.of(self._batch(position))[0])

    def values_by_cell(self, position: Position | str) -> dict[int, int]:
        """The value of each legal move for the player to move, by cell; empty if the game is over.

        Args:
            position: A position of this game, or its text.

        Returns:
            1 for a move that wins under best play, 0 for one that draws, −1 for one that loses.

        Raises:
            ImpossiblePositionError: The position is of another game.

        Example:
            >>> solve("tictactoe-v0").values_by_cell("XX./OO./XO.")
            {2: 1, 5: 0, 8: -1}

        """
        position = check_game(position, self.game)
        if position.is_over:
            return {}
        q = self.values.q(Boards.of([position]))[0]
        return {cell: int(q[cell]) for cell in position.legal_cells}

    def best_cells(self, position: Position | str) -> list[int]:
        """The legal cells that keep the value of the position, ascending; none if it is over.

        Args:
            position: A position of this game, or its text.

        Raises:
            ImpossiblePositionError: The position is of another game.

        """
        values = self.values_by_cell(position)
        best = max(values.values(), default=0)
        return [cell for cell, value in values.items() if value == best]

    def best_moves(self, boards: Boards) -> Bools:
        """True for moves that keep a position's value, `[B, cells]`; all False where the game is over.

        Args:
            boards: Positions of this game, `Boards[B]`.

        """
        return self.values.highest(boards)

    def restrict_to_best(self, respond: Responder) -> Responder:
        """The responder `respond`, restricted to the moves that keep the value of the position.

        Args:
            respond: A responder of `backward_induction`.

        """

        def respond_by_best_moves(q: Floats, legal: Bools, moves: Moves | None = None) -> Floats:
            if moves is None:
                raise ValueError("whether a move keeps the value depends on the position: `moves` is needed")
            values = self.values.layers[moves.layer.ply + 1][moves.successors].T
            # These are the other player's values, so the least are the best for the player to move.
            return respond(q, legal & (values == values.min(axis=1, keepdims=True)), moves)

        return respond_by_best_moves

    def policy(self) -> ValueAgent:
        """The agent that plays uniformly among the best cells."""
        return ValueAgent(self.game, (self.values, best), (self.values, best))

    def _batch(self, position: Position | str) -> Boards:
        return Boards.of([check_game(position, self.game)])


def solve(game: Game | str) -> Solution:
    """Solve a game strongly: the value of every position, by backward induction (retrograde analysis).

    Args:
        game: The game, or its id.

    Returns:
        The solution.

    Raises:
        GameTooLargeError: The game has too many positions.

    Example:
        >>> solution = solve("tictactoe-v0")
        >>> solution.value, solution.best_cells(solution.game.start.play(0))
        (0, [4])

    """
    return _solve(get_game(game))


@lru_cache(maxsize=4)
def _solve(game: Game) -> Solution:
    outcomes = backward_induction(reachable(game), best, best)
    # Best play of both makes every outcome certain: fractions are rounding errors.
    values = [np.rint(layer[0] - layer[1]).astype(np.int8) for layer in outcomes.layers]
    for layer in values:
        layer.flags.writeable = False
    return Solution(game, Values(game, values))
