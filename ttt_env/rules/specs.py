"""Spec strings, `name`, `name:value` or `name:key=value,key=value`, for games and agents.

A parameter that is true or false may be named alone: `tictactoe-v0:misere`. Spaces around names, `:`, `,` and
`=` do not count. Text in round brackets is one item: `mixture:(epsilon:minimax,epsilon=0.2)+rules`.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from inspect import Parameter
from typing import NamedTuple

from ttt_env.errors import ParameterError, brief, unknown
from ttt_env.rules.checks import as_text
from ttt_env.rules.sizes import SPEC_DEPTH

_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(.*?)\s*", re.DOTALL)
_DRIVE = re.compile(r"\s*[A-Za-z]\s*:[\\/]")  # the beginning of an absolute path on Windows


class Spec(NamedTuple):
    """A parsed spec string: the name, and the items after its colon as they were written."""

    name: str
    items: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}:{','.join(self.items)}" if self.items else self.name

    @property
    def keywords(self) -> dict[str, str]:
        """The items of the form `key=value`."""
        return {match[1]: match[2] for match in map(_KEYWORD.fullmatch, self.items) if match}

    @property
    def value(self) -> str | None:
        """The text of the items of any other form, if there are some."""
        return as_value(item for item in self.items if not _KEYWORD.fullmatch(item))


def split_spec(text: str) -> Spec:
    """Parse a spec string.

    Raises `ParameterError` for anything but a str, for text that is too long (`TEXT_LETTERS`) or nested too
    deeply (`SPEC_DEPTH`), and for a bracket in the name.

    >>> split_spec("epsilon: minimax, epsilon=0.1")
    Spec(name='epsilon', items=(' minimax', ' epsilon=0.1'))
    """
    text = as_text("a spec", text, ParameterError)
    if depth_of(text) > SPEC_DEPTH:
        raise ParameterError(f"{brief(text)} has more than {SPEC_DEPTH} nested colons and brackets")
    text = strip_brackets(text)
    name = split_items(text, ":")[0] if text else ""
    if "(" in name or ")" in name:
        raise ParameterError(f"{brief(text)} has an unmatched round bracket")
    rest = text[len(name) + 1 :]
    return Spec(name.strip(), tuple(split_items(rest)))


def split_items(text: str, separator: str = ",") -> list[str]:
    """The items of a text; separators inside round brackets, and the colon of a drive, do not count.

    >>> split_items("(softmax:temperature=1,opponent_temperature=2),epsilon=0.1")
    ['(softmax:temperature=1,opponent_temperature=2)', 'epsilon=0.1']
    >>> split_items("C:/bot.py:choose", ":")
    ['C:/bot.py', 'choose']
    """
    items, begin, depth = [], 0, 0
    for at, letter in enumerate(text):
        if letter == "(":
            depth += 1
        elif letter == ")":
            depth = max(0, depth - 1)
        elif letter == separator and depth == 0 and not _DRIVE.fullmatch(text, begin, at + 2):
            items.append(text[begin:at])
            begin = at + 1
    return [*items, text[begin:]] if text else []


def strip_brackets(text: str) -> str:
    """The text without the round brackets that enclose all of it.

    >>> strip_brackets("((a:b))"), strip_brackets("(a:b)+(c:d)")
    ('a:b', '(a:b)+(c:d)')
    """
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closing(text: str) -> int:
    """The index of the bracket that closes the first one, −1 if it is not closed."""
    depth = 0
    for match in re.finditer(r"[()]", text):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.start()
    return -1


def depth_of(text: str) -> int:
    """The largest number of colons and brackets around one letter of a spec; a comma or plus ends colons."""
    max_depth, depth, outer = 0, 0, [0]
    for letter in text:
        if letter == "(":
            depth += 1
            outer.append(depth)
        elif letter == ")" and len(outer) > 1:
            depth = outer.pop() - 1
        elif letter == ":":
            depth += 1
        elif letter in ",+":
            depth = outer[-1]
        max_depth = max(max_depth, depth)
    return max_depth


def read_items(spec: Spec, parameters: Mapping[str, Parameter]) -> tuple[dict[str, str], list[str]]:
    """The texts of these parameters that a spec gives, and the remaining items.

    Raises `ParameterError` for a parameter that is given twice.
    """
    texts: dict[str, str] = {}
    others = []
    for item in spec.items:
        match = _KEYWORD.fullmatch(item)
        name = match[1] if match else item.strip()
        is_flag = not match and name in parameters and parameters[name].annotation is bool
        if name not in parameters or not (match or is_flag):
            others.append(item)
        elif name in texts:
            raise ParameterError(f"{brief(str(spec))} gives {name} twice")
        else:
            texts[name] = match[2] if match else "true"
    return texts, others


def key_of(item: str) -> str | None:
    """The key of an item of the form `key=value`; None for another item."""
    match = _KEYWORD.fullmatch(item)
    return match[1] if match else None


def as_value(items: Iterable[str]) -> str | None:
    """The items joined to the text of one value; None if it is empty."""
    return ",".join(items).strip() or None


def joined_path(owner: str, items: Iterable[str], allowed: Mapping[str, object]) -> str | None:
    """The items joined to a path, which may contain `=` and commas; None if it is empty.

    Raises `ParameterError` where the text before a `=` is nearly the name of a parameter, but not quite.
    """
    items = list(items)
    check_names(
        owner, [key for key in map(key_of, items) if key and get_close_matches(key, allowed)], allowed
    )
    return as_value(items)


def check_names(
    owner: str, names: Iterable[str | None], allowed: Collection[str], noun: str = "parameter"
) -> None:
    """Raise `ParameterError` for the first of `names` that is not in `allowed`; `noun` says what they are."""
    for name in names:
        if name not in allowed:
            raise ParameterError(unknown(f"{noun} of {owner}", name, allowed))


def with_parameters(text: str, parameters: Mapping[str, object]) -> str:
    """The spec with these parameters added, unless it gives them itself.

    >>> with_parameters("bot.py:choose,timeout=9", {"timeout": 2, "startup": 5})
    'bot.py:choose,timeout=9,startup=5'
    """
    spec = split_spec(text)
    added = [f"{key}={spec_text(value)}" for key, value in parameters.items() if key not in spec.keywords]
    return str(Spec(spec.name, (*spec.items, *added)))


def spec_text(value: object) -> str:
    """The value of a parameter as it is written in a spec string.

    >>> spec_text(None), spec_text(True), spec_text(0.1 + 0.2)
    ('none', 'true', '0.3')
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
