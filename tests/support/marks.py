"""Cases that are left to the slow tests."""

from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """These values as a case of a slow test."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but_the_first(values: Any) -> list[Any]:
    """One case of the fast tests, and the others."""
    first, *others = values
    return [first, *map(slow, others)]
