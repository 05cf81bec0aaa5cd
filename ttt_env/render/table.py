"""A table of results, written as text, Markdown, CSV, HTML, and as a data frame."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import nan
from typing import TYPE_CHECKING, Any, Self

from ttt_env.errors import extra_for
from ttt_env.render.layout import STONE

if TYPE_CHECKING:
    from pandas import DataFrame

_TABLE = "border-collapse:separate;border-spacing:2px;margin:6px 0;color:inherit"
_CELL = "padding:4px 8px;font-variant-numeric:tabular-nums"
_MAX_STRENGTH = 0.55  # of a colour at ±1: black and white text is legible on it
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first letters of formulas in spreadsheets
_MARKUP = re.compile(r"[\\`*_\[\]<>|#&~$]|^[-+](?=\s)|(?<=\d)[.)](?=\s)")
"""Letters that are Markdown anywhere, and those that begin an item of a list."""


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and a value in each row, None where it is missing.

    `text` formats a value for readers, `data` returns the number that CSV files and data frames hold instead,
    by default the value itself. `key` is the heading there, by default `name`. In HTML a column that
    `is_tinted` is coloured by its numbers in [−1, 1].
    """

    name: str
    values: Sequence[Any]
    text: Callable[[Any], str] = str
    data: Callable[[Any], Any] = lambda value: value
    key: str | None = None
    missing: str = ""
    is_left: bool = False
    is_tinted: bool = False

    @property
    def texts(self) -> list[str]:
        """The values as readers see them."""
        return [self.missing if value is None else self.text(value) for value in self.values]

    @property
    def numbers(self) -> list[Any]:
        """The values as data files hold them, None where one is missing."""
        return [None if value is None else self.data(value) for value in self.values]

    def html(self) -> Iterator[str]:
        """Heading and values as cells of HTML."""
        style = f"{_CELL};text-align:{'left' if self.is_left else 'right'}"
        tag = "th" if self.name else "td"  # an empty heading is not a heading
        yield f'<{tag} style="{style}">{_breakable(self.name)}</{tag}>'
        for text, number in zip(self.texts, self.numbers, strict=True):
            tint = ""
            if self.is_tinted:  # blue for a number above 0, red below, the page's background at 0
                shade = number or 0
                red, green, blue = bytes.fromhex(STONE["O" if shade > 0 else "X"][1:])
                tint = f";background:rgba({red},{green},{blue},{_MAX_STRENGTH * abs(shade):.2f})"
            yield f'<td style="{style}{tint}">{_breakable(text)}</td>'


@dataclass(frozen=True, repr=False)
class Table:
    """Columns of one length, with a title above them and notes below.

    Columns without any value are omitted for readers; CSV files and data frames have them all.

    >>> print(Table((Column("agent", ["random", "minimax"], is_left=True), Column("score", [-0.5, None]))))
    agent    score
    random    -0.5
    minimax
    """

    columns: Sequence[Column]
    title: str = ""
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, head: Sequence[str], rows: Sequence[Sequence[Any]], sides: str = "l") -> Self:
        """The table of these rows; `sides` has `l` or `r` for each column, `r` for the rest."""
        places = enumerate(zip(head, sides.ljust(len(head), "r"), strict=True))
        return cls(
            [Column(name, [row[at] for row in rows], is_left=side == "l") for at, (name, side) in places]
        )

    @property
    def _visible_columns(self) -> list[Column]:
        return [
            each
            for each in self.columns
            if not each.values or any(value is not None for value in each.values)
        ]

    def _rows(self, written: Callable[[str], str] = str) -> list[list[str]]:
        columns = [[column.name, *column.texts] for column in self._visible_columns]
        return [[written(text) for text in row] for row in zip(*columns, strict=True)]

    @property
    def lines(self) -> list[str]:
        """Heading and rows as lines of text, in columns as wide as their longest cell."""
        rows = self._rows(_in_one_line)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        ways = [str.ljust if column.is_left else str.rjust for column in self._visible_columns]
        return [
            "  ".join(way(text, width) for way, text, width in zip(ways, row, widths, strict=True)).rstrip()
            for row in rows
        ]

    def __str__(self) -> str:
        return "\n".join([*([self.title] if self.title else []), *self.lines, *self.notes])

    def to_markdown(self, is_markup: bool = False) -> str:
        """The table in Markdown; `is_markup` for cells that are Markdown themselves."""
        head, *rows = self._rows(_in_one_line if is_markup else as_markdown)
        rule = ["---" if column.is_left else "--:" for column in self._visible_columns]
        return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])

    def to_csv(self) -> str:
        """The table with all digits, empty where a value is missing, without formulas for spreadsheets."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = [[column.key or column.name, *column.numbers] for column in self.columns]
        for row in zip(*columns, strict=True):
            # Escape the first letter of a formula (CSV injection).
            writer.writerow(
                [
                    f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
                    for value in row
                ]
            )
        return text.getvalue()

    def to_html(self) -> str:
        """Title, table and notes as HTML that fits light and dark pages."""
        rows = zip(*(column.html() for column in self._visible_columns), strict=True)
        body = "".join(f'<tr style="background:none">{"".join(row)}</tr>' for row in rows)
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        return (
            '<div style="overflow-x:auto" tabindex="0">'
            f'<div style="font-weight:bold">{escape(self.title)}</div>'
            f'<table style="{_TABLE}">{body}</table>'
            f'<div style="opacity:.75;font-size:90%">{notes}</div></div>'
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_dataframe(self) -> "DataFrame":
        """The table as a pandas data frame, NaN where a value is missing.

        Raises `ImportError` if pandas, of the extra `dataframe`, is not installed.
        """
        with extra_for("data frames need", "dataframe"):
            from pandas import DataFrame
        return DataFrame(
            {
                column.key or column.name: [nan if number is None else number for number in column.numbers]
                for column in self.columns
            }
        )


def as_markdown(text: str) -> str:
    r"""A text that shows itself in Markdown.

    >>> print(as_markdown("a|b"))
    a\|b
    """
    return _MARKUP.sub(r"\\\g<0>", _in_one_line(text))


def _in_one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _breakable(text: str) -> str:
    """The cell as HTML in which a long spec string may be broken between its parameters."""
    return re.sub("([:,])", r"\1<wbr/>", escape(text))
