"""The game tree below a position, with the values and move probabilities of minimax and softmax minimax."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isclose

from ttt_env.analysis.induction import Values, backward_induction, softmax
from ttt_env.analysis.layers import Responder, reachable
from ttt_env.app.web.computing import Keeper
from ttt_env.app.web.inside.branch import Branch, end_of
from ttt_env.render.words import percent, signed
from ttt_env.rules import Boards, Position, canonical

MAX_BOARDS = 80
_DIGITS = 4


@dataclass(frozen=True)
class Move:
    """A legal move: its probability, and the value of the position after it for X."""

    cell: int
    probability: float
    value: float

    @property
    def told(self) -> str:
        """The value as the page writes it."""
        return told_value(self.value)


def told_value(value: float) -> str:
    """A value for X: four decimals, but none where it is certain.

    >>> told_value(0.98127), told_value(1.0), told_value(-0.0)
    ('+0.9813', '+1', '0')
    """
    return signed(value, 0 if value in (-1, 0, 1) else _DIGITS)


@dataclass(frozen=True)
class SolvedTree:
    """The value of a position for X, as the page writes it, its moves, and the tree of `plies` below it.

    `is_cut` says whether fewer plies are in it than were asked for.
    """

    told: str
    moves: tuple[Move, ...]
    tree: Branch
    plies: int
    is_cut: bool

    @property
    def by_cell(self) -> Mapping[int, Move]:
        """The moves by cell."""
        return {move.cell: move for move in self.moves}


class TreeSolver:
    """Computes the values of games at the temperatures of both seats, and keeps them."""

    def __init__(self) -> None:
        self._values: Keeper[Values] = Keeper(32, 1)

    def tree_of(self, position: Position, temperatures: tuple[float, float], plies: int) -> SolvedTree:
        """The tree where X and O move by softmax of these temperatures; at 0 that is minimax."""
        x, o = map(softmax, temperatures)
        values = self._values.get_or_make(
            position.game,
            f"{temperatures}",
            lambda: backward_induction(reachable(position.game), x, o).values(),
        )
        grower = _Grower(values, (x, o))
        n_plies = plies_that_fit(position, plies)
        tree = grower.branch(position, n_plies)
        return SolvedTree(
            told_value(tree.tone), tuple(grower.moves(position)), tree, n_plies, n_plies < plies
        )


class _Grower:
    """Makes branches by the values and the responders of a sweep."""

    def __init__(self, values: Values, responders: tuple[Responder, Responder]) -> None:
        self._values, self._responders = values, responders

    def moves(self, position: Position) -> list[Move]:
        """The legal moves, the most probable first."""
        if position.is_over:
            return []
        boards = Boards.of([position])
        q = self._values.q(boards)
        shares = self._responders[position.ply % 2](q, boards.legal)[0]
        sign = 1 if position.to_move == "X" else -1
        moves = [Move(cell, float(shares[cell]), sign * float(q[0, cell])) for cell in position.legal_cells]
        return sorted(moves, key=lambda move: -move.probability)

    def branch(self, position: Position, plies: int, cells: tuple[int, ...] = ()) -> Branch:
        """The tree of so many plies below a position, to which these cells lead."""
        moves = self.moves(position) if plies else []
        alike = distinct_moves(position) if plies else {}
        children = tuple(
            replace(
                self.branch(position.child(move.cell), plies - 1, (*cells, move.cell)),
                above=percent(move.probability),
                share=move.probability,
                alike=alike[move.cell],
                is_lit=isclose(move.probability, moves[0].probability),
            )
            for move in moves
            if move.cell in alike
        )
        value = float(self._values.of(Boards.of([position]))[0])
        value = value if position.to_move == "X" else -value
        below = end_of(position) if position.is_over else told_value(value)
        return Branch(position, cells, "now", below, share=1.0, tone=value, children=children)


def distinct_moves(position: Position) -> dict[int, int]:
    """A move to each position that can come next, symmetric ones merged, and how many moves lead there."""
    alike: dict[Position, list[int]] = {}
    for cell in position.legal_cells:
        alike.setdefault(canonical(position.child(cell)), []).append(cell)
    return {cells[0]: len(cells) for cells in alike.values()}


def plies_that_fit(position: Position, plies: int) -> int:
    """The number of these plies that a tree of at most `MAX_BOARDS` boards has room for, at least one."""
    level, n_boards = [position], 1
    for ply in range(plies):
        level = [parent.child(cell) for parent in level for cell in distinct_moves(parent)]
        n_boards += len(level)
        if n_boards > MAX_BOARDS:
            return max(ply, 1)
    return plies
