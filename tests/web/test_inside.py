"""The page that looks inside: its figures against the agents and against plain code, and what it refuses."""

import re
from html import unescape
from itertools import pairwise
from math import exp

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.support.games import TICTACTOE, random_positions
from tests.support.marks import slow
from tests.support.naive_uct import NaiveSearch
from tests.web.reading import SMALL, after, links_of, part_of, reloaded, text_of
from ttt_env import GameRecord, get_game, make_agent, solve
from ttt_env.agents.mcts.search import Search
from ttt_env.render.words import told_value
from ttt_env.rules.game import cells_of
from ttt_env.rules.symmetry import canonical
from ttt_env.web.inside.look import SETTINGS, VIEWS, InsideLook, read_look
from ttt_env.web.inside.trees import MAX_BOARDS, MAX_NODES, TreeSolver, drawn, searched, tree_layout
from ttt_env.web.server import create_app
from ttt_env.web.table import PlayTable

FIGURE = "/inside?moves=0.3.1.4.6.7&x.temperature=0.2&o.temperature=1"
GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", SMALL, "square-v0", "qubic-v0"]


def branches(root):
    yield root
    for child in root.children:
        yield from branches(child)


def softmax_value(position, temperatures):
    """The value for X, from the end of the game back, and the weights of the moves."""
    if position.is_over:
        return {"X": 1, "O": -1, None: 0}[position.winner], {}
    seat = position.ply % 2
    values = {cell: softmax_value(position.play(cell), temperatures)[0] for cell in position.legal_cells}
    weights = {cell: exp((1, -1)[seat] * value / temperatures[seat]) for cell, value in values.items()}
    total = sum(weights.values())
    shares = {cell: weight / total for cell, weight in weights.items()}
    return sum(shares[cell] * values[cell] for cell in values), shares


