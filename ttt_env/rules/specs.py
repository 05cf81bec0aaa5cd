"""Spec strings, `name`, `name:value` or `name:key=value,key=value`, for games and agents alike."""

import inspect
import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, NamedTuple, get_args, get_type_hints

from ttt_env.errors import ParameterError, unknown

_KEYWORD = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class Spec(NamedTuple):
    """A parsed spec string. `value` is the text that stands without a key, if any."""

    name: str
    value: str | None
    keywords: dict[str, str]


def split_spec(text: str) -> Spec:
    """Parse a spec string.

    >>> split_spec("epsilon:minimax,epsilon=0.1")
    Spec(name='epsilon', value='minimax', keywords={'epsilon': '0.1'})
    """
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    name, _, rest = text.partition(":")
    keywords, plain = {}, []
    for item in split_items(rest):
        match = _KEYWORD.fullmatch(item.strip())
        if match is None:
            plain.append(item)
        elif match[1] in keywords:
            raise ParameterError(f"{text!r} gives {match[1]} twice")
        else:
            keywords[match[1]] = match[2]
    return Spec(name, ",".join(plain) or None, keywords)


def split_items(text: str, separator: str = ",") -> list[str]:
    """The items of a text; separators inside round brackets do not count.

    >>> split_items("(softmax:temperature=1,opponent_temperature=2),epsilon=0.1")
    ['(softmax:temperature=1,opponent_temperature=2)', 'epsilon=0.1']
    """
    items, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == separator and depth == 0:
            items.append("")
        else:
            items[-1] += letter
    return items if text else []


def parameters_of(function: Callable[..., Any], skip: int = 0) -> dict[str, inspect.Parameter]:
    """The named parameters that `function` takes, without the first `skip` ones."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    return {p.name: p for p in parameters if p.kind not in kinds}


def check_names(owner: str, names: Mapping[str, object], allowed: Mapping[str, object]) -> None:
    """Raise `ParameterError` for the first of `names` that is not in `allowed`."""
    for name in names:
        if name not in allowed:
            raise ParameterError(unknown(f"parameter of {owner}", name, allowed))


def convert(owner: str, function: Callable[..., Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """The texts as values of the types that `function` is annotated with."""
    hints = get_type_hints(function)
    return {key: _convert_one(owner, key, text, hints.get(key, str)) for key, text in texts.items()}


def _convert_one(owner: str, key: str, text: str, hint: Any) -> Any:
    kinds = get_args(hint) or (hint,)
    if text == "none" and NoneType in kinds:
        return None
    for kind in (bool, int, float, str):
        if kind in kinds:
            try:
                return _BOOLEANS[text.lower()] if kind is bool else kind(text)
            except (ValueError, KeyError):
                continue
    names = ", ".join(getattr(kind, "__name__", str(kind)) for kind in kinds if kind is not NoneType)
    raise ParameterError(f"{key}={text!r} of {owner} is not a value of type {names}")
