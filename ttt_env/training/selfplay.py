"""Self-play for any algorithm of Stable-Baselines3, watched by exact evaluation.

```python
envs = make_vec_env("tictactoe-v0", n_envs=64, start=StartDistribution("tictactoe-v0"))
PPO("MlpPolicy", envs).learn(1_000_000, callback=SelfPlayCallback())
```
"""

from __future__ import annotations

import io
import math
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ttt_env.agent import NO_LIMIT, Agent, Budget, Learner, Log
from ttt_env.agents.learned.sb3 import SB3
from ttt_env.analysis.layers import reachable
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.errors import ParameterError, brief, extra_for
from ttt_env.rules import (
    Between,
    checked,
    is_enumerable,
    is_tabulated,
)
from ttt_env.storage import write_atomically
from ttt_env.training.evaluation import Evaluation, Report, Until, costly_blunders
from ttt_env.training.loop import (
    Training,
    TrainingCheckpoint,
    TrainingProgress,
    of_another_version,
    read_checkpoint,
)
from ttt_env.training.pool import OpponentPool, StartDistribution

with extra_for("self-play needs", "train"):
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.utils import configure_logger
    from stable_baselines3.common.vec_env import VecEnvWrapper

_INTERVAL = 4096  # steps
_POSITIONS_PER_STEP = 512  # larger games are evaluated after as many steps as they have positions / 128
_INTERVAL_SAMPLED = 65_536
_MAX_STEPS = 2**62  # steps
_LOG_ATTRIBUTES = ("_custom_logger",)  # not to save: a loaded model does not have it
_MAX_NAME_LENGTH = 33  # letters of a figure's name; SB3 cuts longer ones, and fails where two become the same


