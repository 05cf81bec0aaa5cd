"""Looking inside with a real browser: sliders, steps, and a phone; what its console says fails a test."""

import time

import pytest
from selenium.webdriver.common.keys import Keys

from tests.support.games import TICTACTOE
from tests.web.serving import resize
from ttt_env import Position, make_agent
from ttt_env.agents.mcts.search import Search
from ttt_env.render.words import percent

FIGURE = "/inside?moves=0.3.1.4.6.7&x.temperature=0.2&o.temperature=1"
POSITION = Position.parse("XX./OO./XO.")
VIEWS = [
    FIGURE, "/inside", "/inside?moves=4", "/inside?view=mcts&mcts.done=300",
    "/inside?view=weights&game=square-v0", "/inside?view=move&x=newell-simon&o=person&moves=4.0.2.6.3",
    "/inside?view=move&x=lookup&moves=8", "/inside?view=mcts&mcts.done=90&game=qubic-v0",
    "/inside?view=move&x=person&o=epsilon:minimax,epsilon=0.3&moves=0.4.8.1",
    "/inside?view=weights&game=qubic-v0",
]  # fmt: skip


def shown(page):
    """The chances in the cells."""
    script = """return Object.fromEntries([...document.querySelectorAll('.tile')]
        .map((tile) => [tile.value, tile.querySelector('.figures b')?.textContent])
        .filter(([, text]) => text))"""
    return {int(cell): text for cell, text in page.run(script).items()}


def expected(own, others):
    policy = make_agent(f"softmax:temperature={own},opponent_temperature={others}").policy(POSITION)
    return {cell: percent(policy[cell]) for cell in POSITION.legal_cells}


def lit(page):
    """The cells of the lit path, root first."""
    script = "return [...document.querySelectorAll('.branch.lit')].map((branch) => branch.dataset.cells)"
    return page.run(script)


def path_after(simulations):
    search = Search(TICTACTOE.start, solve=False, seed=0)
    search.run(simulations=simulations)
    return [".".join(map(str, search.path[:length])) for length in range(len(search.path) + 1)]


def test_the_sliders_change_the_figures_to_the_exact_ones(page):
    page.go(FIGURE)
    assert shown(page) == expected(0.2, 1) == {2: "97.46%", 5: "2.52%", 8: "0.02%"}
    assert page.text("#value").startswith("+0.9813")
    page.type("#x-temperature", Keys.ARROW_RIGHT)
    page.wait(lambda: page.address.get("x.temperature") == "0.25")
    assert shown(page) == expected(0.25, 1)
    page.press(*[Keys.ARROW_RIGHT] * 3)  # the slider keeps the focus
    page.wait(lambda: page.address.get("x.temperature") == "0.4")
    assert shown(page) == expected(0.4, 1)
    page.type("#o-temperature", Keys.HOME)
    page.wait(lambda: page.address.get("o.temperature") == "0")
    assert shown(page) == expected(0.4, 0)
    page.click("label:has(#agent-minimax)").wait(lambda: shown(page)[2] == "100%")
    assert page.text("#value").startswith("+1")
    page.browser.back()
    page.wait(lambda: shown(page) == expected(0.4, 0))


def test_a_board_of_the_tree_leads_below_it(page):
    page.go(FIGURE).click('.branch[data-cells="5"]').wait(lambda: page.moves[-1] == 5)
    page.wait(lambda: page.text("#value").startswith("+0.2689"))
    page.play(8)
    page.click("#undo").wait(lambda: "O to move" in page.text("h1"))


def test_the_tree_of_a_larger_game_comes_after_the_page(page):
    page.go("/inside?game=mnk-v0:m=4,n=3,k=3").wait(lambda: page.text("#value").endswith("for X"))
    before = page.text("#value")
    page.play(5).wait(lambda: "O to move" in page.text("h1") and page.text("#value") not in ("", before))
    assert len(shown(page)) == 11 and overlapping(page) == []


def test_a_search_goes_step_by_step_forth_and_back(page):
    page.go("/inside?view=mcts&mcts.done=0")
    for done in (1, 2, 3):
        page.click("#step").wait(lambda done=done: page.text("#done") == str(done))
        assert lit(page) == path_after(done)
    page.click("#leap").wait(lambda: page.text("#done") == "13")
    assert lit(page) == path_after(13)
    page.click("#back").wait(lambda: page.text("#done") == "12")
    assert lit(page) == path_after(12)
    before = page.browser.page_source
    page.press(Keys.ENTER).wait(lambda: page.text("#done") == "11")  # the button keeps the focus
    page.click("#step").wait(lambda: page.text("#done") == "12")
    assert page.browser.page_source == before


