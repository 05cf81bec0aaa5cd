"""Tabular Q-learning: the rule, what it comes to, and its files."""

import subprocess
import sys

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.marks import slow_but_the_first
from tests.support.naive_uct import MASK, SplitMix64
from ttt_env.agents.learned.lookup import code
from ttt_env.agents.learned.q_learning import QLearning, explored, train
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.analysis.layers import reachable
from ttt_env.errors import GameTooLargeError, ParameterError, PolicyError, PolicyFileError
from ttt_env.rules.boards import Boards
from ttt_env.rules.symmetry import canonical

GAMES = ["tictactoe-v0", "tictactoe-v0:misere=true", "mnk-v0:m=4,n=3,k=3"]
LOPSIDED = ttt_env.Game("lopsided", (3, 3), [(0, 1), (2, 5, 8), (1, 6, 4)])


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
    agent = train(game, seed=3, games=150, goal=None, alpha=0.25, epsilon=0.3)
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
    agent, boards = train(game, seed=1, games=1_000_000, goal=None, epsilon=1.0), open_boards(game)
    np.testing.assert_array_equal(agent.q(boards), ttt_env.solve(game).values.q(boards))


@pytest.mark.parametrize("seed", range(10))
def test_every_seed_is_certified(seed):
    agent = train(seed=seed, games=100_000)
    assert ttt_env.certify(agent).unbeatable
    assert not len(blunders_everywhere(agent))


@pytest.mark.parametrize("game", GAMES)
def test_training_ends_when_its_goal_is_reached(game):
    looks = []
    agent = train(game, goal="unbeatable", report=looks.append)
    certified = [ttt_env.certify(look.agent, game).unbeatable for look in looks]
    assert certified == [False] * (len(looks) - 1) + [True]
    assert ttt_env.certify(agent, game).unbeatable


def test_a_report_may_end_it_and_knows_the_moves():
    looks = []
    train(goal=None, games=10_000, report=lambda look: looks.append(look) or len(looks) == 2)
    assert [look.games for look in looks] == [500, 1000]
    assert 5 * 500 <= looks[0].moves <= 9 * 500 and looks[0].moves < looks[1].moves <= 9 * 1000


def test_a_first_player_win_is_won():
    agent = train("mnk-v0:m=4,n=3,k=3", goal="unbeatable")
    assert ttt_env.certify(agent, "mnk-v0:m=4,n=3,k=3").worst_case["X"] == 1


@pytest.mark.slow
def test_square_is_never_lost_on_either_seat():
    agent = train("square-v0", games=40_000_000, goal=None)
    assert ttt_env.certify(agent, "square-v0").worst_case == {"X": 0, "O": 0}


def test_the_same_seed_learns_the_same_however_long_the_looks_take():
    ends = [
        train(seed=5, games=3000, goal=None, report=report)
        for report in (None, lambda look: look.agent is None)
    ]
    other = train(seed=6, games=3000, goal=None)
    np.testing.assert_array_equal(ends[0]._values, ends[1]._values)
    assert (ends[0]._values != other._values).any()


def test_games_are_counted():
    looks = []
    train(games=1200, goal=None, report=looks.append)
    assert [look.games for look in looks] == [500, 1000, 1200]
    train(games=1.5, goal=None, report=looks.append)
    assert looks[-1].games == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0},
        {"alpha": 1.5},
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"games": -1},
        {"seconds": "long"},
        {"goal": "best"},
        {"goal": None},
    ],
)
def test_parameters_out_of_their_ranges(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        train(**wrong)


def test_too_large():
    with pytest.raises(GameTooLargeError, match="qubic-v0 has 64 cells"):
        train("qubic-v0", games=1)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "q.npz"
    train(games=500, goal=None).save(path)
    return path


def test_a_saved_table_plays_on(saved):
    agent, boards = ttt_env.make_agent(f"q-learning:{saved}"), open_boards(ttt_env.get_game("tictactoe-v0"))
    again = train(games=500, goal=None)
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
    agent = train(games=10, goal=None)
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
