"""Calls, spec strings and help follow the declared signatures."""

from collections.abc import Sequence
from math import inf, nan
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from ttt_env.errors import ParameterError
from ttt_env.rules import Between, Count, Seconds, Share, checked
from ttt_env.rules.parameters import allowed, checked_value, declared, read

KINDS: dict[Any, tuple[list[Any], list[Any], str]] = {  # Accepted values, refused values, description.
    Count: ([1, np.int8(3), np.array(4)], [0, -1, 1.5, "1", None, True, np.True_, nan], "an integer ≥ 1"),
    Count | None: ([1, None], [0, "none", False], "an integer ≥ 1"),
    Count | float: ([10**5000, 0.5], ["1"], "an integer ≥ 1 or a number"),
    Annotated[int, Between(0, 9)]: ([0, 9], [-1, 10, 10**5000], "an integer from 0 to 9"),
    Annotated[int, Between(0, 2**64 - 1)]: (
        [2**64 - 1],
        [2**64],
        "an integer from 0 to 18446744073709551615",
    ),
    Share: ([0, 1, 0.5, np.float32(0.25)], [-0.1, 1.1, nan, "0.5", None, True], "a number from 0 to 1"),
    Seconds: ([1e-9, 3], [0, -1, inf, nan, 10**5000], "a number > 0"),
    Annotated[float, Between(0)]: ([0, inf], [-1e-9, nan, -inf], "a number ≥ 0"),
    bool: ([True, False], [0, 1, "true", None], "true or false"),
    Literal["lose", "raise"]: (["lose"], ["loose", None, 1, ["lose"]], "one of lose, raise"),
    Literal["lose", None]: ([None, "lose"], ["none"], "one of lose, None"),
    Literal["even"] | Sequence[float]: (["even", [1, 2]], ["odd"], "one of even"),
    str: (["anything", None, 3], [], ""),
}


@pytest.mark.parametrize("hint", KINDS, ids=str)
def test_type_accepts_only_its_values(hint: Any) -> None:
    taken, refused, words = KINDS[hint]
    for value in taken:
        found = checked_value("it", "x", value, hint)
        assert found == value and not isinstance(found, np.generic)
    for value in refused:
        with pytest.raises(ParameterError, match=r"x=.* of it: expected "):
            checked_value("it", "x", value, hint)
    assert allowed(hint) == words


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (Count, "12", 12),
        (Count | None, "none", None),
        (Share, "0.5", 0.5),
        (Share, "1", 1.0),
        (bool, "TRUE", True),
        (bool, "0", False),
        (Literal["any", "fast"], "fast", "fast"),
        (Annotated[str, "choice"], "3+4", "3+4"),
        (int | str, "four", "four"),
    ],
)
def test_text_is_converted_to_type(hint: Any, text: str, value: Any) -> None:
    def function(x: hint) -> None: ...  # type: ignore[valid-type]

    found = read("it", {"x": text}, declared(function))["x"]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("text", ["", "x", "٣", "1.5", "0", "nan", "1e400"])
def test_invalid_text_is_refused(text: str) -> None:
    def function(x: Count) -> None: ...

    with pytest.raises(ParameterError, match=r"x=.* of it: expected an integer ≥ 1"):
        read("it", {"x": text}, declared(function))


def test_checked_call_validates_all_arguments() -> None:
    class Thing:
        @checked
        def __init__(
            self, n: Count, *, share: Share = 0.5, kind: Literal["a", "b"] = "a", **more: Any
        ) -> None:
            self.given = n, share, kind, more

    assert Thing(np.int64(2), share=1, z=3).given == (2, 1.0, "a", {"z": 3})
    assert type(Thing(np.int64(2)).given[0]) is int
    for arguments, keywords, message in [
        ((0,), {}, "n=0: expected an integer ≥ 1"),
        ((1,), {"share": 2}, "share=2: expected a number from 0 to 1"),
        ((1,), {"kind": "c"}, "kind='c': expected one of a, b"),
    ]:
        with pytest.raises(ParameterError, match=message):
            Thing(*arguments, **keywords)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required positional argument: 'n'"):
        Thing()  # type: ignore[call-arg]
    assert [*declared(Thing)] == ["n", "share", "kind"] and declared(Thing)["share"].default == 0.5
