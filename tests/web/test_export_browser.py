"""The exported page in a real browser, served by a plain server below a path; its console fails a test."""

import random
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

pytest.importorskip("selenium")
from selenium.webdriver.common.keys import Keys

from tests.support.marks import slow, slow_unless
from tests.web.reading import after
from tests.web.serving import Visitor
from ttt_env import certify, exploitability, make_agent, solve
from ttt_env.agent import Agent, checked_policies
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.layers import reachable
from ttt_env.render.words import RESULTS, percent, told_value
from ttt_env.rules.boards import Boards
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import Position
from ttt_env.rules.symmetry import symmetries
from ttt_env.web.board import board_of
from ttt_env.web.export import AGENTS, GAME, agent_page, exported, facts_of, table_of, write_folder
from ttt_env.web.inside.trees import TreeSolver
from ttt_env.web.insight import InsightSolver, strength, weakness
from ttt_env.web.roster import Roster, named_models, presets
from ttt_env.web.table import PlayTable

PATH = "/docs/ttt/"


@pytest.fixture(scope="module")
def public(exported_folder):
    """The address of an export on a plain server, and the paths that are asked for."""
    root, asked = exported_folder.parents[1], []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, form, *arguments):
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=root)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{PATH}", asked
        server.shutdown()


class Reader(Visitor):
    """A visitor of the files."""

    def open(self, address):
        self.browser.get("about:blank")  # else an address that differs behind # alone is not opened anew
        return self.go(address)

    @property
    def state(self):
        return dict(parse_qsl(urlsplit(self.browser.current_url).fragment))

    @property
    def moves(self):
        return [int(cell) for cell in self.state.get("moves", "").split(".") if cell]

    @property
    def stones(self):
        """The shown board as `Position` writes it."""
        marks = self.run("""return [...document.querySelectorAll('.boards .tile')].map((tile) =>
            tile.matches('.x') ? 'X' : tile.matches('.o') ? 'O' : '.').join('')""")
        return "/".join(marks[row : row + 3] for row in (0, 3, 6))

    @property
    def figures(self):
        """The figures in the empty cells, by cell."""
        script = """const tiles = [...document.querySelectorAll('.boards .tile.free')];
            const texts = (tile) => [...tile.querySelectorAll('b, i, small')].map((each) => each.textContent);
            return Object.fromEntries(tiles.map((tile) => [tile.value, texts(tile)]))"""
        return {int(cell): tuple(texts) for cell, texts in self.run(script).items()}

    def slide(self, name, value):
        """Move a slider, and return before anything that is not computed at once could happen."""
        script = """const slider = document.getElementById(arguments[0]);
            slider.value = arguments[1]; slider.dispatchEvent(new Event('input', {bubbles: true}));"""
        self.run(script, name, value)
        return self


@pytest.fixture
def visitor(browser, public):
    yield Reader(browser, public[0])
    assert all(path.startswith(PATH) for path in public[1])
    entries = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    assert all(name.startswith(public[0]) for name in browser.execute_script(entries))


class Weighing(Agent):
    """Plays each cell with a chance of its own."""

    is_stationary = True

    def policies(self, boards):
        weights = np.where(boards.legal, np.arange(1, boards.game.n_cells + 1) ** 2.0, 0)
        return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("agent", "seat"), [("minimax", "X"), ("newell-simon", "O")])
