"""Sweeps: many trainings over algorithms, seeds and hyperparameters, compared by exact exploitability.

A sweep is a folder: the models, and `results.jsonl`, a line for each trial that has ended. The same sweep
called again goes on where it was left, however it ended.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import isinf
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias, get_args

import numpy as np

from ttt_env import rules
from ttt_env.agent import Agent, learner_class
from ttt_env.errors import ParameterError, PolicyFileError, shown
from ttt_env.render.table import Column, Table
from ttt_env.rules import MAX_SEED, Game, check_enumerable, get_game
from ttt_env.rules.sizes import TRIALS
from ttt_env.storage import LineFile, reason
from ttt_env.training.evaluation import Until
from ttt_env.training.loop import checkpoint_of
from ttt_env.training.trial import Trial, TrialResult, run_trial, tune_trials
from ttt_env.workers import Backend, Workers, ray_cluster

SweepProgress: TypeAlias = Callable[[TrialResult | None, int, int], object]


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep's trials, in the order in which the sweep lists them."""

    game: Game
    folder: Path
    trials: tuple[TrialResult, ...]

    @property
    def best(self) -> TrialResult:
        """The trial of the least exploitable model; of several the one that was done after the fewest steps.

        Raises `PolicyFileError` if no trial has a model.
        """
        trained = [trial for trial in self.trials if trial.model is not None]
        if not trained:
            errors = {trial.error for trial in self.trials if trial.error}
            raise PolicyFileError(f"no trial of {self.folder} has a model: {'; '.join(sorted(errors))}")
        return min(trained, key=lambda trial: (*trial.mistakes, trial.steps))

    def agent(self) -> Agent:
        """The best model as an agent, from its file: `ttt_env.certify` proves its strength."""
        return self.best.agent(self.folder, self.game)

    def __str__(self) -> str:
        return str(self.to_table())

    def to_table(self) -> Table:
        """Algorithms and hyperparameters over their seeds: medians, and the worst exploitability."""
        groups: dict[tuple[str, str], list[TrialResult]] = {}
        for trial in self.trials:
            settings = ", ".join(f"{name}={value}" for name, value in trial.hyperparameters.items())
            groups.setdefault((trial.algorithm, settings), []).append(trial)
        trials = list(groups.values())
        known = [
            [each.exploitability for each in group if each.exploitability is not None] for group in trials
        ]
        return Table(
            (
                Column("algorithm", [algorithm for algorithm, _ in groups], is_left=True),
                Column("hyperparameters", [settings for _, settings in groups], is_left=True),
                Column("trials", [len(group) for group in trials]),
                Column("unbeatable", [sum(each.unbeatable for each in group) for group in trials]),
                Column("steps", [median(each.steps for each in group) for group in trials], "{:,.0f}".format),
                Column(
                    "exploitability",
                    [median(each) if each else None for each in known],
                    "{:.4f}".format,
                    missing="?",
                ),
                Column("to", [max(each, default=None) for each in known], "{:.4f}".format, missing="?"),
            ),
            notes=[f"{trial.trial}: {trial.error}" for trial in self.trials if trial.ended == "error"],
        )


