"""The best move of a position, as the terminal shows it.

A game of up to `INTERACTIVE_CELLS` cells is solved while the user waits. In a larger one a short proof search
tries to find the value; if it fails, a tree search gives an estimate.
"""

from dataclasses import dataclass

from ttt_env.agents.mcts.search import Search
from ttt_env.analysis.known import best_cells, known_value
from ttt_env.render.words import RESULTS, cells_text, signed
from ttt_env.rules import Position

_SIMULATIONS = 20_000  # some tenths of a second


@dataclass(frozen=True)
class Advice:
    """The best cells of a position and its value for the player to move.

    `is_exact` says that the value is solved or proved; otherwise a tree search expects it, in [−1, 1].
    """

    cells: list[int]
    value: float
    is_exact: bool


def advise(position: Position) -> Advice:
    """The best moves of an open position; where none is proved, those that a tree search prefers."""
    value = known_value(position)
    if value is not None:
        return Advice(best_cells(position), value, True)
    search = Search(position, seed=0)
    search.run(simulations=_SIMULATIONS)
    cells = search.best_cells()
    if search.value is not None:
        return Advice(cells, search.value, True)
    return Advice(cells, search.expected, False)


def hint(position: Position) -> str:
    """The advice in a sentence."""
    if position.is_over:
        return "The game is over."
    advice, seat = advise(position), position.to_move
    cells = cells_text(advice.cells, position.game)
    if not advice.is_exact:
        expected = signed(advice.value, 2)
        return f"A tree search would play {cells}, and expects {expected} for {seat} (1 is a win)."
    if advice.value == -1:
        return f"{seat} loses against best play: all moves lose."
    if len(advice.cells) > 1 and advice.cells == list(position.legal_cells):
        return f"{seat} {RESULTS[int(advice.value)]} with best play: every move does."
    return f"{seat} {RESULTS[int(advice.value)]} with best play: {cells}."