def test_a_whole_game_is_played_by_clicks_and_the_agent_moves_by_its_policy(agent, seat, visitor):
    rng, judge = random.Random(f"{agent}{seat}"), make_agent(agent, GAME)
    choose = """const opponent = document.getElementById('opponent'); opponent.value = arguments[0];
        opponent.dispatchEvent(new Event('change', {bubbles: true}));"""
    visitor.open("index.html").run(choose, agent)
    if seat == "O":
        visitor.click("#swap")
    while True:
        visitor.wait(lambda: after(GAME, visitor.moves).is_over or after(GAME, visitor.moves).to_move == seat)
        position = after(GAME, visitor.moves)
        assert visitor.stones == str(position)
        if position.is_over:
            break
        assert visitor.text("#status") == f"Your turn: {seat}"
        visitor.click(f"#cell-{rng.choice(position.legal_cells)}")
    played = visitor.moves
    for ply, cell in enumerate(played):
        if (ply % 2 == 0) != (seat == "X"):
            assert judge.policy(after(GAME, played[:ply]))[cell] > 0
    assert position.winner != seat
    told = f"{agent} ({position.winner}) wins" if position.winner else "A draw"
    status = visitor.text("#status")
    assert status == told or (position.winner not in (None, seat) and "You lost it at move" in status)
    cell = played[-1]
    place = f"{agent} ({'OX'[len(played) % 2]}): Cell {cell}, row {cell // 3 + 1}, column {cell % 3 + 1}. "
    is_reply = (len(played) % 2 == 1) != (seat == "X")
    assert visitor.text("#live") == (place if is_reply else "") + status


def test_moves_are_reviewed_without_a_new_answer_and_played_on_from_there(visitor):
    visitor.open("index.html#x=person&o=minimax&moves=4.0.8.2")
    visitor.click(".moves li:nth-child(2) a")
    visitor.wait(lambda: visitor.text("#status").startswith("After move 2 of 4"))
    assert visitor.moves == [4, 0, 8, 2] and visitor.stones == "O../.X./..."
    visitor.click("#cell-1").wait(lambda: len(visitor.moves) == 4)
    assert visitor.moves[:3] == [4, 0, 1]
    visitor.click("#undo").wait(lambda: visitor.stones == "O../.X./...")
    visitor.browser.back()
    visitor.wait(lambda: visitor.stones == str(after(GAME, visitor.moves)) and len(visitor.moves) == 4)


@pytest.mark.parametrize("seat", ["X", "O"])
def test_the_figures_follow_the_slider_and_are_those_of_python(seat, visitor, roster):
    cells = [4, 0] if seat == "X" else [4]
    players = {"x": "person", "o": "softmax"} if seat == "X" else {"x": "softmax", "o": "person"}
    visitor.open(f"index.html#x={players['x']}&o={players['o']}&see=1&moves={'.'.join(map(str, cells))}")
    for own, ascribed in [("0.2", "1"), ("0", "1"), ("1.35", "0.05")]:
        visitor.slide("agent-temperature", own).slide("agent-opponent_temperature", ascribed)
        agent = roster.parse(f"softmax:temperature={own},opponent_temperature={ascribed}")
        named = {key: agent if player == "softmax" else player for key, player in players.items()}
        insight = InsightSolver(roster).insight(PlayTable(GAME, **named, cells=tuple(cells), at=len(cells)))
        chances = ["" if each.probability is None else percent(each.probability) for each in insight.moves]
        assert visitor.figures == {
            move.cell: (chance, RESULTS[move.value], move.figures)
            for move, chance in zip(insight.moves, chances, strict=True)
        }
        assert visitor.text("#strength") == f"softmax {strength(roster, agent, GAME)}."


def test_what_an_address_says_wrongly_is_left_out(visitor):
    """Such as unknown agents, the temperature of an agent that has none, and illegal moves."""
    heat = ("temperature=9", "temperature=nan", "temperature=", "temperature=1,temperature=1", "foo=1", "1:1")
    for wrong in ("minimax:temperature=1", "constructor", "person", *(f"softmax:{each}" for each in heat)):
        visitor.open(f"index.html#x=person&o={wrong}&moves=4.4.9.x")
        visitor.wait(lambda: len(visitor.moves) == 2)
        assert visitor.moves[0] == 4
        assert visitor.text('.levels a[aria-current="true"] b') == "Medium"


