"""Values proved by search, for games too large to look at every position."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any, Self

from ttt_env.analysis.saved import Saved, game_from_dict, game_to_dict
from ttt_env.errors import ImpossiblePositionError, ParameterError
from ttt_env.kernels.sets import winning_sets
from ttt_env.render.words import RESULTS
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import SEATS, Game, Position, Seat, cells_of
from ttt_env.rules.sizes import check_size

_WIDTHS = (2, 3, 4, 6, 10)  # so many moves of the attacker are tried in the first rounds
_SLICE_SECONDS = 0.1
_FIRST_SLICE = 5_000
_FIRST_TRIAL = 1_000


@dataclass(frozen=True)
class Proof(Saved):
    """What a search has proved about a position, all from the side of the player to move.

    `bounds` are the least and the most that the value can be, −1, 0 or 1; `principal_variation` are the cells
    of best play from there on. It is complete (to the end, or until neither player can complete a set any
    more) unless the budget ended before. `nodes` are the positions searched, `seconds` the time without
    compilation.
    """

    FORMAT = "ttt_env proof 1"

    position: Position
    bounds: tuple[int, int]
    principal_variation: tuple[int, ...]
    nodes: int
    seconds: float

    @property
    def value(self) -> int | None:
        """1 won, 0 drawn, −1 lost; None if the budget was too small to know."""
        return self.bounds[0] if self.bounds[0] == self.bounds[1] else None

    def __str__(self) -> str:
        seat, (least, most) = self.position.to_move, self.bounds
        said = RESULTS[least] if least == most else f"{RESULTS[least]} at worst, {RESULTS[most]} at best"
        known = "" if least == most else "; the budget was too small to know more"
        lines = [
            f"{self.position.game.name}, {self.position}, {seat} to move: {seat} {said}{known}.",
            f"{self.nodes:,} positions were searched in {self.seconds:.1f} s.",
        ]
        if self.principal_variation:
            lines.insert(1, f"Best play: {' '.join(map(str, self.principal_variation))}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "format": self.FORMAT,
            "game": game_to_dict(self.position.game),
            "position": str(self.position),
            "value": self.value,
            "bounds": list(self.bounds),
            "principal_variation": list(self.principal_variation),
            "nodes": self.nodes,
            "seconds": self.seconds,
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        least, most = map(int, data["bounds"])
        return cls(
            Position.parse(data["position"], game_from_dict(data["game"])),
            (least, most),
            tuple(map(int, data["principal_variation"])),
            int(data["nodes"]),
            float(data["seconds"]),
        )


@dataclass(frozen=True)
class ProofProgress:
    """Where a proof stands: is it `seat` that wins? `width` of its moves are tried in each position."""

    seat: Seat
    width: int
    nodes: int
    seconds: float


Report = Callable[[ProofProgress], None]


def prove(
    game: Game | str,
    position: Position | None = None,
    *,
    nodes: int | None = None,
    seconds: float | None = None,
    progress: Report | None = None,
) -> Proof:
    """The value of a position, by default of the empty board, proved by a search within this budget.

    Two questions are asked, "does the player to move win?" and, if not, "does the other?". The second needs
    no search on the empty board of a game that is not misère: an additional stone does no harm there, so
    the second player cannot win (J. Nash's strategy stealing; Hales and Jewett 1963). `progress` is called
    about ten times a second. The search may be interrupted at any time.

    Raises `GameTooLargeError` for a game of more than 64 cells, `ParameterError` for a budget that is not
    positive, `ImpossiblePositionError` for a position that is not one of this game.
    """
    made = get_game(game)
    check_size(made)
    root = _checked_position(made, position)
    _check_budget("nodes", nodes)
    _check_budget("seconds", seconds)
    prover = _Prover(made, progress)
    prover.begin(inf if nodes is None else nodes, inf if seconds is None else seconds)
    bounds = prover.bounds(root)
    line = prover.principal_variation(root, bounds[0]) if bounds[0] == bounds[1] else ()
    return Proof(root, bounds, line, prover.nodes, time.monotonic() - prover.begun)


def _checked_position(game: Game, position: Position | None) -> Position:
    if position is None:
        return game.start
    if not isinstance(position, Position) or position.game != game:
        raise ImpossiblePositionError(f"{position!r} is no position of {game.name}")
    return position.checked()


def _check_budget(name: str, value: object) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and value > 0):  # type: ignore[operator]
        raise ParameterError(f"{name}={value!r} of a search: numbers above 0 are allowed")


class _OutOfBudgetError(Exception):
    """The search has used its nodes or its time."""


class _Prover:
    """The searches of the two questions, and what is left of the budget."""

    def __init__(self, game: Game, report: Report | None) -> None:
        self.game, self.report = game, report
        _prepare()
        self.questions = {seat: _Question(game, seat) for seat in SEATS}

    def begin(self, nodes: float, seconds: float) -> None:
        """From now on the budget is used."""
        self.begun = time.monotonic()
        self.nodes, self.most_nodes, self.deadline = 0, nodes, self.begun + seconds
        self._slice = _FIRST_SLICE

    def bounds(self, position: Position) -> tuple[int, int]:
        """The least and the most that the value of the position can be, as far as the budget goes."""
        if position.is_over:
            value = 0 if position.winner is None else 1 if position.winner == position.to_move else -1
            return value, value
        mover, other = position.to_move, SEATS[1 - position.ply % 2]
        least, most = (0 if position.ply == 0 and not self.game.misere else -1), 1
        try:
            if self.wins(mover, position):
                return 1, 1
            most = 0
            if least < 0:
                least = most = -1 if self.wins(other, position) else 0
        except _OutOfBudgetError:
            pass
        return least, most

    def wins(self, seat: Seat, position: Position) -> bool:
        """Whether this seat wins. Raises `_OutOfBudgetError`."""
        for width in _WIDTHS:
            answer, is_exact = self._ask(seat, position, width, inf)
            if answer or is_exact:
                return bool(answer)
        return bool(self._ask(seat, position, self.game.n_cells, inf)[0])

    def _ask(self, seat: Seat, position: Position, width: int, most: float) -> tuple[bool | None, bool]:
        """The answer, None after `most` nodes, and whether it is exact whatever the width is."""
        question, end = self.questions[seat], self.nodes + most
        question.begin(position, width)
        while self.nodes < end:
            answer = self._search(question, min(end, self.most_nodes) - self.nodes, width)
            if answer is not None:
                return answer, question.is_exact
        return None, False

    def _search(self, question: "_Question", most: float, width: int) -> bool | None:
        """One slice of a search: as many nodes as take a tenth of a second."""
        begin = time.monotonic()
        if most < 1 or begin >= self.deadline:
            raise _OutOfBudgetError
        answer, n_nodes = question.search(int(min(most, self._slice)))
        self.nodes += n_nodes
        end = time.monotonic()
        if n_nodes == self._slice:
            self._slice = max(1, int(self._slice * min(2.0, _SLICE_SECONDS / (end - begin + 1e-9))))
        if self.report is not None and answer is None:
            self.report(ProofProgress(question.seat, width, self.nodes, end - self.begun))
        return answer

    def principal_variation(self, position: Position, value: int) -> tuple[int, ...]:
        """Best play from a position of this value, as far as the budget goes."""
        line: list[int] = []
        try:
            while not position.is_over and not _is_dead(position):
                line.append(self._best_cell(position, value))
                position, value = position.play(line[-1]), -value
        except _OutOfBudgetError:
            pass
        return tuple(line)

    def _best_cell(self, position: Position, value: int) -> int:
        """A cell that keeps the value; of a lost position, the one that the search looks at first."""
        mover, other = position.to_move, SEATS[1 - position.ply % 2]
        seat, wanted = (mover, True) if value == 1 else (other, False)
        cells = self.questions[seat].ordered_cells(position)
        if value == -1:
            return cells[0]
        most = _FIRST_TRIAL
        while True:
            for cell in cells:
                if self._wins_within(seat, position.play(cell), most) is wanted:
                    return cell
            most *= 4

    def _wins_within(self, seat: Seat, position: Position, most: int) -> bool | None:
        if position.is_over:
            return position.winner == seat
        return self._ask(seat, position, self.game.n_cells, most)[0]


class _Question:
    """A search that is always asked whether the same seat wins."""

    def __init__(self, game: Game, seat: Seat) -> None:
        from ttt_env.kernels import proof as proof_kernel

        self._kernel = proof_kernel
        self._sets, self._search = winning_sets(game), proof_kernel.new_search(game)
        self.game, self.seat = game, seat

    def begin(self, position: Position, width: int) -> None:
        """Ask the question of this position."""
        attacks = position.to_move == self.seat
        stones = (position.mine, position.theirs) if attacks else (position.theirs, position.mine)
        widest = self._kernel.ALL if width >= self.game.n_cells else width
        self._kernel.set_root(self._search, *stones, attacks, widest)

    def search(self, n_nodes: int) -> tuple[bool | None, int]:
        """The answer, None if so many nodes were too few, and the nodes that were used."""
        state, kernel = self._search.state, self._kernel
        before = int(state[kernel.NODES])
        self._search = kernel.grown(self._search)
        answer = kernel.search(self._search, self._sets, n_nodes)
        return None if answer == kernel.OPEN else answer == kernel.YES, int(state[kernel.NODES]) - before

    @property
    def is_exact(self) -> bool:
        """Whether the last answer holds whatever the width is."""
        return self._kernel.is_exact(self._search)

    def ordered_cells(self, position: Position) -> list[int]:
        """The legal cells, those first that the search would try first."""
        self.begin(position, self.game.n_cells)
        urgent, weights = self._kernel.first_look(self._search, self._sets)
        first = set(cells_of(urgent))
        return sorted(position.legal_cells, key=lambda cell: (cell not in first, -weights[cell]))


def _is_dead(position: Position) -> bool:
    """Whether neither player can complete a set any more."""
    return all(mask & position.mine and mask & position.theirs for mask in position.game.winning_masks)


@cache
def _prepare() -> None:
    """Compile all that a search calls, or load it from disk: before its clock starts."""
    from ttt_env.kernels.compiled import ready

    game = Game("two cells", (2,), [(0, 1)])
    question = _Question(game, "X")
    question.begin(game.start, game.n_cells)
    ready("the proof search", lambda: question.search(1), lambda: question.ordered_cells(game.start))
