"""The facts about the moves of a position: their values, and the agents' probabilities.

With a `LiveSweep` the browser computes those of softmax minimax by itself, while a slider moves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ttt_env.agent import checked_policies
from ttt_env.agents.mcts.search import Search
from ttt_env.analysis.evaluation import Result, exploitability, match
from ttt_env.analysis.induction import Values, backward_induction, best, follow
from ttt_env.analysis.layers import Responder, reachable
from ttt_env.analysis.solution import solve
from ttt_env.app.advice import MoveVerdict, hint, judge
from ttt_env.app.web.computing import Keeper
from ttt_env.app.web.inside.trees import TreeSolver
from ttt_env.app.web.roster import PERSON, Roster
from ttt_env.app.web.table import PlayTable
from ttt_env.errors import GameTooLargeError, PolicyError, TttEnvError
from ttt_env.proofs.known import is_solved, known_value, known_values_of_moves
from ttt_env.render.words import OUTCOMES, signed
from ttt_env.rules import SEATS, Boards, Game, get_game, is_instant, split_spec

_DIGITS = 12  # beyond these is rounding

SEARCHES = (1_000, 8_000, 64_000, 256_000)
"""The simulations by which the moves of large games are estimated, one search after the other."""
_PROVED_FROM = SEARCHES[-1]

_SQUARE = get_game("square-v0")
SQUARE_SCORES = {
    (_SQUARE, "random"): Result(0.418648018648, 0.162703962704, 0.418648018648),
    (_SQUARE, "win-block"): Result(0.794156867765, 0.178103856886, 0.027739275349),
    (_SQUARE, "weights"): Result(0.984144439053, 0.015833660413, 2.1900534e-05),
    (_SQUARE, "minimax"): Result(0.916930636904, 0.083069363096, 0.0),
}
"""Results of `score` that take up to a minute to compute on 4×4; the tests compute them again."""


@dataclass(frozen=True)
class MoveInsight:
    """A legal move: the chance that `Insight.adviser` plays it, and its worth to the player who makes it.

    `value` is its value under best play of both, 1, 0 or −1; `against` is its expected result against the
    opponent at the table; `estimate`, in [−1, 1], is what a tree search of `visits` simulations expects where
    the value is not known. What is not known is None. `is_best` says that no move is known to be better: by
    value, and of equal ones by the result against the opponent.
    """

    cell: int
    probability: float | None
    value: int | None
    against: Result | None
    estimate: float | None = None
    visits: int = 0
    is_best: bool = False

    @property
    def worth(self) -> float | None:
        """The value, else the estimate."""
        return self.estimate if self.value is None else self.value

    @property
    def worth_in_words(self) -> str:
        """The value of the move, and how it is known."""
        if self.value is not None:
            return f"worth a {OUTCOMES[self.value]} under best play"
        if self.estimate is None:
            return "worth an unknown result under best play"
        return f"worth about {signed(self.estimate, 2)} by {self.visits:,} simulations"


@dataclass(frozen=True)
class Insight:
    """All legal moves of a position, best play in a sentence, and in words why something is not known.

    `adviser` is the agent whose chances are shown: the one to move, or a person's opponent. `opponent` is
    the agent against which the moves are judged: the mover then plays on as itself, a person at its best.
    `value` is that of the position for X, in [−1, 1]: exact, or what `simulations` of a search expect.
    """

    adviser: str | None
    opponent: str | None
    moves: tuple[MoveInsight, ...]
    hint: str
    notes: tuple[str, ...]
    value: float | None = None
    is_exact: bool = True
    simulations: int = 0

    @property
    def more(self) -> int | None:
        """The simulations of the next, larger search; None if this is the last or none is needed."""
        larger = (number for number in SEARCHES if number > self.simulations)
        return next(larger, None) if self.simulations else None


class InsightSolver:
    """Computes what is known about the moves on a table, and keeps the sweeps that this takes."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._outcomes: Keeper[tuple[Values, Values]] = Keeper(64, 2)

    def insight(self, table: PlayTable, edition: int = 0, simulations: int = SEARCHES[-1]) -> Insight:
        """The known facts about each move of the position on the table. `edition` is as in `strength`.

        In a game that is not solved, this many simulations estimate the values that are not proved. Proofs
        are tried only with the largest number of `SEARCHES`, so that first results are shown soon.
        """
        position, notes = table.position, []
        opponent = table.player(SEATS[(table.at + 1) % 2])
        adviser = opponent if table.mover == PERSON else table.mover
        chances: dict[int, float] = {}
        against: dict[int, Result] = {}
        try:
            if adviser != PERSON:
                chances = dict(enumerate(self._roster.make(adviser, table.game).policy(position).tolist()))
            if opponent != PERSON:
                against = self._against(table, edition)
        except (TttEnvError, ImportError) as error:
            notes.append(str(error))
        is_quick = not is_solved(table.game) and simulations < _PROVED_FROM
        values = known_values_of_moves(position, 0) if is_quick else known_values_of_moves(position)
        value = known_value(position, 0) if is_quick else known_value(position)
        is_searched = None in values.values()
        expected: dict[int, tuple[float, int]] = {}
        found: float | None = value
        if is_searched:
            search = Search(position, seed=0)
            search.run(simulations=simulations)
            expected = _expected(search)
            found = _value(search) if value is None else value
        moves = _marked(
            MoveInsight(cell, chances.get(cell), known, against.get(cell), *expected.get(cell, (None, 0)))
            for cell, known in values.items()
        )
        return Insight(
            _agent(adviser),
            _agent(opponent),
            moves,
            "" if is_quick else hint(position),
            tuple(notes),
            found if found is None or position.to_move == "X" else -found + 0.0,
            value is not None,
            simulations if is_searched else 0,
        )

    def prepare(self, game: Game, x: str, o: str, edition: int = 0) -> None:
        """Compute beforehand what `insight` needs to know about all positions of a game of these two."""
        if x == o == PERSON:
            return
        try:
            self._against(PlayTable(game, x, o), edition)
        except (TttEnvError, ImportError):  # which `insight` tells
            return

    def _against(self, table: PlayTable, edition: int) -> dict[int, Result]:
        """The expected result of each move against the opponent at the table, by cell."""
        if not is_solved(table.game):
            raise GameTooLargeError(
                f"What a move gets against {table.player(SEATS[(table.at + 1) % 2])} is unknown: "
                f"{table.game.name} has too many positions to look at each."
            )
        names = f"{table.x} {table.o} {edition}"
        wins, losses = self._outcomes.get_or_make(table.game, names, lambda: self._swept(table))
        cells = table.position.legal_cells
        children = Boards.of([table.position.play(cell) for cell in cells])
        # The player to move there is the opponent.
        shares = zip(losses.of(children), wins.of(children), strict=True)
        return {cell: _result(*map(float, share)) for cell, share in zip(cells, shares, strict=True)}

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


