"""Live play: stones that appear at once and are drawn, a score, resigning, a pace."""

import re
import time
from itertools import pairwise

import pytest

from tests.support.marks import slow_unless
from tests.web.axe import emulate
from tests.web.reading import links_of, move, status
from tests.web.serving import delay, press, resize
from ttt_env import Game, GameRecord, Position, get_game
from ttt_env.web.board import board_of


def strokes(text, game):
    (paths,) = board_of(Position.parse(text, get_game(game)), None).strokes
    return paths


@pytest.mark.parametrize(
    ("text", "game", "paths"),
    [("XXX/OO./...", "tictactoe-v0", ("M0.5 0.5L2.5 0.5",)),
     ("XXO/XO./O..", "tictactoe-v0", ("M0.5 2.5L2.5 0.5",)),
     ("XXX/XOO/XOO", "tictactoe-v0", ("M0.5 0.5L2.5 0.5", "M0.5 0.5L0.5 2.5")),
     ("XX../XX../OO../O...", "square-v0", ("M0.5 0.5L1.5 0.5L1.5 1.5L0.5 1.5Z",)),
     (".X../X.X./.X../OO.O", "square-v0", ("M0.5 1.5L1.5 0.5L2.5 1.5L1.5 2.5Z",)),
     ("XX./OO./...", "tictactoe-v0", ())],
)  # fmt: skip
def test_a_stroke_goes_through_the_cells_of_each_completed_set(text, game, paths):
    found = {frozenset(re.findall(r"[\d.]+ [\d.]+", path)) for path in strokes(text, game)}
    assert found == {frozenset(re.findall(r"[\d.]+ [\d.]+", path)) for path in paths}
    for path in strokes(text, game):
        corners = [tuple(map(float, place.split())) for place in re.findall(r"[\d.]+ [\d.]+", path)]
        sides = {(ax - bx) ** 2 + (ay - by) ** 2 for (ax, ay), (bx, by) in pairwise(corners)}
        assert len(sides) == 1 and path.endswith("Z") == (len(corners) > 2)  # around, never across


@pytest.mark.parametrize(
    ("cells", "parts"),
    [((0, 21, 42, 63), ["M0.1 0.1L0.9 0.9", "M1.1 1.1L1.9 1.9", "M2.1 2.1L2.9 2.9", "M3.1 3.1L3.9 3.9"]),
     ((3, 18, 33, 48), ["M3.9 0.5L3.1 0.5", "M2.9 0.5L2.1 0.5", "M1.9 0.5L1.1 0.5", "M0.9 0.5L0.1 0.5"]),
     ((5, 21, 37, 53), ["M1.5 1.5L1.5 1.5"] * 4),
     ((16, 17, 18, 19), ["", "M0.5 0.5L3.5 0.5", "", ""])],
)  # fmt: skip
def test_a_stroke_through_layers_is_drawn_in_each_as_it_looks_from_above(cells, parts):
    qubic = get_game("qubic-v0")
    others = [cell for cell in (1, 2, 7, 60) if cell not in cells]
    moves = [cell for pair in zip(cells, others, strict=True) for cell in pair][:-1]
    strokes = board_of(GameRecord(qubic, tuple(moves)).positions()[-1], cells[-1]).strokes
    assert [" ".join(paths) for paths in strokes] == parts


def test_on_a_board_without_rows_each_winning_set_is_a_line_from_end_to_end():
    places = [(0, 0), (-1, 0), (1, 0), (0, 2), (0, -2)]
    cross = Game("cross-v0", (5,), [(0, 1, 2), (0, 3, 4)], coordinates=places)
    position = Position.parse("OXX..", cross)
    assert {frozenset(re.findall(r"[\d.]+ [\d.]+", path)) for path in board_of(position, None).lines} == {
        frozenset({"0.5 2.5", "2.5 2.5"}), frozenset({"1.5 0.5", "1.5 4.5"})
    }  # fmt: skip
    assert not board_of(get_game("tictactoe-v0").start, None).lines


PHONE = 390, 844
WON = ["moves=4.0.2.1.6", "game=square-v0&moves=0.2.1.6.4.9.5", "game=qubic-v0&moves=0.1.21.2.42.4.63",
       "game=mnk-v0:m=8,n=8,k=5&moves=36.27.29.28.22.15.43.1.50",
       "game=mnk-v0:m=4,n=8,k=4&moves=0.4.1.5.2.6.3"]  # fmt: skip


def is_fast(size, query):
    return size == PHONE or (size, query) == ((1024, 768), WON[-1])


@pytest.mark.parametrize(("size", "query"), slow_unless(is_fast, [(1440, 900), (1024, 768), PHONE], WON))
def test_after_a_game_the_board_and_the_next_game_are_seen_without_scrolling(query, size, page):
    resize(page.browser, *size)
    page.open(f"x=person&o=random&{query}")
    button = page.find("#again").rect
    assert "win" in page.status and button["y"] + button["height"] <= size[1]


def test_a_stroke_goes_through_its_cells_on_a_board_that_is_scrolled_on_a_phone(page):
    resize(page.browser, *PHONE)
    page.open(f"x=person&o=random&{WON[3]}")
    stroke, first, last = (page.find(each).rect for each in (".strokes path", "#cell-22", "#cell-50"))
    assert abs(stroke["x"] - (last["x"] + last["width"] / 2)) < 2
    assert abs(stroke["y"] - (first["y"] + first["height"] / 2)) < 2


