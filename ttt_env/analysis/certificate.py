"""The proof that an agent is unbeatable, or the game that beats it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from ttt_env.agent import FORFEITS, TIMED_OUT, Agent, AgentLike, Floats, Forfeit, checked_policies
from ttt_env.analysis.certificate_check import check_certificate
from ttt_env.analysis.declared import is_own
from ttt_env.analysis.evaluation import explored_between
from ttt_env.analysis.grid import Slots, grid
from ttt_env.analysis.induction import Values, follow
from ttt_env.analysis.known import blunders_of
from ttt_env.analysis.layers import Bools, Layer, Moves, Responder, reachable
from ttt_env.analysis.many import one_or_several
from ttt_env.analysis.recorded import (
    COMPUTED,
    Asking,
    RecordedAgent,
    Source,
    answering,
    asking,
    check_declared_in,
    source_of,
)
from ttt_env.analysis.saved import Saved
from ttt_env.analysis.solution import Solution, distances, solve
from ttt_env.analysis.verdict import told, verdict_of
from ttt_env.errors import PolicyError
from ttt_env.render.svg import Picture, Section, boards_of, draw_sheet
from ttt_env.rules import SEATS, Boards, Game, GameRecord, Position, Seat, cells_of, is_tabulated
from ttt_env.rules.symmetry import canonical_answers
from ttt_env.storage import Fields, game_from_dict, game_to_dict

_UNITS = 1e6  # of a probability of 1; probabilities are compared after rounding to these


class Consistency(NamedTuple):
    """The number of symmetry classes with several positions, and the classes answered inconsistently.

    `inconsistent` has two positions of each such class whose answers, cells or probabilities, no rotation or
    reflection of the board maps to each other.
    """

    n_classes: int
    inconsistent: tuple[tuple[Position, Position], ...]


def consistency(boards: Boards, policies: Floats) -> Consistency:
    """The consistency of the policies `[B, cells]` of different positions `[B]`.

    Two answers are the same if some symmetry of the board maps one position and its answer to the other: on
    the empty board all corners are the same answer.
    """
    if not len(boards):
        return Consistency(0, ())
    canonical, answers = canonical_answers(boards, (policies * _UNITS).round().astype(np.int32))
    codes = canonical.mine << np.uint64(boards.game.n_cells) | canonical.theirs  # of at most 18 cells
    classes = np.unique(codes, return_inverse=True)[1]
    order = np.argsort(classes, kind="stable")  # keeps the positions of a class in order
    begins = np.flatnonzero(np.diff(classes[order], prepend=-1))
    sizes = np.diff(begins, append=len(order))
    first = np.repeat(order[begins], sizes)
    differs = np.flatnonzero((answers[order] != answers[first]).any(axis=1))
    _, shown = np.unique(first[differs], return_index=True)
    pairs = zip(first[differs[shown]].tolist(), order[differs[shown]].tolist(), strict=True)
    return Consistency(int((sizes > 1).sum()), tuple((boards[one], boards[other]) for one, other in pairs))


MAX_LISTED = 100_000  # positions in a file; all are counted
_SIGN = {"X": 1, "O": -1}


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Saved):
    """The possible results of an agent, over all games that its moves of positive probability allow.

    `worst_case` is its worst result on each seat (1 won, 0 drawn, −1 lost). `refutations` holds for each seat
    a shortest whole game that ends worse for the agent than best play by both sides, or None if none does.
    `positions` counts for each seat the positions that can be reached with the agent to move. In `n_blunders`
    of them, counted over both seats, it may give value away; `n_missed_wins` of these are won for it.
    `blunders` and `missed_wins` are these positions; a file lists at most 100,000 of each.

    `source` is the basis of all this: "declared", the policy that the agent declares, which was compared with
    its answers as `analysis.declared` does; or "recorded", the answers that it gave when it was asked once in
    each of `asked` positions. `forfeits` are the positions in which it named no free cell, and so lost; a
    refutation may end in one of them, with the agent to move.

    `n_imperfect` counts the positions in which it may make an imperfect move: one that gives value away, wins
    later than it can, or loses sooner than it must. `n_classes` is the number of classes of symmetric
    positions of which several can be reached, and `inconsistent` has two positions of each class that it
    answers inconsistently. On games of more than 12 cells these three are known only of agents that were
    asked, and None for others.

    >>> import ttt_env
    >>> certificate = ttt_env.certify("win-block")
    >>> certificate.unbeatable, certificate.worst_case, certificate.n_blunders
    (False, {'X': -1, 'O': -1}, 467)
    >>> str(certificate.refutations["O"])
    'tictactoe-v0: 3 5 2 4 0 6 1'
    """

    FORMAT = "ttt_env certificate 4"

    game: Game
    game_value: int
    worst_case: dict[Seat, int]
    refutations: dict[Seat, GameRecord | None]
    blunders: Boards
    missed_wins: Boards
    n_blunders: int
    n_missed_wins: int
    positions: dict[Seat, int]
    source: Source = "declared"
    asked: int = 0
    forfeits: tuple[Forfeit, ...] = ()
    n_imperfect: int | None = None
    n_classes: int | None = None
    inconsistent: tuple[tuple[Position, Position], ...] | None = None

    @property
    def good_share(self) -> float:
        """The share of the positions that it can reach in which it gives no value away, in [0, 1]."""
        return 1.0 - self.n_blunders / sum(self.positions.values())

    @property
    def perfect_share(self) -> float | None:
        """The share of them in which all its moves are perfect; None where `n_imperfect` is."""
        return None if self.n_imperfect is None else 1.0 - self.n_imperfect / sum(self.positions.values())

    @property
    def refuted_as(self) -> Seat | None:
        """The agent's seat in the shorter of the refuting games, None if it is unbeatable."""
        moves = {seat: len(record.cells) for seat, record in self.refutations.items() if record is not None}
        return min(moves, key=moves.__getitem__, default=None)

    @property
    def shortest_refutation(self) -> GameRecord | None:
        """The shorter of the refuting games on the two seats, None if it is unbeatable."""
        return None if self.refuted_as is None else self.refutations[self.refuted_as]

    def forfeit_after(self, record: GameRecord) -> Forfeit | None:
        """The forfeit in which this game ends, None if it ends on the board."""
        end = record.positions()[-1]
        return next((forfeit for forfeit in self.forfeits if forfeit.position == end), None)

    @property
    def unbeatable(self) -> bool:
        """True if no game on either seat ends worse for the agent than with best play by both sides."""
        return all(record is None for record in self.refutations.values())

    def __bool__(self) -> bool:
        return self.unbeatable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.game, self.unbeatable, self.n_blunders))

    def __repr__(self) -> str:
        return f"<Certificate of {self.game.name}: {verdict_of(self.unbeatable)}>"

    def __str__(self) -> str:
        return "\n".join(line for paragraph in told(self) for line in paragraph.lines)

    def picture(self) -> Picture:
        """The verdict, and the refuting games board by board, to look at in a notebook or to save."""
        sections = [
            Section(lines, boards_of(record, blunders_of(record)) if record else ())
            for lines, record in told(self)
        ]
        return Picture(draw_sheet(sections[0].lines[0], sections))

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def _repr_html_(self) -> None:
        return None

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {
            "format": self.FORMAT,
            "game": {**game_to_dict(self.game), "value": self.game_value},
            "source": self.source,
            "asked": self.asked,
            "unbeatable": self.unbeatable,
            "worst_case": dict(self.worst_case),
            "refutations": {seat: record and str(record) for seat, record in self.refutations.items()},
            "positions": dict(self.positions),
            "blunders": listed(self.blunders, self.n_blunders),
            "missed_wins": listed(self.missed_wins, self.n_missed_wins),
            "forfeits": [
                {"position": str(position), "outcome": outcome, "said": said}
                for position, outcome, said in self.forfeits
            ],
            "imperfect": self.n_imperfect,
            "symmetry_classes": self.n_classes,
            "inconsistent": None
            if self.inconsistent is None
            else [[str(one), str(other)] for one, other in self.inconsistent],
            **self._derived,
        }

    @property
    def _derived(self) -> dict[str, int | None]:
        """Counts in a file that follow from the others, so that one that was changed contradicts them."""
        total = sum(self.positions.values())
        n_consistent = None
        if self.n_classes is not None and self.inconsistent is not None:
            n_consistent = self.n_classes - len(self.inconsistent)
        return {
            "good": total - self.n_blunders,
            "perfect": None if self.n_imperfect is None else total - self.n_imperfect,
            "consistent": n_consistent,
        }

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        entries = Fields(data)
        game = entries.read("game", game_from_dict)
        seats: Sequence[Seat] = SEATS
        worst_case, positions = entries.part("worst_case"), entries.part("positions")
        records, outcomes = entries.part("refutations"), [each for each in FORFEITS if each != TIMED_OUT]
        certificate = cls(
            game,
            entries.part("game").integer("value", -1, 1),
            {seat: worst_case.integer(seat, -1, 1) for seat in seats},
            {seat: records.optional(records.record, seat, game) for seat in seats},
            _read_listed(entries.part("blunders"), game),
            _read_listed(entries.part("missed_wins"), game),
            entries.part("blunders").integer("count"),
            entries.part("missed_wins").integer("count"),
            {seat: positions.integer(seat) for seat in seats},
            entries.choice("source", COMPUTED),
            entries.integer("asked"),
            tuple(
                Forfeit(each.position("position", game), each.choice("outcome", outcomes), each.text("said"))
                for each in entries.parts("forfeits")
            ),
            entries.optional(entries.integer, "imperfect"),
            entries.optional(entries.integer, "symmetry_classes"),
            None
            if entries.is_null("inconsistent")
            else tuple(
                (one, other)
                for one, other in (pair.positions(game) for pair in entries.parts("inconsistent"))
            ),
        )
        check_certificate(certificate, MAX_LISTED)
        for key, due in {"unbeatable": certificate.unbeatable, **certificate._derived}.items():
            entries.agrees(key, due)
        return certificate


