"""Many values that one function has to refuse."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def all_raise(
    error: type[BaseException], text: str, act: Callable[[Any], object], values: Iterable[Any]
) -> None:
    """Fail with the values, if there are any, for which the act does not raise this error.

    The error's text is searched for `text`, a regular expression, in which `{}` stands for the value, as
    `repr` writes it.
    """
    taken = []
    for value in values:
        try:
            act(value)
        except error as told:
            expected = text.replace("{}", re.escape(repr(value)))
            assert re.search(expected, str(told)), f"for {value!r} the error is {told!r}"
        except BaseException as other:
            other.add_note(f"for {value!r}")
            raise
        else:
            taken.append(value)
    if taken:
        pytest.fail(f"these are not errors: {taken}")
