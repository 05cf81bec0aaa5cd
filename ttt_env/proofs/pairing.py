"""Draws without a search, by groups of cells in which one player answers every move of the other."""

import numpy as np

from ttt_env.compiled.sets import winning_sets
from ttt_env.rules.game import Position, cells_of
from ttt_env.rules.sizes import check_size

Regions = tuple[tuple[int, ...], ...]

_PAIRS = 10_000  # tried without a larger group
_PAIRS_BESIDE_GROUP = 2_000
_GROUP_CELLS = 12


def drawing_regions(position: Position) -> Regions | None:
    """Groups of free cells by which the player who is not to move does not lose; None if none are found.

    No cell is in two groups. Whenever the player to move takes a cell of a group, the other answers in the
    same group, and so gets a stone into every winning set. In a group of two cells, a pair, the answer is
    the other cell, which breaks the sets that hold both (Hales and Jewett, Regularity and positional games,
    1963). A larger group, of up to 12 cells, may break more sets than its pairs can (Uiterwijk, Set matching:
    an enhancement of the Hales-Jewett pairing strategy, 2017): all those that hold no pair and have cells in
    it.

    There are no groups, `()`, where every set is broken already. That none are found does not say that the
    player to move wins. In a misère game none are looked for.

    Raises `GameTooLargeError` for a game of more than 64 cells.
    """
    check_size(position.game)
    if position.game.misere:
        return None
    from ttt_env.proofs import pairing_kernel as pairing

    p = pairing.new_pairs(position.game)
    question = np.uint64(position.mine), np.uint64(position.theirs), winning_sets(position.game), p
    n_pairs = pairing.groups_of(*question, _PAIRS, 0)
    if n_pairs < 0:
        n_pairs = pairing.groups_of(*question, _PAIRS_BESIDE_GROUP, _GROUP_CELLS)
    if n_pairs < 0:
        return None
    left = p.rests[n_pairs, : p.n_rests[n_pairs]].tolist()
    return tuple(tuple(cells_of(int(mask))) for mask in [*p.chosen[:n_pairs], *_joined(left)])


def _joined(masks: list[int]) -> list[int]:
    """The masks, with those joined that have cells in common."""
    joined: list[int] = []
    for mask in masks:
        apart = [other for other in joined if not other & mask]
        joined = [*apart, mask | sum(other for other in joined if other & mask)]
    return joined
