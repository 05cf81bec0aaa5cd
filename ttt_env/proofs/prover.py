"""The search that proves values: its two questions, its budget and its checkpoints."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from ttt_env.compiled.sets import winning_sets
from ttt_env.compiled.stopping import check_stopped
from ttt_env.errors import FileError, ProofError
from ttt_env.proofs import checkpoint as checkpoint_file
from ttt_env.proofs.strategy import Regions, drawing_regions
from ttt_env.rules import SEATS, Game, Masks, Position, Seat, cells_of
from ttt_env.storage import Arrays

_SLICE_SECONDS = 0.1
_TWO_CELLS = Game("two cells", (2,), [(0, 1)])  # on which searches are prepared
_FIRST_SLICE = 5_000  # nodes
_FIRST_TRIAL = 1_000  # nodes
_FIRST_TURN = 1 << 18  # nodes of the first turn of a hasty search, and of a patient one
_ALTERNATIVES = 8  # moves that a strategy is chosen from
_FEW_NODES = 100  # to learn whether one of them keeps the value
_CHECKPOINT_SECONDS = 60.0
_CHECKPOINT_SHARE = 20  # a checkpoint is written no more often than this multiple of the time it takes


@dataclass(frozen=True)
class ProofProgress:
    """The progress of a proof that searches for a win of `seat`."""

    seat: Seat
    nodes: int
    seconds: float


ProofReport = Callable[[ProofProgress], None]


class OutOfBudgetError(Exception):
    """The search has used its nodes or its time."""


class Prover:
    """The searches of the two questions, and the remaining budget."""

    def __init__(self, game: Game, report: ProofReport | None = None) -> None:
        self.game, self.report = game, report
        _prepare(game.has_gravity)
        self.questions = {seat: _Question(game, seat) for seat in SEATS}
        self._earlier_nodes, self._earlier_seconds = 0, 0.0  # of the runs that a checkpoint comes from
        self._checkpoint: tuple[Path, Position] | None = None

    @property
    def effort(self) -> tuple[int, float]:
        """The nodes and the seconds of this run and all earlier ones."""
        return self._earlier_nodes + self.nodes, self._earlier_seconds + time.monotonic() - self.started_at

    def use_checkpoint(self, path: Path, position: Position) -> None:
        """Resume from the file if it exists, and save the state of the search in it from now on."""
        if path.exists():
            self._earlier_nodes, self._earlier_seconds, of_seats = checkpoint_file.read(path, position)
            try:
                for seat, parts in of_seats.items():
                    self.questions[seat].restore_entries(int(parts["table_bits"]), parts["table"])
            except ValueError as error:
                raise FileError(f"{path} is not a checkpoint of a proof: {error}") from error
        self._checkpoint = path, position

    def end(self) -> None:
        """Write the last checkpoint, if there is a file for it."""
        if self._checkpoint is not None:
            self._write_checkpoint(*self._checkpoint)
            self._checkpoint = None

    def _write_checkpoint(self, path: Path, position: Position) -> None:
        begin = time.monotonic()
        of_seats: dict[Seat, Arrays] = {}
        for seat, question in self.questions.items():
            table_bits, table = question.kept_entries()
            of_seats[seat] = {"table_bits": np.array(table_bits, np.int64), "table": table}
        checkpoint_file.write(path, position, *self.effort, of_seats)
        end = time.monotonic()
        self._next_checkpoint = end + max(_CHECKPOINT_SECONDS, _CHECKPOINT_SHARE * (end - begin))

    def begin(self, nodes: float = inf, seconds: float = inf) -> None:
        """Start the clock of a search with this budget."""
        self.started_at = time.monotonic()
        self.nodes, self.max_nodes, self.deadline = 0, nodes, self.started_at + seconds
        self.regions: Regions = ()
        self._slice, self._next_checkpoint = _FIRST_SLICE, self.started_at + _CHECKPOINT_SECONDS

    def bounds(self, position: Position) -> tuple[int, int]:
        """The lowest and the highest value that the position can have after a search within the budget."""
        if position.is_over:
            value = 0 if position.winner is None else 1 if position.winner == position.to_move else -1
            return value, value
        mover, other = position.to_move, SEATS[1 - position.ply % 2]
        lower, upper = (0 if position.ply == 0 and self.game.is_monotone else -1), 1
        try:
            regions = drawing_regions(position)
            if regions is not None:
                self.regions = regions
            elif self._ask(mover, position, inf):
                return 1, 1
            upper = 0
            if lower < 0:
                lower = upper = -1 if self._ask(other, position, inf) else 0
        except OutOfBudgetError:
            pass
        return lower, upper

    def _ask(self, seat: Seat, position: Position, max_nodes: float) -> bool | None:
        """True if the seat wins, None after `max_nodes` nodes. Raises `OutOfBudgetError`."""
        question, end = self.questions[seat], self.nodes + max_nodes
        question.begin(position, self._earlier_nodes)
        while self.nodes < end:
            answer = self._search(question, end - self.nodes)
            if answer is not None:
                return answer
        return None

    def _search(self, question: "_Question", max_nodes: float) -> bool | None:
        """The answer after a slice of the search, about a tenth of a second; None if there is none yet."""
        check_stopped()
        begin, max_nodes = time.monotonic(), min(max_nodes, self.max_nodes - self.nodes)
        if max_nodes < 1 or begin >= self.deadline:
            raise OutOfBudgetError
        answer, n_nodes = question.search(min(max_nodes, self._slice))
        self.nodes += n_nodes
        end = time.monotonic()
        if n_nodes == self._slice:
            self._slice = max(1, int(self._slice * min(2.0, _SLICE_SECONDS / (end - begin + 1e-9))))
        if self._checkpoint is not None and end >= self._next_checkpoint:
            self._write_checkpoint(*self._checkpoint)
        if self.report is not None and answer is None:
            self.report(ProofProgress(question.seat, self.nodes, end - self.started_at))
        return answer

    def principal_variation(self, position: Position, value: int) -> tuple[int, ...]:
        """Best play from a position of this value, until the budget is used up."""
        line: list[int] = []
        try:
            while not position.is_over and not _is_dead(position):
                line.append(self.keeping_cell(position, value))
                position, value = position.play(line[-1]), -value
        except OutOfBudgetError:
            pass
        return tuple(line)

    def keeping_cell(self, position: Position, value: int) -> int:
        """A cell that keeps the value; in a lost position the one that the search looks at first."""
        seat, should_win = _claim(position, value)
        cells = self.questions[seat].ordered_cells(position)
        if value == -1:
            return cells[0]
        max_nodes = _FIRST_TRIAL
        while cells:
            for cell in cells.copy():
                wins = self.wins_within(seat, position.play(cell), max_nodes)
                if wins is should_win:
                    return cell
                if wins is not None:
                    cells.remove(cell)
            max_nodes *= 4
        raise ProofError(f"the search was wrong: no move in {position!r} keeps the value {value}")

    def likely_cells(self, position: Position, value: int) -> list[int]:
        """The cells that the search looks at first, which need not keep the value."""
        seat, _ = _claim(position, value)
        return self.questions[seat].ordered_cells(position)[:_ALTERNATIVES]

    def keeping_cells(self, position: Position, value: int) -> list[int]:
        """Cells that keep the value, 1 or 0: of the likely ones all that are known to, or one."""
        seat, should_win = _claim(position, value)
        cells = self.likely_cells(position, value)
        known_cells = [c for c in cells if self.wins_within(seat, position.play(c), _FEW_NODES) is should_win]
        return known_cells or [self.keeping_cell(position, value)]

    def wins_within(self, seat: Seat, position: Position, max_nodes: int) -> bool | None:
        """True if the seat wins from here, None if that takes more nodes. Raises `OutOfBudgetError`."""
        if position.is_over:
            return position.winner == seat
        return self._ask(seat, position, max_nodes)


class _Question:
    """The question "does this seat win?", which can be searched for one position after another.

    A hasty search finds a win sooner, a patient one refutes it sooner. They take turns, each from the root
    with the table so far, and each pair of turns is two fifths longer than the last.
    """

    def __init__(self, game: Game, seat: Seat) -> None:
        from ttt_env.proofs import gravity_kernel, search_kernel, state_kernel

        self._kernel: Any = gravity_kernel if game.has_gravity else search_kernel
        self._state: Any = gravity_kernel if game.has_gravity else state_kernel
        self._sets, self._search = winning_sets(game), self._state.new_search(game)
        self.game, self.seat = game, seat

    def begin(self, position: Position, spent: int = 0) -> None:
        """Begin to search this position, or resume the search after `spent` nodes of earlier runs."""
        self._position, self._spent = position, spent
        self._begin_turn()

    def _begin_turn(self) -> None:
        position, attacks = self._position, self._position.to_move == self.seat
        stones = (position.mine, position.theirs) if attacks else (position.theirs, position.mine)
        patient, self._n_left = _turn(self._spent)
        self._kernel.set_root(self._search, *stones, attacks, patient)

    def search(self, n_nodes: float) -> tuple[bool | None, int]:
        """The answer, and the nodes used; None if `n_nodes`, or the nodes left to the table, were too few."""
        kernel, counts = self._kernel, self._search.state
        if self._n_left == 0:
            self._begin_turn()
        before = int(counts[self._state.NODES])
        self._search = self._state.with_larger_table(self._search)
        n_nodes = min(n_nodes, self._n_left)
        n_nodes = min(n_nodes, self._state.n_nodes_left(self._search))  # so no slice's end changes the search
        answer = kernel.search(self._search, self._sets, int(n_nodes))
        used = int(counts[self._state.NODES]) - before
        self._spent, self._n_left = self._spent + used, self._n_left - used
        return None if answer == kernel.OPEN else answer == kernel.YES, used

    def kept_entries(self) -> tuple[int, Masks]:
        """The size of the table, and the entries that took most work: the arguments of `restore_entries`."""
        return int(self._search.state[self._state.TABLE_BITS]), self._state.answers_of(self._search)

    def restore_entries(self, table_bits: int, answers: Masks) -> None:
        """Resume with the `kept_entries` of another run. Raises `ValueError` if they do not fit."""
        self._search = self._state.with_answers(self._search, table_bits, answers)

    def ordered_cells(self, position: Position) -> list[int]:
        """The legal cells, in the order in which the search would try them."""
        self.begin(position)
        urgent, weights = self._kernel.root_candidates(self._search, self._sets)
        first = set(cells_of(urgent))
        return sorted(position.legal_cells, key=lambda cell: (cell not in first, -weights[cell]))


def _claim(position: Position, value: int) -> tuple[Seat, bool]:
    """The seat to ask "does it win?" for, and the answer after a move that keeps this value."""
    if value == 1:
        return position.to_move, True
    return SEATS[1 - position.ply % 2], False


def _is_dead(position: Position) -> bool:
    """True if neither player can complete a set any more."""
    return all(mask & position.mine and mask & position.theirs for mask in position.game.winning_masks)


def _turn(spent: int) -> tuple[bool, int]:
    """The turn after `spent` nodes: True if it is patient, and the nodes left in it."""
    length = _FIRST_TURN
    while spent >= 2 * length:
        spent, length = spent - 2 * length, length * 7 // 5
    return spent >= length, length - spent % length


@cache
def _prepare(has_gravity: bool) -> None:
    """Compile what most searches call, or load it from disk, before the clock of a search starts."""
    from ttt_env.compiled.compiler import ready

    game = _TWO_CELLS.with_gravity() if has_gravity else _TWO_CELLS
    question = _Question(game, "X")
    question.begin(game.start)
    calls = (lambda: question.search(1)), (lambda: question.ordered_cells(game.start))
    ready("the proof search", *calls, lambda: drawing_regions(game.start))
