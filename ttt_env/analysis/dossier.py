"""All that is exactly known about an agent, as JSON can hold it: the certificate to keep beside a model."""

import hashlib
import json
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ttt_env.agent import Agent, AgentLike
from ttt_env.analysis.certificate import blunders_everywhere, certify
from ttt_env.analysis.evaluation import exploitability, fixed_agent, match
from ttt_env.rules.boards import Boards
from ttt_env.rules.game import SEATS, Game

FORMAT = "ttt_env certificate 1"
LADDER = ("random", "block", "win-block", "weights", "newell-simon", "minimax")
_PACKAGES = ("ttt-env", "numpy", "torch", "stable-baselines3", "sb3-contrib")
_MOST_LISTED = 1000  # positions; all are counted
_EVERYWHERE = 12  # cells; on larger games only the positions that can come up are looked at


def dossier(
    agent: AgentLike,
    game: Game | str = "tictactoe-v0",
    *,
    name: str | None = None,
    file: str | Path | None = None,
    opponents: Sequence[AgentLike] = LADDER,
) -> dict[str, Any]:
    """The certificate of an agent with its exact results and what is needed to repeat it, for `json.dump`.

    `name` is what to call the agent, by default its spec string; `file` is the model's file, whose SHA-256
    is recorded. `optimal_everywhere`, whether it gives value away in no position of the game at all, and
    `blunders_everywhere` are null on games of more than 12 cells. Lists of positions are cut off after
    1,000.

    Raises the errors of `certify`.
    """
    fixed = fixed_agent(agent, game)
    found, worst = certify(fixed, fixed.game), exploitability(fixed, fixed.game)
    everywhere = _everywhere(fixed)
    return {
        "format": FORMAT,
        "game": {"name": fixed.game.name, "value": found.game_value},
        "agent": {"name": name or str(agent), **_identity(file)},
        "unbeatable": found.unbeatable,
        "optimal_everywhere": None if everywhere is None else not len(everywhere),
        "worst_case": found.worst_case,
        "refutations": {seat: record and str(record) for seat, record in found.refutations.items()},
        "exploitability": {"as_X": worst.as_x, "as_O": worst.as_o, "mean": worst.exploitability},
        "results": {str(opponent): _results(fixed, opponent) for opponent in opponents},
        "blunders": _listed(found.blunders),
        "missed_wins": _listed(found.missed_wins),
        "blunders_everywhere": None if everywhere is None else _listed(everywhere),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def save_dossier(found: dict[str, Any], path: str | Path) -> None:
    """Write it as JSON."""
    Path(path).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _everywhere(agent: Agent) -> Boards | None:
    return blunders_everywhere(agent, agent.game) if agent.game.n_cells <= _EVERYWHERE else None


def _identity(file: str | Path | None) -> dict[str, str | None]:
    """The name of the model's file and the hash of its content."""
    if file is None:
        return {"file": None, "sha256": None}
    path = Path(file)
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _results(agent: Agent, opponent: AgentLike) -> dict[str, dict[str, float]]:
    played = match(agent, opponent, agent.game)
    return {
        f"as_{seat}": result._asdict() for seat, result in zip(SEATS, (played.as_x, played.as_o), strict=True)
    }


def _listed(boards: Boards) -> dict[str, Any]:
    return {"count": len(boards), "positions": [str(position) for position in boards[:_MOST_LISTED]]}


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
