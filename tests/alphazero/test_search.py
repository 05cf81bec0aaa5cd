"""AlphaZero: its search against a naive one, the network without torch, the agent."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest

import ttt_env
from tests.support.agents import SMALL, network
from tests.support.devices import DEVICES
from tests.support.games import GAMES, TICTACTOE, random_positions
from tests.support.marks import slow
from tests.support.naive_puct import NaivePuct, completing, wins_by_threats
from ttt_env.alphazero.agent import AlphaZero
from ttt_env.alphazero.network import NetworkSize, PolicyValueNetwork, is_convolutional, shapes_of
from ttt_env.alphazero.search import PuctSearch, SearchResults
from ttt_env.errors import FileError, ParameterError
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import Position, cells_of
from ttt_env.rules.symmetry import canonical, symmetries, transform
from ttt_env.storage import save_arrays

SETTINGS = {
    "default": {},
    "unsolved": {"solve": False},
    "little exploration": {"c": 0.3, "seed": 2**64 - 1},
    "much exploration": {"c": 4.0, "reduction": 0.0, "seed": 3},
}


def positions(game, n=6):
    return [game.start, *random_positions(game, n - 1, seed=5)]


class TestSearch:
    @pytest.mark.parametrize(
        ("game", "settings"),
        [
            (pytest.param if name == "default" or game == "lopsided" else slow)(game, name)
            for game in GAMES
            for name in SETTINGS
        ],
    )
    def test_search_matches_naive_search(self, game, settings):
        game, settings = GAMES[game], SETTINGS[settings]
        options = {"c_init" if name == "c" else name: value for name, value in settings.items()}
        seed = options.pop("seed", 0)
        net, boards = network(game), Boards.of(positions(game))
        for simulations in (1, 2, 40 if game.n_cells > 20 else 150):
            found = PuctSearch(net, **options).search_boards(boards, simulations, seed)
            for row, position in enumerate(boards):
                plain = NaivePuct(net, position, **{"seed": seed, **settings})
                plain.run(simulations)
                self.assert_same_numbers(found, row, plain.root, plain.solve and simulations > 1)

    @pytest.mark.parametrize("name", ["3×3", *map(slow, ("square", "5,4,4")), "lopsided", "line"])
    def test_threat_search_matches_naive_search(self, name):
        game = GAMES[name]
        net, boards = network(game), Boards.of(positions(game, 12))
        for simulations in (2, 60):
            found = PuctSearch(net, threats=True).search_boards(boards, simulations, 5)
            for row, position in enumerate(boards):
                if not completing(position) and wins_by_threats(position):
                    assert found.proved[row] == 1 and np.isnan(found.priors[row][boards.legal[row]]).all()
                    (cell,) = np.flatnonzero(found.values[row] == 1)
                    assert ttt_env.prove(game, position.child(int(cell))).value == -1
                    continue
                plain = NaivePuct(net, position, 5, threats=True)
                plain.run(simulations)
                self.assert_same_numbers(found, row, plain.root)
                tried = {child.cell for child in plain.root.children}
                assert (found.values[row, list(set(position.legal_cells) - tried)] == -1).all()

    @pytest.mark.parametrize("name", ["3×3", slow("square")])
    def test_values_proved_by_threats_are_correct(self, name):
        game = GAMES[name]
        boards = Boards.of(positions(game, 60))
        found = PuctSearch(network(game), threats=True).search_boards(boards, 60, 5)
        values, q = (getattr(ttt_env.solve(game).values, part)(boards) for part in ("of", "q"))
        for proved, true in ((found.proved, values), (found.values, q)):
            known = ~np.isnan(proved)
            assert known.any()
            np.testing.assert_array_equal(proved[known], true[known])

    def test_double_threat_wins_against_blocks_that_threaten_twice(self):
        game, before = ttt_env.get_game("mnk-v0:m=4,n=3,k=3"), set()
        for position in random_positions(game, 2000):
            stops = completing(position, theirs=True)
            if not completing(position) and len(stops) > 1:
                if any(len(completing(position.child(stop), theirs=True)) > 1 for stop in stops):
                    earlier = [
                        (position.theirs ^ 1 << cell, position.mine) for cell in cells_of(position.theirs)
                    ]
                    before |= {p for p in (Position(game, *masks) for masks in earlier) if not p.is_won}
        boards = Boards.of(sorted(before, key=str))
        found = PuctSearch(network(game), threats=True).search_boards(boards, 200, 5)
        known, q = ~np.isnan(found.values), ttt_env.solve(game).values.q(boards)
        np.testing.assert_array_equal(found.values[known], q[known])

    def test_threats_change_nothing_in_misere_or_without_search(self):
        for game, simulations in ((TICTACTOE, 1), (GAMES["misère"], 60)):
            net, boards = network(game), Boards.of(positions(game, 20))
            with_threats = PuctSearch(net, threats=True).search_boards(boards, simulations, 5)
            for one, other in zip(
                with_threats, PuctSearch(net).search_boards(boards, simulations, 5), strict=True
            ):
                np.testing.assert_array_equal(one, other)

    def assert_same_numbers(self, found, row, root, proves=True):
        """Compare every number without tolerance."""
        assert found.expected[row] == -root.total / root.visits
        assert found.proved[row] == -root.value if root.value is not None else np.isnan(found.proved[row])
        for child in root.children:
            at = row, child.cell
            assert (found.visits[at], found.priors[at]) == (child.visits, child.prior)
            if child.visits:
                assert found.means[at] == child.total / child.visits
            if child.value is None or not proves:
                assert np.isnan(found.values[at])
            else:
                assert found.values[at] == child.value

    def test_noise_is_mixed_only_into_root_priors(self):
        net, boards = network(), Boards.of(positions(TICTACTOE))
        noise = np.random.default_rng(0).dirichlet(np.ones(9), size=len(boards))
        found = PuctSearch(net, noise=0.4).search_boards(boards, 60, 7, noise)
        for row, position in enumerate(boards):
            plain = NaivePuct(net, position, 7, noise=(0.4, noise[row]))
            plain.run(60)
            self.assert_same_numbers(found, row, plain.root)

    @pytest.mark.parametrize("solve", [True, False])
    def test_search_counts_every_move(self, solve):
        net, boards = network(), positions(TICTACTOE)
        search, made = PuctSearch(net, solve=solve), 0
        assert search.moves == 0
        for simulations in (1, 60):
            search.search_boards(Boards.of(boards), simulations, 7)
            for position in boards:
                plain = NaivePuct(net, position, 7, solve=solve)
                plain.run(simulations)
                made += plain.moves
            assert search.moves == made

    def test_results_are_independent_of_batch_and_memory(self, monkeypatch):
        net, boards = network(), Boards.of(positions(TICTACTOE, 40))
        found = PuctSearch(net).search_boards(boards, 50, 1)
        one_by_one = [PuctSearch(net).search_boards(boards[i : i + 1], 50, 1) for i in range(len(boards))]
        monkeypatch.setattr("ttt_env.alphazero.search._rows_for", lambda game: 7)
        forgetful = PuctSearch(net)
        again = forgetful.search_boards(boards, 50, 1)
        assert forgetful.evaluated > 7
        for column, of_single, of_forgetful in zip(found, zip(*one_by_one, strict=True), again, strict=True):
            np.testing.assert_array_equal(column, np.concatenate(of_single))
            np.testing.assert_array_equal(column, of_forgetful)

    def test_network_evaluates_symmetric_positions_once(self):
        search = PuctSearch(network())
        position = ttt_env.Position.parse("XO./.../...", TICTACTOE)
        images = Boards.of([transform(position, motion) for motion in symmetries(TICTACTOE)])
        for _ in range(2):
            search.search_boards(images, 1, 0)
            assert search.evaluated == 1
        other = network(seed=1)
        search.set_network(other)
        found = search.search_boards(images, 1, 0)
        assert search.evaluated == 2
        for one, expected in zip(found, PuctSearch(other).search_boards(images, 1, 0), strict=True):
            np.testing.assert_array_equal(one, expected)

    def test_large_search_proves_exact_values(self):
        solution = ttt_env.solve(TICTACTOE)
        boards = Boards.of([p for p in positions(TICTACTOE, 60) if p.ply >= 4])
        found = PuctSearch(network(scale=0.1)).search_boards(boards, 2000, 0)
        assert len(boards) > 20
        assert found.proved.tolist() == [solution.value_of(position) for position in boards]

    @pytest.mark.parametrize(
        ("values", "visits", "priors", "played"),
        [
            # A proved win is played before moves with more visits.
            ([1, nan, nan], [1, 9, 9], [0.2, 0.4, 0.4], [1, 0, 0]),
            ([-1, nan, 0], [9, 2, 5], [0.6, 0.2, 0.2], [0, 0, 1]),  # A proved loss is played last.
            (
                [-1, -1, -1],
                [1, 5, 5],
                [0.4, 0.3, 0.3],
                [0, 0.5, 0.5],
            ),  # If all moves lose, the most visited are played.
            (
                [nan, nan, nan],
                [3, 3, 1],
                [0.3, 0.2, 0.5],
                [1, 0, 0],
            ),  # Of the most visited moves, the likeliest is played.
        ],
    )
    def test_policy_follows_proofs_then_visits_then_priors(self, values, visits, priors, played):
        rows = (np.array([[*row, last]]) for row, last in ((visits, 99), (priors, 0.0), (values, 1.0)))
        counts, chances, proved = rows  # The last cell is taken, so its numbers are ignored.
        none = np.full(1, nan)
        found = SearchResults(counts, np.zeros((1, 4)), chances, proved, none, none)
        assert found.policies(np.array([[True, True, True, False]])).tolist() == [[*played, 0]]


class TestNetwork:
    @pytest.mark.parametrize("name", ["3×3", "qubic", "line", *map(slow, ("misère", "5,4,4", "lopsided"))])
    def test_network_matches_torch(self, name):
        game = GAMES[name]
        torch = pytest.importorskip("torch")
        from ttt_env.alphazero.torch_network import ResidualNetwork

        boards = Boards.of(positions(game, 40))
        for blocks in (0, 2):
            torch.manual_seed(blocks)
            learner = ResidualNetwork(game, NetworkSize(9, blocks, 3, 5))
            with torch.no_grad():
                for parameter in learner.parameters():  # The normalisations must have an effect.
                    parameter.add_(0.2 * torch.randn_like(parameter))
                for _ in range(10):
                    learner.train()(learner.planes(boards))
                logits, values = learner.eval()(learner.planes(boards))
            chances = torch.softmax(logits.masked_fill(torch.from_numpy(~boards.legal), -torch.inf), dim=1)
            own_priors, own_values = learner.fold_normalisation().evaluate(boards)
            assert values.abs().max() > 0.01
            np.testing.assert_allclose(own_priors, chances.numpy(), atol=1e-5)
            np.testing.assert_allclose(own_values, values.numpy(), atol=1e-5)
            for device in DEVICES:
                answers = np.full((40, game.n_cells), np.nan, np.float32), np.full(40, np.nan, np.float32)
                learner.to(device).evaluate_into(np.stack([boards.mine, boards.theirs], axis=1), *answers)
                np.testing.assert_allclose(answers[0], own_priors, atol=1e-3 if device == "cuda" else 1e-5)
                np.testing.assert_allclose(answers[1], own_values, atol=1e-3 if device == "cuda" else 1e-5)
            learner.to("cpu")
            assert learner.inference_network().size == learner.size

    @pytest.mark.parametrize("name", ["3×3", "qubic", "line"])
    def test_saved_network_can_be_trained_further(self, name):
        torch = pytest.importorskip("torch")
        from ttt_env.alphazero.torch_network import ResidualNetwork

        boards, net = Boards.of(positions(GAMES[name], 40)), network(GAMES[name])
        assert is_convolutional(GAMES[name]) == (name != "line")
        learner = ResidualNetwork.of(net)
        for array, weights in learner.inference_network().weights.items():
            np.testing.assert_array_equal(weights, net.weights[array])
        with torch.no_grad():
            _, values = learner(learner.planes(boards))
        np.testing.assert_allclose(net.evaluate(boards)[1], values.numpy(), atol=1e-5)

    @pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
    def test_evaluation_is_independent_of_batch(self, game):
        net, boards = network(game), Boards.of(positions(game, 20))
        priors, values = net.evaluate(boards)
        assert np.abs(priors.sum(axis=1) - 1).max() < 1e-6
        assert not priors[~boards.legal].any()
        assert (np.abs(values) <= 1).all()
        for row in range(len(boards)):
            one_prior, one_value = net.evaluate(boards[row : row + 1])
            assert one_prior[0].tolist() == priors[row].tolist()
            assert one_value[0] == values[row]


class TestAgent:
    def test_agent_plays_most_visited_move(self):
        net, boards = network(), Boards.of(positions(TICTACTOE, 30))
        policies = AlphaZero.of(net, 30, seed=4, solve=False).policies(boards)
        for position, policy in zip(boards, policies, strict=True):
            image = canonical(position)
            motion = next(m for m in symmetries(TICTACTOE) if transform(position, m) == image)
            plain = NaivePuct(net, image, seed=4, solve=False)
            plain.run(30)
            best = max(plain.root.children, key=lambda child: (child.visits, child.prior))
            assert policy[motion.index(best.cell)] == 1.0

    @pytest.mark.parametrize("simulations", [0, 1])
    def test_network_plays_alone_without_search(self, simulations):
        agent = AlphaZero.of(network(), simulations)
        boards = Boards.of(sorted(map(canonical, positions(TICTACTOE, 30)), key=str))
        priors, _ = agent.network.evaluate(boards)
        assert agent.is_stationary
        assert agent.policies(boards).argmax(axis=1).tolist() == priors.argmax(axis=1).tolist()

    @pytest.mark.parametrize("is_judged", [False, True])
    def test_file_settings_are_defaults(self, is_judged, tmp_path):
        path, net = tmp_path / "net.npz", network()
        old = {name: array for name, array in net.arrays().items() if name in net.weights}
        save_arrays(
            path, TICTACTOE, replace(net, simulations=7, threats=False).arrays() if is_judged else old
        )
        for options, simulations in (("", 7 if is_judged else 200), (",simulations=3", 3)):
            agent = ttt_env.make_agent(f"alphazero:{path}{options}")
            assert agent.simulations == simulations
            expected = AlphaZero.of(net, simulations, threats=not is_judged)
            boards = Boards.of(positions(TICTACTOE, 30))
            np.testing.assert_array_equal(agent.policies(boards), expected.policies(boards))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"simulations": np.array(0)}, "simulations=0 of alphazero"),
            ({"simulations": np.array(5.0)}, "simulations has the wrong form"),
            ({"threats": None}, "it lacks threats"),
        ],
        ids=str,
    )
    def test_file_with_invalid_settings_is_refused(self, changes, message, tmp_path):
        arrays = {name: array for name, array in (network().arrays() | changes).items() if array is not None}
        save_arrays(tmp_path / "net.npz", TICTACTOE, arrays)
        with pytest.raises(FileError, match=message):
            ttt_env.make_agent(f"alphazero:{tmp_path}/net.npz")

    def test_seed_orders_equal_moves(self):
        shapes = shapes_of(TICTACTOE, SMALL)
        even = PolicyValueNetwork(TICTACTOE, {name: np.zeros(shape) for name, shape in shapes.items()})
        cells = {AlphaZero.of(even, 2, seed).policy(TICTACTOE.start).argmax() for seed in range(40)}
        assert len(cells) > 4
        assert AlphaZero.of(even, 5).policies(Boards.joined(TICTACTOE, [])).shape == (0, 9)

    def test_explanation_names_probabilities_visits_and_proofs(self):
        position = TICTACTOE.start
        net = network()
        alone = AlphaZero.of(net, 1).explain(position)
        assert "the largest probability" in alone.reason
        assert [numbers.meaning for numbers in alone.numbers] == ["network’s probability"]
        searched = AlphaZero.of(net, 40, seed=0).explain(position)
        assert "simulations most began with" in searched.reason
        visits = next(numbers for numbers in searched.numbers if numbers.meaning == "simulations")
        assert sum(visits.by_cell.values()) == 39
        won = AlphaZero.of(net, 40, seed=0).explain(ttt_env.Position.parse("XX./OO./...", TICTACTOE))
        assert "proved that X wins, and plays cell 2" in won.reason

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("simulations=-1", "simulations=-1 of alphazero"),
            ("simulations=1000001", "an integer from 0 to 1000000"),
            ("seed=-1", "seed=-1 of alphazero"),
            ("c=-1", "c=-1"),
            ("solve=2", "solve='2' of alphazero"),
        ],
    )
    def test_invalid_parameters_are_refused(self, options, message):
        with pytest.raises(ParameterError, match=message):
            ttt_env.make_agent(f"alphazero:{options}")
