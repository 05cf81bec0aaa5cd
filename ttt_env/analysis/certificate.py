"""The verdict on an agent: the worst that can happen to its policy table, and the game that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ttt_env.agent import AgentLike, Floats, Forfeit, game_of, make_agent
from ttt_env.analysis.asking import AskProgress
from ttt_env.analysis.induction import Values
from ttt_env.analysis.known import blunders_of, known_value
from ttt_env.analysis.layers import MOST, Bools, Layer, Moves
from ttt_env.analysis.policy_table import PolicyTable, is_lost_on_board
from ttt_env.analysis.rows import is_forfeit
from ttt_env.analysis.solution import distances, solve
from ttt_env.analysis.verdict import paragraphs, verdict_of
from ttt_env.analysis.versions import versions
from ttt_env.render.svg import Picture, Section, boards_of, draw_sheet
from ttt_env.rules import (
    SEATS,
    Boards,
    Game,
    GameRecord,
    Position,
    Seat,
    cells_of,
    is_enumerable,
    is_tabulated,
)
from ttt_env.rules.symmetry import canonical_answers
from ttt_env.storage.codec import Saved

_UNITS = 1e6  # probabilities are compared after rounding to this fraction
_SIGN = {"X": 1, "O": -1}

Basis = Literal["table", "sweep", "proof", ""]
"""The basis of the value of the game: the table itself, where it holds a draw on both seats or wins; a sweep
over all positions of the game; the proof of a short search; empty if the value is unknown."""


class Consistency(NamedTuple):
    """The number of symmetry classes with several positions, and the classes answered inconsistently.

    `inconsistent` has two positions of each such class whose answers, cells or probabilities, no rotation or
    reflection of the board maps to each other.
    """

    n_symmetry_classes: int
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
    _, one_each = np.unique(first[differs], return_index=True)
    pairs = zip(first[differs[one_each]].tolist(), order[differs[one_each]].tolist(), strict=True)
    return Consistency(int((sizes > 1).sum()), tuple((boards[one], boards[other]) for one, other in pairs))


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Saved):
    """The verdict of `certify`: all that the answers of an agent allow, over all games.

    It is about the answers that the agent gave in `n_queries` positions, once in each; they are its `table`.
    On boards of more than 18 cells some counts are None; `n_imperfect`, `n_symmetry_classes` and
    `inconsistent` are None on more than 12.

    Attributes:
        game: The game.
        label: The name of the agent.
        game_value: The value of the game for X; None if it is unknown.
        value_from: The basis of that value: "table" (the answers themselves), "sweep" (all positions),
            "proof" (a search), or "" if the value is unknown.
        worst_case: The worst result on each seat: 1 won, 0 drawn, −1 lost.
        worst_games: A shortest game with this result, for each seat. A game may end where the agent, to move,
            names no free cell.
        refutations: The same game where its result is worse than under best play by both sides, else None.
        n_queries: The number of positions in which the agent was queried.
        digest: The digest of the table of its answers.
        n_positions: For each seat, the number of reachable positions with the agent to move.
        is_complete: False if the queries stopped at the first lost game, a shortest one: counts are then up
            to there, and of the worst results only a loss is certain.
        is_sampled: Whether the agent is not stationary, so that its answers are one sample of its play.
        forfeits: The positions in which it named no free cell, and so lost.
        n_blunders: The number of positions, on both seats, in which it may blunder.
        n_missed_wins: The number of these that are won for it.
        blunders: The positions of `n_blunders`; a file lists at most 100,000.
        missed_wins: The positions of `n_missed_wins`, likewise.
        n_imperfect: The number of positions in which it may blunder, win later than it can or lose sooner
            than it must.
        n_symmetry_classes: The number of classes of symmetric positions with several reachable ones.
        inconsistent: Two positions of each class that it answers inconsistently.
        origin: The file from which some of the answers come.
        versions: The versions of Python and of the packages on which the answers depend.

    Example:
        >>> import ttt_env
        >>> certificate = ttt_env.certify("win-block")
        >>> certificate.unbeatable, certificate.worst_case, certificate.n_blunders
        (False, {'X': -1, 'O': -1}, 467)
        >>> str(certificate.refutations["O"])
        'tictactoe-v0: 3 5 2 4 0 6 1'

    """

    FORMAT = "ttt_env certificate 5"
    DERIVED = ("unbeatable",)

    game: Game
    label: str
    game_value: int | None
    value_from: Basis
    worst_case: dict[Seat, int]
    worst_games: dict[Seat, GameRecord]
    refutations: dict[Seat, GameRecord | None]
    n_queries: int
    digest: str
    n_positions: dict[Seat, int]
    is_complete: bool
    is_sampled: bool
    forfeits: tuple[Forfeit, ...]
    n_blunders: int | None
    n_missed_wins: int | None
    blunders: Boards | None
    missed_wins: Boards | None
    n_imperfect: int | None
    n_symmetry_classes: int | None
    inconsistent: tuple[tuple[Position, Position], ...] | None
    origin: str = ""
    versions: dict[str, str] = field(default_factory=versions)
    table: PolicyTable | None = field(default=None, metadata={"saved": False})
    """The answers that it is about; None if the certificate was read from a file."""

    @property
    def unbeatable(self) -> bool | None:
        """True if no game on either seat ends worse for the table than with best play by both sides.

        None if that is undecided, because the value of the game is not computed.
        """
        if any(record is not None for record in self.refutations.values()):
            return False
        if self.game_value is not None:
            return True
        # Under best play the results of X and of O add up to 0, whatever the value of the game is.
        is_below_any_value = len(self.worst_case) == len(SEATS) and sum(self.worst_case.values()) < 0
        return False if is_below_any_value else None

    def __bool__(self) -> bool:
        return self.unbeatable is True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Certificate) and _comparable_facts(self) == _comparable_facts(other)

    def __hash__(self) -> int:
        return hash((self.game, self.unbeatable, self.n_blunders))

    def __repr__(self) -> str:
        return f"<Certificate of {self.game.name}: {verdict_of(self)}>"

    def __str__(self) -> str:
        return "\n".join(line for paragraph in paragraphs(self) for line in paragraph.lines)

    @property
    def good_share(self) -> float | None:
        """The share of the reachable positions in which it does not blunder, in [0, 1]."""
        return None if self.n_blunders is None else 1.0 - self.n_blunders / self.n_queries

    @property
    def perfect_share(self) -> float | None:
        """The share of these positions in which all its moves are perfect, in [0, 1]."""
        return None if self.n_imperfect is None else 1.0 - self.n_imperfect / self.n_queries

    @property
    def refuted_as(self) -> Seat | None:
        """The agent's seat in the shorter of the refuting games, None if there is none."""
        moves = {seat: len(record.cells) for seat, record in self.refutations.items() if record is not None}
        return min(moves, key=moves.__getitem__, default=None)

    @property
    def shortest_refutation(self) -> GameRecord | None:
        """The shorter of the refuting games on the two seats, None if there is none."""
        return None if self.refuted_as is None else self.refutations[self.refuted_as]

    def forfeit_after(self, record: GameRecord) -> Forfeit | None:
        """The forfeit that ends this game; None if it ends on the board.

        Args:
            record: A game of `worst_games` or `refutations`.

        """
        end = record.positions()[-1]
        return next((forfeit for forfeit in self.forfeits if forfeit.position == end), None)

    def picture(self) -> Picture:
        """The verdict, and the refuting games board by board, to show in a notebook or to save."""
        sections = [
            Section(lines, boards_of(record, blunders_of(record)) if record else ())
            for lines, record in paragraphs(self)
        ]
        return Picture(draw_sheet(sections[0].lines[0], sections))

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def _repr_html_(self) -> None:
        return None


