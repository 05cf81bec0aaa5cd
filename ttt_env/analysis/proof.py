"""Values proved by search, for games too large to look at every position."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any, Self

from ttt_env.analysis.pairing import Regions, drawing_regions
from ttt_env.analysis.saved import Saved, game_from_dict, game_to_dict
from ttt_env.analysis.threat_proof import WIDTH, ThreatProver, ThreatQuestion
from ttt_env.errors import ImpossiblePositionError, ParameterError
from ttt_env.kernels.sets import winning_sets
from ttt_env.render.words import RESULTS
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import SEATS, Game, Position, Seat, cells_of
from ttt_env.rules.sizes import check_size
from ttt_env.stopping import check_wanted

_WIDTHS = (2, 3, 4, 6, 10)  # moves of the attacker tried in each position, round by round, before all are
_SLICE_SECONDS = 0.1
_FIRST_SLICE = 5_000  # nodes
_FIRST_TRIAL = 1_000  # nodes
# After so many nodes a win by threats is searched for, with so many expanded for the threats of one position.
_THREAT_ROUNDS = ((10_000_000, 100_000), (12_000_000, 400_000), (14_000_000, 1_600_000))


@dataclass(frozen=True)
class Proof(Saved):
    """What a search has proved about a position, all from the side of the player to move.

    `bounds` are the lowest and the highest value, −1, 0 or 1, that the position can still have.
    `principal_variation` are the cells of best play from it on: to the end, or until neither player can
    complete a set any more, unless the budget ended before. `nodes` is the number of positions searched,
    `seconds` the time without compilation.

    `regions` are groups of free cells, if these prove that the player to move does not win, as
    `analysis.pairing` describes; empty if that was searched, or is not so.
    """

    FORMAT = "ttt_env proof 1"

    position: Position
    bounds: tuple[int, int]
    principal_variation: tuple[int, ...]
    nodes: int
    seconds: float
    regions: Regions = ()

    @property
    def value(self) -> int | None:
        """1 won, 0 drawn, −1 lost; None if the budget was too small to know."""
        return self.bounds[0] if self.bounds[0] == self.bounds[1] else None

    def __str__(self) -> str:
        seat, (lower, upper) = self.position.to_move, self.bounds
        verdict = RESULTS[lower] if lower == upper else f"{RESULTS[lower]} at worst, {RESULTS[upper]} at best"
        caveat = "" if lower == upper else "; the budget was too small to know more"
        lines = [
            f"{self.position.game.name}, {self.position}, {seat} to move: {seat} {verdict}{caveat}.",
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
            "regions": [list(cells) for cells in self.regions],
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        lower, upper = map(int, data["bounds"])
        return cls(
            Position.parse(data["position"], game_from_dict(data["game"])),
            (lower, upper),
            tuple(map(int, data["principal_variation"])),
            int(data["nodes"]),
            float(data["seconds"]),
            tuple(tuple(map(int, cells)) for cells in data["regions"]),
        )


@dataclass(frozen=True)
class ProofProgress:
    """How far a proof is: it asks whether `seat` wins, trying `width` of its moves in each position."""

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

    Two questions are asked, "does the player to move win?" and, if not, "does the other?". Where the other
    holds by pairs and groups of cells (`analysis.pairing`), the first needs no search. The second needs
    no search on the empty board of a game that is not misère: an additional stone never hurts there, so
    the second player cannot win (J. Nash's strategy stealing; Hales and Jewett 1963). Where alpha-beta does
    not end soon, a win by threats is searched for as well, which is how Qubic is won. `progress` is called
    about ten times a second. The search may be interrupted at any time.

    Raises `GameTooLargeError` for a game of more than 64 cells, `ParameterError` for a budget that is not
    positive, `ImpossiblePositionError` for a position that is not one of this game.
    """
    game = get_game(game)
    check_size(game)
    root = _checked_position(game, position)
    _check_budget("nodes", nodes)
    _check_budget("seconds", seconds)
    prover = _Prover(game, progress)
    prover.begin(inf if nodes is None else nodes, inf if seconds is None else seconds)
    bounds = prover.bounds(root)
    line = prover.principal_variation(root, bounds[0]) if bounds[0] == bounds[1] else ()
    return Proof(root, bounds, line, prover.nodes, time.monotonic() - prover.begun, prover.regions)


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
        self.threats: dict[Seat, ThreatProver] = {}

    def begin(self, nodes: float, seconds: float) -> None:
        """Start the clock of a search with this budget."""
        self.begun = time.monotonic()
        self.nodes, self.max_nodes, self.deadline = 0, nodes, self.begun + seconds
        self.regions: Regions = ()
        self._slice = _FIRST_SLICE

    def bounds(self, position: Position) -> tuple[int, int]:
        """The lowest and the highest value that the position can still have when the budget is used up."""
        if position.is_over:
            value = 0 if position.winner is None else 1 if position.winner == position.to_move else -1
            return value, value
        mover, other = position.to_move, SEATS[1 - position.ply % 2]
        lower, upper = (0 if position.ply == 0 and not self.game.misere else -1), 1
        try:
            regions = drawing_regions(position)
            if regions is not None:
                self.regions = regions
            elif self.wins(mover, position):
                return 1, 1
            upper = 0
            if lower < 0:
                lower = upper = -1 if self.wins(other, position) else 0
        except _OutOfBudgetError:
            pass
        return lower, upper

    def wins(self, seat: Seat, position: Position) -> bool:
        """Whether this seat wins. Raises `_OutOfBudgetError` if the budget ends before that is known."""
        begun, rounds = self.nodes, list(() if self.game.misere else _THREAT_ROUNDS)
        for width in (*_WIDTHS, self.game.n_cells):
            answer, is_exact = None, False
            while answer is None:
                max_nodes = rounds[0][0] - (self.nodes - begun) if rounds else inf
                answer, is_exact = self._ask(seat, position, width, max_nodes)
                if answer is None and self._wins_by_threats(seat, position, rounds.pop(0)[1]):
                    return True
            if answer or is_exact:
                break
        return bool(answer)

    def _wins_by_threats(self, seat: Seat, position: Position, max_expanded: int) -> bool:
        if seat not in self.threats:
            self.threats[seat] = ThreatProver(self.game, seat, self._search_threats)
        return self.threats[seat].wins(position, max_expanded)

    def _ask(self, seat: Seat, position: Position, width: int, max_nodes: float) -> tuple[bool | None, bool]:
        """Whether the seat wins, or None after `max_nodes` nodes; and whether that holds for every width."""
        question, end = self.questions[seat], self.nodes + max_nodes
        question.begin(position, width)
        while self.nodes < end:
            answer = self._search(question, min(end, self.max_nodes) - self.nodes, width)
            if answer is not None:
                return answer, question.is_exact
        return None, False

    def _search_threats(self, question: ThreatQuestion, max_nodes: int) -> bool | None:
        return self._search(question, min(max_nodes, self.max_nodes - self.nodes), WIDTH)

    def _search(self, question: "_Question | ThreatQuestion", max_nodes: float, width: int) -> bool | None:
        """The answer after a slice of the search, about a tenth of a second; None if there is none yet."""
        check_wanted()
        begin = time.monotonic()
        if max_nodes < 1 or begin >= self.deadline:
            raise _OutOfBudgetError
        answer, n_nodes = question.search(int(min(max_nodes, self._slice)))
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
        """A cell that keeps the value; in a lost position the one that the search looks at first."""
        mover, other = position.to_move, SEATS[1 - position.ply % 2]
        seat, should_win = (mover, True) if value == 1 else (other, False)
        cells = self.questions[seat].ordered_cells(position)
        if value == -1:
            return cells[0]
        if value == 1 and mover in self.threats:
            winning_cell = self.threats[mover].winning_cell(position)
            if winning_cell is not None:
                return winning_cell
        max_nodes = _FIRST_TRIAL
        while True:
            for cell in cells:
                if self._wins_within(seat, position.play(cell), max_nodes) is should_win:
                    return cell
            max_nodes *= 4

    def _wins_within(self, seat: Seat, position: Position, max_nodes: int) -> bool | None:
        if position.is_over:
            return position.winner == seat
        return self._ask(seat, position, self.game.n_cells, max_nodes)[0]


