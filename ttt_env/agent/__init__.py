"""The interface that every way to play shares, and how agents are found by name."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter
from math import inf
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ttt_env.agent.explanation import Explanation
from ttt_env.errors import (
    IllegalMoveError,
    NotJudgedError,
    ParameterError,
    PolicyError,
    UnknownAgentError,
    shown,
    unknown,
)
from ttt_env.rules.boards import Boards
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import items_of, one_of
from ttt_env.rules.game import Game, Position, as_cell, check_game
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
ROUNDING = 1e-5
"""How far the sum of a policy may be from 1. Sums of 64 probabilities of 32 bits are off by 1e-6."""
NEGLIGIBLE = 1e-30
"""A probability below this is 0: in play, in every analysis and in certificates. What ten such moves in a row
are worth can still be told from 0 in 64 bits, so whatever has a larger one is seen by all of them."""
_EXACT = 1e-12  # sums nearer to 1 are left as they are: 64-bit rounding
_FLOAT64 = np.dtype(np.float64)
_MOVES = frozenset({"policy", "policies", "choose"})
_SEED = 20  # of the random numbers for an agent that has only `choose` and is asked for its policy


Effort = Literal["little", "sweep", "table", "searches"]
"""What making an agent for a game takes: hardly anything; a sweep over all positions, which takes seconds if
there are millions of them; a policy for each of them besides, which takes far more memory; or a search of
another agent in each of them."""

EFFORTS: tuple[Effort, ...] = ("little", "sweep", "table", "searches")  # the least first


class Agent:
    """Whatever has a policy on the positions of `game`.

    A subclass is constructed as `cls(game, **parameters)`; a spec string gives it its parameters. It
    overrides `policy`, `policies` or `choose`, whichever is natural: the others follow from it. Raises
    `PolicyError` if it overrides none of them.

    >>> class Last(Agent):
    ...     is_fixed = True  # the position alone decides
    ...     def choose(self, position, rng):
    ...         return position.legal_cells[-1]
    >>> from ttt_env import get_game, match
    >>> match(Last(get_game("tictactoe-v0")), "random").exact
    True
    """

    takes_agent: ClassVar[bool] = False
    """Whether the first parameter is another agent. Keywords of a spec string that this class does not
    take are then passed on to that agent, as in `epsilon:softmax:temperature=0.2,epsilon=0.1`."""

    plays_by: ClassVar[str] = ""
    """The method that the class overrides to say how it plays, and is asked by: `policy`, `policies` or
    `choose`, the first of these if it overrides several; empty if none."""

    asks_others: ClassVar[bool] = False
    """Whether its answers come from code outside of this package, such as a network that it was given."""

    may_forfeit: ClassVar[bool] = False
    """Whether a policy may be 0 on all cells, which says that the agent loses by having no move there."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        ancestors = [vars(ancestor).keys() for ancestor in cls.__mro__]
        definer = next(index for index, names in enumerate(ancestors) if _MOVES & names)
        if cls.__mro__[definer] is not Agent:
            overridden = _MOVES & ancestors[definer]
            cls.plays_by = next(name for name in ("policy", "policies", "choose") if name in overridden)
        if next(index for index, names in enumerate(ancestors) if "is_fixed" in names) > definer:
            # An ancestor's declaration is about its own moves, not about those that override them.
            cls.is_fixed = False  # type: ignore[method-assign, assignment]

    def __init__(self, game: Game) -> None:
        if not self.plays_by:
            raise PolicyError(f"{type(self).__name__} says nowhere how it plays: override policy or choose")
        self.game = game

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.game.name}>"

    @property
    def is_fixed(self) -> bool:
        """Whether the agent declares that its policy depends on the position alone.

        Results computed for such an agent are exact. Other agents are sampled, or asked once in each position
        and judged by these answers. A class declares it by `is_fixed = True`. The declaration is about the
        class's own moves: a subclass that overrides how it moves has to declare it again.
        """
        return False

    @property
    def uses_history(self) -> bool:
        """Whether its moves depend on how a game went, not on the position alone: see `choose_in_game`.

        Such an agent has no policy that says how it plays, so that its games are sampled, never computed.
        """
        return type(self).choose_in_game is not Agent.choose_in_game

    @classmethod
    def effort(cls, game: Game, **parameters: Any) -> Effort:
        """What making the agent with these parameters takes: a declaration, for which nothing is computed.

        Raises what the constructor would if the agent does not play the game. By default an agent plays every
        game, and takes little; one that does not, or that looks at all positions, says so here.
        """
        return "little"

    @property
    def seconds_per_move(self) -> float:
        """About how long the policy of one position takes to compute, in seconds; 0 if it is hardly any time.

        An agent that searches gives its time here. Callers look at it before they let a person wait, or ask
        in every position of a game.
        """
        return 0.0

    def policy(self, position: Position) -> Floats:
        """The move probabilities, `[cells]`: they sum to 1 and are 0 on taken cells.

        The game must still go on in the position; on a finished one the answer has no meaning. For a class
        that overrides only `choose`, the cell that this returns has probability 1, and the random numbers
        that it gets depend on the position alone.
        """
        if type(self).policies is not Agent.policies:
            single: Floats = self.policies(Boards.of([position]))[0]
            return single
        policy = np.zeros(self.game.n_cells)
        policy[chosen_cell(self, position, generator_of(position))] = 1.0
        return policy

    def policies(self, boards: Boards) -> Floats:
        """The move probabilities of a batch, `[B, cells]`."""
        rows = [checked_policy(self, position) for position in boards]
        return np.array(rows, np.float64).reshape(len(boards), self.game.n_cells)

    def picture(self, position: Position, last: int | None = None) -> "Picture":
        """The board with the probability of each move on its cell, to look at in a notebook or to save."""
        return position.picture(None if position.is_over else self.policy(position).tolist(), last)

    def explain(self, position: Position) -> Explanation:
        """Why the agent moves in the position as it does: what it knows of each cell, and what decides.

        Every agent has at least its policy to show. One that has reasons overrides `_explained`.

        >>> print(make_agent("win-block").explain(Position.parse("XX./OO./...")).reason)
        The rule win fires: cell 2 completes a winning set of X.

        Raises `IllegalMoveError` if the game is over, `ImpossiblePositionError` for a position of another
        game.
        """
        check_game(position, self.game)
        if position.is_over:
            raise IllegalMoveError(f"there is no move to explain: the game {position} is over")
        return self._explained(position)

    def _explained(self, position: Position) -> Explanation:
        """`explain` in a position of this game that is not over."""
        reason = f"{name_of(self)} says which cells it plays, and no more."
        return Explanation(position, chances(self, position), reason)

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        """A cell drawn from `policy`; takes one `rng.random()`.

        Raises `PolicyError` where `policy` is no distribution over the free cells.
        """
        policy, draw = self.policy(position), rng.random()
        if type(policy) is np.ndarray and policy.dtype is _FLOAT64 and policy.ndim == 1:
            table = _summed(policy.tobytes(), self.game.n_cells, position.occupied_mask)
            if table is not None:
                totals, cells = table
                return cells[bisect_right(totals, draw)]
        return sample(_checked(self, position, policy), draw)

    def choose_in_game(self, positions: Sequence[Position], rng: np.random.Generator) -> int:
        """A cell to play in the last of these positions, which are those of the game so far in their order.

        By default that is `choose`, which does not look at how the game has gone. An agent that learns of its
        opponent during a game overrides this method; it keeps nothing between the calls, so that it can play
        many games at once. Games that begin elsewhere than on the empty board have their first position
        first. Who knows a position alone, as a vector environment does, asks by `choose`.
        """
        return self.choose(positions[-1], rng)

    def check_asked(self) -> None:
        """Called when no question follows for now, at the end of an analysis or of games.

        Raises `UntrustedAnswersError` if the player turns out to have said more than it was asked for.
        """


