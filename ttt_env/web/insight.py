"""The facts about the moves of a position: their values, and the agents' probabilities.

With the facts of `sweep_of` the browser computes those of softmax minimax by itself, while a slider moves.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import Any

from ttt_env.agent import checked_policies
from ttt_env.agents.advice import hint
from ttt_env.agents.mcts.search import Search
from ttt_env.analysis.certificate import certify
from ttt_env.analysis.evaluation import exploitability
from ttt_env.analysis.induction import Values, backward_induction, best, follow
from ttt_env.analysis.known import MoveVerdict, is_solved, judge, known_value, known_values_of_moves
from ttt_env.analysis.layers import Responder, reachable
from ttt_env.analysis.results import Result
from ttt_env.analysis.solution import distances, solve
from ttt_env.errors import GameTooLargeError, PolicyError, TttEnvError
from ttt_env.proofs.proof import prove
from ttt_env.render.words import OUTCOMES, RESULTS, signed
from ttt_env.rules import SEATS, Boards, Game, Position, is_instant, is_tabulated, n_placements, split_spec
from ttt_env.web.board import facts_of_game
from ttt_env.web.computing import Keeper
from ttt_env.web.inside.trees import TreeSolver
from ttt_env.web.roster import PERSON, Preset, Roster, presets
from ttt_env.web.table import PlayTable

_DIGITS = 12  # beyond these is rounding

SEARCHES = (1_000, 8_000, 64_000, 256_000)
"""The simulations by which the moves of large games are estimated, one search after the other."""
_PROVED_FROM = SEARCHES[-1]

_PLACEMENTS_PER_SECOND = 1_000_000  # of a sweep that asks an agent in every position

SQUARE_DEFEATS = {
    "random": (6, 4, 10, 9, 7, 13, 11),
    "win-block": (13, 4, 9, 0, 8, 12, 10, 14, 5),
    "weights": (2, 6, 10, 5, 14, 8, 11, 15, 13, 9, 4),
}
"""A game on 4×4 that each of these agents loses as O."""


@dataclass(frozen=True)
class MoveInsight:
    """A legal move: the chance that the player to move plays it, and its worth to the player who makes it.

    `value` is its value under best play by both sides, 1, 0 or −1; `against` is its expected result against
    the opponent at the table; `estimate`, in [−1, 1], is what a tree search of `visits` simulations expects
    where the value is not known. `plies` are the moves from this one to the end of the game under best play.
    An unknown number is None. `is_best` says that no move is known to be better: by value, and of equal ones
    by the result against the opponent.
    """

    cell: int
    probability: float | None
    value: int | None
    against: Result | None
    estimate: float | None = None
    visits: int = 0
    plies: int | None = None
    is_best: bool = False

    @property
    def worth(self) -> float | None:
        """The value, else the estimate."""
        return self.estimate if self.value is None else self.value

    @property
    def figures(self) -> str:
        """The moves to the end, if somebody wins, and the result against the opponent."""
        ending = f"in {self.plies}" if self.plies and self.value else ""
        against = "" if self.against is None else signed(self.against.value, 3)
        return " · ".join(filter(None, (ending, against)))

    @property
    def worth_in_words(self) -> str:
        """The value of the move, and how it is known."""
        if self.value is not None:
            ending = f" in {self.plies}" if self.plies and self.value else ""
            return f"{RESULTS[self.value]}{ending} with best play"
        if self.estimate is None:
            return "of unknown value"
        return f"worth about {signed(self.estimate, 2)}, by {self.visits:,} simulations"


@dataclass(frozen=True)
class Insight:
    """All legal moves of a position, best play in a sentence, and in words why something is not known.

    `adviser` is the agent to move, whose chances are shown. `opponent` is the agent against which the moves
    are judged: the mover then plays on as itself, a person at its best. `value` is that of the position for
    X, in [−1, 1]: exact, or what `simulations` of a search expect. `seconds` is about what the exact answer
    takes, if it is still to come.
    """

    adviser: str | None
    opponent: str | None
    moves: tuple[MoveInsight, ...]
    hint: str
    notes: tuple[str, ...]
    value: float | None = None
    is_exact: bool = True
    simulations: int = 0
    seconds: int = 0

    @property
    def outcomes(self) -> list[str]:
        """The outcomes that are known of a move, the best first."""
        return [name for value, name in OUTCOMES.items() if any(move.value == value for move in self.moves)]

    def kinds_of_figures(self, name_of: Callable[[str], str]) -> list[str]:
        """The figures on the board beside the words, each explained."""
        kinds = {
            f"% the chance that {name_of(self.adviser or '')} plays it": "probability",
            "in n: moves to the end": "plies",
            f"± wins − losses against {name_of(self.opponent or '')}": "against",
        }
        return [
            kind
            for kind, name in kinds.items()
            if any(getattr(move, name) is not None for move in self.moves)
        ]

    @property
    def more(self) -> int | None:
        """The simulations of the next, larger search; None if this is the last or none is needed."""
        if self.seconds:
            return SEARCHES[-1]
        larger = (number for number in SEARCHES if number > self.simulations)
        return next(larger, None) if self.simulations else None


class InsightSolver:
    """Computes what is known about the moves on a table, and keeps the sweeps that this takes."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._outcomes: Keeper[tuple[Values, Values]] = Keeper(64, 2)

    def insight(self, table: PlayTable, simulations: int = SEARCHES[-1]) -> Insight:
        """The known facts about each move of the position on the table.

        Where it takes longer, this many simulations estimate the values. Proofs and sweeps are made only with
        the largest number of `SEARCHES`, so that first results are shown soon.
        """
        position, notes = table.position, []
        opponent = table.player(SEATS[(table.at + 1) % 2])
        adviser = table.mover
        is_quick = not is_instant(table.game) and simulations < _PROVED_FROM
        is_first = is_quick and is_solved(table.game)
        chances: dict[int, float] = {}
        against: dict[int, Result] = {}
        try:
            if adviser != PERSON and not is_first:
                chances = dict(enumerate(self._roster.make(adviser, table.game).policy(position).tolist()))
            if opponent != PERSON and not is_first:
                against = self._against(table)
        except (TttEnvError, ImportError) as error:
            notes.append(str(error))
        values: dict[int, int | None] = dict.fromkeys(position.legal_cells)
        value = None
        if not is_first:
            values = known_values_of_moves(position, *[0] * is_quick)
            value = known_value(position, *[0] * is_quick)
        is_searched = None in values.values()
        expected: dict[int, tuple[float, int]] = {}
        found: float | None = value
        if is_searched:
            search = Search(position, seed=0)
            search.run(simulations=simulations)
            visits, wins = search.visits, search.wins
            expected = {
                cell: (float(2 * wins[cell] / visits[cell] - 1), int(visits[cell]))
                for cell in visits.nonzero()[0].tolist()
            }
            found = search.expected if value is None else value
        ends = _ends(position) if values and is_tabulated(table.game) else {}
        moves = _marked(
            MoveInsight(cell, chances.get(cell), known, against.get(cell), estimate, n_visits, ends.get(cell))
            for cell, known in values.items()
            for estimate, n_visits in [expected.get(cell, (None, 0))]
        )
        return Insight(
            None if adviser == PERSON else adviser,
            None if opponent == PERSON else opponent,
            moves,
            "" if is_quick else hint(position),
            tuple(notes),
            found if found is None or position.to_move == "X" else -found + 0.0,
            value is not None,
            simulations if is_searched else 0,
            ceil(n_placements(table.game.n_cells) / _PLACEMENTS_PER_SECOND) if is_first else 0,
        )

    def prepare(self, game: Game, x: str, o: str) -> None:
        """Compute beforehand what `insight` needs to know about all positions of a game of these two."""
        if not x == o == PERSON:
            with suppress(TttEnvError, ImportError):  # which `insight` tells
                self._against(PlayTable(game, x, o))

    def _against(self, table: PlayTable) -> dict[int, Result]:
        """The expected result of each move against the opponent at the table, by cell."""
        if not is_solved(table.game):
            raise GameTooLargeError(
                f"The results against {table.player(SEATS[(table.at + 1) % 2])} are unknown: "
                f"{table.game.name} has too many positions to check them all."
            )
        names = f"{table.x} {table.o} {self._roster.edition(table.x, table.o)}"
        wins, losses = self._outcomes.get_or_make(table.game, names, lambda: self._swept(table))
        cells = table.position.legal_cells
        children = Boards.of([table.position.play(cell) for cell in cells])
        # The player to move there is the opponent.
        return {
            cell: Result(*(round(float(share), _DIGITS) + 0.0 for share in (win, 1.0 - win - loss, loss)))
            for cell, win, loss in zip(cells, losses.of(children), wins.of(children), strict=True)
        }

    def _swept(self, table: PlayTable) -> tuple[Values, Values]:
        """The chances that the mover wins, and that the other does, for all positions."""
        seats: list[Responder] = [
            best
            if name == PERSON
            else follow(partial(checked_policies, self._roster.fixed(name, table.game)))
            for name in (table.x, table.o)
        ]
        layers = backward_induction(reachable(table.game), *seats).layers
        return Values(table.game, [of[0] for of in layers]), Values(table.game, [of[1] for of in layers])