def shown_moves(visitor):
    """The empty cells as shown, by cell: filled or not, the worth, and the word in it."""
    script = """const seen = (node) => node.checkVisibility();
        return [...document.querySelectorAll('.seen .known')].map((known) => [known.closest('.tile').value,
          known.matches('.best'), Number(known.style.getPropertyValue('--worth')),
          [...known.children].filter(seen).map((each) => each.textContent).join(' ')])"""
    return {int(cell): tuple(shown) for cell, *shown in visitor.run(script)}


FAST = {("epsilon:minimax,epsilon=0.3", (0, 1)), ("softmax", (4,)), ("random", (0, 3, 1, 4, 8)),
        ("minimax", ()), ("epsilon:minimax", (4,))}  # fmt: skip
PLAYED = [(), (4,), (0, 1), (0, 4, 8), (4, 0, 8, 2), (0, 3, 1, 4, 8)]


@pytest.mark.parametrize(
    ("agent", "cells"),
    slow_unless(lambda *case: case in FAST, dict.fromkeys(agent for agent, _ in sorted(FAST)), PLAYED),
)
def test_see_tints_and_fills_the_cells_and_tells_how_the_position_stands(agent, cells, visitor, roster):
    is_x = len(cells) % 2 == 0
    players = {"x": "person", "o": agent} if is_x else {"x": agent, "o": "person"}
    visitor.open(f"index.html#x={players['x']}&o={players['o']}&see=1&moves={'.'.join(map(str, cells))}")
    insight = InsightSolver(roster).insight(PlayTable(GAME, **players, cells=cells, at=len(cells)))
    expected = {move.cell: (move.is_best, move.value, RESULTS[move.value]) for move in insight.moves}
    assert shown_moves(visitor) == expected
    assert visitor.text("#strength") == f"{agent} {strength(roster, agent, GAME)}."
    share = "return document.querySelector('.evaluation').style.getPropertyValue('--share')"
    assert visitor.run(share) == str((1 + insight.value) / 2)
    told = {1: "X wins with best play", 0: "A draw with best play", -1: "O wins with best play"}
    assert visitor.text(".evaluation p") == told[insight.value]
    titles = visitor.run("return [...document.querySelectorAll('.tile.free')].map((tile) => tile.title)")
    [tiles] = board_of(after(GAME, cells), None, insight.moves).layers
    assert titles == [tile.known for tile in tiles if tile.is_free]


def test_see_is_off_at_first_and_goes_with_the_game(visitor):
    visitor.open("index.html#x=person&o=minimax&moves=4.0.8.2.1.7")
    assert not visitor.is_shown(".evaluation p") and not shown_moves(visitor)
    visitor.click("#see")
    assert visitor.is_shown(".evaluation p") and len(shown_moves(visitor)) == 3
    visitor.open("index.html#x=person&o=minimax&moves=0.3.1.4.2&see=1")
    assert not visitor.is_shown(".evaluation p") and not visitor.is_shown(".key")


@pytest.mark.parametrize(
    ("cells", "seat"),
    [("1.4.7.0.2.8", "X"), ("0.3.1.4.2", "O"), ("0.4.8.2.6.3.7", "X"), ("4.0.8.2.1.7.6.3.5", "X")],
)
def test_the_course_of_a_game_and_the_mistake_are_those_of_the_server(cells, seat, visitor, client):
    players = "x=person&o=minimax" if seat == "X" else "x=minimax&o=person"
    visitor.open(f"index.html#{players}&moves={cells}")
    served = client.get(f"/play?{players}&moves={cells}").text
    line = visitor.attribute(".course .line", "d")
    assert f'd="{line}"' in served and f'd="{visitor.attribute(".course .slip", "d") or ""}"' in served
    assert visitor.attribute(".course", "aria-label") in served
    assert f"<span>{visitor.text('#status')}</span>" in served
    assert visitor.is_shown("#mistake") == ('id="mistake"' in served)
    if visitor.is_shown("#mistake"):
        visitor.click("#mistake").wait(lambda: shown_moves(visitor))
        assert f"at={visitor.state['at']}&amp;see=1&amp;review=1" in served


