"""Training AlphaZero: self-play games, learning and resuming."""

import pickle
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import ttt_env
from tests.support.devices import DEVICES
from tests.support.games import MISERE, TICTACTOE
from ttt_env.alphazero.network import NetworkSize, load_network
from ttt_env.alphazero.search import PuctSearch
from ttt_env.alphazero.training import (
    AlphaZeroLearner,
    AlphaZeroSettings,
    Positions,
    ReplayBuffer,
    SelfPlayGames,
)
from ttt_env.errors import ParameterError
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import random_position
from ttt_env.rules.symmetry import canonical, symmetries, transform
from ttt_env.training.loop import Training, TrainingCheckpoint

torch = pytest.importorskip("torch")
train = partial(ttt_env.train, algo="alphazero")

TINY = {"games": 12, "simulations": 8, "channels": 6, "blocks": 1, "batch": 32, "updates": 2, "pause": 1}


def tiny_learner(game=TICTACTOE, seed=0, **changes):
    return AlphaZeroLearner(game, seed, **TINY | changes)


def self_play(**changes):
    return SelfPlayGames(TICTACTOE, AlphaZeroSettings(**TINY | changes), np.random.default_rng(0))


def assert_equal(ones, others):
    for one, other in zip(ones, others, strict=True):
        np.testing.assert_array_equal(one, other)


def interrupt_at(steps):
    """A report that interrupts the training at its first evaluation after `steps` steps."""

    def interrupt(evaluation):
        if evaluation.steps >= steps:
            raise KeyboardInterrupt

    return interrupt


def games_of(positions):
    """Split positions into games: a game starts at each position that does not follow the previous one."""
    games = []
    for board, policy, value in zip(positions.boards, positions.policies, positions.values, strict=True):
        if games and board.ply and board.theirs & games[-1][-1][0].mine == games[-1][-1][0].mine:
            before = games[-1][-1][0]
            if board.mine == before.theirs and board.ply == before.ply + 1:
                games[-1].append((board, policy, value))
                continue
        games.append([(board, policy, value)])
    return games


