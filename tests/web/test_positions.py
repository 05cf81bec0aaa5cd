"""All positions: the picture of a training shows what the package proves of the agent."""

import re
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from tests.support import naive
from tests.support.games import TICTACTOE
from tests.support.marks import slow_but_the_first
from tests.support.naive_agent import Plays
from ttt_env import certify, solve
from ttt_env.rules import Position, symmetries

GREY, RED, GREEN, COMES = 0, 1, 2, 4  # as in train.js
TIE = 1e-9
TWIN = naive.twin(TICTACTOE)
SETTINGS = {0.8: True, 0.5: None, 0.3: None}  # exploration, and whether every training becomes unbeatable
FILM = "#positions?seed=1&exploration=0.8&rate=0.5"


@cache
def class_of(board):
    """The smallest image of a board, which all symmetric boards share."""
    return min("".join(board[cell] for cell in symmetry) for symmetry in symmetries(TICTACTOE))


class PageAgent:
    """The agent of values by class of positions, for the player that moved there, as the page learns them."""

    def __init__(self, values):
        self.values = values
        self.policy, self.risk = cache(self.policy), cache(self.risk)

    def policy(self, board):
        """The probabilities of the cells that the agent considers best."""
        after = {cell: self.values[class_of(naive.play(board, cell))] for cell in TWIN.moves(board)}
        best = [cell for cell, value in after.items() if value > max(after.values()) - TIE]
        return {cell: 1 / len(best) for cell in best}

    def risk(self, board, seat):
        """The largest probability, over all opponents, that the agent loses from here on this seat."""
        cells = TWIN.moves(board)
        if not cells:
            return float(TWIN.result(board, seat) == -1)
        after = {cell: self.risk(naive.play(board, cell), seat) for cell in cells}
        if naive.mover(board) != seat:
            return max(after.values())
        return sum(chance * after[cell] for cell, chance in self.policy(board).items())

    @cached_property
    def certificate(self):
        return certify(Plays(TICTACTOE, self.policy))


def text_of(x, o):
    return "".join("X" if x >> cell & 1 else "O" if o >> cell & 1 else "." for cell in range(9))


TRAIN = """
const positions = new train.Positions(game('tictactoe-v0'));
const {frames, ...run} = train.train(positions, {seed: given[0], exploration: given[1], rate: given[2]});
const shown = [...new Set([0, frames.length >> 1, frames.length - 1])].map((at) => frames[at]);
const frameOf = ({look, values, ...frame}) => ({...frame, look: [...look], values: [...values]});
return {...run, nodes: positions.nodes, frames: shown.map(frameOf)};"""


def train_in_page(page, seed, exploration, rate=0.5):
    """A training of the page, with its first, its middle and its last frame."""
    run = page.module(TRAIN, seed, exploration, rate, names="train")
    run["boards"] = [text_of(node["x"], node["o"]) for node in run["nodes"]]
    return run


# ---- Facts.


def test_positions_have_separate_places_on_rings_of_plies(page):
    nodes, spots = page.module(
        """const {nodes} = new train.Positions(game('tictactoe-v0')), file = await fetch('data/layout.json');
           return [nodes.map(({ply, x, o}) => [ply, x, o]), await file.json()];""",
        names="train",
    )
    assert len(nodes) == len(spots) == len({class_of(text_of(x, o)) for _, x, o in nodes}) == 765
    places = np.array(spots)
    distances = np.linalg.norm(places[:, None] - places, axis=2) + 1000 * np.eye(765)
    assert distances.min() > 6  # half the width of a dot
    radii = np.linalg.norm(places, axis=1)
    rings = [radii[[ply == each for ply, *_ in nodes]] for each in range(10)]
    assert all(inner.max() < outer.min() for inner, outer in pairwise(rings))
    assert radii.max() < 400


@pytest.mark.parametrize("exploration", SETTINGS)
@pytest.mark.parametrize("seed", slow_but_the_first(range(1, 21)))
def test_verdict_and_loss_chances_equal_package(seed, exploration, page):
    run = train_in_page(page, seed, exploration)
    assert run["isUnbeatable"] or (run["games"] == 12_000 and not SETTINGS[exploration])
    for frame in run["frames"]:
        agent = PageAgent(dict(zip(map(class_of, run["boards"]), frame["values"], strict=True)))
        risks = [agent.risk(TWIN.empty, seat) for seat in "XO"]
        assert [frame["X"], frame["O"]] == pytest.approx(risks, abs=1e-12)
        assert agent.certificate.unbeatable == (risks == [0, 0])
    assert agent.certificate.unbeatable == run["isUnbeatable"]


