"""See as an evaluation: one figure a cell, tints, the best moves, a bar, and estimates that grow."""

import re
from html import unescape

import pytest

from ttt_env import get_game, prove, solve
from ttt_env.app.web.insight import SEARCHES, InsightSolver
from ttt_env.app.web.table import PlayTable

TICTACTOE, QUBIC, GOMOKU = map(get_game, ("tictactoe-v0", "qubic-v0", "mnk-v0:m=9,n=9,k=5"))


@pytest.fixture(scope="module")
def insight_solver(roster):
    return InsightSolver(roster)


def table_of(game, *cells, o="person"):
    return PlayTable(game, o=o, cells=cells, at=len(cells))


def test_the_best_moves_are_those_of_the_solution(insight_solver):
    for cells in ((), (4,), (4, 1), (0, 1), (0, 4, 8)):
        table = table_of(TICTACTOE, *cells)
        insight = insight_solver.insight(table)
        best = [move.cell for move in insight.moves if move.is_best]
        assert best == solve(TICTACTOE).best_cells(table.position)
        value = solve(TICTACTOE).value_of(table.position)
        assert insight.value == (value if len(cells) % 2 == 0 else -value) and insight.is_exact
        assert insight.more is None


def test_of_equal_moves_the_best_gets_most_against_the_opponent(insight_solver):
    moves = insight_solver.insight(table_of(TICTACTOE, o="random")).moves
    highest = max(move.against.value for move in moves)
    assert all(move.is_best == (move.against.value == highest) for move in moves)
    assert 0 < sum(move.is_best for move in moves) < len(moves)


def test_large_games_are_estimated_by_searches_that_grow(insight_solver):
    table = table_of(QUBIC, 3, 8)
    insights = [insight_solver.insight(table, 0, simulations) for simulations in SEARCHES[:3]]
    for insight, simulations in zip(insights, SEARCHES, strict=False):
        assert all(move.value is None and -1 <= move.estimate <= 1 for move in insight.moves if move.visits)
        assert sum(move.visits for move in insight.moves) == simulations == insight.simulations
        assert -1 <= insight.value <= 1 and not insight.is_exact
    assert [insight.more for insight in insights] == list(SEARCHES[1:])
    assert all(move.estimate is not None for move in insights[-1].moves)
    as_o = insight_solver.insight(table_of(QUBIC, 3), 0, SEARCHES[0])
    best = max(as_o.moves, key=lambda move: move.visits)
    assert as_o.value == pytest.approx(-best.estimate)


def test_what_is_proved_is_no_estimate(insight_solver):
    table = table_of(QUBIC, 0, 16, 1, 17, 2, 18)
    insight = insight_solver.insight(table)
    assert insight.value == prove(QUBIC, table.position).value == 1 and insight.is_exact
    moves = {move.cell: move for move in insight.moves}
    assert moves[3].value == 1 and moves[3].is_best and moves[60].value == -1


def test_a_board_of_more_than_64_cells_is_estimated_too(insight_solver):
    insight = insight_solver.insight(table_of(GOMOKU), 0, SEARCHES[0])
    assert sum(move.visits for move in insight.moves) == insight.simulations == SEARCHES[0]
    assert not insight.is_exact and insight.more == SEARCHES[1]


def test_a_board_of_more_than_64_cells_is_played_against_searches(client):
    query = f"game={GOMOKU.name}&x=person&o=mcts:simulations=20000,threats=true&moves="
    page = client.get(f"/play?{query}").text
    assert "play against opponents that search" in page and "Looks for threats first" in page
    won = client.get(f"/play/see?{query}0.9.1.10.2.11.3.12&simulations={SEARCHES[0]}").text
    assert re.findall(r'<i class="win">win</i>', won.partition("note key")[0]) == ['<i class="win">win</i>']
    assert "framed: the best" in won


@pytest.mark.parametrize(
    ("query", "told", "share"),
    [("o=person&moves=4", "A draw with best play", 0.5), ("o=person&moves=4.1", "X wins with best play", 1),
     ("o=person&moves=0.3.1.4.8", "O wins with best play", 0)],
)  # fmt: skip
def test_the_bar_tells_how_the_position_stands(query, told, share, client):
    shown = client.get(f"/play/see?{query}").text
    assert told in shown and f'style="--share: {float(share)}"' in shown


def test_a_part_asks_for_the_next_larger_search_until_the_last(client):
    url, asked = "/play/see?game=mnk-v0:m=5,n=4,k=4&o=person&moves=7", []
    page = client.get(f"{url}&simulations={SEARCHES[0]}")
    while grows := re.search(r'data-grow="(.*?)"', page.text):
        page = client.get(unescape(grows[1]))
        asked.append(int(str(page.url).rpartition("=")[2]))
        assert f"{asked[-1]:,} simulations" in page.text or "data-grow" not in page.text
    assert asked == list(SEARCHES[1:])
    assert client.get(url).text == page.text
    assert "data-grow" not in client.get("/play/see?o=person&moves=4").text


def shown_figures(page):
    script = """return [...document.querySelectorAll('.tile .known')].map((known) =>
        [...known.children].filter((each) => getComputedStyle(each).opacity > 0).length)"""
    return page.run(script)


def test_a_cell_shows_one_figure_and_the_rest_when_it_has_the_focus(page):
    page.open("x=person&o=softmax&moves=4.0&see=1").wait(lambda: len(page.chances()) == 7)
    assert shown_figures(page) == [1] * 7
    page.run("document.getElementById('cell-8').focus({focusVisible: true})")
    assert sorted(shown_figures(page)) == [1] * 6 + [3]


def test_the_estimates_of_qubic_grow_while_one_looks(page):
    page.open("game=qubic-v0&o=person&moves=3.8&see=1")
    seen = set()

    def is_last():
        seen.add(page.text(".evaluation p"))
        return f"{SEARCHES[-1]:,}" in page.text(".evaluation p")

    page.wait(is_last)
    assert len(seen - {""}) > 1
    figures = page.run("return [...document.querySelectorAll('.known i')].map((i) => i.textContent)")
    assert len(figures) == 62 and all(re.fullmatch(r"[+−]?\d\.\d\d|win|draw|loss", text) for text in figures)
    page.play(10)  # which ends the search
    page.wait(lambda: len(page.moves) == 3)
