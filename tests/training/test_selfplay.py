"""The opponents of self-play, and the callback that trains against them and evaluates exactly."""

import copy
import io
from contextlib import redirect_stdout
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import ttt_env
from tests import reference
from tests.support.games import ANY_MOVE_WINS, LOPSIDED, TICTACTOE, open_boards
from tests.support.marks import slow
from ttt_env import PolicyTable
from ttt_env.envs.sb3 import make_vec_env
from ttt_env.errors import FileError, ParameterError, UnknownAgentError

sb3 = pytest.importorskip("stable_baselines3")
contrib = pytest.importorskip("sb3_contrib")

from stable_baselines3.common.vec_env import VecEnvWrapper, VecNormalize  # noqa: E402

from ttt_env.agents.learned.sb3 import SB3  # noqa: E402
from ttt_env.training.masking import MaskedDQN, MaskedQRDQN  # noqa: E402
from ttt_env.training.pool import OpponentPool, StartDistribution, response_to  # noqa: E402
from ttt_env.training.selfplay import SelfPlayCallback  # noqa: E402

LARGE = "mnk-v0:m=5,n=4,k=2"  # too large to enumerate, and short
ALGORITHMS = {
    "MaskablePPO": (contrib.MaskablePPO, {"n_steps": 8, "batch_size": 32}),
    "PPO": (sb3.PPO, {"n_steps": 8, "batch_size": 32}),
    "A2C": (sb3.A2C, {}),
    "TRPO": (contrib.TRPO, {"n_steps": 8, "batch_size": 32}),
    "DQN": (sb3.DQN, {"learning_starts": 16, "target_update_interval": 64, "buffer_size": 256}),
    "MaskedDQN": (MaskedDQN, {"learning_starts": 16, "target_update_interval": 64, "buffer_size": 256}),
    "MaskedQRDQN": (MaskedQRDQN, {"learning_starts": 16, "target_update_interval": 64, "buffer_size": 256}),
}


def fresh(name="MaskablePPO", game=TICTACTOE, **options):
    build, parameters = ALGORITHMS[name]
    envs = make_vec_env(game, n_envs=8, seed=0, start=StartDistribution(game))
    return build("MlpPolicy", envs, device="cpu", seed=0, **parameters, **options)


def same_policy(one, two):
    boards = open_boards(one.game)
    return np.array_equal(one.policies(boards), two.policies(boards))


class TestPastSelves:
    def test_past_self_stays_unchanged_while_model_learns(self):
        model, boards = fresh("MaskedDQN"), open_boards()
        agent = SB3.from_model(TICTACTOE, model)
        frozen = PolicyTable.of(agent, positions="all")
        before = frozen.policies(boards)
        assert same_policy(frozen, agent)
        model.learn(128)
        assert not same_policy(frozen, agent)
        assert np.array_equal(before, frozen.policies(boards))

    @pytest.mark.parametrize("is_large", [False, True])
    def test_response_scores_like_best_response(self, is_large, monkeypatch):
        """On large games its moves are computed when needed."""
        if is_large:
            monkeypatch.setattr("ttt_env.rules.sizes.TABLE_CELLS", 0)
        for name in ("random", "weights", "newell-simon", "minimax:depth=5"):
            worst = ttt_env.exploitability(name)
            played = ttt_env.match(response_to(ttt_env.make_agent(name)), name)
            results = played.as_o.value, played.as_x.value
            assert results == pytest.approx((worst.as_x, worst.as_o), abs=1e-12)


def pool_of(learner, **options):
    pool = OpponentPool(**options)
    pool.bind(learner.game)
    return pool


