"""The interface that every way to play shares."""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self, TypeAlias, cast

import numpy as np

from ttt_env.agent.explanation import CellNumbers, Explanation
from ttt_env.agent.policies import Floats, chances, checked_answer, checked_cell, drawn, generator_of
from ttt_env.agent.registry import name_of
from ttt_env.errors import IllegalMoveError, PolicyError
from ttt_env.rules import Boards, Game, Position, check_game, get_game

if TYPE_CHECKING:
    from ttt_env.render.svg import Picture

MOVES = ("policy", "policies", "choose")
"""The methods of which a class overrides one to say how it plays; the first that it overrides counts."""

Effort = Literal["little", "sweep", "table", "searches"]
"""The cost of constructing an agent for a game: hardly anything; a sweep over all positions, which takes
seconds if there are millions of them; a policy for each of them as well, which takes far more memory; or a
search by another agent in each of them."""

_Choose: TypeAlias = Callable[[Position, np.random.Generator], object]

EFFORTS: tuple[Effort, ...] = ("little", "sweep", "table", "searches")  # the least first


class Agent:
    """An agent: a policy on the positions of `game`.

    A subclass is constructed as `cls(game, **parameters)` from a game or its id; a spec string gives it its
    parameters. It overrides `policy`, `policies` or `choose`, whichever is natural: the others follow from
    it, whatever its ancestors defined. Raises `PolicyError` if it overrides none of them, and as `get_game`
    does.

    >>> class Last(Agent):
    ...     is_fixed = True  # the position alone decides
    ...     def choose(self, position, rng):
    ...         return position.legal_cells[-1]
    >>> from ttt_env import get_game, match
    >>> match(Last(get_game("tictactoe-v0")), "random").exact
    True
    """

    takes_agent: ClassVar[bool] = False
    """True if the first parameter is another agent. Keywords of a spec string that this class does not
    take are then passed on to that agent, as in `epsilon:softmax:temperature=0.2,epsilon=0.1`."""

    plays_by: ClassVar[str] = ""
    """The method that the class overrides to say how it plays, and is asked by: `policy`, `policies` or
    `choose`, the first of these if it overrides several; empty if none."""

    _choice_follows: ClassVar[bool] = True  # `choose` follows from the policy
    _was_declared: ClassVar[bool]  # `is_fixed`, by an ancestor, before this class overrode how it moves
    _methods: ClassVar[list[object]] = []  # `_methods_of` the class when it was completed
    _completed: ClassVar[list[str]]  # those that it overrode itself

    asks_others: ClassVar[bool] = False
    """True if its answers come from code outside this package, such as a network that it was given."""

    may_forfeit: ClassVar[bool] = False
    """True of the answers that analyses keep of other agents (`RecordedAgent`): in a batch the policy is 0 on
    all cells where the other agent named no free cell, and so lost. Elsewhere such a policy is an error."""

    is_symmetric: ClassVar[bool] = False
    """True if its moves in positions that an automorphism of the game maps to each other lead to positions
    that one maps to each other, so that `worst_case` need ask it in only one of them."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        _complete(cls)

    def __new__(cls, *arguments: Any, **parameters: Any) -> Self:
        """An agent of this class, to which decorators may have added methods since it was defined."""
        for kind in reversed(cls.__mro__):
            if issubclass(kind, Agent) and kind is not Agent and kind._methods != _methods_of(kind):
                _complete(kind)
        return super().__new__(cls)

    def __init__(self, game: Game | str) -> None:
        if not self.plays_by:
            raise PolicyError(f"{type(self).__name__} says nowhere how it plays: override policy or choose")
        self.game = get_game(game)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.game.name}>"

    @property
    def is_fixed(self) -> bool:
        """True if the agent declares that its policy depends on the position alone.

        Results computed for such an agent are exact. Other agents are sampled, or asked once in each position
        and judged by these answers. A class declares it by `is_fixed = True`. The declaration is about the
        class's own moves: a subclass that overrides how it moves has to declare it again.
        """
        return False

    @property
    def completes_sets(self) -> bool:
        """True if it completes a set wherever it can, and so wins: `worst_case` need not ask it there."""
        return False

    @property
    def parts(self) -> Sequence["Agent"]:
        """The agents that it asks for its moves; none by default."""
        return ()

    @classmethod
    def effort(cls, game: Game, **parameters: Any) -> Effort:
        """The cost of constructing the agent with these parameters: a declaration; computes nothing.

        Raises the constructor's error if the agent does not play the game. By default an agent plays every
        game, and costs little; an agent that does not, or that looks at all positions, says so here.
        """
        return "little"

    @property
    def seconds_per_move(self) -> float:
        """About how long the policy of one position takes to compute, in seconds; 0 if it is hardly any time.

        An agent that searches gives its time here, others take as long as their `parts`. Callers look at it
        before they let a person wait, or ask in every position of a game.
        """
        return sum((part.seconds_per_move for part in self.parts), 0.0)

    def policy(self, position: Position) -> Floats:
        """The move probabilities, `[cells]`: they sum to 1 and are 0 on taken cells.

        The game must still go on in the position; on a finished one the answer has no meaning. For a class
        that overrides only `choose`, the cell that this returns has probability 1, and the random numbers
        that it gets depend on the position alone.
        """
        kind = _explicit(type(self), "policies")
        by = "choose" if kind is None else "policies"
        return _policy_by(self, kind or _explicit(type(self), by) or type(self), by, position)

    def _cell_of_policy(self, position: Position, choose: _Choose) -> int:
        """The cell that has probability 1 in `policy` of a class that overrides only `choose`."""
        return checked_cell(self, position, choose(position, generator_of(position)))

    def policies(self, boards: Boards) -> Floats:
        """The move probabilities of a batch, `[B, cells]`."""
        return _policies_by_policy(self, _explicit(type(self), "policy") or type(self), boards)

    def picture(self, position: Position, last: int | None = None) -> "Picture":
        """The board with the probability of each move on its cell, to look at in a notebook or to save."""
        return position.picture(None if position.is_over else self.policy(position).tolist(), last)

    def explain(self, position: Position) -> Explanation:
        """Explain the agent's move in the position: its figures for each cell, and the reason that decides.

        Every agent has at least its policy to show. One that has reasons overrides `_explained`.

        >>> from ttt_env import make_agent
        >>> print(make_agent("win-block").explain(Position.parse("XX./OO./...")).reason)
        The rule win fires: cell 2 completes a winning set of X.

        Raises `IllegalMoveError` if the game is over, `ImpossiblePositionError` for a position of another
        game.
        """
        position = check_game(position, self.game)
        if position.is_over:
            raise IllegalMoveError(f"there is no move to explain: the game {position} is over")
        return self._explained(position)

    def _explained(self, position: Position) -> Explanation:
        """`explain` in a position of this game that is not over."""
        return self._why(position, f"{name_of(self)} says which cells it plays, and no more.")

    def _why(self, position: Position, reason: str, *numbers: CellNumbers, **more: Any) -> Explanation:
        """The explanation with the agent's own policy in the position; `more` are fields of `Explanation`."""
        return Explanation(position, chances(self, position), reason, numbers, **more)

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        """A cell drawn from `policy`; takes one `rng.random()`.

        Raises `PolicyError` where `policy` is no distribution over the free cells.
        """
        kind: type = type(self)
        if self.plays_by == "choose":  # which asks for the choice of the classes above
            kind = _explicit(kind, "policy") or _explicit(kind, "policies") or kind
        return drawn(self, position, _bound(self, kind, "policy")(position), rng.random())

    def check_asked(self) -> None:
        """Called when no question follows for now, at the end of an analysis or of games; asks the `parts`.

        Raises `UntrustedAnswersError` if the player turns out to have said more than it was asked for.
        """
        for part in self.parts:
            part.check_asked()


