"""Many agents judged at once, by processes that share the work.

The facts of the game alone, its layers and its solution, are computed once in each process, by the first
agent that is judged there (`reachable`, `solve`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial, update_wrapper
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar, cast, overload

from ttt_env.agent import Agent, AgentLike, game_of, make_agent, named_agents
from ttt_env.analysis.asking import AskProgress
from ttt_env.errors import ParameterError
from ttt_env.rules import Game
from ttt_env.workers import Backend, Progress, Workers

Verdict = TypeVar("Verdict")
Agents: TypeAlias = list[Any] | tuple[Any, ...] | Mapping[str, Any]
"""Several agents, in a list or a mapping that gives them names."""


def is_one(agents: AgentLike | Agents) -> TypeGuard[AgentLike]:
    """True for one agent, False for a collection of agents."""
    return (
        not isinstance(agents, Iterable)
        or isinstance(agents, str | bytes | bytearray | Agent)
        or callable(agents)
    )


class Judge(Protocol[Verdict]):
    """A function that judges one agent, or several by processes that share the work."""

    @overload
    def __call__(
        self,
        agent: AgentLike,
        game: Game | str | None = None,
        *,
        progress: AskProgress | None = None,
        workers: int | None = None,
        answers: str | Path | None = None,
        **options: Any,
    ) -> Verdict: ...

    @overload
    def __call__(
        self,
        agent: Agents,
        game: Game | str | None = None,
        *,
        progress: Progress | None = None,
        workers: int | None = None,
        backend: Backend = "loky",
        address: str | None = None,
        **options: Any,
    ) -> dict[str, Verdict]: ...


def one_or_several(judge: Callable[..., Verdict]) -> Judge[Verdict]:
    """Extend the function `judge` of one agent to several agents, which are judged as by `certify`."""

    def wrapper(
        agent: AgentLike | Agents,
        game: Game | str | None = None,
        *,
        progress: Any = None,
        workers: int | None = None,
        answers: str | Path | None = None,
        backend: Backend = "loky",
        address: str | None = None,
        **options: Any,
    ) -> Verdict | dict[str, Verdict]:
        if is_one(agent):
            if backend != "loky" or address is not None:
                raise ParameterError("backend and address are for several agents: give a list of them")
            n_workers = 1 if workers is None else workers
            return judge(agent, game, progress=progress, workers=n_workers, answers=answers, **options)
        if answers is not None:
            raise ParameterError("answers=… is the file of one agent, but several were given")
        return _judge_all(
            partial(wrapper, **options), agent, game, Workers(workers, backend, address), progress
        )

    update_wrapper(wrapper, judge, ("__module__", "__name__", "__qualname__", "__doc__"))
    del wrapper.__wrapped__  # type: ignore[attr-defined]  # the signature is its own
    own, of_one = signature(wrapper), signature(judge).parameters
    parameters = own.parameters.values()
    options = [each for name, each in of_one.items() if name not in own.parameters]
    explicit = [each for each in parameters if each.kind is not Parameter.VAR_KEYWORD]
    verdict = signature(judge).return_annotation
    del wrapper.__annotations__["return"]  # it names a class of the module of `judge`
    wrapper.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*explicit, *options], return_annotation=f"{verdict} | dict[str, {verdict}]"
    )
    return cast(Judge[Verdict], wrapper)


def _judge_all(
    judge: Callable[..., Any], agents: Any, game: Game | str | None, team: Workers, progress: Progress | None
) -> dict[str, Any]:
    entrants: dict[str, AgentLike] = named_agents(agents)
    judged_on = game_of(game, *entrants.values())
    for agent in entrants.values():
        make_agent(agent, judged_on)  # an agent that cannot be made raises its error now, not after hours
    verdicts = team.map(
        partial(_judge, judge, judged_on),
        list(entrants.items()),
        named=_name_of,
        progress=progress or (lambda n_done, total: None),
    )
    return dict(zip(entrants, verdicts, strict=True))


def _judge(judge: Callable[..., Any], game: Game, name: str, agent: AgentLike) -> Any:
    return judge(agent, game)


def _name_of(name: str, agent: AgentLike) -> str:
    return f"the agent {name!r}"
