"""The accessibility of the pages: by axe-core, by keyboard, by ear, and on 320 pixels."""

from urllib.parse import urlsplit

import pytest

pytest.importorskip("selenium")
pytest.importorskip("tensorboard")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.marks import slow_unless
from tests.web.axe import MEDIA, findings
from tests.web.serving import resize
from ttt_env.web.compare.pages import TABS
from ttt_env.web.export import agent_page

PLAY, INSIDE, COMPARE = "/play?x=person&o=", "/inside?view=", "/compare"
STATES = {
    "start": "/play",
    "mid-game": PLAY + "minimax&moves=4.0",
    "review": PLAY + "minimax&moves=4.0.1.7&at=2&review=1",
    "won": PLAY + "person&moves=0.3.1.4.2",
    "resigned": PLAY + "minimax&moves=4.0&resigned=1",
    "drawn": PLAY + "person&moves=0.4.8.1.7.6.2.5.3&see=1",
    "see": PLAY + "softmax:temperature=1,opponent_temperature=0.5&moves=4&see=1&pause=1",
    "see against": PLAY + "random&see=1",
    "watched": "/play?x=random&o=random&pause=1",
    "watched and seen": "/play?x=random&o=random&moves=4.0&pause=1&see=1",
    "details": PLAY + "weights&moves=4.0",
    "levels of square": "/play?game=square-v0",
    "levels of k in a row": "/play?game=mnk-v0",
    "square against an agent": PLAY + "weights&game=square-v0&moves=0.5.3.6&see=1&pause=1",
    "square": PLAY + "person&game=square-v0&moves=0.5&see=1",
    "square won": PLAY + "person&game=square-v0&moves=0.2.1.6.4.9.5",
    "large": PLAY + "person&game=mnk-v0:m=8,n=8,k=5&moves=36.5&see=1",
    "large review": PLAY + "person&game=mnk-v0:m=8,n=8,k=5&moves=36.5.37&at=1&review=1",
    "qubic": PLAY + "person&game=qubic-v0&moves=0.1.2.5&see=1",
    "refused address": "/play?moves=99",
    "tree": INSIDE + "tree&moves=0.3.1.4.6.7",
    "whole tree": INSIDE + "tree",
    "minimax tree": INSIDE + "tree&tree.agent=minimax&moves=0.3",
    "tree of a finished game": INSIDE + "tree&moves=0.3.1.4.2",
    "no tree": INSIDE + "tree&game=qubic-v0",
    "search": INSIDE + "mcts&mcts.done=60",
    "search on qubic": INSIDE + "mcts&mcts.done=9&game=qubic-v0",
    "last move": INSIDE + "move&x=person&o=value-network&moves=4.0",
    "last move of a look-up": INSIDE + "move&x=person&o=lookup&moves=4.0",
    "last move of a search": INSIDE + "move&x=person&o=mcts:simulations=50,seed=0&moves=4.0",
    "last move by rules": INSIDE + "move&x=person&o=rules&moves=4.0",
    "last move by brute force": INSIDE + "move&x=person&o=brute-force&moves=4.0.8",
    "last move by Newell and Simon": INSIDE + "move&x=person&o=newell-simon&moves=4.0.8",
    "last move of minimax": INSIDE + "move&x=person&o=minimax&moves=4.0.8.2",
    "last move of imitation": INSIDE + "move&x=person&o=imitation&moves=0",
    "last move of Q-learning": INSIDE + "move&x=person&o=q-learning&moves=4.0",
    "last move of a policy network": INSIDE + "move&x=person&o=ppo&moves=4.0",
    "last move of a mixture": INSIDE + "move&x=person&o=mixture:weights%2Brandom&moves=4.0",
    "last move of nobody": INSIDE + "move&x=person&o=person&moves=4.0",
    "weights": INSIDE + "weights&moves=0.4",
    "ladder": COMPARE,
    "match": COMPARE + "?row=mcts:simulations=100,seed=0&column=weights",
    "sampled match": COMPARE + "?row=weights&column=win-block&seat=O",
    "people": COMPARE + "/people",
    "people on square": COMPARE + "/people?game=square-v0",
    "certificate": COMPARE + "/agent?agent=minimax",
    "refuting game": COMPARE + "/agent?agent=weights",
    "softmax": COMPARE + "/softmax",
    "train": "/train",
    "runs": COMPARE + "/runs",
    "runs over seconds": COMPARE + "/runs?over=seconds&run=dqn_1",
    "refused comparison": COMPARE + "?row=nobody&column=minimax",
    "404": "/nowhere",
    "405": "/play/move",
}
EXPORTED = {
    "exported start": "index.html",
    "exported see": "index.html#x=person&o=softmax&moves=4.0&see=1",
    "exported see against": "index.html#x=person&o=random&moves=4.0&see=1",
    "exported review": "index.html#x=person&o=minimax&moves=4.0.8.2.6.7&at=2",
    "exported end": "index.html#x=person&o=minimax&moves=0.3.1.4.2",
    "exported tree": "inside.html#moves=0.3.1.4.6.7",
    "exported whole tree": "inside.html",
    "exported train": "train.html",
    "exported ladder": "compare.html",
    "exported certificate": agent_page("minimax"),
    "exported refuting game": f"{agent_page('win-block')}#O-3",
}
"""The states of the pages as files."""
STATES |= EXPORTED
SOME = {
    ("see", "light"),
    ("train", "dark"),
    ("mid-game", "dark"),
    ("tree", "forced dark"),
    ("match", "dark"),
    ("softmax", "light"),
    ("404", "dark"),
    ("people", "light"),
    ("exported see", "dark"),
}
NARROW = {"see", "train", "large review", "search", "match", "softmax", "people", "exported see",
          "exported tree", "exported ladder", "exported refuting game"}  # fmt: skip


