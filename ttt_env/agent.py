"""The interface that every way to play shares, and how agents are found by name."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import IllegalMoveError, ParameterError, PolicyError, UnknownAgentError, shown, unknown
from ttt_env.rules.boards import Boards
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.game import Game, Position, as_cell, random_position
from ttt_env.rules.specs import (
    Spec,
    as_value,
    check_names,
    convert,
    joined_path,
    key_of,
    parameters_of,
    read_items,
    split_items,
    split_spec,
    unwrapped,
)

if TYPE_CHECKING:
    from ttt_env.render.picture import Picture

Floats = NDArray[np.float64]
ENTRY_POINT_GROUP = "ttt_env.agents"
MODEL_GROUP = "ttt_env.models"
"""Entry points by the import name of a library: functions `(model, game) -> Agent` for its models."""
_PROBES = 200
_ROUNDING = 1e-6


class Agent(ABC):
    """Whatever has a policy on the positions of `game`.

    A subclass is constructed as `cls(game, **parameters)`; a spec string gives it its parameters.
    """

    takes_agent: ClassVar[bool] = False
    """Whether the first parameter is another agent: keywords of a spec string that this class does not
    have are then that agent's, as in `epsilon:softmax:temperature=0.2,epsilon=0.1`."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.game.name}>"

    @property
    def is_fixed(self) -> bool:
        """Whether `policy` depends on the position alone, so that results can be computed."""
        return True

    @property
    def seconds_per_move(self) -> float:
        """About how long the policy of one position takes to compute, in seconds; 0 if it is hardly any time.

        An agent that searches says so here. Who keeps people waiting, or is about to ask in every position of
        a game, looks at it first.
        """
        return 0.0

    @abstractmethod
    def policy(self, position: Position) -> Floats:
        """The move probabilities, `[cells]`: they sum to 1 and are 0 on taken cells.

        The position is one to be played; on a finished one the answer has no meaning.
        """

    def policies(self, boards: Boards) -> Floats:
        """The move probabilities of a batch, `[B, cells]`."""
        return np.stack([self.policy(position) for position in boards])

    def picture(self, position: Position, last: int | None = None) -> "Picture":
        """The board with the probability of each move on its cell, to look at in a notebook or to save."""
        return position.picture(None if position.is_over else self.policy(position).tolist(), last)

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        """A cell drawn from `policy`; takes one `rng.random()`."""
        return sample(self.policy(position), rng.random())


class Model(Protocol):
    """A trained model of another library, such as an algorithm of Stable-Baselines3."""

    def predict(self, *arguments: Any, **options: Any) -> Any:
        """What the model does where it sees this."""


AgentLike: TypeAlias = Agent | str | Callable[[Position], int] | Model


class BatchAgent(Agent):
    """An agent that is written for batches; a single position is a batch of one."""

    def policy(self, position: Position) -> Floats:  # noqa: D102
        chosen: Floats = self.policies(Boards.of([position]))[0]
        return chosen

    @abstractmethod
    def policies(self, boards: Boards) -> Floats:  # noqa: D102
        ...


class FunctionAgent(Agent):
    """Plays what a function `Position -> cell` says.

    `is_fixed` asks the function twice in some hundred positions: one that answers differently is
    random, and matches with it are sampled.
    """

    def __init__(self, game: Game, function: Callable[[Position], int]) -> None:
        super().__init__(game)
        self.function = function

    def __repr__(self) -> str:
        return f"<FunctionAgent {self.function!r} of {self.game.name}>"

    @cached_property
    def is_fixed(self) -> bool:  # noqa: D102
        rng = np.random.default_rng(0)
        probes = [random_position(self.game, rng) for _ in range(_PROBES)]
        return all(self.function(probe) == self.function(probe) for probe in probes)

    def policy(self, position: Position) -> Floats:  # noqa: D102
        chosen = np.zeros(self.game.n_cells)
        chosen[self._cell(position)] = 1.0
        return chosen

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        return self._cell(position)

    def _cell(self, position: Position) -> int:
        choice = self.function(position)
        try:
            cell = as_cell(choice, self.game)
            if position.legal_mask >> cell & 1:
                return cell
        except IllegalMoveError:
            pass
        raise IllegalMoveError(
            f"{self.function!r} plays {choice!r} in {position}; legal are {position.legal_cells}"
        )


def sample(policy: Floats, draw: float) -> int:
    """The cell at which the summed probabilities first exceed `draw`, a number in [0, 1).

    >>> sample(np.array([0.25, 0.0, 0.75]), 0.3)
    2
    """
    total, last = 0.0, -1
    for cell, probability in enumerate(policy.tolist()):
        if probability > 0.0:
            total += probability
            last = cell
            if draw < total:
                break
    return last  # rounding may leave the sum below the draw: the last possible cell then