class TestTree:
    def test_the_figure_of_the_article_and_of_a_tree_that_is_cut(self, client):
        text = text_of(client.get(FIGURE).text)
        assert "X to move +0.9813 for X" in text and "more would be" not in text
        for figures in ("97.46% +1", "2.52% +0.2689", "0.02% −0.7311"):
            assert figures in text
        cut = text_of(client.get("/inside?tree.plies=6").text)
        assert "Only 2 of 6 moves deep: there is room for 80 boards" in cut

    @pytest.mark.parametrize("temperatures", [(0.2, 1.0), (1.0, 0.35)])
    @pytest.mark.parametrize("game", GAMES[:2])
    def test_every_board_of_a_tree_against_plain_recursion(self, game, temperatures):
        tree_solver = TreeSolver()
        for position in [p for p in random_positions(get_game(game), 60) if p.ply >= 4][:12]:
            for branch in branches(tree_solver.tree_of(position, temperatures, 3).tree):
                value, shares = softmax_value(branch.position, temperatures)
                assert branch.tone == pytest.approx(value, abs=1e-9)
                for child in branch.children:
                    assert child.share == pytest.approx(shares[child.cells[-1]])
                if branch.children:
                    assert sum(child.share * child.alike for child in branch.children) == pytest.approx(1)

    def test_the_moves_are_those_of_the_agents(self):
        tree_solver = TreeSolver()
        for position in random_positions(TICTACTOE, 20):
            own, others = (0.2, 1.0) if position.to_move == "X" else (1.0, 0.2)
            soft = make_agent(f"softmax:temperature={own},opponent_temperature={others}", TICTACTOE)
            cases = [((0.2, 1.0), soft), ((0.0, 0.0), make_agent("minimax", TICTACTOE))]
            for temperatures, agent in cases:
                policy = agent.policy(position)
                for move in tree_solver.tree_of(position, temperatures, 1).moves.values():
                    assert move.probability == pytest.approx(policy[move.cell])

    def test_minimax_shows_the_values_of_the_solution(self, client):
        for position in random_positions(TICTACTOE, 20):
            sign = 1 if position.to_move == "X" else -1
            value = sign * solve(TICTACTOE).value_of(position)
            assert TreeSolver().tree_of(position, (0.0, 0.0), 2).tree.tone == value
        text = text_of(client.get("/inside?tree.agent=minimax").text)
        assert "X to move 0 for X" in text and "11.11% 0" in text

    @pytest.mark.parametrize("plies", range(1, 7))
    def test_a_tree_is_bounded_and_symmetric_moves_are_drawn_once(self, plies):
        for position in [TICTACTOE.start, *random_positions(TICTACTOE, 5)]:
            found = TreeSolver().tree_of(position, (1.0, 1.0), plies)
            spots = tree_layout(found.tree).spots
            assert len(spots) <= MAX_BOARDS and max(spot.depth for spot in spots) <= found.plies <= plies
            assert found.is_cut == (found.plies < plies)
            for branch in branches(found.tree):
                alike = [canonical(child.position) for child in branch.children]
                assert len(set(alike)) == len(alike)
                is_inner = len(branch.cells) < found.plies and not branch.position.is_over
                count = len(branch.position.legal_cells) if is_inner else 0
                assert sum(child.alike for child in branch.children) == count

    def test_each_board_has_a_place_of_its_own(self):
        positions = TICTACTOE.start, *random_positions(TICTACTOE, 10)
        trees = [TreeSolver().tree_of(position, (1.0, 1.0), 3).tree for position in positions]
        trees += [searched(get_game("qubic-v0").start, 80, 0, 1.4, 0.5, "random").tree]
        for tree in trees:
            spots = tree_layout(tree).spots
            assert [spot.node for spot in spots] == list(branches(tree))
            for along in ("first", "middle"):
                for ply in range(max(spot.depth for spot in spots) + 1):
                    places = sorted(getattr(spot, along) for spot in spots if spot.depth == ply)
                    assert places[0] >= 0 and all(b - a >= 1 for a, b in pairwise(places))

    def test_a_large_game_comes_as_a_part_of_the_page(self, client):
        page = client.get(f"/inside?game={SMALL}")
        part = part_of(client, page)
        values = TreeSolver().tree_of(get_game(SMALL).start, (1.0, 1.0), 2)
        assert f"X to move {told_value(values.tree.tone)} for X" in text_of(part.text)
        assert "too many positions" in text_of(client.get("/inside?part=1&game=qubic-v0").text)

    @pytest.mark.parametrize(
        ("value", "text"), [(0.0, "0"), (-1.0, "−1"), (0.99999, "+1.0000"), (-0.00001, "0.0000")]
    )
    def test_only_what_is_certain_has_no_decimals(self, value, text):
        assert told_value(value) == text


def nodes_of(root, cells=()):
    """Wins and visits of a plain search by the cells that lead there."""
    found = {cells: (root.wins, root.visits)}
    for child in root.children:
        found |= nodes_of(child, (*cells, child.cell))
    return found


