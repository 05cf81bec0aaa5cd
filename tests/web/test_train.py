"""The page on which an agent learns: its figures are those that the package computes for the same policy."""

import re

import numpy as np
import pytest

pytest.importorskip("selenium")
from tests.web.serving import Visitor
from ttt_env import Agent, certify, exploitability, get_game

# The policy of a learner with this seed after so many games, and what the page says about it.
LEARNED = """
const [seed, games, done] = arguments, { src } = document.querySelector('script[src*="train_page.js"]');
(async () => {
  const { Learner } = await import(new URL("train.js", src));
  const { enumerate } = await import(new URL("solver.js", src));
  const { answered } = await import(new URL("policies.js", src));
  const game = JSON.parse(document.getElementById("train").dataset.game);
  const positions = enumerate(game), learner = new Learner(positions, game);
  learner.start(seed);
  while (learner.games < games) learner.playGame(0.8, 0.5);
  const policy = learner.policy();
  const asX = answered(positions, policy, true), asO = answered(positions, policy, false);
  const cellsOf = ({ moves }) => moves.map(([cell]) => cell);
  const rows = positions.map((each, at) => [each.mine, each.theirs, cellsOf(each), policy[at]]);
  done({ rows, asX: [asX.win[0], asX.loss[0]], asO: [asO.loss[0], asO.win[0]] });
})();
"""


class Learned(Agent):
    """Plays as the page has learned to."""

    is_stationary = True

    def __init__(self, rows):
        super().__init__(get_game("tictactoe-v0"))
        self._rows = {(mine, theirs): (cells, chances) for mine, theirs, cells, chances in rows}

    def policy(self, position):
        cells, chances = self._rows[position.mine, position.theirs]
        policy = np.zeros(9)
        policy[cells] = chances
        return policy


@pytest.fixture
def page(chromium, site):
    chromium.set_script_timeout(120)
    return Visitor(chromium, site[0]).go("/train")


def learned(page, seed, games):
    told = page.browser.execute_async_script(LEARNED, seed, games)
    return Learned(told["rows"]), told


def games_in(page):
    found = re.search(r"fter ([\d,]+) games", page.text("#state"))
    return int(found[1].replace(",", "")) if found else 0


@pytest.mark.parametrize("games", [0, 300, 1200])
def test_chances_are_those_of_the_best_response(games, page):
    agent, told = learned(page, 7, games)
    exact = exploitability(agent)
    for seat, gained in (("asX", exact.as_x), ("asO", exact.as_o)):
        win, loss = told[seat]
        assert loss - win == pytest.approx(gained, abs=1e-12)
    assert not certify(agent).unbeatable


def test_an_agent_that_is_called_unbeatable_is_certified(page):
    page.click("#go")
    page.wait(lambda: "Unbeatable" in page.text("#state"))
    games = games_in(page)
    agent, told = learned(page, 1, games)
    assert page.text("#as-x") == page.text("#as-o") == "0%" and told["asX"][1] == told["asO"][1] == 0
    assert certify(agent).unbeatable
    before, _ = learned(page, 1, games - 10)
    assert not certify(before).unbeatable
    assert page.run("return document.getElementById('proved').checkVisibility()")
    assert page.text("#cell-4").endswith("100%0.00")  # the one answer to a corner


def test_without_exploration_it_stays_beatable_and_shows_how(page):
    page.click("#never")
    page.wait(lambda: games_in(page) >= 500)
    page.click("#go")
    assert page.text("#go") == "Go on" and page.text("#as-x") != "0%"
    page.click("#how")
    page.wait(lambda: "wins" in page.text("#result"))
    lost_as = max("XO", key=lambda seat: float(page.text(f"#as-{seat.lower()}").rstrip("%")))
    assert page.text("#result") == f"{'O' if lost_as == 'X' else 'X'} wins."


def test_it_is_played_against_at_any_time(page):
    page.click("#go")
    page.wait(lambda: "After" in page.text("#state"))
    page.click("#go")
    page.run("document.querySelector('[data-play=X]').click()")
    page.click("#cell-4")
    page.wait(lambda: page.count(".tile > .stone") == 2)
    page.run("document.querySelector('.tile.free').click()")
    page.wait(lambda: page.count(".tile > .stone") == 4)


def test_it_learns_in_files(chromium, exported_folder):
    page = Visitor(chromium, f"{exported_folder.as_uri()}/").go("train.html")
    page.click("#go")
    page.wait(lambda: "Unbeatable" in page.text("#state"))
    assert [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []
