"""The explanations of agents' moves, each checked against independent plain code."""

import json
from collections import Counter
from functools import cache
from itertools import pairwise
from math import exp

import numpy as np
import pytest

import ttt_env
from tests.support import naive
from tests.support.games import MISERE, TICTACTOE, random_positions
from tests.support.marks import slow
from tests.support.naive_agent import cells, forks, literal_weights, naive_rule, naive_sums, negamax
from ttt_env import Agent, GameRecord, Position, get_game, make_agent, play_game
from ttt_env.agent import Explanation, agent_names, name_of
from ttt_env.agents.learned.imitation import Imitation
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.analysis.induction import backward_induction, softmax
from ttt_env.analysis.layers import reachable
from ttt_env.errors import IllegalMoveError, ImpossiblePositionError
from ttt_env.rules.symmetry import symmetries, symmetry_name, transform
from ttt_env.storage.game_log import PERSON, GameLog

SQUARE = get_game("square-v0")
QUBIC = get_game("qubic-v0")
EVERYWHERE = [TICTACTOE, MISERE, get_game("mnk-v0:m=4,n=3,k=3"), SQUARE, QUBIC]
SPECS = [
    "random", "block", "win-block", "rules", "newell-simon", "weights", "minimax", "minimax:prefer=fast",
    "minimax:depth=2", "brute-force", "softmax:temperature=0.3", "softmax:temperature=0", "imitation",
    "best-response:win-block", "safe-exploit", "safe-exploit:win-block", "epsilon:minimax",
    "mixture:minimax+weights", "lookup", "ppo", "dqn", "mcts:simulations=50,seed=1", "q-learning",
    "value-network", "alphazero:simulations=50", "epsilon:mcts:simulations=50,epsilon=0.2", "symmetric:ppo",
]  # fmt: skip


@pytest.fixture(autouse=True)
def empty_game_log(tmp_path, monkeypatch):
    monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "games.sqlite"))


def column(why, meaning):
    return next(dict(numbers.by_cell) for numbers in why.numbers if numbers.meaning == meaning)


class TestEveryAgent:
    def test_every_registered_agent_is_tested(self):
        programs = {"process", "chat"}
        named = {spec.partition(":")[0] for spec in SPECS}
        assert named | {"sb3", "onnx", "strategy", "policy-table"} | programs == set(agent_names())

    @pytest.mark.parametrize("spec", SPECS)
    def test_explanation_shows_played_policy(self, spec):
        agent = make_agent(spec)
        for position in random_positions(TICTACTOE, 10):
            why = agent.explain(position)
            assert why.position == position and list(why.policy) == position.legal_cells
            if agent.is_stationary:
                policy = agent.policy(position)[position.legal_cells]
                assert list(why.policy.values()) == pytest.approx(policy)
            assert sum(why.policy.values()) == pytest.approx(1)
            assert all(set(numbers.by_cell) <= set(why.policy) for numbers in why.columns)
            assert why.reason.endswith(".") and all(len(set(cells)) == len(cells) for cells in why.sets)

        why = agent.explain(Position.parse("X../.O./..X"))
        text = str(why)
        assert why.reason in text and "│ X │ 1 │ 2 │" in text
        kept = json.loads(json.dumps(why.to_dict()))
        assert kept["reason"] == why.reason and kept["position"] == "X../.O./..X"
        assert {int(cell): chance for cell, chance in kept["policy"].items()} == why.policy
        assert "<table" in why._repr_html_()
        for cell, chance in why.policy.items():
            assert why.label(cell).startswith(f"chance {why.chances.text(cell)}") and chance >= 0

    @pytest.mark.parametrize("game", [MISERE, slow(EVERYWHERE[2]), QUBIC], ids=lambda game: game.name)
    def test_policy_sums_to_one_on_other_games(self, game):
        for spec in SPECS:
            try:
                agent = make_agent(spec, game)
            except ttt_env.TttEnvError:
                continue
            for position in [game.start, *random_positions(game, 1, seed=5)]:
                assert sum(agent.explain(position).policy.values()) == pytest.approx(1)

    def test_finished_or_foreign_position_is_refused(self):
        with pytest.raises(IllegalMoveError, match="the game XXX/OO"):
            make_agent("weights").explain(Position.parse("XXX/OO./..."))
        with pytest.raises(ImpossiblePositionError, match="of square-v0, not of tictactoe-v0"):
            make_agent("weights").explain(SQUARE.start)

    def test_agent_without_reasons_shows_its_policy(self):
        class Last(Agent):
            def choose(self, position, rng):
                return position.legal_cells[-1]

        why = Last(TICTACTOE).explain(TICTACTOE.start)
        assert why.cells == [8] and why.reason == "Last says which cells it plays, and no more."
        assert make_agent(lambda position: 4).explain(TICTACTOE.start).cells == [4]
        assert why.figure.text(8) == "100%"

    def test_name_of_returns_installed_name(self):
        assert all(name_of(make_agent(name)) == name for name in ("newell-simon", "mcts", "ppo"))


def stones(position, by_mover):
    """The cells of the player to move and of the opponent; swapped unless `by_mover`."""
    return map(cells, (position.mine, position.theirs)[:: 1 if by_mover else -1])


def sets_missing(position, by_mover, count):
    """The winning sets without an opponent's stone in which a player lacks `count` cells."""
    own, other = stones(position, by_mover)
    return {s for s in position.game.winning_sets if not other & set(s) and len(set(s) - own) == count}


def fork_sets(position, by_mover):
    """The sets of a player through a cell that makes a fork."""
    own, other = stones(position, by_mover)
    at = forks(position.game.winning_sets, own, other, set(position.legal_cells))
    return {s for s in sets_missing(position, by_mover, 2) if at & set(s)}


class TestRules:
    @pytest.mark.parametrize(
        "game", [TICTACTOE, *map(slow, EVERYWHERE[1:-1]), QUBIC], ids=lambda game: game.name
    )
    def test_rule_and_its_sets_match_naive_rules(self, game):
        agent, seen = make_agent("newell-simon", game), Counter()
        for position in random_positions(game, 100 if game == TICTACTOE else 60):
            why = agent.explain(position)
            sets_by_rule = {
                "win": sets_missing(position, True, 1),
                "block": sets_missing(position, False, 1),
                "fork": fork_sets(position, True),
                "block-fork": fork_sets(position, False),
            }
            fired = next((name for name, found in sets_by_rule.items() if found), None)
            seen[fired] += 1
            if fired is None:
                assert why.facts["rule"] not in sets_by_rule and why.sets == ()
                continue
            assert why.facts["rule"] == fired and f"The rule {fired} fires: " in why.reason
            assert set(why.sets) == sets_by_rule[fired]
            assert set(why.cells) == naive_rule(fired, position)
        assert {"win", "block"} <= set(seen)

    def test_explanation_says_that_no_rule_fires(self):
        why = make_agent("win-block").explain(TICTACTOE.start)
        assert why.facts == {"rule": "none", "rules in order": ["win", "block"]}
        assert why.reason.startswith("No rule fires, of win, block")


def test_weights_agent_shows_weights_and_sets():
    for game in EVERYWHERE:
        agent = make_agent("weights", game)
        for position in random_positions(game, 10):
            why = agent.explain(position)
            for player in "XO":
                weights = literal_weights(position, *stones(position, player == position.to_move))
                worth = {cell: weights[cell] for cell in position.legal_cells}
                assert column(why, f"worth to {player}") == worth
            assert set(why.sets) == (sets_missing(position, True, 1) or sets_missing(position, False, 1))


@pytest.mark.parametrize("game", [TICTACTOE, MISERE], ids=["standard", "misere"])
def test_minimax_shows_value_and_length_of_best_play(game):
    exact, fast = make_agent("minimax", game), make_agent("minimax:prefer=fast", game)
    rules = naive.twin(game)
    for position in random_positions(game, 30):
        board = naive.board_of(str(position))
        after = {cell: naive.play(board, cell) for cell in position.legal_cells}
        values = {cell: -rules.value(later) for cell, later in after.items()}
        word = {1: "wins", 0: "draws", -1: "loses"}[max(values.values())]
        assert f"With best play by both sides, {position.to_move} {word}; " in exact.explain(position).reason
        for agent in (exact, fast):
            assert column(agent.explain(position), "value under best play") == values
        n_moves = {cell: rules.distance(later) for cell, later in after.items()}
        assert column(fast.explain(position), "moves to the end after it") == n_moves


def depth_limited_values(position, depth):
    """The value of each move by a plain minimax search to `depth`."""
    score, board = negamax(position.game, depth), naive.board_of(str(position))
    return {cell: float(score(board, cell)) for cell in position.legal_cells}


def test_depth_limited_minimax_shows_its_estimates():
    for depth in (1, 2, 3):
        agent = make_agent(f"minimax:depth={depth}")
        for position in random_positions(TICTACTOE, 20):
            why = agent.explain(position)
            assert column(why, "value of the move") == pytest.approx(depth_limited_values(position, depth))
            assert why.facts == {"moves looked ahead": depth}


