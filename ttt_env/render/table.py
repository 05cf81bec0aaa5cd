"""A table as HTML for notebooks, light and dark."""

from collections.abc import Sequence
from html import escape
from math import isnan
from re import sub

from ttt_env.render.layout import STONE

_TABLE = "border-collapse:separate;border-spacing:2px;margin:6px 0;color:inherit"
_CELL = "padding:4px 8px;font-variant-numeric:tabular-nums"
_MAX_STRENGTH = 0.55  # of a colour at a value of ±1: the page's text is legible on it, be it black or white


def draw_table(
    title: str, rows: Sequence[Sequence[str]], values: Sequence[Sequence[float]], notes: Sequence[str]
) -> str:
    """The rows as an HTML table, the first one its head; all columns but the second are set to the right.

    The last cells of each row below the head are coloured by its `values` in [−1, 1]; NaN stays plain.
    """
    head, *body = rows
    lines = [_row("th", head, [])]
    lines += [_row("td", cells, shades) for cells, shades in zip(body, values, strict=True)]
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return (
        f'<div style="overflow-x:auto"><div style="font-weight:bold">{escape(title)}</div>'
        f'<table style="{_TABLE}">{"".join(lines)}</table>'
        f'<div style="opacity:.75;font-size:90%">{below}</div></div>'
    )


def _row(tag: str, cells: Sequence[str], values: Sequence[float]) -> str:
    styles = ["text-align:right"] * (len(cells) - len(values)) + [_coloured(value) for value in values]
    styles[1] = "text-align:left"
    tags = (
        f'<{tag} style="{_CELL};{style}">{_breakable(cell)}</{tag}>'
        for cell, style in zip(cells, styles, strict=True)
    )
    return f'<tr style="background:none">{"".join(tags)}</tr>'


def _breakable(cell: str) -> str:
    """The cell as HTML in which a long spec string may be broken between its parameters."""
    return sub("([:,])", r"\1<wbr/>", escape(cell))


def _coloured(value: float) -> str:
    """The style of a cell: blue for a value above 0, red below, the page's background at 0."""
    strength = 0 if isnan(value) else _MAX_STRENGTH * abs(value)
    red, green, blue = bytes.fromhex(STONE["O" if value > 0 else "X"][1:])
    return f"text-align:right;background:rgba({red},{green},{blue},{strength:.2f})"
