"""Monte Carlo tree search: the tree of a naive search, proofs, budgets, pictures, value networks."""

import json
import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET
from operator import attrgetter
from time import perf_counter

import numpy as np
import pytest

import ttt_env
from tests.support.games import FIVES, POSITIONS, TICTACTOE, open_boards
from tests.support.marks import slow
from tests.support.naive_uct import NaiveSearch
from ttt_env import Position, get_game
from ttt_env.agents.learned.value_network import BoardNetwork, ValueNetwork
from ttt_env.agents.mcts import search as mcts_search
from ttt_env.agents.mcts.agent import MCTS
from ttt_env.agents.mcts.search import Search
from ttt_env.errors import FileError, ImpossiblePositionError, ParameterError, brief
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import cells_of

SETTINGS = {
    "default": {},
    "unsolved": {"solve": False},
    "win-block": {"playout": "win-block"},
    "win-block unsolved": {"playout": "win-block", "solve": False, "seed": 3},
    "draw 0": {"draw": 0.0, "seed": 1},
    "draw 0.7, c 0.3": {"draw": 0.7, "c": 0.3, "seed": 2**64 - 1},
    "c 0": {"c": 0.0},
}


def naive_arguments(position):
    return position.game, cells_of(position.mine), cells_of(position.theirs)


def assert_same_tree(node, plain, tolerance=0.0):
    """Compare every number of every node; with a network, compiled tanh differs by rounding."""
    assert (node.cell, node.visits, node.value) == (plain.cell, plain.visits, plain.value)
    assert node.wins == pytest.approx(plain.wins, rel=0, abs=tolerance)
    for child, other in zip(node.children, plain.children, strict=True):
        assert_same_tree(child, other, tolerance)


# Fast cases: three positions with all settings, and all positions with the default.
FAST = {(name, each) for name in ("late", "5,5,4 later", "misère lopsided") for each in SETTINGS}
FAST |= {(name, "default") for name in POSITIONS}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        (pytest.param if (name, settings) in FAST else slow)(name, settings)
        for name in POSITIONS
        for settings in SETTINGS
    ],
)
def test_same_draws_give_tree_of_naive_search(name, settings):
    position, options = POSITIONS[name], SETTINGS[settings]
    search, plain = Search(position, **options), NaiveSearch(*naive_arguments(position), **options)
    n_cells = position.game.n_cells
    for iterations in (1, 2, 3, 494 if n_cells < 16 else 94 if n_cells <= 64 else 24):
        search.run(iterations)
        plain.run(iterations)
        assert_same_tree(search.tree(), plain.root)


def test_full_tree_is_searched_without_new_nodes(monkeypatch):
    monkeypatch.setattr(mcts_search, "MAX_SLOTS", 1 << 10)
    search = Search(FIVES.start)
    assert search.run(5_000) == search.visits.sum() == 5_000
    nodes = search.tree()
    search.run(1_000)
    assert n_nodes(search.tree()) == n_nodes(nodes)
    assert search.simulations == 6_000


def n_nodes(node):
    return 1 + sum(map(n_nodes, node.children))


def test_division_into_runs_does_not_change_tree():
    at_once, one_by_one, in_time = (Search(FIVES.start, seed=4) for _ in range(3))
    n = in_time.run(seconds=0.01)
    at_once.run(n)
    for _ in range(n):
        assert one_by_one.step()
    assert at_once.tree() == one_by_one.tree() == in_time.tree()


@pytest.mark.parametrize("step", [23, slow(1)])
def test_proved_values_are_correct(step):
    solution = ttt_env.solve(TICTACTOE)
    for position in open_boards()[::step]:
        search = Search(position)
        search.run(300)
        if search.is_proved:
            assert search.value == solution.value_of(position)
            assert set(search.best_cells()) <= set(solution.best_cells(position)) or search.value == -1
        for cell in np.flatnonzero(~np.isnan(search.values)):
            assert search.values[cell] == -solution.value_of(position.child(int(cell)))


def test_proof_stops_search():
    search = Search(POSITIONS["won"])
    assert search.run(1_000_000) == search.simulations < 100
    assert (search.value, search.best_cells()) == (1, [2])
    assert not search.step()
    assert search.run(seconds=60) == 0
    drawn = Search(Position.parse("O../.X./...", TICTACTOE))
    assert drawn.run(1_000_000) < 10_000
    assert drawn.value == 0
    assert not np.isnan(drawn.values[drawn.best_cells()]).any()