def listed(boards: Boards, count: int | None = None) -> dict[str, Any]:
    """Positions for a JSON file: how many there are, and the first 100,000 of them as text.

    `count` is their number where `boards` are not all of them.
    """
    return {
        "count": len(boards) if count is None else count,
        "positions": [str(position) for position in boards[:MAX_LISTED]],
    }


def _read_listed(entries: Fields, game: Game) -> Boards:
    positions = entries.part("positions").positions(game)
    return Boards.joined(game, [Boards.of(positions)] if positions else [])


@one_or_several
def certify(
    agent: AgentLike,
    game: Game | str | None,
    *,
    progress: Asking | None,
    workers: int,
    answers: str | Path | None,
) -> Certificate:
    """The certificate of an agent: its possible results, on both seats, over every game that it allows.

    `game` is by default the one that the agent plays. An agent that does not declare a fixed policy, such as
    a function, is asked once in each position that it can reach, layer by layer; the certificate is about
    these answers, and says so. `progress` is called before the first question and then about ten times a
    second; without it, a warning is logged every ten seconds while the agent is being asked.

    An agent outside of this package, such as a function, a prompted model or a program (`AskedAgent`), is
    asked `workers` questions at a time, in as many threads. Each answer is kept in the file `answers`, if it
    is given, as it comes, and a run that was killed goes on from there. An answer that names no free cell is
    no error: the game is lost there, and the certificate lists it among its `forfeits`.

    Raises `GameTooLargeError`, before the agent is asked, if the game cannot be enumerated; `PolicyError` for
    a policy that is no distribution, or that is declared fixed and differs when asked for again or for a
    batch; `ResultFileError` if `answers` holds another agent's answers, cannot be written, or another run
    writes to it; `NotJudgedError` where accidents leave a question without an answer, and
    `UntrustedAnswersError` for a program that says a line too many.

    Several agents, in a list or a mapping that gives them names, have their certificates by name, in their
    order: each is the one that the agent would get alone. Names are as in `tournament`. The work is shared
    out to `workers` processes of this machine or, with `backend="ray"`, of the Ray cluster at `address`; each
    agent travels once. A process takes about 1.2 GB for games of 16 cells, 0.1 GB for games of up to 12, and
    the memory of the agent. `progress` is called with the number of agents that have been judged and of all.
    `ParameterError` for two agents of one name or one that cannot be sent to another process, and the error
    of an agent that cannot be made, are raised before an agent is asked; later errors have a note that names
    the agent.

    >>> certify("minimax").unbeatable
    True
    >>> certificate = certify("block")
    >>> certificate.worst_case, str(certificate.refutations["O"])
    ({'X': -1, 'O': -1}, 'tictactoe-v0: 3 5 2 4 0 6 1')
    >>> {name: each.unbeatable for name, each in certify(["minimax", "block"]).items()}
    {'minimax': True, 'block': False}
    """
    judged = answering(agent, game, progress, workers, answers)
    if is_tabulated(judged.game) and not (isinstance(judged, RecordedAgent) or is_own(judged)):
        judged = RecordedAgent(judged)  # its answers are asked for several times
    with asking(judged):
        solution = solve(judged.game)
        source = source_of(judged)
        is_close = source == "recorded" or is_tabulated(judged.game)
        heard = _Heard(judged, is_close)
        seats = {seat: _SeatAnalysis(judged, seat, solution, heard) for seat in SEATS}
        positions = {seat: analysis.n_positions for seat, analysis in seats.items()}
        scores = distances(judged.game).scores if is_close else None
        mistakes = [analysis.mistakes(scores) for analysis in seats.values()]
        alike = heard.consistency() if is_close else None
        blunders = Boards.joined(judged.game, [boards for boards, _ in mistakes])
        missed_wins = blunders[solution.values.of(blunders) == 1]
        return Certificate(
            judged.game,
            solution.value,
            {seat: analysis.worst_case() for seat, analysis in seats.items()},
            {seat: analysis.refutation() for seat, analysis in seats.items()},
            blunders,
            missed_wins,
            len(blunders),
            len(missed_wins),
            positions,
            source,
            sum(positions.values()) if source == "recorded" else 0,
            tuple(forfeit for analysis in seats.values() for forfeit in analysis.forfeits),
            sum(n_imperfect for _, n_imperfect in mistakes) if is_close else None,
            None if alike is None else alike.n_classes,
            None if alike is None else alike.inconsistent,
        )