class Model(Protocol):
    """A trained model of another library, such as an algorithm of Stable-Baselines3."""

    def predict(self, *arguments: Any, **options: Any) -> Any:
        """The model's action for an observation, and its hidden state."""


AgentLike: TypeAlias = Agent | str | Callable[[Position], int] | Model


class BatchAgent(Agent):
    """An agent that is written for batches, by `policies`; a single position is a batch of one.

    >>> class First(BatchAgent):
    ...     is_fixed = True
    ...     def policies(self, boards):
    ...         return np.eye(boards.game.n_cells)[boards.legal.argmax(axis=1)]
    >>> First(get_game("tictactoe-v0")).policy(Position.parse("XO./.../...")).tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """


Outcome = Literal["played", "unreadable", "several", "no cell", "taken", "crashed", "timed out", "flooded"]
"""The outcome of a question: the cell of the answer was played; it names no cell in the agreed form; it names
different ones; its number is no cell of the board; the cell is taken; the player crashed, and did so again
when a fresh process was asked; it did not answer in time; it wrote far too much."""
TIMED_OUT: Outcome = "timed out"
"""The one outcome that is an accident and no answer: it can lose a game that is played, and is never kept."""

FORFEITS: tuple[Outcome, ...] = tuple(outcome for outcome in get_args(Outcome) if outcome != "played")
"""The outcomes that lose the game."""