def _comparable_facts(certificate: Certificate) -> dict[str, object]:
    """The facts of a certificate that follow from the table alone, whichever agent gave these answers."""
    facts = certificate.to_dict()
    for name in ("digest", "is_sampled", "label", "origin", "versions"):
        del facts[name]
    return facts


def certify(
    agent: AgentLike,
    game: Game | str | None = None,
    *,
    seats: Literal["X", "O", "XO"] = "XO",
    most: int = MOST,
    complete: bool | None = None,
    progress: AskProgress | None = None,
    workers: int = 1,
    answers: str | Path | None = None,
) -> Certificate:
    """The certificate of an agent: its worst results, over every game that its answers allow.

    The agent is queried once in each position that it can reach on these seats, whatever its opponent plays.
    The certificate is about these answers, even if the agent would answer differently the next time. Its
    `table` holds them: saved as a file it is the proof, which `scripts/check_policy.py` checks.

    Args:
        agent: The agent, or a `PolicyTable`.
        game: The game, or its id; by default that of an `Agent`, tic-tac-toe for others.
        seats: The seats on which it is queried; the verdict is about these.
        most: The most positions to hold for each seat, over all games that the agent can play there.
        complete: True to query all positions that can be reached, False to stop for each seat at the first
            lost game; by default it stops on boards of more than 18 cells.
        progress: Called before the first query, and then about ten times a second: see `PolicyTable.of`.
        workers: The number of questions that are put to a function, a program or a model behind an endpoint
            at once.
        answers: The file in which each answer of such a player is saved as it comes, so that a run that was
            stopped can be resumed.

    Returns:
        The certificate.

    Raises:
        GameTooLargeError: The agent reaches more than `most` positions.
        PolicyError: An answer is not a distribution over the free cells; it names agent, position and answer.
        NoVerdictError: A program or a model behind an endpoint gave no answer (a time-out, a crash), so there
            is no verdict.
        FileError: `answers` holds another player's answers, or cannot be written.

    Example:
        >>> certify("minimax").unbeatable
        True
        >>> certificate = certify("block")
        >>> certificate.worst_case, str(certificate.refutations["O"])
        ({'X': -1, 'O': -1}, 'tictactoe-v0: 3 5 2 4 0 6 1')

    """
    table = PolicyTable.of(
        agent,
        game,
        seats=seats,
        most=most,
        complete=complete,
        progress=progress,
        workers=workers,
        answers=answers,
    )
    layers = {seat: table.layers(seat) for seat in table.seats}
    worst = {seat: _worst_end(layers[seat], seat) for seat in table.seats}
    is_complete = all(map(table.is_complete, table.seats))
    value, basis, (low, high) = _value_of(table, {seat: end.result for seat, end in worst.items()})
    games = {seat: _game_to(layers[seat], seat, end) for seat, end in worst.items()}
    blunder_counts = (
        _count_blunders(table, layers) if is_enumerable(table.game) and is_complete else _BlunderCounts()
    )
    return Certificate(
        table.game,
        table.label,
        value,
        basis,
        {seat: end.result for seat, end in worst.items()},
        games,
        {
            seat: games[seat] if end.result < (low if seat == "X" else -high) else None
            for seat, end in worst.items()
        },
        table.n_queries,
        table.digest,
        {
            seat: sum(len(layer.open_slots) for layer in _layers_to_move(layers[seat], seat))
            for seat in table.seats
        },
        is_complete,
        table.is_sampled,
        tuple(table.forfeits),
        *blunder_counts,
        origin=table.origin,
        table=table,
    )