def test_levels_have_names_and_the_game_goes_on_against_the_chosen_one(visitor, roster):
    visitor.open("index.html")
    for preset in presets(GAME):
        card = f"li:has(#level-{preset.level.lower()})"
        told = f"Can it lose? {weakness(roster, preset.player, GAME).told}"
        assert visitor.text(card) == f"{preset.level} {preset.manner} {told}"
        assert visitor.attribute(f"{card} .how", "href") == agent_page(preset.player)
    assert visitor.text('.levels [aria-current="true"] b') == "Medium"
    visitor.click("#cell-4").wait(lambda: len(visitor.moves) == 2)
    assert visitor.text("#live").startswith("Medium (O): Cell ") and visitor.text("#status") == "Your turn: X"
    visitor.click("#level-perfect")
    assert visitor.state["o"] == "minimax" and len(visitor.moves) == 2
    assert visitor.text('.levels [aria-current="true"] b') == "Perfect"
    assert visitor.text("#nature output") == "–"
    visitor.slide("agent-temperature", 0.35)
    assert visitor.text("#nature output") == "0.35" and len(visitor.moves) == 2
    assert visitor.state["o"] == "softmax:temperature=0.35,opponent_temperature=1"
    visitor.click("#level-easy").click("#swap")
    assert (visitor.state["x"], visitor.state["o"]) == ("random", "person")


def test_a_game_counts_once_in_the_score_if_it_was_played_here(visitor):
    visitor.open("index.html#x=person&o=random&moves=0.3.1.4.2")
    visitor.run("sessionStorage.clear()")
    visitor.browser.refresh()
    assert visitor.text("#status") == "You win as X" and not visitor.is_shown("#score")
    visitor.click("#again")
    while not after(GAME, visitor.moves).is_over:
        visitor.click(f"#cell-{after(GAME, visitor.moves).legal_cells[0]}")
        visitor.wait(lambda: after(GAME, visitor.moves).is_over or len(visitor.moves) % 2 == 0)
    results = {each: int(after(GAME, visitor.moves).winner == each) for each in ("X", "O", None)}
    told = f"Score in this tab: You {results['X']} · random {results['O']} · draws {results[None]}"
    assert visitor.text("#score") == told
    visitor.click("#undo").click("#redo")
    visitor.browser.refresh()
    assert visitor.text("#score") == told
    visitor.click("#again")
    assert visitor.moves == [] and visitor.attribute("#again", "href") is None


def test_the_winning_stroke_is_drawn_on_every_page(visitor):
    strokes = "return [...document.querySelectorAll('.strokes path')].map((path) => path.getAttribute('d'))"
    visitor.open("index.html#x=person&o=minimax&moves=4.0.2.1")
    assert visitor.run(strokes) == []
    visitor.click("#cell-6")
    assert visitor.run(strokes) == ["M2.5 0.5L0.5 2.5"]
    visitor.click("#undo").wait(lambda: not visitor.run(strokes))
    visitor.open("inside.html#moves=4.0.2.1.6")
    assert visitor.run(strokes) == ["M2.5 0.5L0.5 2.5"]
    board = visitor.rect(".board")
    assert board["height"] == pytest.approx(board["width"], abs=1)  # the stroke lies on it