class TestSelfPlay:
    @pytest.mark.parametrize("game", [TICTACTOE, MISERE, ttt_env.get_game("mnk-v0:m=4,n=4,k=4")], ids=str)
    def test_values_are_results_or_proved(self, game):
        training = tiny_learner(game, random_starts=0.5)
        solution = ttt_env.solve(game) if game.n_cells == 9 else None
        parts = [training.games.move(training.search) for _ in range(2 * game.n_cells)]
        assert training.games.ended > 10
        games = [moves for part in parts for moves in games_of(part)]
        assert sum(map(len, games)) == sum(map(len, parts)) > 0
        for moves in games:
            last, _, value = moves[-1]
            ends = [end for end in map(last.play, last.legal_cells) if end.is_over]
            assert value in {
                0.0 if p.winner is None else 1.0 if p.winner == last.to_move else -1.0 for p in ends
            }
            assert solution is None or value == 0 or solution.value_of(last) in (value, 0)

    @pytest.mark.parametrize("game", [TICTACTOE, MISERE], ids=str)
    def test_values_are_results_without_proofs(self, game):
        training = tiny_learner(game, random_starts=0.0)
        search = PuctSearch(training.inference_network(), solve=False)
        games = [moves for _ in range(20) for moves in games_of(training.games.move(search))]
        assert {moves[-1][2] for moves in games} == ({0.0, 1.0} if game is TICTACTOE else {0.0, -1.0})
        for moves in games:
            assert not moves[0][0].ply
            values = [value for _, _, value in moves]
            assert values == [-value for value in values[1:]] + values[-1:]

    def test_proof_overrides_result(self):
        games = self_play(games=1)
        before, last = (ttt_env.Position.parse(text) for text in ("XX./O../...", "XX./OO./..."))
        for proved, learned in ((0.0, 0.0), (np.nan, -1.0)):
            games.masks[:, 0], games.lengths[0] = (last.mine, last.theirs), 1
            games.played[:, 0, 0], games.values[0, 0] = (before.mine, before.theirs), proved
            ended = games.move(tiny_learner(simulations=60).search)
            assert ended.values.tolist() == [learned, 1.0]

    def test_proved_values_are_exact(self):
        training = tiny_learner(simulations=200, random_starts=0.75)
        solution = ttt_env.solve(TICTACTOE)
        positions = [training.games.move(training.search) for _ in range(10)]
        found = [pair for p in positions for pair in zip(p.boards, p.values, strict=True)]
        late = [(board, value) for board, value in found if board.ply > 5]
        assert len(late) > 10
        assert all(solution.value_of(board) == value for board, value in late)

    def test_policy_puts_all_weight_on_proved_win(self):
        games = self_play()
        for number, text in enumerate(("XX./OO./...", "XX./O../...")):
            position = ttt_env.Position.parse(text, TICTACTOE)
            games.masks[:, number] = position.mine, position.theirs
        games.move(tiny_learner(simulations=60).search)
        assert games.policies[0, games.lengths[0] - 1].argmax() == 2 or games.lengths[0] == 0
        np.testing.assert_allclose(games.policies[1, 0], np.eye(9)[2])

    def test_noise_is_distribution_over_legal_moves(self):
        boards = Boards.of([random_position(TICTACTOE, seed) for seed in range(12)])
        noise = self_play()._noise(boards)
        np.testing.assert_allclose(noise.sum(axis=1), 1)
        assert not noise[~boards.legal].any()

    def test_random_starts_occur_at_given_rate(self):
        empty = (self_play(games=400, random_starts=0.5).masks == 0).all(axis=0).mean()
        assert 0.45 < empty < 0.65  # One ninth of the random starts are empty boards.

    def test_games_start_at_blunders_at_given_rate(self):
        games = self_play(games=400, random_starts=0.0, blunder_starts=0.5)
        assert not games.masks.any()
        blunders = [ttt_env.Position.parse(text) for text in ("X../.../...", "XO./.../...")]
        games.blunders = Boards.of(blunders)
        for number in range(400):
            games._start_game(number)
        begun = [int((games.masks == [[p.mine], [p.theirs]]).all(axis=0).sum()) for p in blunders]
        assert min(begun) > 50 and 150 < sum(begun) < 250

    def test_only_first_moves_are_sampled(self):
        games = self_play(games=300, sampled_moves=2)
        games.lengths[:] = np.arange(300) % 4
        policies = np.zeros((300, 9), np.float32)
        policies[:, [2, 6]] = 0.6, 0.4
        chosen = games._select(policies)
        assert [set(chosen[games.lengths == length]) for length in range(4)] == [{2, 6}, {2, 6}, {2}, {2}]


class TestReplayBuffer:
    def test_buffer_stores_canonical_images_and_targets(self):
        rng = np.random.default_rng(0)
        replay, boards = ReplayBuffer(TICTACTOE, 100), [random_position(TICTACTOE, rng) for _ in range(30)]
        policies = rng.random((30, 9)).astype(np.float32)
        replay.add(Positions(Boards.of(boards), policies, np.arange(30, dtype=np.float32)))
        for row, position in enumerate(boards):
            image = canonical(position)
            assert (int(replay.masks[0, row]), int(replay.masks[1, row])) == (image.mine, image.theirs)
            motion = next(m for m in symmetries(TICTACTOE) if transform(position, m) == image)
            assert replay.policies[row, list(motion)].tolist() == policies[row].tolist()

    def test_buffer_drops_oldest_positions(self):
        replay = ReplayBuffer(TICTACTOE, 8)
        for number in range(3):
            boards = Boards.start(TICTACTOE, 5)
            replay.add(Positions(boards, np.zeros((5, 9), np.float32), np.full(5, number, np.float32)))
        assert len(replay) == 8
        assert sorted(replay.values.tolist()) == [1.0] * 3 + [2.0] * 5
        sample = replay.sample(200, np.random.default_rng(0))
        assert set(sample.values.tolist()) == {1.0, 2.0}


