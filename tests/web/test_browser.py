"""The page in a real browser: by clicks, by keys, on a phone; what its console says fails a test."""

import time

from selenium.webdriver.common.keys import Keys

from tests.web.axe import MEDIA, emulate


def test_games_won_by_clicks_and_lost_to_an_agent_and_every_completed_set_lit(page):
    page.open("x=person&o=person").play(0, 3, 1, 4, 2)
    assert page.status == page.text("#live") == "X wins" and page.marked("completed") == [0, 1, 2]
    page.open("x=person&o=minimax&moves=0.4.1.2.5").wait_for_status("You lost it at move 5")
    assert page.moves[-1] == 6 and page.marked("completed") == [2, 4, 6]
    page.open("x=person&o=person&moves=0.3.2.4.6.5")  # the second player's row first, as it was played
    assert page.status == "O wins" and page.marked("completed") == [3, 4, 5]
    page.open("game=square-v0&x=person&o=person&moves=0.2.1.6.4.9.8.14.10.3").play(5)
    assert page.status == "X wins" and page.marked("completed") == [0, 1, 4, 5]


def test_a_game_by_keyboard_alone(page):
    page.open("x=person&o=person")
    page.press("4", Keys.ENTER).wait(lambda: page.moves == [4])
    page.press(Keys.ARROW_UP, Keys.ARROW_LEFT, Keys.ENTER).wait(lambda: page.moves == [4, 0])
    page.press("2", Keys.ENTER).wait(lambda: page.moves == [4, 0, 2])
    page.press("u").wait(lambda: page.address.get("at") == "2")
    page.press("r").wait(lambda: "at" not in page.address)
    page.press(Keys.ARROW_DOWN, Keys.SPACE).wait(lambda: page.moves == [4, 0, 2, 5])
    page.press("6", Keys.ENTER).wait_for_status("X wins")
    assert page.marked("completed") == [2, 4, 6]
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert page.run(outline) == "solid"
    page.press("n").wait(lambda: page.moves == [])


def test_undo_and_redo_against_an_agent(page):
    page.open("x=person&o=minimax").play(4).wait_for_status("Your turn")
    played = page.moves
    page.click("#undo").wait(lambda: page.address.get("at") == "0")
    assert page.marked("x") == []
    page.click("#redo").wait(lambda: "at" not in page.address)
    assert page.moves == played and page.marked("x") == [4]
    page.browser.back()
    page.wait(lambda: page.marked("x") == [])


def test_arrow_keys_in_the_choice_of_games_give_up_no_game(page):
    page.open("x=person&o=person").play(4)
    page.type("#kind-tictactoe-v0", Keys.ARROW_RIGHT)
    page.play(0)  # an answer comes
    time.sleep(0.2)
    assert page.moves == [4, 0] and "game=tictactoe-v0" in page.browser.current_url
    page.type("#kind-tictactoe-v0", Keys.ARROW_RIGHT)
    page.click("#game button").wait(lambda: page.address["game"] == "square-v0" and page.moves == [])


def test_qubic_is_four_layers_and_arrows_go_from_one_to_the_next(page):
    page.open("game=qubic-v0&x=person&o=person")
    assert page.count(".board") == 4
    page.play(0, 1, 21, 2, 42, 3, 63)
    assert page.status == "X wins" and page.marked("completed") == [0, 21, 42, 63]
    page.click("#new").wait(lambda: page.moves == [])
    page.press("3", Keys.ARROW_RIGHT, Keys.ENTER).wait(lambda: page.moves == [16])
    page.press("1", "2", Keys.ARROW_DOWN, Keys.ENTER).wait(lambda: page.moves == [16, 32])


def test_a_shared_address_is_the_same_position_elsewhere(page):
    page.open("game=square-v0&x=person&o=person").play(0, 5, 10)
    page.wait(lambda: page.address.get("moves") == "0.5.10")
    shared = page.attribute("#copy", "data-copy")
    page.browser.switch_to.new_window("tab")
    try:
        page.browser.get(page.url + shared)
        assert page.marked("x") == [0, 10] and page.marked("o") == [5] and page.moves == [0, 5, 10]
        page.play(3)
    finally:
        page.browser.close()
        page.browser.switch_to.window(page.browser.window_handles[0])
    assert page.moves == [0, 5, 10]
    page.play(1)
    assert page.moves == [0, 5, 10, 1]


def test_agents_play_each_other_and_can_be_held_and_stepped(page):
    page.open("game=qubic-v0&x=random&o=random&pause=1").click("#advance button")
    page.wait(lambda: len(page.moves) == 1)
    assert page.text("#pause") == "Go on"
    page.click("#pause").wait(lambda: len(page.moves) >= 2)
    page.click("#pause").wait(lambda: page.address.get("pause") == "1")


def test_the_system_or_the_visitor_chooses_light_or_dark(page):
    colour = "return getComputedStyle(document.body).backgroundColor"
    page.open()
    light = page.run(colour)
    emulate(page.browser, MEDIA["dark"])
    assert page.run(colour) != light
    page.click("#theme")
    assert page.run(colour) == light
    page.open()
    assert page.run(colour) == light
    page.run("localStorage.clear()")
    emulate(page.browser, {})


def test_the_settings_change_game_and_players(page):
    page.open().click("label:has(#kind-square-v0)").wait(lambda: page.address.get("game") == "square-v0")
    page.click("#details > summary")
    page.type("#seat-x", "random")
    page.wait(lambda: page.address.get("x") == "random")
    page.type("#seat-o", "random")
    page.wait(lambda: page.address["o"] == "random")
    page.wait(lambda: len(page.moves) >= 2)