def test_a_game_is_played_by_keyboard_and_the_skip_link_keeps_it(visitor):
    visitor.open("index.html#x=person&o=minimax&moves=0.4")
    body = visitor.find("body")
    body.send_keys(Keys.ARROW_DOWN)
    focused = "return document.activeElement.id"
    assert visitor.run(focused) == "cell-1"  # the first one that is free
    assert visitor.run("return document.querySelectorAll('.tile[tabindex=\"0\"]').length") == 1
    visitor.find("#cell-1").send_keys(Keys.ARROW_RIGHT)
    assert visitor.run(focused) == "cell-2"
    visitor.find("#cell-2").send_keys("8")
    visitor.find("#cell-8").send_keys(Keys.ENTER)
    visitor.wait(lambda: len(visitor.moves) == 4)
    assert visitor.moves[:3] == [0, 4, 8] and visitor.run(focused) == "cell-8"
    visitor.find("#cell-8").send_keys("s")
    assert visitor.state["see"] == "1"
    shown = visitor.browser.current_url
    visitor.find("#agent-temperature").send_keys(Keys.ENTER)  # which sends the form
    visitor.run("document.querySelector('.skip').focus()")
    visitor.press(Keys.ENTER)
    assert visitor.run(focused) == "page" and visitor.browser.current_url == shown
    visitor.find("#letters").click()
    try:
        visitor.find("#page").send_keys("u")
        assert visitor.browser.current_url == shown
    finally:
        visitor.find("#letters").click()
    visitor.find("#page").send_keys("u")
    assert visitor.state["at"] == "2"


def branches_of(branch):
    yield ".".join(map(str, branch.cells)) or "root", branch.above, branch.below, branch.alike, branch.is_lit
    for child in branch.children:
        yield from branches_of(child)


@pytest.mark.parametrize(
    ("moves", "temperatures", "plies"),
    [((0, 3, 1, 4, 6, 7), (0.2, 1.0), 3), ((), (0.05, 0.5), 3), ((4,), (0.0, 2.0), 2)],
)
def test_the_tree_is_that_of_the_server(moves, temperatures, plies, visitor):
    visitor.open(f"inside.html#moves={'.'.join(map(str, moves))}&tree.plies={plies}")
    for seat, temperature in zip("xo", temperatures, strict=True):
        visitor.slide(f"{seat}-temperature", temperature)
    solved_tree = TreeSolver().tree_of(after(GAME, moves), temperatures, plies)
    shown = visitor.run("""return [...document.querySelectorAll('.branch')].map((branch) => [
        branch.dataset.key, branch.querySelector('.above').textContent,
        branch.querySelector('.under').textContent,
        Number((branch.querySelector('.badge')?.textContent ?? '1×').slice(0, -1)),
        branch.matches('.lit')])""")
    assert list(map(tuple, shown)) == list(branches_of(solved_tree.tree))
    assert visitor.text("#value") == f"{told_value(solved_tree.tree.tone)} for X"
    assert visitor.figures == {
        cell: (percent(move.probability), told_value(move.value)) for cell, move in solved_tree.moves.items()
    }
    assert visitor.run("return !document.getElementById('cut').hidden") == solved_tree.is_cut
    places = visitor.run("""return [...document.querySelectorAll('.branch')].map((branch) => {
        const {left, top} = branch.getBoundingClientRect(); return `${left} ${top}`; })""")
    assert len(set(places)) == len(places)


def test_a_board_of_the_tree_and_a_cell_lead_further_down(visitor):
    visitor.open("inside.html#moves=0.3.1.4.6.7")
    for selector, stones in [
        ('.branch[data-key="5"]', "XX./OOX/XO."), ("#cell-8", "XX./OOX/XOO"), ("#undo", "XX./OOX/XO.")
    ]:  # fmt: skip
        visitor.click(selector).wait(lambda stones=stones: visitor.stones == stones)


def test_the_boards_of_a_refuting_game_lead_to_its_review(visitor):
    for seat, record in certify("win-block", GAME).refutations.items():
        visitor.open(agent_page("win-block"))
        third = "document.querySelectorAll('.strip')[arguments[0]].querySelector('li:nth-child(3) a').click()"
        visitor.run(third, "XO".index(seat))
        visitor.wait(lambda cells=record.cells: visitor.stones == str(after(GAME, cells[:3])))
        assert visitor.moves == list(record.cells) and visitor.state[seat.lower()] == "win-block"
        assert visitor.text("#status").startswith(f"After move 3 of {len(record.cells)}")


