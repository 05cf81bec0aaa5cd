"""Checks that an agent is what it declares: one policy, the same alone, in batches and in play."""

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from threading import Lock, RLock
from typing import Any

import numpy as np

from ttt_env.agent import (
    MOVES,
    NEGLIGIBLE,
    ROUNDING,
    Agent,
    AskedAgent,
    checked_policies,
    checked_policy,
    chosen_cell,
    generator_of,
    is_default,
)
from ttt_env.errors import PolicyError
from ttt_env.rules import Boards, Position

ALL_COMPARED = 2_000
"""The most positions of a ply in which a class from outside is compared: in tic-tac-toe all of them."""
SOME_COMPARED = 16
"""The same where one function gives all answers: a `policy` that is overridden alone, or a network."""
_OWN = f"{__name__.partition('.')[0]}."
_DECLARED = ("is_symmetric", "completes_sets")
_BATCH = 1024
_LEAST = 10 * NEGLIGIBLE
_HEAP_TYPE = 1 << 9  # of `type.__flags__`: a class that Python code has made, whatever it says of itself
_TRUSTED = frozenset({"ttt_env", "numpy", *sys.stdlib_module_names})
_LOCKS = (type(Lock()), type(RLock()))  # they have no name in their module


def is_own(agent: Agent) -> bool:
    """True if the agent, and every agent that it is made of, is this package's own and unchanged.

    The tests hold these to the contract of `Agent`, so their answers are not compared again.
    """
    return all(_is_unchanged(each) for each in _with_parts(agent))


def _is_unchanged(agent: Agent) -> bool:
    kind = type(agent)
    is_changed = any(name in vars(agent) for name in (*MOVES, *_DECLARED))
    held = (type(part) for value in vars(agent).values() for part in _values_in(value))
    is_changed |= any(not issubclass(each, Agent) and not _is_known(each) for each in held)
    return _is_ours(kind) and not kind.asks_others and not is_changed


def _is_known(kind: type) -> bool:
    """True for a class of this package, of NumPy or of Python, by which no answer changes."""
    if not kind.__flags__ & _HEAP_TYPE or kind in _LOCKS:
        return True
    return kind.__module__.partition(".")[0] in _TRUSTED and _is_named_so(kind)


def is_surely_symmetric(agent: Agent) -> bool:
    """True if the agent declares that it `is_symmetric`, and is this package's own, whoever it asks."""
    return agent.is_symmetric and _is_unchanged(agent)


def surely_completes_sets(agent: Agent) -> bool:
    """True if the agent declares that it `completes_sets`, and all its parts are this package's own."""
    return agent.completes_sets and is_own(agent)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(_OWN) and _is_named_so(kind)


def _is_named_so(kind: type) -> bool:
    return getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind


def _with_parts(agent: Agent, seen: set[int] | None = None) -> Iterator[Agent]:
    """The agent and all agents that it holds, such as those of a mixture, each once."""
    seen = set() if seen is None else seen
    if id(agent) in seen:
        return
    seen.add(id(agent))
    yield agent
    for value in (*vars(agent).values(), agent.parts):
        for part in _values_in(value):
            if isinstance(part, Agent):
                yield from _with_parts(part, seen)


def _values_in(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple | set | frozenset | deque) else (value,)


def check_judged_as_played(agent: Agent) -> None:
    """Raise `PolicyError` if the agent, or a part of it, plays by other methods than it is judged by.

    A class from outside this package that overrides `choose` beside `policy` or `policies` plays by
    `choose` and would be judged by the policy; with `choose` alone it is judged by that. A method put into
    the object says nothing of the other methods of its class. An `AskedAgent` is judged by `answer` alone.
    Only the answers that analyses keep may forfeit.
    """
    for part in _with_parts(agent):
        if part.may_forfeit and not _is_ours(type(part)):
            raise PolicyError(f"{part!r} says that it may_forfeit: only what an analysis keeps of others may")
        is_asked = isinstance(part, AskedAgent)
        for method in ("_cell_of_policy", *((*MOVES, "judged_answer") if is_asked else ())):
            if _is_foreign(part, method):
                by = "answer" if is_asked else "choose"
                raise PolicyError(f"{part!r} overrides {method} beside {by}, by which it is judged")
        for method in (*MOVES, "may_forfeit"):
            if method in vars(part):
                raise PolicyError(
                    f"{part!r} has a {method} beside those of its class: override {method} in a subclass"
                )
        if part.plays_by != "choose" and _is_foreign(part, "choose"):
            raise PolicyError(
                f"{part!r} overrides choose beside {part.plays_by}, so its games are not played by the "
                "policy that it would be judged by: override one of the two"
            )


