"""Tabular Q-learning: its update rule and its results; test_policy_files.py tests its files."""

import subprocess
import sys

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.agents import learner
from tests.support.games import open_boards
from tests.support.marks import slow_but_the_first
from tests.support.naive_uct import MASK, SplitMix64
from ttt_env.agent.learner import Budget
from ttt_env.agents.learned.lookup import code
from ttt_env.agents.learned.q_learning import QLearning, game_graph
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.errors import ParameterError, PolicyError
from ttt_env.rules.symmetry import canonical

GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3"]
LOPSIDED = ttt_env.Game("lopsided", (3, 3), [(0, 1), (2, 5, 8), (1, 6, 4)])


class NaiveQLearning:
    """Plain Q-learning with a dictionary of canonical positions and Python numbers."""

    def __init__(self, game, seed, alpha, epsilon):
        self.game, self.alpha, self.epsilon, self.q = game, alpha, epsilon, {}
        self.random = SplitMix64(int(np.random.default_rng(seed).integers(1 << 63)))

    def after(self, position):
        return [canonical(position.play(cell)) for cell in position.legal_cells]

    def value(self, position):
        return self.q.get(position, 0.0)

    def pick(self, n):
        return (self.random.bits() >> 32) * n >> 32

    def move(self, position):
        options = self.after(position)
        if (self.random.bits() >> 11) / (MASK + 1 >> 11) < self.epsilon:
            return options[self.pick(len(options))]
        best, n_best = max(map(self.value, options)), 0
        for option in options:
            if self.value(option) == best:
                n_best += 1
                if self.pick(n_best) == 0:
                    chosen = option
        return chosen

    def play(self):
        position = self.game.start
        while not position.is_over:
            position = self.move(position)
            if position.is_over:
                last = "XO"[1 - position.ply % 2]
                target = 0 if position.winner is None else 1 if position.winner == last else -1
            else:
                target = -max(map(self.value, self.after(position)))
            self.q[position] = self.value(position) + self.alpha * (target - self.value(position))


@pytest.mark.parametrize("game", slow_but_the_first([LOPSIDED, *GAMES[:2]]))
def test_compiled_rule_matches_naive_rule(game):
    game = ttt_env.get_game(game)
    naive = NaiveQLearning(game, seed=3, alpha=0.25, epsilon=0.3)
    for _ in range(150):
        naive.play()
    agent = learner(game, 150, seed=3, alpha=0.25, epsilon=0.3).agent()
    learned = {int(key): value for key, value in zip(agent._positions, agent._values, strict=True) if value}
    assert len(learned) > 20
    assert learned == {code(position): value for position, value in naive.q.items() if value}


def test_graph_holds_all_positions_up_to_symmetry():
    positions, graph = game_graph(ttt_env.get_game("tictactoe-v0"))
    assert len(positions) == len(set(positions.tolist())) == reference.POSITIONS_UP_TO_SYMMETRY
    over = np.flatnonzero(np.diff(graph.first) == 0)
    assert len(over) == 138
    won = sum(graph.reward[over] == 1)
    assert (won, len(over) - won) == (135, 3)  # Three boards are drawn up to symmetry.


@pytest.mark.parametrize("game", slow_but_the_first(GAMES))
def test_random_games_converge_to_perfect_values(game):
    agent, boards = learner(game, 1_000_000, seed=1, epsilon=1.0).agent(), open_boards(game)
    np.testing.assert_array_equal(agent.q(boards), ttt_env.solve(game).values.q(boards))


@pytest.mark.parametrize("seed", slow_but_the_first(range(10)))
def test_every_seed_becomes_unbeatable(seed):
    agent = ttt_env.train(algo="q-learning", seed=seed, steps=100_000, until="optimal")
    assert ttt_env.certify(agent).unbeatable
    assert not len(blunders_everywhere(agent))


@pytest.mark.parametrize("game", slow_but_the_first(reversed(GAMES)))
def test_training_ends_at_its_goal(game):
    looks = []
    agent = ttt_env.train(game, "q-learning", report=looks.append)
    certified = [look.certificate.unbeatable for look in looks]
    assert certified == [False] * (len(looks) - 1) + [True]
    certificate = ttt_env.certify(agent, game)
    assert certificate.unbeatable
    assert certificate.worst_case["X"] == ttt_env.solve(ttt_env.get_game(game)).value


def test_learner_counts_games_and_moves():
    one, two = learner(games=500), learner(games=1000)
    assert (one.steps, two.steps) == (500, 1000)
    assert 5 * 500 <= one.moves <= 9 * 500 and one.moves < two.moves <= 9 * 1000


@pytest.mark.slow
def test_square_is_never_lost_in_either_seat():
    agent = learner("square-v0", 40_000_000).agent()
    assert ttt_env.certify(agent, "square-v0").worst_case == {"X": 0, "O": 0}


def test_division_into_runs_does_not_change_learning():
    one, other = learner(games=3000, seed=5).agent(), learner(games=3000, seed=6).agent()
    stretched = learner(games=1, seed=5)
    while stretched.games < 3000:
        stretched.advance(Budget(steps=min(317, 3000 - stretched.games)))
    np.testing.assert_array_equal(one._values, stretched.agent()._values)
    assert (one._values != other._values).any()


def test_reports_count_games():
    looks = []
    ttt_env.train(algo="q-learning", steps=1200, until="budget", report=looks.append)
    assert [look.steps for look in looks] == [500, 1000, 1200]


@pytest.mark.parametrize(
    "bad_value",
    [
        {"alpha": 0},
        {"alpha": 1.5},
        {"epsilon": 0},
        {"steps": -1},
        {"seconds": "long"},
        {"until": "best"},
        {"until": "budget"},
    ],
)
def test_invalid_parameters_are_refused(bad_value):
    message = "would never end" if "budget" in bad_value.values() else next(iter(bad_value))
    with pytest.raises(ParameterError, match=message):
        ttt_env.train(algo="q-learning", **bad_value)


def test_missing_position_raises_policy_error():
    agent = learner(games=10).agent()
    part = QLearning.of(agent.game, agent._positions[:400], agent._values[:400])
    with pytest.raises(PolicyError, match="no entry for"):
        part.policies(open_boards())


@pytest.mark.slow
def test_playing_needs_no_torch_and_no_compiler():
    script = """
import sys, ttt_env
for thing in (42, object(), ttt_env, print):
    try:
        ttt_env.make_agent(thing)
    except ttt_env.TttEnvError:
        pass
for name in ("q-learning", "value-network"):
    env = ttt_env.make("tictactoe-v0", opponent=name)
    env.reset(seed=0)
    assert not {"torch", "numba", "stable_baselines3"} & set(sys.modules), name
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)
