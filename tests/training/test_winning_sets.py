"""Networks over winning sets, the starts of training games, and the learning rate."""

import gymnasium
import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE, lowest, open_boards, random_positions
from tests.support.marks import slow
from ttt_env.agent import checked_policies
from ttt_env.agent.learner import Budget
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.envs.sb3 import make_vec_env
from ttt_env.errors import ParameterError
from ttt_env.rules.boards import Boards
from ttt_env.rules.symmetry import symmetries, transform_boards

pytest.importorskip("sb3_contrib")

import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from ttt_env.agents.learned.sb3 import SB3
from ttt_env.training.evaluation import costly_blunders
from ttt_env.training.loop import TrainingOptions, train
from ttt_env.training.pool import StartDistribution
from ttt_env.training.winning_sets import FallingRate, WinningSetsDQN, WinningSetsPPO

ALGORITHMS = {
    WinningSetsPPO: {"n_steps": 8, "batch_size": 32},
    WinningSetsDQN: {"learning_starts": 16, "buffer_size": 256},
}
GAMES = {
    "3×3": TICTACTOE,
    "4,3,3": ttt_env.get_game("mnk-v0:m=4,n=3,k=3"),
    "Square": ttt_env.get_game("square-v0"),
    "sets of two sizes": ttt_env.Game("two sizes", (2, 3), [(0, 1), (3, 4), (0, 4, 2)], misere=True),
}


def model_of(build, game=TICTACTOE, **policy_kwargs):
    envs = make_vec_env(game, n_envs=8, seed=0)
    options = {**ALGORITHMS[build], "policy_kwargs": policy_kwargs}
    return build("WinningSetsPolicy", envs, seed=0, device="cpu", **options)


@pytest.mark.parametrize(
    ("build", "game"),
    [
        slow(build, game) if build is WinningSetsDQN and name != "3×3" else (build, game)
        for build in ALGORITHMS
        for name, game in GAMES.items()
    ],
    ids=[f"{build.__name__}-{name}" for build in ALGORITHMS for name in GAMES],
)
class TestNetwork:
    def test_network_is_equivariant(self, game, build):
        """A symmetry moves the scores with the stones, except for the term that breaks ties."""
        agent, boards = SB3.from_model(game, model_of(build, game)), Boards.of(random_positions(game, 100))
        ahead = np.arange(game.n_cells - 1, -1, -1) * 1e-4
        before = agent._scores(boards) - ahead
        spread = np.ptp(before[boards.legal])
        for permutation in symmetries(game):
            moved = transform_boards(boards, permutation)
            after = (agent._scores(moved) - ahead)[:, list(permutation)]
            differences = (after - before)[boards.legal]
            # Actor-critic scores are logits, known up to a constant in each position.
            if build is WinningSetsPPO:
                rows = zip(after - before, boards.legal, strict=True)
                differences = np.array([np.ptp(row[legal]) for row, legal in rows])
            assert np.abs(differences).max() < 1e-3 * spread

    def test_single_evaluation_equals_batch(self, game, build):
        """Rounding must not decide between symmetric cells: the first of them is played."""
        agent, boards = SB3.from_model(game, model_of(build, game)), Boards.of(random_positions(game, 100))
        policies = checked_policies(agent, boards)
        assert set(policies.max(axis=1)) == {1.0}
        for number in range(len(boards)):
            assert np.array_equal(agent.policies(boards[number : number + 1])[0], policies[number])

    def test_network_distinguishes_positions(self, game, build):
        """Nearly all positions that are not symmetric get different features."""
        boards = Boards.of(random_positions(game, 100))
        extractor = model_of(build, game, rounds=1).policy.make_features_extractor()
        with torch.no_grad():
            cells = extractor(torch.as_tensor(boards.planes).float()).reshape(len(boards), game.n_cells, -1)
        features = {tuple(np.round(row, 3)) for row in cells.sum(dim=1).numpy()}
        keys = {str(ttt_env.rules.symmetry.canonical(board)) for board in boards}
        assert len(features) > 0.9 * len(keys)


@pytest.mark.parametrize("build", ALGORITHMS)
def test_saved_model_plays_equally(build, tmp_path):
    model = model_of(build, width=8, rounds=1)
    model.game = TICTACTOE
    model.save(tmp_path / "model.zip")
    loaded = ttt_env.make_agent(f"sb3:{tmp_path / 'model.zip'}", TICTACTOE)
    boards = open_boards()
    assert np.array_equal(loaded.policies(boards), SB3.from_model(TICTACTOE, model).policies(boards))
    again = build.load(tmp_path / "model.zip", env=model.get_env())
    assert np.array_equal(SB3.from_model(TICTACTOE, again).policies(boards), loaded.policies(boards))


@pytest.mark.parametrize("build", ALGORITHMS)
def test_network_needs_planes(build):
    flat = make_vec_env(TICTACTOE, observation="flat")
    for envs in (flat, DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])):
        with pytest.raises(ParameterError, match="WinningSetsPolicy needs environments of"):
            build("WinningSetsPolicy", envs, device="cpu", **ALGORITHMS[build])


class TestFallingRate:
    def test_rate_halves_and_keeps_falling(self):
        rate, rates = FallingRate(first=0.6, halves_after=100), []
        for rate.steps in (0, 100, 200, 500):
            rates.append(rate(1.0))
        assert rates == pytest.approx([0.6, 0.3, 0.2, 0.1])

    @pytest.mark.parametrize("build", ALGORITHMS)
    def test_optimizer_uses_rate(self, build, tmp_path):
        """The rate depends on steps, not on the length of the training; a saved model keeps its rate."""
        envs = make_vec_env(TICTACTOE, n_envs=8, seed=0)
        rate = {"first": 1e-2, "halves_after": 64}
        model = build("WinningSetsPolicy", envs, learning_rate=rate, device="cpu", **ALGORITHMS[build])
        model.learn(64)
        rates = [group["lr"] for group in model.policy.optimizer.param_groups]
        assert model.num_timesteps == 64 and rates == pytest.approx([0.5e-2])
        model.save(tmp_path / "model.zip")
        assert build.load(tmp_path / "model.zip").lr_schedule(1.0) == pytest.approx(rates[0])


class TestErrors:
    @pytest.mark.parametrize("agent", [slow("random"), slow("weights"), lowest])
    @pytest.mark.slow
    def test_costly_errors_lose_game_value(self, agent):
        """On 3×3, a draw: a possible move loses a position that was not lost."""
        agent = ttt_env.make_agent(agent)
        errors = blunders_everywhere(agent)
        solution, expected = ttt_env.solve(TICTACTOE), []
        for position in errors:
            cells = np.flatnonzero(agent.policy(position))
            after = [-solution.value_of(position.play(cell)) for cell in cells]
            if solution.value_of(position) >= 0 and min(after) < 0:
                expected.append(str(position))
        costly = [str(position) for position in costly_blunders(agent, errors)]
        assert costly == expected and 0 < len(costly) < len(errors)

    def test_losing_seat_has_no_costly_errors(self):
        game = ttt_env.get_game("mnk-v0:m=3,n=2,k=2")
        agent = ttt_env.make_agent("random", game)
        costly = costly_blunders(agent, blunders_everywhere(agent))
        assert len(costly) and not (costly.ply % 2).any()
        perfect = ttt_env.make_agent("minimax")
        assert len(costly_blunders(perfect, blunders_everywhere(perfect))) == 0

    def test_episodes_start_at_errors(self):
        starts, rng = StartDistribution(TICTACTOE, 0.2, blunders=0.5), np.random.default_rng(0)
        assert {starts(rng).ply for _ in range(100)} >= {0, 1, 2}
        one, two = (ttt_env.Position.parse(text) for text in ("X../.../...", "X../.O./..X"))
        starts.set_blunders(Boards.of([one, two]), Boards.of([two]))
        drawn = [str(starts(rng)) for _ in range(2000)]
        shares = [drawn.count(str(position)) / len(drawn) for position in (TICTACTOE.start, one, two)]
        assert np.allclose(shares, [0.3, 0.05, 0.45], atol=0.06)


@pytest.mark.slow
def test_training_starts_at_its_own_errors():
    """The final model, still beatable, has started episodes at its own errors."""
    reports = []
    training = TrainingOptions(TICTACTOE, "dqn").begin(reports.append)
    training.run(Budget(steps=2100))
    start = training.learner.model.get_env().envs._start
    assert {str(position) for position in start._all} == {str(position) for position in reports[-1].blunders}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mnk-v0:m=4,n=3,k=3", "mnk-v0:m=4,n=4,k=4"])
def test_trained_model_is_unbeatable_on_larger_boards(name):
    game = ttt_env.get_game(name)
    assert ttt_env.certify(train(game, "maskable-ppo", steps=1_000_000), game).unbeatable
