"""Sweeps without Ray: what is asked for, what is kept, and how they go on."""

import json
from copy import deepcopy

import numpy as np
import pytest

import ttt_env
from tests.support.games import TICTACTOE
from tests.support.running import ttt
from ttt_env.app.cli import with_address
from ttt_env.app.learning import search_of, seeds_of
from ttt_env.errors import ParameterError, PolicyFileError, ResultFileError
from ttt_env.storage.line_file import LineFile
from ttt_env.training.loop import checkpoint_of
from ttt_env.training.recipe import recipe
from ttt_env.training.sweeps import sweep
from ttt_env.training.trial import Trial, TrialResult, run_trial


def test_seeds_and_values_of_the_command_line():
    texts = {"7": [7], "0-3": [0, 1, 2, 3], "0,3,7": [0, 3, 7], "4-5, 0": [4, 5, 0], "6-6": [6]}
    assert {text: seeds_of(text) for text in texts} == texts
    for wrong in ("", "5-2", "a", "1,", "-1", "0-", "1.5", "0-99999999", "1--2", "0x1", "9" * 5000):
        with pytest.raises(ParameterError, match="--seeds"):
            seeds_of(wrong)
    settings = {"learning_rate": "3e-4,1e-3", "policy_kwargs.net_arch": "[64],[32, 32]", "draw": "a,b"}
    settings |= {"target_kl": "none, 0.03", "net": "x,[64,[2]],'u,v',[3"}
    assert search_of([f"{name}={values}" for name, values in settings.items()]) == {
        "learning_rate": [3e-4, 1e-3],
        "policy_kwargs.net_arch": [[64], [32, 32]],
        "draw": ["a", "b"],
        "target_kl": ["none", 0.03],
        "net": ["x", [64, [2]], "u,v", "[3"],
    }
    assert search_of(["alpha=" + "1" * 5000]) == {"alpha": ["1" * 5000]}  # a number without end is a word
    for settings in (["gamma"], ["=3"], ["gamma="], ["gamma=1", "gamma=0.9"]):
        with pytest.raises(ParameterError, match="--set"):
            search_of(settings)


def test_ray_without_an_address_is_that_of_this_machine():
    for line, completed in {
        "bench --ray random minimax": "bench --ray local random minimax",
        "bench random minimax --ray": "bench random minimax --ray local",
        "train --ray 10.0.0.1:6379": "train --ray 10.0.0.1:6379",
        "train --ray=auto dqn": "train --ray=auto dqn",
        "train dqn --seeds 0-9": "train dqn --seeds 0-9",
    }.items():
        assert with_address(line.split()) == completed.split()


class TestRecipe:
    def test_has_other_values(self):
        """Stable-Baselines3 writes into `policy_kwargs`; a training does not change the recipe either."""
        pytest.importorskip("sb3_contrib")
        before = deepcopy(recipe("qr-dqn").hyperparameters)
        recipe("dqn").adjusted({"learning_rate": lambda progress: 0.1, "gamma": 1, "policy_kwargs": None})
        changes = {"learning_rate": 0.5, "policy_kwargs.net_arch": [8], "random_starts": 0.1, "pool.past": 3}
        adjusted = recipe("qr-dqn").adjusted(changes)
        assert adjusted.hyperparameters["learning_rate"] == 0.5
        assert adjusted.hyperparameters["policy_kwargs"] == {"net_arch": [8], "n_quantiles": 25}
        assert adjusted.random_starts == 0.1 and adjusted.pool["past"] == 3
        ttt_env.train("tictactoe-v0", "qr-dqn", steps=1, until="budget")
        assert recipe("qr-dqn").hyperparameters == before
        assert before["policy_kwargs"]["net_arch"] == [128, 128]

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"lerning_rate": 1}, "unknown hyperparameter of dqn 'lerning_rate': did you mean learning_rate"),
            ({"seed": 1}, "unknown hyperparameter of dqn 'seed'"),
            ({"pool.passt": 1}, "unknown parameter of pool 'passt': did you mean past"),
            ({"envs.start": 1}, "unknown parameter of envs 'start'"),
            ({"gamma.x": 1}, "gamma is no table"),
            ({"random_starts": 2}, "random_starts=2"),
            ({"gamma": "a"}, "gamma='a' of dqn is not a value of type float: numbers are allowed"),
            ({"batch_size": 1.5}, "batch_size=1.5 of dqn is not a value of type int"),
            ({"buffer_size": True}, "buffer_size=True of dqn is not a value of type int"),
            ({"learning_rate": None}, "learning_rate=None of dqn is not a value of type float, Callable"),
        ],
    )
    def test_mistakes(self, changes, told):
        with pytest.raises(ParameterError, match=told):
            recipe("dqn").adjusted(changes)