class _Heard:
    """The checked policies of an agent; if `is_kept`, they are kept with the positions that they are for."""

    def __init__(self, agent: Agent, is_kept: bool) -> None:
        self._agent, self._is_kept = agent, is_kept
        self._boards: list[Boards] = []
        self._policies = [np.empty((0, agent.game.n_cells))]

    def __call__(self, boards: Boards) -> Floats:
        policies = checked_policies(self._agent, boards)
        if self._is_kept:
            self._boards.append(boards)
            self._policies.append(policies)
        return policies

    def consistency(self) -> Consistency:
        """The consistency of the answers in these positions: see `consistency`."""
        return consistency(Boards.joined(self._agent.game, self._boards), np.concatenate(self._policies))


def blunders_everywhere(agent: AgentLike, game: Game | str | None = None) -> Boards:
    """All positions of the game in which the agent may give value away, reached or not.

    An agent without any is optimal everywhere, which is more than unbeatable. An agent that does not declare
    a fixed policy is asked once in every position. Raises the errors of `certify`.
    """
    judged = answering(agent, game)
    solution, follows = solve(judged.game), follow(partial(checked_policies, judged))
    with asking(judged):
        return _mistakes(judged.game, reachable(judged.game), follows, solution.values, None)[0]


class _SeatAnalysis:
    """All positions that can be reached with the agent on one seat and any opponent on the other."""

    def __init__(self, agent: Agent, seat: Seat, solution: Solution, heard: _Heard) -> None:
        self.agent, self.seat, self.solution = agent, seat, solution
        x, o = (agent, None) if seat == "X" else (None, agent)
        self.layers, responders = explored_between(x, o, heard)
        (self.follows,) = filter(None, responders)
        self.own_layers = self.layers[SEATS.index(seat) :: 2]
        self.value_of_game = solution.value * _SIGN[seat]
        listed = agent.forfeits if isinstance(agent, RecordedAgent) else []
        self.forfeits = [
            forfeit
            for forfeit in listed
            if forfeit.position.to_move == seat
            and forfeit.position.ply < len(self.layers)
            and _holds(self.layers[forfeit.position.ply], forfeit.position)
        ]

    @property
    def n_positions(self) -> int:
        """The number of positions that can be reached with the agent to move."""
        return sum(len(layer.open) for layer in self.own_layers)

    def _ends(self) -> list[tuple[int, Layer, Slots]]:
        """The ends of games, by ply: (result for the agent, layer, slots)."""
        ends = []
        forfeited = [np.empty(0, np.int64) for _ in self.layers]
        for position, _, _ in self.forfeits:
            forfeited[position.ply] = np.append(forfeited[position.ply], _slot(position))
        for layer in self.layers:
            last_mover = SEATS[(layer.ply + 1) % 2]
            is_ours = (last_mover == self.seat) != self.agent.game.misere
            ends.append((1 if is_ours else -1, layer, layer.won))
            ends.append((0, layer, layer.drawn))
            ends.append((-1, layer, forfeited[layer.ply]))
        return [end for end in ends if len(end[2])]

    def worst_case(self) -> int:
        return min(result for result, _, _ in self._ends())

    def refutation(self) -> GameRecord | None:
        for result, layer, slots in self._ends():
            if result < self.value_of_game:
                end = layer.boards(slots[:1])[0]
                cells: list[int] = []
                while end.occupied_mask:
                    cell, end = self._last_move(end)
                    cells.append(cell)
                return GameRecord(self.agent.game, tuple(reversed(cells)))
        return None

    def _last_move(self, position: Position) -> tuple[int, Position]:
        """A last move that leads here: its cell, and the position before it, which can be reached as well."""
        parents = [
            (cell, Position(position.game, position.theirs ^ 1 << cell, position.mine))
            for cell in cells_of(position.theirs)
        ]
        before = self.layers[position.ply - 1]
        parents = [(cell, parent) for cell, parent in parents if _holds(before, parent)]
        for cell, parent in parents:
            if parent.to_move != self.seat:
                return cell, parent
            boards = Boards.of([parent])
            if checked_policies(self.agent, boards)[0, cell] > 0:
                check_declared_in(self.agent, boards)
                return cell, parent
        cell, parent = parents[0]
        policy_now = checked_policies(self.agent, Boards.of([parent]))[0].round(6).tolist()
        raise PolicyError(
            f"{self.agent!r} is no fixed policy, though it declares one: in {parent} it first played cell "
            f"{cell} with a positive probability, and when asked again it gives {policy_now}"
        )

    def mistakes(self, scores: Values | None) -> tuple[Boards, int]:
        """The blunders, and how many moves are imperfect by these scores: see `_mistakes`."""
        return _mistakes(self.agent.game, self.own_layers, self.follows, self.solution.values, scores)


