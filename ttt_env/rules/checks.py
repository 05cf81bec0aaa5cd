"""Checks of arguments at the boundary: each function returns the checked value or raises the named error."""

import os
from collections.abc import Sequence
from math import inf, nan
from numbers import Real
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttt_env.errors import ParameterError, TttEnvError, shown, unknown
from ttt_env.rules.sizes import TEXT_LETTERS

if TYPE_CHECKING:
    from ttt_env.rules.game import Seat

Choice = TypeVar("Choice")
BOOLEANS = (bool, np.bool_)
"""What is no number here, though Python, and an older NumPy, takes it for an integer."""


def one_of(name: str, value: object, allowed: Sequence[Choice]) -> Choice:
    """`value` as one of the allowed values. Raises `ParameterError` if it is none of them."""
    for choice in allowed:
        if value is choice or (isinstance(value, str) and value == choice):
            return choice
    raise ParameterError(unknown(name, value, map(str, allowed)))


def as_seat(seat: object) -> "Seat":
    """`seat` if it is X or O. Raises `ParameterError` otherwise."""
    seats: tuple[Seat, Seat] = ("X", "O")
    return one_of("seat", seat, seats)


def as_text(kind: str, text: object, error: type[TttEnvError]) -> str:
    """`text` without the space around it. Raises `error` unless it is a str of at most `TEXT_LETTERS`."""
    if not isinstance(text, str):
        raise error(f"{kind} is a str, not {shown(text)}")
    if len(text) > TEXT_LETTERS:
        raise error(f"{kind} has at most {TEXT_LETTERS} letters, not {len(text)}: {shown(text)}")
    return text.strip()


def as_number(name: str, value: object, owner: str, most: float = inf) -> float:
    """`value` as a float. Raises `ParameterError` unless it is a real number in [0, `most`]."""
    number = _as_float(value)
    if 0 <= number <= most:
        return number
    raise ParameterError(f"{name}={shown(value)} of {owner}: numbers from 0 to {most:g} are allowed")


def as_seconds(name: str, value: object, owner: str) -> float:
    """`value` as a float. Raises `ParameterError` unless it is a positive finite number."""
    number = _as_float(value)
    if 0 < number < inf:
        return number
    raise ParameterError(f"{name}={shown(value)} of {owner}: positive finite numbers are allowed")


def _as_float(value: object) -> float:
    """`value` as a float; NaN if it is no real number."""
    try:
        return nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        return nan


def as_integer(name: str, value: object, owner: str, least: int, most: int | None = None) -> int:
    """`value` as an int. Raises `ParameterError` unless it is an integer from `least` to `most`."""
    number = index(value) if hasattr(value, "__index__") and not isinstance(value, BOOLEANS) else least - 1
    if number < least or (most is not None and number > most):
        upper_bound = "on" if most is None else f"to {most}"
        raise ParameterError(
            f"{name}={shown(value)} of {owner}: integers from {least} {upper_bound} are allowed"
        )
    return number


def as_bool(name: str, value: object, owner: str) -> bool:
    """True or False as it is. Raises `ParameterError` for anything else, also for 0 and 1."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name}={value!r} of {owner}: True and False are allowed")
    return value


def as_weights(name: str, weights: ArrayLike | None, size: int) -> NDArray[np.float64]:
    """The weights scaled so that the largest is 1, `float64[size]`; None: all of them 1.

    Raises `ParameterError` unless they are `size` finite numbers ≥ 0, not all 0.
    """
    try:
        chances = np.ones(size) if weights is None else np.array(weights, np.float64)
    except (TypeError, ValueError, OverflowError):
        chances = np.empty(0)
    is_good = chances.shape == (size,) and np.isfinite(chances).all() and (chances >= 0).all()
    if not is_good or not chances.any():
        raise ParameterError(f"{name}={shown(weights)}: {size} finite numbers ≥ 0, not all 0, are needed")
    return np.asarray(chances / chances.max())


def as_path(name: str, path: object, owner: str) -> Path:
    """`path` as a `Path`. Raises `ParameterError` unless it is a path, of a name that a file can have."""
    try:
        if b"\0" not in os.fsencode(os.fspath(path)) and not isinstance(path, bytes):  # type: ignore[call-overload]
            return Path(path)  # type: ignore[arg-type]
    except (TypeError, UnicodeEncodeError):
        pass
    raise ParameterError(f"{name}={shown(path)} of {owner}: the path of a file is needed")


def as_generator(rng: "np.random.Generator | int | None") -> np.random.Generator:
    """`rng` itself or a generator seeded by it, as in NumPy's SPEC 7; None: one with a fresh random seed.

    Raises `ParameterError` for what is neither a generator nor a seed.
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ParameterError(
            f"rng={shown(rng)}: a numpy.random.Generator or a seed from 0 on is needed"
        ) from None