@pytest.mark.slow
def test_an_interrupted_trial_goes_on_as_if_nothing_had_happened(tmp_path):
    """Interrupted in its fourth evaluation, after which the last checkpoint is that of the third."""
    torch = pytest.importorskip("torch")
    trial = Trial(TICTACTOE, "maskable-ppo", 5, {"learning_rate": 3e-4}, 16_384, None, "budget")
    options = {"steps": 16_384, "until": "budget"}
    told, best = [], []

    def interrupt(result):
        told.append(result.steps)
        if len(told) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trial(trial, tmp_path, interrupt)
    assert checkpoint_of(tmp_path / trial.file).is_file()
    search = {"learning_rate": [3e-4]}
    found = sweep(algos="maskable-ppo", out=tmp_path, seeds=[5], search=search, **options)
    assert found.best.steps >= 16_384 and not checkpoint_of(tmp_path / trial.file).exists()
    model = ttt_env.train(algo="maskable-ppo", learning_rate=3e-4, seed=5, report=best.append, **options)
    assert found.best.exploitability == min(one.mistakes[0] for one in best)
    kept = ttt_env.make_agent(f"sb3:{tmp_path / trial.file}").network.parameters()
    assert all(torch.equal(one, two) for one, two in zip(kept, model.network.parameters(), strict=True))


def a_result(name="one", **changes):
    trial = Trial(TICTACTOE, "q-learning", 3, {"alpha": 0.5}, 100, None, "budget")
    return TrialResult.from_dict({**trial.result(None, None).to_dict(), "trial": name, **changes})


def results_file(folder):
    return LineFile(folder / "results.jsonl", "ttt_env trial", "holds no results of a sweep")


class TestResults:
    def test_are_read_as_they_were_written_and_the_last_counts(self, tmp_path):
        one, two = a_result("one", ended="error", error="no memory"), a_result("two")
        with results_file(tmp_path) as results:
            assert results.read(TrialResult.from_dict) == []
            for result in (one, two):
                results.add(result.to_dict())
            assert results.read(TrialResult.from_dict) == [one, two]
        options = {"algos": "q-learning", "out": tmp_path, "seeds": [0], "steps": 10}
        (trial,) = sweep(**options).trials
        assert sweep(**options).trials == (trial,)
        with results_file(tmp_path) as results:
            assert results.read(TrialResult.from_dict) == [one, two, trial]
            results.add(trial.to_dict() | {"ended": "error", "error": "no memory"})
        assert sweep(**options).trials[0].ended == trial.ended  # it is tried again
        assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 5

    @pytest.mark.parametrize("torn", [b"{", b'{"format": "ttt_env trial 1", "trial": "th', b"\xc3"])
    def test_a_line_that_was_being_written_does_not_count(self, torn, tmp_path):
        path, results = tmp_path / "results.jsonl", results_file(tmp_path)
        results.add(a_result("one").to_dict())
        whole = path.read_bytes()
        path.write_bytes(whole + torn)
        assert [each.trial for each in results.read(TrialResult.from_dict)] == ["one"]
        results.add(a_result("two").to_dict())
        assert [each.trial for each in results.read(TrialResult.from_dict)] == ["one", "two"]
        assert path.read_bytes().startswith(whole + b'{"format"')

    @pytest.mark.parametrize("line", ["my thesis", "{}", "[1]", '{"format": "ttt_env trial 1"}', "\xff"])
    def test_a_file_of_something_else_is_left_alone(self, line, tmp_path):
        path = tmp_path / "results.jsonl"
        results_file(tmp_path).add(a_result("one").to_dict())
        path.write_bytes(path.read_bytes() + line.encode("latin-1") + b"\n")
        before = path.read_bytes()
        with pytest.raises(ResultFileError, match=r"results\.jsonl, line 2"):
            sweep(algos="q-learning", out=tmp_path, steps=10)
        assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


