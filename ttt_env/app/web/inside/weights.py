"""The weights of the `weights` agent on the cells of a position, and why it moves where it does."""

from dataclasses import dataclass

from ttt_env.agents.heuristics.threats import OpenSets
from ttt_env.agents.heuristics.weights import Weights, cell_weights
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Position, Seat, cells_of


@dataclass(frozen=True)
class Weighing:
    """What each empty cell is worth to X and to O, the cells that the agent takes, and why in a sentence."""

    by_cell: dict[int, dict[Seat, int]]
    chosen: tuple[int, ...]
    why: str


def weighed(position: Position) -> Weighing:
    """The weights of a position. Raises `GameTooLargeError` for a game of more than 64 cells."""
    boards = Boards.of([position])
    mine, theirs = ([int(weight) for weight in weights[0]] for weights in cell_weights(boards))
    mover, other = _seats(position)
    policy = Weights(position.game).policy(position) if not position.is_over else ()
    by_cell = {cell: {mover: mine[cell], other: theirs[cell]} for cell in position.legal_cells}
    chosen = tuple(cell for cell, share in enumerate(policy) if share)
    return Weighing(by_cell, chosen, _why(position, boards, max(mine), max(theirs)))


def _why(position: Position, boards: Boards, max_mine: int, max_theirs: int) -> str:
    """Which of the agent's rules decides."""
    mover, other = _seats(position)
    if position.is_over:
        return "The game is over."
    if own := cells_of(int(OpenSets(position.game, boards.mine, boards.theirs).completing()[0])):
        return f"{_named(own)} completes a set of {mover}: taken before all else."
    if threats := cells_of(int(OpenSets(position.game, boards.theirs, boards.mine).completing()[0])):
        return f"{_named(threats)} would complete a set of {other}: {mover} has to be there first."
    if max_theirs > max_mine:
        return (
            f"The largest weight of {other}, {max_theirs}, is above the largest of {mover}, {max_mine}: "
            f"of the cells worth {max_theirs} to {other}, the one worth most to {mover}."
        )
    if max_mine:
        return (
            f"The largest weight of {mover}, {max_mine}, is not below the largest of {other}, {max_theirs}: "
            f"of the cells worth {max_mine} to {mover}, the one worth most to {other}."
        )
    return "No set is open to anybody: any cell."


def _seats(position: Position) -> tuple[Seat, Seat]:
    """Who is to move, and who is not."""
    return ("X", "O") if position.to_move == "X" else ("O", "X")


def _named(cells: list[int]) -> str:
    return f"Cell {' or '.join(map(str, cells))}"