def test_alpha_beta_shows_values_of_best_moves():
    game = get_game("mnk-v0:m=5,n=5,k=4")
    agent = make_agent("minimax:depth=2", game)
    for position in random_positions(game, 6, seed=3):
        why, expected = agent.explain(position), depth_limited_values(position, 2)
        best_cells = {cell: value for cell, value in expected.items() if value == max(expected.values())}
        assert column(why, "value of the move") == pytest.approx(best_cells)
        assert why.facts["best play that it sees"][0] in best_cells
        assert sorted(why.cells) == sorted(best_cells)


def test_softmax_shows_move_values():
    agent = make_agent("softmax:temperature=0.2,opponent_temperature=1")
    example = agent.explain(Position.parse("XX./OO./XO."))
    assert [example.chances.text(cell) for cell in (2, 5, 8)] == ["97.46%", "2.52%", "0.02%"]
    layers = reachable(TICTACTOE)
    for position in random_positions(TICTACTOE, 40):
        temperatures = (0.2, 1.0) if position.to_move == "X" else (1.0, 0.2)
        values = backward_induction(layers, *map(softmax, temperatures)).values()
        [expected] = values.q(ttt_env.Boards.of([position]))
        found = column(agent.explain(position), "value of the move")
        assert found == pytest.approx({cell: expected[cell] for cell in position.legal_cells})


def test_brute_force_shows_sums_over_all_games():
    agent, sums = make_agent("brute-force"), naive_sums(TICTACTOE)
    for position in random_positions(TICTACTOE, 40):
        board, seat = naive.board_of(str(position)), position.ply % 2
        expected = {cell: float(sums[naive.play(board, cell)][seat]) for cell in position.legal_cells}
        assert column(agent.explain(position), "sum over all games") == pytest.approx(expected, rel=1e-12)


@cache
def result_against(agent, position, seat):
    """The result of best play in `seat` from here against the agent, by plain recursion."""
    if position.is_over:
        return 0 if position.winner is None else 1 if position.winner == seat else -1
    after = {cell: result_against(agent, position.play(cell), seat) for cell in position.legal_cells}
    if position.to_move == seat:
        return max(after.values())
    policy = agent.policy(position)
    return sum(policy[cell] * value for cell, value in after.items())


@pytest.mark.parametrize("keeps_value", [False, True], ids=["best-response", "safe-exploit"])
def test_exploiters_show_expected_results_and_reply(keeps_value):
    inner, optimal = make_agent("win-block"), make_agent("minimax")
    agent = make_agent("safe-exploit:win-block" if keeps_value else "best-response:win-block")
    for position in [p for p in random_positions(TICTACTOE, 40) if p.ply > 2]:
        why = agent.explain(position)
        seat = position.to_move
        expected = {c: result_against(inner, position.play(c), seat) for c in position.legal_cells}
        if keeps_value:
            values = column(why, "value under best play")
            assert values == column(optimal.explain(position), "value under best play")
            expected = {cell: expected[cell] for cell in values if values[cell] == max(values.values())}
            assert all(expected[cell] == pytest.approx(max(expected.values())) for cell in why.cells)
        found = column(why, "expected result against win-block")
        assert {cell: found[cell] for cell in expected} == pytest.approx(expected)
        after = position.play(why.cells[0])
        assert [part.explanation for part in why.parts] == ([] if after.is_over else [inner.explain(after)])


def test_mixtures_show_explanations_of_their_agents():
    for spec, names, shares in [
        ("epsilon:newell-simon,epsilon=0.25", ["newell-simon", "random"], [0.75, 0.25]),
        ("mixture:minimax+weights,weights=3+1", ["minimax", "weights"], [0.75, 0.25]),
        ("epsilon:minimax,epsilon=0", ["minimax"], [1.0]),
    ]:
        for position in random_positions(TICTACTOE, 5):
            why = make_agent(spec).explain(position)
            assert [(part.name, part.share) for part in why.parts] == list(zip(names, shares, strict=True))
            assert [part.explanation for part in why.parts] == [
                make_agent(name).explain(position) for name in names
            ]