class TestTraining:
    def test_illegal_moves_are_excluded_from_loss(self):
        training, position = tiny_learner(), ttt_env.Position.parse(".../.X./...")
        with torch.no_grad():
            training.network.policy.bias[4] = 1000.0  # The taken cell.
        policy = np.array([[1, 1, 1, 1, 0, 1, 1, 1, 1]], np.float32) / 8
        training.replay.add(Positions(Boards.of([position]), policy, np.zeros(1, np.float32)))
        assert training._learn()[1] < 100

    def test_best_network_is_kept_until_improved(self):
        training = Training(
            tiny_learner(evaluation_simulations=(1,)),
            TrainingCheckpoint("alphazero", TICTACTOE, 0, TINY),
            until="unbeatable",
        )
        training.look()
        progress = training.progress
        first, n_passed = progress.snapshot, progress.n_passed
        progress.n_passed = n_passed + 1
        training.look()
        assert progress.snapshot is first
        progress.n_passed = n_passed - 1
        training.look()
        assert progress.snapshot is not first and progress.n_passed == n_passed

    @pytest.mark.parametrize("judged", [(1, 50), (50, 1)], ids=str)
    @pytest.mark.slow
    def test_best_judged_agent_is_returned_and_saved(self, judged, tmp_path):
        found, settings = [], TINY | {"evaluation_simulations": judged, "threats": judged[0] == 1}
        agent = train(steps=20, **settings, out=tmp_path / "net.npz", report=found.append)
        best = min(found, key=lambda evaluation: evaluation.criterion)
        for each in (agent, ttt_env.make_agent(f"alphazero:{tmp_path}/net.npz")):
            assert ttt_env.exploitability(each) == best.exploitability
            assert ttt_env.certify(each).unbeatable == best.certificate.unbeatable
            assert (each.network.simulations, each.network.threats) == (judged[0], settings["threats"])

    def test_training_ends_when_all_evaluations_pass(self):
        found = []
        train(steps=2000, **TINY | {"evaluation_simulations": (5000, 4000)}, report=found.append)
        assert [evaluation.certificate.unbeatable for evaluation in found][-2:] == [True, True]
        assert found[-2].steps == found[-1].steps < 2000

    @pytest.mark.slow
    def test_training_reduces_both_losses(self):
        training = tiny_learner(updates=30, batch=64)
        training.advance()
        training.advance()
        first = training.losses
        for _ in range(25):
            training.advance()
        assert training.losses[0] < first[0]
        assert training.losses[1] < first[1]

    @pytest.mark.slow
    def test_interrupted_training_resumes_exactly(self, tmp_path):
        straight, cut = tmp_path / "straight.npz", tmp_path / "cut.npz"
        evaluations, again = [], []
        train(seed=3, steps=30, until="budget", **TINY, out=straight, report=evaluations.append)
        with pytest.raises(KeyboardInterrupt):
            train(seed=3, steps=30, until="budget", **TINY, out=cut, report=interrupt_at(13))
        train(steps=30, until="budget", out=cut, resume=True, report=again.append)
        assert again[-1].steps == evaluations[-1].steps >= 30 and again[0].steps > 12
        assert again[-1].criterion == evaluations[-1].criterion
        one, other = load_network(straight, TICTACTOE), load_network(cut, TICTACTOE)
        assert_equal(one.weights.values(), other.weights.values())
        of_seeds = [tiny_learner(seed=seed).inference_network().weights["first"] for seed in (0, 1)]
        assert not np.array_equal(*of_seeds)

    @pytest.mark.parametrize("ends", ["whole", "interrupted"])
    def test_tensorboard_log_is_written_and_closed(self, tmp_path, monkeypatch, ends):
        tensorboard = pytest.importorskip("torch.utils.tensorboard")
        accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
        closed, close = [], tensorboard.SummaryWriter.close
        monkeypatch.setattr(
            tensorboard.SummaryWriter, "close", lambda writer: (close(writer), closed.append(writer.log_dir))
        )
        is_cut = ends == "interrupted"
        report = interrupt_at(0) if is_cut else None
        with pytest.raises(KeyboardInterrupt) if is_cut else nullcontext():
            train(seed=3, steps=30, until="budget", **TINY, tensorboard=tmp_path, report=report)
        assert closed == [str(tmp_path)]
        events = accumulator.EventAccumulator(str(tmp_path))
        events.Reload()
        names = {"exact/exploitability", "train/policy loss", "time/network"}
        assert is_cut or names <= set(events.Tags()["scalars"])

    @pytest.mark.slow
    def test_game_too_large_to_enumerate_is_trained(self, tmp_path):
        reports, out = [], tmp_path / "net.npz"
        game = ttt_env.get_game("mnk-v0:m=5,n=4,k=2")  # This game has 20 cells and is over after a few moves.
        settings = TINY | {"evaluation_simulations": (1,), "opponents": ("random",)}
        agent = train(game=game, steps=1, **settings, out=out, report=reports.append)
        assert agent.game == game
        assert not reports[-1].results["random"].exact
        assert load_network(out, game).size == NetworkSize(6, 1)

    @pytest.mark.slow
    def test_trained_network_is_unbeatable_with_and_without_search(self, tmp_path):
        out = tmp_path / "net.npz"
        train(seed=0, seconds=300, out=out)
        for simulations in (0, 50):
            assert ttt_env.certify(f"alphazero:{out},simulations={simulations},seed=0", TICTACTOE).unbeatable