def test_proved_loss_is_played_only_if_all_moves_lose():
    position = Position.parse("X../.O./..X", TICTACTOE)  # Corners lose.
    for seed in range(20):
        search = Search(position, seed=seed, c=0.0)
        search.run(1000)
        assert not {2, 6} & set(search.best_cells())
    lost = Position.parse("X.O/O../X.X", TICTACTOE)  # O is to move, and X threatens twice.
    search = Search(lost)
    search.run(1000)
    assert search.value == -1
    assert search.best_cells()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_mcts_with_10_000_simulations_plays_perfectly(seed):
    agent = ttt_env.make_agent(f"mcts:simulations=10000,seed={seed}", TICTACTOE)
    assert ttt_env.certify(agent).unbeatable
    solution = ttt_env.solve(TICTACTOE)
    for position in open_boards():
        assert set(np.flatnonzero(agent.policy(position))) <= set(solution.best_cells(position)), position


def test_step_reports_its_path_and_result():
    search = Search(TICTACTOE.start)
    assert search.simulations == 0
    assert search.best_cells() == list(range(9))
    for n in range(1, 40):
        before = search.visits
        assert search.step()
        taken = np.zeros(9, int)
        taken[search.path[0]] = 1
        np.testing.assert_array_equal(search.visits, before + taken)
        assert search.simulations == n == search.visits.sum()
        assert search.last_result in (-1, 0, 1)
    wins, losses = search.wins.sum(), search.tree().wins
    assert wins + losses == 39  # Draws count as half a win for both.
    assert search.best_cells() == np.flatnonzero(search.visits == search.visits.max()).tolist()


def test_advance_keeps_the_subtree():
    search = Search(FIVES.start, seed=1)
    search.run(3_000)
    cell = search.best_cells()[0]
    below = next(child for child in search.tree().children if child.cell == cell)
    search.advance(np.int64(cell))
    kept = search.tree()
    numbers_of = attrgetter("visits", "wins", "value", "children")
    assert numbers_of(kept) == numbers_of(below)
    assert search.position == FIVES.start.play(cell)
    search.run(1_000)
    assert search.simulations == below.visits + 1_000
    assert (
        search.visits.sum() + 1 == search.simulations
    )  # One simulation created the root when it was a child.


def test_unvisited_or_unrelated_position_starts_new_tree():
    search = Search(TICTACTOE.start)
    search.advance(4)
    assert (search.simulations, str(search.position)) == (0, ".../.X./...")
    search.run(100)
    assert search.simulations == 100
    search = Search(POSITIONS["won"], seed=2)
    elsewhere = Position.parse("X.X/OO./XOX", TICTACTOE)
    search.follow(elsewhere, 3)
    assert (search.position, search.simulations) == (elsewhere, 0)


def test_reason_names_most_simulations_only_if_true():
    agent = ttt_env.make_agent("mcts:simulations=200,seed=1,tolerance=0.05")
    reasons = set()
    for position in open_boards()[::7]:
        why = agent.explain(position)
        visits = next(each.by_cell for each in why.numbers if each.meaning == "simulations")
        if ", the most" in why.reason:
            is_most = visits[why.cells[0]] == max(visits.values())
            assert ("of the moves that are not proved to lose" in why.reason) is not is_most
            reasons.add(is_most)
    assert reasons == {True, False}


@pytest.mark.parametrize("go", [lambda s, p: s.follow(p, 0), lambda s, p: s.restart(p, 0)])
@pytest.mark.parametrize("game", ["tictactoe-v0:misere=true", "mnk-v0:m=4,n=4,k=3"])
def test_search_refuses_positions_of_other_games(go, game):
    search = Search(TICTACTOE.start, seed=0)
    assert search.expected == 0
    search.run(50)
    before = search.tree(), search.position
    for position in (get_game(game).start.play(0), Position(TICTACTOE, 3, 3), 7, None):
        with pytest.raises(ImpossiblePositionError):
            go(search, position)
        assert (search.tree(), search.position) == before


