"""Cases that are left to the slow tests."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """These values as a case of a slow test."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but_the_first(values: Any) -> list[Any]:
    """One case of the fast tests, and the others."""
    first, *others = values
    return [first, *map(slow, others)]


def slow_unless(is_fast: Callable[..., object], *axes: Iterable[Any]) -> list[Any]:
    """The product of the axes as cases: those for which `is_fast` is true are fast, the others slow."""
    return [values if is_fast(*values) else slow(*values) for values in product(*axes)]
