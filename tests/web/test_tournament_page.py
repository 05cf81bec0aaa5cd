"""The page of a tournament, a single file, in a real browser: accessible, and with all games."""

import json
import sys
from functools import cache

import pytest

pytest.importorskip("selenium")
pytest.importorskip("scipy")
from selenium.webdriver.common.keys import Keys

from tests.support.marks import slow, slow_unless
from tests.support.running import ttt
from tests.web.axe import MEDIA, findings
from ttt_env import GameRecord
from ttt_env.analysis.known import judge
from ttt_env.render.svg import draw_svg

ENTRIES = """
[[entry]]
name = "Ada <script>alert(1)</script>"
author = "Ada Lovelace"
agent = "process:{python} -c \\"print('I resign')\\""
[[entry]]
name = "Bob"
agent = "rules"
[[entry]]
name = "Cy"
agent = "minimax"
[[entry]]
name = "Dee"
agent = "mcts:simulations=20"
[[entry]]
name = "Eve"
agent = "weights"
"""
FILES = {
    "class": 'game = "tictactoe-v0"\n',
    "misère": 'game = "tictactoe-v0:misere"\n',
    "large": 'game = "mnk-v0:m=8,n=8,k=5"\n',
}
ENTRIES_OF_LARGE = """
[[entry]]
name = "Ada"
agent = "rules"
[[entry]]
name = "Bob"
agent = "random"
"""


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    """A function that returns the results of a tournament, which it plays at most once."""

    @cache
    def play(name):
        folder = tmp_path_factory.mktemp("school")
        entries = ENTRIES_OF_LARGE if name == "large" else ENTRIES.format(python=sys.executable)
        (folder / "class.toml").write_text(FILES[name] + entries, "utf-8")
        run = ttt("tournament", folder / "class.toml")
        assert run.returncode == (0 if name == "large" else 3), run.stderr  # Ada crashes
        return folder / "class-results"

    return play


@pytest.fixture
def visit(open_page, chromium, folder_of):
    """A function that opens a page; a message on the console fails the test."""
    chromium.get("about:blank")
    chromium.get_log("browser")
    yield lambda name, **options: open_page(f"{folder_of(name).as_uri()}/", "index.html", **options)
    assert not chromium.get_log("browser")


@pytest.mark.parametrize(
    ("name", "media"),
    slow_unless(lambda name, media: name == "class" and media in ("light", "forced dark"), FILES, MEDIA),
)
def test_axe_finds_nothing(name, media, visit):
    assert findings(visit(name, media=MEDIA[media])) == []


@pytest.mark.parametrize("width", [320, slow(390)])
def test_page_fits_on_phone_with_large_controls(width, visit):
    page = visit("class", width=width)
    assert page.run("return document.documentElement.scrollWidth") == width
    script = """return [...document.querySelectorAll('a[href], button, select')]
        .filter((each) => each.checkVisibility() && !each.matches('.skip'))
        .map((each) => [each.outerHTML.slice(0, 90), each.getBoundingClientRect()])
        .filter(([, {width, height}]) => Math.min(width, height) < 24).map(([html]) => html);"""
    assert page.run(script) == []
    assert findings(page) == []


def results_of(folder):
    return json.loads((folder / "results.json").read_text("utf-8"))


@pytest.mark.parametrize("name", ["class", slow("misère"), slow("large")])
def test_positions_are_drawn_like_in_package(name, visit, folder_of):
    games = results_of(folder_of(name))["games_played"]
    drawn = {}
    for number, each in enumerate(games):
        record = GameRecord.parse(each["record"])
        steps = range(len(record.cells) + 1) if name != "large" else range(0, len(record.cells) + 1, 5)
        positions = record.positions()
        drawn[number] = [[at, draw_svg(positions[at], record.cells[at - 1] if at else None)] for at in steps]
    page = visit(name)
    script = """
        const [drawn] = arguments, wrong = [];
        for (const [number, steps] of Object.entries(drawn)) {
          location.hash = `#game-${number}`;
          show(Number(number));
          for (const [at, text] of steps) {
            step(at);
            const expected = document.createElement('div');
            expected.innerHTML = text;
            const shapes = ({children}) => [...children].map((each) => each.outerHTML);
            const tiles = shapes(byId('tiles'));
            const drawn = shapes(expected.firstChild).slice(-tiles.length);
            if (`${drawn}` !== `${tiles}`) wrong.push([number, at, text]);
          }
        }
        return wrong.slice(0, 1);"""
    assert page.run(script, drawn) == []


