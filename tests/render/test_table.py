"""Tables in all formats, with cells escaped."""

import csv
import io
import re
from html import unescape
from math import isnan
from xml.etree import ElementTree

import pytest

from ttt_env.render.table import Column, Table, as_markdown

NAMES = ["a|b_*c*", "<b> & Söhne", "=1+1"]
TABLE = Table(
    (
        Column("agent", NAMES, is_left=True),
        Column(
            "score", [0.5, None, -0.25], "{:+.1f}".format, key="score_in_all", missing="?", is_tinted=True
        ),
        Column("unknown", [None, None, None]),
    ),
    "A & B",
    ["all exact"],
)


def test_text_is_aligned() -> None:
    assert str(TABLE).splitlines() == [
        "A & B",
        "agent        score",
        "a|b_*c*       +0.5",
        "<b> & Söhne      ?",
        "=1+1          -0.2",
        "all exact",
    ]


def test_markdown_is_escaped() -> None:
    head, rule, *rows = TABLE.to_markdown().splitlines()
    assert (head, rule) == ("| agent | score |", "| --- | --: |")
    assert rows[0] == r"| a\|b\_\*c\* | +0.5 |" and rows[1] == r"| \<b\> \& Söhne | ? |"
    assert Table.of(["game"], [["`0 4`"]]).to_markdown(is_markup=True).endswith("| `0 4` |")


@pytest.mark.parametrize(
    "name",
    ["&copy;", "&lt;b&gt;", "~~x~~", "<b>x</b>", "[a](b)", "C #", "a|b", "- a", "+ a", "1. a", "2) a"],
)
def test_markdown_renders_name_literally(name: str) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt().enable(["table", "strikethrough"])
    for text in (f"# {as_markdown(name)}", f"- {as_markdown(name)}", Table.of([""], [[name]]).to_markdown()):
        shown = re.sub(r"<[^>]+>|\n", "", markdown.render(text))
        assert unescape(shown) == name and "<del>" not in markdown.render(text)


def test_markdown_escapes_dollar_signs() -> None:
    assert as_markdown("$x^$") == r"\$x^\$"


def test_cell_is_one_line() -> None:
    table = Table.of(["reply"], [["half\na | word"]])
    assert table.lines[1:] == ["half a | word"]
    assert table.to_markdown().splitlines()[2:] == [r"| half a \| word |"]


def test_csv_has_all_columns_and_escapes_formulas() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.to_csv())))
    assert [row["agent"] for row in rows] == [*NAMES[:2], "'=1+1"]
    assert [row["score_in_all"] for row in rows] == ["0.5", "", "-0.25"]
    assert all(row["unknown"] == "" for row in rows)
    for first in "=+-@\t\r":
        assert Table.of([f"{first}1"], []).to_csv().strip('"\n') == f"'{first}1"


def test_html_shows_names_and_colours() -> None:
    page = ElementTree.fromstring(TABLE._repr_html_())
    assert ["".join(cell.itertext()) for cell in page.iter("td")][::2] == NAMES
    assert ["rgba" in cell.attrib["style"] for cell in page.iter("td")] == [False, True] * 3


def test_dataframe_has_all_columns() -> None:
    pytest.importorskip("pandas")
    frame = TABLE.to_dataframe()
    assert list(frame.columns) == ["agent", "score_in_all", "unknown"] and list(frame.agent) == NAMES
    assert frame.score_in_all[2] == -0.25 and isnan(frame.score_in_all[1])
