"""The Compare page in a real browser; what its console says fails a test."""

from urllib.parse import parse_qsl, urlsplit

import pytest

pytest.importorskip("selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.web.serving import Server, resize
from tests.web.test_compare_runs import write
from ttt_env import certify, match
from ttt_env.app.web.compare.softmax import ends
from ttt_env.app.web.server import create_app
from ttt_env.render.words import percent


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The address of a server with two runs."""
    runs = tmp_path_factory.mktemp("runs")
    for name in ("maskable-ppo_1", "dqn_1"):
        write(runs / name)
    with Server(create_app(runs=runs)) as found:
        yield found


class Page:
    """What a visitor sees and does."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url

    def open(self, address):
        self.browser.get(f"{self.url}{address}")
        self.wait(lambda: not self.browser.find_elements(By.CSS_SELECTOR, "[data-load]"))
        return self

    def wait(self, condition):
        return WebDriverWait(self.browser, 10, 0.02).until(lambda _: condition())

    def text(self, selector):
        script = "return document.querySelector(arguments[0])?.textContent.replace(/\\s+/g, ' ').trim() ?? ''"
        return self.browser.execute_script(script, selector)

    def all(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent.trim())"
        return self.browser.execute_script(script, selector)

    def click(self, selector):
        self.browser.find_element(By.CSS_SELECTOR, selector).click()
        return self

    @property
    def address(self):
        return dict(parse_qsl(urlsplit(self.browser.current_url).query))

    @property
    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")


@pytest.fixture
def page(browser, url):
    return Page(browser, url)


def test_a_cell_of_the_heat_map_opens_its_match(page):
    page.open("/compare").click('a[aria-label^="weights against win-block"]')
    page.wait(lambda: page.text("#match h2") == "weights against win-block")
    found = match("weights", "win-block")
    assert page.all("#as-O b") == [percent(share) for share in found.as_o]
    assert page.text(".heat a[aria-current]") == f"{found.score:+.2f}"
    page.click("#as-O").wait(lambda: page.address.get("seat") == "O")
    page.click("#back").wait(lambda: "at" in page.address)
    moves = len(page.all(".replay li"))
    assert len(page.all(".tile.x, .tile.o")) == moves - 1 == int(page.address["at"])
    page.click("#play").wait(lambda: urlsplit(page.browser.current_url).path == "/play")
    assert (page.address["x"], page.address["o"]) == ("win-block", "weights")
    assert page.text("nav [aria-current]") == "Play" and len(page.all(".tile.x, .tile.o")) == moves - 1
    page.browser.back()
    page.wait(lambda: page.text("#match h2"))
    page.click(".close").wait(lambda: not page.text("#match h2"))


def test_the_sliders_change_the_figures_to_the_exact_ones(page):
    page.open("/compare/softmax")
    slide = """const slider = document.getElementById(arguments[0]); slider.value = arguments[1];
        for (const name of ['input', 'change']) slider.dispatchEvent(new Event(name, {bubbles: true}));"""
    now = {"x": 1.0, "o": 0.5}
    for seat, temperature in (("x", 0.3), ("o", 1.55)):
        path = page.browser.find_element(By.CSS_SELECTOR, ".line.x").get_attribute("d")
        page.browser.execute_script(slide, f"t-{seat}", temperature)
        now[seat] = temperature
        exact = [percent(share) for share in ends(now["x"], now["o"]).result]
        page.wait(lambda exact=exact: page.all("#x-wins, #draws, #o-wins") == exact)
        page.wait(lambda seat=seat, hot=temperature: page.address.get(seat) == f"{hot:g}")
        assert page.text(f"output[for=t-{seat}]") == str(temperature)
        moved = page.browser.find_element(By.CSS_SELECTOR, ".line.x").get_attribute("d") != path
        assert moved == (seat == "x")  # O's is along the axis
    assert float(page.address["x"]) == 0.3


def test_the_refuting_game_is_replayed_to_its_end(page):
    record = certify("weights").refutations["O"]
    page.open("/compare/agent?agent=weights&at=0")
    assert page.text("#verdict") == "can be beaten" and page.all(".tile.x, .tile.o") == []
    for number, cell in enumerate(record.cells, 1):
        page.click("#forward").wait(lambda number=number: page.text(".now").startswith(f"Move {number} of"))
        assert page.browser.execute_script("return document.activeElement.id") == "forward"
        lying = page.browser.find_elements(By.CSS_SELECTOR, ".tile.x, .tile.o")
        assert len(lying) == number
        last = page.browser.find_elements(By.CSS_SELECTOR, ".tile.last, .tile.completed")
        assert cell in [int(tile.get_attribute("value")) for tile in last]
    assert "X wins" in page.text(".now") and not page.browser.find_elements(By.CSS_SELECTOR, "#forward[href]")
    page.click("#first").wait(lambda: page.all(".tile.x, .tile.o") == [])


def test_another_agent_is_certified_by_the_form(page):
    page.open("/compare/agent?agent=weights")
    page.browser.find_element(By.ID, "agent").send_keys("minimax")
    page.wait(lambda: page.text("#verdict") == "certified unbeatable")
    assert page.address["agent"] == "minimax"


def test_runs_are_switched_off_and_on_by_a_click(page):
    page.open("/compare/runs")
    assert page.all(".chart .names span") == ["dqn_1", "maskable-ppo_1"]
    page.click("#run-0").wait(lambda: page.all(".chart .names span") == ["maskable-ppo_1"])
    page.click("#over-seconds").wait(lambda: page.text(".xlabel") == "seconds")
    assert page.all(".chart .names span") == ["maskable-ppo_1"]
    page.click("#run-0").wait(lambda: len(page.all(".chart .names span")) == 2)


@pytest.mark.parametrize(
    "address",
    ["/compare", "/compare?row=mcts:simulations=100,seed=0&column=weights", "/compare/agent?agent=weights",
     "/compare/agent?agent=mcts:seed=0,simulations=10", "/compare/softmax", "/compare/runs"],
)  # fmt: skip
def test_a_phone_shows_all_of_it_without_scrolling_sideways(address, page):
    resize(page.browser, 360, 740)
    page.open(address)
    assert page.overflow <= 0
    parts = "[...document.querySelectorAll('.compare *')]"
    right = f"return Math.max(...{parts}.map((each) => each.getBoundingClientRect().right))"
    assert page.browser.execute_script(right) <= 361


def test_on_a_phone_the_match_is_over_the_page_and_closes(page):
    resize(page.browser, 360, 740)
    page.open("/compare").click("#m-1-2").wait(lambda: page.text("#match h2"))
    box = page.browser.find_element(By.ID, "match").rect
    assert box["width"] == 360 and box["height"] <= 0.9 * 740
    page.click(".close").wait(lambda: not page.text("#match h2"))


@pytest.mark.parametrize("width", [865, 960, 1070, 1200])
def test_no_column_of_the_ladder_is_lost_behind_the_opened_match(width, page):
    resize(page.browser, width, 900)
    page.open("/compare?game=tictactoe-v0&row=random&column=win-block")
    script = """const box = document.querySelector('.scroll'), match = document.getElementById('match');
        const right = (node) => node.getBoundingClientRect().right;
        const left = (node) => node.getBoundingClientRect().left;
        const opened = document.querySelector('.heat a[aria-current]');
        const name = document.querySelector('.heat tbody th');
        const seen = right(opened) <= right(box) && left(opened) >= right(name);
        const lost = [...document.querySelectorAll('.heat thead th')].filter((head) => {
          head.scrollIntoView({inline: 'end', block: 'nearest'});
          return right(head) > right(box) + 1 || right(head) > left(match);
        });
        return [seen, lost.length, document.querySelectorAll('.heat thead th').length];"""
    seen, lost, columns = page.browser.execute_script(script)
    assert seen and not lost and columns == 2 + len(page.all(".heat tbody tr"))
    assert page.overflow <= 0


def test_on_a_phone_the_heading_stands_over_the_columns_of_the_ladder(page):
    resize(page.browser, 390, 844)
    page.open("/compare")
    script = """const box = (node) => node.getBoundingClientRect();
        const middle = (node) => (box(node).left + box(node).right) / 2;
        const heads = [...document.querySelectorAll('.heat thead th')].slice(2);
        const cells = (row) => [...row.querySelectorAll('td:not(.mean)')];
        const rows = [...document.querySelectorAll('.heat tbody tr')].map(cells);
        return [heads.every((head) => head.checkVisibility() && box(head).height > 10),
          rows.flatMap((row) => row.map((cell, at) => Math.abs(middle(cell) - middle(heads[at]))))];"""
    are_shown, distances = page.browser.execute_script(script)
    assert are_shown and max(distances) < 2
