"""Self-play for any algorithm of Stable-Baselines3, watched by exact evaluation.

```python
envs = make_vec_env("tictactoe-v0", n_envs=64, start=RandomStarts("tictactoe-v0"))
PPO("MlpPolicy", envs).learn(1_000_000, callback=SelfPlay())
```
"""

import math
import time
from copy import deepcopy
from pathlib import Path
from typing import Any, get_args

from ttt_env.agent import Agent
from ttt_env.agents.learned.sb3 import SB3
from ttt_env.analysis.layers import reachable
from ttt_env.errors import ParameterError
from ttt_env.rules.checks import one_of
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import is_enumerable, is_tabulated
from ttt_env.storage.files import write_atomically
from ttt_env.training.checkpoint import save_checkpoint
from ttt_env.training.evaluation import Evaluation, Report, Until, costly, evaluate
from ttt_env.training.frozen import Frozen, Remembered
from ttt_env.training.pool import OpponentPool
from ttt_env.training.starts import RandomStarts

try:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
except ImportError as error:
    raise ImportError('self-play needs the extra "train": pip install "ttt-env[train]"') from error

_EVERY = 4096  # steps
_POSITIONS_PER_STEP = 512  # larger games are evaluated after as many steps as they have positions / 128
_EVERY_SAMPLED = 65_536


class SelfPlay(BaseCallback):
    """Trains a model against a pool of opponents, and looks exactly at how strong it has become.

    For `learn` of any algorithm on the vector environments of this package. When a rollout begins, but
    not sooner than `every` steps after the last time (by default 4,096, more on games of more than 2,097,152
    positions), and when the training ends, it

    - evaluates the model's greedy policy, with masks whether or not it was trained with them, and logs
      `Evaluation.scalars`;
    - adds the model to the pool, and the best response to it, and hands the pool to the environments;
    - writes the model to the file `best` if it is less exploitable than ever (always, if the game cannot be
      enumerated);
    - tells `starts` in which positions the model gives value away, so that episodes begin there;
    - calls `report`;
    - writes all that is needed to go on to the file `checkpoint`; both files are replaced atomically.

    It ends the training when the model is certified unbeatable ("optimal": when it gives value away in no
    position of the game at all; "budget": never), and after `seconds`. The first step of the environments, in
    which they are compiled, does not count in these.
    """

    def __init__(
        self,
        pool: OpponentPool | None = None,
        *,
        every: int | None = None,
        until: Until = "unbeatable",
        seconds: float = math.inf,
        best: str | Path | None = None,
        checkpoint: str | Path | None = None,
        report: Report | None = None,
        starts: RandomStarts | None = None,
    ) -> None:
        super().__init__()
        self.pool, self.starts = pool or OpponentPool(), starts
        self.every = every
        self.evaluation: Evaluation | None = None
        self.best_evaluation: Evaluation | None = None
        self._best_weights: Any = None
        self._used = 0.0
        self.configure(until=until, seconds=seconds, best=best, checkpoint=checkpoint, report=report)

    def configure(
        self,
        *,
        until: Until,
        seconds: float,
        best: str | Path | None,
        checkpoint: str | Path | None,
        report: Report | None,
    ) -> None:
        """Set goal, budget and files of this run of the program; a resumed training may have others."""
        self.until: Until = one_of("until", until, get_args(Until))
        if not seconds > 0:
            raise ParameterError(f"seconds={seconds!r}: a number above 0 is needed")
        self.seconds, self.best, self.checkpoint, self.report = seconds, best, checkpoint, report

    def __getstate__(self) -> dict[str, Any]:
        """What a checkpoint keeps: all but the model and what belongs to one run of the program."""
        dropped = {"model", "locals", "globals", "report", "agent", "_begin", "_first_step_begin"}
        return {name: value for name, value in vars(self).items() if name not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, report=None)

    @property
    def is_done(self) -> bool:
        """Whether the model is as strong as `until` asks for."""
        return self.evaluation is not None and self.evaluation.reaches(self.until)

    def restore_best(self, model: BaseAlgorithm) -> None:
        """Give the model the weights with which it was least exploitable."""
        if self._best_weights is not None:
            model.policy.load_state_dict(self._best_weights)

    def _init_callback(self) -> None:
        if not self.training_env.has_attr("game"):
            raise ParameterError("SelfPlay needs environments of ttt_env.envs.sb3.make_vec_env")
        normalized = self.model.get_vec_normalize_env()
        if normalized is not None and normalized.norm_obs:
            raise ParameterError("SelfPlay needs observations as they are: VecNormalize(…, norm_obs=False)")
        game = self.training_env.get_attr("game")[0]
        self.agent = SB3.from_model(game, self.model)
        self.pool.bind(game)
        self.every = _pause(game) if self.every is None else self.every

    def _on_training_start(self) -> None:
        self._begin = time.monotonic() - self._used
        self._first_step_begin: float | None = None
        self._calls_before = self.n_calls

    def _on_rollout_start(self) -> None:
        assert self.every is not None
        if self.evaluation is None or self.model.num_timesteps >= self.evaluation.steps + self.every:
            self._look()
        if self.n_calls == self._calls_before:
            self._first_step_begin = time.monotonic()

    def _on_step(self) -> bool:
        if self._first_step_begin is not None:
            self._begin += time.monotonic() - self._first_step_begin
            self._first_step_begin = None
        self._used = time.monotonic() - self._begin
        return not self.is_done and self._used < self.seconds

    def _on_training_end(self) -> None:
        steps = self.evaluation.steps if self.evaluation else -1
        if self.model.num_timesteps > steps and not self.is_done:
            self._look()

    def _look(self) -> None:
        """Evaluate the model, renew the opponents, write the files."""
        game = self.agent.game
        learner = self._learner()
        self.evaluation = self._evaluated(learner)
        self._keep_if_best(self.evaluation)
        self.pool.add(learner, is_enumerable(game))
        self.training_env.env_method("set_opponent", self.pool.agents, self.pool.weights(learner))
        errors = self.evaluation.errors
        if self.starts is not None and errors is not None:
            self.starts.set_errors(errors, costly(learner, errors))
        if self.report is not None:
            self.report(self.evaluation)
        if self.checkpoint is not None:
            save_checkpoint(self.checkpoint, self.model, self)

    def _learner(self) -> Agent:
        """The greedy policy of the model, which stays as it is now, and is asked once in each position."""
        game = self.agent.game
        if is_tabulated(game):
            return Frozen(self.agent)
        copied = self.agent.copy()
        return Remembered(copied) if is_enumerable(game) else copied

    def _evaluated(self, learner: Agent) -> Evaluation:
        self._used = time.monotonic() - self._begin
        steps, everywhere = self.model.num_timesteps, self.until == "optimal"
        evaluation = evaluate(learner, self.pool.scripted, steps, self._used, everywhere)
        for name, value in evaluation.scalars().items():
            self.logger.record(name, value)
        self.logger.dump(steps)
        return evaluation

    def _keep_if_best(self, evaluation: Evaluation) -> None:
        is_sampled = evaluation.exploitability is None
        if is_sampled or self.best_evaluation is None or evaluation.mistakes < self.best_evaluation.mistakes:
            self.best_evaluation = evaluation
            self._best_weights = deepcopy(self.model.policy.state_dict())
            if self.best is not None:
                write_atomically(self.best, self.model.save)


def _pause(game: Game) -> int:
    """The number of steps between two evaluations."""
    if not is_enumerable(game):
        return _EVERY_SAMPLED
    return max(_EVERY, sum(map(len, reachable(game))) // _POSITIONS_PER_STEP)
