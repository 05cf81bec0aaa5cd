"""Checks of arguments at the boundary: each function returns the checked value or raises the named error."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import inf
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttt_env.errors import ParameterError, TttEnvError, brief, nearest
from ttt_env.rules.sizes import TEXT_LETTERS

if TYPE_CHECKING:
    from ttt_env.rules.game import Seat

Choice = TypeVar("Choice")
BOOLEANS = (bool, np.bool_)
"""The types that are not numbers here, though Python, and an older NumPy, takes them for integers."""


def wrong_value(
    name: str, value: object, expected: str, *, owner: str = "", choices: Iterable[str] = ()
) -> ParameterError:
    """The error for a value that a parameter cannot take, with the nearest of the choices that it can.

    >>> print(wrong_value("seat", "x", "one of X, O", choices=["X", "O"]))
    seat='x': expected one of X, O; did you mean X?
    """
    near = nearest(value, choices)
    of_owner = f" of {owner}" if owner else ""
    hint = f"; did you mean {near}?" if near else ""
    return ParameterError(f"{name}={brief(value)}{of_owner}: expected {expected}{hint}")


def one_of(name: str, value: object, allowed: Sequence[Choice]) -> Choice:
    """`value` as one of the allowed values. Raises `ParameterError` otherwise."""
    for choice in allowed:
        if value is choice or (isinstance(value, str) and value == choice):
            return choice
    choices = list(map(str, allowed))
    raise wrong_value(name, value, f"one of {', '.join(choices)}", choices=choices)


def as_seat(seat: object) -> "Seat":
    """`seat` if it is X or O. Raises `ParameterError` otherwise."""
    seats: tuple[Seat, Seat] = ("X", "O")
    return one_of("seat", seat, seats)


def as_text(kind: str, text: object, error: type[TttEnvError]) -> str:
    """`text` without the space around it. Raises `error` unless it is a str of at most `TEXT_LETTERS`."""
    if not isinstance(text, str):
        raise error(f"{kind} is a str, not {brief(text)}")
    if len(text) > TEXT_LETTERS:
        raise error(f"{kind} has at most {TEXT_LETTERS} letters, not {len(text)}: {brief(text)}")
    return text.strip()


def number_of(value: object) -> float | None:
    """`value` as a float; None if it is a truth value, NaN or no real number."""
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:
        return None
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf  # type: ignore[operator]


def integer_of(value: object) -> int | None:
    """`value` as an int; None if it is a truth value or no integer.

    An array, or a tensor of another library, is an integer if it has no dimensions.
    """
    if isinstance(value, int | np.integer):
        return None if isinstance(value, bool) else int(value)
    if getattr(value, "ndim", 0) != 0 or "bool" in str(getattr(value, "dtype", "")):
        return None
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def items_of(values: object, most: int) -> list[Any] | None:
    """The items of a collection, at most one more than `most`; None if it is not a collection."""
    try:
        return list(islice(iter(values), most + 1))  # type: ignore[call-overload]
    except TypeError:
        return None


def as_integer(name: str, value: object, owner: str, least: int, most: int | None = None) -> int:
    """`value` as an int. Raises `ParameterError` unless it is an integer from `least` to `most`."""
    number = integer_of(value)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"≥ {least}" if most is None else f"from {least} to {most}"
        raise wrong_value(name, value, f"an integer {bounds}", owner=owner)
    return number


def as_options(options: object, owner: str) -> Mapping[str, Any]:
    """The options of a `reset`; None for no options. Raises `ParameterError` for anything but a mapping."""
    if options is None:
        return {}
    if isinstance(options, Mapping):
        return options
    raise ParameterError(f"options={brief(options)} of {owner}: expected a dict, such as {{'position': …}}")


def as_weights(name: str, weights: ArrayLike | None, size: int) -> NDArray[np.float64]:
    """The weights scaled so that the largest is 1, `float64[size]`; all 1 for None.

    Raises `ParameterError` unless they are `size` finite numbers ≥ 0, not all 0.
    """
    try:
        numbers = None if isinstance(weights, str | bytes) else items_of(weights, size)
        chances = np.ones(size) if weights is None else np.array(numbers, np.float64)
    except (TypeError, ValueError):
        chances = np.empty(0)
    is_good = chances.shape == (size,) and np.isfinite(chances).all() and (chances >= 0).all()
    if not is_good or not chances.any():
        raise ParameterError(f"{name}={brief(weights)}: expected {size} finite numbers ≥ 0, not all 0")
    return np.asarray(chances / chances.max())


def as_generator(rng: "np.random.Generator | int | None") -> np.random.Generator:
    """`rng` itself or a generator seeded by it, as in NumPy's SPEC 7; for None a freshly seeded one.

    Raises `ParameterError` for anything but a generator or a seed.
    """
    sources = np.random.Generator | np.random.BitGenerator | np.random.SeedSequence
    source = rng if rng is None or isinstance(rng, sources) else integer_of(rng)
    if (source is None and rng is not None) or (isinstance(source, int) and source < 0):
        raise ParameterError(f"rng={brief(rng)}: expected a numpy.random.Generator or a seed ≥ 0")
    return np.random.default_rng(source)
