"""The weights of Square tic-tac-toe, on every game."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, CellNumbers, Explanation, Floats, named_cells, of_legal_cells
from ttt_env.agents.heuristics.threats import NONE, OpenSets, open_sets
from ttt_env.compiled.sets import set_incidence
from ttt_env.rules import Boards, Game, Masks, Position, set_masks


def cell_weights(boards: Boards) -> tuple[Floats, Floats]:
    """The weight of each cell for the player to move, `[B, cells]`, and for the other; 0 on taken cells.

    Every winning set without stones of the other player adds t² + 1 to each of its empty cells, t being the
    number of one's own stones in it.

    >>> from ttt_env.rules.catalogue import get_game
    >>> mine, theirs = cell_weights(Boards.start(get_game("square-v0")))
    >>> mine.reshape(4, 4)[:2].tolist()
    [[3.0, 5.0, 5.0, 3.0], [5.0, 7.0, 7.0, 5.0]]
    """
    free = ~boards.cells(boards.occupied_masks)
    of_mine = _weights_of(boards.game, boards.mine, boards.theirs)
    of_theirs = _weights_of(boards.game, boards.theirs, boards.mine)
    return of_mine * free, of_theirs * free


def _weights_of(game: Game, stones: Masks, others: Masks) -> Floats:
    masks = set_masks(game)
    t = np.bitwise_count(stones[:, None] & masks)
    is_open = others[:, None] & masks == NONE
    weights: Floats = (is_open * (t.astype(np.float64) ** 2 + 1.0)) @ set_incidence(game)
    return weights


class Weights(Agent):
    """Completes or blocks a winning set, else takes the cell worth most to either player (Sundeep Agarwal).

    The hard opponent of "Square Tic Tac Toe AI". The larger of the two players' largest weights (see
    `cell_weights`) decides, the agent's own if they are equal: among the cells with this weight for that
    player, the agent takes one with the largest weight for the other, uniformly among ties. The weights apply
    to every game; a misère game is played as if it were not misère.

    Args:
        game: The game, or its id.

    Example:
        >>> from ttt_env import make_agent
        >>> agent = make_agent("weights", "square-v0")
        >>> agent.explain(agent.game.start).cells
        [5, 6, 9, 10]

    """

    is_stationary = True
    _remembers = True

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        winning = OpenSets(self.game, boards.mine, boards.theirs).completing()
        blocking = OpenSets(self.game, boards.theirs, boards.mine).completing()
        urgent = np.where(winning != NONE, winning, blocking)
        is_urgent = (urgent != NONE)[:, None]
        mine, theirs = cell_weights(boards)
        max_mine, max_theirs = mine.max(axis=1, keepdims=True), theirs.max(axis=1, keepdims=True)
        leading = np.where(max_theirs > max_mine, theirs, mine)
        # Weights are whole numbers: adding a fraction below 1 orders equal ones by the other player's weight.
        ranked = leading + (mine + theirs - leading) / (max_mine + max_theirs + 1.0)
        ranked[~boards.legal] = -1.0
        heaviest: NDArray[np.bool_] = (ranked == ranked.max(axis=1, keepdims=True)) & boards.legal
        candidates = np.where(is_urgent, boards.cells(urgent), heaviest)
        policies: Floats = candidates / np.maximum(candidates.sum(axis=1, keepdims=True), 1)
        return policies

    def _explain(self, position: Position) -> Explanation:
        mover, other = ("X", "O") if position.to_move == "X" else ("O", "X")
        weights = (of_legal_cells(position, worth[0]) for worth in cell_weights(Boards.of([position])))
        numbers = [
            CellNumbers(f"worth to {seat}", worth, "count")
            for seat, worth in zip((mover, other), weights, strict=True)
        ]
        mine, theirs = (max(column.by_cell.values()) for column in numbers)
        reason, sets = _deciding_rule(position, mine, theirs)
        if theirs > mine:
            numbers.reverse()  # the larger weights decide
        return self._policy_explanation(position, reason, *numbers, sets=sets)


def _deciding_rule(
    position: Position, max_mine: float, max_theirs: float
) -> tuple[str, tuple[tuple[int, ...], ...]]:
    """The rule of the agent that decides, in a sentence, and the winning sets behind it."""
    game, mine, theirs = position.game, position.mine, position.theirs
    mover, other = ("X", "O") if position.to_move == "X" else ("O", "X")
    if sets := open_sets(game, mine, theirs, missing=1):
        return f"{_last_of(sets, position)} completes a set of {mover}: taken before all else.", tuple(sets)
    if sets := open_sets(game, theirs, mine, missing=1):
        threat = f"{_last_of(sets, position)} would complete a set of {other}"
        return f"{threat}: {mover} blocks it.", tuple(sets)
    if max_theirs > max_mine:
        return (
            f"The largest weight of {other}, {max_theirs:g}, is above the largest of {mover}, {max_mine:g}: "
            f"of the cells worth {max_theirs:g} to {other}, the one worth most to {mover}."
        ), ()
    if max_mine:
        return (
            f"The largest weight of {mover}, {max_mine:g}, is not below the largest of {other}, "
            f"{max_theirs:g}: of the cells worth {max_mine:g} to {mover}, the one worth most to {other}."
        ), ()
    return "No set can be completed by either player: any cell.", ()


def _last_of(sets: list[tuple[int, ...]], position: Position) -> str:
    """The cells that complete these sets."""
    free = {cell for cells in sets for cell in cells} & set(position.legal_cells)
    return named_cells(sorted(free)).capitalize()