def test_colours_show_outcomes_of_agent(page):
    for exploration in (0.8, 0.0):
        run = train_in_page(page, 1, exploration)
        for frame in run["frames"]:
            agent = PageAgent(dict(zip(map(class_of, run["boards"]), frame["values"], strict=True)))
            reached = {
                seat: {class_of(board) for layer in TWIN.layers({seat: agent.policy}) for board in layer}
                for seat in "XO"
            }
            for board, look in zip(run["boards"], frame["look"], strict=True):
                seat, seats = naive.mover(board), "XO" if not TWIN.moves(board) else naive.mover(board)
                if look & 3 != GREY:
                    assert look & 3 == (RED if agent.risk(board, seat) > 0 else GREEN), board
                assert bool(look & COMES) == any(class_of(board) in reached[each] for each in seats), board
    is_met = [look & 3 != GREY for look in run["frames"][-1]["look"]]
    assert (run["isStuck"], is_met.count(False), len(run["frames"][-1]["game"]) - 1) == (True, 751, 9)


def test_colours_of_first_boards_show_whether_agent_can_lose(page):
    frames = page.module(
        """const positions = new train.Positions(game('tictactoe-v0'));
           const {frames} = train.train(positions, {seed: 1, exploration: 0.8, rate: 0.5});
           return frames.map(({X, O, look}) => [X, O, [...look.slice(0, 4)].map((each) => each & 3)]);""",
        names="train",
    )
    for x, o, (empty, *after) in frames[30:]:  # all three have been met by then
        assert (empty == RED) == (x > 0) and GREY not in after
        assert (RED in after) == (o > 0)
    assert {x > 0 for x, *_ in frames[30:]} == {o > 0 for _, o, _ in frames[30:]} == {True, False}


def test_89_positions_are_lost(page):
    nodes = train_in_page(page, 1, 0.8)
    lost = [board for board, node in zip(nodes["boards"], nodes["nodes"], strict=True) if node["isLost"]]
    assert len(lost) == 89
    values = solve(TICTACTOE)
    assert all(values.value_of(Position.parse("/".join(re.findall("...", board)))) == -1 for board in lost)


# ---- The view of a visitor.


def colours(page):
    """The number of dots of each colour, according to the key."""
    return dict(zip(("grey", "red", "green", "lost"), map(int, page.all(".key b")), strict=True))


def test_seed_1_is_unbeatable_after_3950_games(page):
    page.go(f"{FILM}&games=3950")
    assert page.text(".headline") == "Unbeatable after 3,950 games"
    assert page.all(".chances b") == ["0 %", "0 %"] and colours(page)["red"] == 0
    assert page.count(".dot.red") - page.count(".key .dot.red") == 0 and not page.attribute(".threads", "d")
    page.go(f"{FILM}&games=3900")
    assert page.text(".headline") == "3,900 games played: it can be beaten"
    assert colours(page)["red"] == page.count(".map .dot.red") > 0 and page.attribute(".threads", "d")
    assert colours(page)["lost"] == page.count(".map .dot.lost") == 89


def test_training_without_exploration_repeats_one_game(page):
    page.go(f"{FILM}&games=0")
    page.click("//button[text()='No exploration']")
    page.run("document.querySelector('[aria-label=Speed]').value = '999'")
    page.until("return document.querySelector('.headline').textContent === 'It plays one game for ever'")
    assert page.text(".scene .words").startswith(
        "It repeats one game of 9 moves; 751 of 765 positions are never met."
    )
    assert "exploration=0&" in page.browser.current_url


def test_beatable_result_is_shown_with_positions(page):
    seed = page.module(
        """const positions = new train.Positions(game('tictactoe-v0'));
           for (let seed = 1; ; seed++)
             if (!train.train(positions, {seed, exploration: 0.3, rate: 0.5}).isUnbeatable) return seed;""",
        names="train",
    )
    page.go(f"#positions?seed={seed}&exploration=0.3&rate=0.5&games=12000")
    assert page.text(".headline") == "Still beatable after 12,000 games" and page.attribute(".threads", "d")


def test_film_plays_pauses_resumes_and_restarts(page):
    page.go(FILM)
    assert page.text(".bar button") == "Pause"
    page.until("return document.querySelector('.headline').textContent.includes('played')")
    page.click(".side > .bar button")
    headline = page.text(".headline")
    assert page.text(".side > .bar button") == "Resume"
    page.run("document.querySelector('[aria-label=Speed]').value = '4'")
    page.click(".side > .bar button")
    page.until("return document.querySelector('.headline').textContent !== arguments[0]", headline)
    page.run("document.querySelector('[aria-label=Speed]').value = '999'")
    page.until("return document.querySelector('.headline').className.includes('done')")
    assert page.text(".side > .bar button") == "Again" and page.all(".chances b") == ["0 %", "0 %"]
    page.run("document.querySelector('[aria-label=Speed]').value = '0.4'")
    page.click(".side > .bar button")
    page.until("return !document.querySelector('.headline').className.includes('done')")