class TestSearch:
    @pytest.mark.parametrize("playout", ["random", "win-block"])
    @pytest.mark.parametrize("game", [*GAMES[:2], slow(GAMES[2])])
    def test_each_simulation_against_a_plain_search(self, game, playout):
        for number, position in enumerate(random_positions(get_game(game), 3, seed=1)):
            plain = NaiveSearch(
                position.game, cells_of(position.mine), cells_of(position.theirs),
                seed=number, c=0.7, draw=0.25, playout=playout, solve=False,
            )  # fmt: skip
            before = nodes_of(plain.root)
            for done in range(1, 60):
                plain.run(1)
                nodes = nodes_of(plain.root)
                found = searched(position, done, number, 0.7, 0.25, playout)
                shown = {branch.cells: branch for branch in branches(found.tree)}
                assert {cells: branch.below for cells, branch in shown.items()} == {
                    cells: f"{nodes[cells][0]:.4g}/{nodes[cells][1]}" for cells in shown
                }
                changed = {cells for cells, node in nodes.items() if node != before.get(cells)}
                self.check_told(position, found, changed, nodes, before)
                assert found.n_nodes == len(nodes)
                if len(nodes) <= MAX_NODES:
                    assert len(shown) == len(nodes)
                before = nodes

    @pytest.mark.parametrize("game", [*GAMES[:2], *map(slow, GAMES[2:])])
    def test_the_most_visited_moves_are_drawn_first_and_equal_ones_alike(self, game):
        for number, position in enumerate(random_positions(get_game(game), 3, seed=3)):
            for done in (1, 30, 64, 65, 300):
                search = Search(position, solve=False, seed=number)
                search.run(simulations=done)
                visits = {cells: visited for cells, (_, visited) in nodes_of(search.tree()).items()}
                found = searched(position, done, number, 2**0.5, 0.5, "random").tree
                self.check_order(found, visits)
                lit = {branch.cells for branch in branches(found) if branch.is_lit}
                self.check_drawn({branch.cells for branch in branches(found)}, lit, visits)

    def check_order(self, tree, visits):
        """Moves stand by their visits, and equal ones by their cells."""
        for branch in branches(tree):
            cells = [child.cells for child in branch.children]
            assert cells == sorted(cells, key=lambda each: (-visits[each], each[-1]))

    def check_drawn(self, seen, lit, visits):
        below = {parent: [c for c in visits if c and c[:-1] == parent] for parent in visits}
        asked_for = drawn(visits)
        assert seen == asked_for | lit and len(asked_for) <= MAX_NODES
        unfinished = [
            parent for parent in visits if parent in asked_for and not asked_for >= {*below[parent]}
        ]
        for parent, moves in below.items():
            chosen = {visits[move] for move in moves if move in asked_for}
            left = {visits[move] for move in moves if move not in asked_for}
            assert not chosen or not left or min(chosen) > max(left)
            if chosen and parent not in self.main_line(visits):
                assert all(visits[other] <= visits[parent] for other in unfinished)
        end, line = (), [()]
        while moves := below[end]:  # the most visited path, as long as it is one
            most = [move for move in moves if visits[move] == max(visits[each] for each in moves)]
            if len(most) > 1 or len(line) == MAX_NODES:
                break
            end = most[0]
            line.append(end)
        assert {*line} <= asked_for

    def main_line(self, visits):
        """The root and the moves that none from the same position is visited more often than."""
        return {
            cells for cells in visits
            if all(
                visits[cells[:at]] == max(visits[c] for c in visits if c and c[:-1] == cells[: at - 1])
                for at in range(1, len(cells) + 1)
            )
        }  # fmt: skip

    def test_no_move_hides_those_that_are_visited_more(self):
        """Nine moves, the fifth the most visited: what follows it is drawn before what follows the first."""
        visits = {(): 60} | {(cell,): 9 if cell == 4 else 6 for cell in range(9)}
        visits |= {(cell, reply): 1 for cell in range(9) for reply in range(9) if cell != reply}
        replies = {(4, reply) for reply in range(9) if reply != 4}
        assert drawn(visits) == {(), *((cell,) for cell in range(9))} | replies

    def check_told(self, position, found, changed, nodes, before):
        """The last simulation as the page tells it, against what changed in the plain tree."""
        last = found.last
        assert {branch.cells for branch in branches(found.tree) if branch.is_lit} == changed
        assert max(changed, key=len) == last.path and last.is_expanded == (last.path not in before)
        end = position
        for cell in last.path:
            end = end.play(cell)
        assert last.is_ended == end.is_over
        if end.is_over:
            assert last.winner == end.winner
        for cells in changed:
            mover = "XO"[(position.ply + len(cells) - 1) % 2]
            gain = 0.25 if last.winner is None else float(mover == last.winner)
            assert nodes[cells][0] - before.get(cells, (0, 0))[0] == gain

    def test_it_is_the_search_of_the_agent(self):
        for seed in range(5):
            agent = make_agent(f"mcts:simulations=80,seed={seed},solve=false", TICTACTOE)
            found = searched(TICTACTOE.start, 80, seed, 2**0.5, 0.5, "random")
            assert tuple(np.flatnonzero(agent.policy(TICTACTOE.start))) == found.best

    def test_the_next_selection_is_the_one_of_the_largest_score(self):
        for position in random_positions(TICTACTOE, 10, seed=2):
            for done in (20, 50, 51):
                found = searched(position, done, 3, 1.0, 0.5, "random")
                after = searched(position, done + 1, 3, 1.0, 0.5, "random")
                if not found.n_untried:
                    assert after.last.path[0] == found.next
                assert found.n_untried == len(position.legal_cells) - len(found.by_cell)

    def test_steps_go_forth_and_back_by_address_alone(self, client):
        pages = [client.get(f"/inside?view=mcts&mcts.done={done}") for done in range(4)]
        stepped = client.post("/inside/step?view=mcts&mcts.done=2&mcts.run=yes")
        assert stepped.history[0].status_code == 303
        assert "mcts.done=3" in str(stepped.url) and "mcts.run=yes" in str(stepped.url)
        for done in (1, 2):
            for name, other in (("step", done + 1), ("back", done - 1)):
                assert client.get(links_of(pages[done])[name]).text == pages[other].text
        assert "0 simulations" in text_of(pages[0].text) and "1 simulation " in text_of(pages[1].text)

    def test_play_goes_on_until_the_bound(self, client):
        running = client.get("/inside?view=mcts&mcts.run=yes&mcts.pace=fast&mcts.done=1999").text
        assert 'data-after="150"' in running and ">Pause<" in running
        assert "data-after" not in client.get("/inside?view=mcts&mcts.run=yes&mcts.done=2000").text
        stepped = client.post("/inside/step?view=mcts&mcts.done=2000")
        assert "All 2,000 simulations are done" in text_of(stepped.text)
        assert "mcts.done=2000" in str(stepped.url)
        assert "no move to search for" in text_of(client.get("/inside?view=mcts&moves=0.3.1.4.2").text)

    def test_it_ends_where_the_search_of_the_agent_stops(self, client):
        reasons = set()
        for position in random_positions(TICTACTOE, 10, seed=3):
            for early_stop, tolerance in ((True, None), (False, 0.02), (True, 0.02)):
                search = Search(position, solve=False, seed=3, early_stop=early_stop, tolerance=tolerance)
                n = search.run(1000)
                asked = position, 2000, 3, 2**0.5, 0.5, "random", 1000, early_stop, tolerance
                found = searched(*asked)
                reasons.add(found.stopped_by)
                assert (found.done, found.stopped_by, found.left) == (n, search.stopped_by, 1000 - n)
                assert found.best == tuple(search.best_cells())
                before = searched(position, n - 1, *asked[2:])
                assert (before.done, before.end, before.stopped_by) == (n - 1, n, None)
        assert {"decided", "settled"} <= reasons

    def test_the_page_says_why_it_has_stopped(self, client):
        settings = "mcts.run=yes&mcts.done=1000&mcts.simulations=1000&mcts.early_stop=true"
        address = f"/inside?view=mcts&moves=4&{settings}"
        told = re.search(
            r"Stopped after (\d+) of 1,000 simulations: cell (\d) leads by (\d+) "
            r"and cannot be overtaken in the (\d+) that are left",
            text_of((page := client.get(address)).text),
        )
        done, cell, lead, left = map(int, told.groups())
        assert done + left == 1000 and lead > left > 0 and "data-after" not in page.text
        before = text_of(client.get(address.replace("done=1000", f"done={done - 1}")).text)
        assert f"{left + 1} of 1,000 simulations are left" in before and f"Cell {cell} leads by" in before
        unsettled = address.replace("early_stop=true", "tolerance=0.05")
        settled = text_of(client.get(unsettled.replace("moves=4", "moves=4.1")).text)
        assert "its mean result has changed by less than 0.05" in settled
        only = text_of(client.get(address.replace("moves=4", "moves=4.0.8.2.1.7.3.5")).text)
        assert "cell 6 is the only one" in only


