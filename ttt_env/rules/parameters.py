"""Parameters: declared once, in a signature, with their types and bounds.

`checked` checks the arguments of a call against the declaration; spec strings, `ttt agents` and the page's
controls read it.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from math import inf
from sys import float_info
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from ttt_env.rules.checks import integer_of, number_of, wrong_value

P = ParamSpec("P")
T = TypeVar("T")

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_NUMBERS: dict[type, Callable[[object], float | None]] = {int: integer_of, float: number_of}


@dataclass(frozen=True)
class Between:
    """The numbers that a parameter takes: from `least`, or with `is_open` above it, to `most`.

    It is declared as `Annotated[int, Between(1)]`.
    """

    least: float = 0
    most: float = inf
    is_open: bool = False

    def __contains__(self, number: float) -> bool:
        return self.least <= number <= self.most and not (self.is_open and number == self.least)

    def __str__(self) -> str:
        least = _text(self.least)
        if self.most >= float_info.max:
            return f"> {least}" if self.is_open else f"≥ {least}"
        return (
            f"above {least}, at most {_text(self.most)}"
            if self.is_open
            else f"from {least} to {_text(self.most)}"
        )


Share: TypeAlias = Annotated[float, Between(0, 1)]
"""A probability, or a part of a whole."""

Count: TypeAlias = Annotated[int, Between(1)]
"""A number of things; at least one."""

Seconds: TypeAlias = Annotated[float, Between(0, float_info.max, is_open=True)]
"""A finite time."""

Seed: TypeAlias = Annotated[int, Between(0, (1 << 64) - 1)]


def _text(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


def declared(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The named parameters of a function, or of a class's constructor, with their evaluated annotations."""
    if isinstance(function, type):  # Python 3.11.2 would take the signature of an inherited `__new__`
        constructor: Callable[..., Any] = function.__init__  # type: ignore[misc]
        return dict([*_declared(constructor).items()][1:])
    return _declared(function)


@cache
def _declared(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    unnamed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        p.name: p.replace(annotation=hints.get(p.name, _guess(p)))
        for p in inspect.signature(function).parameters.values()
        if p.kind not in unnamed
    }


def _guess(parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter that has none: the type of its default."""
    return Any if parameter.default in (None, parameter.empty) else type(parameter.default)


def kinds_of(hint: Any) -> Iterator[tuple[Any, Between | None]]:
    """The types of an annotation, each with the bounds of its numbers, if any."""
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        if get_origin(kind) is Annotated:
            yield (
                kind.__origin__,
                next((each for each in kind.__metadata__ if isinstance(each, Between)), None),
            )
        else:
            yield kind, None


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose arguments are checked against its declaration: numbers, flags and choices.

    Numbers of NumPy become Python's. Arguments of other types are not checked.

    >>> @checked
    ... def throw(sides: Annotated[int, Between(1)] = 6, kind: Literal["fair", "loaded"] = "fair"):
    ...     return sides
    >>> throw(0)
    Traceback (most recent call last):
    ttt_env.errors.ParameterError: sides=0: expected an integer ≥ 1
    >>> throw(kind="fare")
    Traceback (most recent call last):
    ttt_env.errors.ParameterError: kind='fare': expected one of fair, loaded; did you mean fair?
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> T:
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError:
            return function(*arguments, **keywords)  # raises the error with the function's name
        for name, parameter in declared(function).items():
            if name in bound.arguments:
                value = bound.arguments[name]
                bound.arguments[name] = checked_value("", name, value, parameter.annotation)
        return function(*bound.args, **bound.kwargs)

    return call


def check_fields(owner: str, settings: Any) -> None:
    """Check the fields of a dataclass or a named tuple as `checked` checks the arguments of a call."""
    for name, hint in get_type_hints(type(settings), include_extras=True).items():
        checked_value(owner, name, getattr(settings, name), hint)


def checked_value(owner: str, name: str, value: Any, hint: Any) -> Any:
    """The value of a parameter. Raises `ParameterError` if its declaration does not allow it.

    `owner` is what has the parameter, such as an agent, if the message is to say so.
    """
    choices: list[object] = []
    others: list[Any] = []
    for kind, bounds in kinds_of(hint):
        if get_origin(kind) is Literal:
            choices += get_args(kind)
        elif kind in _NUMBERS:
            number = _NUMBERS[kind](value)
            if number is not None and (bounds is None or number in bounds):
                return number
        elif kind not in (bool, NoneType):
            others.append(kind)
        elif isinstance(value, kind):
            return value
    is_chosen = any(value is choice or (isinstance(value, str) and value == choice) for choice in choices)
    if is_chosen or (others and not (choices and isinstance(value, str) and str not in others)):
        return value
    raise wrong_value(name, value, allowed(hint), owner=owner, choices=map(str, choices))


def allowed(hint: Any) -> str:
    """The values that a parameter takes, in words.

    >>> allowed(Annotated[float, Between(0, 1)] | None), allowed(bool)
    ('a number from 0 to 1', 'true or false')
    """
    words = []
    for kind, bounds in kinds_of(hint):
        if kind in _NUMBERS:
            words.append(("an integer" if kind is int else "a number") + (f" {bounds}" if bounds else ""))
        elif kind is bool:
            words.append("true or false")
        elif get_origin(kind) is Literal:
            words.append("one of " + ", ".join(map(str, get_args(kind))))
    return " or ".join(words)


def read(owner: str, texts: Mapping[str, str], parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """The values of parameters that are given as texts. Raises `ParameterError` as `checked` does."""
    return {name: read_one(owner, name, text, parameters[name].annotation) for name, text in texts.items()}


def read_one(owner: str, name: str, text: str, hint: Any) -> Any:
    """The value of a parameter that is given as text. Raises `ParameterError` as `checked` does."""
    kinds = [kind for kind, _ in kinds_of(hint)]
    if text == "none" and NoneType in kinds:
        return None
    for kind in (bool, int, float):
        if kind in kinds and text.isascii():
            try:
                value = _BOOLEANS[text.lower()] if kind is bool else kind(text)
            except (ValueError, KeyError):
                continue
            return checked_value(owner, name, value, hint)
    return checked_value(owner, name, text, hint)