def sample_each(policies: Floats, draws: Floats) -> NDArray[np.int64]:
    """`sample` for a batch: `[B, cells]` and `[B]` to cells, `[B]`."""
    totals = np.cumsum(policies, axis=1)
    cells = (totals <= draws[:, None]).sum(axis=1)
    last = policies.shape[1] - 1 - np.argmax(policies[:, ::-1] > 0, axis=1)
    chosen: NDArray[np.int64] = np.minimum(cells, last)
    return chosen


def checked_policies(agent: Agent, boards: Boards) -> Floats:
    """The agent's `policies`, `[B, cells]`. Raises `PolicyError` where they are no distributions."""
    policies = np.asarray(agent.policies(boards), dtype=np.float64)
    if policies.shape != boards.legal.shape:
        raise PolicyError(f"policies of {agent!r} have shape {policies.shape}, not {boards.legal.shape}")
    good = np.abs(policies.sum(axis=1) - 1) < _ROUNDING
    if not good.all() or not policies.min() >= 0 or policies[~boards.legal].any():
        good &= (np.where(boards.legal, policies, 0.0) == policies).all(axis=1) & (policies >= 0).all(axis=1)
        at = int(np.argmin(good))
        raise PolicyError(
            f"{agent!r} has no policy in {boards[at]}: {policies[at].round(6).tolist()} "
            "should sum to 1 over the free cells and be 0 elsewhere"
        )
    return policies


@lru_cache(maxsize=2)
def _registry(group: str = ENTRY_POINT_GROUP) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def agent_names() -> list[str]:
    """The names under which agents are installed here, ours and those of other packages."""
    return sorted(_registry())


def agent_class(name: str) -> type[Agent]:
    """The class registered under this name. Raises `UnknownAgentError` if there is none."""
    if name not in _registry():
        raise UnknownAgentError(unknown("agent", name, _registry()))
    loaded: type[Agent] = _registry()[name].load()
    return loaded


def make_agent(spec: AgentLike, game: Game | str = "tictactoe-v0") -> Agent:
    """The agent that `spec` names: a spec string, an `Agent`, a function `Position -> cell`, or a model.

    A spec string is `name`, `name:value` or `name:key=value,key=value`; a parameter that is true or false may
    be named alone. An agent that has parameters stands in round brackets inside of another where its commas
    could be the other's. A spec has at most 10,000 letters, and 32 colons and brackets inside of each other.

    A model of Stable-Baselines3 plays greedily, and only on free cells. It is asked as it is at the time: an
    agent made of a model that is trained further plays better later.

    Raises `UnknownAgentError` for a name that nobody registered, `ParameterError` for a parameter
    that the agent does not have or a value that it cannot take.
    """
    game = get_game(game)
    if isinstance(spec, str):
        return _from_spec(split_spec(spec), game)
    if isinstance(spec, Agent):
        if spec.game != game:
            raise UnknownAgentError(f"{spec!r} plays {spec.game.name}, not {game.name}")
        return spec
    if (of_model := _reader_of_model(spec)) is not None:
        return of_model(spec, game)
    if callable(spec) and not isinstance(spec, type):
        return FunctionAgent(game, spec)
    raise UnknownAgentError(f"an agent is a spec string, an Agent, a function or a model, not {shown(spec)}")


def _reader_of_model(thing: object) -> Callable[[object, Game], Agent] | None:
    """The function that makes agents of the models of the library whose class `thing` is, if there is one.

    The library itself is not imported, as whoever made the thing has done that.
    """
    for kind in type(thing).__mro__:
        point = _registry(MODEL_GROUP).get(kind.__module__.partition(".")[0])
        if point is not None:
            loaded: Callable[[object, Game], Agent] = point.load()
            return loaded
    return None


def _from_spec(spec: Spec, game: Game) -> Agent:
    build = agent_class(spec.name)
    allowed = parameters_of(build, skip=1)
    texts, others = read_items(spec, build.__init__, skip=2)
    value = _plain_value(build, spec.name, others, allowed)
    if value is not None:
        first = next(iter(allowed), None)
        if first is None or first in texts:
            raise ParameterError(unknown(f"parameter of {spec.name}", value, allowed))
        texts[first] = value
    missing = [p.name for p in allowed.values() if p.default is p.empty and p.name not in texts]
    if missing:
        raise ParameterError(f"{spec.name} needs {', '.join(missing)}: {spec.name}:{missing[0]}=…")
    return build(game, **convert(spec.name, build.__init__, texts))


def _plain_value(
    build: type[Agent], owner: str, items: list[str], allowed: Mapping[str, Parameter]
) -> str | None:
    """What the items that are no parameters say of the first parameter, which may be a path or an agent."""
    if next(iter(allowed), None) == "path":
        return joined_path(owner, items, allowed)
    plain = [item for item in items if key_of(item) is None]
    own = [item.strip() for item in items if key_of(item) is not None]
    if not build.takes_agent or not plain:
        check_names(owner, map(key_of, own), allowed)
        return as_value(plain)
    inner = unwrapped(",".join(plain).strip())
    colon = "," if len(split_items(inner, ":")) > 1 else ":"
    return f"{inner}{colon}{','.join(own)}" if own else inner
