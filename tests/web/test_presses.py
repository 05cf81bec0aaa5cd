"""Presses of a tenth of a second, one right after the other: each is a move, and the right one."""

import random
import time

import pytest

pytest.importorskip("selenium")
from tests.support.marks import slow_unless
from tests.web.reading import after
from tests.web.serving import HELD
from ttt_env import get_game

GAMES = ["tictactoe-v0", "square-v0", "qubic-v0", "mnk-v0:m=7,n=7,k=4"]
SEEN = {"plain": "", "see": "&see=1"}
# Half of them with figures, the other half without.
FAST = {("tictactoe-v0", "plain"), ("square-v0", "see"), ("qubic-v0", "plain"), (GAMES[-1], "see")}
CASES = slow_unless(lambda *case: case[:2] in FAST and case[2] == 12, GAMES, SEEN, [12, 500])


def press(page, cell):
    """Press a cell by hand, wherever the page is at that moment."""
    rect = page.rect(f"#cell-{cell}")
    place = {"x": rect["x"] + rect["width"] / 2, "y": rect["y"] + rect["height"] / 2}
    for kind, buttons in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)):
        if kind == "mouseReleased":
            time.sleep(HELD)
        event = {"type": kind, "button": "left", "buttons": buttons, "clickCount": 1} | place
        page.browser.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def drawn_game(game, rng):
    """The cells of a game of random moves."""
    position, cells = get_game(game).start, []
    while not position.is_over:
        cells.append(rng.choice(position.legal_cells))
        position = position.play(cells[-1])
    return cells


@pytest.mark.parametrize(("game", "see", "n_presses"), CASES)
def test_two_persons_lose_no_press_and_misplace_none(game, see, n_presses, page):
    rng, n = random.Random(0), 0
    while n < n_presses:
        page.open(f"game={game}&x=person&o=person{SEEN[see]}")
        cells = drawn_game(game, rng)[: n_presses - n]
        for cell in cells:
            press(page, cell)
        page.wait(lambda cells=cells: len(page.moves) >= len(cells))
        assert page.moves == cells
        n += len(cells)


@pytest.mark.parametrize(("game", "see", "n_presses"), CASES)
def test_a_press_before_the_reply_is_the_next_move_unless_the_reply_takes_the_cell(
    game, see, n_presses, page
):
    rng, n = random.Random(0), 0
    while n < n_presses:
        page.open(f"game={game}&x=person&o=random{SEEN[see]}")
        position = get_game(game).start
        while not position.is_over and n < n_presses:
            before, free = page.moves, position.legal_cells
            own, planned = rng.sample(free, 2) if len(free) > 1 else (free[0], None)
            press(page, own)
            if planned is not None:
                press(page, planned)
            n += 1 + (planned is not None)
            page.wait(lambda before=before, planned=planned: is_settled(page, game, before, planned))
            moves = page.moves
            assert moves[: len(before) + 1] == [*before, own]
            position = after(game, moves)


def is_settled(page, game, before, planned):
    """True once the planned move is made and answered, or it cannot be made any more."""
    moves = page.moves
    n_answered = len(before) + 2
    if after(game, moves).is_over:
        return True
    if len(moves) < n_answered:
        return False
    if planned is None or moves[n_answered - 1] == planned:
        return True
    return len(moves) >= n_answered + 2 and moves[n_answered] == planned


def test_a_planned_move_is_seen_and_a_second_press_takes_it_back(page):
    """In one script: no reply comes in between."""
    page.open("x=person&o=random")
    script = """const marked = () => [...document.querySelectorAll('.premove')].map(({ value }) => value);
        const told = [4, 0, 8, 8].map((cell) => (document.getElementById(`cell-${cell}`).click(), marked()));
        return [told, document.getElementById('live').textContent]"""
    marked, told = page.run(script)
    assert marked == [[], ["0"], ["8"], []] and "Cell 8" in told
    page.wait(lambda: len(page.moves) == 2)
    assert page.count(".tile[type=submit]") == 7