# --- The methods that follow from the one that a class overrides ------------------------------------------

# Each class that overrides one has its own, so that `super()` in a subclass means the moves of this class.


def _following(method: str, kind: type[Agent], by: str) -> FunctionType:
    """The method of this class that follows from `by`, which it overrides."""

    def policy(self: Agent, position: Position) -> Floats:
        return _policy_by(self, kind, by, position)

    def policies(self: Agent, boards: Boards) -> Floats:
        return _policies_by_policy(self, kind, boards)

    def choose(self: Agent, position: Position, rng: np.random.Generator) -> int:
        # A class that overrides both, and calls by `super()`, means the policy that it has itself.
        own = kind if self._choice_follows or self.plays_by == "choose" else type(self)
        return drawn(self, position, _bound(self, own, "policy")(position), rng.random())

    functions = {"policy": policy, "policies": policies, "choose": choose}
    function = cast(FunctionType, functions[method])
    function.__doc__ = vars(Agent)[method].__doc__
    return function


_CODES = frozenset(_following(method, Agent, "").__code__ for method in MOVES)


def _is_following(function: object, owner: type) -> bool:
    """True if this is one of these functions, made for this class; others may bear its name."""
    if not isinstance(function, FunctionType) or function.__code__ not in _CODES:
        return False
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return any(name == "kind" and cell.cell_contents is owner for name, cell in cells)


def _explicit(kind: type[Agent], method: str) -> type | None:
    """The first class in the order of `super()` that overrides a method itself; None if there is none."""
    for owner in kind.__mro__[: kind.__mro__.index(Agent)]:
        if method in vars(owner) and not _is_following(vars(owner)[method], owner):
            return None if vars(owner)[method] is vars(Agent)[method] else owner
    return None


def is_default(kind: type[Agent], method: str) -> bool:
    """True if no class says by this method how agents of this kind play: it follows from another one."""
    owner = next(each for each in kind.__mro__ if method in vars(each))
    return vars(owner)[method] is vars(Agent)[method] or _is_following(vars(owner)[method], owner)


def _complete(kind: type[Agent]) -> None:
    """Make those of `MOVES` that this class does not override follow from the one that it does.

    Called again if methods were put into the class or taken out of it.
    """
    _forget(kind)
    above = kind.__mro__[: kind.__mro__.index(Agent)]
    overridden = [_overridden(each) for each in above]
    definer = next((index for index, names in enumerate(overridden) if names), None)
    if definer is not None:
        names, source = overridden[definer], above[definer]
        kind.plays_by, kind._choice_follows = names[0], "choose" not in names
        for name in MOVES:
            owner = next(each for each in kind.__mro__ if name in vars(each))
            if name in names:
                if owner is not source:  # another class comes first, whose own follows from something else
                    setattr(kind, name, vars(source)[name])
            elif owner is not source or not _is_following(vars(owner)[name], owner):
                setattr(kind, name, _following(name, kind, names[0]))
        if vars(kind).get("_completed") != overridden[0]:
            _declare(kind, above, definer)
    kind._completed = _overridden(kind)
    kind._methods = _methods_of(kind)


def _forget(kind: type[Agent]) -> None:
    """Undo what `_complete` has put into this class."""
    for name in MOVES:
        if _is_following(vars(kind).get(name), kind):
            delattr(kind, name)


def _declare(kind: type[Agent], above: Sequence[type], definer: int) -> None:
    """Take back what an ancestor declares of its own moves, if this class overrides them."""
    if "_was_declared" in vars(kind):
        del kind.is_fixed, kind._was_declared
    if next((at for at, each in enumerate(above) if "is_fixed" in vars(each)), len(above)) > definer:
        kind.is_fixed, kind._was_declared = False, True  # type: ignore[method-assign, assignment]


def _overridden(kind: type) -> list[str]:
    """The methods of `MOVES` by which this class itself says how it plays."""
    own = [name for name in MOVES if vars(kind).get(name, vars(Agent)[name]) is not vars(Agent)[name]]
    return [name for name in own if not _is_following(vars(kind)[name], kind)]


def _methods_of(kind: type) -> list[object]:
    """The ways to play that are in this class itself, by which a change of it is noticed."""
    return [vars(kind).get(name) for name in MOVES]


def _bound(agent: Agent, kind: type, method: str) -> Callable[..., Any]:
    """The method of this class, or of one above, for an agent: as `super()` gives it."""
    if kind is type(agent):
        return cast(Callable[..., Any], getattr(agent, method))
    function = next(vars(each)[method] for each in kind.__mro__ if method in vars(each))
    bind = getattr(type(function), "__get__", None)
    return cast(Callable[..., Any], function if bind is None else bind(function, agent, type(agent)))


def _policy_by(agent: Agent, kind: type, by: str, position: Position) -> Floats:
    """The policy of an agent as `policies` or `choose` of this class say."""
    try:
        if by == "policies":
            single: Floats = _bound(agent, kind, by)(Boards.of([position]))[0]
            return single
        policy = np.zeros(agent.game.n_cells)
        policy[agent._cell_of_policy(position, _bound(agent, kind, "choose"))] = 1.0
    except RecursionError as error:
        raise PolicyError(
            f"{by} of {agent!r} asks for its own policy, which follows from {by}: super().policy is that of "
            "the class above"
        ) from error
    return policy


def _policies_by_policy(agent: Agent, kind: type, boards: Boards) -> Floats:
    """The policies of a batch, `[B, cells]`, as `policy` of this class says."""
    policy = _bound(agent, kind, "policy")
    rows = [checked_answer(agent, position, policy(position)) for position in boards]
    return np.array(rows, np.float64).reshape(len(boards), agent.game.n_cells)


class Model(Protocol):
    """A trained model of another library, such as an algorithm of Stable-Baselines3."""

    def predict(self, *arguments: Any, **options: Any) -> Any:
        """The model's action for an observation, and its hidden state."""


AgentLike: TypeAlias = (
    Agent | str | Callable[[Position], int] | Callable[[Position, np.random.Generator], int] | Model
)

Choice: TypeAlias = Annotated[str, "choice"]
"""A parameter of an agent: a word from a list, or several joined by `+`; never a file or a command."""

AgentNames: TypeAlias = Annotated[str, "agents"]
"""A parameter of an agent: the spec strings of several others, joined by `+`."""