def test_learning_rate_drops_after_given_games():
    settings = AlphaZeroSettings(learning_rate=1.0, drops=(10, 20))
    assert [settings.rate(games) for games in (0, 9, 10, 19, 20)] == pytest.approx([1, 1, 0.3, 0.3, 0.09])
    rates = []
    for drops in ((), (1,)):
        changes = {**TINY, "drops": drops}
        training = AlphaZeroLearner(TICTACTOE, **changes)
        while not training.games.ended:
            training.advance()
        training.advance()
        rates.append(training.scalars()["train/learning rate"])
    assert rates[1] == pytest.approx(0.3 * rates[0])


@pytest.mark.parametrize("device", DEVICES)
class TestDevice:
    @pytest.mark.slow
    def test_training_on_device_becomes_unbeatable(self, device):
        agent = train(steps=20_000, device=device, evaluation_simulations=(50,))
        assert ttt_env.certify(agent, TICTACTOE).unbeatable

    def test_network_learns_and_evaluates_on_device(self, device):
        training = tiny_learner(device=device)
        while not training.games.ended > 20:
            training.advance()
        assert training.search.network is training.network
        assert {weights.device.type for weights in training.network.parameters()} == {device}
        assert all(np.isfinite(training.losses))
        assert training.network.first[1].running_mean.abs().max() > 0 and not training.network.training

    def test_training_resumes_on_device(self, device):
        training, resumed = (tiny_learner(device=device) for _ in range(2))
        training.advance()
        resumed.restore(pickle.loads(pickle.dumps(training.state())))
        for each in (training, resumed):
            each.advance()
        assert_equal(*(each.inference_network().weights.values() for each in (training, resumed)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rte": 1}, "'learning_rte' of alphazero: did you mean learning_rate"),
        ({"games": 0}, "games=0 of alphazero"),
        ({"noise": 1.5}, "noise=1.5 of alphazero"),
        ({"channels": 1000}, "channels=1000 of alphazero"),
        ({"concentration": 0}, "concentration=0 of alphazero: expected a number above 0"),
        ({"random_starts": 0.6, "blunder_starts": 0.6}, "their sum is at most 1"),
        ({"evaluation_simulations": ()}, "evaluation_simulations="),
        ({"evaluation_simulations": (0,)}, "evaluation_simulations=0"),
        ({"drops": 5}, "drops=5 of alphazero"),
        ({"evaluation_simulations": 10**5000}, "evaluation_simulations=<an int without text> of alphazero"),
        ({"drops": (5, 0)}, "drops=0"),
        ({"device": "nowhere"}, "device='nowhere' of alphazero: "),
        ({"device": "meta"}, "device='meta' of alphazero: "),
    ],
)
def test_invalid_hyperparameters_are_refused(changes, message):
    for begin in (partial(train, steps=1, **changes), partial(AlphaZeroLearner.check, TICTACTOE, changes)):
        with pytest.raises(ParameterError, match=message):
            begin()
