"""Plays the moves that people have played."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import (
    Agent,
    AgentLike,
    CellNumbers,
    Explanation,
    Floats,
    PartExplanation,
    chances,
    make_agent,
    name_of,
    of_legal_cells,
    sample,
)
from ttt_env.errors import FileError
from ttt_env.rules import (
    Boards,
    Game,
    Position,
    canonical_boards,
    motions,
    same_boards,
    symmetries,
)
from ttt_env.rules.symmetry import transform_boards
from ttt_env.storage.game_log import PERSON, GameLog, LoggedGame, default_path


class ImitationBase:
    """The common part of imitation with a stationary fallback and with any other."""

    game: Game
    path: Path
    fallback: Agent

    def refresh(self) -> None:
        """Read the log again, so that the games played since then count too."""
        try:
            self.path.stat()
        except FileNotFoundError:
            self._move_counts = _MoveCounts.of(self.game, [])
            return
        except (OSError, ValueError) as error:
            raise FileError(f"game log {self.path}: {error}") from error
        with GameLog(self.path) as log:
            self._move_counts = _MoveCounts.of(self.game, log.games(self.game))

    @property
    def parts(self) -> tuple[Agent]:  # noqa: D102
        return (self.fallback,)

    def _explain(self, position: Position) -> Explanation:
        counted = self._move_counts.counts_in(position)
        if counted is None:
            name = name_of(self.fallback)
            part = PartExplanation(name, self.fallback.explain(position))
            reason = f"No recorded game has come to this position with a person to move: {name} plays."
            return Explanation(position, part.explanation.policy, reason, facts={"games": 0}, parts=(part,))
        cells, games = counted
        numbers = [
            CellNumbers(f"played by {who}", of_legal_cells(position, row), "count")
            for who, row in zip(("people", "players not named"), cells, strict=True)
            if row.any() or who == "people"
        ]
        n_games = int(games.sum())
        reason = (
            f"In {n_games:,} recorded game{'s' * (n_games != 1)} a player was to move in this position or a "
            f"symmetric one, and most often chose {{cells}}. Cells that a symmetry of the "
            "position maps to each other count as one; moves of agents do not count."
        )
        facts = {"games": n_games, "of people": int(games[0]), "of players not named": int(games[1])}
        policy = chances(self, position)  # type: ignore[arg-type]
        return Explanation(position, policy, reason, tuple(numbers), facts)


class Imitation(ImitationBase, Agent):
    """Plays the move that people chose most often in the position (Nicolo Davis, "Tic-Tac-Toe Bots").

    All games in the log count, won or lost, but only the moves of people and of unnamed players. Symmetric
    positions are counted together, and so are moves that a symmetry of the position maps to each other: the
    four corners of an empty board are one move. Ties are played uniformly.

    The log is read when the agent is made, and again by `refresh`; in between, the agent is stationary if the
    fallback is.

    Args:
        game: The game, or its id.
        path: The file of a `GameLog`; by default the one in which `ttt` records games.
        fallback: The agent that plays in positions that no game has reached.

    Raises:
        FileError: There is no game log at `path`.
        ParameterError: `path` is not a path.

    Example:
        >>> Imitation("tictactoe-v0", fallback="minimax").fallback
        <Minimax of tictactoe-v0>

    """

    is_stationary = True

    def __init__(self, game: Game | str, path: str | None = None, fallback: AgentLike = "random") -> None:
        super().__init__(game)
        self.path = default_path() if path is None else Path(path)
        if path is not None and not os.path.isfile(self.path):
            raise FileError(f"there is no game log {path}")
        self.fallback = make_agent(fallback, game)
        self.refresh()
        if not self.fallback.is_stationary:
            self.__class__ = _SampledImitation  # type: ignore[assignment]

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        is_known, policies = self._move_counts.policies(boards)
        if not is_known.all():
            policies[~is_known] = self.fallback.policies(boards[~is_known])
        return policies


class _SampledImitation(ImitationBase, Agent):
    """Imitation with a fallback that is not stationary."""

    variant_of = Imitation

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        is_known, policies = self._move_counts.policies(Boards.single(position))
        return sample(policies[0], rng.random()) if is_known[0] else self.fallback.choose(position, rng)


class _MoveCounts(NamedTuple):
    """The moves played most often, `bool[P, cells]`, in the canonical positions.

    `rows` has the row of each, by its masks. `counts` `[2, P, cells]` says how often each move was played, by
    people and by unnamed players, summed over cells that a symmetry of the position maps to each other;
    `games` `[2, P]` in how many games.
    """

    rows: dict[tuple[int, int], int]
    favourites: NDArray[np.bool_]
    counts: NDArray[np.int64]
    games: NDArray[np.int64]

    @classmethod
    def of(cls, game: Game, games: Sequence[LoggedGame]) -> Self:
        """Count the moves of people and of unnamed players in these games."""
        moves = [
            (position, cell, player is None)
            for record, x, o, *_ in games
            for position, cell, player in zip(record.positions(), record.cells, cycle((x, o)), strict=False)
            if player in (PERSON, None)
        ]
        boards = Boards.of(position for position, _, _ in moves) if moves else Boards.start(game, 0)
        images, moved_by = canonical_boards(boards)
        (mine, theirs), which = np.unique(np.stack([images.mine, images.theirs]), axis=1, return_inverse=True)
        cells = np.array([cell for _, cell, _ in moves], np.intp)
        is_unnamed = np.array([unnamed for _, _, unnamed in moves], np.intp)
        counts = np.zeros((2, len(mine), game.n_cells), np.int64)
        np.add.at(counts, (is_unnamed, which.reshape(-1), motions(game)[moved_by, cells]), 1)
        together = _merge_counts(Boards(game, mine, theirs), counts)
        totals = together.sum(axis=0)
        rows = {masks: row for row, masks in enumerate(zip(mine.tolist(), theirs.tolist(), strict=True))}
        # A game reaches a position at most once, so each move counted there is of another game.
        return cls(rows, totals == totals.max(axis=1, keepdims=True), together, counts.sum(axis=2))

    def find(self, boards: Boards) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The row of each position, `[B]`, −1 if unknown, and where its cells lie there, `[B, cells]`."""
        images, moved_by = canonical_boards(boards)
        masks = zip(images.mine.tolist(), images.theirs.tolist(), strict=True)
        return np.array([self.rows.get(each, -1) for each in masks], np.intp), motions(boards.game)[moved_by]

    def counts_in(self, position: Position) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """`counts` by cell, `[2, cells]`, and `games`, `[2]`, in one position; None in an unknown one."""
        (row,), (cells,) = self.find(Boards.of([position]))
        return None if row < 0 else (self.counts[:, row, cells], self.games[:, row])

    def policies(self, boards: Boards) -> tuple[NDArray[np.bool_], Floats]:
        """The known positions, `bool[B]`, and the policies there, `[B, cells]`; 0 in unknown ones."""
        rows, cells = self.find(boards)
        is_known = rows >= 0
        policies = np.zeros(cells.shape)
        policies[is_known] = np.take_along_axis(self.favourites[rows[is_known]], cells[is_known], axis=1)
        policies[is_known] /= policies[is_known].sum(axis=1, keepdims=True)
        return is_known, policies


def _merge_counts(boards: Boards, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts, added up over cells that a symmetry of the position maps to each other."""
    together, repeats = np.zeros_like(counts), np.zeros_like(counts[0])
    for permutation in symmetries(boards.game):
        motion = np.array(permutation)
        same = np.flatnonzero(same_boards(transform_boards(boards, permutation), boards))
        together[:, same] += counts[:, same][:, :, motion]
        repeats[same] += motion == np.arange(len(motion))  # the symmetries that map a cell to itself
    shares: NDArray[np.int64] = together // repeats
    return shares
