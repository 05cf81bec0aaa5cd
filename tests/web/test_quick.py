"""The page is there at once and stays where it is: what Chromium itself has measured while it was used."""

from urllib.parse import urlsplit

import pytest

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains

from tests.support.marks import slow
from tests.web.serving import resize
from ttt_env.web.inside.look import VIEWS

SIZES = [(1440, 900), slow((1024, 768)), (390, 844)]
SHIFTS = """const [done] = arguments, found = [];
    const told = ({ node, previousRect: a, currentRect: b }) =>
      [node?.id || node?.className || node?.nodeName, a.x, a.y, b.x, b.y].join(' ');
    const watching = new PerformanceObserver((list) => found.push(...list.getEntries()));
    watching.observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => done(found.map(({ value, sources }) => [value, ...sources.map(told)])), 300);"""
FILES = """return performance.getEntriesByType('resource')
    .map(({ name, renderBlockingStatus, transferSize }) => [name, renderBlockingStatus, transferSize])"""


@pytest.fixture(params=SIZES, ids=lambda size: "{}x{}".format(*size))
def sized_page(request, page):
    """A visitor with a window of this size."""
    resize(page.browser, *request.param)
    return page


def shifts(page):
    """The layout shift since the page was opened, including the shift by answers to presses.

    The metric forgives half a second after each press, which is a matter of how fast the machine is.
    """
    page.wait(lambda: not page.count("[data-load]:not([data-later])"))
    return page.browser.execute_async_script(SHIFTS)


def test_a_shift_is_seen(page):
    page.open()
    assert shifts(page) == []
    page.run("document.querySelector('.stage').prepend('Pushed down')")
    assert shifts(page)


def test_nothing_moves_while_a_game_is_played_seen_and_won(sized_page):
    sized_page.open("x=person&o=person&moves=0.3.1.4")
    assert shifts(sized_page) == []
    sized_page.click("#see").wait(lambda: sized_page.text("#hint"))
    assert shifts(sized_page) == []
    sized_page.play(2).wait_for_status("X wins")
    assert shifts(sized_page) == []
    sized_page.click("#again").wait(lambda: sized_page.moves == [])
    assert shifts(sized_page) == []


def test_nothing_moves_when_a_page_is_opened_again_and_its_score_comes(sized_page):
    sized_page.open("x=person&o=person").play(0, 3, 1, 4, 2).wait(lambda: sized_page.is_shown("#score"))
    sized_page.browser.refresh()
    sized_page.wait(lambda: sized_page.is_shown("#score"))
    assert shifts(sized_page) == []


def test_nothing_moves_while_a_slider_is_dragged(sized_page):
    sized_page.open("x=softmax:temperature=0.8,opponent_temperature=1&o=person&see=1&pause=1")
    sized_page.wait(lambda: sized_page.chances())
    sized_page.click("#details > summary")  # what is in there says the temperature in words
    before, slider = sized_page.chances(), sized_page.find("#x-temperature")
    drag = ActionChains(sized_page.browser, duration=50).move_to_element(slider).click_and_hold()
    for _ in range(6):
        drag.move_by_offset(-int(slider.rect["width"] / 40), 0)
    drag.release().perform()
    sized_page.wait(lambda: "temperature=0.8," not in sized_page.address["x"])
    assert sized_page.chances() != before
    # The slider's own knob is no node of the page.
    assert [nodes for _, *nodes in shifts(sized_page) if nodes] == []


def test_nothing_moves_when_an_agent_replies_and_wins_and_on_a_first_screen_on_which_all_is_seen(sized_page):
    sized_page.open("x=person&o=minimax&moves=0.4.1.2").play(5).wait_for_status("You lost it at move 5")
    assert shifts(sized_page) == []
    sized_page.open("see=1").wait(lambda: sized_page.text("#hint"))
    assert shifts(sized_page) == []


@pytest.mark.parametrize(
    "address", [*(f"/inside?view={view}&moves=4.0&o=minimax" for view in VIEWS), "/compare"]
)
def test_nothing_moves_when_another_page_is_opened(address, sized_page):
    sized_page.browser.get(f"{sized_page.url}{address}")
    assert shifts(sized_page) == []


def test_a_page_waits_for_its_own_styles_alone_and_the_next_one_for_nothing(page):
    page.browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    page.open()
    files = {urlsplit(name).path.rpartition("/")[2]: (name, status) for name, status, _ in files_of(page)}
    blocking = {file for file, (_, status) in files.items() if status == "blocking"}
    assert blocking == {"page.css", "play.css", "theme.js"}
    assert all(name.startswith(page.url) for name, _ in files.values()) and len(files) <= 12
    page.open("o=minimax")
    assert {size for _, _, size in files_of(page)} == {0}, "a file was asked for again"


def files_of(page):
    """The files that the page was made of, without the parts that it asks for later."""
    page.wait(lambda: len(page.run(FILES)) > 8)
    return [entry for entry in page.run(FILES) if "/static/" in entry[0]]
