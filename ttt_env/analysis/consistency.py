"""Whether an agent answers symmetric positions alike."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Game, Position
from ttt_env.rules.symmetry import motions, transform_boards

_DECIMALS = 6  # of the probabilities that are compared


class Consistency(NamedTuple):
    """How many classes of symmetric positions have several members, and in which the answers differ.

    Of each class of `inconsistent` it has two positions that are answered differently: by cells, or by
    probabilities, that no rotation or reflection of the board brings into accord.
    """

    n_classes: int
    inconsistent: tuple[tuple[Position, Position], ...]


def consistency(game: Game, answers: Iterable[tuple[Boards, Floats]]) -> Consistency:
    """How alike these batches of different positions `[B]` and policies `[B, cells]` answer symmetric boards.

    Symmetric answers are those that some symmetry maps to each other together with their positions: on the
    empty board all corners are the same answer.
    """
    batches = [(boards, *_canonical(boards, policies)) for boards, policies in answers if len(boards)]
    if not batches:
        return Consistency(0, ())
    boards = Boards.joined(game, [batch for batch, _, _ in batches])
    _, classes = np.unique(np.concatenate([keys for _, keys, _ in batches]), axis=0, return_inverse=True)
    rows = np.concatenate([rows for _, _, rows in batches])
    order = np.argsort(classes, kind="stable")
    first_of_class = np.flatnonzero(np.diff(classes[order], prepend=-1))
    first = np.repeat(order[first_of_class], np.diff(first_of_class, append=len(order)))
    differs = (rows[order] != rows[first]).any(axis=1)
    _, shown = np.unique(classes[order][differs], return_index=True)
    pairs = zip(first[differs][shown].tolist(), order[differs][shown].tolist(), strict=True)
    sizes = np.bincount(classes)
    return Consistency(int((sizes > 1).sum()), tuple((boards[one], boards[other]) for one, other in pairs))


def _canonical(boards: Boards, policies: Floats) -> tuple[NDArray[np.uint64], Floats]:
    """The least symmetric image of each board, `[B, 2]`, and the least image of its policy there."""
    least = np.full((len(boards), 2), np.iinfo(np.uint64).max)
    answers = np.empty_like(policies)
    rounded = policies.round(_DECIMALS)
    for motion in motions(boards.game):
        image = transform_boards(boards, tuple(motion.tolist()))
        masks = np.stack([image.mine, image.theirs], axis=1)
        answer = np.empty_like(rounded)
        answer[:, motion] = rounded
        is_less, is_equal = _is_less(masks, least), (masks == least).all(axis=1)
        is_less |= is_equal & _is_less(answer, answers)
        least[is_less], answers[is_less] = masks[is_less], answer[is_less]
    return least, answers


def _is_less(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row of `one` comes before that of `other`, number by number."""
    differs = one != other
    at = differs.argmax(axis=1)[:, None]
    is_less: NDArray[np.bool_] = np.take_along_axis(one, at, 1)[:, 0] < np.take_along_axis(other, at, 1)[:, 0]
    return is_less