def blunders_everywhere(agent: AgentLike, game: Game | str | None = None) -> Boards:
    """All positions of the game in which the agent may blunder, reached or not.

    An agent without any is optimal everywhere, which is more than unbeatable. Raises the errors of `certify`.
    """
    player = make_agent(agent, game_of(game, agent))
    table = PolicyTable.of(player, positions="all")
    return _find_blunders(table.game, table.answered_layers, solve(table.game).values, None)[0]


class _GameEnd(NamedTuple):
    """The end of a game: the result for the agent, and the position, which is open where it named no cell."""

    result: int
    position: Position


def _worst_end(layers: list[Layer], seat: Seat) -> _GameEnd:
    """The first of the worst ends, and so the end of a shortest game: layers ascend by ply."""
    worst: _GameEnd | None = None
    for layer in layers:
        if is_lost_on_board(layer, seat):
            return _GameEnd(-1, layer.boards(layer.won_slots[:1])[0])
        if layer.rows is not None and (none := is_forfeit(layer.rows)).any():
            return _GameEnd(-1, layer.boards(layer.open_slots[none][:1])[0])
        result, slots = (0, layer.drawn_slots) if len(layer.drawn_slots) else (1, layer.won_slots)
        if len(slots) and (worst is None or result < worst.result):
            worst = _GameEnd(result, layer.boards(slots[:1])[0])
    assert worst is not None  # every game ends
    return worst


def _game_to(layers: list[Layer], seat: Seat, end: _GameEnd) -> GameRecord:
    """A game of these layers that ends so."""
    position, cells = end.position, list[int]()
    while position.occupied_mask:
        cell, position = _last_move(layers[position.ply - 1], position, seat)
        cells.append(cell)
    return GameRecord(position.game, tuple(reversed(cells)))


def _last_move(before: Layer, position: Position, seat: Seat) -> tuple[int, Position]:
    """A last move that leads here: its cell, and the position before it, which is reachable as well."""
    game, mine, theirs = position.game, position.mine, position.theirs
    cells = cells_of(theirs & game.tops(mine | theirs))
    parents = [Position(game, theirs ^ 1 << cell, mine) for cell in cells]
    places = before.places(Boards.of(parents))
    for cell, parent, place in zip(cells, parents, places.tolist(), strict=True):
        if place < 0:
            continue
        if before.rows is None or parent.to_move != seat:
            return cell, parent
        moves = Moves(before, before.open_slots[[place]], before.rows[[place]])
        if moves.chances[0, moves.cells[0] == cell][0] > 0:
            return cell, parent
    raise AssertionError(f"no move of a reached position leads to {position}")