def test_search_refuses_invalid_or_finished_position():
    for position in ("X../.../...", None, Position(TICTACTOE, 3, 3)):
        with pytest.raises(ImpossiblePositionError):
            Search(position)
    with pytest.raises(ttt_env.IllegalMoveError, match="over"):
        Search(Position.parse("XXX/OO./...", TICTACTOE))


def test_kept_tree_serves_new_player_to_move():
    search = Search(POSITIONS["won"], seed=2)
    search.run(5)  # Every move of X is tried once, so nothing is known below.
    search.advance(8)
    search.run(300)
    assert search.best_cells() == [5]  # O completes its row.


def test_advance_refuses_illegal_move_without_change():
    search = Search(POSITIONS["won"])
    search.run(1)
    before = search.tree()
    for cell, message in ((0, "taken"), (9, "not a cell"), (2, "over")):
        with pytest.raises(ttt_env.IllegalMoveError, match=message):
            search.advance(cell)
    assert (search.tree(), search.position) == (before, POSITIONS["won"])


def test_unseeded_agent_keeps_tree_between_moves():
    agent, rng = MCTS(FIVES, simulations=500), np.random.default_rng(0)
    position = FIVES.start.play(agent.choose(FIVES.start, rng))
    position = position.play(12 if position.legal_mask >> 12 & 1 else 0)
    agent.choose(position, rng)
    assert agent.search.simulations > 500
    agent.choose(FIVES.start, rng)
    assert agent.search.simulations == 500


def test_unseeded_agent_plays_by_passed_rng():
    def game(seed):
        return ttt_env.play_game("mcts:simulations=20", "mcts:simulations=20", rng=seed)

    assert not MCTS(TICTACTOE).is_stationary
    assert [game(seed) for seed in range(5)] == [game(seed) for seed in range(5)]
    assert len({game(seed) for seed in range(20)}) > 5
    match = ttt_env.match("mcts:simulations=20", "random", games=20)
    assert not match.exact


def test_only_seeded_simulations_are_stationary():
    assert MCTS(TICTACTOE, seed=0).is_stationary
    assert not MCTS(TICTACTOE, seconds=0.01, seed=0).is_stationary
    one, other, again = (MCTS(TICTACTOE, 50, seed=s).policies(open_boards()[::20]) for s in (0, 1, 0))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_search_stops_at_time_limit(monkeypatch):
    agent = MCTS(FIVES, seconds=50)
    begin = perf_counter()
    clock = iter([begin, begin + 10, begin + 49, begin + 51, begin + 99])
    monkeypatch.setattr(mcts_search, "perf_counter", clock.__next__)
    agent.choose(FIVES.start, np.random.default_rng(0))
    assert list(clock) == [begin + 99] and agent.search.simulations > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"simulations": 10, "seconds": 1.0}, "either simulations=10 or seconds=1"),
        ({"playout": "win-block", "evaluate": "value-network"}, "with evaluate= there are no"),
        ({"evaluate": "minimax"}, "evaluate='minimax' of mcts: expected value-network"),
        ({"c": np.inf}, "c=inf: expected a number from 0 to 1e\\+09"),
        ({"draw": 1.5}, "draw=1.5: expected a number from 0 to 1"),
        ({"playout": "winblock"}, "did you mean win-block"),
        (
            {"seed": 1 << 64},
            "seed=18446744073709551616: expected an integer from 0 to 18446744073709551615",
        ),
        ({"tolerance": -0.1}, "tolerance=-0.1: expected a number from 0 to 1"),
    ],
    ids=brief,
)
def test_invalid_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        MCTS(TICTACTOE, **parameters)


def test_invalid_search_budgets_are_refused():
    search = Search(TICTACTOE.start)
    for budget in ({}, {"simulations": 0}, {"seconds": -1.0}, {"simulations": 1, "seconds": 1.0}):
        with pytest.raises(ParameterError):
            search.run(**budget)
    assert search.simulations == 0


