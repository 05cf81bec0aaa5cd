"""`ttt certify`: agents, programs and models judged, and the certificates kept."""

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, cast

import typer

from ttt_env.agent import Agent, agent_class, make_agent
from ttt_env.analysis.asking import AnswerFile
from ttt_env.analysis.certificate import certify
from ttt_env.analysis.dossier import Strength, dossier
from ttt_env.analysis.recorded import Asked, answering
from ttt_env.analysis.saved import write_json
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
from ttt_env.bots.program import ProgramAgent
from ttt_env.errors import ParameterError
from ttt_env.rules import Game, split_spec
from ttt_env.storage import as_file_name
from ttt_env.storage.models import file_of, spec_of
from ttt_env.text import refutation_text

_Outside = ChatAgent | ProgramAgent
_MODELS = Path("models")
_NAME = 60  # letters of a player's name in the name of a file


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
        return _certify_asked(order, *_asked_player(order))
    if order.settings or order.model is not None:
        raise ParameterError("--model, --timeout and the like belong to a --command or a --url")
    if not order.agents:
        raise ParameterError("name an agent, or give a --command, or a --url and a --model")
    if len(order.agents) == 1:
        return _certify_one(order)
    if order.answers is not None:
        raise ParameterError("--answers is for one agent")
    if order.out is not None:
        raise ParameterError("--out is for one agent; several are saved beside their models")
    return _certify_several(order)


def _certify_one(order: Order) -> int:
    (agent,) = order.agents
    spec = spec_of(agent)
    if issubclass(agent_class(split_spec(spec).name), ProgramAgent) and not order.ray:
        program = cast(ProgramAgent, make_agent(spec, order.game))
        return _certify_asked(order, program, program.label)
    if order.workers is not None or order.ray:
        raise ParameterError("--workers and --ray share out the work on several agents, and here is one")
    if order.answers is not None:
        raise ParameterError(f"--answers is for a program or a language model, and {agent} is neither")
    file = file_of(spec)
    with progress_line(f"certify {agent}") as line, redirect_stdout(sys.stderr):
        player = answering(spec, order.game, lambda asked: line.count(asked.positions, asked.at_most))
        result = _judged(player, spec, file, order)
    return _tell(result, order)


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
    for spec, certificate in certificates.items():
        if file := file_of(spec):
            write_file(_certificate_of(file), certificate.save)
            if not order.as_json:
                typer.echo(f"Saved as {_certificate_of(file)}")
    return int(not all(certificate.unbeatable for certificate in certificates.values()))


def _certify_asked(order: Order, player: _Outside, name: str) -> int:
    digest = sha256(player.identity.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    usual = f"{as_file_name(name)[:_NAME]}-{as_file_name(player.game.name)}-{digest}.answers.jsonl"
    path = order.answers or _MODELS / usual
    n_kept = len(AnswerFile(path, player.game, player.identity))
    kept = f"{n_kept:,} answers are kept in {path}" if n_kept else f"Every answer is kept in {path}"
    typer.echo(f"{kept}: the same command goes on from there.", err=True)
    with progress_line(f"certify {name}") as line, redirect_stdout(sys.stderr), player:
        judged = answering(player, player.game, _Pace(line, n_kept).say, order.workers or 1, path)
        result = _judged(judged, name, None, order, is_told=True)
    return _tell(result, order)


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


class _Pace:
    """Says how many questions are answered, how many are left, and how many are answered a second."""

    def __init__(self, line: ProgressLine, n_kept: int) -> None:
        self._line, self._n_kept, self._begun = line, n_kept, monotonic()

    def say(self, asked: Asked) -> None:
        """Say how far the asking is; answers that were kept do not count for the rate."""
        rate = max(0, asked.positions - self._n_kept) / max(monotonic() - self._begun, 1e-3)
        left = asked.at_most - asked.positions
        self._line.say(f"{asked.positions:,} answers, {rate:.1f}/s, at most {left:,} left")


class _Judged(NamedTuple):
    text: str
    facts: dict[str, Any]
    certificate: Path | None
    unbeatable: bool


def _judged(player: Agent, name: str, file: Path | None, order: Order, is_told: bool = False) -> _Judged:
    """The scorecard of an agent, its dossier, each if it is wanted, and the file of the dossier.

    The dossier of a player that `is_told` has the refutation in words for it.
    """
    strength, certificate = Strength(player), order.out or (file and _certificate_of(file))
    text = "" if order.as_json else scorecard(strength, player.game, name)
    facts: dict[str, Any] = {}
    if order.as_json or certificate is not None:
        facts = dossier(strength, name=name, file=file)
        if is_told:
            facts["refutation_text"] = refutation_text(strength.certificate)
    return _Judged(text, facts, certificate, strength.certificate.unbeatable)


def _tell(judged: _Judged, order: Order) -> int:
    if order.as_json:
        print_json(judged.facts)
    else:
        typer.echo(judged.text, err=judged.certificate == STANDARD_OUTPUT)
    if judged.certificate is not None:
        write_file(judged.certificate, partial(write_json, judged.facts))
        if judged.certificate != STANDARD_OUTPUT and not order.as_json:
            typer.echo(f"\nSaved as {judged.certificate}")
    return int(not judged.unbeatable)


def _certificate_of(model: Path) -> Path:
    return model.with_suffix(".certificate.json")