def _mistakes(
    game: Game, layers: Iterable[Layer], follows: Responder, values: Values, scores: Values | None
) -> tuple[Boards, int]:
    """The positions of these layers in which a possible move is not a best one, by values −1, 0 and 1.

    And the number of those in which one is not perfect, by the scores of `Distances`; 0 without scores.
    """
    blunders, n_imperfect = [], 0
    for layer in layers:
        for moves in layer.moves():
            possible = moves.chosen_by(follows).T > 0
            blunders.append(layer.boards(moves.slots[_is_worse(possible, moves, values, -1)]))
            if scores is not None:
                loss_now = layer.ply - game.n_cells - 1
                n_imperfect += int(_is_worse(possible, moves, scores, loss_now).sum())
    return Boards.joined(game, blunders), n_imperfect


def _is_worse(possible: Bools, moves: Moves, values: Values, of_forfeit: int) -> Bools:
    """True where a possible move, `[F, S]`, or a forfeit, of value `of_forfeit`, gives value away, `[S]`."""
    q = -values.layers[moves.layer.ply + 1][moves.successors]
    highest = q.max(axis=0)
    is_worse: Bools = (possible & (q < highest)).any(axis=0)
    is_worse |= ~possible.any(axis=0) & (highest > of_forfeit)
    return is_worse


def _slot(position: Position) -> np.int64:
    masks = (np.array([mask], np.uint64) for mask in (position.mine, position.theirs))
    slot: np.int64 = grid(position.game.n_cells, position.ply).slots(*masks)[0]
    return slot


def _holds(layer: Layer, position: Position) -> bool:
    slot = _slot(position)
    index = int(np.searchsorted(layer.open, slot))
    return index < len(layer.open) and bool(layer.open[index] == slot)
