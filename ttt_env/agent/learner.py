"""The interface of learners, and the learners that are installed here, by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from inspect import Parameter
from math import inf
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

from ttt_env.agent.interface import Agent
from ttt_env.agent.registry import installed
from ttt_env.errors import ParameterError, unknown
from ttt_env.rules import Game, check_names, checked_value, declared

LEARNER_GROUP = "ttt_env.learners"
Log: TypeAlias = Callable[[Mapping[str, float], int], None]
"""Takes numbers by name, and the steps after which they were measured."""


class Budget(NamedTuple):
    """The steps and seconds that a learner may use; a step is a game, a move or an iteration."""

    steps: float = inf
    seconds: float = inf


NO_LIMIT = Budget()


class Learner(ABC):
    """Learns to play a game, one `advance` after another; `ttt_env.train` is the loop around all learners.

    A subclass is constructed as `cls(game, seed, **hyperparameters)`: the keyword-only parameters of its
    constructor are its hyperparameters. The same arguments give the same agent after the same number of
    steps, however they are divided among calls of `advance`.

    Args:
        game: The game.
        seed: The seed of all random numbers.

    """

    name: ClassVar[str]
    """The name under which the learner is installed."""

    plays_as: ClassVar[str]
    """The name of the agent that plays from a file that `save` has written."""

    suffix: ClassVar[str] = "npz"
    """The ending of such a file."""

    about: ClassVar[str] = ""
    """A sentence on how it learns."""

    default_budget: ClassVar[Budget] = NO_LIMIT
    """The budget of a training that does not give one."""

    keeps_latest: ClassVar[bool] = False
    """True to keep the latest of equally good agents, which has learned longest; False to keep the first."""

    uses_torch: ClassVar[bool] = False
    """True if it needs PyTorch, from the extra `train`."""

    uncounted: float = 0.0
    """The seconds of `advance` that do not count towards the budget: the time of compiling."""

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game, self.seed = game, seed

    @classmethod
    def check(cls, game: Game, hyperparameters: Mapping[str, Any]) -> None:
        """Raise the errors that would prevent a training, as far as they can be found without starting it.

        Args:
            game: The game.
            hyperparameters: The hyperparameters by name.

        Raises:
            ParameterError: The learner does not have this hyperparameter, or it cannot take this value.
            ImportError: The extra that the learner needs is not installed.

        """
        allowed = {name: each for name, each in declared(cls).items() if each.kind is Parameter.KEYWORD_ONLY}
        check_names(cls.name, hyperparameters, allowed, "hyperparameter")
        for name, value in hyperparameters.items():
            checked_value(cls.name, name, value, allowed[name].annotation)

    @classmethod
    def described(cls, game: Game, hyperparameters: Mapping[str, Any]) -> str:
        """A sentence on how it would learn this game."""
        return cls.about

    @property
    @abstractmethod
    def steps(self) -> int:
        """The steps made so far."""

    @property
    def is_due(self) -> bool:
        """True if the agent is due to be judged."""
        return self.steps > 0

    @abstractmethod
    def advance(self, budget: Budget) -> None:
        """Learn until the agent is due to be judged, the budget is used up, or some seconds have passed.

        Args:
            budget: The steps and seconds that may be used.

        """

    @abstractmethod
    def agent(self) -> Agent:
        """The agent as it plays now; it does not change as the learner continues."""

    @abstractmethod
    def state(self) -> Any:
        """The state that `restore` needs to continue in another process; it can be pickled."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Continue from a state.

        Args:
            state: What `state` returned, of a learner that was constructed with the same arguments.

        """

    def candidates(self) -> Iterable[Agent]:
        """The agents by which the learner is judged, one after the other as long as they reach the goal.

        While one of them is judged, `agent`, `save` and `snapshot` refer to it.
        """
        return [self.agent()]

    def opponents(self) -> Mapping[str, Agent]:
        """The agents that an evaluation plays against."""
        return {}

    def on_evaluation(self, evaluation: Any) -> None:  # noqa: B027
        """Use an `Evaluation` of the agent as it is now."""

    def scalars(self) -> dict[str, float]:
        """The numbers of the training for a log, by name."""
        return {}

    def log(self, folder: Path | None, is_resumed: bool = False) -> AbstractContextManager[Log] | None:
        """The learner's own log in the folder, open in a `with` block; None if it has none.

        Args:
            folder: The folder; None to write no files.
            is_resumed: Whether the log of an earlier run is continued.

        """
        return None

    def save(self, path: str | Path) -> None:
        """Write the agent as it plays now to a file, from which `plays_as` plays.

        Args:
            path: The path of the file.

        """
        agent: Any = self.agent()
        agent.save(path)

    def snapshot(self) -> Any:
        """The state from which `agent_of` can restore the agent as it is now; it can be pickled."""
        return self.agent()

    def agent_of(self, snapshot: Any) -> Agent:
        """The agent as it was when `snapshot` returned this.

        Args:
            snapshot: What `snapshot` returned.

        """
        agent: Agent = snapshot
        return agent


def learner_names() -> list[str]:
    """The names under which learners are installed here, by this package and others.

    >>> {"dqn", "q-learning", "alphazero"} <= set(learner_names())
    True
    """
    return sorted(installed(LEARNER_GROUP))


def learner_class(name: str) -> type[Learner]:
    """The learner of this name. Raises `ParameterError` if there is none."""
    if name not in learner_names():
        raise ParameterError(unknown("algorithm", name, learner_names()))
    registered: type[Learner] = installed(LEARNER_GROUP)[name].load()
    return registered