def sweep(
    game: Game | str = "tictactoe-v0",
    algos: str | Sequence[str] = "maskable-ppo",
    *,
    out: str | Path,
    seeds: Iterable[int] = range(5),
    search: Mapping[str, Any] | None = None,
    samples: int = 1,
    steps: int | None = None,
    seconds: float | None = None,
    until: Until = "unbeatable",
    asha: bool = False,
    workers: int | None = None,
    backend: Backend = "loky",
    address: str | None = None,
    rng: np.random.Generator | int = 0,
    report: SweepProgress | None = None,
) -> Sweep:
    """Train every algorithm from every seed with every choice of hyperparameters.

    `search` maps names of hyperparameters to lists of values, all of whose combinations are tried, or to
    distributions of `ray.tune`, from which `samples` combinations are drawn by `rng`. The names are those
    that the learners take; `steps`, `seconds` and `until` are as in `train`, for each trial; `steps` alone
    give the same models on every machine, in any order. Models are compared by their exact exploitability.

    `out` is the folder of models and results. A trial whose result it holds is not run again, and one
    that was interrupted goes on from its checkpoint; one that raised an error is tried again. `report` is
    called with every result, the number of trials that have ended, and that of all; with None for a result
    when the work begins.

    `workers` processes of this machine share the work; None or 1 is this process alone. With the backend
    "ray", Ray Tune runs the trials, by default one on each core of the cluster at `address` (None: a Ray of
    this machine that is begun and ended here), whose machines must all see `out`; a trial whose machine dies
    goes on elsewhere from its checkpoint. `asha` then stops trials after 1/16 and 1/4 of their budget unless
    they are among the best quarter of those that came so far (Li et al., "A system for massively parallel
    hyperparameter tuning", 2020).

    Raises, before any training begins, `ParameterError` for unknown algorithms and hyperparameters, and for
    other arguments that are not allowed, `GameTooLargeError` for a game that cannot be enumerated,
    `ResultFileError` if `out` holds other results or another sweep writes to it, and `ImportError` if an
    extra is missing.

    >>> import tempfile
    >>> from ttt_env import certify
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sweep("tictactoe-v0", "q-learning", out=folder, seeds=range(2))
    ...     print(certify(found.agent()).unbeatable)
    True
    >>> found.best.unbeatable, found.best.steps
    (True, 2500)
    """
    trials = _trials(get_game(game), algos, seeds, _choices(search, samples, rng), steps, seconds, until)
    rules.one_of("backend", backend, get_args(Backend))
    rules.as_callback("report", report, "a sweep")
    if rules.as_bool("asha", asha, "a sweep"):
        if backend != "ray":
            raise ParameterError('asha=True is done by Ray Tune: backend="ray" is needed (--ray)')
        if any(trial.steps is None and trial.seconds is None for trial in trials):
            raise ParameterError(
                "asha=True stops trials after parts of their budget: steps= or seconds= is needed"
            )
    if workers is not None:
        rules.as_integer("workers", workers, "a sweep", 1)
    folder = rules.as_path("out", out, "a sweep")
    _check_folder(folder)
    names = {trial.name for trial in trials}
    with ExitStack() as stack:
        file = LineFile(folder / "results.jsonl", "ttt_env trial", "holds no results of a sweep")
        stack.enter_context(file)
        results = {result.trial: result for result in file.read(TrialResult.from_dict)}  # the last one counts
        ended = {
            name: result
            for name, result in results.items()
            if result.is_whole or (asha and result.ended == "asha")
        }
        left = [trial for trial in trials if trial.name not in ended]

        def keep(trial: Trial, result: TrialResult) -> None:
            file.add(result.to_dict(), is_synced=True)
            ended[trial.name] = result
            if result.is_whole:
                checkpoint_of(folder / trial.file).unlink(missing_ok=True)
            if report is not None:
                report(result, len(ended.keys() & names), len(trials))

        if left and backend == "ray":
            stack.enter_context(ray_cluster(address, workers))
        if report is not None:
            report(None, len(trials) - len(left), len(trials))
        _run(left, folder, keep, asha, workers, backend)
    return Sweep(trials[0].game, folder, tuple(ended[trial.name] for trial in trials))


def _run(
    trials: Sequence[Trial],
    folder: Path,
    keep: Callable[[Trial, TrialResult], None],
    asha: bool,
    workers: int | None,
    backend: Backend,
) -> None:
    if trials and backend == "ray":
        tune_trials(trials, folder, keep, asha=asha, workers=workers)
        return
    with Workers(workers) as pool:
        tasks = [(trial,) for trial in trials]
        train = partial(run_trial, folder=folder)
        for number, result in pool.completed(train, tasks, named=lambda trial: f"the trial {trial.name}"):
            keep(trials[number], result)


