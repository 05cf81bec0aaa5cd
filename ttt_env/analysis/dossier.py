"""All that is known about an agent, for a JSON file to keep beside its model: exactly, or sampled."""

import hashlib
import platform
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ttt_env.agent import Agent, AgentLike, AskedAgent, game_of, make_agent, named_agents
from ttt_env.analysis.certificate import Certificate, blunders_everywhere, certify, listed
from ttt_env.analysis.evaluation import exploitability, match
from ttt_env.analysis.recorded import Asking, RecordedAgent, answering
from ttt_env.analysis.results import Exploitability, Match
from ttt_env.rules import Game, is_tabulated
from ttt_env.storage import game_to_dict

LADDER = ("random", "block", "win-block", "weights", "newell-simon", "minimax")
SCORECARD_FORMAT = "ttt_env scorecard 1"
_PACKAGES = ("ttt-env", "numpy", "torch", "stable-baselines3", "sb3-contrib")


class Strength:
    """All that is computed about an agent, each part once, when it is first asked for."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._matches: dict[str, Match] = {}

    @classmethod
    def of(cls, agent: "AgentLike | Strength", game: Game | str | None = None, *asking: Any) -> "Strength":
        """The strength of an agent that answers by `answering`; `asking` are its further arguments."""
        return agent if isinstance(agent, Strength) else cls(answering(agent, game, *asking))

    @cached_property
    def certificate(self) -> Certificate:
        """As `certify` makes it."""
        return certify(self.agent)

    @cached_property
    def exploitability(self) -> Exploitability:
        """As `ttt_env.exploitability` computes it."""
        return exploitability(self.agent)

    def match(self, opponent: AgentLike) -> Match:
        """The exact result against an opponent."""
        if not isinstance(opponent, str):  # two agents of one class may look the same
            return match(self.agent, opponent, self.agent.game, exact=True)
        if opponent not in self._matches:
            self._matches[opponent] = match(self.agent, opponent, self.agent.game, exact=True)
        return self._matches[opponent]


def dossier(
    agent: AgentLike | Strength,
    game: Game | str | None = None,
    *,
    name: str | None = None,
    file: str | Path | None = None,
    opponents: Sequence[AgentLike] | Mapping[str, AgentLike] = LADDER,
    progress: Asking | None = None,
    workers: int = 1,
    answers: str | Path | None = None,
) -> dict[str, Any]:
    """The certificate of an agent, its exact results, and what is needed to repeat them, for `write_json`.

    It has the entries of `Certificate.to_dict`, so that `Certificate.load` reads the file, and more: exact
    results against `opponents`, the exploitability and the versions of the packages used. `file` is the
    model's file, whose SHA-256 is recorded.

    `name` is the name of the agent, by default its spec string, or the name of its function or class.
    Opponents are named the same way unless a mapping names them; a name that is taken gets a number, as in
    "name (2)".

    `optimal_everywhere` is true if the agent gives value away in no position of the game at all; it and
    `blunders_everywhere` are null on games of more than 12 cells, and for a program or a prompted model,
    which is asked only in positions that it can reach. `progress`, `workers` and `answers` are as in
    `certify`.

    Raises `ParameterError` for `opponents` that are no collection of agents, and the errors of `certify`.
    """
    rivals = named_agents(opponents, "opponents", numbered=True)
    strength = Strength.of(agent, game, progress, workers, answers)
    facts, exploited = strength.certificate.to_dict(), strength.exploitability
    results = {
        called: {"as_X": met.as_x._asdict(), "as_O": met.as_o._asdict()}
        for called, met in zip(rivals, map(strength.match, rivals.values()), strict=True)
    }
    judged = strength.agent
    asked = judged.agent if isinstance(judged, RecordedAgent) else judged
    is_costly = isinstance(asked, AskedAgent) and not asked.is_cheap  # too many questions to ask
    all_blunders = None if is_costly or not is_tabulated(judged.game) else blunders_everywhere(judged)
    return {
        "format": facts.pop("format"),
        "game": facts.pop("game"),
        "agent": _identity(asked if isinstance(agent, Strength) else agent, name, file),
        "optimal_everywhere": None if all_blunders is None else not len(all_blunders),
        **facts,
        "exploitability": {"as_X": exploited.as_x, "as_O": exploited.as_o, "mean": exploited.exploitability},
        "results": results,
        "blunders_everywhere": None if all_blunders is None else listed(all_blunders),
        "versions": versions(),
    }


def sampled_scorecard(
    agent: AgentLike,
    game: Game | str | None = None,
    *,
    opponents: Sequence[AgentLike] | Mapping[str, AgentLike],
    games: int = 400,
    seed: int = 0,
    name: str | None = None,
    file: str | Path | None = None,
) -> dict[str, Any]:
    """The results of sampled games, for an agent whose strength cannot be computed, for `write_json`.

    It plays `games` games with each of the `opponents`, half of them on each seat, with random numbers from
    `seed`. `results` has `Match.to_dict` for each opponent, with the 95 % confidence interval of the
    score. `name`, `file` and the names of the opponents are as in `dossier`.

    Raises `ParameterError` for `opponents` that are no collection of agents, and the errors of `match`.
    """
    game = game_of(game, agent)
    player = make_agent(agent, game)
    results = {
        called: match(player, opponent, game, exact=False, games=games, rng=seed).to_dict()
        for called, opponent in named_agents(opponents, "opponents", numbered=True).items()
    }
    return {
        "format": SCORECARD_FORMAT,
        "game": game_to_dict(game),
        "agent": _identity(agent, name, file),
        "seed": seed,
        "results": results,
        "versions": versions(),
    }


def _identity(agent: AgentLike, name: str | None, file: str | Path | None) -> dict[str, str | None]:
    """The name of the agent, by default that of `named_agents`, that of its file, and the file's hash."""
    name = name or next(iter(named_agents([agent])))
    if file is None:
        return {"name": name, "file": None, "sha256": None}
    path = Path(file)
    return {"name": name, "file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def versions() -> dict[str, str]:
    """The versions of Python and of the installed packages on which an agent's results depend."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
