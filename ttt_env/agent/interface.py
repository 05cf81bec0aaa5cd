"""The interface that all ways to play share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeAlias

import numpy as np

from ttt_env.agent.explanation import CellNumbers, Explanation
from ttt_env.agent.policies import Floats, chances, checked_answer, checked_cell, draw_cell, generator_of
from ttt_env.agent.registry import name_of
from ttt_env.errors import IllegalMoveError, PolicyError
from ttt_env.rules import Boards, Game, Position, check_game, get_game

if TYPE_CHECKING:
    from ttt_env.render.svg import Picture

MOVES = ("policy", "policies", "choose")
"""The methods by which a class can say how it plays; it defines exactly one."""

_MEMO_SIZE = 50_000  # positions whose policies an agent caches


class Agent:
    """A policy on the positions of a game.

    A subclass is constructed as `cls(game, **parameters)` from a game or its id; a spec string gives it its
    parameters. It defines exactly one of these methods, whichever is natural, and the others follow from it:

    - `policy(position)`: the probability of each cell, `[cells]`;
    - `policies(boards)`: the same for a batch, `[B, cells]`;
    - `choose(position, rng)`: a cell.

    A second one, also over a method of a parent, is a `TypeError` when the class is defined: an agent that
    changes how another one plays holds it and asks it. An agent sees the position, never the history.

    Args:
        game: The game, or its id.

    Raises:
        PolicyError: The class defines none of the methods.

    Example:
        >>> class Last(Agent):
        ...     is_stationary = True  # the position alone decides
        ...     def choose(self, position, rng):
        ...         return position.legal_cells[-1]
        >>> from ttt_env import get_game, match
        >>> match(Last(get_game("tictactoe-v0")), "random").exact
        True

    """

    plays_by: ClassVar[str] = ""
    """The method that the class defines: `policy`, `policies` or `choose`; empty if none."""

    is_stationary: bool = False
    """True if the class or the agent declares that its policy depends on the position alone. `match` then
    computes the result instead of sampling games. No other result depends on it."""

    takes_agent: ClassVar[bool] = False
    """True if the first parameter is another agent. Keywords of a spec string that this class does not
    take are passed on to that agent, as in `epsilon:softmax:temperature=0.2,epsilon=0.1`."""

    _remembers: ClassVar[bool] = False  # its answers never change, so `policy` caches them
    _label: str | None = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        above = cls.__mro__[: cls.__mro__.index(Agent)]
        defined = [(kind, method) for kind in above for method in MOVES if method in vars(kind)]
        if len(defined) > 1:
            listed = " and ".join(f"{kind.__name__}.{method}" for kind, method in defined)
            raise TypeError(
                f"{cls.__name__} has {listed}: an agent is one method. Wrap the agent instead: hold it in an "
                "attribute and ask it"
            )
        cls.plays_by = defined[0][1] if defined else ""

    def __init__(self, game: Game | str) -> None:
        if not self.plays_by:
            raise PolicyError(
                f"{type(self).__name__} does not say how it plays: define policy, policies or choose"
            )
        self.game = get_game(game)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.game.name}>"

    def __getstate__(self) -> dict[str, Any]:
        """All but what is computed from the rest, which a copy computes anew."""
        kind = type(self)
        return {
            n: v for n, v in vars(self).items() if not isinstance(getattr(kind, n, None), cached_property)
        }

    @property
    def label(self) -> str:
        """The name of the agent in results, which is its spec string if it was made from one."""
        return self._label or name_of(self)

    @property
    def parts(self) -> Sequence[Agent]:
        """The agents that it asks for its moves; none by default."""
        return ()

    def policy(self, position: Position) -> Floats:
        """The move probabilities, `[cells]`, which sum to 1 and are 0 on taken cells.

        If the agent defines `choose`, this is one draw: the cell that it chooses with random numbers seeded
        by the position has probability 1.

        Args:
            position: An open position; on a finished one the answer has no meaning.

        Raises:
            IllegalMoveError: The agent chooses a cell that is not free.

        """
        if self.plays_by == "policies":
            return self._of_batch(position)
        policy = np.zeros(self.game.n_cells)
        policy[checked_cell(self, position, self.choose(position, generator_of(position)))] = 1.0
        return policy

    def _of_batch(self, position: Position) -> Floats:
        """The policy of one position by `policies`."""
        if not self._remembers:
            single: Floats = self.policies(Boards.single(position))[0]
            return single
        if len(self._memo) >= _MEMO_SIZE:
            self._memo.clear()
        key = position.mine, position.theirs
        if key not in self._memo:
            self._memo[key] = self.policies(Boards.single(position))[0]
        return self._memo[key].copy()

    @cached_property
    def _memo(self) -> dict[tuple[int, int], Floats]:
        return {}

    def policies(self, boards: Boards) -> Floats:
        """The move probabilities of a batch, `[B, cells]`.

        Args:
            boards: Open positions, `Boards[B]`.

        Raises:
            PolicyError: An answer is not a distribution over the free cells.

        """
        rows = [checked_answer(self, position, self.policy(position)) for position in boards]
        return np.array(rows, np.float64).reshape(len(boards), self.game.n_cells)

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        """A cell drawn from `policy`; takes one `rng.random()`.

        Args:
            position: An open position.
            rng: The random generator.

        Raises:
            PolicyError: `policy` is not a distribution over the free cells.

        """
        return draw_cell(self, position, self.policy(position), rng.random())

    def picture(self, position: Position, last: int | None = None) -> Picture:
        """The board with the probability of each move on its cell, to show in a notebook or to save.

        Args:
            position: The position.
            last: The cell of the last move, which is highlighted.

        """
        return position.picture(None if position.is_over else self.policy(position).tolist(), last)

    def explain(self, position: Position) -> Explanation:
        """Explain the agent's move: its figures for each cell, and the reason that decides.

        Every agent can show at least its policy. One that has reasons overrides `_explain`.

        Args:
            position: An open position of the agent's game.

        Returns:
            The explanation.

        Raises:
            IllegalMoveError: The game is over.
            ImpossiblePositionError: The position is of another game.

        Example:
            >>> from ttt_env import make_agent
            >>> print(make_agent("win-block").explain(Position.parse("XX./OO./...")).reason)
            The rule win fires: cell 2 completes a winning set of X.

        """
        position = check_game(position, self.game)
        if position.is_over:
            raise IllegalMoveError(f"there is no move to explain: the game {position} is over")
        return self._explain(position)

    def _explain(self, position: Position) -> Explanation:
        """`explain` in an open position of this game."""
        return self._policy_explanation(position, f"{name_of(self)} says which cells it plays, and no more.")

    def _policy_explanation(
        self, position: Position, reason: str, *numbers: CellNumbers, **more: Any
    ) -> Explanation:
        """The explanation with the agent's own policy in the position; `more` are fields of `Explanation`."""
        return Explanation(position, chances(self, position), reason, numbers, **more)


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
