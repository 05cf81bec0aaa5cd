"""The shape, coordinates and winning sets of a board, checked; and straight runs of cells."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice, product
from math import prod

from ttt_env.errors import GameError, GameTooLargeError, brief
from ttt_env.rules.checks import integer_of, items_of
from ttt_env.rules.sizes import BOARD_CELLS, BOARD_SETS, check_board

Coordinates = tuple[tuple[float, float], ...]
_FARTHEST = 1e6  # of a coordinate
_MOST_AXES = 6  # two cells along each make 64
_MAX_SPACINGS = 400  # along a board that can be drawn


def runs_along(
    shape: tuple[int, ...], direction: tuple[int, ...], k: int, wrap: bool
) -> Iterator[tuple[int, ...]]:
    """All straight runs of `k` cells in one direction, with `wrap` also across the opposite edge."""
    for corner in product(*map(range, shape)):
        run = [tuple(c + d * i for c, d in zip(corner, direction, strict=True)) for i in range(k)]
        inside = [tuple(c % size for c, size in zip(cell, shape, strict=True)) for cell in run]
        if (inside == run or wrap) and len(set(inside)) == k:
            yield tuple(sum(c * prod(shape[axis + 1 :]) for axis, c in enumerate(cell)) for cell in inside)


def checked_shape(shape: Iterable[int], name: str = "") -> tuple[int, ...]:
    """The axes of a board, of the game of this `name`.

    Raises `GameError` for an invalid shape, `GameTooLargeError` for too many cells.
    """
    numbers = [integer_of(axis) for axis in items_of(shape, _MOST_AXES) or ()]
    axes = () if None in numbers else tuple(number for number in numbers if number is not None)
    if not 1 <= len(axes) <= _MOST_AXES or min(axes) < 1:
        raise GameError(f"shape={brief(shape)}: expected one to six axes of at least one cell each")
    check_board(name or f"a board of shape {brief(axes)}", prod(axes))
    return axes


def checked_coordinates(coordinates: Iterable[tuple[float, float]], n_cells: int) -> Coordinates:
    """The coordinates of all cells, no two at one place."""
    try:
        places = [(float(x), float(y)) for x, y in islice(coordinates, n_cells + 1)]
    except Exception:  # an object of a user's class may raise anything
        raise GameError(
            f"coordinates holds a pair of numbers for each cell, not {brief(coordinates)}"
        ) from None
    is_finite = all(abs(number) <= _FARTHEST for place in places for number in place)
    if len(places) != n_cells or not is_finite:
        raise GameError(
            f"coordinates holds {n_cells} pairs of numbers up to {_FARTHEST:g}, one for each cell, "
            f"not {brief(coordinates)}"
        )
    length = max(max(axis) - min(axis) for axis in zip(*places, strict=True))
    if length >= spacing(places) * _MAX_SPACINGS:
        raise GameError(
            f"coordinates: two cells are closer to each other than a {_MAX_SPACINGS}th of the board's length"
        )
    return tuple(places)


def checked_supports(supports: Iterable[int | None] | None, n_cells: int) -> tuple[int | None, ...]:
    """The cell on which each cell rests, None for one that rests on nothing; never a circle."""
    if supports is None:
        return (None,) * n_cells
    given = items_of(supports, n_cells + 1)
    if given is None or len(given) != n_cells:
        raise GameError(f"supports holds a cell or None for each of {n_cells} cells, not {brief(supports)}")
    below = tuple(None if cell is None else integer_of(cell) for cell in given)
    for cell, (number, support) in enumerate(zip(below, given, strict=True)):
        if support is not None and (number is None or not 0 <= number < n_cells):
            raise GameError(
                f"supports: cell {cell} cannot rest on {brief(support)}: cells are 0 to {n_cells - 1}"
            )
    for support in below:
        for _ in range(n_cells):
            support = None if support is None else below[support]
        if support is not None:
            raise GameError(f"supports: cell {support} rests on itself, directly or through other cells")
    return below


def supports_along(shape: tuple[int, ...], axis: int) -> list[int | None]:
    """For each cell the next one along an axis; None at its end."""
    numbers = range(prod(shape))
    step = prod(shape[axis + 1 :])
    return [cell + step if cell // step % shape[axis] < shape[axis] - 1 else None for cell in numbers]


def spacing(coordinates: Sequence[tuple[float, float]]) -> float:
    """The largest width of squares centred at these coordinates that do not overlap; 1 for a single one."""
    pairs = combinations(coordinates, 2)
    return min((max(abs(x - u), abs(y - v)) for (x, y), (u, v) in pairs), default=1.0)


def checked_sets(winning_sets: Iterable[Iterable[int]], n_cells: int) -> tuple[tuple[int, ...], ...]:
    """The winning sets, each once, and sorted."""
    given = items_of(winning_sets, BOARD_SETS)
    if given is not None and len(given) > BOARD_SETS:
        raise GameTooLargeError(f"a game has at most {BOARD_SETS} winning sets; more were given")
    collections = [None] if given is None else [items_of(cells, BOARD_CELLS) for cells in given]
    if None in collections:
        raise GameError(f"winning_sets holds collections of cells, not {brief(winning_sets)}")
    sets = [_checked_set(cells, n_cells) for cells in collections if cells is not None]
    if not sets or () in sets:
        raise GameError("a game needs at least one winning set, and winning sets are not empty")
    return tuple(sorted(set(sets)))


def _checked_set(cells: Sequence[object], n_cells: int) -> tuple[int, ...]:
    if len(cells) > BOARD_CELLS:
        raise GameTooLargeError(f"a winning set names at most {BOARD_CELLS} cells; more were given")
    numbers = [number for number in map(integer_of, cells) if number is not None]
    if len(numbers) < len(cells):
        raise GameError(f"winning_sets: {brief(cells)} are not all integers")
    winning_set = tuple(sorted(set(numbers)))
    if winning_set and (winning_set[0] < 0 or winning_set[-1] >= n_cells):
        raise GameError(f"winning set {brief(winning_set)} is out of the board: cells are 0 to {n_cells - 1}")
    return winning_set