def tiles(page):
    """The cells that can be pressed, and the text of each."""
    found = re.findall(r'name="cell" value="(\d+)"(.*?)</button>', page.text, re.S)
    return [(int(cell), text) for cell, text in found]


def figures(page):
    """The number on each cell."""
    found = {cell: re.search(r'class="figures.*?<b>(.*?)</b>', tile, re.S) for cell, tile in tiles(page)}
    return {cell: unescape(match[1]) for cell, match in found.items() if match}


def marked(page):
    """The cells that are marked as played."""
    return [cell for cell, tile in tiles(page) if "figures chosen" in tile]


def lit(page):
    """The cells of the winning sets that the reason is about."""
    return [int(cell) for cell in re.findall(r'class="tile [^"]*\blit\b[^"]*" id="cell-(\d+)"', page.text)]


class TestWeights:
    def test_the_opening_of_square(self, client):
        page = client.get("/inside?view=weights&game=square-v0")
        expected = [3, 5, 5, 3, 5, 7, 7, 5, 5, 7, 7, 5, 3, 5, 5, 3]
        assert figures(page) == {cell: str(weight) for cell, weight in enumerate(expected)}
        assert "weights plays 5 or 6 or 9 or 10" in text_of(page.text) and marked(page) == [5, 6, 9, 10]
        for moves, told in [("5", "weights plays 10"), ("5.10", "weights plays 1 or 4"), ("5.10", "7 to X")]:
            assert told in text_of(client.get(f"/inside?view=weights&game=square-v0&moves={moves}").text)

    def test_the_reason_in_words(self, client):
        page = client.get("/inside?view=weights&moves=0.3.1.4")
        assert "Cell 2 completes a set of X: taken before all else." in text_of(page.text)
        assert marked(page) == [2] and lit(page) == [0, 1, 2]
        page = client.get("/inside?view=weights&moves=0.8.1")
        assert "Cell 2 would complete a set of X: O has to be there first." in text_of(page.text)
        assert "no move to explain" in text_of(client.get("/inside?view=weights&moves=0.3.1.4.2").text)