class _Question:
    """The search for whether one seat wins, which can be asked about one position after another."""

    def __init__(self, game: Game, seat: Seat) -> None:
        from ttt_env.kernels import proof as proof_kernel

        self._kernel = proof_kernel
        self._sets, self._search = winning_sets(game), proof_kernel.new_search(game)
        self.game, self.seat = game, seat

    def begin(self, position: Position, width: int) -> None:
        """Begin to search this position, trying `width` moves of the seat in each position below it."""
        attacks = position.to_move == self.seat
        stones = (position.mine, position.theirs) if attacks else (position.theirs, position.mine)
        max_moves = self._kernel.ALL if width >= self.game.n_cells else width
        self._kernel.set_root(self._search, *stones, attacks, max_moves)

    def search(self, n_nodes: int) -> tuple[bool | None, int]:
        """The answer, or None if `n_nodes` nodes were too few; and the number of nodes used."""
        state, kernel = self._search.state, self._kernel
        before = int(state[kernel.NODES])
        self._search = kernel.grown(self._search)
        answer = kernel.search(self._search, self._sets, n_nodes)
        return None if answer == kernel.OPEN else answer == kernel.YES, int(state[kernel.NODES]) - before

    @property
    def is_exact(self) -> bool:
        """Whether the last answer holds for every width."""
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
    """Compile all that a search calls, or load it from disk, before the clock of a search starts."""
    from ttt_env.kernels.compiled import ready

    game = Game("two cells", (2,), [(0, 1)])
    question = _Question(game, "X")
    question.begin(game.start, game.n_cells)
    threats = ThreatProver(game, "X", lambda part, n_nodes: part.search(n_nodes)[0])
    ready(
        "the proof search",
        lambda: question.search(1),
        lambda: question.ordered_cells(game.start),
        lambda: threats.prepare(game.start),
        lambda: drawing_regions(game.start),
    )
