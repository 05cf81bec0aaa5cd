"""Check that one function refuses many values."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def all_raise(
    error: type[BaseException], text: str, act: Callable[[Any], object], values: Iterable[Any]
) -> None:
    """Fail with the values, if any, for which `act` does not raise this error.

    `text` is a regular expression that must match the error's text; `{}` in it stands for the `repr` of the
    value.
    """
    accepted = []
    for value in values:
        try:
            act(value)
        except error as caught:
            expected = text.replace("{}", re.escape(repr(value)))
            assert re.search(expected, str(caught)), f"for {value!r} the error is {caught!r}"
        except BaseException as other:
            other.add_note(f"for {value!r}")
            raise
        else:
            accepted.append(value)
    if accepted:
        pytest.fail(f"these are not errors: {accepted}")