class TestImitation:
    def log(self, path, *games):
        with GameLog(path) as log:
            for cells, x, o in games:
                log.add(GameRecord(TICTACTOE, cells), x=x, o=o)

    def test_counts_are_shown_per_kind_of_player(self, tmp_path):
        path, rng = tmp_path / "games.sqlite", np.random.default_rng(4)
        kinds = [(PERSON, "minimax"), ("random", PERSON), (None, None), ("weights", "random"), (None, PERSON)]
        games = [(play_game("random", "random", TICTACTOE, rng=rng).cells, *kinds[n % 5]) for n in range(120)]
        self.log(path, *games)
        counts, n_games = Counter(), Counter()
        for played, *players in games:
            for before, cell in zip(GameRecord(TICTACTOE, played).positions(), played, strict=False):
                who = players[before.ply % 2]
                images = {(transform(before, m), m[cell]) for m in symmetries(TICTACTOE)}
                counts.update((who, *image) for image in images)  # Each of the equivalent cells counts once.
                n_games.update((who, position) for position in {position for position, _ in images})
        agent, known = Imitation(TICTACTOE, str(path)), 0
        for position in [TICTACTOE.start, *random_positions(TICTACTOE, 25, seed=7)]:
            n_of_people, n_of_others = n_games[PERSON, position], n_games[None, position]
            why = agent.explain(position)
            assert why.facts["games"] == n_of_people + n_of_others
            if not n_of_people + n_of_others:
                assert why.parts[0].name == "random" and "No recorded game" in why.reason
                continue
            known += 1
            assert (why.facts["of people"], why.facts["of players not named"]) == (n_of_people, n_of_others)
            for who, label in [(PERSON, "people"), (None, "players not named")][: 2 if n_of_others else 1]:
                expected = {cell: counts[who, position, cell] for cell in position.legal_cells}
                assert column(why, f"played by {label}") == expected
        assert known > 15

    def test_reason_names_games_and_cells(self, tmp_path):
        path = tmp_path / "games.sqlite"
        self.log(path, ((0, 4), PERSON, "minimax"), ((8, 4), PERSON, "minimax"), ((4, 0), PERSON, "random"))
        why = Imitation(TICTACTOE, str(path)).explain(TICTACTOE.start)
        sentence = "In 3 recorded games a player was to move in this position or a symmetric one"
        assert why.reason.startswith(sentence)
        assert "chose cell 0 or 2 or 6 or 8." in why.reason
        assert [why.figure.text(cell) for cell in (0, 1, 4)] == ["2", "0", "1"]


class TestLookup:
    def test_lookup_shows_code_and_symmetry(self):
        agent, solution, n_turned = make_agent("lookup"), ttt_env.solve(TICTACTOE), 0
        for position in random_positions(TICTACTOE, 100):
            why = agent.explain(position)
            board = str(position).replace("/", "")
            digits = "".join({"X": "1", "O": "0", ".": "2"}[mark] for mark in reversed(board))
            assert why.facts["code in base 3"] == digits and why.facts["code"] == int(digits, 3)
            assert sorted(why.cells) == solution.best_cells(position)
            if "position in the table" in why.facts:
                n_turned += 1
                motion = why.facts["each cell lies there on"]
                there = Position.parse(why.facts["position in the table"])
                assert transform(position, tuple(motion)) == there
                assert why.facts["code there"] == int(why.facts["code in base 3 there"], 3)
                best_there = {motion[cell] for cell in why.cells}
                assert best_there == set(solution.best_cells(there))
            else:
                assert why.facts["symmetry"] == "none: as it is"
        assert n_turned > 30

    def test_symmetries_have_distinct_names(self):
        for game in (EVERYWHERE[2], TICTACTOE):
            names = {symmetry_name(game, motion): motion for motion in symmetries(game)}
            assert len(names) == len(symmetries(game))
        corner = {name: motion[0] for name, motion in names.items()}
        assert corner["turned by 90° clockwise"] == corner["mirrored left to right"] == 2
        assert corner["turned by 90° anticlockwise"] == corner["mirrored top to bottom"] == 6
        assert corner["mirrored at the diagonal from the top left"] == 0
        assert corner["mirrored at the diagonal from the top right"] == corner["turned by 180°"] == 8

    def test_unmerged_table_is_explained(self):
        table = Lookup.of(lambda position: position.legal_cells[0], TICTACTOE)
        assert table.explain(TICTACTOE.start.play(8)).reason == "The table holds the position itself."


def test_value_network_shows_output_for_each_move():
    agent = make_agent("value-network")
    for position in random_positions(TICTACTOE, 20):
        values = agent.network.values(ttt_env.Boards.of(map(position.play, position.legal_cells)))
        expected = dict(zip(position.legal_cells, values.tolist(), strict=True))
        why = agent.explain(position)
        assert column(why, "network’s value after it") == pytest.approx(expected)
        assert expected[why.cells[0]] == pytest.approx(max(expected.values()))


def test_q_learning_shows_q_value_of_each_move():
    agent = make_agent("q-learning")
    for position in random_positions(TICTACTOE, 20):
        [values] = agent.q(ttt_env.Boards.of([position]))
        expected = {cell: values[cell] for cell in position.legal_cells}
        why = agent.explain(position)
        assert column(why, "Q-value") == expected
        assert sorted(why.cells) == [cell for cell in expected if expected[cell] == max(expected.values())]