_READERS = {".zip": "sb3", ".npz": "lookup", ".onnx": "onnx"}  # agents that play from files, by their endings
_MOST_AGENTS = 10_000  # that are named at once
_FUNCTION_FILE = ".py"  # the ending of a file in which a function plays, asked in a process of its own
_PROGRAM = "process"  # the agent that runs programs
_SAID = 1_000  # letters of an answer that are kept
_QUOTED = 60  # letters of each that are shown
_REASON = 300  # letters of the reason of a failure that are shown
_FAILURES = ("crashed", "timed out", "flooded")  # of which the end of what was said tells the reason
_STATUS = re.compile(r"(?:(exit status -?\d+)(?:: |$))?(.*)", re.DOTALL)
_TRACED = re.compile(r'File "([^"]*)", line (\d+)')


def read_cell(choice: object, position: Position) -> tuple[int | None, Outcome]:
    """The cell that is chosen, None if it may not be played, and what came of the choice."""
    try:
        cell = as_cell(choice, position.game)
    except IllegalMoveError:
        return None, "no cell"
    return (None, "taken") if position.occupied_mask >> cell & 1 else (cell, "played")


class Answer(NamedTuple):
    """The answer in a position: a free cell, or None with the reason in `outcome`.

    `said` is the answer itself, at most its first 1,000 letters.
    """

    cell: int | None
    outcome: Outcome
    said: str = ""

    @classmethod
    def of(cls, choice: object, position: Position, said: str | None = None) -> "Answer":
        """The answer that chooses this cell, or what is wrong with it. `said` is by default its text."""
        cell, outcome = read_cell(choice, position)
        return cls(cell, outcome, _kept(shown(choice) if said is None else said))

    @classmethod
    def failed(cls, outcome: Outcome, said: str) -> "Answer":
        """The answer that plays no cell, for this reason."""
        return cls(None, outcome, _kept(said))

    def refusal(self, agent: "Agent", position: Position) -> "ForfeitError":
        """The error that ends the game in which this agent has answered so, and named no free cell."""
        legal = f"legal are {position.legal_cells}"
        if self.outcome in ("no cell", "taken"):
            message = f"{agent!r} plays {self.said} in {position}; {legal}"
        else:
            message = f"{agent!r} names no cell in {position} ({self.outcome}): {self.said!r}; {legal}"
        return ForfeitError(message, Forfeit(position, self.outcome, self.said))


def _kept(said: str) -> str:
    """The start of an answer, with question marks for halves of letters, which no file can keep."""
    return said[:_SAID].encode("utf-8", "replace").decode()


class Forfeit(NamedTuple):
    """A position in which an agent that was asked named no free cell, and so loses: why, and what it said."""

    position: Position
    outcome: Outcome
    said: str


def quoted(said: str, outcome: Outcome) -> str:
    """The start of an answer in quotes, or the reason of a failure, in one line, with no control characters.

    Of a traceback these are the last file and line, and the message.

    >>> quoted("I take the centre", "unreadable")
    "'I take the centre'"
    >>> quoted('exit status 1: File "/a/ben.py", line 7, in choose' + chr(10) + "NameError: no x", "crashed")
    'exit status 1: ben.py, line 7: NameError: no x'
    """
    if outcome in _FAILURES:
        return _reason_of(said)
    text = repr(said)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"