class TestSweep:
    def test_is_every_algorithm_with_every_choice_from_every_seed(self, tmp_path):
        told, options = [], {"steps": 200, "until": "budget"}
        found = sweep(
            algos="q-learning",
            out=tmp_path,
            seeds=[4, 1],
            search={"alpha": [1.0, 0.5], "epsilon": [0.3]},
            report=lambda result, ended, of: told.append((result and result.trial, ended, of)),
            **options,
        )
        settings = [(trial.hyperparameters["alpha"], trial.seed) for trial in found.trials]
        assert settings == [(1.0, 4), (1.0, 1), (0.5, 4), (0.5, 1)]
        names = [trial.trial for trial in found.trials]
        assert told == [(None, 0, 4), *((name, number + 1, 4) for number, name in enumerate(names))]
        lines = (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["trial"] for line in lines] == names
        for trial in found.trials:
            expected = ttt_env.train(algo="q-learning", seed=trial.seed, **options, **trial.hyperparameters)
            kept = trial.agent(tmp_path, TICTACTOE)
            assert trial.exploitability == ttt_env.exploitability(kept).exploitability
            assert trial.exploitability <= ttt_env.exploitability(expected).exploitability
            assert trial.unbeatable == ttt_env.certify(kept).unbeatable
            assert (trial.ended, trial.steps, trial.error) == ("budget", 200, None)
        least = min(trial.exploitability for trial in found.trials)
        assert ttt_env.exploitability(found.agent()).exploitability == least
        assert "alpha=0.5, epsilon=0.3" in str(found)

    def test_goes_on_with_what_is_missing(self, tmp_path):
        options = {"algos": "q-learning", "out": tmp_path, "steps": 200, "until": "budget"}
        first = sweep(seeds=[0, 1], **options)
        before = (tmp_path / "results.jsonl").read_bytes()
        told = []
        more = sweep(seeds=[1, 2, 0], report=lambda *each: told.append(each), **options)
        assert [(result and result.seed, ended) for result, ended, _ in told] == [(None, 2), (2, 3)]
        assert (more.trials[2], more.trials[0]) == first.trials
        assert (tmp_path / "results.jsonl").read_bytes().startswith(before)
        assert sweep(seeds=[1, 2, 0], **options) == more

    def test_another_budget_or_game_is_another_trial(self, tmp_path):
        one = sweep("mnk-v0:m=3,n=2,k=2", "q-learning", out=tmp_path, seeds=[0], steps=100)
        two = sweep("mnk-v0:m=3,n=2,k=2", "q-learning", out=tmp_path, seeds=[0], steps=200)
        three = sweep("mnk-v0:m=2,n=2,k=2", "q-learning", out=tmp_path, seeds=[0], steps=100)
        assert len({found.best.model for found in (one, two, three)}) == 3

    @pytest.mark.slow
    def test_processes_give_the_same(self, tmp_path):
        options = {"algos": "q-learning", "seeds": [0, 1], "steps": 500, "until": "budget"}
        alone = sweep(out=tmp_path / "alone", **options)
        shared = sweep(out=tmp_path / "shared", workers=2, **options)
        for one, two in zip(alone.trials, shared.trials, strict=True):
            assert one.exploitability == two.exploitability and one.steps == two.steps
            files = [folder / one.model for folder in (tmp_path / "alone", tmp_path / "shared")]
            assert files[0].read_bytes() == files[1].read_bytes()

    def test_numbers_may_be_those_of_numpy(self, tmp_path):
        options = {"steps": np.int64(20), "seconds": np.float32(60), "until": "budget"}
        (trial,) = sweep(algos="q-learning", out=tmp_path, seeds=np.arange(1), **options).trials
        assert trial.budget == {"steps": 20, "seconds": 60.0, "until": "budget"}

    def test_what_is_drawn_twice_is_one_trial(self, tmp_path):
        class Drawn:
            def sample(self, random_state):
                return 0.5

        options = {"algos": "q-learning", "out": tmp_path, "seeds": [0], "steps": 9}
        assert len(sweep(**options, search={"alpha": Drawn()}, samples=3).trials) == 1

    def test_an_error_ends_one_trial_and_is_tried_again(self, tmp_path):
        options = {"algos": "q-learning", "out": tmp_path, "seeds": [0], "steps": 500}
        found = sweep(search={"alpha": [0.0, 1.0]}, **options)
        assert [trial.ended for trial in found.trials] == ["error", "budget"]
        error = found.trials[0].error
        assert "alpha=0.0 of q-learning: positive numbers up to 1" in error and error in str(found)
        assert found.best == found.trials[1]
        told = []
        sweep(search={"alpha": [0.0, 1.0]}, report=lambda result, *_: told.append(result), **options)
        assert [result and result.hyperparameters["alpha"] for result in told] == [None, 0.0]
        with pytest.raises(PolicyFileError, match=r"no trial of .* has a model: .*alpha=0.0 of q-learning"):
            sweep(search={"alpha": [0.0]}, **options).agent()

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"algos": "qlearning"}, "did you mean q-learning"),
            ({"algos": []}, "algorithms="),
            ({"algos": 3}, "algos=3"),
            ({"algos": [["dqn"]]}, "unknown algorithm"),
            ({"seeds": []}, "seeds="),
            ({"seeds": [1, 1]}, "none of them twice"),
            ({"seeds": "0-9"}, "seed='0'"),
            ({"seeds": 5}, "seeds=5"),
            ({"seeds": [2**32]}, "seed=4294967296"),
            ({"seeds": range(10**9)}, "100,000 seeds"),
            ({"steps": 0}, "steps=0"),
            ({"seconds": float("inf")}, "seconds=inf"),
            ({"until": "unbeatabel"}, "did you mean unbeatable"),
            ({"search": {"alfa": [1]}}, "did you mean alpha"),
            ({"search": {"alpha": 1}}, "alpha=1"),
            ({"search": []}, r"search=\[\]"),
            ({"search": {3: [1]}}, "names of hyperparameters"),
            ({"search": {"alpha": [0.5, 1.0, 0.5]}}, "a value is given twice"),
            ({"samples": "a"}, "samples='a'"),
            ({"report": 3}, "report=3"),
            ({"asha": "no"}, "asha='no'"),
            ({"search": {"alpha": [object]}}, "alpha=<class"),
            ({"asha": True}, 'backend="ray"'),
            ({"asha": True, "backend": "ray", "steps": None}, "steps= or seconds="),
            ({"backend": "rai"}, "did you mean ray"),
            ({"workers": 0}, "workers=0"),
            ({"out": __file__}, "cannot be the folder"),
            ({"game": "qubic-v0"}, "64 cells"),
            ({"algos": "dqn", "search": {"pool.scripted": [["minmax"]]}}, "minimax"),
        ],
    )
    def test_mistakes_are_told_before_anything_begins(self, options, told, tmp_path):
        with pytest.raises(ttt_env.TttEnvError, match=told):
            sweep(**{"algos": "q-learning", "out": tmp_path / "new", "steps": 10, **options})
        assert not (tmp_path / "new").exists()