def _ends(position: Position) -> dict[int, int]:
    """The number of moves from each legal one to the end of the game under best play, by cell."""
    cells = position.legal_cells
    plies = distances(position.game).of(Boards.of([position.play(cell) for cell in cells]))
    return {cell: int(after) + 1 for cell, after in zip(cells, plies, strict=True)}


def _marked(unmarked: Iterable[MoveInsight]) -> tuple[MoveInsight, ...]:
    """The moves, those marked that are best as far as is known."""
    moves = tuple(unmarked)

    def rank(move: MoveInsight) -> tuple[float, float]:
        worth = -2.0 if move.worth is None else round(move.worth, _DIGITS)
        return worth, 0.0 if move.against is None else round(move.against.value, _DIGITS)

    highest = max(map(rank, moves), default=(-2.0, 0.0))
    return tuple(replace(move, is_best=rank(move) == highest and highest[0] > -2.0) for move in moves)


def judged_moves(table: PlayTable) -> list[MoveVerdict]:
    """The verdict on each move on the board."""
    return [
        judge(position, cell) for position, cell in zip(table.record.positions(), table.cells, strict=False)
    ]


def course(table: PlayTable) -> list[float]:
    """The value for X of each position of the game on the board: exact, or what a short search expects."""
    values = list[float]()
    for position in table.record.positions():
        worth: float | None = known_value(position)
        if worth is None:
            search = Search(position, seed=0)
            search.run(simulations=SEARCHES[0])
            worth = search.expected
        values.append(worth if position.to_move == "X" else 0 - worth)
    return values


