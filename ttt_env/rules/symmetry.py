"""The symmetries of a board that preserve the rules, and a canonical form of symmetric positions."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import permutations, product
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttt_env.rules.boards import Boards, Masks
from ttt_env.rules.game import Game, Position, cells_of

_MOST_EXCHANGES = 5_000  # the most exchanges of layers to try: axes of up to 11 cells
_CHUNK = 11  # cells that are moved together: the table of their images fits into the nearest cache
Permutation = tuple[int, ...]


@lru_cache(maxsize=64)
def symmetries(game: Game) -> tuple[Permutation, ...]:
    """The rotations and reflections of the board that map winning sets to winning sets, and supports too.

    Each is a permutation: the stone on cell `c` moves to cell `permutation[c]`. The identity is the first.
    There are 8 for a square board, 4 for a rectangle, 48 for a cube.
    """
    return tuple(permutation for permutation in _rigid_motions(game.shape) if _keeps_rules(game, permutation))


def _keeps_rules(game: Game, permutation: Permutation) -> bool:
    sets = {frozenset(cells) for cells in game.winning_sets}
    moved = {
        permutation[cell]: None if support is None else permutation[support]
        for cell, support in enumerate(game.supports)
    }
    keeps_sets = {frozenset(permutation[c] for c in cells) for cells in sets} == sets
    return keeps_sets and all(moved[cell] == support for cell, support in enumerate(game.supports))


@lru_cache(maxsize=8)
def automorphisms(game: Game) -> tuple[Permutation, ...]:
    """The permutations of the cells that preserve winning sets and supports, as far as easily found.

    They are the `symmetries`, and for a board with equal axes also the exchanges of layers, in the same way
    along every axis and in the same way from both ends. So Qubic has 192, four times as many (Silver, The
    group of automorphisms of the game of 3-dimensional ticktacktoe, 1967). On axes of 12 or more cells, which
    have too many exchanges, they are the `symmetries` alone.
    """
    length, motions = game.shape[0], symmetries(game)
    if set(game.shape) != {length} or factorial(length // 2) << length // 2 > _MOST_EXCHANGES:
        return motions
    cells = np.arange(game.n_cells).reshape(game.shape)
    found = list(motions)
    for half in permutations(range(length // 2)):
        for flips in product((False, True), repeat=length // 2):
            layers = list(range(length))
            for layer, (other, is_flipped) in enumerate(zip(half, flips, strict=True)):
                layers[layer] = length - 1 - other if is_flipped else other
                layers[-1 - layer] = length - 1 - layers[layer]
            moved = cells[np.ix_(*[layers] * len(game.shape))].ravel().tolist()
            if _keeps_rules(game, tuple(moved)):
                found += [tuple(motion[cell] for cell in moved) for motion in motions]
    return tuple(dict.fromkeys(found))


def _rigid_motions(shape: tuple[int, ...]) -> list[Permutation]:
    cells = np.arange(np.prod(shape)).reshape(shape)
    motions = []
    for axes in permutations(range(len(shape))):
        for flips in product((1, -1), repeat=len(shape)):
            moved = cells.transpose(axes)[tuple(slice(None, None, step) for step in flips)]
            if moved.shape == shape:
                # The stone of cell `moved.flat[i]` is on cell i afterwards.
                motions.append(tuple(np.argsort(moved.ravel(), kind="stable").tolist()))
    return list(dict.fromkeys(motions))  # an axis of one cell flips to itself


def symmetry_name(game: Game, permutation: Permutation) -> str:
    """The motion of a symmetry, in words; on a board with three axes only whether it moves anything.

    >>> from ttt_env.rules.catalogue import get_game
    >>> symmetry_name(get_game("tictactoe-v0"), (2, 5, 8, 1, 4, 7, 0, 3, 6))
    'turned by 90° clockwise'
    """
    if permutation == tuple(range(game.n_cells)):
        return "none: as it is"
    if len(game.shape) != 2:
        return "turned or mirrored"
    board = np.arange(game.n_cells).reshape(game.shape)
    moved_board = np.argsort(permutation).tolist()  # the cell whose stone is moved to each place
    images = {
        "turned by 90° clockwise": np.rot90(board, -1),
        "turned by 180°": np.rot90(board, 2),
        "turned by 90° anticlockwise": np.rot90(board),
        "mirrored left to right": board[:, ::-1],
        "mirrored top to bottom": board[::-1],
        "mirrored at the diagonal from the top left": board.T,
        "mirrored at the diagonal from the top right": board[::-1, ::-1].T,
    }
    return next(name for name, image in images.items() if image.ravel().tolist() == moved_board)


def transform(position: Position, permutation: Permutation) -> Position:
    """The position with every stone moved by the permutation."""
    mine, theirs = (
        sum(1 << permutation[cell] for cell in cells_of(mask)) for mask in (position.mine, position.theirs)
    )
    return Position(position.game, mine, theirs)


def canonical(position: Position) -> Position:
    """The symmetric position with the smallest masks; equal for symmetric positions."""
    symmetric = (transform(position, permutation) for permutation in symmetries(position.game))
    return min(symmetric, key=lambda image: (image.mine, image.theirs))


def transform_boards(boards: Boards, permutation: Permutation) -> Boards:
    """`transform` for a batch."""
    mine, theirs = (_transform_masks(masks, permutation) for masks in (boards.mine, boards.theirs))
    return Boards(boards.game, mine, theirs)


def _transform_masks(masks: Masks, permutation: Permutation) -> Masks:
    moved = np.zeros_like(masks)
    for number, images in enumerate(_images_of_chunks(permutation)):
        moved |= images[masks >> np.uint64(number * _CHUNK) & np.uint64(len(images) - 1)]
    return moved


@lru_cache(maxsize=256)
def _images_of_chunks(permutation: Permutation) -> Masks:
    """The images of the stones on each `_CHUNK` cells, for all sets of such stones, `[chunks, sets]`."""
    stones = np.arange(1 << min(len(permutation), _CHUNK), dtype=np.uint64)
    images = np.zeros((-(-len(permutation) // _CHUNK), len(stones)), np.uint64)
    for cell, target in enumerate(permutation):
        images[cell // _CHUNK] |= (stones >> np.uint64(cell % _CHUNK) & np.uint64(1)) << np.uint64(target)
    return images


def canonical_boards(boards: Boards) -> tuple[Boards, NDArray[np.intp]]:
    """`canonical` for a batch, and for each board the index of the symmetry that maps it there."""
    images = (transform_boards(boards, permutation) for permutation in symmetries(boards.game))
    (mine, theirs), indices = _least((image.mine, image.theirs) for image in images)
    return Boards(boards.game, mine, theirs), indices


def canonical_answers(boards: Boards, answers: NDArray[Any]) -> tuple[Boards, NDArray[Any]]:
    """`canonical` for a batch, with the answers `[B, cells]` moved by the same symmetry.

    Of several symmetries to the canonical position, it is the one with the least answer, in lexicographic
    order.
    """
    images = (
        (image.mine, image.theirs, *np.take(answers, np.argsort(permutation), axis=1).T)
        for permutation in symmetries(boards.game)
        for image in [transform_boards(boards, permutation)]
    )
    (mine, theirs, *columns), _ = _least(images)
    return Boards(boards.game, mine, theirs), np.stack(columns, axis=1)


def same_boards(one: Boards, other: Boards) -> NDArray[np.bool_]:
    """True where two batches have the same board, `[B]`; of `canonical_boards`, the same class."""
    is_same: NDArray[np.bool_] = (one.mine == other.mine) & (one.theirs == other.theirs)
    return is_same


def _least(images: Iterable[tuple[NDArray[Any], ...]]) -> tuple[list[NDArray[Any]], NDArray[np.intp]]:
    """The smallest image of each board, by the first part, then by the next ones; and that image's index."""
    numbered_images = enumerate(images)
    least = [part.copy() for part in next(numbered_images)[1]]
    indices = np.zeros(len(least[0]), np.intp)
    for number, image in numbered_images:
        is_smaller, is_equal = np.zeros(len(indices), np.bool_), np.ones(len(indices), np.bool_)
        for part, best in zip(image, least, strict=True):
            is_smaller |= is_equal & (part < best)
            is_equal &= part == best
        for part, best in zip(image, least, strict=True):
            np.copyto(best, part, where=is_smaller)
        indices[is_smaller] = number
    return least, indices


@lru_cache(maxsize=64)
def motions(game: Game) -> NDArray[np.intp]:
    """`symmetries` as a read-only array, `[symmetries, cells]`, in the same order."""
    table = np.array(symmetries(game), np.intp)
    table.flags.writeable = False
    return table
