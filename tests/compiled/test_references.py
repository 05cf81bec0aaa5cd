"""Named tuples handed on by their address: the same numbers as by their fields."""

from typing import NamedTuple

import numpy as np
import pytest

from ttt_env.compiled.compiler import compiled, inner
from ttt_env.compiled.references import by_reference


class Inside(NamedTuple):
    columns: np.ndarray
    is_open: bool


class Outside(NamedTuple):
    rows: np.ndarray
    inside: Inside
    factor: float


@inner
def total(outside, inside):
    outside.rows[0, 1] += 1
    if not inside.is_open:
        return -1.0
    return outside.factor * (outside.rows.sum() + inside.columns[2])


@compiled
def changed_total(outside):
    outside = by_reference(outside)
    return total(outside, outside.inside)


@pytest.mark.parametrize("is_open", [True, False])
def test_fields_are_read_and_arrays_written_at_the_address(is_open):
    outside = Outside(np.ones((2, 3)), Inside(np.arange(4), is_open), 0.5)
    assert changed_total(outside) == (0.5 * (7 + 2) if is_open else -1.0)
    assert outside.rows[0, 1] == 2


def test_anything_but_a_named_tuple_is_refused():
    @compiled
    def refused(numbers):
        return by_reference(numbers)

    with pytest.raises(Exception, match="by_reference"):
        refused(np.zeros(2))
