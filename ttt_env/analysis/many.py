"""Many agents judged at once, by processes that share out the work.

The facts of the game alone, its layers and its solution, are computed once in each process, by the first
agent that is judged there (`reachable`, `solve`); the others only add their own.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeGuard, TypeVar

from ttt_env.agent import Agent, AgentLike, game_of, make_agent, named_agents
from ttt_env.errors import ParameterError
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import check_enumerable
from ttt_env.workers import Backend, Progress, Workers

Verdict = TypeVar("Verdict")
Agents: TypeAlias = list[Any] | tuple[Any, ...] | Mapping[str, Any]
"""Several agents: a list, or a mapping that gives them names."""


def is_one(agents: AgentLike | Agents) -> TypeGuard[AgentLike]:
    """True if this is one agent, and not a collection of agents."""
    return not isinstance(agents, Iterable) or isinstance(agents, str | Agent) or callable(agents)


def check_one(backend: Backend, address: str | None) -> None:
    """Raise `ParameterError` for arguments that share out the work on several agents."""
    if backend != "loky" or address is not None:
        raise ParameterError("backend and address share out the work on several agents, and here is one")


def judged_all(
    judge: Callable[..., Verdict],
    agents: Any,
    game: Game | str | None,
    workers: int | None,
    backend: Backend,
    address: str | None,
    answers: object,
    progress: Progress | None,
) -> dict[str, Verdict]:
    """The verdict of `judge(agent, game)` on each of these agents, by name: see `certify`."""
    if answers is not None:
        raise ParameterError("answers=… is the file of one agent, and here are several")
    entrants: dict[str, AgentLike] = named_agents(agents)
    judged_on = game_of(game, *entrants.values())
    check_enumerable(judged_on)
    for agent in entrants.values():
        make_agent(agent, judged_on)  # one that cannot be made raises its error now, not after hours of work
    team = Workers(workers, backend, address)
    team.check_sendable({_name_of(name, agent): agent for name, agent in entrants.items()})
    with team:
        verdicts = team.run(
            partial(_judge, judge, judged_on), list(entrants.items()), named=_name_of, progress=progress
        )
    return dict(zip(entrants, verdicts, strict=True))


def _judge(judge: Callable[..., Verdict], game: Game, name: str, agent: AgentLike) -> Verdict:
    return judge(agent, game)


def _name_of(name: str, agent: AgentLike) -> str:
    return f"the agent {name!r}"
