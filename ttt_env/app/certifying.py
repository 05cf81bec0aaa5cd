"""`ttt certify`: certificates of agents, programs and models, printed and saved."""

import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import typer

from ttt_env.agent import Agent, AskedAgent, make_agent
from ttt_env.analysis.asking import QueryCount
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.dossier import Strength, dossier
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.app.console import (
    STANDARD_OUTPUT,
    ProgressLine,
    check_ending,
    check_outputs,
    print_json,
    progress_line,
    write_file,
)
from ttt_env.app.scorecard import scorecard, verdicts
from ttt_env.errors import ParameterError
from ttt_env.rules import Game, is_enumerable
from ttt_env.storage.codec import write_json
from ttt_env.storage.models import file_of, label_of, spec_of
from ttt_env.text import refutation_text


class CertifyOptions(NamedTuple):
    """The options of `ttt certify`."""

    agents: list[str]
    game: Game
    out: Path | None
    workers: int
    answers: Path | None
    as_json: bool


def certify_and_print(options: CertifyOptions) -> int:
    """Print the verdict on the agents, and save the files of the options.

    Returns the exit code: 0 if all of them are unbeatable, 1 if one is beatable, 3 where that is not known.

    Raises `ParameterError` for options that do not fit together, before anything is computed.
    """
    check_outputs(options.out, STANDARD_OUTPUT if options.as_json else None)
    check_ending("--out", options.out, {".npz": "policy table", ".json": "certificate"})
    if len(options.agents) == 1:
        return _certify_one(options)
    for name, path in (("--out", options.out), ("--answers", options.answers)):
        if path is not None:
            raise ParameterError(f"{name} is for one agent: certify the agents one by one")
    return _certify_several(options)


def _certify_several(options: CertifyOptions) -> int:
    players = dict(_named_player(agent, options) for agent in options.agents)
    certificates: dict[str, Certificate] = {}
    with progress_line(f"certify {len(players)} agents") as line, redirect_stdout(sys.stderr):
        for name, player in players.items():
            line.count(len(certificates), len(players))
            with _closing(player):
                certificates[name] = certify(player, workers=options.workers)
    if options.as_json:
        print_json(
            [{"agent": {"name": name}, **certificate.to_dict()} for name, certificate in certificates.items()]
        )
    else:
        typer.echo(verdicts(certificates))
    return _status(certificates.values())


def _named_player(agent: str, options: CertifyOptions) -> tuple[str, Agent]:
    """The agent, and its name in the report: as it was typed, but without what may be secret."""
    with redirect_stdout(sys.stderr):
        player = make_agent(spec_of(agent), options.game)
    if options.workers > 1 and player.plays_by != "choose":
        raise ParameterError(
            f"--workers is for agents that answer one question at a time; {agent} answers in batches: omit "
            "--workers"
        )
    return player.label if isinstance(player, AskedAgent) else label_of(agent), player


def _closing(player: Agent) -> AbstractContextManager[object]:
    """A block after which the processes or the connections of a player end."""
    return player if isinstance(player, AskedAgent) else nullcontext()


def _certify_one(options: CertifyOptions) -> int:
    (agent,) = options.agents
    name, player = _named_player(agent, options)
    is_table = options.out is not None and options.out.suffix == ".npz"
    with progress_line(f"certify {name}") as line, redirect_stdout(sys.stderr), _closing(player):
        table = PolicyTable.of(
            player,
            complete=True if is_table else None,
            progress=_progress_reporter(player, line),
            workers=options.workers,
            answers=options.answers,
        )
        strength = Strength(table)
        text = scorecard(strength, name)
        facts: dict[str, Any] = {}
        if options.as_json or (options.out is not None and not is_table):
            facts = dossier(player, name=name, file=file_of(spec_of(agent)), strength=strength)
    if isinstance(player, AskedAgent) and is_enumerable(player.game):
        facts |= {"refutation_text": refutation_text(strength.certificate)}
    if options.as_json:
        print_json(facts)
    else:
        typer.echo(text, err=options.out == STANDARD_OUTPUT)
    if options.out is not None:
        write_file(options.out, table.save if is_table else partial(write_json, facts))
        if options.out != STANDARD_OUTPUT and not options.as_json:
            typer.echo(f"{'Policy table' if is_table else 'Certificate'}: {options.out}")
    return _status([strength.certificate])


def _status(certificates: Iterable[Certificate]) -> int:
    verdicts = {certificate.unbeatable for certificate in certificates}
    return 1 if False in verdicts else 3 if None in verdicts else 0


def _progress_reporter(player: Agent, line: ProgressLine) -> Callable[[QueryCount], None]:
    """The function that reports the number of answers and, for an external bot, answers per second."""
    if not isinstance(player, AskedAgent):
        return lambda queries: line.count(queries.positions, queries.at_most)
    begin = monotonic()

    def say(queries: QueryCount) -> None:
        rate, n_left = queries.positions / max(monotonic() - begin, 1e-3), queries.at_most - queries.positions
        line.say(f"{queries.positions:,} answers, {rate:.1f}/s, at most {n_left:,} left")

    return say
