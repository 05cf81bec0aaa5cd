"""Agents outside of this package, functions and programs, that are asked for their moves."""

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any, ClassVar, get_args

import numpy as np

from ttt_env.agent.fingerprint import fingerprint, function_name
from ttt_env.agent.interface import Agent
from ttt_env.agent.policies import TIMED_OUT, Answer, Outcome, checked_cell, generator_of, read_cell
from ttt_env.errors import NotJudgedError, ParameterError, PolicyError
from ttt_env.rules import Game, Position, one_of


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
    """True if it may be asked more questions than judging it needs, because they cost next to nothing."""

    @property
    def identity(self) -> str:
        """The key under which its answers are kept, so that no other agent continues with them."""
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

    def _cell_of_policy(self, position: Position, choose: object) -> int:
        answer = self.judged_answer(position)
        if answer.cell is None:
            raise answer.refusal(self, position)
        return answer.cell

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

    A function of two arguments gets a NumPy random generator after the position: that of the game in play,
    one seeded by the position in an analysis. In a game that is played, a cell that is not free is an
    `IllegalMoveError`: the function is one's own. To return several numbers, such as the probabilities of the
    cells, is a `PolicyError` everywhere.

    Raises `ParameterError` for a function of other arguments.
    """

    is_cheap = True

    def __init__(self, game: Game | str, function: Callable[..., int]) -> None:
        super().__init__(game)
        self.function = function
        self._is_random = takes_rng(function)

    def __repr__(self) -> str:
        return f"<FunctionAgent {function_name(self.function)} of {self.game.name}>"

    @property
    def identity(self) -> str:
        """The name of the function and the fingerprint of its code, which are the same in the next run."""
        return f"the function {function_name(self.function)} ({fingerprint(self.function)})"

    def answer(self, position: Position) -> Answer:  # noqa: D102
        choice = self._choice(position)
        answer = Answer.of(choice, position)
        if answer.outcome == "no cell":
            self._check_one_choice(choice)
        return answer

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        choice = self._choice(position, rng)
        cell, outcome = read_cell(choice, position)  # no text of the answer is made
        if cell is not None:
            return cell
        if outcome == "no cell":
            self._check_one_choice(choice)
        return checked_cell(self, position, choice)

    def _choice(self, position: Position, rng: np.random.Generator | None = None) -> object:
        if not self._is_random:
            return self.function(position)
        return self.function(position, generator_of(position) if rng is None else rng)

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


def takes_rng(function: Callable[..., Any]) -> bool:
    """True if a function takes a position and a random generator, False if it takes the position alone.

    Raises `ParameterError` for a function of other arguments.
    """
    for is_wrapped in (False, True):  # a wrapper of any arguments has those of what it wraps
        try:
            arguments = signature(function, follow_wrapped=is_wrapped)
        except (TypeError, ValueError):  # some built-in functions have none
            return False
        takes_one, takes_two = _takes(arguments, 1), _takes(arguments, 2)
        if takes_one != takes_two:
            return takes_two
        if not takes_one and not is_wrapped:
            raise ParameterError(
                f"{function_name(function)}{arguments} is no player: "
                "(position) and (position, rng) are allowed"
            )
    return False


def _takes(arguments: Signature, number: int) -> bool:
    try:
        arguments.bind(*[None] * number)
    except TypeError:
        return False
    return True