@pytest.fixture
def visit(look, request):
    """To a page, until all of its parts have come."""

    def go(state, **seen):
        if state not in EXPORTED:
            return look(request.getfixturevalue("url"), STATES[state], **seen).rest()
        return look(f"{request.getfixturevalue('exported_folder').as_uri()}/", EXPORTED[state], **seen)

    return go


@pytest.mark.parametrize(
    ("state", "media"), slow_unless(lambda *case: case in SOME, STATES, [*MEDIA, "on a phone"])
)
def test_axe_finds_nothing_wrong_and_leaves_nothing_open(state, media, visit):
    seen = {"width": 320} if media == "on a phone" else {"media": MEDIA[media]}
    assert findings(visit(state, **seen)) == []


@pytest.mark.parametrize(("state",), slow_unless({"mid-game", "ladder"}.__contains__, STATES))
def test_what_is_chosen_can_be_read_in_forced_colours(state, visit):
    """The system puts a plate under texts, which would be of the colour of one that stands on the accent."""
    page = visit(state, media=MEDIA["forced dark"])
    script = """const probe = document.body.appendChild(document.createElement('i'));
        const coloured = ['LinkText', 'CanvasText'].map((name) => {
          probe.style.backgroundColor = name;
          return getComputedStyle(probe).backgroundColor;
        });
        return [...document.querySelectorAll('main *')].filter((each) => each.textContent.trim())
          .map((each) => [each.outerHTML.slice(0, 90), getComputedStyle(each)])
          .filter(([, style]) => coloured.includes(style.backgroundColor))
          .filter(([, style]) => style.forcedColorAdjust !== 'none')
          .filter(([html]) => !html.includes('class="board"')) // its texts stand on tiles
          .map(([html]) => html);"""
    assert page.run(script) == []


def test_every_page_is_among_the_states(exported_files):
    paths = {urlsplit(address).path for address in STATES.values()}
    assert {"/play", "/inside", *TABS} <= paths
    written = {name for name in exported_files if name.endswith(".html")}
    assert {name for name in written if not name.startswith("agent-")} <= paths and paths & written


def test_axe_finds_what_is_wrong_and_what_it_leaves_to_people_is_told(visit):
    page = visit("404")
    page.run("document.querySelector('main').innerHTML += '<p style=\"color: #999\">◐</p>'")
    assert [rule for rule, *_ in findings(page)] == ["color-contrast"]
    page.run("document.querySelector('main').innerHTML += '<button></button><img src=x>'")
    assert {rule for rule, *_ in findings(page)} >= {"button-name", "image-alt"}


@pytest.mark.parametrize(("state",), slow_unless(NARROW.__contains__, STATES))
def test_nothing_is_beside_the_page_and_on_320_pixels_every_control_can_be_hit(state, visit):
    page = visit(state, width=320)
    assert page.run("return document.documentElement.scrollWidth") == 320
    script = """const controls = 'a[href], button, select, summary, input:not([type=hidden]), [tabindex="0"]';
        return [...document.querySelectorAll(controls)]
          .filter((each) => each.checkVisibility() && !each.matches('.skip'))
          .map((each) => each.matches('.choices input') ? each.parentElement : each) // its label is pressed
          .map((each) => [each.outerHTML.slice(0, 90), each.getBoundingClientRect()])
          .filter(([, {width, height}]) => Math.min(width, height) < 24)
          .map(([html, {width, height}]) => `${html} ${width} × ${height}`);"""
    assert page.run(script) == []
    for wider in (390, 1024):
        resize(page.browser, wider, 900)
        assert page.run("return document.documentElement.scrollWidth") <= wider


def names(page, selector):
    """The accessible names of elements, as Chromium computes them."""
    found = page.browser.find_elements(By.CSS_SELECTOR, selector)
    return [each.accessible_name for each in found]


def test_the_name_of_a_cell_carries_what_is_shown_there(visit):
    page = visit("see")
    cells = names(page, ".tile")
    assert cells[4] == "Cell 4, row 2, column 2: X, last move"
    assert cells[1] == "Cell 1, row 1, column 2: empty loses"
    cells = names(page.click("[data-toggle]"), ".tile")
    shown = page.text("#cell-1 b")
    assert cells[1].startswith("Cell 1, row 1, column 2: empty") and shown in cells[1]
    page.type("#o-temperature", Keys.ARROW_LEFT)
    page.wait(lambda: shown not in names(page, "#cell-1")[0])
    page.wait(lambda: page.text("#cell-1 b") in names(page, "#cell-1")[0])
    page.click("[data-toggle]")


def test_a_voice_says_where_the_agent_moved(visit):
    page = visit("start").click("#cell-4")
    page.wait(lambda: "row" in page.text("#live"))
    [cell] = map(int, page.all(".tile.last", "value"))
    place = f"Cell {cell}, row {cell // 3 + 1}, column {cell % 3 + 1}"
    assert page.text("#live") == f"Medium (O): {place}. Your turn: X"


def test_single_keys_can_be_turned_off_and_stay_off(visit):
    page = visit("mid-game")
    assert page.all("#letters", "checked") == [True]
    page.click("#letters")
    for _ in range(2):
        page.type("#page", "8nu")
        assert page.focused == "page"
        assert page.address["moves"] == "4.0" and "at" not in page.address
        page = visit("mid-game")
    page.click("#letters").type("#page", "8")
    assert page.focused == "cell-8"