class TestPool:
    minimax = ttt_env.make_agent("minimax")

    def test_pool_is_bounded_and_keeps_latest(self):
        pool = pool_of(self.minimax, scripted=["random"], past=2, responses=1)
        learners = [PolicyTable.of(name, positions="all") for name in ("weights", "block", "minimax")]
        for learner in learners:
            pool.add(learner, exact=True)
        assert list(pool.past) == learners[1:]
        assert len(pool.responses) == 1
        assert pool.agents == [pool.scripted["random"], *learners[1:], *pool.responses]

    def test_no_response_in_large_games(self):
        pool = pool_of(self.minimax)
        pool.add(self.minimax, exact=False)
        assert len(pool.past) == 1 and not pool.responses

    def test_prioritised_weights_follow_exact_results(self):
        """Minimax scores the known value against random, and draws against itself."""
        pool = pool_of(self.minimax, draw="prioritised")
        (win, _, loss), (lost, _, won) = reference.OPTIMAL_V_RANDOM, reference.RANDOM_V_OPTIMAL
        score = (win - loss + won - lost) / 2
        expected = [float(((1 - score) / 2) ** 2), 0.25]
        assert pool.weights(self.minimax) == pytest.approx(expected, rel=1e-12)

    def test_beaten_opponents_have_no_weight_unless_all_are_beaten(self):
        pool = OpponentPool("random", draw="prioritised")  # one opponent needs no list
        pool.bind(ANY_MOVE_WINS)
        assert pool.weights(pool.scripted["random"]) == [0.25]

    def test_kind_shares_fixed_weight(self):
        pool = pool_of(self.minimax, draw={"scripted": 1, "responses": 3}, past=1, responses=2)
        for _ in range(2):
            pool.add(self.minimax, exact=True)
        assert pool.weights(self.minimax) == [0.5, 0.5, 0, 1.5, 1.5]

    @pytest.mark.parametrize("draw", ["uniform", {"past": 1}], ids=["all", "of nobody yet"])
    def test_uniform_draw_has_no_weights(self, draw):
        assert pool_of(self.minimax, draw=draw).weights(self.minimax) is None

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"draw": "unifrom"}, "did you mean uniform"),
            ({"draw": {"pasts": 1}}, "did you mean past"),
            ({"draw": ["past"]}, "expected one of uniform, prioritised"),
            ({"draw": {"past": -1, "scripted": 2}}, "finite weights ≥ 0"),
            ({"draw": {"past": float("inf")}}, "finite weights ≥ 0"),
            ({"draw": {"past": 0}}, "not all 0"),
            *(({"past": past}, "past=") for past in (-1, 2.5, 10**30)),
            ({"responses": True}, "responses=True"),
            ({"scripted": [], "past": 0, "responses": 0}, "at least one opponent"),
            ({"scripted": ["minmax"]}, "did you mean minimax"),
        ],
    )
    def test_bad_options_are_refused(self, options, message):
        with pytest.raises((ParameterError, UnknownAgentError), match=message):
            pool_of(self.minimax, **options)