def test_a_search_plays_and_pauses(page):
    page.go("/inside?view=mcts&mcts.done=0&mcts.pace=fast").click("#pause")
    page.wait(lambda: int(page.text("#done")) >= 3)
    page.click("#pause").wait(lambda: page.text("#pause") == "Play")
    done = page.text("#done")
    assert lit(page) == path_after(int(done)) and page.address["mcts.done"] == done
    time.sleep(0.5)  # three steps at that speed
    assert page.text("#done") == done
    page.press("p").wait(lambda: int(page.text("#done")) > int(done))
    page.press("p").wait(lambda: page.text("#pause") == "Play")


def overlapping(page):
    """The pairs of boards of the tree, with what is written at them, that lie over each other."""
    script = """const boxes = [...document.querySelectorAll('.branch')].map((branch) => {
            const parts = [...branch.children].map((part) => part.getBoundingClientRect());
            return [Math.min(...parts.map((p) => p.left)), Math.max(...parts.map((p) => p.right)),
                    Math.min(...parts.map((p) => p.top)), Math.max(...parts.map((p) => p.bottom))]; });
        const both = (a, b, i) => Math.min(a[i + 1], b[i + 1]) - Math.max(a[i], b[i]) > 2;
        return boxes.flatMap((a, i) => boxes.slice(0, i).filter((b) => both(a, b, 0) && both(a, b, 2)))"""
    return page.run(script)


@pytest.mark.parametrize("view", VIEWS)
def test_no_two_boards_overlap_and_on_a_phone_only_the_tree_scrolls(page, view):
    assert overlapping(page.go(view)) == []
    resize(page.browser, 390, 844)
    page.go(view)
    assert page.run("return document.documentElement.scrollWidth") <= 390
    script = """return [...document.querySelectorAll('.branch span, .note, .phases, .why, .uct td')]
        .map((part) => parseFloat(getComputedStyle(part).fontSize))"""
    assert min(page.run(script)) >= 11
    assert overlapping(page) == []
    end = """const box = document.querySelector('.of-mcts .tree')?.getBoundingClientRect();
        const end = document.querySelector('.branch.end')?.getBoundingClientRect();
        const isWide = end?.right <= box?.right + 1;
        const isIn = isWide && end?.bottom <= box?.bottom + 1 && end?.top >= box?.top - 1;
        return !box || isIn"""
    page.wait(lambda: page.run(end))


@pytest.mark.parametrize("game", ["tictactoe-v0", "qubic-v0"])
def test_on_a_phone_the_tree_holds_still_while_the_search_runs_and_follows_each_step_asked_for(game, page):
    resize(page.browser, 390, 844)
    page.go(f"/inside?view=mcts&mcts.done=70&mcts.pace=fast&game={game}").click("#pause")
    state = """const tree = document.querySelector('.tree'), box = tree.getBoundingClientRect();
        const end = document.querySelector('.branch.end').getBoundingClientRect();
        return [[tree.scrollLeft, tree.scrollTop], end.top >= box.top - 1 && end.bottom <= box.bottom + 1]"""
    scrolled, are_in_view = [], []
    for done in range(71, 80):
        page.wait(lambda done=done: int(page.text("#done")) > done)
        place, is_in_view = page.run(state)
        scrolled.append(place)
        are_in_view.append(is_in_view)
    assert scrolled == [scrolled[0]] * 9 and not all(are_in_view)
    page.click("#pause").wait(lambda: page.text("#pause") == "Play")
    for _ in range(3):
        done = page.text("#done")
        page.click("#step").wait(lambda done=done: page.text("#done") != done)
        assert page.run(state)[1]


def test_the_last_move_of_an_agent_from_the_game(page):
    page.open("x=person&o=win-block").play(4)
    page.wait(lambda: len(page.moves) == 2)
    own = next(cell for cell in (0, 1) if page.moves[1] not in (cell, 8 - cell))
    page.click(f"#cell-{own}").wait(lambda: len(page.moves) == 4)
    reply = 8 - own
    page.click("#inside").wait(lambda: page.text(".status") == f"win-block (O) has played {reply}")
    assert page.text("#why") == f"The rule block fires: cell {reply} would complete a winning set of X."
    assert shown(page)[reply] == "100%" and {own, 4, reply} <= set(page.marked("lit"))
    page.click("#undo").wait(lambda: len(page.moves) == 3 or page.address.get("at") == "3")
    page.click("#undo").wait(lambda: "no rule" in page.text("#why").lower())
    page.click("#play").wait(lambda: "to move" in page.status or "turn" in page.status)
