"""Many agents judged at once, by processes that share out the work.

What is true of the game alone, its layers and its solution, is computed once in each process, by the first
agent that is judged there (`reachable`, `solve`); the others only add what is their own.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from ttt_env.agent import AgentLike, game_of, make_agent, named_agents
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.evaluation import Exploitability, exploitability
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import check_enumerable
from ttt_env.workers import Backend, Progress, Workers

Verdict = TypeVar("Verdict")


def certify_all(
    agents: Iterable[AgentLike] | Mapping[str, AgentLike],
    game: Game | str | None = None,
    *,
    workers: int | None = None,
    backend: Backend = "loky",
    address: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Certificate]:
    """The certificate of each of these agents by name, in their order: what `certify` gives for each alone.

    Names are as in `tournament`: a spec string is its own name, a mapping gives names. The work is shared out
    as there, to `workers` processes of this machine or, with `backend="ray"`, of the Ray cluster at
    `address`; each agent travels once. A process takes about 1.2 GB for games of 16 cells, 0.1 GB for games
    of up to 12, and what the agent itself takes. `progress` is called with the number of agents
    that have been judged and of all.

    Raises, before an agent is asked, `GameTooLargeError` if the game cannot be enumerated, `ParameterError`
    for two agents of one name or one that cannot be sent to another process, and the error of an agent that
    cannot be made; then the errors of `certify`, with a note that names the agent.

    >>> {name: each.unbeatable for name, each in certify_all(["minimax", "block"]).items()}
    {'minimax': True, 'block': False}
    """
    return _judged(certify, agents, game, Workers(workers, backend, address), progress)


def exploitability_all(
    agents: Iterable[AgentLike] | Mapping[str, AgentLike],
    game: Game | str | None = None,
    *,
    workers: int | None = None,
    backend: Backend = "loky",
    address: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Exploitability]:
    """The exploitability of each of these agents by name, in their order, as `exploitability` computes it.

    Arguments and errors are those of `certify_all`.

    >>> {name: each.exploitability for name, each in exploitability_all(["minimax", "brute-force"]).items()}
    {'minimax': 0.0, 'brute-force': 0.5}
    """
    return _judged(exploitability, agents, game, Workers(workers, backend, address), progress)


def _judged(
    judge: Callable[[AgentLike, Game], Verdict],
    agents: Iterable[AgentLike] | Mapping[str, AgentLike],
    game: Game | str | None,
    workers: Workers,
    progress: Progress | None,
) -> dict[str, Verdict]:
    entrants = named_agents(agents)
    judged_on = game_of(game, *entrants.values())
    check_enumerable(judged_on)
    for agent in entrants.values():
        make_agent(agent, judged_on)  # one that cannot be made raises its error now, not after hours of work
    workers.check_sendable({_name_of(name, agent): agent for name, agent in entrants.items()})
    with workers:
        verdicts = workers.run(
            partial(_judge, judge, judged_on), list(entrants.items()), named=_name_of, progress=progress
        )
    return dict(zip(entrants, verdicts, strict=True))


def _judge(judge: Callable[[AgentLike, Game], Verdict], game: Game, name: str, agent: AgentLike) -> Verdict:
    return judge(agent, game)


def _name_of(name: str, agent: AgentLike) -> str:
    return f"the agent {name!r}"
