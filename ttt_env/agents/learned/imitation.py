"""Plays what people have played."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import (
    Agent,
    AgentLike,
    CellNumbers,
    Effort,
    Explanation,
    Floats,
    PartExplanation,
    effort_of,
    make_agent,
    name_of,
    of_legal_cells,
)
from ttt_env.errors import GameLogError
from ttt_env.rules import Boards, Game, Position, as_path, motions
from ttt_env.rules.symmetry import Keys, canonical_rows, keys_of_rows, transform_rows
from ttt_env.storage.game_log import PERSON, GameLog, LoggedGame, default_path

Stones = NDArray[np.uint8]
"""Boards of any size, `[B, cells]`: 1 free, 2 the mover's, 3 the other's. No zeros, so rows are strings."""


class Imitation(Agent):
    """Plays the move that people most often made in the position (Nicolo Davis, "Tic-Tac-Toe Bots").

    All games in a log count, won or lost, but only the moves of people in them, and of players who are not
    named. Symmetric positions are counted together, and so are the moves that a symmetry of the position maps
    to each other: the four corners of an empty board are one move. Cells of equal counts are played
    uniformly, and in positions that no game has come to `fallback` plays.

    The log is read when the agent is made, and again by `refresh`; in between the agent has a fixed policy if
    the fallback has one. `path` is the file of a `GameLog`, by default the one where games are recorded here.

    Raises `GameLogError` for a path where there is no game log, `ParameterError` for what is no path.
    """

    def __init__(self, game: Game | str, path: str | None = None, fallback: AgentLike = "random") -> None:
        super().__init__(game)
        self.path = default_path() if path is None else as_path("path", path, "imitation")
        if path is not None and not os.path.isfile(self.path):
            raise GameLogError(f"there is no game log {path}")
        self.fallback = make_agent(fallback, game)
        self.refresh()

    @classmethod
    def effort(cls, game: Game, **parameters: Any) -> Effort:  # noqa: D102
        return effort_of(parameters.get("fallback", "random"), game)

    def refresh(self) -> None:
        """Read the log again, so that the games played since then count too."""
        try:
            self.path.stat()
        except FileNotFoundError:
            self._habits = _Habits.of(self.game, [])
            return
        except (OSError, ValueError) as error:
            raise GameLogError(f"game log {self.path}: {error}") from error
        with GameLog(self.path) as log:
            self._habits = _Habits.of(self.game, log.games(self.game))

    @property
    def is_fixed(self) -> bool:  # noqa: D102
        return self.fallback.is_fixed

    @property
    def parts(self) -> tuple[Agent]:  # noqa: D102
        return (self.fallback,)

    def policy(self, position: Position) -> Floats:  # noqa: D102
        known, policies = self._habits.policies(_stones(position))
        return policies[0] if known[0] else self.fallback.policy(position)

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        mine, theirs = boards.cells(boards.mine), boards.cells(boards.theirs)
        known, policies = self._habits.policies((1 + mine + 2 * theirs).astype(np.uint8))
        if not known.all():
            policies[~known] = self.fallback.policies(boards[~known])
        return policies

    def _explained(self, position: Position) -> Explanation:
        counted = self._habits.counted(_stones(position))
        if counted is None:
            name = name_of(self.fallback)
            part = PartExplanation(name, self.fallback.explain(position))
            reason = f"No recorded game has come to this position with a person to move: {name} plays."
            return Explanation(position, part.why.policy, reason, facts={"games": 0}, parts=(part,))
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
        return self._why(position, reason, *numbers, facts=facts)

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        if self.is_fixed or self._habits.policies(_stones(position))[0][0]:
            return super().choose(position, rng)
        return self.fallback.choose(position, rng)


class _Habits(NamedTuple):
    """The moves most often played, `bool[P, cells]`, in the canonical positions `keys`, ascending `[P]`.

    `counts` `[2, P, cells]` says how often each was played, by people and by players who are not named, cells
    that a symmetry of the position maps to each other together; `games` `[2, P]` in how many games.
    """

    game: Game
    keys: Keys
    favourites: NDArray[np.bool_]
    counts: NDArray[np.int64]
    games: NDArray[np.int64]

    @classmethod
    def of(cls, game: Game, games: Sequence[LoggedGame]) -> Self:
        """The habits of the people and the players without a name in these games."""
        stones, cells = [np.zeros((0, game.n_cells), np.uint8)], [np.zeros(0, np.intp)]
        is_unnamed = [np.zeros(0, np.intp)]
        for record, x, o, *_ in games:
            by_people = [player in (PERSON, None) for player in (x, o)]
            moves = np.array(record.cells, np.intp)
            plies = np.flatnonzero(np.resize(by_people, len(moves)))
            when = np.full(game.n_cells, game.n_cells)
            when[moves] = np.arange(len(moves))
            ago = plies[:, None] - when
            stones.append(np.where(ago > 0, 2 + ago % 2, 1).astype(np.uint8))
            cells.append(moves[plies])
            is_unnamed.append(np.array([x is None, o is None], np.intp)[plies % 2])
        keys, moved_by = canonical_rows(game, np.concatenate(stones))
        canonical, which = np.unique(keys, return_inverse=True)
        counts = np.zeros((2, len(canonical), game.n_cells), np.int64)
        image = motions(game)[moved_by, np.concatenate(cells)]
        np.add.at(counts, (np.concatenate(is_unnamed), which, image), 1)
        together = np.stack(
            [_counted_together(game, canonical, rows) if rows.any() else rows for rows in counts]
        )
        totals = together.sum(axis=0)
        # A game comes to a position once at most, so that each move counted there is of another game.
        return cls(game, canonical, totals == totals.max(axis=1, keepdims=True), together, counts.sum(axis=2))

    def counted(self, stones: Stones) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """`counts` by cell, `[2, cells]`, and `games`, `[2]`, in one position; None in an unknown one."""
        keys, moved_by = canonical_rows(self.game, stones)
        at = int(np.searchsorted(self.keys, keys)[0])
        if at == len(self.keys) or self.keys[at] != keys[0]:
            return None
        return self.counts[:, at, motions(self.game)[moved_by[0]]], self.games[:, at]

    def policies(self, stones: Stones) -> tuple[NDArray[np.bool_], Floats]:
        """The known positions, `bool[B]`, and the policies there, `[B, cells]`; 0 in unknown ones."""
        keys, moved_by = canonical_rows(self.game, stones)
        at = np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        policies = np.zeros(stones.shape)
        there = motions(self.game)[moved_by[known]]  # where each cell lies in the canonical position
        policies[known] = np.take_along_axis(self.favourites[at[known]], there, axis=1)
        policies[known] /= policies[known].sum(axis=1, keepdims=True)
        return known, policies


def _counted_together(game: Game, keys: Keys, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts, added up over cells that a symmetry of the position maps to each other."""
    stones = keys.view(np.uint8).reshape(counts.shape)
    together, repeats = np.zeros_like(counts), np.zeros_like(counts)
    for motion in motions(game):
        same = np.flatnonzero(keys_of_rows(transform_rows(stones, motion)) == keys)
        together[same] += counts[same][:, motion]
        repeats[same] += motion == np.arange(len(motion))  # how many of the symmetries map a cell to itself
    return together // repeats


def _stones(position: Position) -> Stones:
    mine, theirs = position.mine, position.theirs
    cells = range(position.game.n_cells)
    return np.array([[1 + (mine >> cell & 1) + 2 * (theirs >> cell & 1) for cell in cells]], np.uint8)
