"""Agents outside of this package, functions and programs, which are queried for their moves."""

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any, Self, get_args

import numpy as np

from ttt_env.agent.interface import Agent
from ttt_env.agent.policies import ACCIDENTS, Answer, Outcome, checked_cell, generator_of, read_cell
from ttt_env.errors import ForfeitError, NoVerdictError, ParameterError, PolicyError
from ttt_env.rules import Game, Position, one_of


class AskedAgent(Agent):
    """A player in another process or behind an endpoint, which is queried for its moves and may fail.

    A subclass defines `answer`, which is called from several threads at once if several questions are asked
    at a time. Where the answer names no free cell, the player loses the game.

    An accident of the machine, such as a time-out, is not an answer. `answer` retries, and raises
    `NoVerdictError` where that does not help. An analysis ends with that error. A game that is played is lost
    by a player that did not answer, and does not count where only the machine failed.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes or the connections of the player; by default it has none."""

    @property
    def label(self) -> str:
        """The name of the player in results; never its command line."""
        return repr(self)

    def answer(self, position: Position) -> Answer:
        """The agent's answer in a position. Raises `NoVerdictError` if there is none because of accidents."""
        raise NotImplementedError

    def choose(self, position: Position, rng: np.random.Generator) -> int:
        """The cell of the answer. Raises `ForfeitError` where it is not free, or the answer names none.

        Raises `NoVerdictError` where there is no answer because the machine failed.
        """
        try:
            answer = self.answer(position)
        except NoVerdictError as error:
            if error.loses_by is None:
                raise
            outcome: Outcome = one_of("outcome", error.loses_by, get_args(Outcome))
            answer = Answer.failure(outcome, error.reason.removeprefix(f"{outcome}: "))
            raise answer.refusal(self, position) from error
        if answer.cell is not None:
            return answer.cell
        raise answer.refusal(self, position)


class FunctionAgent(Agent):
    """Plays the cell that a function `Position -> cell` returns, which may be another one in each call.

    A function of two arguments gets a NumPy random generator after the position: the generator of the game in
    play, one seeded by the position in an analysis. In a game that is played, a cell that is not free is an
    `IllegalMoveError`, because the function is the user's own; in an analysis it loses there. To return
    several numbers, such as the probabilities of the cells, is a `PolicyError` everywhere.

    Raises `ParameterError` for a function of other arguments.
    """

    def __init__(self, game: Game | str, function: Callable[..., int]) -> None:
        super().__init__(game)
        self.function = function
        self._is_random = takes_rng(function)

    def __repr__(self) -> str:
        return f"<FunctionAgent {self.label} of {self.game.name}>"

    @property
    def label(self) -> str:
        """The name of the function, or of the class of a callable object."""
        return function_name(self.function)

    def choose(self, position: Position, rng: np.random.Generator) -> int:  # noqa: D102
        return checked_cell(self, position, self.reply(position, rng))

    def reply(self, position: Position, rng: np.random.Generator) -> Any:
        """The result of the function. Raises `PolicyError` for several numbers."""
        choice = self.function(position, rng) if self._is_random else self.function(position)
        if read_cell(choice, position)[1] == "no cell":
            self._check_one_choice(choice)
        return choice

    def _check_one_choice(self, choice: object) -> None:
        """Raise `PolicyError` for several numbers: the function was meant to be a policy."""
        try:
            n_values = 1 if isinstance(choice, str | bytes) else len(choice)  # type: ignore[arg-type]
        except TypeError:  # it has no length
            return
        if n_values > 1:
            raise PolicyError(
                f"{self!r} returns {n_values} values, in a {type(choice).__name__}: a function returns one "
                "cell. For probabilities derive a class from ttt_env.Agent with a method policy(position) "
                "and is_stationary = True"
            )


def function_name(function: object) -> str:
    """The qualified name of a function, or of the class of a callable object."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def answer_of(agent: Agent, position: Position) -> Answer:
    """The answer to be recorded of an agent that plays by `choose`: its cell, or why it names no free one.

    Random numbers depend on the position alone. Raises `NoVerdictError` where the answer would be an accident
    of the machine.
    """
    if not isinstance(agent, AskedAgent):
        ask = agent.reply if isinstance(agent, FunctionAgent) else agent.choose
        try:
            return Answer.of(ask(position, generator_of(position)), position)
        except ForfeitError as error:  # of a player that it asks
            if isinstance(error.__cause__, NoVerdictError):
                raise error.__cause__ from None
            return Answer.failure(error.forfeit.outcome, error.forfeit.reply)
    answer = agent.answer(position)
    if answer.outcome in ACCIDENTS:
        raise NoVerdictError(repr(agent), position, f"{answer.outcome}: {answer.reply}", answer.outcome)
    return answer


def takes_rng(function: Callable[..., Any]) -> bool:
    """True if a function takes a position and a random generator, False if it takes the position alone.

    Raises `ParameterError` for a function of other arguments.
    """
    for is_wrapped in (False, True):  # a wrapper that takes any arguments has those of the wrapped function
        try:
            arguments = signature(function, follow_wrapped=is_wrapped)
        except (TypeError, ValueError):  # some built-in functions have none
            return False
        takes_one, takes_two = _accepts(arguments, 1), _accepts(arguments, 2)
        if takes_one != takes_two:
            return takes_two
        if not takes_one and not is_wrapped:
            raise ParameterError(
                f"{function_name(function)}{arguments} is not a player: "
                "expected (position) or (position, rng)"
            )
    return False


def _accepts(arguments: Signature, number: int) -> bool:
    try:
        arguments.bind(*[None] * number)
    except TypeError:
        return False
    return True
