"""Playing: a person clicks cells, agents reply, and the address holds the game."""

import random
import re

import pytest
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.interaction import POINTER_TOUCH
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.keys import Keys

from tests.support import naive
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from tests.web.conftest import HOSTILE

TWIN = naive.twin(TICTACTOE)
LOST = "#play?x=person&o=minimax:prefer=fast&moves=0.4.1.2.5.6"


def cell(number):
    return f".stage [data-cell='{number}']"


def press(page, number):
    page.click_at(cell(number), 0, 0)


def moves(page):
    return page.all(".moves li")


def wait_for_reply(page, stones):
    """Wait until the board holds this number of stones and the person may move, or the game is over."""
    page.until(
        """return document.querySelectorAll('.stage .cell.x, .stage .cell.o').length === arguments[0]
             && document.querySelector('.stage .open')""",
        stones,
    )


def wait_for_end(page):
    page.until("return !document.querySelector('.stage .open') && document.querySelector('#again.main')")


# ---- A game.


def test_agent_replies_to_move(page):
    page.go("#play")
    assert page.text(".status") == "Your turn: X" and page.stones() == "." * 9
    press(page, 4)
    page.until("return document.querySelector('.stage .cell.x')")
    wait_for_reply(page, 2)
    assert page.stones()[4] == "X" and page.stones().count("O") == 1
    assert page.text(".status") == "Your turn: X" and re.match(r".*\(O\): cell \d\.", page.text(".unseen"))
    assert len(moves(page)) == 2 and f"moves={'.'.join(moves(page))}" in page.browser.current_url


def test_levels_can_be_chosen_and_show_strength(page):
    page.go("#play")
    names = page.all(".level b")
    assert names == ["Easy", "Medium", "Hard", "Perfect"] and all(page.all(".level span"))
    for number, name in enumerate(names, 1):
        page.click(f".level:nth-child({number})")
        page.until(
            "return document.querySelector('.level[aria-current] b').textContent === arguments[0]", name
        )
    assert page.text("[aria-label='Player of O'] option:checked") == "Perfect: minimax:prefer=fast"
    page.click(".side p a")
    page.until("return document.querySelector('.seal.proved')")
    assert page.text(".certificate h1") == "minimax:prefer=fast"


def test_players_swap_seats_and_agent_moves_first(page):
    page.go("#play?x=person&o=minimax")
    page.click("#swap")
    wait_for_reply(page, 1)
    assert page.stones().count("X") == 1 and page.text(".status") == "Your turn: O"
    page.find("[aria-label='Player of X']").send_keys("A person")
    page.until("return document.querySelector('.status').textContent === 'O to move'")


def test_moves_can_be_undone_redone_and_revisited(page):
    page.go("#play?x=person&o=person&moves=4.0.8")
    page.click("#undo")
    page.until("return document.querySelector('.status').textContent.startsWith('After move 2 of 3')")
    assert page.stones() == "O...X...." and len(moves(page)) == 3
    page.click("#redo")
    page.until("return document.querySelector('.status').textContent === 'O to move'")
    page.click(".moves li:first-child a")
    page.until("return document.querySelector('.status').textContent.startsWith('After move 1 of 3')")
    press(page, 2)
    page.until("return document.querySelectorAll('.moves li').length === 2")
    assert moves(page) == ["4", "2"] and page.stones() == "..O.X...."
    page.browser.back()
    page.until("return document.querySelectorAll('.moves li').length === 3")


def test_undo_against_agent_takes_both_moves_back(page):
    page.go("#play?x=person&o=minimax&moves=4.0")
    page.click("#undo")
    page.until("return document.querySelector('.status').textContent.startsWith('After move 0 of 2')")
    assert page.stones() == "." * 9 and page.count(".stage .open") == 9


def test_move_values_are_shown_on_request(page):
    page.go("#play?x=person&o=person&moves=0.3.1.4")
    page.click("#see")
    page.until("return document.querySelector('.judgement').textContent.includes('X wins, solved')")
    labels = {number: page.attribute(cell(number), "aria-label") for number in (2, 5)}
    assert labels[2] == "Cell 2: free; wins in 1" and labels[5] == "Cell 5: free; draws"
    marks = {kind: page.count(f".stage .mark.{kind}[d]") for kind in ("win", "draw", "loss")}
    values = [TWIN.value(naive.play("XX.OO....", free)) for free in TWIN.moves("XX.OO....")]
    assert marks == {"win": values.count(-1), "draw": values.count(0), "loss": values.count(1)}
    page.click("#see")
    page.until("return !document.querySelector('.stage .mark[d]')")