def test_interrupted_search_remains_usable(monkeypatch):
    search, same = Search(FIVES.start), Search(FIVES.start)
    iterate, calls = Search._iterate, []

    def interrupted(self, n):
        calls.append(iterate(self, n))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return calls[-1]

    with monkeypatch.context() as patch:
        patch.setattr(Search, "_iterate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            search.run(1_000_000)
    same.run(sum(calls))
    assert search.tree() == same.tree()
    search.run(100)
    same.run(100)
    assert search.tree() == same.tree()


@pytest.mark.slow
def test_search_loads_numba_lazily_and_stops_on_ctrl_c():
    script = """
import signal, sys, ttt_env, ttt_env.agents.mcts.agent
ttt_env.make_agent("minimax")
assert "numba" not in sys.modules
from ttt_env.agents.mcts.search import Search
search = Search(ttt_env.get_game("mnk-v0:m=5,n=5,k=4").start)
search.step()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    search.run(seconds=60)
except KeyboardInterrupt:
    print("numba" in sys.modules, search.visits.sum() == search.simulations > 100)
"""
    command = [sys.executable, "-W", "error", "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert run.stdout == "True True\n"


def test_pickle_holds_parameters_without_tree():
    agent = MCTS(FIVES, simulations=2000, c=1.0, playout="win-block", seed=7)
    agent.policy(FIVES.start)
    text = pickle.dumps(agent)
    assert len(text) < 5_000
    np.testing.assert_array_equal(pickle.loads(text).policy(FIVES.start), agent.policy(FIVES.start))


def test_json_and_dot_show_tree():
    search = Search(POSITIONS["won"], seed=1)
    search.run(2)
    document = json.loads(search.to_json())
    assert (document["game"], document["position"], document["playout"]) == (
        "tictactoe-v0",
        "XX./OO./XO.",
        "random",
    )
    root = document["tree"]
    assert (root["cell"], root["visits"], root["value"]) == (None, 2, -1)
    assert {child["cell"]: child["value"] for child in root["children"]} == {2: 1, 8: None}
    text = search.to_dot()
    assert text.startswith("digraph {") and text.endswith("}")
    assert text.count("label=") == 3
    assert text.count("->") == 2
    assert r'label="XXX\nOO.\nXO.\n1/1\nX wins"' in text
    assert text.count("penwidth=3") == 1  # The path.


def test_svg_shows_nodes_within_depth_and_visit_limits():
    search = Search(TICTACTOE.start)
    search.run(30)
    picture = ET.fromstring(search.picture(max_depth=1).svg)
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [f"{n.wins:g}/{n.visits}" for n in (search.tree(0), *search.tree(1).children)]
    svg = "{http://www.w3.org/2000/svg}svg"
    assert sum(element.tag == svg for element in picture.iter()) == 1 + 10
    search.run(470)
    assert not search.tree(max_depth=0).children
    assert all(not child.children for child in search.tree(max_depth=1).children)
    shown = search.tree(min_visits=50).children
    assert 0 < len(shown) < 9
    assert all(child.visits >= 50 for child in shown)


@pytest.mark.parametrize(("budget", "seed"), [(1, 0), (10, 1), (200, 2), (201, 3), (1000, 4), (1001, 5)])
@pytest.mark.parametrize("name", ["late", "misère lopsided", *map(slow, ("empty", "5,5,4 later"))])
def test_decided_search_stops_early_with_same_move(name, budget, seed):
    position = POSITIONS[name]
    whole = Search(position, solve=False, seed=seed)
    whole.run(budget)
    search = Search(position, solve=False, seed=seed, early_stop=True)
    done = search.run(budget)
    assert search.best_cells() == whole.best_cells()
    stepped, expected = Search(position, solve=False, seed=seed), budget
    for n in range(1, budget + 1):
        assert stepped.step()
        most, second = sorted(stepped.visits)[:-3:-1]
        if most - second > budget - n > 0:
            expected = n
            break
    assert done == expected
    assert search.stopped_by == ("decided" if done < budget else None)


@pytest.mark.parametrize(("tolerance", "seed"), [slow(0.001, 0), (0.02, 1), slow(0.02, 2), (0.2, 3)])
def test_search_stops_when_mean_has_settled(seed, tolerance):
    start, budget = TICTACTOE.start, 3000
    search = Search(start, solve=False, seed=seed, tolerance=tolerance)
    done = search.run(budget)
    plain, before, expected = Search(start, solve=False, seed=seed), None, budget
    for n in (64, 128, 256, 512, 1024, 2048):
        plain.run(n - plain.simulations)
        cells = plain.best_cells()
        mean = plain.wins[cells[0]] / plain.visits[cells[0]]
        if before and before[0] == cells and abs(before[1] - mean) < tolerance:
            expected = n
            break
        before = cells, mean
    assert done == expected
    assert search.stopped_by == ("settled" if done < budget else None)
    stepped = Search(start, solve=False, seed=seed, tolerance=tolerance)
    while stepped.stopped_by is None and stepped.simulations < budget:
        stepped.step()
    assert stepped.simulations == done


def test_search_reports_why_it_stopped():
    agent = ttt_env.make_agent("mcts:solve=false,seed=0,early_stop")
    reason = agent.explain(TICTACTOE.start).reason
    assert agent.search.stopped_by == "decided"
    assert reason.endswith(
        "The search stopped early: with the rest of its budget no other move could catch up."
    )
    won = Search(Position.parse("XX./OO./..."), early_stop=True, tolerance=0.5)
    won.run(1000)
    assert won.stopped_by == "proved"
    last_cell = Search(Position.parse("XOX/OOX/.XO"), solve=False, early_stop=True)
    assert last_cell.run(1000) == 1 and last_cell.stopped_by == "decided"
    assert last_cell.run(seconds=60) < 1000


class NaiveEvaluated(NaiveSearch):
    """Evaluates one position at a time by the network; results between −1 and 1 are interpolated."""

    def __init__(self, network, position, **settings):
        self.network = network
        super().__init__(*naive_arguments(position), **settings)

    def play_out(self, mine, theirs):
        masks = (sum(1 << cell for cell in cells) for cells in (mine, theirs))
        return float(self.network.values(Boards.of([Position(self.network.game, *masks)]))[0])


def network(game, view="mover"):
    made = BoardNetwork.random(game, np.random.default_rng(0), start="symmetric", view=view)
    return made.with_numbers(3 * np.concatenate(made.layers, axis=None))


@pytest.mark.parametrize("view", ["mover", "xo", "xo+turn"])
@pytest.mark.parametrize("settings", [name for name in SETTINGS if "win-block" not in name])
@pytest.mark.parametrize("name", ["late", "lopsided", *map(slow, ("empty", "misère", "5,5,4 later"))])
def test_network_search_matches_naive_search(name, settings, view):
    position = POSITIONS[name]
    net = network(position.game, view)
    search = Search(position, network=net, **SETTINGS[settings])
    plain = NaiveEvaluated(net, position, **SETTINGS[settings])
    for iterations in (1, 2, 60):
        search.run(iterations)
        plain.run(iterations)
        assert_same_tree(search.tree(), plain.root, 1e-9)


def test_network_search_proves_correct_value():
    position = POSITIONS["late"]
    search = Search(position, network=network(position.game))
    search.run(1000)
    assert search.value == ttt_env.solve(position.game).value_of(position)


def test_spec_loads_network_from_file(tmp_path):
    game = ttt_env.get_game("mnk-v0:m=4,n=3,k=3")
    ValueNetwork.of(network(game)).save(tmp_path / "net.npz")
    spec = f"mcts:simulations=40,evaluate=value-network:{tmp_path / 'net.npz'},seed=0"
    agent = ttt_env.make_agent(spec, game)
    again = pickle.loads(pickle.dumps(agent))
    assert agent.policy(game.start).tolist() == again.policy(game.start).tolist()
    assert json.loads(agent.search.to_json())["playout"] is None
    with pytest.raises(FileError, match="value-network is included for tictactoe-v0"):
        ttt_env.make_agent("mcts:evaluate=value-network", "square-v0")


def test_other_move_order_starts_new_tree():
    """The later position contains all stones of the earlier one, but its reply was not legal there."""
    game = get_game("connect-four-v0")
    before, now = (
        ttt_env.GameRecord.parse(f"connect-four-v0: {cells}") for cells in ("38 37", "38 36 29 37")
    )
    agent, rng = ttt_env.make_agent("mcts:simulations=10", game), np.random.default_rng(0)
    agent.choose(before.positions()[-1], rng)
    assert agent.choose(now.positions()[-1], rng) in now.positions()[-1].legal_cells