PLAYERS = [
    "random", "rules", "newell-simon", "minimax", "minimax:depth=2", "brute-force",
    "softmax:temperature=0.2", "epsilon:newell-simon", "best-response:win-block", "punish", "lookup",
    "imitation", "ppo", "q-learning", "value-network", "weights", "mcts:simulations=60,seed=2",
]  # fmt: skip


class TestLastMove:
    @pytest.mark.parametrize("player", PLAYERS)
    def test_what_the_agent_says_is_on_the_page(self, client, player):
        for moves in ("", "4.0", "0.4.8"):
            cells = [int(cell) for cell in moves.split(".") if cell]
            page = client.get(f"/inside?view=move&x={player}&o=person&moves={moves}")
            at = len(cells) - 1 if len(cells) % 2 else max(0, len(cells) - 2)  # before the last move of X
            position = after(TICTACTOE, cells[:at])
            why = make_agent(player, TICTACTOE).explain(position)
            text = text_of(page.text)
            assert page.status_code == 200 and why.reason in text
            assert figures(page) == {cell: why.figure.text(cell) for cell in position.legal_cells}
            assert marked(page) == ([cells[at]] if cells else sorted(why.cells))
            assert lit(page) == sorted({cell for cells in why.sets for cell in cells})
            for cell in position.legal_cells:
                assert why.label(cell) in unescape(page.text)  # the name of the cell, for who hears it
            for part in why.parts:
                assert part.title in text and part.why.reason in text

    @pytest.mark.parametrize(
        ("query", "is_told", "sentence"),
        [("o=block&moves=4.0", True, "block (O) has played 0"),
         ("o=block&moves=4.0.8", True, "block (O) has played 0"),
         ("o=block&moves=4.0.8.1", True, "block (O) has played 1"),
         ("o=block&moves=4.0.8.1&at=3", True, "block (O) has played 0"),
         ("o=block&moves=0.3.1.4.2", True, "block (O) has played 4"),  # after the game
         ("x=weights&o=block&moves=4.0.8", True, "weights (X) has played 8"),
         ("x=weights&o=block&moves=4.0.8&at=2", True, "block (O) has played 0"),
         ("x=weights&o=block&moves=4.0.8&at=0", True, "weights (X) is to move"),
         ("x=person&o=person&moves=4.0", True, "No agent plays here"),
         ("o=block", True, "block (X) in your place"),  # its thinking, before its first move
         ("moves=4", True, "minimax (O) is to move"),
         ("x=minimax&o=person&moves=4.0.8.2.3", True, "It would not play 3 there now."),
         ("x=random&o=person&moves=4.0.8.2.3", False, "It would not play 3 there now."),
         ("x=mcts:simulations=50&moves=4", True, "without a seed, each one is different"),
         ("x=mcts:simulations=50,seed=1&moves=4", False, "without a seed, each one is different")],
    )  # fmt: skip
    def test_it_follows_the_last_move_of_an_agent(self, client, query, is_told, sentence):
        page = client.get(f"/inside?view=move&{query}")
        assert page.status_code == 200 and (sentence in text_of(page.text)) == is_told
        assert ('id="steps"' in page.text) == ("mcts" in query)

    @pytest.mark.parametrize("game", GAMES)
    def test_in_any_game(self, client, game):
        page = client.get(f"/inside?view=move&game={game}&x=newell-simon&o=weights&moves=0.5.1&whole=1")
        assert "newell-simon (X) has played 1" in text_of(page.text) and marked(page) == [1]

    def test_what_takes_long_comes_after_the_page(self, client):
        page = client.get("/inside?view=move&game=mnk-v0:m=5,n=2,k=3&x=brute-force&moves=0")
        part = part_of(client, page)
        assert "brute-force (X) has played 0" in text_of(part.text)
        assert "sum over all games" in text_of(part.text)
        without_script = reloaded(client, page)
        assert figures(without_script) == figures(part) and figures(part)
        too_large = client.get("/inside?part=1&view=move&game=qubic-v0&x=brute-force&moves=0")
        assert "too many" in text_of(too_large.text)

    def test_imitation_tells_of_the_games_of_this_server(self, log):
        log.add(GameRecord(TICTACTOE, (2, 4, 6)), x="person", o="minimax")
        with TestClient(create_app(log=log), base_url="http://localhost") as client:
            text = text_of(client.get("/inside?view=move&x=imitation&o=person&moves=0").text)
        assert "In 1 recorded game a player was to move in this position" in text


