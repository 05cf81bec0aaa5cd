"""The Compare page in a real browser; what its console says fails a test."""

import re
from itertools import combinations
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.support.marks import slow
from tests.web.serving import Server, Visitor, resize
from ttt_env import certify, match
from ttt_env.render.words import percent
from ttt_env.web.compare.curves import ends
from ttt_env.web.server import create_app


@pytest.fixture
def page(browser, url):
    return Visitor(browser, url)


def test_a_cell_of_the_heat_map_opens_its_match(page):
    page.go("/compare").rest().click('a[aria-label^="weights against win-block"]')
    page.wait(lambda: page.text("#match h2") == "weights against win-block")
    found = match("weights", "win-block")
    assert page.all("#as-O b") == [percent(share) for share in found.as_o]
    assert page.text(".heat a[aria-current]") == f"{found.score:+.2f}".replace("0.", ".")
    page.click("#as-O").wait(lambda: page.address.get("seat") == "O")
    assert len(page.all(".strip a")) >= 5
    page.click(".strip li:nth-child(3) a")
    page.wait(lambda: urlsplit(page.browser.current_url).path == "/play")
    assert (page.address["x"], page.address["o"]) == ("win-block", "weights")
    assert page.text("nav [aria-current]") == "Play" and len(page.all(".tile.x, .tile.o")) == 3
    page.browser.back()
    page.wait(lambda: page.text("#match h2"))
    page.click(".close").wait(lambda: not page.text("#match h2"))


def test_the_sliders_change_the_figures_to_the_exact_ones(page):
    page.go("/compare/softmax").rest()
    slide = """const slider = document.getElementById(arguments[0]); slider.value = arguments[1];
        for (const name of ['input', 'change']) slider.dispatchEvent(new Event(name, {bubbles: true}));"""
    now = {"x": 1.0, "o": 0.5}
    for seat, temperature in (("x", 0.3), ("o", 1.55)):
        path = page.attribute(".line.x", "d")
        page.run(slide, f"t-{seat}", temperature)
        now[seat] = temperature
        exact = [percent(share) for share in ends(now["x"], now["o"]).result]
        page.wait(lambda exact=exact: page.all("#x-wins, #draws, #o-wins") == exact)
        page.wait(lambda seat=seat, hot=temperature: page.address.get(seat) == f"{hot:g}")
        assert page.text(f"output[for=t-{seat}]") == str(temperature)
        moved = page.attribute(".line.x", "d") != path
        assert moved == (seat == "x")  # O's is along the axis
    assert float(page.address["x"]) == 0.3


