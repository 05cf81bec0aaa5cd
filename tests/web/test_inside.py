"""The inside view: the tree of softmax minimax and each step of Monte Carlo tree search."""

import re

import pytest
from selenium.webdriver.common.keys import Keys

from tests.support.games import TICTACTOE
from ttt_env import Position
from ttt_env.analysis.induction import backward_induction, softmax
from ttt_env.analysis.layers import reachable
from ttt_env.rules import Boards

MOVES = "0.3.1.4.6.7"  # XX./OO./XO.
START = Position.parse("XX./OO./XO.")


def percent(chance):
    """A probability in the format of the page."""
    if 0 < chance < 0.001 or 0.999 < chance < 1:
        return "<0.1 %" if chance < 0.5 else ">99.9 %"
    return f"{100 * chance:.{1 if 0 < chance < 0.0995 else 0}f} %"


def signed(value):
    text = f"{abs(value):.0f}" if round(value, 9) == round(value) else f"{abs(value):.3f}"
    return text if float(text) == 0 else ("−" if value < 0 else "+") + text


@pytest.mark.parametrize(("x", "o"), [(0.2, 1), (1, 0.5), (0, 0)])
def test_tree_shows_chances_and_values_of_package(x, o, page):
    page.go(f"#inside?moves={MOVES}&tx={x}&to={o}")
    page.until("return document.querySelector('.tree')")
    outcomes = backward_induction(reachable(TICTACTOE), softmax(x), softmax(o))
    values, root = outcomes.values(), Boards.of([START])
    shares = softmax(x)(values.q(root), root.legal)[0]
    for cell in START.legal_cells:
        label_of_cell = page.attribute(f".stage [data-cell='{cell}']", "aria-label")
        worth = signed(values.q(root)[0, cell])
        assert label_of_cell == f"Cell {cell}: free; played with {percent(shares[cell])}, worth {worth} to X"
    children = page.run(
        "return [...document.querySelectorAll('.branch')].map(({ariaLabel}) => ariaLabel).filter(Boolean)"
    )
    branches = {}
    for label in children:
        moves, share, worth = re.fullmatch(r"after ([\d ]+): (.*?), (.*)", label).groups()
        cells = [int(each) for each in moves.split()]
        if len(cells) == 7:
            branches[cells[-1]] = (share, worth)
    assert set(branches) == set(START.legal_cells)
    for cell, (share, worth) in branches.items():
        after = START.play(cell)
        expected = "X wins" if after.is_over else signed(-values.of(Boards.of([after]))[0])
        assert (share, worth) == (percent(shares[cell]), expected)
    slot = outcomes.numberings[START.ply].slots(root.mine, root.theirs)[0]
    win, loss = outcomes.layers[START.ply][:, slot]
    assert page.text(".ends") == (
        f"From here: X wins {percent(win)}, draw {percent(1 - win - loss)}, O wins {percent(loss)}."
    )


def test_sliders_change_tree_and_address(page):
    page.go(f"#inside?moves={MOVES}")
    before = page.text(".ends")
    page.find(".controls input").send_keys(Keys.ARROW_LEFT)
    assert "tx=0.95" in page.browser.current_url and page.text(".ends") != before
    page.find(".controls label:nth-child(3) input").send_keys(Keys.HOME)
    assert "plies=1" in page.browser.current_url and page.count(".branch") == 4


def test_cell_and_branch_advance_and_undo_goes_back(page):
    page.go(f"#inside?moves={MOVES}")
    page.click_at(".stage [data-cell='8']", 0, 0)
    page.until("return location.hash.includes('moves=0.3.1.4.6.7.8')")
    page.until("return document.querySelector('.status').textContent === 'O to move'")
    page.click("//a[text()='Undo']")
    page.until("return document.querySelector('.status').textContent === 'X to move'")
    page.run("document.querySelector('a.branch').focus()")
    page.press(Keys.ENTER)
    page.until("return document.querySelector('.status').textContent !== 'X to move'")
    page.click("//a[text()='Play from here']")
    page.until("return document.querySelector('.play')")


def test_simulations_step_forward_and_back(page):
    page.go(f"#inside?view=mcts&moves={MOVES}&done=20&seed=4")
    assert page.text(".side > .soft").startswith("20 simulations.")
    phases = page.all(".phases li")
    assert [each.split()[0] for each in phases] == ["Select", "Expand", "Playout", "Back"]
    scores = page.all(".below table td")
    page.click("//button[text()='+ 1']")
    assert page.text(".side > .soft").startswith("21 simulations.") and page.all(".below table td") != scores
    page.click("//button[text()='− 1']")
    assert (page.all(".below table td"), page.all(".phases li")) == (scores, phases)
    rows = [list(map(float, row.split()[2:])) for row in page.rows(".below tbody tr")]
    assert len(rows) == 3 and all(
        mean + bonus == pytest.approx(score, abs=0.0011) for mean, bonus, score in rows
    )
    visits = [int(row.split()[1].split("/")[1]) for row in page.rows(".below tbody tr")]
    assert sum(visits) == 20
    assert rows == sorted(rows, key=lambda row: -row[2])


def test_search_runs_until_paused(page):
    page.go(f"#inside?view=mcts&moves={MOVES}&done=0")
    page.click("//button[text()='Play']")
    page.until("return !document.querySelector('.side > .soft').textContent.startsWith('0 simul')")
    page.click("//button[text()='Pause']")
    before = page.text(".side > .soft")
    page.click("//button[text()='+ 100']")
    assert page.text(".side > .soft") != before and page.text(".controls button") == "Play"
    assert "The search plays the most visited cell, now 2." in page.text(".side > .soft")


@pytest.mark.parametrize("game", ["fano", "two-rows", "qubic-v0", "square-v0"])
def test_every_game_has_tree(game, live):
    live.go(f"#inside?game={game}")
    live.until("return document.querySelector('.tree .branch')")
    assert live.count(".stage .line") == {"fano": 7}.get(game, 0)
    live.click_at(".stage [data-cell='3']", 0, 0)
    live.until("return document.querySelector('.status').textContent === 'O to move'")
