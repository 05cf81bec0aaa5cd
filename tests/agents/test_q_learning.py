"""Tabular Q-learning: the rule, what it comes to, and its files."""

import subprocess
import sys

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.marks import slow, slow_but_the_first
from tests.support.naive_uct import MASK, SplitMix64
from ttt_env.agent.learner import Budget
from ttt_env.agents.learned.lookup import code
from ttt_env.agents.learned.q_learning import QLearning, TableLearner, explored
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.analysis.layers import reachable
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyError, PolicyFileError
from ttt_env.rules.boards import Boards
from ttt_env.rules.symmetry import canonical

GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3"]
LOPSIDED = ttt_env.Game("lopsided", (3, 3), [(0, 1), (2, 5, 8), (1, 6, 4)])


def learner(game="tictactoe-v0", games=500, seed=0, **hyperparameters):
    """A learner after so many games."""
    made = TableLearner(ttt_env.get_game(game), seed, **hyperparameters)
    while made.games < games:
        made.advance(Budget(steps=games - made.games))
    return made


def open_boards(game):
    return Boards.joined(game, [layer.boards(layer.open) for layer in reachable(game) if len(layer.open)])


class NaiveQLearning:
    """The same, as plainly as possible: a dictionary of canonical positions, Python numbers."""

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


@pytest.mark.parametrize("game", [*GAMES[:2], LOPSIDED])
def test_the_compiled_rule_is_the_rule(game):
    game = ttt_env.get_game(game)
    naive = NaiveQLearning(game, seed=3, alpha=0.25, epsilon=0.3)
    for _ in range(150):
        naive.play()
    agent = learner(game, 150, seed=3, alpha=0.25, epsilon=0.3).agent()
    learned = {int(key): value for key, value in zip(agent._positions, agent._values, strict=True) if value}
    assert len(learned) > 20
    assert learned == {code(position): value for position, value in naive.q.items() if value}


def test_the_positions_are_all_up_to_symmetry():
    positions, graph = explored(ttt_env.get_game("tictactoe-v0"))
    assert len(positions) == len(set(positions.tolist())) == reference.POSITIONS_UP_TO_SYMMETRY
    over = np.flatnonzero(np.diff(graph.first) == 0)
    assert len(over) == 138
    won = sum(graph.reward[over] == 1)
    assert (won, len(over) - won) == (135, 3)  # three drawn boards up to symmetry


@pytest.mark.parametrize("game", slow_but_the_first(GAMES))
def test_random_games_end_in_the_values_of_perfect_play(game):
    game = ttt_env.get_game(game)
    agent, boards = learner(game, 1_000_000, seed=1, epsilon=1.0).agent(), open_boards(game)
    np.testing.assert_array_equal(agent.q(boards), ttt_env.solve(game).values.q(boards))


@pytest.mark.parametrize("seed", [0, 1, *map(slow, range(2, 10))])
def test_every_seed_is_certified(seed):
    agent = ttt_env.train(algo="q-learning", seed=seed, steps=100_000, until="optimal")
    assert ttt_env.certify(agent).unbeatable
    assert not len(blunders_everywhere(agent))


@pytest.mark.parametrize("game", GAMES)
def test_training_ends_when_its_goal_is_reached(game):
    looks = []
    agent = ttt_env.train(game, "q-learning", report=looks.append)
    certified = [look.certificate.unbeatable for look in looks]
    assert certified == [False] * (len(looks) - 1) + [True]
    assert ttt_env.certify(agent, game).unbeatable


def test_it_knows_its_games_and_moves():
    one, two = learner(games=500), learner(games=1000)
    assert (one.steps, two.steps) == (500, 1000)
    assert 5 * 500 <= one.moves <= 9 * 500 and one.moves < two.moves <= 9 * 1000


def test_a_first_player_win_is_won():
    agent = ttt_env.train("mnk-v0:m=4,n=3,k=3", "q-learning")
    assert ttt_env.certify(agent, "mnk-v0:m=4,n=3,k=3").worst_case["X"] == 1


@pytest.mark.slow
def test_square_is_never_lost_on_either_seat():
    agent = learner("square-v0", 40_000_000).agent()
    assert ttt_env.certify(agent, "square-v0").worst_case == {"X": 0, "O": 0}