def test_the_boards_of_a_refuting_game_show_its_positions(page):
    record = certify("weights").refutations["O"]
    page.go("/compare/agent?agent=weights").rest()
    assert page.text("#verdict") == "beatable as O"
    drawn = page.run("""const strip = [...document.querySelectorAll('.strip')].at(-1);
        return [...strip.querySelectorAll('.mini')].map((board) => ['x', 'o', 'last', 'completed']
            .map((mark) => board.querySelectorAll('.' + mark).length))""")
    for number, (n_x, n_o, n_last, n_completed) in enumerate(drawn, 1):
        assert (n_x, n_o, n_last) == ((number + 1) // 2, number // 2, 1)
        assert (n_completed >= 3) == (number == len(record.cells))
    assert page.rect(".strip .mini")["width"] == pytest.approx(page.rect(".strip .mini")["height"], abs=1)


def test_another_agent_is_certified_by_the_form(page):
    page.go("/compare/agent?agent=weights").rest()
    page.type("#agent", "minimax")
    page.wait(lambda: page.text("#verdict") == "unbeatable")
    assert page.address["agent"] == "minimax"


def point(page, selector):
    """Move the pointer there."""
    page.wait(lambda: ActionChains(page.browser).move_to_element(page.find(selector)).perform() is None)


def figures(*temperatures):
    """What a chart tells of the second temperature."""
    return [f"{temperatures[1]:g}", *(f"{100 * share:.4g}" for share in ends(*temperatures).result)]


def test_the_figures_of_a_chart_are_read_by_arrow_keys_and_stand_in_a_table(page):
    page.go("/compare/softmax?x=0.3&o=0.5").rest()
    page.type(".reader", Keys.END, *[Keys.ARROW_LEFT] * 10)
    read = re.findall(r"[\d.]+", page.attribute(".reader", "aria-valuetext"))
    assert page.all(".reading b") == read == figures(0.3, 1.5)
    page.type(".reader", Keys.HOME)
    assert page.text(".reading b") == "0" and len(page.all(".dot")) == 3
    page.type(".reader", Keys.TAB)
    assert page.all(".reading") == []
    page.click(".chart summary")
    cells = page.all(".chart:first-of-type .values :is(th, td)")
    assert cells[:4] == ["temperature of O", "X wins", "draw", "O wins"] and len(cells) == 42 * 4
    assert cells[31 * 4 :][:4] == figures(0.3, 1.5)


def test_the_figures_of_a_chart_are_read_with_the_pointer_and_while_a_slider_moves(page):
    page.go("/compare/softmax?x=0.3&o=0.5").rest()
    page.run("document.querySelector('.reader').scrollIntoView({block: 'center'})")
    point(page, ".reader")
    assert page.all(".reading b") == figures(0.3, 1)
    page.type("#t-x", Keys.ARROW_RIGHT)
    page.wait(lambda: page.all(".reading b") == figures(0.35, 1))
    point(page, "h1")
    page.wait(lambda: page.all(".reading") == [])


def test_every_colour_means_one_thing_and_lines_are_told_apart_without_any(page):
    """No two colours are alike; those of one figure neither to eyes that lack a kind of cone."""
    page.go("/compare/runs").rest()
    script = """const style = document.documentElement.style, probe = document.querySelector('.compare');
        const lines = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => `line-${n}`);
        const names = ['accent', 'x', 'o', 'win', 'draw', 'loss', ...lines];
        const colours = ['light', 'dark'].map((theme) => Object.fromEntries(names.map((name) => {
          style.colorScheme = theme;
          probe.style.color = `var(--${name})`;
          return [name, getComputedStyle(probe).color.match(/[0-9]+/g).map(Number)];
        })));
        const looks = lines.map((line) => {
          probe.innerHTML = `<i class="${line}"></i>`;
          const look = getComputedStyle(probe.firstChild);
          return ['--dash', '--mark'].map((name) => look.getPropertyValue(name));
        });
        return [colours, looks];"""
    themes, looks = page.run(script)
    assert all(len({look[kind] for look in looks}) == 8 for kind in (0, 1))
    for colours in themes:
        for one, other in combinations(colours, 2):
            assert distance(colours[one], colours[other]) > 12, (one, other)
        for numbers in COLOUR_BLINDNESS.values():
            blindness = np.array(numbers.split(), float).reshape(3, 3)
            seen = {name: blindness @ (np.array(colour) / 255) ** 2.2 for name, colour in colours.items()}
            seen = {name: 255 * np.clip(colour, 0, 1) ** (1 / 2.2) for name, colour in seen.items()}
            for one, other in [("x", "o"), ("x", "draw"), ("o", "draw"), ("win", "loss")]:
                assert distance(seen[one], seen[other]) > 12, (one, other)


def distance(one, other):
    """The distance of two colours in CIELAB, where 2.3 is just noticeable."""
    return float(np.linalg.norm(lab(one) - lab(other)))


def lab(colour):
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ (np.array(colour) / 255) ** 2.2 / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision
# deficiency" (2009)
COLOUR_BLINDNESS = {
    "protanopia": "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216 -0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413 -0.011820 0.042940 0.968881",
}


def test_another_measure_is_chosen_and_its_steps_are_read_in_full(page):
    page.go("/compare/runs").rest().click("#tag option:nth-child(2)")
    page.wait(lambda: page.address.get("tag") == "rollout/ep_rew_mean")
    page.type(".reader", Keys.ARROW_RIGHT)
    told = "steps, as the training counts them 4,096: dqn_1 0.25, maskable-ppo_1 0.25"
    page.wait(lambda: page.attribute(".reader", "aria-valuetext") == told)


@pytest.mark.parametrize("width", [320, slow(390), slow(1024)])
def test_what_is_read_stays_on_the_page(width, page):
    resize(page.browser, width, 740)
    page.go("/compare/runs").rest()
    script = """const {left, right} = document.querySelector('.reading').getBoundingClientRect();
        return [left, right, document.documentElement.scrollWidth]"""
    for _ in range(3):
        page.type(".reader", Keys.ARROW_RIGHT)
        left, right, scrollable = page.run(script)
        assert left >= 0 and right <= width and scrollable <= width


def test_a_learner_that_is_started_here_becomes_unbeatable_before_the_visitors_eyes(browser):
    with Server(create_app()) as url:
        page = Visitor(browser, url).go("/compare/runs").click("#train-q-learning")
        page.wait(lambda: page.text("#training") == "q-learning-0 is training …")
        page.wait(lambda: not page.count("#training"))
        assert page.all(".chart .names span") == ["q-learning-0"]
        assert page.all(".runs td")[-1] == "0" and page.address == {}


def test_runs_are_switched_off_and_on_by_a_click(page):
    page.go("/compare/runs").rest()
    assert page.all(".chart .names span") == ["dqn_1", "maskable-ppo_1"]
    page.click("#run-0").wait(lambda: page.all(".chart .names span") == ["maskable-ppo_1"])
    page.click("#over-seconds").wait(lambda: page.text(".xlabel") == "seconds")
    assert page.all(".chart .names span") == ["maskable-ppo_1"]
    page.click("#run-0").wait(lambda: len(page.all(".chart .names span")) == 2)


@pytest.mark.parametrize(
    "address",
    ["/compare", "/compare?row=mcts:simulations=100,seed=0&column=weights", "/compare/agent?agent=weights",
     slow("/compare/agent?agent=mcts:seed=0,simulations=10"), "/compare/softmax", "/compare/runs"],
)  # fmt: skip
def test_a_phone_shows_all_of_it_without_scrolling_in_any_frame(address, page):
    resize(page.browser, 360, 740)
    rights = """return [...document.querySelectorAll('.compare *')]
        .map((each) => each.getBoundingClientRect().right)"""
    assert max(page.go(address).rest().run(rights)) <= 361


def test_on_a_phone_the_match_is_over_the_page_and_closes(page):
    resize(page.browser, 360, 740)
    page.go("/compare").rest().click("#m-1-2").wait(lambda: page.text("#match h2"))
    box = page.rect("#match")
    assert box["width"] == 360 and box["height"] <= 0.9 * 740
    page.click(".close").wait(lambda: not page.text("#match h2"))


@pytest.mark.parametrize("width", [865, slow(960), 1024, slow(1070), slow(1200)])
def test_no_column_of_the_ladder_is_lost_behind_the_opened_match(width, page):
    resize(page.browser, width, 900)
    page.go("/compare?game=tictactoe-v0&row=random&column=win-block").rest()
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
    seen, lost, columns = page.run(script)
    assert seen and not lost and columns == 2 + len(page.all(".heat tbody tr"))
    if width >= 1024:
        fits = "const box = document.querySelector('.scroll'); return box.scrollWidth <= box.clientWidth"
        assert page.run(fits)
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_on_a_phone_the_heading_stands_over_the_columns_of_the_ladder_and_numbers_in_their_cells(page):
    resize(page.browser, 390, 844)
    page.go("/compare").rest()
    script = """const box = (node) => node.getBoundingClientRect();
        const middle = (node) => (box(node).left + box(node).right) / 2;
        const heads = [...document.querySelectorAll('.heat thead th')].slice(2);
        const cells = (row) => [...row.querySelectorAll('td:not(.mean)')];
        const rows = [...document.querySelectorAll('.heat tbody tr')].map(cells);
        return [heads.every((head) => head.checkVisibility() && box(head).height > 10),
          rows.flatMap((row) => row.map((cell, at) => Math.abs(middle(cell) - middle(heads[at]))))];"""
    are_shown, distances = page.run(script)
    assert are_shown and max(distances) < 2
    resize(page.browser, 320, 844)
    script = """return [...document.querySelectorAll('.heat td a')]
        .filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"""
    assert page.run(script) == []