def _reason_of(said: str) -> str:
    """The exit status, the place of an error and its message, as far as they are in the end of an output."""
    status, rest = _STATUS.fullmatch(said).groups("")  # type: ignore[union-attr]
    message = next((line.strip() for line in reversed(rest.splitlines()) if line.strip()), "")
    places = _TRACED.findall(rest)
    if places:
        path, line = places[-1]
        place = f"{PurePath(path.replace(chr(92), '/')).name}, line {line}"
        message = place if _TRACED.search(message) else f"{place}: {message}"
    reason = ": ".join(filter(None, [status, message]))
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in reason)
    return shown if len(shown) <= _REASON else f"…{shown[1 - _REASON :]}"


class ForfeitError(IllegalMoveError):
    """An agent that was asked has named no free cell, by which it loses the game: see its `forfeit`."""

    def __init__(self, message: str, forfeit: Forfeit) -> None:
        super().__init__(message)
        self.forfeit = forfeit

    def __reduce__(self) -> tuple[Any, ...]:
        return ForfeitError, (str(self), self.forfeit)


class AskedAgent(Agent):
    """An agent outside of this package, a function or a program, that is asked for its moves and may fail.

    A subclass defines `answer`, which is called from several threads at once if several are to be asked at a
    time, and `check_asked` if lines of a player may get out of step with the questions. An agent of this kind
    declares no fixed policy. Where it names no free cell it loses the game.

    An accident of the machine, such as a time-out, is no answer. `answer` asks again, and raises
    `NotJudgedError` where that does not help. An analysis ends with that error. A game that is played is lost
    by a player that did not answer, and does not count where the machine alone failed.
    """

    is_cheap: ClassVar[bool] = False
    """Whether it may be asked more questions than judging it needs, because they cost next to nothing."""

    @property
    def identity(self) -> str:
        """What the answers are kept under, so that nobody goes on with those of another agent."""
        return repr(self)

    def answer(self, position: Position) -> Answer:
        """The agent's answer in a position. Raises `NotJudgedError` if there is none because of accidents."""
        raise NotImplementedError

    def judged_answer(self, position: Position) -> Answer:
        """The answer in a position, to be kept. Raises `NotJudgedError` where it would be an accident."""
        answer = self.answer(position)
        if answer.outcome == TIMED_OUT:
            raise NotJudgedError(repr(self), position, f"{TIMED_OUT}: {answer.said}", TIMED_OUT)
        return answer

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        """The cell that is answered. Raises `ForfeitError` where it is not free, or none is answered.

        Raises `NotJudgedError` where none is, and the machine alone failed.
        """
        try:
            answer = self.answer(position)
        except NotJudgedError as error:
            if error.loses_by is None:
                raise
            answer = Answer.failed(one_of("outcome", error.loses_by, get_args(Outcome)), error.reason)
        if answer.cell is not None:
            return answer.cell
        raise answer.refusal(self, position)


class FunctionAgent(AskedAgent):
    """Plays the cell that a function `Position -> cell` returns, which may be another one in each call.

    In a game that is played, a cell that is not free is an `IllegalMoveError`: the function is one's own. To
    return several numbers, such as the probabilities of the cells, is a `PolicyError` everywhere.
    """

    is_cheap = True

    def __init__(self, game: Game, function: Callable[[Position], int]) -> None:
        super().__init__(game)
        self.function = function

    def __repr__(self) -> str:
        return f"<FunctionAgent {self._name} of {self.game.name}>"

    @property
    def identity(self) -> str:
        """The name of the function, which is the same in the next run."""
        return f"the function {self._name}"

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))

    def answer(self, position: Position) -> Answer:  # noqa: D102
        choice = self.function(position)
        answer = Answer.of(choice, position)
        if answer.outcome == "no cell":
            self._check_one_choice(choice)
        return answer

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        choice = self.function(position)
        cell, outcome = read_cell(choice, position)  # no text of the answer is made
        if cell is not None:
            return cell
        if outcome == "no cell":
            self._check_one_choice(choice)
        return checked_cell(self, position, choice)

    def _check_one_choice(self, choice: object) -> None:
        """Raise `PolicyError` for several numbers: the function was meant to be a policy, not to lose."""
        try:
            n_values = 1 if isinstance(choice, str | bytes) else len(choice)  # type: ignore[arg-type]
        except TypeError:  # it has no length
            return
        if n_values > 1:
            raise PolicyError(
                f"{self!r} returns {n_values} values, in a {type(choice).__name__}: a function returns one "
                "cell. For probabilities derive a class from ttt_env.Agent with a method policy(position) "
                "and is_fixed = True"
            )