def decisive_move(verdicts: list[MoveVerdict], values: list[float]) -> int | None:
    """The number of the last blunder that gave a game its result; `values` is its `course`."""
    slips = [number for number, verdict in enumerate(verdicts, 1) if verdict.is_blunder]
    return max((number for number in slips if values[number] == values[-1]), default=None)


@dataclass(frozen=True)
class Weakness:
    """Whether an agent can lose, in words, and how that is shown.

    It has a certificate, or loses the game `defeat`, or moves by the values of all positions.
    """

    told: str
    is_certified: bool = False
    defeat: tuple[int, ...] = ()
    is_valued: bool = False


def weakness(roster: Roster, player: str, game: Game) -> Weakness:
    """The weakness of an agent: exact where its policy is a table, else where it is known beforehand."""
    if is_tabulated(game):
        certificate = certify(roster.fixed(player, game), game)
        worst = certificate.worst_case.values()
        told = "Never" if min(worst) >= 0 else "Only lost positions"
        return Weakness(told if certificate.unbeatable else "Yes, here is how", True)
    if game.name == "square-v0":  # a draw
        defeat = SQUARE_DEFEATS.get(player, ())
        return Weakness("Yes, here is how", defeat=defeat) if defeat else Weakness("Never", is_valued=True)
    if is_solved(game):
        first_end = 2 * min(map(len, game.winning_sets)) - 1  # stones: the other player plays elsewhere
        # A proof takes milliseconds; `solve` would take seconds, and hundreds of megabytes of this process.
        if first_end > game.n_cells or (player == "minimax" and prove(game).value == 0):
            return Weakness("Never", is_valued=True)
        return Weakness("Only lost positions", is_valued=True) if player == "minimax" else Weakness("Yes")
    return Weakness("Yes" if player == "random" else "Not known")


def levels_of(roster: Roster, game: Game) -> list[tuple[Preset, Weakness]]:
    """The levels of a game, and whether each can lose."""
    return [(preset, weakness(roster, preset.player, game)) for preset in presets(game)]


def strength(roster: Roster, player: str, game: Game) -> str:
    """The exact loss of an agent against a best response, in words; or the reason why it is not known."""
    if not is_solved(game):
        return "strength unknown: too many positions to check them all"
    try:
        worst = exploitability(roster.fixed(player, game), game)
    except PolicyError:
        return "strength unknown: it has no fixed policy; a seed gives it one"
    except (TttEnvError, ImportError) as error:
        return str(error)
    if worst.nash_conv <= 0:
        return "gives nothing away"
    value = solve(game).value
    return f"gives away {worst.as_x + value:.3f} as X, {worst.as_o - value:.3f} as O"


@dataclass
class Evaluators:
    """The agents, and the solvers that compute and keep facts about them."""

    roster: Roster
    tree_solver: TreeSolver = field(default_factory=TreeSolver)

    def __post_init__(self) -> None:
        self.insight_solver = InsightSolver(self.roster)


def sweep_of(game: Game, played: tuple[int, ...], x: str, o: str) -> dict[str, Any] | None:
    """The sweep of a game after the `played` cells as `live.js` reads it, by the ids of two sliders.

    They hold the temperatures of X and O. None for a game that is too large to be swept between two frames.
    """
    return {"game": facts_of_game(game), "played": played, "x": x, "o": o} if is_instant(game) else None


def sweep_at(table: PlayTable) -> dict[str, Any] | None:
    """The sweep for the agent to move at a table; None if that is not softmax minimax.

    The agent moves by its own temperature, and ascribes the other one to whoever moves next.
    """
    mover = SEATS[table.at % 2]
    if split_spec(table.mover).name != "softmax":
        return None
    own, ascribed = f"{mover.lower()}-temperature", f"{mover.lower()}-opponent_temperature"
    x, o = (own, ascribed) if mover == "X" else (ascribed, own)
    return sweep_of(table.game, table.record.cells, x, o)