class TestAddresses:
    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize("game", [*GAMES[2:], *map(slow, GAMES[:2])])
    def test_every_view_of_every_game(self, client, view, game):
        for moves in ("", "&moves=0.1.2"):
            page = client.get(f"/inside?view={view}&game={game}&mcts.done=70{moves}")
            assert page.status_code == 200 and 'role="alert"' not in page.text

    def test_an_address_holds_all_there_is_to_a_look(self, roster):
        settings = {"view": "mcts", "mcts.done": "7", "mcts.seed": "3", "mcts.run": "yes"}
        settings |= {"x.temperature": "0.35"}
        look = InsideLook(PlayTable(TICTACTOE, cells=(4, 0, 8), at=2), settings)
        assert read_look(look.fields, roster) == (look, [])
        defaults = {name: control.default for name, control in SETTINGS.items()}
        assert read_look(defaults, roster) == (InsideLook(PlayTable(TICTACTOE)), [])

    @pytest.mark.parametrize(
        "field",
        ["view=secret", "tree.agent=random", "o.temperature=-1", "tree.plies=7", "tree.plies=2.5",
         "mcts.done=2001", "mcts.seed=99999999999", "mcts.c=11", "mcts.draw=2", "mcts.run=1",
         "mcts.early_stop=1", "mcts.tolerance=2", "moves=0.0"],
    )  # fmt: skip
    def test_what_is_out_of_bounds_is_named_and_left_out(self, client, field):
        page = client.get(f"/inside?view=mcts&{field}" if "view" not in field else f"/inside?{field}")
        assert page.status_code == 400 and page.text.count('role="alert"') == 1
        assert "X to move" in text_of(page.text) or "O to move" in text_of(page.text)
        for action in ("move", "step"):
            assert client.post(f"/inside/{action}?{field}", data={"cell": "4"}).status_code == 400

    def test_a_move_and_the_way_to_and_from_the_game(self, client):
        page = client.post("/inside/move?view=weights&moves=0.3&o=random", data={"cell": "4"})
        assert page.status_code == 200 and "moves=0.3.4" in str(page.url) and "view=weights" in str(page.url)
        back = links_of(page)["play"]
        forth = links_of(client.get(back))["inside"]
        assert "moves=0.3.4" in back and "o=random" in back
        assert forth.replace("/inside", "/play") == f"{back}&view=move"