class Wrapper(VecEnvWrapper):
    def reset(self):
        return self.venv.reset()

    def step_wait(self):
        return self.venv.step_wait()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A training, with all that it has written."""
    reports, folder = [], tmp_path_factory.mktemp("run")
    model = fresh(tensorboard_log=str(folder / "log"))
    files = {"best": folder / "best.zip", "checkpoint": folder / "c"}
    callback = SelfPlayCallback(every=64, until="budget", report=reports.append, **files)
    with redirect_stdout(io.StringIO()) as printed:
        model.learn(256, callback)
    return SimpleNamespace(
        model=model, callback=callback, found=reports, told=printed.getvalue(), folder=folder
    )


class TestRun:
    @pytest.mark.slow
    def test_logs_for_tensorboard(self, run):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        log = EventAccumulator(str(next((run.folder / "log").iterdir())))
        log.Reload()
        for name in ("exact/exploitability", "exact/random as X", "exact/minimax as O"):
            logged = [(event.step, event.value) for event in log.Scalars(name)]
            expected = [(evaluation.steps, evaluation.scalars()[name]) for evaluation in run.found]
            assert logged == [(step, pytest.approx(value, abs=1e-6)) for step, value in expected]

    @pytest.mark.slow
    def test_prints_when_exploitability_falls(self, run):
        expected, least = [], float("inf")
        for evaluation in run.found:
            if (exploitability := evaluation.exploitability.exploitability) < least:
                least = exploitability
                expected.append(f"{evaluation.steps:,} steps, exploitability {least:.4f}, worst: X ")
        lines = run.told.splitlines()
        assert len(lines) == len(expected) > 0
        assert all(map(str.startswith, lines, expected))

    @pytest.mark.slow
    def test_best_model_is_saved(self, run):
        least = min(evaluation.exploitability.exploitability for evaluation in run.found)
        best = ttt_env.make_agent(f"sb3:{run.folder}/best.zip")
        assert ttt_env.exploitability(best).exploitability == least
        last = copy.deepcopy(run.model.policy.state_dict())
        for weights in run.model.policy.parameters():
            weights.data.zero_()
        assert not same_policy(SB3.from_model(TICTACTOE, run.model), best)
        run.callback.restore_best(run.model)
        assert same_policy(SB3.from_model(TICTACTOE, run.model), best)
        run.model.policy.load_state_dict(last)

    def test_resumes_from_checkpoint(self, run):
        reports = []
        model, callback = SelfPlayCallback.resumed(
            run.folder / "c", until="budget", verbose=0, report=reports.append
        )
        assert (model.num_timesteps, len(callback.pool.past)) == (256, 4)
        model.learn(128, callback, reset_num_timesteps=False)
        assert [evaluation.steps for evaluation in reports] == [320, 384]
        assert model.get_env().get_attr("opponents")[0] == callback.pool.agents


class TestSelfPlay:
    @pytest.mark.parametrize("name", [name if name == "MaskedDQN" else slow(name) for name in ALGORITHMS])
    def test_trains_every_algorithm(self, name):
        model, reports = fresh(name, LOPSIDED), []
        callback = SelfPlayCallback(
            OpponentPool(past=2, responses=2), every=64, until="budget", report=reports.append
        )
        model.learn(192, callback)
        steps = [evaluation.steps for evaluation in reports]
        assert steps[0] == 0 and steps[-1] == model.num_timesteps >= 192
        assert all(64 <= after - before <= 128 for before, after in pairwise(steps[:-1]))
        opponents = model.get_env().get_attr("opponents")[0]
        assert opponents == callback.pool.agents and len(opponents) == 6

    @pytest.mark.parametrize("name", ["PPO", slow("DQN")])
    def test_evaluation_is_exact_and_masks_moves(self, name):
        """The figures are those of the model that plays by the rules, though it is trained without masks."""
        reports = []
        model = fresh(name)
        model.learn(64, SelfPlayCallback(every=64, report=reports.append))
        agent = SB3.from_model(TICTACTOE, model)
        last = reports[-1]
        assert last.exploitability == ttt_env.exploitability(agent)
        assert last.certificate.worst_case == ttt_env.certify(agent).worst_case
        assert last.results == {name: ttt_env.match(agent, name) for name in ("random", "minimax")}
        assert last.results["random"].exact

    def test_other_checkpoints_are_refused(self, tmp_path):
        ttt_env.train(algo="q-learning", steps=1, until="budget", out=tmp_path / "q.npz")
        with pytest.raises(FileError, match=r"q\.npz\.checkpoint"):
            SelfPlayCallback.resumed(tmp_path / "q.npz.checkpoint")

    def test_checkpoint_of_wrapped_environments_is_refused(self, tmp_path, capsys):
        envs = VecNormalize(make_vec_env("tictactoe-v0", n_envs=2), norm_obs=False)
        model = sb3.PPO("MlpPolicy", envs, n_steps=16, batch_size=16)
        model.learn(32, SelfPlayCallback(verbose=0, until="budget"))
        assert not capsys.readouterr().out
        with pytest.raises(ParameterError, match="wrapped in VecNormalize"):
            model.learn(32, SelfPlayCallback(verbose=0, checkpoint=tmp_path / "c"))

    @pytest.mark.parametrize("kind, policy", [("ARS", "LinearPolicy"), ("RecurrentPPO", "MlpLstmPolicy")])
    def test_model_without_position_policy_is_refused(self, kind, policy):
        model = getattr(contrib, kind)(policy, ttt_env.make("tictactoe-v0", opponent="random"))
        with pytest.raises(ParameterError, match=f"{kind} gives no probabilities or values of the cells"):
            ttt_env.make_agent(model)

    @pytest.mark.slow
    def test_resume_may_change_options(self, tmp_path, capsys):
        pool, starts = OpponentPool(["random"]), StartDistribution(LOPSIDED)
        callback = SelfPlayCallback(pool, starts=starts, every=128, until="budget", checkpoint=tmp_path / "c")
        fresh(game=LOPSIDED).learn(128, callback)
        least, reports = callback.progress.best.criterion[0], []
        capsys.readouterr()
        model, callback = SelfPlayCallback.resumed(
            tmp_path / "c", every=64, until="budget", report=reports.append
        )
        assert list(callback.pool.scripted) == ["random"] and isinstance(callback.starts, StartDistribution)
        model.learn(128, callback, reset_num_timesteps=False)
        assert [evaluation.steps for evaluation in reports] == [192, 256]
        better = [evaluation for evaluation in reports if evaluation.criterion[0] < least]
        assert len(capsys.readouterr().out.splitlines()) == len(better)
        for name, value in (("pool", pool), ("starts", starts)):
            with pytest.raises(ParameterError, match=f"{name}=.* of resumed self-play"):
                SelfPlayCallback.resumed(tmp_path / "c", **{name: value})

    def test_past_selves_are_optional(self):
        envs = make_vec_env("tictactoe-v0", n_envs=2, seed=0)
        model, reports = sb3.A2C("MlpPolicy", envs, n_steps=8, device="cpu", seed=0), []
        pool = OpponentPool("minimax", past=0, responses=1)
        model.learn(64, SelfPlayCallback(pool, every=32, until="budget", report=reports.append))
        assert [evaluation.steps for evaluation in reports] == [0, 32, 64]
        assert [type(agent).__name__ for agent in pool.agents] == ["Minimax", "PolicyTable"]

    def test_stops_when_certified(self):
        """On a board that X wins with any move, every agent is unbeatable."""
        envs = make_vec_env(ANY_MOVE_WINS, n_envs=2, play_as="X", seed=0, opponent="random")
        model = sb3.A2C("MlpPolicy", envs, device="cpu", seed=0)
        callback = SelfPlayCallback(OpponentPool(["random"]))
        model.learn(1000, callback)
        assert callback.is_done and model.num_timesteps == 2
        model.learn(40, SelfPlayCallback(OpponentPool(["random"]), until="budget"))
        assert model.num_timesteps == 40

    @pytest.mark.parametrize("seconds_before", [0.0, 4.0])
    def test_compilation_does_not_use_budget(self, seconds_before, monkeypatch):
        """The clock counts 1,000 seconds for the first step of the environments, and 1 for the others."""
        clock = [0.0]

        class SlowFirstStep(Wrapper):
            def step_wait(self):
                clock[0] += 1.0 if clock[0] else 1000.0
                return self.venv.step_wait()

        monkeypatch.setattr("ttt_env.training.selfplay.time.monotonic", lambda: clock[0])
        envs, callback = (
            SlowFirstStep(make_vec_env(TICTACTOE, n_envs=8, seed=0)),
            SelfPlayCallback(seconds=10.0),
        )
        callback.progress.seconds = seconds_before
        model = sb3.A2C("MlpPolicy", envs, device="cpu", seed=0).learn(8000, callback)
        assert model.num_timesteps == 8 * (1 + 10 - seconds_before)

    @pytest.mark.slow
    def test_large_games_are_sampled(self):
        game = ttt_env.get_game(LARGE)
        model, reports = fresh(game=game), []
        callback = SelfPlayCallback(OpponentPool(["random"], past=1), every=64, report=reports.append)
        model.learn(64, callback)
        assert not callback.is_done
        assert reports[0].certificate is None and reports[0].exploitability is None
        assert set(reports[0].scalars()) == {"sampled/random as X", "sampled/random as O"}
        assert reports[0].results["random"].games == 200
        past, now = callback.pool.past[0], SB3.from_model(game, model)
        boards = ttt_env.Boards.start(game)
        assert past is callback.learner.agent() and not callback.pool.responses
        assert np.array_equal(past.policies(boards), now.policies(boards))

    @pytest.mark.parametrize("draw", ["prioritised", {"scripted": 1, "responses": 2}])
    def test_weights_are_passed_through_wrapper(self, draw):
        calls = []

        class RecordingEnv(Wrapper):
            def env_method(self, name, *arguments, **options):
                calls.append((name, *arguments))
                return self.venv.env_method(name, *arguments, **options)

        envs = RecordingEnv(make_vec_env(TICTACTOE, n_envs=8, seed=0))
        callback = SelfPlayCallback(OpponentPool(draw=draw))
        sb3.A2C("MlpPolicy", envs, device="cpu", seed=0).learn(40, callback)
        pool = callback.pool
        assert calls[-1] == ("set_opponent", pool.agents, pool.weights(pool.past[-1]))
        assert any(calls[-1][2])

    @pytest.mark.parametrize(
        ("name", "is_reset"),
        [
            ("MaskedDQN", True),
            slow("MaskablePPO", False),
            slow("MaskedDQN", False),
            slow("MaskablePPO", True),
        ],
    )
    def test_each_call_of_learn_is_evaluated(self, name, is_reset, tmp_path):
        """By default SB3 counts the steps of each call from 0."""
        model, reports = fresh(name, LOPSIDED), []
        callback = SelfPlayCallback(
            every=128, until="budget", checkpoint=tmp_path / "c", report=reports.append
        )
        for calls in (1, 2):
            model.learn(192, callback, reset_num_timesteps=is_reset)
            assert reports[-1].steps == 192 * calls
            agent = SB3.from_model(LOPSIDED, model)
            assert reports[-1].exploitability == ttt_env.exploitability(agent, LOPSIDED)
        assert [evaluation.steps for evaluation in reports] == [0, 128, 192, 320, 384]
        model, callback = SelfPlayCallback.resumed(
            tmp_path / "c", every=128, until="budget", report=reports.append
        )
        model.learn(64, callback, reset_num_timesteps=is_reset)
        assert reports[-1].steps == 448

    def test_long_opponent_names_do_not_break_printing(self, capsys):
        pool = OpponentPool(["epsilon:minimax,epsilon=0.123456"])
        fresh(verbose=1).learn(64, SelfPlayCallback(pool, every=64, verbose=0))
        assert "exploitability" in capsys.readouterr().out

    def test_unsuitable_environments_and_options_are_refused(self):
        for options, message in (
            ({"until": "optimall"}, "did you mean optimal"),
            ({"best": "c", "checkpoint": "c"}, "checkpoint is the same file"),
        ):
            with pytest.raises(ParameterError, match=message):
                SelfPlayCallback(**options)
        with pytest.raises(ParameterError, match="make_vec_env"):
            sb3.A2C("MlpPolicy", "CartPole-v1", device="cpu").learn(10, SelfPlayCallback())
        # The model would see other observations than it learns from, and its evaluation would be wrong.
        envs = VecNormalize(make_vec_env(TICTACTOE, n_envs=8, seed=0))
        with pytest.raises(ParameterError, match="norm_obs=False"):
            sb3.A2C("MlpPolicy", envs, device="cpu").learn(40, SelfPlayCallback())
        envs.norm_obs = False
        sb3.A2C("MlpPolicy", envs, device="cpu").learn(40, SelfPlayCallback())


def test_random_starts_are_open_positions_and_need_valid_probabilities():
    for shares in ((2.0,), (0.5, "a"), (0.5, 0.9)):
        with pytest.raises(ParameterError, match=r"probability=|blunders="):
            StartDistribution("tictactoe-v0", *shares)
    rng = np.random.default_rng(0)
    starts = [StartDistribution("tictactoe-v0", 0.5)(rng) for _ in range(200)]
    assert not any(start.is_over for start in starts)
    assert {start.ply for start in starts} >= set(range(7))
    assert StartDistribution(TICTACTOE, 0.0)(rng) == TICTACTOE.start