@pytest.mark.slow
def test_a_model_plays_under_its_own_name_whatever_letters_are_in_it(browser, tmp_path):
    Lookup.of(Weighing(GAME), GAME).save(tmp_path / "a & b#1.npz")
    roster = Roster(named_models([str(tmp_path / "a & b#1.npz")]))
    write_folder(tmp_path / "site", exported(roster, ()))
    [name] = roster.models
    visitor = Reader(browser, (tmp_path / "site").as_uri() + "/")
    visitor.open(agent_page(name)).click(".note > a[href^='index.html#']")
    visitor.wait(lambda: visitor.text("#strength").startswith(f"{name} gives away"))
    assert visitor.text("#strength") == f"{name} {strength(roster, name, GAME)}."
    assert visitor.run("return document.getElementById('opponent').value") == name


def test_it_works_as_files_without_a_server(browser, exported_folder):
    visitor = Reader(browser, exported_folder.as_uri() + "/")
    visitor.open("index.html#x=person&o=minimax&see=1")
    visitor.click("#cell-4")
    visitor.wait(lambda: len(visitor.moves) == 2 and visitor.text("#status").startswith("Your turn"))
    assert visitor.moves[1] in (0, 2, 6, 8)


ANSWERS = """const [game, agents, done] = arguments;
    Promise.all(['solver', 'policies'].map((name) => import(`/static/${name}.js`))).then(
      ([{ enumerate }, { answered, bestValues, policyOf }]) => {
        const positions = enumerate(game), best = bestValues(positions);
        const policies = {}, scores = {};
        for (const name of Object.keys(agents)) {
          policies[name] = policyOf(positions, game, agents, name);
          scores[name] = [true, false].map((isX) => {
            const { win, loss } = answered(positions, policies[name], isX);
            return win[0] - loss[0];
          });
        }
        const facts = positions.map(({ mine, theirs, moves }, at) =>
          [mine, theirs, moves.map(([cell]) => cell), best[at]]);
        done([facts, policies, scores]);
      });"""


@pytest.mark.parametrize(
    "name", [slow("tictactoe-v0"), slow("tictactoe-v0:misere=true"), "mnk-v0:m=4,n=2,k=2"]
)
def test_every_position_has_the_policies_and_values_of_python(name, page, roster):
    game = get_game(name)
    players = AGENTS if name == GAME.name else ("minimax", "win-block", "softmax")
    players += ("epsilon:minimax", "softmax:temperature=0.2")
    players += ("softmax:temperature=0,opponent_temperature=0.7",)
    agents = {player: facts_of(roster, roster.parse(player), game) for player in players}
    made = {player: roster.fixed(roster.parse(player), game) for player in players}
    weighing = Weighing(game)
    agents["weighing"], made["weighing"] = table_of(weighing, game), Lookup.of(weighing, game)
    rules = {"cells": game.n_cells, "sets": game.winning_sets, "misere": game.misere}
    page.open()
    positions, policies, scores = page.browser.execute_async_script(
        ANSWERS, rules | {"symmetries": symmetries(game)}, agents
    )
    boards = Boards.of([Position(game, mine, theirs) for mine, theirs, *_ in positions])
    is_open = np.array([bool(cells) for _, _, cells, _ in positions])
    assert is_open.sum() == sum(len(moves.slots) for layer in reachable(game) for moves in layer.moves())
    assert (is_open.sum() == 4520) == game.name.startswith("tictactoe")
    values = solve(game).values.of(boards)
    np.testing.assert_array_equal([best for *_, best in positions], values)
    for player, agent in made.items():
        expected = checked_policies(agent, boards[is_open])
        shown = np.zeros((len(positions), game.n_cells))
        for row, (_, _, cells, _), shares in zip(shown, positions, policies[player], strict=True):
            row[cells] = shares
        np.testing.assert_allclose(shown[is_open], expected, atol=1e-12, err_msg=player)
        worst = exploitability(agent, game)
        np.testing.assert_allclose(scores[player], [-worst.as_x, worst.as_o], atol=1e-12, err_msg=player)