def test_the_same_seed_learns_the_same_in_however_many_stretches():
    one, other = learner(games=3000, seed=5).agent(), learner(games=3000, seed=6).agent()
    stretched = learner(games=1, seed=5)
    while stretched.games < 3000:
        stretched.advance(Budget(steps=min(317, 3000 - stretched.games)))
    np.testing.assert_array_equal(one._values, stretched.agent()._values)
    assert (one._values != other._values).any()


def test_games_are_counted():
    looks = []
    ttt_env.train(algo="q-learning", steps=1200, until="budget", report=looks.append)
    assert [look.steps for look in looks] == [500, 1000, 1200]


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0},
        {"alpha": 1.5},
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"steps": -1},
        {"steps": 1.5},
        {"seconds": "long"},
        {"until": "best"},
        {"until": "budget"},
    ],
)
def test_parameters_out_of_their_ranges(wrong):
    with pytest.raises(
        ParameterError, match="would never end" if "budget" in wrong.values() else next(iter(wrong))
    ):
        ttt_env.train(algo="q-learning", **wrong)


def test_too_large():
    with pytest.raises(GameTooLargeError, match="qubic-v0 has 64 cells"):
        ttt_env.train("qubic-v0", "q-learning", steps=1)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "q.npz"
    learner(games=500).save(path)
    return path


def test_a_saved_table_plays_on(saved):
    agent, boards = ttt_env.make_agent(f"q-learning:{saved}"), open_boards(ttt_env.get_game("tictactoe-v0"))
    again = learner(games=500).agent()
    np.testing.assert_array_equal(agent.q(boards), again.q(boards))
    np.testing.assert_array_equal(agent.policies(boards), again.policies(boards))


def test_wrong_files(saved, tmp_path):
    with pytest.raises(PolicyFileError, match="table of tictactoe-v0, not of square-v0"):
        ttt_env.make_agent(f"q-learning:{saved}", "square-v0")
    with pytest.raises(PolicyFileError, match="nowhere"):
        ttt_env.make_agent(f"q-learning:{tmp_path}/nowhere.npz")
    ttt_env.make_agent("lookup").save(tmp_path / "lookup.npz")
    with pytest.raises(PolicyFileError, match="lacks positions, values"):
        ttt_env.make_agent(f"q-learning:{tmp_path}/lookup.npz")
    with pytest.raises(ParameterError, match=r"unknown parameter .* did you mean path"):
        ttt_env.make_agent(f"q-learning:{saved},paths=1")


@pytest.mark.parametrize(
    "change",
    [
        {"values": np.zeros(3)},
        {"values": np.full(765, np.nan)},
        {"values": np.zeros(765, np.float32)},
        {"positions": np.zeros(765, np.uint64)},
        {"positions": np.zeros(0, np.uint64), "values": np.zeros(0)},
    ],
)
def test_arrays_that_are_no_table(saved, change):
    with np.load(saved) as file:
        arrays = {**file, **change}
    np.savez(saved, **arrays)
    with pytest.raises(PolicyFileError, match="is no Q-table"):
        ttt_env.make_agent(f"q-learning:{saved}")


def test_a_position_that_is_missing():
    agent = learner(games=10).agent()
    game = ttt_env.get_game("tictactoe-v0")
    part = QLearning.of(game, agent._positions[:400], agent._values[:400])
    with pytest.raises(PolicyError, match="no entry for"):
        part.policies(open_boards(game))


def test_a_game_that_it_does_not_come_trained_for():
    with pytest.raises(
        PolicyFileError, match=r"trained for tictactoe-v0, tictactoe-v0:misere=true, not for squ"
    ):
        ttt_env.make_agent("q-learning", "square-v0")


@pytest.mark.parametrize("name", ["q-learning", "value-network"])
def test_playing_needs_neither_torch_nor_a_compiler(name):
    script = f"""
import sys, ttt_env
env = ttt_env.make("tictactoe-v0", opponent="{name}")
env.reset(seed=0)
assert not {{"torch", "numba", "stable_baselines3"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)