def _expected(search: Search) -> dict[int, tuple[float, int]]:
    """The expected score and the visits of each move that a search has tried."""
    visits, wins = search.visits, search.wins
    made = [int(cell) for cell in visits.nonzero()[0]]
    return {cell: (float(2 * wins[cell] / visits[cell] - 1), int(visits[cell])) for cell in made}


def _value(search: Search) -> float:
    """The score that a search expects for the player to move, by its most visited moves."""
    cells = search.best_cells()
    return float(2 * search.wins[cells].sum() / search.visits[cells].sum() - 1)


def _marked(unmarked: Iterable[MoveInsight]) -> tuple[MoveInsight, ...]:
    """The moves, those marked that are best as far as is known."""
    moves = tuple(unmarked)

    def rank(move: MoveInsight) -> tuple[float, float]:
        worth = -2.0 if move.worth is None else round(move.worth, _DIGITS)
        return worth, 0.0 if move.against is None else round(move.against.value, _DIGITS)

    highest = max(map(rank, moves), default=(-2.0, 0.0))
    return tuple(replace(move, is_best=rank(move) == highest and highest[0] > -2.0) for move in moves)


def _agent(name: str) -> str | None:
    return None if name == PERSON else name


def _result(win: float, loss: float) -> Result:
    return Result(*(round(share, _DIGITS) + 0.0 for share in (win, 1.0 - win - loss, loss)))


def judged_moves(table: PlayTable) -> list[MoveVerdict]:
    """The verdict on each move on the board."""
    return [
        judge(position, cell) for position, cell in zip(table.record.positions(), table.cells, strict=False)
    ]


def score(roster: Roster, player: str, game: Game) -> Result | None:
    """The result of an agent against a random player, exactly, over both seats; None if it takes long."""
    if (game, player) in SQUARE_SCORES:
        return SQUARE_SCORES[game, player]
    if not is_instant(game):
        return None
    played = match(roster.fixed(player, game), roster.fixed("random", game), game)
    return Result(*((x + o) / 2 for x, o in zip(played.as_x, played.as_o, strict=True)))


def strength(roster: Roster, player: str, game: Game, edition: int = 0) -> str:
    """The exact loss of an agent against a best response, in words; or the reason why it is not known.

    `edition` is `Roster.edition`: answers are kept by the arguments, and change when a player has learned.
    """
    if not is_solved(game):
        return "strength unknown: too many positions to look at each"
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

    @classmethod
    def of(cls, models: Mapping[str, str], games_file: Path | None) -> "Evaluators":
        """The evaluators with a roster of these models, as `Roster` takes them."""
        return cls(Roster(models, games_file))


_SOFTMAX = "softmax"


@dataclass(frozen=True)
class LiveSweep:
    """A game after the `played` cells, and the ids of the sliders that hold the temperatures of X and O."""

    game: Game
    played: tuple[int, ...]
    x: str
    o: str

    @property
    def facts(self) -> dict[str, object]:
        """The sweep as `live.js` reads it."""
        game = {"cells": self.game.n_cells, "sets": self.game.winning_sets, "misere": self.game.misere}
        return {"game": game, "played": self.played, "x": self.x, "o": self.o}


def sweep_of(game: Game, played: tuple[int, ...], x: str, o: str) -> LiveSweep | None:
    """The sweep of these sliders; None for a game that is too large to be swept between two frames."""
    return LiveSweep(game, played, x, o) if is_instant(game) else None


def sweep_at(table: PlayTable) -> LiveSweep | None:
    """The sweep for the agent whose chances are shown at a table; None if that is not softmax minimax.

    The agent moves by its own temperature, and ascribes the other one to whoever moves next.
    """
    mover, other = SEATS[table.at % 2], SEATS[(table.at + 1) % 2]
    seat = other if table.player(mover) == PERSON else mover
    if split_spec(table.player(seat)).name != _SOFTMAX:
        return None
    own, ascribed = f"{seat.lower()}-temperature", f"{seat.lower()}-opponent_temperature"
    x, o = (own, ascribed) if mover == "X" else (ascribed, own)
    return sweep_of(table.game, table.record.cells, x, o)