def _is_foreign(agent: Agent, method: str) -> bool:
    """True if a method of the agent is defined outside of this package."""
    function = getattr(type(agent), method)
    if function is getattr(Agent, method, None) or (method in MOVES and is_default(type(agent), method)):
        return False
    return not _is_ours(next(kind for kind in type(agent).__mro__ if method in vars(kind)))


def check_answers(agent: Agent, boards: Boards, used: Agent | None = None) -> None:
    """Raise `PolicyError`, naming the position, if answers of an agent in one of these contradict each other.

    An agent that declares a fixed policy gives the same answer in a batch, in a batch of one and by `policy`,
    and in a game it plays cells that have a probability there; if it overrides `choose` alone, the same cell
    whatever the random numbers are. So do the agents that it is made of. `used` is the agent whose batch
    answers the analysis uses: by default this one, else one that keeps its answers. The positions are open
    ones of one ply; `ALL_COMPARED` says how many are looked at.
    """
    for part in _with_parts(agent):
        if part.is_fixed and not _is_unchanged(part):
            changes_ours = not _is_ours(type(part)) and any(
                _is_ours(kind) for kind in type(part).__mro__ if kind is not Agent
            )
            has_several = (
                changes_ours
                or _is_foreign(part, "policies")
                or (part.plays_by == "choose" and _is_foreign(part, "choose"))
            )
            most = min(len(boards), ALL_COMPARED if has_several else SOME_COMPARED)
            some = boards[np.unique(np.linspace(0, len(boards) - 1, most).astype(np.int64))]  # evenly spread
            for start in range(0, len(some), _BATCH):
                _compare(part, some[start : start + _BATCH], used if used and part is agent else part)


def _compare(agent: Agent, boards: Boards, used: Agent) -> None:
    answers = checked_policies(used, boards).copy()  # an agent may write into what it has given
    for position, in_batch in zip(boards, answers, strict=True):
        for how, answer in _answers_alone(agent, position):
            differs = (answer > 0) != (in_batch > 0)  # rounding alone may decide that of the least numbers
            is_other = (np.maximum(answer, in_batch)[differs] > _LEAST).any()
            if is_other or np.abs(answer - in_batch).max() > ROUNDING:
                tie = "; does rounding decide between equal scores?" if agent.asks_others else ""
                raise PolicyError(
                    f"{agent!r} is no fixed policy: in {position} its policies gave "
                    f"{in_batch.round(6).tolist()}, {how} gives {answer.round(6).tolist()}{tie}"
                )
        if _plays_by_itself(agent):
            cell = chosen_cell(agent, position, generator_of(position))
            if not in_batch[cell]:
                raise PolicyError(
                    f"{agent!r} is no fixed policy: in {position} its policies give "
                    f"{in_batch.round(6).tolist()}, and in a game it plays {cell}"
                )


def _plays_by_itself(agent: Agent) -> bool:
    """True if the agent's games may be played by anything but draws from its `policy`."""
    kind = type(agent)
    if agent.plays_by == "choose":
        return False
    return not is_default(kind, "choose") or kind.__getattribute__ is not object.__getattribute__


def _answers_alone(agent: Agent, position: Position) -> Iterator[tuple[str, Any]]:
    """Each way to ask for the answer in one position: its name, and the answer `[cells]`."""
    if agent.plays_by == "choose":
        for number in range(2):
            rng = np.random.default_rng((number, position.mine, position.theirs))
            yield "its choose", np.eye(agent.game.n_cells)[chosen_cell(agent, position, rng)]
        return
    yield "its policy", checked_policy(agent, position)
    if _is_foreign(agent, "policies") and _is_foreign(agent, "policy"):  # else one of them calls the other
        yield "a batch of one", checked_policies(agent, Boards.of([position]))[0]