def test_network_shows_its_scores():
    scores = [2.0, 1, 2, 1, 3, 1, 2, 1, 2]
    greedy = make_agent(lambda planes: [scores] * len(planes), TICTACTOE, observation="planes")
    warm = make_agent(lambda planes: [scores] * len(planes), TICTACTOE, temperature=2.0)
    for position in random_positions(TICTACTOE, 20):
        expected = {cell: scores[cell] for cell in position.legal_cells}
        for agent in (greedy, warm):
            assert column(agent.explain(position), "network’s score") == expected
        weights = {cell: exp(scores[cell] / 2) for cell in position.legal_cells}
        shares = {cell: weight / sum(weights.values()) for cell, weight in weights.items()}
        assert warm.explain(position).policy == pytest.approx(shares)


class TestMCTS:
    @pytest.mark.parametrize("solve", ["false", "true"])
    def test_seeded_mcts_shows_search_of_its_policy(self, solve):
        from ttt_env.agents.mcts.search import Search

        agent = make_agent(f"mcts:simulations=120,seed=3,solve={solve}")
        for position in random_positions(TICTACTOE, 20):
            search = Search(position, seed=3, solve=solve == "true")
            search.run(simulations=120)
            nodes = {node.cell: node for node in search.tree().children}
            why = agent.explain(position)
            visits = {cell: nodes[cell].visits if cell in nodes else 0 for cell in position.legal_cells}
            assert column(why, "simulations") == visits
            won = {cell: node.wins / node.visits for cell, node in nodes.items()}
            assert column(why, "won of them") == pytest.approx(won)
            assert sorted(why.cells) == search.best_cells()
            proved = {cell: node.value for cell, node in nodes.items() if node.value is not None}
            assert not proved or column(why, "proved value") == proved
            assert ("has proved" in why.reason) == search.is_proved

    def test_unseeded_mcts_shows_search_of_last_move(self):
        agent = make_agent("mcts:simulations=200,solve=false")
        position = TICTACTOE.start.play(0)
        cell = agent.choose(position, np.random.default_rng(5))
        visits = agent.search.visits
        why = agent.explain(position)
        assert column(why, "simulations") == {c: visits[c] for c in position.legal_cells}
        assert cell in why.cells and why.facts == {"simulations": 200}
        other = agent.explain(TICTACTOE.start)
        assert sum(column(other, "simulations").values()) == 200


@pytest.mark.parametrize(
    ("algorithm", "meaning"), [("PPO", "network’s probability"), ("DQN", "network’s action value")]
)
@pytest.mark.slow
def test_sb3_model_shows_its_outputs(algorithm, meaning):
    sb3 = pytest.importorskip("stable_baselines3")
    import torch

    env = ttt_env.envs.sb3.make_vec_env("tictactoe-v0", n_envs=1, opponent="random")
    sizes = {"n_steps": 8, "batch_size": 8} if algorithm == "PPO" else {"learning_starts": 10}
    model = getattr(sb3, algorithm)("MlpPolicy", env, seed=0, device="cpu", **sizes)
    agent = make_agent(model, TICTACTOE)
    for position in random_positions(TICTACTOE, 5):
        planes = position.planes.reshape(1, *model.observation_space.shape)
        observation, _ = model.policy.obs_to_tensor(planes)
        with torch.no_grad():
            if algorithm == "PPO":
                numbers = model.policy.get_distribution(observation).distribution.probs[0].double().numpy()
                numbers = numbers / numbers[position.legal_cells].sum()
            else:
                numbers = model.q_net(observation)[0].double().numpy()
        expected = {cell: numbers[cell] for cell in position.legal_cells}
        why = agent.explain(position)
        assert column(why, meaning) == pytest.approx(expected, rel=1e-5)
        assert all(expected[cell] == pytest.approx(max(expected.values())) for cell in why.cells)


def test_likeliest_cells_come_first():
    why = make_agent("softmax:temperature=0.5").explain(Position.parse("XX./OO./XO."))
    shares = [why.policy[cell] for cell in why.cells]
    assert all(a >= b for a, b in pairwise(shares)) and len(shares) == 3


def test_reason_names_cells_with_positive_probability():
    policy = {cell: {4: 0.75, 0: 0.25}.get(cell, 0.0) for cell in range(9)}
    assert Explanation(TICTACTOE.start, policy, "It plays {cells}.").reason == "It plays cell 4 or 0."
