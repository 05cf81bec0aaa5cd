"""One training of many: its parameters, its result, its continuation, and many of them on a Ray cluster."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, get_args

from ttt_env.agent import Agent, agent_class, learner_class
from ttt_env.analysis.dossier import versions
from ttt_env.analysis.saved import Saved
from ttt_env.errors import PolicyFileError
from ttt_env.rules import MAX_SEED, Game
from ttt_env.storage import MOST, Fields, as_file_name, game_to_dict
from ttt_env.training.evaluation import Evaluation
from ttt_env.training.loop import TrainingOptions, checkpoint_of, read_checkpoint

Ended: TypeAlias = Literal["goal", "budget", "asha", "error"]
_GAME_LETTERS = 60  # in the name of a file


@dataclass(frozen=True)
class Trial(TrainingOptions):
    """A training among others, whose files lie in one folder."""

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of the training, as keywords of `train`."""
        return {"steps": self.steps, "seconds": self.seconds, "until": self.until}

    @property
    def name(self) -> str:
        """A file name that no other trial has: digits after the seed encode all other parameters."""
        rest = [game_to_dict(self.game), dict(self.hyperparameters), self.limits]
        digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:8]
        game = as_file_name(self.game.name)[:_GAME_LETTERS]
        return f"{self.algo}-{game}-{self.seed}-{digest}"

    @property
    def file(self) -> str:
        """The name of the model's file."""
        return f"{self.name}.{self.learner.suffix}"

    def result(
        self,
        best: Evaluation | None,
        last: Evaluation | None,
        ended: Ended | None = None,
        error: str | None = None,
    ) -> "TrialResult":
        """The result so far: the strength of the best model, and the steps and seconds used."""
        proof = best and best.certificate
        return TrialResult(
            self.name,
            self.algo,
            self.game.name,
            self.seed,
            dict(self.hyperparameters),
            self.limits,
            last.steps if last else 0,
            last.seconds if last else 0.0,
            best.mistakes[0] if best else None,
            best.blunders_everywhere if best else None,
            bool(proof and proof.unbeatable),
            self.file if best else None,
            ended,
            error,
        )


@dataclass(frozen=True)
class TrialResult(Saved):
    """The result of a trial: a line of `results.jsonl`.

    `exploitability`, `unbeatable` and, if that was asked for, `blunders_everywhere` are exact, and describe
    the file `model`, the least exploitable that the trial found. `steps` and `seconds` are what the trial
    used in all. It has `ended` because its "goal" was reached or its "budget" used up, because "asha" stopped
    it, or by an "error", which is then told; None while it runs.
    """

    FORMAT = "ttt_env trial 1"

    trial: str
    algorithm: str
    game: str
    seed: int
    hyperparameters: dict[str, Any]
    budget: dict[str, Any]
    steps: int
    seconds: float
    exploitability: float | None
    blunders_everywhere: int | None
    unbeatable: bool
    model: str | None
    ended: Ended | None
    error: str | None = None
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def is_whole(self) -> bool:
        """True if the trial was trained to its end."""
        return self.ended in ("goal", "budget")

    @property
    def mistakes(self) -> tuple[float, float]:
        """The key that sorts trials, best first: exploitability, then blunders everywhere if counted."""
        if self.exploitability is None:
            return float("inf"), float("inf")
        return self.exploitability, self.blunders_everywhere or 0

    def agent(self, folder: str | Path, game: Game) -> Agent:
        """The agent that the trial trained, from the folder of its sweep.

        A model of Stable-Baselines3 runs the code in its file: load none of folders that you do not trust.
        Raises `PolicyFileError` if there is none.
        """
        if self.model is None:
            raise PolicyFileError(f"the trial {self.trial} has no model: {self.error}")
        kind = learner_class(self.algorithm).plays_as
        return agent_class(kind)(game, str(Path(folder) / self.model))  # type: ignore[call-arg]

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return {"format": self.FORMAT, **asdict(self)}

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Self:
        entries = Fields(data)
        ended: Sequence[Ended] = get_args(Ended)
        result = cls(
            entries.text("trial"),
            entries.text("algorithm"),
            entries.text("game"),
            entries.integer("seed", 0, MAX_SEED),
            dict(entries.table("hyperparameters")),
            dict(entries.table("budget")),
            entries.integer("steps"),
            entries.number("seconds", 0, MOST),
            entries.optional(entries.number, "exploitability", 0, 1),
            entries.optional(entries.integer, "blunders_everywhere"),
            entries.flag("unbeatable"),
            entries.optional(entries.text, "model"),
            entries.optional(entries.choice, "ended", ended),
            entries.optional(entries.text, "error"),
            {str(name): str(number) for name, number in entries.table("versions").items()},
        )
        for key, why in result._contradictions():
            raise entries.error(key, why)
        return result

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        """The entries that do not fit to others, and why."""
        if (self.model is None) != (self.exploitability is None):
            yield "exploitability", "it is known of trials that have a model, and of no others"
        if self.model is not None and Path(self.model).name != self.model:
            yield "model", f"{self.model!r}, which does not lie in the folder of the sweep"
        if self.unbeatable and self.exploitability != 0:
            yield "unbeatable", f"true, where the exploitability is {self.exploitability}"
        if (self.ended == "error") != (self.error is not None):
            yield "error", f"{self.error!r}, where it ended by {self.ended!r}"


def run_trial(
    trial: Trial, folder: Path, report: Callable[[TrialResult], object] | None = None
) -> TrialResult:
    """Train, from the trial's checkpoint if it has one, and return what came out.

    Files are written to `folder`, which all machines that take part must see. The same trial gives the same
    model wherever it runs and however often it was interrupted, if its budget is one of steps. `report` is
    called after every evaluation. An error that the training raises is a result, too.
    """
    path = folder / trial.file
    best, last = _left_off(path)
    # A resumed training keeps the hyperparameters that it began with.
    settings: dict[str, Any] = {"resume": True, "hyperparameters": {}} if last else {}

    def look(evaluation: Evaluation) -> None:
        nonlocal best, last
        last = evaluation
        if best is None or evaluation.mistakes < best.mistakes:  # as the training ranks them, too
            best = evaluation
        if report is not None:
            report(trial.result(best, last))

    try:
        replace(trial, out=path, **settings).run(look)
    except Exception as error:  # any that an algorithm raises at these hyperparameters
        return trial.result(best, last, "error", f"{type(error).__name__}: {error}")
    return trial.result(best, last, "goal" if last and last.reaches(trial.until) else "budget")


def _left_off(path: Path) -> tuple[Evaluation | None, Evaluation | None]:
    """The best and the last evaluation of an interrupted trial; None for one to be begun."""
    checkpoint = checkpoint_of(path)
    if not (path.is_file() and checkpoint.is_file()):
        return None, None
    try:
        progress = read_checkpoint(checkpoint).progress
    except PolicyFileError:  # it is of another version: the training begins anew
        return None, None
    return progress.best, progress.evaluation


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