def _value_of(table: PolicyTable, worst: dict[Seat, int]) -> tuple[int | None, Basis, tuple[int, int]]:
    """The value of the game for X, its basis, and bounds on it where it is unknown.

    The worst result of a seat bounds the value. In a monotone game X does not lose under best play: with an
    extra stone it could play O's strategy (Hales and Jewett 1963).
    """
    low, high = (0 if table.game.is_monotone else -1), 1
    for seat, result in worst.items():
        if table.is_complete(seat):
            low, high = (max(low, result), high) if seat == "X" else (low, min(high, -result))
    if low == high and low in (result * _SIGN[seat] for seat, result in worst.items()):
        return low, "table", (low, high)
    if is_enumerable(table.game):
        value = solve(table.game).value
        return value, "sweep", (value, value)
    if low == high:
        return low, "table", (low, high)
    if (proved_value := known_value(table.game.start)) is not None:
        return proved_value, "proof", (proved_value, proved_value)
    return None, "", (low, high)


class _BlunderCounts(NamedTuple):
    """The parts of a certificate that need the values of all positions."""

    n_blunders: int | None = None
    n_missed_wins: int | None = None
    blunders: Boards | None = None
    missed_wins: Boards | None = None
    n_imperfect: int | None = None
    n_symmetry_classes: int | None = None
    inconsistent: tuple[tuple[Position, Position], ...] | None = None


def _count_blunders(table: PolicyTable, layers: dict[Seat, list[Layer]]) -> _BlunderCounts:
    game, values = table.game, solve(table.game).values
    scores = distances(game).scores if is_tabulated(game) else None
    own = [layer for seat in table.seats for layer in _layers_to_move(layers[seat], seat)]
    blunders, n_imperfect = _find_blunders(game, own, values, scores)
    missed_wins = blunders[values.of(blunders) == 1]
    if scores is None:
        return _BlunderCounts(len(blunders), len(missed_wins), blunders, missed_wins)
    classes = _consistency(game, own)
    return _BlunderCounts(
        len(blunders),
        len(missed_wins),
        blunders,
        missed_wins,
        n_imperfect,
        classes.n_symmetry_classes,
        classes.inconsistent,
    )


def _layers_to_move(layers: list[Layer], seat: Seat) -> list[Layer]:
    """The layers in which this seat has the move."""
    return layers[SEATS.index(seat) :: 2]


def _consistency(game: Game, layers: Iterable[Layer]) -> Consistency:
    boards, policies = [], [np.empty((0, game.n_cells))]
    for layer in layers:
        for moves in layer.moves():
            boards.append(moves.boards)
            policy = np.zeros((len(moves.slots), game.n_cells))
            np.put_along_axis(policy, moves.cells, moves.chances, axis=1)
            policies.append(policy)
    return consistency(Boards.joined(game, boards), np.concatenate(policies))


def _find_blunders(
    game: Game, layers: Iterable[Layer], values: Values, scores: Values | None
) -> tuple[Boards, int]:
    """The positions of these layers in which a possible move is not a best one, by values −1, 0 and 1.

    And the number of positions in which a move is not perfect, by the scores of `Distances`; 0 without
    scores.
    """
    blunders, n_imperfect = [], 0
    for layer in layers:
        for moves in layer.moves():
            possible = moves.are_possible.T
            blunders.append(layer.boards(moves.slots[_is_worse(possible, moves, values, -1)]))
            if scores is not None:
                loss_now = layer.ply - game.n_cells - 1
                n_imperfect += int(_is_worse(possible, moves, scores, loss_now).sum())
    return Boards.joined(game, blunders), n_imperfect


def _is_worse(possible: Bools, moves: Moves, values: Values, of_forfeit: int) -> Bools:
    """True where a possible move, `[F, S]`, or a forfeit, of value `of_forfeit`, is not a best one, `[S]`."""
    q = -values.layers[moves.layer.ply + 1][moves.successors]
    highest = q.max(axis=0)
    is_worse: Bools = (possible & (q < highest)).any(axis=0)
    is_worse |= ~possible.any(axis=0) & (highest > of_forfeit)
    return is_worse
