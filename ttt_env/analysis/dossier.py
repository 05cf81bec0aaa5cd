"""All that is exactly known about an agent, as JSON can hold it: the certificate to keep beside a model."""

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ttt_env.agent import Agent, AgentLike
from ttt_env.analysis.certificate import blunders_everywhere, certify, listed
from ttt_env.analysis.evaluation import exploitability, match
from ttt_env.analysis.recorded import Asking, answering
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import SEATS, Game
from ttt_env.rules.sizes import is_tabulated

LADDER = ("random", "block", "win-block", "weights", "newell-simon", "minimax")
_PACKAGES = ("ttt-env", "numpy", "torch", "stable-baselines3", "sb3-contrib")


def dossier(
    agent: AgentLike,
    game: Game | str | None = None,
    *,
    name: str | None = None,
    file: str | Path | None = None,
    opponents: Sequence[AgentLike] = LADDER,
    progress: Asking | None = None,
) -> dict[str, Any]:
    """The certificate of an agent with its exact results and what is needed to repeat it, for `write_json`.

    What `certify` says, as `Certificate.to_dict` gives it, so that `Certificate.load` reads the file, and
    more. `name` is what to call the agent, by default its spec string; `file` is the model's file, whose
    SHA-256 is recorded. `optimal_everywhere`, whether it gives value away in no position of the game at all,
    and `blunders_everywhere` are null on games of more than 12 cells. An agent that does not declare a fixed
    policy is asked once in each position, and `progress` is called meanwhile: see `certify`.

    Raises the errors of `certify`.
    """
    asked = answering(agent, game, progress)
    certificate, worst = certify(asked, asked.game), exploitability(asked, asked.game)
    facts = certificate.to_dict()
    results = {str(opponent): _results(asked, opponent) for opponent in opponents}
    everywhere = _everywhere(asked)
    return {
        "format": facts.pop("format"),
        "game": facts.pop("game"),
        "agent": {"name": name or str(agent), **_identity(file)},
        "optimal_everywhere": None if everywhere is None else not len(everywhere),
        **facts,
        "exploitability": {"as_X": worst.as_x, "as_O": worst.as_o, "mean": worst.exploitability},
        "results": results,
        "blunders_everywhere": None if everywhere is None else listed(everywhere),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _everywhere(agent: Agent) -> Boards | None:
    return blunders_everywhere(agent, agent.game) if is_tabulated(agent.game) else None


def _identity(file: str | Path | None) -> dict[str, str | None]:
    """The name of the model's file and the hash of its content."""
    if file is None:
        return {"file": None, "sha256": None}
    path = Path(file)
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _results(agent: Agent, opponent: AgentLike) -> dict[str, dict[str, float]]:
    played = match(agent, opponent, agent.game, exact=True)
    return {
        f"as_{seat}": result._asdict() for seat, result in zip(SEATS, (played.as_x, played.as_o), strict=True)
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