def test_lost_game_names_losing_move(page):
    page.go(LOST)
    page.until("return document.querySelector('.status').textContent.includes('lost it')")
    assert page.text(".status") == "Perfect (O) wins: you lost it at move 5"
    assert page.attribute(".moves .blunder a", "aria-label") == "Move 5: X on 5, a blunder"
    assert page.count(".cell.completed.o") == 3 and page.count(".strokes path") == 1
    page.click(".moves p a")
    page.until("return document.querySelector('.judgement').textContent.includes('solved')")
    assert page.stones() == "XXO.O...." and page.attribute(cell(6), "aria-label").startswith(
        "Cell 6: free; draws"
    )


def test_agents_play_each_other_and_can_be_paused(page):
    page.go("#play?x=minimax:prefer=fast&o=random&pause=1&moves=4.0.8")
    assert page.text("#pause") == "Go on" and page.text(".status") == "Easy (O) is to move"
    page.click("#pause")
    page.until("return document.querySelectorAll('.moves li').length > 4")
    page.click("#pause")
    page.until("return document.querySelector('#pause').textContent === 'Go on'")
    before = moves(page)
    page.click("#pause")
    wait_for_end(page)
    assert moves(page)[: len(before)] == before and page.stones().count("X") > 2
    assert page.text(".status").startswith(("Perfect (X) wins", "A draw"))  # the opponent plays at random


def test_board_can_be_played_by_keyboard(page):
    page.go("#play?x=person&o=person")
    page.run("document.querySelector('.stage .open[tabindex=\"0\"]').focus()")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER)
    page.until("return document.querySelector('.stage .cell.x')")
    assert page.stones() == "....X...."
    page.press(Keys.ARROW_LEFT, Keys.ARROW_UP, Keys.ARROW_UP, Keys.SPACE)
    page.until("return document.querySelector('.stage .cell.o')")
    assert page.stones() == "O...X...." and page.count(".stage [tabindex='0']") == 1
    page.press(Keys.ENTER)  # on a taken cell
    assert page.stones() == "O...X...."


def test_all_completed_winning_sets_are_marked(page):
    page.go("#play?x=person&o=person&moves=0.1.2.3.6.5.8.7.4")
    assert page.count(".cell.completed") == 5 and page.count(".strokes path") == 2
    assert page.text(".status").startswith("X wins")


# ---- With a server.


def test_finished_game_is_recorded_once_if_played_here(live, served):
    _, log = served

    def recorded():
        return [game.record.cells for game in log.games(TICTACTOE)]

    before = len(recorded())
    live.go(LOST)
    live.until("return document.querySelector('.status').textContent.includes('lost it')")
    live.go("#play?x=person&o=person")
    for number in (0, 3, 1, 4):
        press(live, number)
        live.until("return !document.querySelector(arguments[0]).classList.contains('open')", cell(number))
    live.click("#undo")
    live.until("return document.querySelector('.status').textContent.startsWith('After move 3')")
    for number in (5, 2):
        press(live, number)
        live.until("return !document.querySelector(arguments[0]).classList.contains('open')", cell(number))
    wait_for_end(live)
    live.click("#again")
    live.until("return document.querySelectorAll('.stage .open').length === 9")
    game = (4, 0, 3, 8, 5)
    for number in game:
        press(live, number)
        live.until("return !document.querySelector(arguments[0]).classList.contains('open')", cell(number))
    wait_for_end(live)
    live.wait(lambda: len(recorded()) > before)
    live.click("#undo")
    live.click("#redo")
    wait_for_end(live)
    live.browser.refresh()
    wait_for_end(live)
    assert recorded()[before:] == [game]


def test_program_plays_and_its_name_stays_text(live):
    live.go("#play")
    label = next(each for each in live.all("[aria-label='Player of O'] option") if "img" in each)
    live.run(
        """const choice = document.querySelector("[aria-label='Player of O']");
           choice.value = arguments[0];
           choice.dispatchEvent(new Event('change'));""",
        label,
    )
    press(live, 4)
    wait_for_reply(live, 2)
    assert live.stones() == "O...X...." and live.count("img") == 0


def test_lost_connection_is_reported_and_board_stays(live):
    live.go("#play?x=person&o=mcts:simulations=50,seed=1")
    live.offline(True)
    press(live, 4)
    live.until("return !document.querySelector('.complaint').hidden")
    assert "does not answer" in live.text(".complaint") and live.stones() == "....X...."
    assert all("ERR_INTERNET_DISCONNECTED" in line for line in live.console_messages())
    live.offline(False)
    live.click(".complaint button")
    wait_for_reply(live, 2)
    assert live.find(".complaint").is_displayed() is False


