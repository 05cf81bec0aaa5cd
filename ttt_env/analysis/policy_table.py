"""The answers of an agent, each given once: the basis of every exact result, and its proof.

`PolicyTable.of(agent, game)` queries an agent in each position that it can reach, as X and as O, whatever its
opponent plays, and records each answer. All exact results are computed from this table, and hold for the
table, whatever the agent would answer later. The table is an agent itself. As a file it is a proof:
`scripts/check_policy.py`, which shares no code with this package, plays every reply.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np

from ttt_env.agent import (
    Agent,
    AgentLike,
    Answer,
    Floats,
    Forfeit,
    checked_policies,
    game_of,
    make_agent,
)
from ttt_env.analysis.asking import AnswerFile, AskProgress, QueryCount, QueryWorkers, answers_of
from ttt_env.analysis.grid import grid
from ttt_env.analysis.layers import MOST, Ask, Layer, Moves, reachable, reached_layers
from ttt_env.analysis.policy_file import TableContents, of_empty_cells, read_table, write_table
from ttt_env.analysis.rows import NO_CELL, Rows, compact, is_forfeit, join_rows, least_chance
from ttt_env.errors import (
    FileError,
    GameTooLargeError,
    ParameterError,
    PolicyError,
)
from ttt_env.rules import (
    SEATS,
    Boards,
    Count,
    Game,
    Position,
    Seat,
    check_enumerable,
    checked,
    is_enumerable,
)

Positions = Literal["reachable", "all"]

_SHOWN_EVERY = 0.1  # seconds between two reports of progress
_BATCH = 8192  # positions of a query to an agent


class PolicyTable(Agent):
    """A policy as a table: the recorded answers of an agent, position by position.

    A table of "reachable" positions holds, for each of `seats`, every position in which the agent may be to
    move: each of its moves and each reply leads to another position of the table or ends the game. Exact
    results are about such a table, and anybody can check it. A table of "all" positions, on up to 18 cells,
    has an answer in each position of the game.

    In a position that it does not hold, it raises `PolicyError`; where the agent made no legal move,
    `ForfeitError`.

    Args:
        game: The game, or its id.
        path: The file that `save` has written.

    Raises:
        FileError: The file is not a policy table of this game, or is incomplete.

    Example:
        >>> table = PolicyTable.of("win-block", "tictactoe-v0")
        >>> table.n_queries, table.label, table.is_stationary
        (4382, 'win-block', True)

    """

    is_stationary = True

    def __init__(self, game: Game | str, path: str) -> None:
        super().__init__(game)
        contents = read_table(path, self.game)
        try:
            layers = {
                seat: list(_layers_as(seat, self.game, contents.answers, None)) for seat in contents.seats
            }
        except PolicyError as error:
            raise FileError(f"{path} is not a complete policy table: {error}") from error
        self._initialise(contents.label, layers, contents.forfeits)
        if self.n_queries != contents.n_rows:
            raise FileError(
                f"{path} is not a policy table: it holds {contents.n_rows:,} positions; "
                f"{self.n_queries:,} are reached"
            )

    def _initialise(
        self,
        label: str,
        layers: dict[Seat, list[Layer]],
        forfeits: Mapping[tuple[int, int], Answer],
        positions: Positions = "reachable",
    ) -> None:
        self._label = label
        self._layers, self._forfeits, self.positions = layers, forfeits, positions
        self.is_sampled = False
        """True for an agent that is not stationary, whose answers are one sample of its play."""
        self.origin = ""
        """The number of answers that come from a file, and the file; empty if none do."""

    @classmethod
    @checked
    def of(
        cls,
        agent: AgentLike,
        game: Game | str | None = None,
        *,
        seats: Literal["X", "O", "XO"] = "XO",
        positions: Positions = "reachable",
        most: Count = MOST,
        complete: bool | None = None,
        progress: AskProgress | None = None,
        workers: QueryWorkers = 1,
        answers: str | Path | None = None,
    ) -> PolicyTable:
        """Query an agent once in each position that it can reach, or in all positions of the game.

        The agent is queried ply by ply, in batches. Its answers are checked and copied: each is a
        distribution over the free cells; chances below 1e-30 count as 0. An agent that defines `choose` gives
        one cell, with random numbers that depend on the position alone. If the cell is not free, the table
        records a forfeit, and loses there.

        Args:
            agent: The agent.
            game: The game, or its id; by default that of an `Agent`, tic-tac-toe for others.
            seats: The seats on which it is queried.
            positions: "reachable" for those that it can reach on these seats, "all" for those of the game.
            most: The most positions to hold, of all games on a seat.
            complete: True for all positions that can be reached. False to stop, for each seat, at the ply of
                the first game that is lost: such a table shows a shortest one, and proves nothing else. None,
                the default, stops on boards of more than 18 cells.
            progress: Called with a `QueryCount` before the first query, then about ten times a second.
            workers: The number of questions that an agent that defines `choose` is asked at once, each in its
                own thread.
            answers: A file in which each answer of such an agent is saved as it comes, so that a run that was
                stopped can be resumed. Twenty of the answers in it are checked by asking again.

        Raises:
            GameTooLargeError: More than `most` positions are reached, or "all" are wanted of a larger game.
            PolicyError: An answer is not a distribution over the free cells.
            NoVerdictError: A program or a model behind an endpoint gave no answer (a time-out, a crash).
            FileError: `answers` holds another player's answers, or cannot be written.

        """
        player = make_agent(agent, game_of(game, agent))
        game = player.game
        asked_seats: Sequence[Seat] = SEATS if seats == "XO" else (seats,)
        if positions == "all":
            check_enumerable(game, "for a table of all positions")
            if isinstance(player, PolicyTable) and player.positions == "all":
                return player
        elif isinstance(player, PolicyTable) and player.positions == "reachable":
            asked_seats = [seat for seat in asked_seats if seat in player.seats] or asked_seats
            if complete is not True or all(map(player.is_complete, asked_seats)):
                return player
        stops = not is_enumerable(game) if complete is None else not complete
        layers: dict[Seat, list[Layer]] = {}
        asker = Asker(player, most, progress, workers, answers)
        if positions == "all":
            _check_n_positions(game, most)
            everywhere = [_ask_layer(layer, asker) for layer in reachable(game)]
            layers = {seat: everywhere for seat in asked_seats}
        else:
            for seat in asked_seats:
                layers[seat] = list(_layers_until_loss(seat, game, asker, most, stops, player.label))
        table = cls.__new__(cls)
        Agent.__init__(table, game)
        table._initialise(player.label, layers, asker.forfeits, positions)
        table.is_sampled, table.origin = not player.is_stationary, asker.origin
        if isinstance(player, PolicyTable):
            table.is_sampled, table.origin = player.is_sampled, player.origin
        return table

    @property
    def label(self) -> str:  # noqa: D102
        return self._label or ""

    def __repr__(self) -> str:
        return f"<PolicyTable of {self.label} on {self.game.name}: {self.n_queries:,} positions>"

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The seats on which the agent was queried."""
        return tuple(self._layers)

    @property
    def n_queries(self) -> int:
        """The number of positions in which the agent was queried, once in each."""
        return sum(len(layer.open_slots) for layer in self._by_ply.values())

    @cached_property
    def _by_ply(self) -> dict[int, Layer]:
        """The layers in which the agent was queried."""
        layers = (layer for layers in self._layers.values() for layer in layers)
        return {layer.ply: layer for layer in layers if layer.rows is not None}

    def layers(self, seat: Seat) -> list[Layer]:
        """The positions of all games with the agent on this seat, ply by ply, with its answers in its own.

        Raises `PolicyError` for a seat on which it was not queried.
        """
        if seat not in self._layers:
            raise PolicyError(f"{self!r} was not queried as {seat}")
        if self.positions == "all":
            return list(_layers_as(seat, self.game, self.answers, None))
        return self._layers[seat]

    @property
    def answered_layers(self) -> list[Layer]:
        """All layers of the game with the agent's answers in each, for a table of all positions."""
        return self._layers[self.seats[0]]

    def is_complete(self, seat: Seat) -> bool:
        """True unless the queries stopped at the first lost game, so that further positions are missing.

        Args:
            seat: "X" or "O".

        """
        return not len(self._layers[seat][-1].open_slots)

    @property
    def least_chance(self) -> float:
        """The least chance above 0 that a move has anywhere in the table."""
        return min((least_chance(layer.rows) for layer in self._by_ply.values()), default=1.0)  # type: ignore[arg-type]

    @property
    def forfeits(self) -> list[Forfeit]:
        """The positions in which the agent named no free cell, by ply, with the reason and its reply."""
        forfeits = [
            Forfeit(Position(self.game, *key), answer.outcome, answer.reply)
            for key, answer in sorted(self._forfeits.items())
        ]
        return sorted(forfeits, key=lambda forfeit: forfeit.position.ply)

    def rows(self, ply: int, boards: Boards) -> tuple[Layer, np.ndarray]:
        """The layer of a ply, and the places of these positions in it, `[B]`.

        Raises `PolicyError` for a position that the table does not hold.
        """
        layer = self._by_ply.get(ply)
        places = np.full(len(boards), -1) if layer is None else layer.places(boards)
        if layer is None or (places < 0).any():
            extent = "all positions" if self.positions == "all" else "the positions that it can reach"
            raise PolicyError(
                f"{boards[int(places.argmin())]} is not in the table of {self.label}, which holds {extent} "
                f"as {' and as '.join(self._layers)}"
            )
        return layer, places

    def answers(self, moves: Moves) -> Rows:
        """The answers in these positions, as `rows`."""
        layer, places = self.rows(moves.layer.ply, moves.boards)
        assert layer.rows is not None
        answers: Rows = layer.rows[places]
        return answers

    def reply_in(self, mine: int, theirs: int) -> Answer:
        """The answer of the agent in a position in which it named no free cell."""
        return self._forfeits[mine, theirs]

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        policies = np.zeros((len(boards), self.game.n_cells))
        for ply, at in boards.by_ply():
            layer, places = self.rows(ply, boards[at])
            assert layer.rows is not None
            moves = Moves(layer, layer.open_slots[places], layer.rows[places])
            if (is_lost := is_forfeit(layer.rows[places])).any():
                position = boards[int(at[is_lost.argmax()])]
                raise self._forfeits[position.mine, position.theirs].refusal(self, position)
            policies[at[:, None], moves.cells] = moves.chances
        return policies

    def save(self, path: str | Path) -> None:
        """Write the table as an `.npz` file, from which it plays: a proof that anybody can check.

        Args:
            path: The path of the file.

        Raises:
            FileError: The file cannot be written, or the table is incomplete and so not a proof.

        """
        if self.positions == "all":
            PolicyTable.of(self).save(path)
            return
        for seat in self.seats:
            if not self.is_complete(seat):
                raise FileError(
                    f"{self!r} ends at the first game that it loses as {seat}, and so is not a proof: "
                    "make it with complete=True"
                )
        write_table(path, self._contents)

    @property
    def _contents(self) -> TableContents:
        moves = {ply: Moves(layer, layer.open_slots, layer.rows) for ply, layer in self._by_ply.items()}
        plies = {ply: (each.boards, of_empty_cells(each)) for ply, each in moves.items()}
        return TableContents(self.game, self.label, self.seats, plies, dict(self._forfeits))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the positions and the answers; a table that was saved and loaded has the same."""
        digest = sha256(
            f"{self.game.shape} {self.game.winning_masks} {self.game.misere} {self.seats}"
            f"{self.game.resting or ''}".encode()
        )
        for ply, layer in sorted(self._by_ply.items()):
            boards = layer.boards(layer.open_slots)
            digest.update(f" {ply} {layer.rows.dtype.str} ".encode())  # type: ignore[union-attr]
            for array in (boards.mine, boards.theirs, layer.rows):
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


class Asker:
    """Queries an agent for its answers, as an `Ask` of `reached_layers`, and keeps the forfeits.

    The parameters are those of `PolicyTable.of`. In a `with` block its file of answers is open.
    """

    def __init__(
        self,
        agent: Agent,
        most: int = MOST,
        progress: AskProgress | None = None,
        workers: int = 1,
        answers: str | Path | None = None,
    ) -> None:
        self.agent, self.forfeits, self.n_asked, self.origin = agent, dict[tuple[int, int], Answer](), 0, ""
        self._workers, self._progress = workers, progress
        self._most, self._expected, self._next_report = most, dict[int, int](), 0.0
        self._file: AnswerFile | None = None
        if answers is not None:
            if agent.plays_by != "choose" or isinstance(agent, PolicyTable):
                raise ParameterError(
                    f"answers={str(answers)!r}: only answers of functions, programs and language models are "
                    f"saved; {agent.label} is none of these"
                )
            self._file = AnswerFile(answers, agent.game, agent.label)
        self._report_progress()
        if self._file is not None and len(self._file):
            self._file.check_again(agent)
            self.origin = self._file.origin

    def __call__(self, moves: Moves) -> Rows:
        """The answers in these positions, each queried once."""
        self._expected[moves.layer.ply] = len(moves.layer.open_slots)
        if isinstance(self.agent, PolicyTable):
            return self._copy(self.agent, moves)
        if self.agent.plays_by == "choose":
            return self._ask_cells(moves)
        rows, cells = [], []
        for start in range(0, len(moves.slots), _BATCH):
            part = Moves(moves.layer, moves.slots[start : start + _BATCH])
            answers = checked_policies(self.agent, part.boards)
            rows.append(compact(part.of_policy(answers), part.cells))
            cells.append(part.cells)
            self._count(len(part.slots))
        return join_rows(rows, cells)

    def _copy(self, table: PolicyTable, moves: Moves) -> Rows:
        rows = table.answers(moves)
        if (is_lost := is_forfeit(rows)).any():
            boards = moves.boards[is_lost]
            keys = zip(boards.mine.tolist(), boards.theirs.tolist(), strict=True)
            self.forfeits |= {key: table.reply_in(*key) for key in keys}
        self._count(len(rows))
        return rows

    def _ask_cells(self, moves: Moves) -> Rows:
        positions = list(moves.boards)
        rows = np.empty(len(positions), np.uint8)
        for number, answer in answers_of(self.agent, positions, self._workers, self._file):
            if answer.cell is None:
                self.forfeits[positions[number].mine, positions[number].theirs] = answer
            rows[number] = NO_CELL if answer.cell is None else answer.cell
            self._count(1)
        return rows

    def _count(self, n_more: int) -> None:
        self.n_asked += n_more
        if self._progress is not None and time.monotonic() >= self._next_report:
            self._report_progress()

    def _report_progress(self) -> None:
        if self._progress is not None:
            self._progress(QueryCount(self.n_asked, self._bound()))
            self._next_report = time.monotonic() + _SHOWN_EVERY

    def _bound(self) -> int:
        """An upper bound on the number of positions in which the agent is queried.

        Where the answer is one cell, a board leads to no more boards two plies later than there are replies.
        """
        n_cells, bounds = self.agent.game.n_cells, list[int]()
        if not is_enumerable(self.agent.game):
            return self._most
        for ply in range(n_cells):
            bound = grid(self.agent.game, ply).n_slots
            if ply > 1 and self.agent.plays_by == "choose":
                bound = min(bound, bounds[ply - 2] * (n_cells + 1 - ply))
            bounds.append(self._expected.get(ply, bound))
        return sum(bounds)


def _layers_as(seat: Seat, game: Game, ask: Ask, most: int | None) -> Iterator[Layer]:
    return reached_layers(game, *((ask, None) if seat == "X" else (None, ask)), most=most)


def _layers_until_loss(
    seat: Seat, game: Game, asker: Asker, most: int, stops: bool, label: str
) -> Iterator[Layer]:
    """The layers of all games on a seat; if it `stops`, up to the first one with a game that is lost."""
    try:
        for layer in _layers_as(seat, game, asker, most):
            yield layer
            if stops and _is_lost_in(layer, seat):
                return
    except GameTooLargeError as error:
        raise GameTooLargeError(
            f"{label} as {seat}: {error}. It was queried in {asker.n_asked:,} positions until then"
        ) from error


def is_lost_on_board(layer: Layer, seat: Seat) -> bool:
    """True if a game that the seat loses ends at this ply."""
    is_last_mover = SEATS[(layer.ply + 1) % 2] == seat
    return len(layer.won_slots) > 0 and is_last_mover == layer.game.misere


def _is_lost_in(layer: Layer, seat: Seat) -> bool:
    """True if a game of this ply is lost for the seat: on the board, or because it names no free cell."""
    if is_lost_on_board(layer, seat):
        return True
    return layer.rows is not None and bool(is_forfeit(layer.rows).any())


def _check_n_positions(game: Game, most: int) -> None:
    if (n_open := sum(len(layer.open_slots) for layer in reachable(game))) > most:
        raise GameTooLargeError(f"{game.name} has {n_open:,} open positions, more than most={most:,}")


def _ask_layer(layer: Layer, asker: Asker) -> Layer:
    rows = [asker(moves) for moves in layer.moves()]
    if not rows:
        return layer
    return replace(layer, rows=join_rows(rows, (moves.cells for moves in layer.moves())))