class ModelLearner(Learner):
    """A model of Stable-Baselines3 that learns against a pool of opponents; its steps are moves of the model.

    Steps are counted over all calls of `learn`, even if the model counts each call from 0.

    An evaluation is due when a rollout begins, but not sooner than `every` steps after the last one (by
    default 4,096, more on games of more than 2,097,152 positions). The agent is the model's greedy policy,
    masked even if it was trained without masks. After each evaluation the model and the best response to it
    are added to the pool, the environments get the new pool, and `starts` the positions in which the model
    blunders, so that episodes begin there.

    Raises `ParameterError` for a model on other environments, or on normalised observations.
    """

    plays_as, suffix, uses_torch = "sb3", "zip", True

    def __init__(
        self,
        model: BaseAlgorithm,
        pool: OpponentPool,
        starts: StartDistribution | None = None,
        every: int | None = None,
        seed: int = 0,
    ) -> None:
        envs: Any = model.get_env()
        if not envs.has_attr("game"):
            raise ParameterError("SelfPlayCallback needs environments of ttt_env.envs.sb3.make_vec_env")
        normalized = model.get_vec_normalize_env()
        if normalized is not None and normalized.norm_obs:
            raise ParameterError("self-play needs raw observations: use VecNormalize(…, norm_obs=False)")
        super().__init__(envs.get_attr("game")[0], seed)
        self.model, self.pool, self.starts = model, pool, starts
        if every is None:
            every = _INTERVAL_SAMPLED
            if is_enumerable(self.game):
                every = max(_INTERVAL, sum(map(len, reachable(self.game))) // _POSITIONS_PER_STEP)
        self.every = every
        self._steps = model.num_timesteps
        self._frozen: tuple[int, Agent] | None = None
        self._judged_at: int | None = None
        pool.bind(self.game)

    @property
    def steps(self) -> int:  # noqa: D102
        return self._steps

    def count(self, steps: int) -> None:
        """Add steps of the model."""
        self._steps += steps

    @property
    def is_due(self) -> bool:  # noqa: D102
        if self._judged_at is None:
            return self.model._last_obs is not None  # the environments draw their first opponents before
        return self.steps >= self._judged_at + self.every

    def advance(self, budget: Budget = NO_LIMIT) -> None:  # noqa: D102
        callback, n_steps = _AdvanceCallback(self, budget.seconds), int(min(budget.steps, _MAX_STEPS))
        with suppress(_EvaluationDue):
            self.model.learn(n_steps, callback, reset_num_timesteps=False)

    def agent(self) -> Agent:
        """The greedy policy of the model as it is now: a table on small games, else a copy of the model."""
        if self._frozen is None or self._frozen[0] != self.steps:
            live = SB3.from_model(self.game, self.model)
            is_small = is_tabulated(self.game)
            self._frozen = self.steps, PolicyTable.of(live, positions="all") if is_small else live.copy()
        return self._frozen[1]

    def opponents(self) -> Mapping[str, Agent]:  # noqa: D102
        return self.pool.scripted

    def on_evaluation(self, evaluation: Evaluation) -> None:  # noqa: D102
        agent, self._judged_at = self.agent(), self.steps
        self.pool.add(agent, is_enumerable(self.game))
        self.update_opponents()
        if self.starts is not None and evaluation.blunders is not None:
            self.starts.set_blunders(evaluation.blunders, costly_blunders(agent, evaluation.blunders))

    def update_opponents(self) -> None:
        """Give the environments the agents of the pool, with their weights against the current agent."""
        envs: Any = self.model.get_env()
        envs.env_method("set_opponent", self.pool.agents, self.pool.weights(self.agent()))

    @contextmanager
    def log(self, folder: Path | None, is_resumed: bool = False) -> Iterator[Log]:  # noqa: D102
        if folder is not None:
            self.model.tensorboard_log = str(folder)
        logger = configure_logger(self.model.verbose, self.model.tensorboard_log, self.name, not is_resumed)
        self.model.set_logger(logger)
        try:
            yield self.record
        finally:
            logger.close()

    def record(self, scalars: Mapping[str, float], step: int) -> None:
        """Write numbers to the model's own log, at its current time step."""
        for name, value in scalars.items():
            is_printed = len(name.partition("/")[2]) <= _MAX_NAME_LENGTH
            self.model.logger.record(name, value, exclude=None if is_printed else ("stdout", "log"))
        self.model.logger.dump(self.model.num_timesteps)

    def save(self, path: str | Path) -> None:  # noqa: D102
        write_atomically(path, lambda file: self.model.save(file, exclude=_LOG_ATTRIBUTES))

    def snapshot(self) -> Any:
        """The weights of the model."""
        return deepcopy(self.model.policy.state_dict())

    def agent_of(self, snapshot: Any) -> SB3:
        """The agent of the model after loading these weights into it."""
        self.model.policy.load_state_dict(snapshot)
        return SB3.from_model(self.game, self.model)

    def state(self) -> dict[str, Any]:
        """The model, optimizer, replay buffer, environments in mid-game, pool, and random generators."""
        file = io.BytesIO()
        self.model.save(file, exclude=_LOG_ATTRIBUTES)
        return {
            "algorithm": type(self.model),
            "model": file.getvalue(),
            "replay_buffer": getattr(self.model, "replay_buffer", None),
            "envs": self.model.get_env(),
            "parts": {name: part for name, part in vars(self).items() if name not in ("model", "_frozen")},
            "random": (torch.get_rng_state(), np.random.get_state(), random.getstate()),
        }

    def restore(self, state: Any) -> None:
        """Resume from such a state; also sets the random generators of torch, NumPy and Python."""
        self.model = state["algorithm"].load(
            io.BytesIO(state["model"]), env=state["envs"], device="cpu", force_reset=False
        )
        if state["replay_buffer"] is not None:
            vars(self.model)["replay_buffer"] = state["replay_buffer"]
        vars(self).update(state["parts"], _frozen=None, uncounted=0.0)
        of_torch, of_numpy, of_python = state["random"]
        torch.set_rng_state(of_torch)
        np.random.set_state(of_numpy)
        random.setstate(of_python)


class _EvaluationDue(Exception):
    """Ends a call of `learn` at the start of a rollout, so that the next call resumes there."""


class _StepCounter(BaseCallback):
    """Counts the learner's steps, and measures the first step of the environments, which compiles them."""

    learner: ModelLearner

    def _on_rollout_start(self) -> None:
        self._first_step_begin = None if self.learner.uncounted else time.monotonic()

    def _on_step(self) -> bool:
        self.learner.count(self.training_env.num_envs)
        if self._first_step_begin is not None:
            self.learner.uncounted = time.monotonic() - self._first_step_begin
            self._first_step_begin = None
        return True


class _AdvanceCallback(_StepCounter):
    """Ends a call of `learn` when an evaluation is due, or after some seconds."""

    def __init__(self, learner: ModelLearner, seconds: float) -> None:
        super().__init__()
        self.learner, self._end = learner, time.monotonic() + seconds - learner.uncounted

    def _on_rollout_start(self) -> None:
        if self.learner.is_due:
            raise _EvaluationDue
        super()._on_rollout_start()

    def _on_step(self) -> bool:
        super()._on_step()
        return time.monotonic() - self.learner.uncounted < self._end


class SelfPlayCallback(_StepCounter):
    """A callback of Stable-Baselines3 that trains a model by self-play and evaluates it exactly.

    It is for `learn` of any algorithm on the vector environments of this package. Every few thousand steps
    (see `every`) and at the end of the training it evaluates the model, updates its opponents and writes its
    files, as `ttt_env.train` does. Evaluations go to the model's logger. Further calls of `learn` with the
    same callback continue with its pool, its steps and its evaluations.

    Args:
        pool: The opponents; by default an `OpponentPool()`.
        every: The fewest steps between two evaluations, which take place between rollouts; by default 4,096,
            more on games of more than 2,097,152 positions.
        until: The goal that ends the training: "unbeatable", when `certify` says so; "optimal", when the
            model blunders in no position of the game; "budget": none.
        seconds: The most seconds, without the first step of the environments, which compiles them.
        best: A file to which the model is written when it is less exploitable than ever before; always, if
            the game cannot be enumerated.
        checkpoint: A file to which all that `resumed` needs is written.
        report: Called with every `Evaluation`.
        starts: The distribution of starts of the environments, which is given the model's blunders.
        verbose: 1 to print a line when the model is less exploitable than ever before, 0 to print nothing.

    Raises:
        ParameterError: A value is invalid.

    Example:
        >>> from sb3_contrib import MaskablePPO
        >>> from ttt_env.envs.sb3 import make_vec_env
        >>> envs, callback = make_vec_env("tictactoe-v0", n_envs=8, seed=0), SelfPlayCallback(verbose=0)
        >>> model = MaskablePPO("MlpPolicy", envs, n_steps=8, seed=0).learn(64, callback=callback)
        >>> callback.is_done, callback.evaluation.steps
        (False, 64)

    """

    training: Training

    @checked
    def __init__(
        self,
        pool: OpponentPool | None = None,
        *,
        every: Annotated[int, Between(1)] | None = None,
        until: Until = "unbeatable",
        seconds: Annotated[float, Between(0, is_open=True)] = math.inf,
        best: str | Path | None = None,
        checkpoint: str | Path | None = None,
        report: Report | None = None,
        starts: StartDistribution | None = None,
        verbose: Annotated[int, Between(0)] = 1,
    ) -> None:
        super().__init__(verbose)
        self.until, self.seconds, self.every = until, seconds, every
        self.pool, self.starts = pool or OpponentPool(), starts
        self._files = [None if path is None else Path(path) for path in (best, checkpoint)]
        if best is not None and len(set(self._files)) == 1:
            raise ParameterError(f"best={brief(best)} of SelfPlayCallback: checkpoint is the same file")
        self._report, self.progress = report, TrainingProgress()

    @classmethod
    def resumed(cls, path: str | Path, **options: Any) -> tuple[BaseAlgorithm, SelfPlayCallback]:
        """Load the model and the callback of a checkpoint, for `learn(..., reset_num_timesteps=False)`.

        Loading the pickled objects of a checkpoint runs code: load only files that you trust.

        Args:
            path: The file.
            **options: The arguments of the constructor except `pool` and `starts`, which are in the
                checkpoint; by default, `every` is as in the checkpoint.

        Raises:
            FileError: The file is not a complete checkpoint.
            ParameterError: An option is invalid.

        """
        for name in ("pool", "starts"):
            if (value := options.get(name)) is not None:
                raise ParameterError(f"{name}={brief(value)} of resumed self-play: {path} has its own")
        callback = cls(**options)
        checkpoint = read_checkpoint(path)
        learner, callback.progress = ModelLearner.__new__(ModelLearner), checkpoint.progress
        try:
            learner.restore(checkpoint.state)
        except Exception as error:  # the objects may raise anything
            raise of_another_version(path, error) from error
        learner.every = callback.every = callback.every or learner.every
        callback.learner, callback.pool, callback.starts = learner, learner.pool, learner.starts
        return learner.model, callback

    @property
    def evaluation(self) -> Evaluation | None:
        """The last evaluation."""
        return self.progress.evaluation

    @property
    def is_done(self) -> bool:
        """True if the model has reached the goal `until`."""
        return self.evaluation is not None and self.evaluation.reaches(self.until)

    def restore_best(self, model: BaseAlgorithm) -> None:
        """Give the model the weights with which it was least exploitable."""
        if self.progress.snapshot is not None:
            model.policy.load_state_dict(self.progress.snapshot)

    def _init_callback(self) -> None:
        if getattr(self, "learner", None) is None or self.learner.model is not self.model:
            self.learner = ModelLearner(self.model, self.pool, self.starts, self.every)

    def _on_training_start(self) -> None:
        best, checkpoint = self._files
        if checkpoint is not None and isinstance(envs := self.model.get_env(), VecEnvWrapper):
            raise ParameterError(
                f"checkpoint={brief(str(checkpoint))} of self-play: it cannot save environments that are "
                f"wrapped in {type(envs).__name__}"
            )
        name = type(self.model).__name__
        self.training = Training(
            self.learner,
            TrainingCheckpoint(name, self.learner.game, 0, {}, self.progress),
            until=self.until,
            out=best,
            checkpoint=checkpoint,
            report=self._on_evaluation,
            clock=lambda: time.monotonic(),
        )
        self.training.log = self.learner.record

    def _on_evaluation(self, evaluation: Evaluation) -> None:
        if self.verbose and evaluation is self.progress.best:
            print(evaluation, flush=True)
        if self._report is not None:
            self._report(evaluation)

    def _on_rollout_start(self) -> None:
        if self.learner.is_due:
            self.training.look()
        super()._on_rollout_start()

    def _on_step(self) -> bool:
        super()._on_step()
        return self.training.count_seconds() < self.seconds and not self.is_done

    def _on_training_end(self) -> None:
        if not self.training.is_judged and not self.is_done:
            self.training.look()
