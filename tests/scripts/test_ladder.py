"""The tables of the classical agents equal the results of `scripts/ladder.py`."""

import re

import ladder
import pytest

import ttt_env
from tests.support.documents import ROOT

TEXT = (ROOT / "docs" / "results" / "agents.md").read_text("utf-8")


def table_of(game):
    """The rows of the page's table by agent."""
    text = re.search(f"<!-- ladder {game} -->\n(.*?)<!-- end", TEXT, re.DOTALL)[1]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {row[0]: ladder.Row(*row) for row in rows[2:]}


ROWS = {game: table_of(game) for game in ("tictactoe-v0", "square-v0", "mnk-v0:m=4,n=4,k=4")}


@pytest.mark.parametrize("game", ROWS)
def test_tables_omit_only_agents_with_figures_of_others(game):
    assert set(ladder.AGENTS) - set(ROWS[game]) <= set(ladder.SAME)


@pytest.mark.parametrize("name", ["random", "weights", "minimax"])
def test_rows_of_tictactoe(name):
    assert ladder.row(name, ttt_env.get_game("tictactoe-v0")) == ROWS["tictactoe-v0"][name]


def test_table_is_sorted_and_without_rows_of_same_figures():
    rows = list(ROWS["mnk-v0:m=4,n=4,k=4"].values())
    same = next(row for row in rows if row.name == "minimax")._replace(name="lookup")
    assert ladder.in_table([*rows[5:], same, *rows[:5]]) == rows


@pytest.mark.slow
@pytest.mark.parametrize(("game", "name"), [(game, name) for game, rows in ROWS.items() for name in rows])
def test_rows_equal_computed_ones(game, name):
    assert ladder.row(name, ttt_env.get_game(game)) == ROWS[game][name]
