"""The interface of whatever learns to play, and the learners that are installed here, by name."""

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
    """Learns to play `game`, a stretch at a time; `ttt_env.train` is the loop around all learners.

    A subclass is constructed as `cls(game, seed, **hyperparameters)`: what the constructor takes by name are
    its hyperparameters. The same arguments give the same agent after as many steps, in however many
    stretches.
    """

    name: ClassVar[str]
    """The name under which the learner is installed."""

    plays_as: ClassVar[str]
    """The agent that plays from a file that `save` has written."""

    suffix: ClassVar[str] = "npz"
    """The ending of such a file."""

    about: ClassVar[str] = ""
    """A sentence on how it learns."""

    default_budget: ClassVar[Budget] = NO_LIMIT
    """The budget of a training for which none is given."""

    keeps_latest: ClassVar[bool] = False
    """True to keep the latest of equally good agents, which has learned longest; False to keep the first."""

    uses_torch: ClassVar[bool] = False
    """True if it needs PyTorch, from the extra `train`."""

    uncounted: float = 0.0
    """The seconds of `advance` that no budget counts: the time of compiling."""

    def __init__(self, game: Game, seed: int = 0) -> None:
        self.game, self.seed = game, seed

    @classmethod
    def check(cls, game: Game, hyperparameters: Mapping[str, Any]) -> None:
        """Raise what would keep a training from beginning, as far as that can be told without it.

        That is a `ParameterError` for a hyperparameter that the learner does not have, or a value that it
        cannot take, and an `ImportError` without the extra that it needs.
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
        """True if it is time to judge the agent."""
        return self.steps > 0

    @abstractmethod
    def advance(self, budget: Budget) -> None:
        """Learn until the agent is to be judged, the budget is used up, or some seconds have passed."""

    @abstractmethod
    def agent(self) -> Agent:
        """The agent as it plays now; it does not change as the learner goes on."""

    @abstractmethod
    def state(self) -> Any:
        """The state that `restore` needs to go on in another process; it can be pickled."""

    @abstractmethod
    def restore(self, state: Any) -> None:
        """Go on from the state of a learner that was constructed by the same arguments."""

    def candidates(self) -> Iterable[Agent]:
        """The agents by which the learner is judged: one after the other, as long as they reach the goal.

        While one of them is judged, it is the one that `agent`, `save` and `snapshot` are about.
        """
        return [self.agent()]

    def opponents(self) -> Mapping[str, Agent]:
        """The agents that an evaluation plays against."""
        return {}

    def on_evaluation(self, evaluation: Any) -> None:  # noqa: B027
        """Take note of an `Evaluation` of the agent as it is now."""

    def scalars(self) -> dict[str, float]:
        """The numbers that a log shows of the training, by name."""
        return {}

    def log(self, folder: Path | None, is_resumed: bool = False) -> AbstractContextManager[Log] | None:
        """The learner's own log in the folder, open in a `with` block; None if it has none."""
        return None

    def save(self, path: str | Path) -> None:
        """Write the agent as it plays now to a file, from which `plays_as` plays."""
        agent: Any = self.agent()
        agent.save(path)

    def snapshot(self) -> Any:
        """The state that `agent_of` needs to bring back the agent as it is now; it can be pickled."""
        return self.agent()

    def agent_of(self, snapshot: Any) -> Agent:
        """The agent as it was when `snapshot` returned this."""
        agent: Agent = snapshot
        return agent


def learner_names() -> list[str]:
    """The names under which learners are installed here, ours and other packages'.

    >>> {"dqn", "q-learning", "alphazero"} <= set(learner_names())
    True
    """
    return sorted(installed(LEARNER_GROUP))


def learner_class(name: str) -> type[Learner]:
    """The learner of this name. Raises `ParameterError` if there is none."""
    if name not in learner_names():
        raise ParameterError(unknown("algorithm", name, learner_names(), "ttt agents"))
    registered: type[Learner] = installed(LEARNER_GROUP)[name].load()
    return registered
