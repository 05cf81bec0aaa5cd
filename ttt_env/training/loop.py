"""Training anything that learns: one loop around all learners, with budgets, evaluations, files and logs.

A training is saved in one file, its checkpoint, from which it resumes as if it had never stopped. Loading a
checkpoint runs code, as loading any pickled object does: resume only trainings that you trust.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

from ttt_env.agent import NO_LIMIT, Agent, Budget, Learner, Log, learner_class
from ttt_env.analysis.certificate import blunders_everywhere
from ttt_env.errors import FileError, ParameterError, extra_for
from ttt_env.rules import (
    MAX_SEED,
    Between,
    Game,
    check_fields,
    get_game,
)
from ttt_env.storage import open_regular, reason, write_atomically
from ttt_env.training.evaluation import Evaluation, Report, Until, evaluate

_HEAD = b"ttt_env checkpoint 4\n"  # followed by the SHA-256 of the rest
_CHECKSUM = 32  # bytes


@dataclass
class TrainingProgress:
    """The progress of a training: seconds used, last and best evaluation, and the best agent.

    `n_passed` is the number of agents that had reached the goal when the best one was judged, with itself.
    """

    seconds: float = 0.0
    evaluation: Evaluation | None = None
    best: Evaluation | None = None
    n_passed: int = 0
    snapshot: Any = None

    def is_best(self, evaluation: Evaluation, n_passed: int, keeps_latest: bool = False) -> bool:
        """True if the evaluation becomes the best: by its criterion, and then by `n_passed`.

        Also in a tie if `keeps_latest`, and always if evaluations are sampled.
        """
        if self.best is None or evaluation.exploitability is None:
            return True
        rank, of_best = (*evaluation.criterion, -n_passed), (*self.best.criterion, -self.n_passed)
        return rank < of_best or (keeps_latest and rank == of_best)


@dataclass
class TrainingCheckpoint:
    """The task of a training, its progress, and the state of its learner."""

    algo: str
    game: Game
    seed: int
    hyperparameters: dict[str, Any]
    progress: TrainingProgress = field(default_factory=TrainingProgress)
    state: Any = None


def checkpoint_of(out: str | Path) -> Path:
    """The file of the checkpoint from which the training of the model file `out` resumes."""
    return Path(f"{out}.checkpoint")


def write_checkpoint(path: str | Path, checkpoint: TrainingCheckpoint) -> None:
    """Write all that is needed to resume a training."""
    try:
        import cloudpickle as pickler  # comes with Stable-Baselines3; opponents and starts may be functions
    except ImportError:
        pickler = pickle
    content: bytes = pickler.dumps(checkpoint)
    write_atomically(path, _HEAD + hashlib.sha256(content).digest() + content)


def read_checkpoint(path: str | Path) -> TrainingCheckpoint:
    """Read a checkpoint, after a checksum. This runs code: load only files that you trust.

    Raises `FileError` for a file that is not a complete checkpoint, or one of another version.
    """
    try:
        with open_regular(path) as file:
            head, checksum, content = file.read(len(_HEAD)), file.read(_CHECKSUM), file.read()
    except OSError as error:
        raise FileError(f"there is no checkpoint {path} to go on from: {reason(error)}") from error
    if head != _HEAD:
        raise FileError(f"{path} is not a checkpoint of a training of this version")
    if hashlib.sha256(content).digest() != checksum:
        raise FileError(f"{path} is not a whole checkpoint: it is damaged")
    try:
        checkpoint = pickle.loads(content)
        if not isinstance(checkpoint, TrainingCheckpoint):
            raise TypeError(f"it holds a {type(checkpoint).__name__}")
    except Exception as error:  # whatever the objects do while they are made
        raise of_another_version(path, error) from error
    return checkpoint


def of_another_version(path: str | Path, error: Exception) -> FileError:
    """The error of a checkpoint whose objects cannot be made here."""
    return FileError(
        f"{path} is a checkpoint of another version of this package or of what it uses: {reason(error)}"
    )


_PAUSE = 10.0  # seconds between two writings of the checkpoint, if the agent is not judged before


@dataclass(frozen=True)
class TrainingOptions:
    """The options of a training: what to train, how long, and where to write it (see `train`).

    Raises `ParameterError` for an unknown algorithm, and for budgets, seeds and goals that cannot be.
    """

    game: Game
    algo: str = "maskable-ppo"
    seed: Annotated[int, Between(0, MAX_SEED)] = 0
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    steps: Annotated[int, Between(1)] | None = None
    seconds: Annotated[float, Between(0, is_open=True)] | None = None
    until: Until = "unbeatable"
    out: Path | None = None
    resume: bool = False
    tensorboard: Path | None = None

    def __post_init__(self) -> None:
        owner = self.learner.name
        check_fields(owner, self)
        if self.resume and (self.out is None or self.hyperparameters):
            raise ParameterError(
                "to resume a run, name its file (out) and no opponents or hyperparameters: it keeps its own"
            )
        if self.until == "budget" and self.budget == NO_LIMIT:
            raise ParameterError(f"{owner} would never end: limit its steps or seconds, or set another goal")

    @property
    def learner(self) -> type[Learner]:
        """The class that learns."""
        return learner_class(self.algo)

    @property
    def budget(self) -> Budget:
        """The budget of the training; the learner's own default where neither steps nor seconds are given."""
        if self.steps is None and self.seconds is None:
            return self.learner.default_budget
        return Budget(self.steps or inf, self.seconds or inf)

    def begin(self, report: Report | None = None, checkpoint: Path | None = None) -> Training:
        """The training at its start, or resumed from this checkpoint. Raises as `train` does."""
        contents = TrainingCheckpoint(self.algo, self.game, self.seed, dict(self.hyperparameters))
        if checkpoint is not None:
            contents = read_checkpoint(checkpoint)
            if (contents.algo, contents.game) != (self.algo, self.game):
                raise FileError(
                    f"{checkpoint} is a training of {contents.algo} on {contents.game.name}, "
                    f"not of {self.algo} on {self.game.name}"
                )
        self.learner.check(self.game, contents.hyperparameters)
        learner = self.learner(self.game, contents.seed, **contents.hyperparameters)
        if checkpoint is not None:
            try:
                learner.restore(contents.state)
            except Exception as error:  # whatever the objects do while they are made
                raise of_another_version(checkpoint, error) from error
        return Training(learner, contents, until=self.until, out=self.out, report=report)

    def run(self, report: Report | None = None) -> Agent:
        """Train the agent and return it, as `train` does."""
        threads = one_thread() if self.learner.uses_torch else nullcontext()
        with threads:
            file = None if self.out is None else checkpoint_of(self.out)
            training = self.begin(report, file if self.resume else None)
            training.checkpoint = file
            log = training.learner.log(self.tensorboard, self.resume) or _tensorboard(self.tensorboard)
            with log as training.log:
                training.run(self.budget)
            return training.best_agent()