def test_score_links_to_games_and_keys_step_through(visit, folder_of):
    page = visit("class")
    games = results_of(folder_of("class"))["games_played"]
    number = next(at for at, each in enumerate(games) if each["forfeit"] is None and at % 2 == 0)
    game = games[number]
    link = page.find(f"td a[href='#game-{number}']")
    assert game["x"] in link.accessible_name and game["o"] in link.accessible_name
    link.send_keys(Keys.ENTER)
    page.wait(lambda: page.focused == "forward")
    cells = GameRecord.parse(game["record"]).cells
    assert page.text("#seats").startswith(f"X: {game['x']}, O: {game['o']} (game 1")
    assert page.text("#status").startswith(f"Move {len(cells)} of {len(cells)}")
    page.press(*[Keys.ARROW_LEFT] * len(cells))
    assert page.text("#status") == f"The start, {len(cells)} moves."
    page.press(Keys.ARROW_RIGHT)
    assert page.text("#status") == f"Move 1 of {len(cells)}: {game['x']} (X) plays cell {cells[0]}."
    assert page.all("#moves [aria-current]") == [f"X {cells[0]}"]
    page.click("#last")
    assert page.attribute("#last", "aria-disabled") == "true"


def test_games_can_be_filtered_by_players(visit):
    page = visit("class")
    script = """for (const [id, text] of arguments[0]) {
          const select = document.getElementById(id);
          select.value = [...select.options].find((each) => each.text === text).value;
          select.dispatchEvent(new Event('change'));
        }"""
    page.run(script, [["player", "Bob"], ["opponent", "best play"]])
    assert "(certificate of Bob)" in page.text("#seats") and "best play" in page.text("#status")
    opponents = page.all("#opponent option")
    assert "Bob" not in opponents and len(opponents) == len(set(opponents)) > 2


def test_page_shows_proofs_and_forfeits(visit):
    page = visit("class")
    assert page.all(".standings .proved") == ["unbeatable"]
    assert any(text.startswith("UNBEATABLE, asked once in ") for text in page.all(".player p"))
    assert any(text.startswith("BEATABLE as ") for text in page.all(".player p"))
    assert "crashed" in page.all(".fault b")
    assert "standard deviation of 1737 points" in page.text("section:last-child .note")
    assert page.count("svg[aria-hidden] path") == 5 and page.count("script") == 2


def test_loss_shows_blunder_better_cells_and_game(visit, folder_of):
    page = visit("class")
    results = results_of(folder_of("class"))
    (bob,) = (each for each in results["entries"] if each["name"] == "Bob")
    refutation = bob["certificate"]["refutation"]
    record = GameRecord.parse(refutation["record"])
    moves = zip(record.positions(), record.cells, strict=False)
    verdicts = [judge(*move) for move in moves]
    blunder = [each for each in verdicts if each.is_blunder and each.position.to_move == refutation["seat"]][
        -1
    ]
    card = f"#player-{results['entries'].index(bob) + 1}"
    assert blunder.sentence in page.all(f"{card} p")
    drawn = draw_svg(
        blunder.position.play(blunder.cell), blunder.cell, 112, is_blunder=True, better=blunder.better
    )
    assert drawn.count("stroke-linejoin") == len(blunder.better) > 0
    script = (
        "return new DOMParser().parseFromString(arguments[1], 'text/html').querySelector('svg').outerHTML"
    )
    script += " === document.querySelector(`${arguments[0]} figure svg`).outerHTML;"
    assert page.run(script, card, drawn)
    page.browser.find_element("css selector", f"{card} a").send_keys(Keys.ENTER)
    page.wait(lambda: page.focused == "forward")
    assert page.text("#seats").endswith("(certificate of Bob)")


def test_tables_work_without_javascript(chromium, visit):
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page = visit("class")
        rows = page.browser.find_elements("css selector", ".standings tbody tr")
        assert len(rows) == 5
        assert len(page.browser.find_elements("css selector", ".player figure svg")) > 4
        assert "They stand in games.txt" in page.browser.find_element("css selector", "#viewer").text
    finally:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
