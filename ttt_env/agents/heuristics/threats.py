"""Threats and forks in a batch of positions, each of them two bit masks, `uint64[B]`: `stones`, `others`."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.sets import numbers_through
from ttt_env.rules import Boards, Game, Masks, pack_masks, playable, set_masks

NONE = np.uint64(0)
_BLOCKED = np.uint8(128)  # a number of missing cells above all that matter


class OpenSets:
    """The winning sets that a player can still complete: those without stones of the other player.

    Args:
        game: The game.
        stones: The player's stones as bit masks, `uint64[B]`.
        others: The other player's, `uint64[B]`.

    """

    def __init__(self, game: Game, stones: Masks, others: Masks) -> None:
        self._game, masks = game, set_masks(game)
        self._playable = playable(game, stones | others)
        self._rests = masks & ~stones[:, None]
        is_blocked = masks & others[:, None] != NONE
        self.missing = np.bitwise_count(self._rests) + is_blocked * _BLOCKED

    def completing(self) -> Masks:
        """The cells that may be played and complete a set, `uint64[B]`."""
        rests = np.where(self.missing == 1, self._rests, NONE)
        cells: Masks = np.bitwise_or.reduce(rests, axis=1)
        return cells & self._playable

    def forking(self) -> Masks:
        """The cells that make two ways to win at once, `uint64[B]`.

        After a stone there, at least two different cells complete sets that the stone is in. (Two squares
        that lack the same last cell are one way to win.)
        """
        is_near = self.missing == 2
        if not is_near.any():
            return np.zeros_like(self._playable)
        rests = np.where(is_near, self._rests, NONE)
        padded = np.concatenate([rests, np.zeros_like(rests[:, :1])], axis=1)
        around = np.bitwise_or.reduce(padded[:, numbers_through(self._game)], axis=2)  # [B, cells]
        # A fork takes the cell and two more.
        return pack_masks(np.bitwise_count(around) > 2) & self._playable


class RuleInput:
    """The input of a rule: a batch of positions, and the open sets of both players."""

    def __init__(self, boards: Boards) -> None:
        self.boards, self.game = boards, boards.game

    @cached_property
    def own_sets(self) -> OpenSets:
        """The open sets of the players to move."""
        return OpenSets(self.game, self.boards.mine, self.boards.theirs)

    @cached_property
    def opponent_sets(self) -> OpenSets:
        """The open sets of the other players."""
        return OpenSets(self.game, self.boards.theirs, self.boards.mine)


def open_sets(game: Game, stones: int, others: int, missing: int) -> list[tuple[int, ...]]:
    """The winning sets without any of the `others` that lack `missing` cells; both players are bit masks."""
    return [
        cells
        for cells, mask in zip(game.winning_sets, game.winning_masks, strict=True)
        if not mask & others and (mask & ~stones).bit_count() == missing
    ]


def n_threats(game: Game, stones: Masks, others: Masks) -> NDArray[np.int64]:
    """The number of winning sets that consist of `stones` but for one cell, which is empty, `[B]`."""
    counts = np.zeros(len(stones), np.int64)
    for mask in set_masks(game):  # one by one, since there may be millions of positions
        counts += (np.bitwise_count(mask & ~stones) == 1) & (mask & others == NONE)
    return counts
