"""Fingerprints of functions, so that kept answers of one that was edited are not taken for the new one's."""

from collections.abc import Iterator
from dis import get_instructions
from functools import partial
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any

_DIGITS = 12
_PLAIN = (str, bytes, int, float, complex, type(None), type(...))
_ASSIGNED = ("STORE_DEREF", "STORE_GLOBAL")


def function_name(function: object) -> str:
    """The qualified name of a function, or that of the class of an object that can be called."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def fingerprint(function: object) -> str:
    """Twelve hexadecimal digits of a function's code, the same in each run with one version of Python.

    Looked at are the function, those of the same module that it names, and the numbers and texts among their
    defaults and the variables from outside that they read but do not assign. Of an object that can be called
    it is the code of its `__call__`. What else it reads, such as attributes, weights or other modules, is not
    looked at.
    """
    return sha256("\n".join(_traits(function, set())).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _traits(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, _PLAIN):
        yield repr(value)
    elif isinstance(value, tuple | frozenset):
        parts = [" ".join(_traits(each, seen)) for each in value]
        yield from parts if isinstance(value, tuple) else sorted(parts)
    elif isinstance(value, CodeType):
        yield f"{value.co_code.hex()} {value.co_names}"
        yield from _traits(value.co_consts, seen)
    elif isinstance(value, partial):
        yield from _traits((value.func, value.args, tuple(sorted(value.keywords.items()))), seen)
    elif isinstance(value, MethodType):
        yield from _traits(value.__func__, seen)
    elif isinstance(value, FunctionType):
        if id(value) not in seen:
            seen.add(id(value))
            defaults = tuple((value.__kwdefaults__ or {}).items())
            yield from _traits((value.__code__, value.__defaults__, defaults), seen)
            for name, used in _used_by(value):
                yield f"{name}: {' '.join(_traits(used, seen))}"
    elif callable(value) and isinstance(call := type(value).__call__, FunctionType):
        yield from _traits(call, seen)


def _used_by(function: FunctionType) -> Iterator[tuple[str, object]]:
    """The numbers, texts and functions of its module that it reads from outside and does not assign."""
    codes, read, assigned = [function.__code__], dict[str, object](), set[str]()
    closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for code in codes:
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
        read |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
        assigned |= {each.argval for each in get_instructions(code) if each.opname in _ASSIGNED}
    for name, cell in closure:
        try:
            read[name] = cell.cell_contents
        except ValueError:  # it is assigned later
            continue
    for name, value in sorted(read.items()):
        is_of_module = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if name not in assigned and (is_of_module or isinstance(value, (*_PLAIN, tuple, frozenset))):
            yield name, value