def generator_of(position: Position) -> np.random.Generator:
    """A generator seeded by the position alone, for an agent that is asked for one move there."""
    return np.random.default_rng((_SEED, position.mine, position.theirs))


def checked_cell(agent: Agent, position: Position, choice: object) -> int:
    """The agent's `choice` as a cell. Raises `IllegalMoveError` if it is no cell, or not a free one."""
    cell, _ = read_cell(choice, position)
    if cell is not None:
        return cell
    raise IllegalMoveError(f"{agent!r} plays {choice!r} in {position}; legal are {position.legal_cells}")


def chosen_cell(agent: Agent, position: Position, rng: np.random.Generator) -> int:
    """The cell that the agent chooses. Raises `IllegalMoveError` for one that is not free."""
    return checked_cell(agent, position, agent.choose(position, rng))


def chosen_in_game(agent: Agent, positions: Sequence[Position], rng: np.random.Generator) -> int:
    """The cell that the agent chooses in the last position of a game so far; raises as `chosen_cell` does."""
    return checked_cell(agent, positions[-1], agent.choose_in_game(positions, rng))


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


@lru_cache(maxsize=1 << 13)
def _summed(policy: bytes, n_cells: int, occupied: int) -> tuple[list[float], list[int]] | None:
    """The cumulative probabilities of the cells that may be drawn, and these cells; None for a wrong policy.

    `Agent.choose` draws from them as `sample` does. They are kept, so that a policy that comes again is
    neither checked nor summed again.
    """
    probabilities, total = np.frombuffer(policy).tolist(), 0.0
    totals: list[float] = []
    cells: list[int] = []
    for cell, probability in enumerate(probabilities):
        if probability:
            if not probability > 0.0 or occupied >> cell & 1:
                return None
            if probability < NEGLIGIBLE:
                continue
            total += probability
            totals.append(total)
            cells.append(cell)
    if len(probabilities) != n_cells or not -_EXACT <= total - 1.0 <= _EXACT:
        return None
    totals[-1] = inf  # as in `sample`, against rounding
    return totals, cells


def sample_each(policies: Floats, draws: Floats) -> NDArray[np.int64]:
    """`sample` for a batch: the cells, `[B]`, for policies `[B, cells]` and draws `[B]`."""
    totals = np.cumsum(policies, axis=1)
    cells = (totals <= draws[:, None]).sum(axis=1)
    last = policies.shape[1] - 1 - np.argmax(policies[:, ::-1] > 0, axis=1)
    drawn: NDArray[np.int64] = np.minimum(cells, last)
    return drawn


def checked_policies(agent: Agent, boards: Boards) -> Floats:
    """The agent's `policies`, `[B, cells]`, each scaled to sum to 1 exactly.

    This is the one rule for what a policy is, in batches and single positions (`checked_policy`): numbers
    of any type, ≥ 0, 0 on taken cells, whose sum is 1 to within `ROUNDING`; or, in a batch of an agent that
    `may_forfeit`, 0 everywhere. Numbers below `NEGLIGIBLE` become 0. Raises `PolicyError` for others.
    """
    policies = _as_floats(agent, agent.policies(boards), boards.legal.shape, f"{len(boards)} positions")
    totals = policies.sum(axis=1)
    if agent.may_forfeit:
        totals[~policies.any(axis=1)] = 1.0
    deviations = np.abs(totals - 1)
    # Comparisons with NaN are false, so a policy with NaN is always refused.
    if (
        not (deviations <= ROUNDING).all()
        or not policies.min(initial=0) >= 0
        or ((policies != 0) > boards.legal).any()
    ):
        is_valid = (policies >= 0) & (boards.legal | (policies == 0))
        first_wrong = int(np.argmin(is_valid.all(axis=1) & (deviations <= ROUNDING)))
        raise _no_policy(agent, boards[first_wrong], policies[first_wrong])
    is_negligible = (policies < NEGLIGIBLE) & (policies > 0)
    if is_negligible.any():
        policies = np.where(is_negligible, 0.0, policies)
    if (deviations > _EXACT).any():
        totals[deviations <= _EXACT] = 1.0
        policies = policies / totals[:, None]
    return policies