def test_on_the_command_line(tmp_path):
    line = "train q-learning --set alpha=1,0.5 --steps 200 --out here --until budget".split()
    run = ttt(*line, "--seeds", "0-1", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "q-learning seed 1 alpha=0.5: " in run.stdout and "4 of 4 trials" in run.stdout
    told, options = [], {"seeds": [0, 1], "search": {"alpha": [1, 0.5]}, "steps": 200, "until": "budget"}
    options |= {"out": tmp_path / "here", "report": lambda *each: told.append(each)}
    found = sweep(algos="q-learning", **options)
    assert told == [(None, 4, 4)]  # none is run again
    assert f"Scorecard of here/{found.best.model}" in run.stdout
    again = ttt(*line, "--seeds", "0,1", cwd=tmp_path)
    assert again.returncode == 0 and "q-learning seed" not in again.stdout and "Scorecard" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--seeds", "5-2"], "the range 5-2 goes down"),
        (["--seeds", "0-1", "--set", "alfa=1"], "did you mean alpha?"),
        (["--seeds", "0-1", "--asha"], "ray"),
        (["--seeds", "0-1", "--resume"], "without --resume"),
        (["--seeds", "0-1", "--opponent", "random"], "qr-dqn: q-learning learns without"),
    ],
)
def test_mistakes_on_the_command_line(arguments, told, tmp_path):
    run = ttt("train", "q-learning", *arguments, cwd=tmp_path)
    assert run.returncode == 2 and told in run.stderr and run.stderr.count("\n") == 1
    assert not run.stdout and not list(tmp_path.iterdir())
