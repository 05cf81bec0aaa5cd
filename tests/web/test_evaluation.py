"""See as an evaluation: one word a cell, tints, the best moves, a bar, and estimates that grow."""

import re
from html import unescape

import pytest

from tests.support.marks import slow
from tests.web.reading import SMALL
from tests.web.serving import resize
from ttt_env import get_game, prove, solve
from ttt_env.analysis.solution import distances
from ttt_env.rules import Boards
from ttt_env.web.insight import SEARCHES
from ttt_env.web.table import PlayTable

TICTACTOE, QUBIC = map(get_game, ("tictactoe-v0", "qubic-v0"))


def table_of(game, *cells, o="person"):
    return PlayTable(game, o=o, cells=cells, at=len(cells))


def test_the_best_moves_are_those_of_the_solution_and_the_moves_to_the_end_those_of_the_distances(
    insight_solver,
):
    for cells in ((), (4,), (4, 1), (0, 1), (4, 1, 0), (0, 4, 8)):
        table = table_of(TICTACTOE, *cells)
        insight = insight_solver.insight(table)
        for move in insight.moves:
            after = Boards.of([table.position.play(move.cell)])
            assert move.plies == 1 + distances(TICTACTOE).of(after)[0]
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
    insights = [insight_solver.insight(table, simulations) for simulations in SEARCHES[:3]]
    for insight, simulations in zip(insights, SEARCHES, strict=False):
        assert all(move.value is None and -1 <= move.estimate <= 1 for move in insight.moves if move.visits)
        assert sum(move.visits for move in insight.moves) == simulations == insight.simulations
        assert -1 <= insight.value <= 1 and not insight.is_exact
    assert [insight.more for insight in insights] == list(SEARCHES[1:])
    assert all(move.estimate is not None for move in insights[-1].moves)
    as_o = insight_solver.insight(table_of(QUBIC, 3), SEARCHES[0])
    tried = [move for move in as_o.moves if move.visits]
    mean = sum(move.visits * move.estimate for move in tried) / as_o.simulations
    assert as_o.value == pytest.approx(-mean)


def test_what_is_proved_is_no_estimate(insight_solver):
    table = table_of(QUBIC, 0, 16, 1, 17, 2, 18)
    insight = insight_solver.insight(table)
    assert insight.value == prove(QUBIC, table.position).value == 1 and insight.is_exact
    moves = {move.cell: move for move in insight.moves}
    assert moves[3].value == 1 and moves[3].is_best and moves[60].value == -1


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


WORDS = """return [...document.querySelectorAll('.tile .known')].map((known) =>
    [...known.children].filter((each) => each.checkVisibility()).map((each) => each.localName).join(' '))"""


def test_a_cell_shows_one_word_and_figures_once_they_are_asked_for(page):
    page.open("x=person&o=softmax&moves=4.0&see=1").run("localStorage.removeItem('figures')")
    page.open("x=person&o=softmax&moves=4.0&see=1").wait(lambda: page.count(".known") == 7)
    assert page.run(WORDS) == ["i"] * 7 and {"wins", "draws"} >= set(page.all(".known i"))
    page.click("[data-toggle]")
    assert page.run(WORDS) == ["i small"] * 7
    page.open("x=softmax&o=person&moves=4.0&see=1&pause=1").wait(lambda: page.count(".known") == 7)
    assert all(words.startswith("b i") for words in page.run(WORDS))  # the switch is remembered
    page.click("[data-toggle]")
    assert page.run(WORDS) == ["i"] * 7


@pytest.mark.parametrize("game", ["tictactoe-v0", "tictactoe-v0:misere=true", SMALL])
@pytest.mark.parametrize("o", ["person", "random"])
def test_word_colour_and_value_of_a_cell_agree(game, o, client):
    """Against whomever one plays: the word is about best play, and so are the colour and its sign."""
    made = get_game(game)
    for cells in ((), (0, 1), (0, 1, 2, 5)):
        moves = ".".join(map(str, cells))
        shown = client.get(f"/play/see?game={game}&o={o}&moves={moves}").text.partition("note key")[0]
        found = re.findall(r'--worth: (-?\d)">\s*<i class="(\w+)">(\w+)</i>', shown)
        position = table_of(made, *cells).position
        values = [-solve(made).value_of(position.play(cell)) for cell in position.legal_cells]
        words = {1: ("win", "wins"), 0: ("draw", "draws"), -1: ("loss", "loses")}
        assert found == [(str(value), *words[value]) for value in values]


def test_an_estimate_comes_before_what_takes_all_positions_of_a_game(client):
    url = "/play/see?game=mnk-v0:m=4,n=3,k=3&o=random&moves=5"
    first = client.get(f"{url}&simulations={SEARCHES[0]}").text
    assert "of about 1 s" in first and 'class="open"' in first and 'class="win"' not in first
    grows = unescape(re.search(r'data-grow="(.*?)"', first)[1])
    exact = client.get(grows).text
    assert "data-grow" not in exact and 'class="open"' not in exact and "of about" not in exact
    assert client.get(f"{url}&simulations={SEARCHES[0]}").text == exact  # it is known by now


def test_the_legend_offers_what_is_on_the_board(client):
    shown = client.get(f"/play/see?game=qubic-v0&o=person&simulations={SEARCHES[0]}").text
    legend = shown.partition("note key")[2]
    assert "wins − losses, estimated by 1,000 simulations" in legend
    assert "with best play" not in legend and "data-toggle" not in legend
    drawn = client.get("/play/see?o=person").text.partition("note key")[2]
    assert ">draws<" in drawn and ">wins<" not in drawn and ">loses<" not in drawn


@pytest.mark.parametrize(("query", "width"), [("game=qubic-v0", 360), ("game=mnk-v0:m=8,n=8,k=5", 360),
                                              ("game=square-v0", 360), ("", 320), ("", 1440)])  # fmt: skip
def test_no_figure_in_a_cell_is_smaller_than_nine_pixels_and_no_cell_too_small(query, width, page):
    resize(page.browser, width, 844)
    page.open(f"{query}&o=person&see=1").wait(lambda: page.count(".known"))
    sizes = """return [...document.querySelectorAll('.known *')].filter((each) => each.checkVisibility())
        .map((each) => parseFloat(getComputedStyle(each).fontSize))"""
    assert all(size == 0 or size >= 9 for size in page.run(sizes))
    assert min(page.rect(f"#cell-{cell}")["width"] for cell in (0, 4)) >= 24
    assert page.rect(".tile")["width"] == pytest.approx(page.rect(".tile")["height"], abs=1)
    page.play(5)


@pytest.mark.parametrize("simulations", [SEARCHES[-2], slow(SEARCHES[-1])])
def test_the_estimates_of_qubic_grow_while_one_looks(simulations, page):
    page.open("game=qubic-v0&o=person&moves=3.8&see=1")
    seen = set()

    def are_grown():
        seen.add(text := page.text(".evaluation p"))
        return f"{simulations:,}" in text

    page.wait(are_grown)
    assert len(seen - {""}) > 1
    figures = page.run("return [...document.querySelectorAll('.known i')].map((i) => i.textContent)")
    assert len(figures) == 62 and all(
        re.fullmatch(r"[+−]?\d\.\d\d|wins|draws|loses", text) for text in figures
    )
    page.play(10)  # which ends the search
    page.wait(lambda: len(page.moves) == 3)