def checked_policy(agent: Agent, position: Position) -> Floats:
    """The agent's `policy` in a position, `[cells]`, by the rule of `checked_policies`."""
    return _checked(agent, position, agent.policy(position))


def chances(agent: Agent, position: Position) -> dict[int, float]:
    """The agent's `checked_policy` in a position by legal cell."""
    return of_legal_cells(position, checked_policy(agent, position))


def of_legal_cells(position: Position, numbers: NDArray[Any]) -> dict[int, float]:
    """The numbers `[cells]` of the legal cells, by cell."""
    return {cell: float(numbers[cell]) for cell in position.legal_cells}


def _checked(agent: Agent, position: Position, answer: object) -> Floats:
    policy = _as_floats(agent, answer, (agent.game.n_cells,), position)
    probabilities = policy.tolist()
    total, taken = sum(probabilities), position.occupied_mask
    is_good = all(p >= 0 and not (p and taken >> cell & 1) for cell, p in enumerate(probabilities))
    if not (is_good and abs(total - 1) <= ROUNDING):
        raise _no_policy(agent, position, policy)
    if any(0 < p < NEGLIGIBLE for p in probabilities):
        policy = np.where(policy < NEGLIGIBLE, 0.0, policy)
    return policy / total if abs(total - 1) > _EXACT else policy


def _as_floats(agent: Agent, answer: object, shape: tuple[int, ...], where: object) -> Floats:
    """An agent's answer as numbers of this shape. Raises `PolicyError` if it cannot be that."""
    try:
        numbers: Floats = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(f"{agent!r} has no policy in {where}, but {answer!r:.200}") from None
    if numbers.shape != shape:
        raise PolicyError(f"{agent!r} has no policy in {where}: its shape is {numbers.shape}, not {shape}")
    return numbers


def _no_policy(agent: Agent, position: Position, policy: Floats) -> PolicyError:
    return PolicyError(
        f"{agent!r} has no policy in {position}: {policy.round(6).tolist()} "
        "should sum to 1 over the free cells and be 0 elsewhere"
    )


@lru_cache(maxsize=2)
def _registry(group: str = ENTRY_POINT_GROUP) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def agent_names() -> list[str]:
    """The names under which agents are installed here, ours and those of other packages.

    >>> {"random", "minimax", "mcts", "sb3"} <= set(agent_names())
    True
    """
    return sorted(_registry())


def name_of(agent: Agent) -> str:
    """The name under which the agent's class is installed; that of the class if it is not."""
    kind = f"{type(agent).__module__}:{type(agent).__qualname__}"
    return next((name for name, point in _registry().items() if point.value == kind), type(agent).__name__)


def agent_class(name: str) -> type[Agent]:
    """The class registered under this name. Raises `UnknownAgentError` if there is none."""
    if name.endswith(_FUNCTION_FILE):
        name = _PROGRAM
    if name not in _registry():
        reader = _READERS.get(name[name.rfind(".") :])
        file = f"{name!r} is a file, not an agent: {reader}:{name} plays from it; " if reader else ""
        raise UnknownAgentError(file + unknown("agent", name, _registry()))
    registered: type[Agent] = _registry()[name].load()
    return registered