@contextmanager
def _tensorboard(folder: Path | None) -> Iterator[Log]:
    """A function that writes numbers to a TensorBoard log in the folder, if there is to be one."""
    if folder is None:
        yield lambda scalars, step: None
        return
    with extra_for("a log needs", "train"):
        from torch.utils.tensorboard import SummaryWriter
    with SummaryWriter(str(folder)) as writer:

        def write(scalars: Mapping[str, float], step: int) -> None:
            for name, value in scalars.items():
                writer.add_scalar(name, value, step)
            writer.flush()

        yield write


class Training:
    """A learner in training, which is evaluated, and saved whenever it is better than before.

    `contents` is the task of the training and its progress. The best agent is written to the file `out`, and
    all that is needed to resume to the file `checkpoint`; `report` is called after every evaluation.
    """

    def __init__(
        self,
        learner: Learner,
        contents: TrainingCheckpoint,
        *,
        until: Until,
        out: Path | None = None,
        checkpoint: Path | None = None,
        report: Report | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.learner, self.until, self.report = learner, until, report
        self.out, self._contents, self._clock = out, contents, clock
        self.checkpoint = checkpoint
        self.log: Log = lambda scalars, step: None
        self._begin, self._written = clock() - contents.progress.seconds - learner.uncounted, clock()
        if until == "optimal":
            self._count_blunders()

    @property
    def progress(self) -> TrainingProgress:
        """The progress so far, with the best agent found."""
        return self._contents.progress

    @property
    def is_done(self) -> bool:
        """True if the agent has reached the goal `until`."""
        evaluation = self.progress.evaluation
        return evaluation is not None and evaluation.reaches(self.until)

    @property
    def is_judged(self) -> bool:
        """True if the last evaluation is of the agent as it is now."""
        evaluation = self.progress.evaluation
        return evaluation is not None and evaluation.steps >= self.learner.steps

    def run(self, budget: Budget) -> None:
        """Train until the goal is reached or the budget, which counts earlier runs, is used up.

        If the file of the best agent of an earlier run is missing, it is written again.
        """
        if self.out is not None and self.progress.snapshot is not None and not self.out.exists():
            with self._as_best():
                self.learner.save(self.out)
        while True:
            remaining = Budget(budget.steps - self.learner.steps, budget.seconds - self.progress.seconds)
            is_used_up = min(remaining) <= 0
            if (is_used_up or self.learner.is_due) and not self.is_judged:
                self.look()
            elif is_used_up or self._clock() - self._written > _PAUSE:
                self.write()
            if is_used_up or self.is_done:
                return
            self.learner.advance(remaining)
            self.count_seconds()

    def count_seconds(self) -> float:
        """Update the seconds used so far in `progress`, and return them."""
        self.progress.seconds = self._clock() - self._begin - self.learner.uncounted
        return self.progress.seconds

    def look(self) -> None:
        """Evaluate the agents, keep each that is the best so far, and write the files.

        The last evaluation is of the first agent that does not reach the goal, if there is one.
        """
        self.count_seconds()
        evaluations = list(self._evaluated())
        last = self.progress.evaluation = evaluations[-1]
        self.learner.on_evaluation(last)
        self.log(self.learner.scalars() | last.scalars(), self.learner.steps)
        if self.report is not None:
            for evaluation in evaluations:
                self.report(evaluation)
        self.write()

    def _evaluated(self) -> Iterator[Evaluation]:
        """The evaluations of the candidate agents, up to the first that does not reach the goal."""
        goal: Until = "unbeatable" if self.until == "budget" else self.until
        learner, opponents, everywhere = self.learner, self.learner.opponents(), self.until == "optimal"
        for number, agent in enumerate(learner.candidates()):
            evaluation = evaluate(agent, opponents, learner.steps, self.progress.seconds, everywhere)
            has_passed = evaluation.reaches(goal)
            progress, n_passed = self.progress, number + has_passed
            if progress.is_best(evaluation, n_passed, learner.keeps_latest):
                progress.best, progress.n_passed, progress.snapshot = evaluation, n_passed, learner.snapshot()
                if self.out is not None:
                    learner.save(self.out)
            yield evaluation
            if not has_passed:
                return

    @contextmanager
    def _as_best(self) -> Iterator[Agent]:
        """A block in which the learner is the best agent so far; its own weights are restored afterwards."""
        now = self.learner.snapshot()
        yield self.learner.agent_of(self.progress.snapshot)
        self.learner.agent_of(now)

    def _count_blunders(self) -> None:
        """Count the blunders everywhere of the best agent of a training that had another goal."""
        best = self.progress.best
        if best is None or best.exploitability is None or best.everywhere is not None:
            return
        with self._as_best() as agent:
            everywhere = blunders_everywhere(agent, self.learner.game)
        self.progress.best, self.progress.n_passed = replace(best, everywhere=everywhere), 0

    def write(self) -> None:
        """Write the checkpoint, if there is to be one."""
        if self.checkpoint is not None:
            self._contents.state = self.learner.state()
            write_checkpoint(self.checkpoint, self._contents)
            self._written = self._clock()

    def best_agent(self) -> Agent:
        """The best agent so far."""
        return self.learner.agent_of(self.progress.snapshot)


def train(
    game: Game | str = "tictactoe-v0",
    algo: str = "maskable-ppo",
    *,
    steps: int | None = None,
    seconds: float | None = None,
    until: Until = "unbeatable",
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    tensorboard: str | Path | None = None,
    report: Report | None = None,
    **hyperparameters: Any,
) -> Agent:
    """Train an agent until it is certified unbeatable, or its budget ends.

    Args:
        game: The game, or its id.
        algo: A name of `ttt_env.agent.learner.learner_names()`: a recipe for an algorithm of
            Stable-Baselines3, such as "dqn", or an algorithm of this package, such as "q-learning".
        steps: The most steps: a step is a move of the agent, a game or an iteration, as the algorithm counts.
            The rollout, or the round of games, in which the last one falls is completed.
        seconds: The most seconds. Without `steps` and `seconds` the algorithm has its own budget.
        until: "unbeatable" to stop when `certify` says so, "optimal" when the agent blunders in no position
            of the game, "budget" never. A game that cannot be enumerated is trained to the end of the budget.
        seed: The seed of everything that is drawn.
        out: A file to which the agent is written whenever it is better than before; all that is needed to
            resume is written to `checkpoint_of(out)`.
        resume: True to resume from that file, with its seed, opponents and hyperparameters; budgets include
            what was used before.
        tensorboard: A folder for a log of TensorBoard.
        report: Called with every `Evaluation`.
        **hyperparameters: The learner's hyperparameters; for a recipe its algorithm's,
            `random_starts`, `blunder_starts`, `pool.NAME`, `envs.NAME`, and `opponents`, which replaces its
            scripted opponents.

    Returns:
        The best agent of the training; of a game that cannot be enumerated, the last one.

    Raises:
        ParameterError: The algorithm or a hyperparameter is unknown, or a value is invalid.
        FileError: There is nothing to resume, or it is a training of another game or algorithm.
        ImportError: The extra `train` is needed and not installed.

    Example:
        >>> from ttt_env import certify
        >>> certify(train("tictactoe-v0", "q-learning")).unbeatable
        True

    """
    options = TrainingOptions(
        get_game(game),
        algo,
        seed,
        hyperparameters,
        steps,
        seconds,
        until,
        None if out is None else Path(out),
        resume,
        None if tensorboard is None else Path(tensorboard),
    )
    return options.run(report)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: with networks this small, several only wait for each other."""
    with extra_for("training needs", "train"):
        import torch
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
