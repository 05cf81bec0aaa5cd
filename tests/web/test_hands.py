"""The element under a hand or a caret while the page moves: it is pressed, typed in and dragged."""

import time

import pytest

pytest.importorskip("selenium")
from selenium.webdriver.common.keys import Keys

from tests.support.marks import slow
from tests.web.serving import HELD, drag, hand, press, resize

RUNNING = "/inside?view=mcts&mcts.pace=fast&mcts.run=yes"  # a frame each 150 ms


def test_every_press_of_pause_and_play_arrives_while_a_search_runs(page):
    page.go(RUNNING)
    for number in range(14):
        before = page.text("#pause")
        assert before == ("Pause" if number % 2 == 0 else "Play")
        time.sleep(0.07 * (number % 5))  # at another moment of a frame each time
        press(page, "#pause")
        page.wait(lambda before=before: page.text("#pause") != before)


KEEP = "window.kept = new Map([...document.querySelectorAll('main [id]')].map((node) => [node.id, node]))"
REPLACED = """const isReplaced = ([id, node]) => ![null, node].includes(document.getElementById(id));
    return [...kept].filter(isReplaced).map(([id]) => id)"""


@pytest.mark.parametrize("game", ["tictactoe-v0", "square-v0", slow("qubic-v0")])
def test_figures_that_come_later_replace_nothing(game, page):
    """At the first visit: the figures of a position that was seen before come with the page."""
    page.open(f"game={game}&see=1&moves=0.1&o=person")
    page.run(KEEP)
    page.wait(lambda: page.text("#hint"))
    assert page.run(REPLACED) == []


def test_what_can_be_pressed_stays_itself_through_a_game(page):
    page.open("o=person")
    see = ["#see", "#cell-4", "#cell-0", "#undo", "#redo", "#see", "#move-1", "#latest"]
    for selector in [*see, "#cell-1", "#cell-2", "#cell-7", "#see", "#move-3", "#branch", "#cell-6", "#new"]:
        before = page.browser.current_url
        page.run(KEEP)
        page.click(selector).wait(lambda before=before: page.browser.current_url != before)
        page.rest()
        assert page.run(REPLACED) == [], selector


def test_digits_stay_in_their_order_while_a_search_runs(page):
    page.go(RUNNING)
    press(page, "#mcts-seed")
    page.type("#mcts-seed", Keys.CONTROL, "a")
    began = page.text("#done")
    for digit in "31415926":
        hand(page).send_keys(digit).pause(HELD).perform()
    page.wait(lambda: page.text("#done") != began)  # the search has run on under the caret
    assert page.all("#mcts-seed", "value") == ["31415926"]
    page.press(Keys.ENTER)
    page.wait(lambda: page.address.get("mcts.seed") == "31415926")


def test_a_slider_is_dragged_on_while_agents_play(page):
    for _ in range(5):  # until a frame has come meanwhile, for which a busy machine may lack the time
        page.go("/play?x=softmax&o=softmax&see=1")
        shown = drag(page, "#x-temperature", stay=1)
        if page.moves:
            break
    assert page.moves and len(shown) > 3
    assert shown == sorted(shown, reverse=True) and shown[-1] <= shown[0] - 1
    page.wait(lambda: f"temperature={shown[-1]:g}" in page.address["x"])
    page.wait(lambda: len(page.moves) > 2)


def test_focus_selection_and_scrolling_outlast_the_frames(page):
    resize(page.browser, 390, 844)
    page.go(RUNNING + "&mcts.done=300")
    page.type("#leap", Keys.TAB)
    prepare = """const tree = document.querySelector('.tree'); scrollTo(0, 120);
        tree.dispatchEvent(new WheelEvent('wheel', {bubbles: true}));
        tree.scrollLeft = 9; tree.scrollTop = 21;
        getSelection().selectAllChildren(document.querySelector('.thick'));"""
    state = """const tree = document.querySelector('.tree');
        return [scrollY, tree.scrollLeft, tree.scrollTop, `${getSelection()}`, document.activeElement.id,
                document.activeElement.matches(':focus-visible')]"""
    page.run(prepare)
    before, began = page.run(state), int(page.text("#done"))
    assert before[1:] == [9, 21, "lit: the path of the last simulation", "far", True]
    page.wait(lambda: int(page.text("#done")) > began + 4)
    assert page.run(state) == before


def test_what_is_typed_is_not_lost_to_what_is_pressed_next(slow_page):
    """The press leaves the field, so both are asked for within a tenth of a second."""
    slow_page.go("/inside?view=mcts")
    slow_page.type("#mcts-seed", "7")
    [typed] = slow_page.all("#mcts-seed", "value")
    press(slow_page, "#step")
    slow_page.wait(lambda: slow_page.address.get("mcts.done") == "21")
    assert slow_page.address["mcts.seed"] == typed and slow_page.text("#done") == "21"


def test_an_answer_that_was_overtaken_is_dropped(slow_page):
    slow_page.go("/inside?view=mcts")
    slow_page.run("for (const jump of ['leap', 'far', 'step']) document.getElementById(jump).click()")
    slow_page.wait(lambda: slow_page.text("#done") != "20")
    time.sleep(0.5)  # in which the other answers would come
    assert slow_page.text("#done") == slow_page.address["mcts.done"] == "21"
    slow_page.browser.back()
    slow_page.wait(lambda: slow_page.text("#done") == "20")


def test_any_tree_becomes_like_any_other_and_what_has_a_key_stays_itself(page):
    """On 500 pairs of random trees; `fixed` elements do not even move, and what is pressed is not removed."""
    script = """const [done] = [arguments[0]];
        import('/static/morph.js').then(({ morph, sweepUp }) => {
          let seed = 1;
          const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
          const grown = (depth) => {
            const node = document.createElement(['p', 'b', 'a'][random(3)]);
            for (const name of ['class', 'title', 'href']) if (random(2)) node.setAttribute(name, random(3));
            const keys = [1, 2, 3, 4, 5, 6].filter(() => random(2)).sort(() => random(3) - 1);
            for (const key of depth ? keys : []) {
              const child = random(4) ? grown(depth - 1) : document.createTextNode(random(9));
              if (child.dataset && random(2)) child.dataset.key = key;
              node.append(child);
            }
            return node;
          };
          const keyed = (root) => new Map([...root.children].filter((each) => each.dataset.key)
            .map((each) => [each.nodeName + each.dataset.key, each]));
          const wrong = [];
          for (let pair = 0; pair < 500; pair++) {
            const [old, next] = [grown(3), grown(3)], wanted = next.cloneNode(true);
            const pressed = [...old.querySelectorAll('*')].at(-1) ?? old;
            const before = keyed(old), fixed = [...before.values()].slice(-1), moved = [];
            if (next.nodeName !== old.nodeName) continue;
            const insert = old.insertBefore, append = old.append;
            old.insertBefore = (node, place) => (moved.push(node), insert.call(old, node, place));
            old.append = (node) => (moved.push(node), append.call(old, node));
            morph(old, next, { isHeld: () => false, fixed, pressed });
            if (!old.contains(pressed)) wrong.push(`${pair} removed what is pressed`);
            sweepUp(old);
            if (!old.isEqualNode(wanted)) wrong.push(`${pair} differs`);
            if (fixed.some((node) => moved.includes(node))) wrong.push(`${pair} moved`);
            for (const [key, node] of keyed(old)) {
              if ((before.get(key) ?? node) !== node) wrong.push(`${pair} replaced ${key}`);
            }
          }
          done(wrong);
        });"""
    page.open()
    assert page.browser.execute_async_script(script) == []
