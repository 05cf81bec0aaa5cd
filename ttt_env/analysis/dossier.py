"""The dossier of an agent, a JSON file to keep beside its model, with all results, exact or sampled."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ttt_env.agent import AgentLike, AskedAgent, game_of, make_agent, named_agents
from ttt_env.analysis.asking import AskProgress
from ttt_env.analysis.certificate import Certificate, blunders_everywhere, certify
from ttt_env.analysis.evaluation import exploitability, match
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.analysis.results import Exploitability, Match
from ttt_env.analysis.versions import versions
from ttt_env.rules import Game, is_tabulated
from ttt_env.storage import game_to_dict
from ttt_env.storage.codec import encode_value

LADDER = ("random", "block", "win-block", "weights", "newell-simon", "minimax")
SCORECARD_FORMAT = "ttt_env scorecard 1"


class Strength:
    """The results about a policy table, each computed once, at its first use."""

    def __init__(self, table: PolicyTable) -> None:
        self.table = table
        self._matches: dict[str, Match] = {}

    @property
    def names_no_cell(self) -> bool:
        """True if the agent has named no free cell in any position, such as a bot that cannot be loaded."""
        return len(self.table.forfeits) == self.table.n_queries

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the table, as by `certify`."""
        return certify(self.table)

    @cached_property
    def exploitability(self) -> Exploitability:
        """The exploitability of the table, as by `ttt_env.exploitability`."""
        return exploitability(self.table)

    def match(self, opponent: AgentLike) -> Match:
        """The exact result against an opponent."""
        if not isinstance(opponent, str):  # two agents of one class may look the same
            return match(self.table, opponent, self.table.game, exact=True)
        if opponent not in self._matches:
            self._matches[opponent] = match(self.table, opponent, self.table.game, exact=True)
        return self._matches[opponent]


def dossier(
    agent: AgentLike,
    game: Game | str | None = None,
    *,
    name: str | None = None,
    file: str | Path | None = None,
    opponents: Sequence[AgentLike] | Mapping[str, AgentLike] = LADDER,
    progress: AskProgress | None = None,
    workers: int = 1,
    answers: str | Path | None = None,
    strength: Strength | None = None,
) -> dict[str, Any]:
    """The certificate of an agent, its exact results, and what is needed to reproduce them, for `write_json`.

    It has the entries of `Certificate.to_dict`, so that `Certificate.load` reads the file, and more: exact
    results against `opponents`, the exploitability and the versions of the packages used. `file` is the
    model's file, whose SHA-256 is recorded. If the `strength` is of a table that ends at the first lost game,
    `exploitability` is null and there are no results.

    `name` is the name of the agent, by default its spec string, or the name of its function or class.
    Opponents are named in the same way unless a mapping names them; a name that is taken gets a number, as in
    "name (2)".

    `optimal_everywhere` is true if the agent blunders in no position of the whole game; it and
    `blunders_everywhere` are null on games of more than 12 cells, and for a program, a prompted model or a
    table, which is queried only in positions that it can reach. `progress`, `workers` and `answers` are as in
    `certify`; with its `strength` the agent is not queried again.

    Raises `ParameterError` for `opponents` that are not a collection of agents, and the errors of `certify`.
    """
    rivals = named_agents(opponents, "opponents", numbered=True)
    player = make_agent(agent, game_of(game, agent))
    if strength is None:
        table = PolicyTable.of(player, complete=True, progress=progress, workers=workers, answers=answers)
        strength = Strength(table)
    facts = strength.certificate.to_dict()
    exploited = strength.exploitability if strength.certificate.is_complete else None
    identity = _identity(agent, name, file)
    facts["label"] = identity["name"]
    rivals = {} if exploited is None else rivals
    results = {
        opponent_name: {"as_X": result.as_x._asdict(), "as_O": result.as_o._asdict()}
        for opponent_name, result in zip(rivals, map(strength.match, rivals.values()), strict=True)
    }
    is_asked_everywhere = is_tabulated(strength.table.game) and not isinstance(
        player, AskedAgent | PolicyTable
    )
    all_blunders = blunders_everywhere(player) if is_asked_everywhere else None
    return {
        "format": facts.pop("format"),
        "game": facts.pop("game"),
        "agent": identity,
        "optimal_everywhere": None if all_blunders is None else not len(all_blunders),
        **facts,
        "exploitability": None
        if exploited is None
        else {"as_X": exploited.as_x, "as_O": exploited.as_o, "mean": exploited.exploitability},
        "results": results,
        "blunders_everywhere": None if all_blunders is None else encode_value(all_blunders),
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
    `seed`. `results` has `Match.to_dict` for each opponent, with the 95 % confidence interval of the score.
    `name`, `file` and the names of the opponents are as in `dossier`.

    Raises `ParameterError` for `opponents` that are not a collection of agents, and the errors of `match`.
    """
    game = game_of(game, agent)
    player = make_agent(agent, game)
    results = {
        opponent_name: match(player, opponent, game, exact=False, games=games, rng=seed).to_dict()
        for opponent_name, opponent in named_agents(opponents, "opponents", numbered=True).items()
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
    """The name of the agent, by default by `named_agents`, the name of its file, and the file's hash."""
    name = name or next(iter(named_agents([agent])))
    if file is None:
        return {"name": name, "file": None, "sha256": None}
    path = Path(file)
    return {"name": name, "file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
