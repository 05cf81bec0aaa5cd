"""The consistency of an agent: whether symmetric positions get the same answer."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent import Floats
from ttt_env.rules import Boards, Position, motions

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
    classes, answers = _canonical(boards, policies)
    order = np.argsort(classes, kind="stable")  # keeps the positions of a class in order
    begins = np.flatnonzero(np.diff(classes[order], prepend=-1))
    sizes = np.diff(begins, append=len(order))
    first = np.repeat(order[begins], sizes)
    differs = np.flatnonzero((answers[order] != answers[first]).any(axis=1))
    _, shown = np.unique(first[differs], return_index=True)
    pairs = zip(first[differs[shown]].tolist(), order[differs[shown]].tolist(), strict=True)
    return Consistency(int((sizes > 1).sum()), tuple((boards[one], boards[other]) for one, other in pairs))


def _canonical(boards: Boards, policies: Floats) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The least symmetric image of each board as a number, `[B]`, and the least image of its policy there."""
    moved = motions(boards.game)
    owners = boards.cells(boards.mine) + 2 * boards.cells(boards.theirs).astype(np.int64)
    codes = owners @ 3**moved.T  # of all images, `[B, symmetries]`
    least = codes.min(axis=1)
    is_least = codes == least[:, None]
    probabilities = (policies * _UNITS).round().astype(np.int32)
    came_from = np.argsort(moved, axis=1)
    answers = np.take_along_axis(probabilities, came_from[is_least.argmax(axis=1)], axis=1)
    own_symmetries = np.flatnonzero(is_least.sum(axis=1) > 1)  # of boards that are images of themselves
    for number, cells in enumerate(came_from):
        at = own_symmetries[is_least[own_symmetries, number]]
        image = probabilities[at[:, None], cells]
        is_less = _is_less(image, answers[at])
        answers[at[is_less]] = image[is_less]
    return least, answers


def _is_less(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """True where a row of `one` comes before that of `other` in lexicographic order."""
    differs = one != other
    at = differs.argmax(axis=1)[:, None]
    is_less: NDArray[np.bool_] = np.take_along_axis(one, at, 1)[:, 0] < np.take_along_axis(other, at, 1)[:, 0]
    return is_less