def test_qubic_is_shown_as_proved_win_for_x(live):
    live.go("#play?game=qubic-v0&x=person&o=person&see=1")
    live.until("return document.querySelector('.judgement').textContent.includes('proved')")
    assert live.text(".judgement").startswith("With best play: X wins, proved")
    live.click("//b[text()='Proof']")
    wait_for_reply(live, 1)
    press(live, 63)
    wait_for_reply(live, 3)
    assert live.text(".status") == "Your turn: O"


def test_stone_falls_to_lowest_free_cell(live):
    live.go("#play?game=connect-four-v0&x=person&o=person")
    for number, stones in ((3, 1), (10, 2), (38, 2), (24, 3)):
        press(live, number)
        wait_for_reply(live, stones)
    live.until("return location.hash.includes('moves=38.31.24')")


# ---- Invalid addresses.


@pytest.mark.parametrize(
    ("address", "stones"),
    [("&moves=0.0.1", "X........"), ("&moves=4.99", "....X...."),
     ("&moves=4.-1", "........."), ("&moves=4,0", "........."),
     ("&moves=4.0&at=77", "O...X...."),
     ("&moves=4.0&at=0.5", "........."),
     ("&game=chess&moves=4", "....X...."), ("&%&%%%=", "........."),
     ("&moves=0.3.1.4.2.5", "XXXOO....")],
)  # fmt: skip
def test_valid_part_of_broken_address_is_opened(address, stones, page):
    page.go(f"#play?x=person&o=person{address}")
    assert page.stones() == stones and page.text(".status")


@pytest.mark.parametrize(
    "agent",
    [
        "nobody",
        HOSTILE,
        "constructor",
        "softmax:temperature=hot",
        "softmax:temperature=-1",
        "softmax:depth=2",
    ],
)
def test_unknown_agent_is_named_and_board_stays(agent, page):
    page.go(f"#play?x={agent}&moves=4.0")
    page.until("return !document.querySelector('.complaint').hidden")
    assert agent in page.text(".complaint") and page.stones() == "O...X...."
    page.go(f"#compare?agent={agent}")
    page.until("return !document.querySelector('.complaint').hidden")
    assert agent in page.text(".complaint") and page.count(".ladder")


@pytest.mark.parametrize(
    "view", ["nowhere", "constructor", "__proto__", "positions?game=chess&seed=x&exploration=&rate=99"]
)
def test_unknown_view_opens_first_view(view, page):
    page.go(f"#{view}")
    page.until("return document.querySelector('.map')")


# ---- No click is lost.

OPEN = "return [...document.querySelectorAll('.stage .open')].map(({dataset}) => Number(dataset.cell))"


def by_mouse(page, number):
    press(page, number)


def by_touch(page, number):
    finger = ActionBuilder(page.browser, mouse=PointerInput(POINTER_TOUCH, "finger"), duration=0)
    finger.pointer_action.move_to(page.find(cell(number))).pointer_down().pointer_up()
    finger.perform()


def by_keyboard(page, number):
    at = page.run("return Number(document.querySelector('.stage [tabindex=\"0\"]').dataset.cell)")
    across, down = number % 3 - at % 3, number // 3 - at // 3
    page.run("document.querySelector('.stage [tabindex=\"0\"]').focus()")
    keys = [Keys.ARROW_RIGHT if across > 0 else Keys.ARROW_LEFT] * abs(across)
    keys += [Keys.ARROW_DOWN if down > 0 else Keys.ARROW_UP] * abs(down)
    page.press(*keys, Keys.ENTER)


@pytest.mark.browser  # it requests the fixture at run time
@pytest.mark.parametrize(("opponent", "presses"), [("person", 10), slow("person", 50), slow("minimax", 300)])
@pytest.mark.parametrize("press_by", [by_mouse, by_keyboard, by_touch])
@pytest.mark.parametrize("host", ["site", "served"])
def test_no_click_is_lost(host, press_by, opponent, presses, request):
    page = request.getfixturevalue({"site": "page", "served": "live"}[host])
    page.go(f"#play?x=person&o={opponent}")
    rng = random.Random(presses)
    for _ in range(presses):
        free = page.run(
            "return [...document.querySelectorAll('.stage .open')].map(({dataset}) => +dataset.cell)"
        )
        if not free:
            wait_for_end(page)
            page.click("#again")
            page.until("return document.querySelectorAll('.stage .open').length === 9")
            free = list(range(9))
        number = rng.choice(free)
        press_by(page, number)
        page.until(
            """const {classList} = document.querySelector(arguments[0]);
               return !classList.contains('open') && (classList.contains('x') || classList.contains('o'))
                 && (document.querySelector('.stage .open') || document.querySelector('#again.main'))""",
            cell(number), seconds=10,
        )  # fmt: skip