def test_a_person_resigns_and_may_play_on_after_all(client, log):
    page = client.get("/play?x=person&o=minimax")
    assert "resign" not in links_of(page)
    page = move(client, page.url, 4)
    resigned = client.get(links_of(page)["resign"])
    assert status(resigned) == "You have resigned: minimax (O) wins" and "data-after" not in resigned.text
    assert 'data-result="loss"' in resigned.text and 'type="submit"' not in resigned.text
    refused = move(client, resigned.url, 0)
    assert refused.status_code == 400 and "resigned" in refused.text
    assert move(client, resigned.url).status_code == 400 and len(log) == 0
    assert "data-after" in client.get(links_of(resigned)["back"]).text
    again = client.get(links_of(resigned)["again"])
    assert status(again) == "Your turn: X" and "resigned" not in str(again.url)
    two = client.get("/play?x=person&o=person&moves=4.0.8&resigned=1")
    assert status(two) == "O has resigned: X wins"
    assert "resigned" not in client.get("/play?x=random&o=random&moves=4&resigned=1").text
    assert status(client.get("/play?o=minimax&resigned=1")) == "Your turn: X"


def test_agents_that_play_each_other_do_so_at_the_pace_that_is_chosen(client):
    page = client.get("/play?x=random&o=random")
    delays = {}
    for name in ("slow", "usual", "fast"):
        page = client.get(links_of(page)[f"pace-{name}"])
        delays[name] = int(re.search(r'data-after="(\d+)"', page.text)[1])
        assert re.search(rf'id="pace-{name}" href="[^"]*" aria-current', page.text)
    assert delays["slow"] > delays["usual"] > delays["fast"] >= 100
    assert "pace=fast" in str(move(client, page.url).url)
    assert "pace-fast" not in client.get("/play?pace=fast").text
    assert client.get("/play?x=random&o=random&pace=1e9").status_code == 400


def test_ones_own_stone_is_there_before_the_answer(slow_page):
    page = slow_page.open("x=person&o=minimax")
    watch = """const tile = document.getElementById('cell-4'); window.seen = [];
        tile.addEventListener('click', () => requestAnimationFrame(() => seen.push(
          tile.querySelector('.stone.x') !== null, location.search.includes('moves=4'),
          document.querySelectorAll('.tile[type=submit]').length)));"""
    page.run(watch)
    delay(page, 2000)  # so that the answer cannot be there before a frame, however busy this machine is
    press(page, "#cell-4")
    is_there, is_answered, n_open = page.wait(lambda: page.run("return seen"))
    assert is_there and not is_answered and n_open == 0
    page.run("window.stone = document.querySelector('#cell-4 .stone')")
    page.wait(lambda: len(page.moves) == 2)
    assert page.run("return stone.isConnected")  # it is the same one: nothing was drawn anew
    assert page.count(".tile > .stone") == 2


def test_two_persons_at_one_board_lose_no_press_to_a_slow_answer(slow_page):
    page = slow_page.open("x=person&o=person")
    for cell in (0, 3, 1, 4, 2):
        press(page, f"#cell-{cell}")
    page.wait(lambda: page.status == "X wins")
    assert page.moves == [0, 3, 1, 4, 2]


def test_a_move_that_is_refused_or_lost_is_taken_back_and_said(page):
    page.open("x=person&o=person").play(4)
    page.run("document.querySelector('.boards').action += '&review=1&at=0'")
    page.click("#cell-0").wait(lambda: "looked at" in page.text(".complaint"))
    assert "400" in page.browser.get_log("browser")[0]["message"]
    assert page.count(".tile > .stone") == 0
    page.open("x=person&o=person").play(4)
    page.run("window.fetch = async () => { throw new TypeError('gone') }")
    page.click("#cell-0").wait(lambda: "Your move was taken back" in page.text(".complaint"))
    assert page.count(".tile > .stone") == 1 and page.marked("free") == [0, 1, 2, 3, 5, 6, 7, 8]
    assert page.attribute("#cell-0", "type") == "submit" and page.marked("last") == [4]


def test_the_score_is_kept_in_this_tab_and_each_game_counts_once(page):
    page.open("x=person&o=person").browser.execute_script("sessionStorage.clear()")
    page.open("x=person&o=person").play(0, 3, 1, 4, 2)
    assert page.text("#score") == "Score in this tab: X 1 · O 0 · draws 0"
    page.click("#undo").wait(lambda: page.address.get("at") == "4")
    page.click("#redo").wait(lambda: "at" not in page.address)
    assert "X 1 · O 0" in page.text("#score")
    page.click("#again").wait(lambda: page.moves == [])
    page.play(0, 3, 1, 4).click("#resign").wait(lambda: "resigned" in page.status)
    assert "X 1 · O 1" in page.text("#score")
    page.click("#level-easy").wait(lambda: page.address["o"] == "random")
    assert not page.is_shown("#score")


WATCH = """window.begun = [];
    addEventListener('animationstart', ({animationName, target}) => begun.push(
      [animationName, target.closest('.tile')?.id ?? target.closest('.strokes').className.baseVal]));"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_stones_and_strokes_are_drawn_unless_less_motion_is_asked_for(motion, page):
    emulate(page.browser, {"prefers-reduced-motion": motion})
    try:
        page.open("x=person&o=person&moves=0.3.1.4").run(WATCH)
        page.click("#cell-2").wait_for_status("X wins")
        drawn = ["draw", "cell-2"], ["strike", "strokes"]
        if motion == "reduce":
            time.sleep(0.5)  # in which they would be drawn
            assert page.run("return begun") == []
        else:
            page.wait(lambda: all(each in page.run("return begun") for each in drawn))
    finally:
        emulate(page.browser, {})
    assert page.count(".strokes path") == 1
