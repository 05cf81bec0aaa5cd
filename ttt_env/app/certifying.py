"""`ttt certify`: certificates of agents, programs and models, printed and saved."""

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import typer

from ttt_env.agent import Agent, AskedAgent, agent_class, make_agent
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
from ttt_env.bots import ChatAgent, CommandAgent
from ttt_env.errors import ParameterError
from ttt_env.rules import Game, is_enumerable, split_spec, with_parameters
from ttt_env.storage.codec import write_json
from ttt_env.storage.models import file_of, spec_of
from ttt_env.text import refutation_text


@dataclass(frozen=True)
class CertifyOptions:
    """The options of `ttt certify`: agents, or the `command` of a program, or the `model` at a `url`.

    `settings` are parameters of `CommandAgent` or `ChatAgent`, by name. `address` is the address of Ray.
    """

    agents: list[str]
    game: Game
    out: Path | None
    workers: int | None
    ray: bool
    address: str | None
    as_json: bool
    command: str | None
    url: str | None
    model: str | None
    settings: Mapping[str, Any]
    answers: Path | None


def certify_and_print(options: CertifyOptions) -> int:
    """Print the verdict on the agents, the program or the model, and save the files of the options.

    Returns the exit code: 0 if all of them are unbeatable, 1 if one is beatable, 3 where that is not known.

    Raises `ParameterError` for options that do not fit together, before anything is computed.
    """
    check_outputs(options.out, STANDARD_OUTPUT if options.as_json else None)
    check_ending("--out", options.out, {".npz": "policy table", ".json": "certificate"})
    if options.command is not None or options.url is not None:
        if options.agents or options.ray or (options.command is not None and options.url is not None):
            raise ParameterError(
                "give agents, a --command or a --url: one of these, and --ray only with agents"
            )
        return _certify_one(options, *_external_player(options))
    is_program = len(options.agents) == 1 and options.settings.keys() <= {"timeout", "startup"}
    if (options.settings and not is_program) or options.model is not None:
        names = [*(["model"] if options.model is not None else []), *options.settings]
        names_text = ", ".join(f"--{name.replace('_', '-')}" for name in names)
        raise ParameterError(f"{names_text}: only for a program (--command) or a language model (--url)")
    if not options.agents:
        raise ParameterError("name an agent, or give a --command, or a --url and a --model")
    if len(options.agents) == 1:
        return _certify_agent(options)
    if options.answers is not None:
        raise ParameterError("--answers is for one agent: certify the agents one by one")
    if options.out is not None:
        raise ParameterError("--out is for one agent: certify the agents one by one, or use --json")
    return _certify_several(options)


def _certify_agent(options: CertifyOptions) -> int:
    (agent,) = options.agents
    if options.ray:
        raise ParameterError("--ray distributes several agents; for one agent omit it")
    spec = spec_of(agent)
    if options.settings:
        if agent_class(split_spec(spec).name) is not CommandAgent:
            raise ParameterError(f"--timeout and --startup are for programs, and {agent} is not one")
        spec = with_parameters(spec, options.settings)
    with redirect_stdout(sys.stderr):
        player = make_agent(spec, options.game)
    if options.workers is not None and player.plays_by != "choose":
        raise ParameterError(
            f"--workers is for several agents, or one that answers one position at a time; {agent} answers "
            "in batches: omit --workers"
        )
    name = player.label if isinstance(player, AskedAgent) else agent
    return _certify_one(options, player, name, file_of(spec))


def _certify_several(options: CertifyOptions) -> int:
    specs = [spec_of(agent) for agent in options.agents]
    with progress_line(f"certify {len(specs)} agents") as line, redirect_stdout(sys.stderr):
        certificates = certify(
            specs,
            options.game,
            workers=options.workers,
            backend="ray" if options.ray else "loky",
            address=options.address,
            progress=line.count,
        )
    if options.as_json:
        print_json(
            [{"agent": {"name": name}, **certificate.to_dict()} for name, certificate in certificates.items()]
        )
    else:
        typer.echo(verdicts(certificates))
    return _status(certificates.values())


def _certify_one(options: CertifyOptions, player: Agent, name: str, file: Path | None = None) -> int:
    is_table = options.out is not None and options.out.suffix == ".npz"
    with progress_line(f"certify {name}") as line, redirect_stdout(sys.stderr):
        try:
            table = PolicyTable.of(
                player,
                complete=True if is_table else None,
                progress=_progress_reporter(player, line),
                workers=options.workers or 1,
                answers=options.answers,
            )
            strength = Strength(table)
            text = scorecard(strength, name)
            facts: dict[str, Any] = {}
            if options.as_json or (options.out is not None and not is_table):
                facts = dossier(player, name=name, file=file, strength=strength)
        finally:
            if isinstance(player, ChatAgent | CommandAgent):
                player.close()
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


def _external_player(options: CertifyOptions) -> tuple[ChatAgent | CommandAgent, str]:
    """The program or the model of the options, and its name."""
    if options.command is not None:
        if options.model is not None or not options.settings.keys() <= {"timeout", "startup"}:
            raise ParameterError("--model, --temperature and --key-variable need a --url")
        program = CommandAgent(options.game, options.command, **options.settings)
        return program, program.label
    if options.url is None or options.model is None:
        raise ParameterError("--url needs a --model: the name of the model there")
    if "startup" in options.settings:
        raise ParameterError("--startup needs a --command")
    return ChatAgent(options.game, options.url, options.model, **options.settings), options.model