def make_agent(spec: AgentLike, game: Game | str = "tictactoe-v0") -> Agent:
    """The agent that `spec` names: a spec string, an `Agent`, a function `Position -> cell`, or a model.

    A spec string is `name`, `name:value` or `name:key=value,key=value`; a parameter that is true or false may
    be named alone. Inside another agent's spec, an agent with parameters stands in round brackets where its
    commas could belong to the outer one. A spec has at most 10,000 letters, and 32 colons and brackets inside
    of each other.

    "file.py:function" is a function of a Python file, `file.py` alone its `choose`: it takes a position,
    maybe an `rng` too, and returns a cell or the probability of each. It is asked in a process of its own,
    with the parameters of `process`.

    A model of Stable-Baselines3 plays greedily, and only on free cells. The agent asks the model itself, not
    a copy: if the model is trained further, the agent's play changes with it.

    Raises `UnknownAgentError` for a name that nobody registered, `ParameterError` for a parameter
    that the agent does not have or a value that it cannot take.

    >>> position = Position.parse("XX./OO./...")
    >>> make_agent("win-block", position.game).policy(position).tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    >>> make_agent(lambda position: position.legal_cells[-1], position.game).choose(position, 0)
    8
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


def effort_of(spec: AgentLike, game: Game | str = "tictactoe-v0") -> Effort:
    """What making this agent for the game takes: see `Agent.effort`. It is not made for it.

    Raises as `make_agent` does, and what the agent raises that does not play the game.
    """
    game = get_game(game)
    if not isinstance(spec, str):
        make_agent(spec, game)
        return "little"
    build, parameters = _parsed(split_spec(spec))
    return build.effort(game, **parameters)


def _reader_of_model(model: object) -> Callable[[object, Game], Agent] | None:
    """The registered function that makes an agent of `model`, None if no library is registered for its class.

    The library is known by the name of its module and not imported here: whoever made the model has done so.
    """
    for ancestor in type(model).__mro__:
        point = _registry(MODEL_GROUP).get(ancestor.__module__.partition(".")[0])
        if point is not None:
            reader: Callable[[object, Game], Agent] = point.load()
            return reader
    return None


def game_of(game: Game | str | None, *agents: AgentLike) -> Game:
    """The game of this id or `game` itself; for None that of the first `Agent` given, else tic-tac-toe."""
    if game is None:
        return next((agent.game for agent in agents if isinstance(agent, Agent)), get_game("tictactoe-v0"))
    return get_game(game)


def named_agents(agents: Iterable[AgentLike] | Mapping[str, AgentLike]) -> dict[str, AgentLike]:
    """The agents by name: a mapping gives names, a spec string is its own name.

    A function goes by its `__name__`, any other agent by its class. Raises `ParameterError` for two agents of
    one name.
    """
    if isinstance(agents, Mapping):
        return dict(agents)
    named: dict[str, AgentLike] = {}
    given = [agents] if isinstance(agents, str) else items_of(agents, _MOST_AGENTS)
    if given is None or len(given) > _MOST_AGENTS:
        raise ParameterError(f"agents={shown(agents)}: up to {_MOST_AGENTS} agents, or a mapping, are needed")
    for agent in given:
        name = agent if isinstance(agent, str) else getattr(agent, "__name__", type(agent).__name__)
        if name in named:
            raise ParameterError(f"two agents are called {name!r}: name them by a mapping name -> agent")
        named[name] = agent
    return named


def _from_spec(spec: Spec, game: Game) -> Agent:
    build, parameters = _parsed(spec)
    return build(game, **parameters)


def _parsed(spec: Spec) -> tuple[type[Agent], dict[str, Any]]:
    """The class that a spec names and the values of its parameters."""
    if spec.name.endswith(_FUNCTION_FILE):
        return _parsed_function_file(spec)
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
    return build, convert(spec.name, build.__init__, texts)


def _parsed_function_file(spec: Spec) -> tuple[type[Agent], dict[str, Any]]:
    """`_parsed` of "file.py:function": a program that is given the file and the function."""
    build = agent_class(spec.name)
    allowed = parameters_of(build, skip=2)
    texts, others = read_items(spec, build.__init__, skip=3)
    check_names(spec.name, filter(None, map(key_of, others)), allowed)
    function = (as_value(others) or "").strip()
    values = convert(spec.name, build.__init__, texts)
    of_file: Callable[..., tuple[str, ...]] = build.of_function_file  # type: ignore[attr-defined]
    return build, {"command": of_file(spec.name, function, values.get("folder"))} | values


def _plain_value(
    build: type[Agent], owner: str, items: list[str], allowed: Mapping[str, Parameter]
) -> str | None:
    """The text of the first parameter, from the items that name no other.

    It may be a path, a command or an agent.
    """
    if next(iter(allowed), None) in ("path", "command"):
        return joined_path(owner, items, allowed)
    plain = [item for item in items if key_of(item) is None]
    keywords = [item.strip() for item in items if key_of(item) is not None]
    if not build.takes_agent or not plain:
        check_names(owner, map(key_of, keywords), allowed)
        return as_value(plain)
    inner = unwrapped(",".join(plain).strip())
    separator = "," if len(split_items(inner, ":")) > 1 else ":"
    return f"{inner}{separator}{','.join(keywords)}" if keywords else inner
