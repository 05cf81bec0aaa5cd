"""Minimax by alpha-beta, to a depth or for a time, on games of any number of positions."""

import time
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from threading import Lock

import numpy as np

from ttt_env.agent import Agent, CellNumbers, Explanation, Floats
from ttt_env.compiled.sets import winning_sets
from ttt_env.compiled.stopping import check_stopped
from ttt_env.rules import Game, Position

_SLICE = 20_000  # nodes: some hundredths of a second


@dataclass(frozen=True)
class Lookahead:
    """The result of a search to some `depth`.

    `cells` are all best moves, `value` is their value for the player to move, in [−1, 1]. The principal
    variation begins with the first of them. `nodes` is the number of positions searched.
    """

    cells: tuple[int, ...]
    value: float
    principal_variation: tuple[int, ...]
    depth: int
    nodes: int


class AlphaBeta(Agent):
    """Plays uniformly among the best moves of a depth-limited minimax, whose leaves are valued by `utility`.

    With `depth` the moves are exactly those of plain minimax. With `seconds` it looks ahead one move, two,
    and so on (iterative deepening), and plays by the last depth that it could finish; in a lost position, by
    the last one at which it did not see the loss yet. Such an agent has no fixed policy. `Minimax` checks the
    parameters.
    """

    def __init__(self, game: Game | str, depth: int | None = None, seconds: float | None = None) -> None:
        super().__init__(game)
        self.depth, self.seconds = depth, seconds
        self.is_stationary = seconds is None

    def policy(self, position: Position) -> Floats:  # noqa: D102
        cells = list(self.search(position).cells)
        policy = np.zeros(self.game.n_cells)
        policy[cells] = 1.0 / len(cells)
        return policy

    def _explain(self, position: Position) -> Explanation:
        lookahead = self.search(position)
        cells = list(lookahead.cells)
        best = "all moves have the same value"
        if len(cells) < len(position.legal_cells):
            best = "{cells} is best; the values of the others were not computed"
        reason = f"Looking {lookahead.depth} moves ahead, {best}."
        facts = {
            "moves looked ahead": lookahead.depth,
            "positions searched": lookahead.nodes,
            "best play that it sees": list(lookahead.principal_variation),
        }
        numbers = CellNumbers("value of the move", dict.fromkeys(cells, lookahead.value))
        policy = dict.fromkeys(position.legal_cells, 0.0) | dict.fromkeys(cells, 1.0 / len(cells))
        return Explanation(position, policy, reason, (numbers,), facts)

    def search(self, position: Position) -> Lookahead:
        """The best moves of a position that is not over."""
        max_depth = self.game.n_cells - position.ply
        if self.depth is not None:
            max_depth = min(max_depth, self.depth)
        with self._searcher.lock:
            if self.seconds is None:
                self._searcher.start_clock(inf)
                return self._searcher.search_depth(position, max_depth)
            self._searcher.start_clock(self.seconds)
            deepest = Lookahead(tuple(position.legal_cells), 0.0, (), 0, 0)
            try:
                for depth in range(1, max_depth + 1):
                    deeper = self._searcher.search_depth(position, depth)
                    if deeper.value == -1.0 and depth > 1:
                        return replace(deepest, value=-1.0)
                    deepest = deeper
                    if deepest.value == 1.0:  # a win stays one at every depth
                        break
            except _OutOfTimeError:
                pass
            return deepest

    @cached_property
    def _searcher(self) -> "_Searcher":
        return _Searcher(self.game)


class _OutOfTimeError(Exception):
    """The search has used up its time."""


class _Searcher:
    """The compiled search, with a table that is kept from move to move."""

    def __init__(self, game: Game) -> None:
        from ttt_env.agents.planning import alphabeta_kernel
        from ttt_env.compiled.compiler import ready

        self.game, self._kernel = game, alphabeta_kernel
        self._sets, self._search = winning_sets(game), alphabeta_kernel.new_search(game)
        self.lock = Lock()  # compiled code runs in parallel with other threads
        alphabeta_kernel.set_root(self._search, game.start, 1, 1)
        ready("minimax", lambda: alphabeta_kernel.search(self._search, self._sets, 1))

    def start_clock(self, seconds: float) -> None:
        """Start the clock, and the count of nodes, of one search."""
        self._deadline = time.monotonic() + seconds
        self._first_node = int(self._search.state[self._kernel.NODES])

    def search_depth(self, position: Position, depth: int) -> Lookahead:
        """The best moves at this depth. Raises `_OutOfTimeError` if the time is up."""
        through = self.game.winning_masks_through
        cells = sorted(position.legal_cells, key=lambda cell: -len(through[cell]))
        after = {cell: position.play(cell) for cell in cells}
        best = -self._kernel.WIN
        for child in after.values():
            if best < self._kernel.WIN and not self._is_at_least(child, depth - 1, -best):
                low, high = best + 1, self._kernel.WIN  # of the value of the move: bisection
                while low < high:
                    middle = (low + high + 1) // 2
                    if self._is_at_least(child, depth - 1, 1 - middle):
                        high = middle - 1
                    else:
                        low = middle
                best = low
        ties = (cell for cell, child in after.items() if not self._is_at_least(child, depth - 1, 1 - best))
        best_cells = tuple(sorted(ties))
        line = self._principal_variation(position.play(best_cells[0]), depth - 1, -best)
        nodes = int(self._search.state[self._kernel.NODES]) - self._first_node
        scale = 1.0 if abs(best) == self._kernel.WIN else min(0.99, abs(best) / 5)
        return Lookahead(best_cells, float(np.sign(best)) * scale, (best_cells[0], *line), depth, nodes)

    def _principal_variation(self, position: Position, depth: int, value: int) -> tuple[int, ...]:
        """Best play from a position of this value at this depth; of equal moves the first."""
        line = []
        while depth > 0 and not position.is_over:
            depth, value = depth - 1, -value
            line.append(
                next(
                    c
                    for c in position.legal_cells
                    if not self._is_at_least(position.play(c), depth, value + 1)
                )
            )
            position = position.play(line[-1])
        return tuple(line)

    def _is_at_least(self, position: Position, depth: int, threshold: int) -> bool:
        """True if the value for the player to move, at this depth of search, is at least the threshold."""
        kernel = self._kernel
        if abs(threshold) >= kernel.WIN and threshold != kernel.WIN:
            return threshold < 0
        if position.is_over:
            end = kernel.WIN if self.game.misere else -kernel.WIN  # for the player who would be next
            return bool((end if position.is_won else 0) >= threshold)
        self._check_time()  # many questions may each take less than a slice
        kernel.set_root(self._search, position, depth, threshold)
        while (answer := kernel.search(self._search, self._sets, _SLICE)) == kernel.OPEN:
            self._check_time()
        return bool(answer == kernel.YES)

    def _check_time(self) -> None:
        check_stopped()
        if time.monotonic() > self._deadline:
            raise _OutOfTimeError
