"""Markers for cases that only the slow tests run."""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """These values as a slow case."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but_the_first(values: Any) -> list[Any]:
    """The first value as a fast case, the others as slow cases."""
    first, *others = values
    return [first, *map(slow, others)]


def slow_unless(is_fast: Callable[..., object], *axes: Iterable[Any]) -> list[Any]:
    """The product of the axes as cases: those for which `is_fast` is true are fast, the others slow."""
    return [values if is_fast(*values) else slow(*values) for values in product(*axes)]
