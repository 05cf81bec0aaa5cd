"""Parts that searches share: move ordering, the least of symmetric positions, codes of positions."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ttt_env.compiled.bits import NONE, ONE, cell_of, count, lowest
from ttt_env.compiled.compiler import compiled, inner
from ttt_env.rules import Boards, Game, Masks, symmetries
from ttt_env.rules.sizes import SIGNED_CODE_CELLS
from ttt_env.rules.symmetry import Permutation

NO, YES, OPEN = 0, 1, 2
Floats = NDArray[np.float64]
COMPLETE = 1 << 40  # the weight of a set without empty cells; each empty cell halves it
_MIN_WEIGHT = -(1 << 62)


# --- Which move to try first ------------------------------------------------------------------------------


@inner
def weigh(stones: np.uint64, others: np.uint64, masks: Masks, weights: NDArray[np.int64]) -> int:
    """Add to each empty cell the weights of the sets without `others` that hold it.

    Returns the sum of the weights of all these sets.
    """
    total = 0
    for number in range(len(masks)):
        mask = masks[number]
        if mask & others == NONE:
            rest = mask & ~stones
            weight = max(COMPLETE >> int(count(rest)), 1)
            total += weight
            while rest != NONE:
                stone = lowest(rest)
                rest ^= stone
                weights[cell_of(stone)] += weight
    return total


@inner
def heaviest(cells: np.uint64, weights: NDArray[np.int64]) -> np.uint64:
    """The cell of largest weight among these, as a mask."""
    best, max_weight = NONE, _MIN_WEIGHT
    while cells != NONE:
        stone = lowest(cells)
        cells ^= stone
        if weights[cell_of(stone)] > max_weight:
            best, max_weight = stone, weights[cell_of(stone)]
    return best


# --- Symmetric positions as one ----------------------------------------------------------------------------


@inner
def canonical(
    mine: np.uint64, theirs: np.uint64, permutations: NDArray[np.uint8]
) -> tuple[np.uint64, np.uint64, int]:
    """The smallest masks among the images of a position, and the number of the first permutation to them.

    The `permutations` `[P, cells]` are a group; the first is the identity.
    """
    least_mine, least_theirs, best = mine, theirs, 0
    for number in range(1, len(permutations)):
        image = moved(mine, permutations, number)
        if image <= least_mine:
            other = moved(theirs, permutations, number)
            if image < least_mine or other < least_theirs:
                least_mine, least_theirs, best = image, other, number
    return least_mine, least_theirs, best


@inner
def moved(stones: np.uint64, permutations: NDArray[np.uint8], number: int) -> np.uint64:
    """The image of these cells under one of the permutations."""
    image = NONE
    while stones != NONE:
        stone = lowest(stones)
        stones ^= stone
        image |= ONE << np.uint64(permutations[number, cell_of(stone)])
    return image


@compiled
def merge(positions: Masks, permutations: NDArray[np.uint8]) -> tuple[Masks, NDArray[np.int64]]:
    """`canonical` for positions `[B, 2]`: the images `[B, 2]`, and the numbers of the permutations `[B]`."""
    images, numbers = np.empty_like(positions), np.empty(len(positions), np.int64)
    for row in range(len(positions)):
        own, other, number = canonical(positions[row, 0], positions[row, 1], permutations)
        images[row, 0], images[row, 1], numbers[row] = own, other, number
    return images, numbers


def images_of(boards: Boards, permutations: NDArray[np.uint8]) -> tuple[Boards, NDArray[np.int64]]:
    """The least image of each board, and the cells that its cells are mapped to, `[B, cells]`.

    A hundred times as fast as `canonical_boards` for a few boards, and for any group of `permutations`.
    """
    images, numbers = merge(np.stack([boards.mine, boards.theirs], axis=1), permutations)
    return Boards(boards.game, *images.T.copy()), permutations[numbers].astype(np.int64)


def answers_by_class(
    boards: Boards, permutations: NDArray[np.uint8], policies: Callable[[Boards], Floats]
) -> Floats:
    """The answers of `policies`, `[B, cells]`, queried once for each class of symmetric positions."""
    images, cells = images_of(boards, permutations)
    _, first, which = np.unique(
        np.stack([images.mine, images.theirs]), axis=1, return_index=True, return_inverse=True
    )
    return np.take_along_axis(policies(images[first])[which.reshape(-1)], cells, axis=1)


# --- Codes of positions, for transposition tables ---------------------------------------------------------


@inner
def least_code(codes: Masks) -> int:
    """The number of the first symmetry with the smallest code, which is the same for symmetric positions."""
    best = 0
    for number in range(1, len(codes)):
        if codes[number] < codes[best]:
            best = number
    return best


@lru_cache(maxsize=8)
def stone_codes(game: Game, permutations: tuple[Permutation, ...] | None = None) -> Masks:
    """The number that each stone adds to the codes of a position, `[symmetries, 2, cells]`.

    A position has one code for each symmetry, or for each of a group of `permutations`. Symmetric positions
    have the same codes in another order, and so the same smallest one. Codes are numbers in base three where
    they fit; on boards of more than 39 cells they are sums of random numbers, and two of 10⁸ positions have
    the same code with a probability below 1 in 1000 (Zobrist, A new hashing method with application for game
    playing, 1970).
    """
    if game.n_cells <= SIGNED_CODE_CELLS:
        digits = np.array([[stone * 3**cell for cell in range(game.n_cells)] for stone in (1, 2)], np.uint64)
    else:
        digits = np.random.default_rng(0).integers(0, 1 << 64, (2, game.n_cells), np.uint64)
    return np.stack([digits[:, list(permutation)] for permutation in permutations or symmetries(game)])


def codes_of(of_stones: Masks, first: int, second: int) -> Masks:
    """The codes of the position with these two masks of stones, `[symmetries]`."""
    codes = np.zeros(len(of_stones), np.uint64)
    for side, stones in enumerate((first, second)):
        for cell in range(of_stones.shape[2]):
            if stones >> cell & 1:
                codes += of_stones[:, side, cell]
    return codes
