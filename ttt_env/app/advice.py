"""What best play would do, in words: hints, and the mistakes of a game that was played."""

from dataclasses import dataclass

from ttt_env.agents.mcts.search import Search
from ttt_env.analysis.solution import solve
from ttt_env.app.coordinates import cell_name
from ttt_env.render.words import RESULTS
from ttt_env.rules.game import Game, Position
from ttt_env.rules.notation import GameRecord
from ttt_env.rules.sizes import is_enumerable

_SIMULATIONS = 20_000  # about a second on 64 cells


@dataclass(frozen=True)
class Advice:
    """The best cells of a position and its value for the player to move.

    `is_exact` says that it is computed; otherwise a search expects it, in [−1, 1].
    """

    cells: list[int]
    value: float
    is_exact: bool


def advise(position: Position) -> Advice:
    """What best play does in a position that is not over; on large games, what a tree search would do.

    Raises `GameTooLargeError` for more than 64 cells.
    """
    if is_enumerable(position.game):
        solution = solve(position.game)
        return Advice(solution.best_cells(position), solution.value_of(position), True)
    search = Search(position, seed=0)
    search.run(simulations=_SIMULATIONS)
    cells = search.best_cells()
    if search.value is not None:
        return Advice(cells, search.value, True)
    visits, wins = search.visits[cells], search.wins[cells]
    return Advice(cells, float(2 * wins.sum() / visits.sum() - 1), False)


def hint(position: Position) -> str:
    """The advice in a sentence."""
    advice, seat = advise(position), position.to_move
    cells = named(advice.cells, position.game)
    if not advice.is_exact:
        return f"A tree search would play {cells}, and expects {advice.value:+.2f} for {seat} (1 is a win)."
    if advice.value == -1:
        return f"{seat} loses against best play, whatever it does."
    return f"{seat} {RESULTS[int(advice.value)]} with best play: {cells}."


def mistake(record: GameRecord, ply: int) -> str | None:
    """What the move of this ply gave away, in a sentence; None if nothing, or nobody can know."""
    if not is_enumerable(record.game):
        return None
    before, after = record.positions()[ply : ply + 2]
    solution = solve(record.game)
    was, now = solution.value_of(before), -solution.value_of(after)
    if now == was:
        return None
    cells = named(solution.best_cells(before), record.game)
    return f"A mistake: now {before.to_move} {RESULTS[now]}; it {RESULTS[was]} with {cells}."


def named(cells: list[int], game: Game) -> str:
    """The cells by number and name.

    >>> from ttt_env.rules.catalogue import get_game
    >>> named([0, 4], get_game("tictactoe-v0"))
    '0 (a1) or 4 (b2)'
    """
    names = [f"{cell} ({cell_name(cell, game)})" for cell in cells]
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
