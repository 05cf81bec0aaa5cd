"""Texts in Markdown with tables that a script makes, each between two marks with its name."""

import re
from pathlib import Path


def with_table(text: str, rows: str, name: str = "table") -> str:
    """The text with the table of this name between its two marks. Raises `ValueError` without the marks."""
    between = re.compile(f"(?<=<!-- {name}: begin -->\n).*?(?=<!-- {name}: end -->)", re.DOTALL)
    changed, n_changed = between.subn(lambda _: rows, text)
    if n_changed != 1:
        raise ValueError(f"there are {n_changed} places for the table {name!r}, expected one")
    return changed


def write_table(path: Path, rows: str, name: str = "table") -> None:
    """Write the table into the file."""
    path.write_text(with_table(path.read_text("utf-8"), rows, name), "utf-8")
