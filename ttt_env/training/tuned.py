"""Trials on the machines of a Ray cluster, which Ray Tune runs."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ttt_env.training.trial import Trial, TrialResult, run_trial

_RESTARTS = 8  # of a trial whose machine or process dies
_HALVINGS = 2  # of ASHA: after 1/16 and 1/4 of the budget
_FACTOR = 4
_QUIET = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # results.jsonl has what they would write
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C is for the caller
    "RAY_AIR_NEW_OUTPUT": "0",  # the new one is not silent even at verbose=0
    "RAY_CHDIR_TO_TRIAL_DIR": "0",  # opponents may be named by relative paths
}


def tune_trials(
    trials: Sequence[Trial],
    folder: Path,
    keep: Callable[[Trial, TrialResult], None],
    *,
    asha: bool,
    workers: int | None,
) -> None:
    """Run the trials on the connected Ray, and hand over the result of each as soon as it has ended.

    Each has one core. A trial whose process or machine dies goes on in another, from its checkpoint in the
    folder, up to eight times.
    """
    with _settings(_QUIET):
        from ray import tune

        place = folder.resolve()
        storage = place / ".tune"
        job = tune.with_parameters(_job, trials=trials, folder=place)
        tuner = tune.Tuner(
            tune.with_resources(job, {"cpu": 1}),
            param_space={"number": tune.grid_search(list(range(len(trials))))},
            tune_config=tune.TuneConfig(
                metric="exploitability",
                mode="min",
                scheduler=_asha(trials[0]) if asha else None,
                max_concurrent_trials=workers,
                reuse_actors=True,  # they have torch imported
                trial_name_creator=_name,
                trial_dirname_creator=_name,
            ),
            run_config=tune.RunConfig(
                storage_path=str(storage),
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=_RESTARTS),
                callbacks=[_keeper(trials, keep)],
            ),
        )
        try:
            tuner.fit()
        finally:
            shutil.rmtree(storage, ignore_errors=True)


@contextmanager
def _settings(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, by which alone Ray Tune takes these settings, for a while."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


def _name(trial: Any) -> str:
    return f"trial-{trial.config['number']}"


def _job(config: Mapping[str, Any], trials: Sequence[Trial], folder: Path) -> None:
    """Run a trial in an actor, and report each of its results."""
    from ray import tune

    def report(result: TrialResult) -> None:
        tune.report(
            {
                "exploitability": result.mistakes[0],
                "steps": result.steps,
                "seconds": result.seconds,
                "result": result.to_json(),
            }
        )

    report(run_trial(trials[config["number"]], folder, report))


def _asha(trial: Trial) -> Any:
    """The scheduler, which counts in what the budget is given in."""
    from ray.tune.schedulers import ASHAScheduler

    budget: Any  # Ray's types allow no seconds
    unit, budget = ("steps", trial.steps) if trial.steps else ("seconds", trial.seconds)
    return ASHAScheduler(
        time_attr=unit,
        max_t=budget,
        grace_period=budget / _FACTOR**_HALVINGS,
        reduction_factor=_FACTOR,
        stop_last_trials=False,  # trials that have used their budget end by themselves
    )


def _keeper(listed: Sequence[Trial], keep: Callable[[Trial, TrialResult], None]) -> Any:
    """The callback that hands over the results of ended trials."""
    from ray import tune

    class Keeper(tune.Callback):  # type: ignore[misc]
        def __reduce__(self) -> tuple[Any, ...]:
            return tune.Callback, ()  # Tune writes it to its files, and progress bars cannot be pickled

        def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
            result = TrialResult.from_json(trial.last_result["result"])
            self._keep(trial, result if result.ended else replace(result, ended="asha"))

        def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
            reported = trial.last_result.get("result")
            ended = listed[trial.config["number"]]
            result = TrialResult.from_json(reported) if reported else ended.result(None, None)
            error = f"its process died {trial.num_failures} times"
            self._keep(trial, replace(result, ended="error", error=error))

        def _keep(self, trial: Any, result: TrialResult) -> None:
            keep(listed[trial.config["number"]], result)

    return Keeper()
