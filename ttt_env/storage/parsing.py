"""The text of JSON and TOML, read strictly."""

import codecs
import json
import tomllib
from typing import Any

from ttt_env.errors import FileError, brief


def text_of(content: str | bytes) -> str:
    """Text from outside: UTF-8 with or without a byte-order mark, or UTF-16 with one.

    Raises `UnicodeDecodeError`, which is a `ValueError`, for other bytes.
    """
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf16 else "utf-8-sig")


def parse_json(text: str | bytes) -> Any:
    """The value of JSON text.

    Raises `FileError` for other text, for an object that has a key twice, and for NaN and Infinity,
    which are not JSON.
    """
    try:
        return json.loads(text_of(text), object_pairs_hook=_unique_keys, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise FileError(f"it is not JSON: {error}") from error


def parse_toml(text: str | bytes) -> dict[str, Any]:
    """The table of TOML text. Raises `FileError` for other text."""
    try:
        return tomllib.loads(text_of(text).replace("\r\n", "\n"))
    except (
        ValueError,
        RecursionError,
    ) as error:  # bytes that are not UTF-8, and endless numbers, too
        raise FileError(f"it is not TOML: {error}") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicates = [key for key in entries if keys.count(key) > 1]
        raise FileError(f"the key {brief(duplicates[0])} is repeated")
    return entries


def _reject_constant(name: str) -> None:
    raise FileError(f"{name} is not a JSON number")
