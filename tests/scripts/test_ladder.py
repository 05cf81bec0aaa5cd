"""The tables of the classical agents equal the results of `scripts/ladder.py`."""

import re

import ladder
import pytest

import ttt_env
from tests.support.documents import ROOT

GAMES = ["tictactoe-v0", "square-v0", "mnk-v0:m=4,n=4,k=4"]
TEXT = (ROOT / "docs" / "results" / "agents.md").read_text("utf-8")


def table_of(game):
    """The rows of the page's table by agent."""
    text = re.search(f"<!-- ladder {game} -->\n(.*?)<!-- end", TEXT, re.DOTALL)[1]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row for row in rows[2:]}


def computed(game, agents):
    played = ttt_env.tournament(list(dict.fromkeys([*agents, *ladder.OPPONENTS])), game)
    return {row[0]: row for row in ladder.rows(played, agents)}


@pytest.mark.parametrize("game", GAMES)
def test_tables_omit_only_agents_with_figures_of_others(game):
    assert set(ladder.AGENTS) - set(table_of(game)) <= set(ladder.SAME)


def test_rows_of_tictactoe():
    table, agents = table_of("tictactoe-v0"), ["random", "weights"]
    assert computed("tictactoe-v0", agents) == {name: table[name] for name in agents}


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_tables_equal_computed_rows(game):
    table = table_of(game)
    assert computed(game, list(table)) == table
