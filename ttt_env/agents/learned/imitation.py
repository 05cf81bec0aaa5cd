"""Plays what people have played."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Agent, AgentLike, Effort, Floats, effort_of, make_agent
from ttt_env.errors import GameLogError
from ttt_env.rules.boards import Boards
from ttt_env.rules.checks import as_path
from ttt_env.rules.game import Game, Position
from ttt_env.rules.symmetry import Keys, canonical_rows, keys_of_rows, motions, transform_rows
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

    def __init__(self, game: Game, path: str | None = None, fallback: AgentLike = "random") -> None:
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
        self._habits = _learned(self.game, _logged(self.path, self.game))

    @property
    def is_fixed(self) -> bool:  # noqa: D102
        return self.fallback.is_fixed

    def policy(self, position: Position) -> Floats:  # noqa: D102
        known, policies = self._habits.policies(_stones(position))
        return policies[0] if known[0] else self.fallback.policy(position)

    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        mine, theirs = boards.cells(boards.mine), boards.cells(boards.theirs)
        known, policies = self._habits.policies((1 + mine + 2 * theirs).astype(np.uint8))
        if not known.all():
            policies[~known] = self.fallback.policies(boards[~known])
        return policies

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        if self.is_fixed or self._habits.policies(_stones(position))[0][0]:
            return super().choose(position, rng)
        return self.fallback.choose(position, rng)


class _Habits(NamedTuple):
    """The moves most often played, `bool[P, cells]`, in the canonical positions `keys`, ascending `[P]`."""

    game: Game
    keys: Keys
    favourites: NDArray[np.bool_]

    def policies(self, stones: Stones) -> tuple[NDArray[np.bool_], Floats]:
        """Which positions are known, `bool[B]`, and the policies there, `[B, cells]`; 0 in unknown ones."""
        keys, moved_by = canonical_rows(self.game, stones)
        at = np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        policies = np.zeros(stones.shape)
        there = motions(self.game)[moved_by[known]]  # where each cell lies in the canonical position
        policies[known] = np.take_along_axis(self.favourites[at[known]], there, axis=1)
        policies[known] /= policies[known].sum(axis=1, keepdims=True)
        return known, policies


def _logged(path: Path, game: Game) -> list[LoggedGame]:
    try:
        path.stat()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise GameLogError(f"game log {path}: {error}") from error
    with GameLog(path) as log:
        return log.games(game)


def _learned(game: Game, games: Sequence[LoggedGame]) -> _Habits:
    stones, cells = _moves_of_people(game, games)
    keys, moved_by = canonical_rows(game, stones)
    canonical, which = np.unique(keys, return_inverse=True)
    counts = np.zeros((len(canonical), game.n_cells), np.int64)
    np.add.at(counts, (which, motions(game)[moved_by, cells]), 1)
    counts = _counted_together(game, canonical, counts)
    return _Habits(game, canonical, counts == counts.max(axis=1, keepdims=True))


def _moves_of_people(game: Game, games: Sequence[LoggedGame]) -> tuple[Stones, NDArray[np.intp]]:
    """The positions in which people moved, and the cells that they played, `[B]`."""
    stones, cells = [np.zeros((0, game.n_cells), np.uint8)], [np.zeros(0, np.intp)]
    for record, x, o, *_ in games:
        by_people = [player in (PERSON, None) for player in (x, o)]
        moves = np.array(record.cells, np.intp)
        plies = np.flatnonzero(np.resize(by_people, len(moves)))
        when = np.full(game.n_cells, game.n_cells)
        when[moves] = np.arange(len(moves))
        ago = plies[:, None] - when
        stones.append(np.where(ago > 0, 2 + ago % 2, 1).astype(np.uint8))
        cells.append(moves[plies])
    return np.concatenate(stones), np.concatenate(cells)


def _counted_together(game: Game, keys: Keys, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts, those of cells that a symmetry of the position maps to each other added up."""
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