def _trials(
    game: Game,
    algos: str | Sequence[str],
    seeds: Iterable[int],
    choices: Sequence[Mapping[str, Any]],
    steps: int | None,
    seconds: float | None,
    until: Until,
) -> list[Trial]:
    """All trials, checked: algorithm by algorithm, choice by choice, seed by seed."""
    check_enumerable(game, "for a sweep, which compares by exact exploitability")
    if seconds is not None:
        seconds = rules.as_positive("seconds", seconds, "a sweep")  # a file of results holds finite ones
    if steps is not None:
        steps = rules.as_integer("steps", steps, "a sweep", 1)
    names = [algos] if isinstance(algos, str) else rules.items_of(algos, TRIALS)
    if names is None:
        raise ParameterError(
            f"algos={shown(algos)} of a sweep: a name of an algorithm, or several, is needed"
        )
    learners = [learner_class(algo) for algo in names]
    numbers = _checked_seeds(seeds)
    for kind, given in (("algorithm", names), ("seed", numbers)):
        if not given or len(set(given)) < len(given):
            raise ParameterError(f"{kind}s={shown(given)}: one or more are needed, none of them twice")
    if len(names) * len(choices) * len(numbers) > TRIALS:
        raise ParameterError(f"more than {TRIALS:,} trials: take fewer seeds or hyperparameters at a time")
    trials = []
    for (algo, learner), choice in product(zip(names, learners, strict=True), choices):
        usual = learner.default_budget.seconds
        budget = seconds if seconds or steps or isinf(usual) else usual
        seeded = [Trial(game, algo, seed, choice, steps, budget, until) for seed in numbers]
        learner.check(game, choice)
        trials += seeded
    return trials


def _checked_seeds(seeds: Iterable[int]) -> list[int]:
    """The seeds as integers, at most one more than a sweep may have."""
    if not isinstance(seeds, Iterable):
        raise ParameterError(f"seeds={shown(seeds)}: integers are needed, as in range(5) or [0, 3, 7]")
    numbers = []
    for seed in seeds:
        numbers.append(rules.as_integer("seed", seed, "a sweep", 0, MAX_SEED))
        if len(numbers) > TRIALS:
            raise ParameterError(f"more than {TRIALS:,} seeds: take fewer at a time")
    return numbers


def _choices(
    search: Mapping[str, Any] | None, samples: int, rng: np.random.Generator | int
) -> list[dict[str, Any]]:
    """The combinations of hyperparameters, plain values that JSON can hold; what is drawn twice is one."""
    search = {} if search is None else search
    if not isinstance(search, Mapping) or not all(isinstance(name, str) for name in search):
        raise ParameterError(
            f"search={shown(search)} of a sweep: a dict from names of hyperparameters to values is needed"
        )
    lists = {name: values for name, values in search.items() if not hasattr(values, "sample")}
    distributions = {name: values for name, values in search.items() if hasattr(values, "sample")}
    for name, values in lists.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ParameterError(
                f"{name}={shown(values)} of a sweep: a list of values or a distribution of ray.tune is needed"
            )
    samples = rules.as_integer("samples", samples, "a sweep", 1)
    generator = rules.as_generator(rng)
    drawn = [
        {name: values.sample(random_state=generator) for name, values in distributions.items()}
        for _ in range(samples if distributions else 1)
    ]
    combined = [
        {**dict(zip(lists, values, strict=True)), **draw}
        for draw in drawn
        for values in product(*lists.values())
    ]
    plain = [{name: _plain(name, choice[name]) for name in search} for choice in combined]
    distinct = {json.dumps(choice, sort_keys=True): choice for choice in plain}
    if not distributions and len(distinct) < len(plain):
        raise ParameterError(f"search={shown(search)} of a sweep: a value is given twice")
    return list(distinct.values())


def _plain(name: str, value: Any) -> Any:
    """The value as JSON holds it, so that it is the same in a file of results."""
    try:
        return json.loads(
            json.dumps(value.item() if isinstance(value, np.generic) else value, allow_nan=False)
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise ParameterError(
            f"{name}={shown(value)} of a sweep: numbers, texts, truth values, lists and tables are allowed"
        ) from error


def _check_folder(folder: Path) -> None:
    """Make the folder of a sweep. Raises `ParameterError` if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{folder} cannot be the folder of a sweep: {reason(error)}") from error
    if not os.access(folder, os.W_OK):
        raise ParameterError(f"{folder} cannot be the folder of a sweep: nothing may be written there")
