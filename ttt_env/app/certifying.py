"""`ttt certify`: agents, programs and models judged, and what is kept of it where that is asked for."""

import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import typer

from ttt_env.agent import Agent, AskedAgent, agent_class, make_agent
from ttt_env.analysis.asking import Asked
from ttt_env.analysis.certificate import certify
from ttt_env.analysis.dossier import Strength, dossier
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.app.console import (
    STANDARD_OUTPUT,
    ProgressLine,
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
class Order:
    """An order of `ttt certify`: agents, or the `command` of a program, or the `model` at a `url`.

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


def certify_and_tell(order: Order) -> int:
    """Print what is true about the agents, the program or the model, and save it where the order says.

    Returns the exit code: 0 if all of them are unbeatable, else 1.

    Raises `ParameterError` for an order that does not fit together, before anything is computed.
    """
    check_outputs(order.out, STANDARD_OUTPUT if order.as_json else None)
    if order.command is not None or order.url is not None:
        if order.agents or order.ray or (order.command is not None and order.url is not None):
            raise ParameterError("one kind is judged at a time: agents, or a --command, or a --url")
        return _certify_one(order, *_asked_player(order))
    is_program = len(order.agents) == 1 and order.settings.keys() <= {"timeout", "startup"}
    if (order.settings and not is_program) or order.model is not None:
        raise ParameterError("--model, --timeout and the like belong to a program, a --command or a --url")
    if not order.agents:
        raise ParameterError("name an agent, or give a --command, or a --url and a --model")
    if len(order.agents) == 1:
        return _certify_agent(order)
    if order.answers is not None:
        raise ParameterError("--answers is for one agent")
    if order.out is not None:
        raise ParameterError("--out is for one agent")
    return _certify_several(order)


def _certify_agent(order: Order) -> int:
    (agent,) = order.agents
    if order.ray:
        raise ParameterError("--ray shares out the work on several agents, and here is one")
    spec = spec_of(agent)
    if order.settings:
        if agent_class(split_spec(spec).name) is not CommandAgent:
            raise ParameterError(f"--timeout and --startup are for programs, and {agent} is not one")
        spec = with_parameters(spec, order.settings)
    with redirect_stdout(sys.stderr):
        player = make_agent(spec, order.game)
    if order.workers is not None and player.plays_by != "choose":
        raise ParameterError(
            f"--workers shares out the work on several agents, and here is one, {agent}, "
            "which is asked about many positions at once"
        )
    name = player.label if isinstance(player, AskedAgent) else agent
    return _certify_one(order, player, name, file_of(spec))


def _certify_several(order: Order) -> int:
    specs = [spec_of(agent) for agent in order.agents]
    with progress_line(f"certify {len(specs)} agents") as line, redirect_stdout(sys.stderr):
        certificates = certify(
            specs,
            order.game,
            workers=order.workers,
            backend="ray" if order.ray else "loky",
            address=order.address,
            progress=line.count,
        )
    if order.as_json:
        print_json(
            [{"agent": {"name": name}, **certificate.to_dict()} for name, certificate in certificates.items()]
        )
    else:
        typer.echo(verdicts(certificates))
    return int(not all(certificate.unbeatable for certificate in certificates.values()))


def _certify_one(order: Order, player: Agent, name: str, file: Path | None = None) -> int:
    with progress_line(f"certify {name}") as line, redirect_stdout(sys.stderr):
        try:
            table = PolicyTable.of(
                player, progress=_pace(player, line), workers=order.workers or 1, answers=order.answers
            )
            strength = Strength(table)
            text = scorecard(strength, name)
            facts = dossier(player, name=name, file=file, strength=strength) if _wants_facts(order) else {}
        finally:
            if isinstance(player, ChatAgent | CommandAgent):
                player.close()
    if isinstance(player, AskedAgent) and is_enumerable(player.game):
        facts |= {"refutation_text": refutation_text(strength.certificate)}
    if order.as_json:
        print_json(facts)
    else:
        typer.echo(text, err=order.out == STANDARD_OUTPUT)
    if order.out is not None:
        is_table = order.out.suffix == ".npz"
        write_file(order.out, table.save if is_table else partial(write_json, facts))
        if order.out != STANDARD_OUTPUT and not order.as_json:
            typer.echo(f"{'Policy table' if is_table else 'Certificate'}: {order.out}")
    return int(not strength.certificate.unbeatable)


def _wants_facts(order: Order) -> bool:
    return order.as_json or (order.out is not None and order.out.suffix != ".npz")


def _pace(player: Agent, line: ProgressLine) -> Callable[[Asked], None]:
    """What says how many questions are answered and, of a player outside, how many a second."""
    if not isinstance(player, AskedAgent):
        return lambda asked: line.count(asked.positions, asked.at_most)
    begun = monotonic()

    def say(asked: Asked) -> None:
        rate, left = asked.positions / max(monotonic() - begun, 1e-3), asked.at_most - asked.positions
        line.say(f"{asked.positions:,} answers, {rate:.1f}/s, at most {left:,} left")

    return say


def _asked_player(order: Order) -> tuple[ChatAgent | CommandAgent, str]:
    """The program or the model of an order, and what to call it."""
    if order.command is not None:
        if order.model is not None or not order.settings.keys() <= {"timeout", "startup"}:
            raise ParameterError("--model, --temperature and --key-variable belong to a --url")
        program = CommandAgent(order.game, order.command, **order.settings)
        return program, program.label
    if order.url is None or order.model is None:
        raise ParameterError("--url needs a --model: the name of the model there")
    if "startup" in order.settings:
        raise ParameterError("--startup belongs to a --command")
    return ChatAgent(order.game, order.url, order.model, **order.settings), order.model