def test_slider_reaches_any_moment_and_address_holds_it(page):
    page.go(f"{FILM}&games=0")
    page.click(".chances input[type=range]")  # in its middle
    headline, colours_before = page.text(".headline"), colours(page)
    assert re.fullmatch(r"1,9\d\d games played: it can be beaten", headline)
    address = page.browser.current_url.removeprefix(page.url)
    page.go("#play").go(address)
    assert (page.text(".headline"), colours(page)) == (headline, colours_before)
    page.press(Keys.TAB, Keys.TAB)
    page.find(".chances input[type=range]").send_keys(Keys.END)
    assert page.text(".headline") == "Unbeatable after 3,950 games"


def test_other_settings_train_at_once_and_stay_in_address(page):
    page.go(f"{FILM}&games=0")
    page.find(".knobs input").send_keys(Keys.ARROW_LEFT)
    assert "exploration=0.75" in page.browser.current_url
    page.find("input[type=number]").send_keys(Keys.BACKSPACE, "7", Keys.ENTER)
    assert "seed=7&exploration=0.75&rate=0.5" in page.browser.current_url


def at_dot(page, condition):
    """The place of the first dot that meets the condition, as [x, y] from the middle of the map."""
    script = f"""const map = document.querySelector('.map').getBoundingClientRect();
        const dot = [...document.querySelectorAll('.map > .dot')].find((dot) => {condition});
        const {{left, top, width, height}} = dot.getBoundingClientRect();
        return [left + width / 2 - map.left - map.width / 2, top + height / 2 - map.top - map.height / 2];"""
    return page.run(script)


def test_click_on_red_dot_replays_loss_and_marks_blunder(page):
    page.go(f"{FILM}&games=3900")
    page.click_at(".map", *at_dot(page, "dot.classList.contains('red') && !dot.classList.contains('away')"))
    page.until("return / wins/.test(document.querySelector('.scene .words').textContent)")
    words, stones = page.text(".scene .words"), page.stones(".scene")
    assert TWIN.winner(stones) == words[0] and page.count(".scene .cell.completed") == 3
    seat = words.split("It plays ")[1][0]
    assert words[0] != seat
    [blunder] = page.run(
        "return [...document.querySelectorAll('.scene .blunder')].map(({dataset}) => dataset.cell)"
    )
    assert stones[int(blunder)] == seat and re.search(r"Move \d is its blunder", words)


def test_dot_under_pointer_shows_its_board(page):
    page.go(f"{FILM}&games=3900")
    home = page.text(".scene .words")
    page.move_to(".map", *at_dot(page, "dot.classList.contains('lost') && !dot.classList.contains('away')"))
    page.until("return document.querySelector('.scene .words').textContent.includes('has lost already')")
    page.move_to(".headline")
    page.until("return document.querySelector('.scene .words').textContent === arguments[0]", home)


def test_map_can_be_explored_by_keyboard(page):
    page.go(f"{FILM}&games=3900")
    page.run("document.querySelector('.map').focus()")
    page.press(Keys.HOME)
    assert page.stones(".scene") == "." * 9
    page.press(Keys.ARROW_DOWN)
    first = page.stones(".scene")
    assert first.count("X") == 1 and page.text("[aria-live]") == page.text(".scene .words")
    page.press(Keys.ARROW_RIGHT)
    assert page.stones(".scene").count("X") == 1 and page.stones(".scene") != first
    page.press(Keys.ARROW_LEFT, Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert page.stones(".scene") == first
    page.press(Keys.ENTER)
    page.until("return document.querySelector('.scene .words').textContent.includes('It plays')")


@pytest.mark.parametrize("seat", "XO")
def test_visitor_plays_against_trained_agent(seat, page):
    page.go(f"{FILM}&games=3950")
    page.click("//button[text()='Play against it']")
    if seat == "O":
        page.click("//button[text()='New game as O']")
    while not page.count(".scene .cell.completed") and "." in page.stones(".scene"):
        page.until(
            """return document.querySelector('.scene .open') || document.querySelector('.scene .completed')
               || document.querySelectorAll('.scene .x, .scene .o').length === 9"""
        )
        if page.count(".scene .open"):
            page.click(".scene .open .tile")
    assert TWIN.winner(page.stones(".scene")) != seat
    assert re.match(r"A draw|[XO] wins", page.text(".scene .words"))


def test_reduced_motion_shows_last_frame_at_once(site, chromium, open_page):
    page = open_page(site, FILM, media={"prefers-reduced-motion": "reduce"})
    assert page.text(".headline") == "Unbeatable after 3,950 games"
    page.click(".side > .bar button")
    assert page.text(".side > .bar button") == "Pause"  # the film still plays on request


def test_misere_has_same_positions(page):
    page.go("#positions?game=tictactoe-v0:misere=true&seed=1&exploration=0.8&rate=0.5&games=0")
    assert page.text(".lead b") == "All 765 positions of misère tic-tac-toe."
    assert page.count(".map > .dot") + page.count(".map > .end") == 765
