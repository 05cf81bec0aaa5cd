"""The browser's own computations give the same as Python's, in all positions, to the letter."""

from itertools import chain

import numpy as np
import pytest

pytest.importorskip("selenium")

from tests.support.marks import slow_unless
from tests.web.reading import after
from tests.web.serving import CHANCES, delay
from ttt_env import Position, get_game, make_agent
from ttt_env.analysis.induction import backward_induction, softmax
from ttt_env.analysis.layers import reachable
from ttt_env.render.words import percent, signed, told_value
from ttt_env.rules.boards import Boards
from ttt_env.web.inside.trees import TreeSolver
from ttt_env.web.insight import sweep_of

SMALL = "mnk-v0:m=4,n=2,k=2"
SWEPT = """const [facts, x, o, done] = arguments;
    import('/static/solver.js').then(({ enumerate, softmax, sweep, valuesOfMoves }) => {
      const positions = enumerate(facts.game), outcomes = sweep(positions, x, o);
      done(positions.map((position, number) => {
        const chances = softmax(valuesOfMoves(position, outcomes), position.ply % 2 ? o : x);
        const moves = position.moves.map(([cell], at) => [cell, chances[at]]);
        return [position.mine, position.theirs, outcomes.win[number], outcomes.loss[number], moves];
      }));
    });"""


@pytest.mark.parametrize(
    ("name", "temperatures"),
    slow_unless(
        lambda name, temperatures: (name == SMALL) == (temperatures != (0.2, 1.0)),
        ["tictactoe-v0", "tictactoe-v0:misere=true", SMALL],
        [(1.0, 0.5), (0.2, 1.0), (0.05, 0.05), (0.0, 0.0), (3.0, 0.0)],
    ),
)
def test_every_position_has_the_outcomes_and_chances_of_the_sweep_in_python(name, temperatures, page):
    game = get_game(name)
    page.open()
    swept = page.browser.execute_async_script(SWEPT, sweep_of(game, (), "", ""), *temperatures)
    responders = [softmax(temperature) for temperature in temperatures]
    outcomes = backward_induction(reachable(game), *responders)
    positions = [Position(game, mine, theirs) for mine, theirs, *_ in swept]
    is_open = [not position.is_over for position in positions]
    if name == "tictactoe-v0":
        assert len(positions) == 5478 and sum(is_open) == 4520
    assert len({(position.mine, position.theirs) for position in positions}) == len(positions)
    boards = Boards.of(positions)
    values = outcomes.values()
    np.testing.assert_allclose([win - loss for _, _, win, loss, _ in swept], values.of(boards), atol=1e-12)
    q = values.q(boards)
    for seat, respond in enumerate(responders):
        at = [n for n, position in enumerate(positions) if is_open[n] and position.ply % 2 == seat]
        expected = respond(q[at], boards.legal[at])
        for number, shares in zip(at, expected, strict=True):
            assert [cell for cell, _ in swept[number][4]] == list(positions[number].legal_cells)
            np.testing.assert_allclose([share for _, share in swept[number][4]],
                                       shares[list(positions[number].legal_cells)], atol=1e-12)  # fmt: skip


def test_numbers_are_written_as_python_writes_them(page):
    rng = np.random.default_rng(0)
    ties = [n / 2**k for k in range(1, 12) for n in range(1, 2**k, 2)]
    numbers = [*rng.random(2000).tolist(), *rng.exponential(1e-4, 500).tolist(), *ties, 0.0, 1.0, 1 - 1e-9]
    numbers += [round(n / 1000 + 0.0005, 4) for n in range(1000)]
    script = """const [numbers, done] = arguments;
        import('/static/words.js').then(({ percent, signed }) => done(numbers.map(
          (number) => [percent(number), signed(number, 3), signed(-number, 4), signed(number, 0)])));"""
    page.open()
    written = page.browser.execute_async_script(script, numbers)
    assert written == [[percent(n), signed(n, 3), signed(-n, 4), signed(n, 0)] for n in numbers]


SLIDE = """const [id, value] = arguments, slider = document.getElementById(id);
    slider.value = value; slider.dispatchEvent(new Event('input', {bubbles: true}));"""
FIGURES = "return [...document.querySelectorAll('[data-figure]')].map((each) => each.firstChild.data)"


def shown_figures():
    """The figures on the page Look inside for Gibson's position at the temperatures that he published."""
    solved_tree = TreeSolver().tree_of(Position.parse("XX./OO./XO."), (0.2, 1.0), 1)
    moves = [solved_tree.moves[cell] for cell in sorted(solved_tree.moves)]
    texts = ((percent(move.probability), told_value(move.value)) for move in moves)
    return [told_value(solved_tree.tree.tone), *chain.from_iterable(texts)]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/play?x=softmax&moves=0.3.1.4.6.7&see=1&pause=1&o=person", ["97.46%", "2.52%", "0.02%"]),
        ("/inside?moves=0.3.1.4.6.7&x.temperature=0.7&o.temperature=1", shown_figures()),
    ],
)
def test_the_shown_figures_follow_the_slider_without_the_server(address, told, page):
    """They are read in the task that moves the slider, and no answer comes."""
    page.go(address)
    page.wait(lambda: page.run("return document.querySelector('[data-sweep]') !== null"))
    delay(page, 0, offline=True)
    try:
        assert page.run(SLIDE + FIGURES, "x-temperature", 0.2) == told
        assert page.text("output[for=x-temperature]") == "0.2"
    finally:
        delay(page, 0)
        page.browser.get("about:blank")
        page.browser.get_log("browser")  # of the answers that did not come


def test_the_figures_of_two_temperatures_follow_the_slider(page):
    page.go("/compare/softmax")
    local = page.run(SLIDE + FIGURES, "t-o", 1.55)
    page.wait(lambda: page.address.get("o") == "1.55")
    page.wait(lambda: "1.55" in page.text(".exact caption"))
    assert page.run(FIGURES) == local


@pytest.mark.parametrize(("seat", "moves"), [("x", ""), ("o", "4")])
def test_the_temperatures_of_an_agent_stand_on_the_right_seats(seat, moves, page):
    players = {"x": "person", "o": "person"} | {seat: "softmax"}
    page.open(f"x={players['x']}&o={players['o']}&moves={moves}&see=1&pause=1")
    page.wait(lambda: page.chances())
    shown = {int(cell): text for cell, text in page.run(SLIDE + CHANCES, f"{seat}-temperature", 0.35).items()}
    agent = make_agent("softmax:temperature=0.35,opponent_temperature=1")
    position = after("tictactoe-v0", map(int, moves))
    policy = agent.policy(position)
    assert shown == {cell: percent(policy[cell]) for cell in position.legal_cells}
