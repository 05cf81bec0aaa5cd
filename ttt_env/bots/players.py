"""Those who take part in a tournament, made from its entries."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ttt_env.agent import Agent, AskedAgent, answer_of, make_agent
from ttt_env.analysis.asking import Asked
from ttt_env.analysis.certificate import Certificate, certify
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.bots import CommandAgent
from ttt_env.bots.plan import Entry, TournamentPlan
from ttt_env.errors import TournamentFileError, TttEnvError
from ttt_env.rules import SEATS, Position, check_enumerable, is_enumerable, is_tabulated
from ttt_env.storage import as_file_name
from ttt_env.storage.models import files_of

_DIGITS = 12  # of a fingerprint


def _fingerprints(agent: Agent, entry: Entry) -> Iterator[str]:
    """The identities of the programs that an entry's agent asks, and digests of the files that it names."""
    yield from _identities(agent)
    for file in () if isinstance(agent, AskedAgent) else files_of(str(entry.source)):
        with suppress(OSError):
            yield sha256(file.read_bytes()).hexdigest()[:_DIGITS]


def _identities(agent: Agent) -> Iterator[str]:
    if isinstance(agent, AskedAgent):
        yield agent.identity
    for part in agent.parts:
        yield from _identities(part)


class Players:
    """The agents of a plan. Programs run only while they play, all others stay.

    An agent that declares a fixed policy is asked once in each position on games that are small enough; one
    that the plan calls fixed is always, and its answers are kept in the folder `answers`, to go on from.

    Raises `TournamentFileError`, which names the entry, if one of them cannot be made, or the game is too
    large for what its entry asks for.
    """

    def __init__(self, plan: TournamentPlan, answers: Path, say: Callable[[str], object]) -> None:
        self._plan, self._answers, self._say = plan, answers, say
        self._entries = {entry.name: entry for entry in plan.entries}
        self._others: dict[str, Agent] = {}  # than programs
        self._kept: dict[str, Agent] = {}
        self._programs: dict[str, Agent] = {}
        self._given_up: set[str] = set()
        self.fingerprints: dict[str, str] = {}
        """A fingerprint of the program or the model of each entry that has one."""
        for entry in plan.entries:
            try:
                agent = self._made(entry)
                if entry.is_stationary or entry.certify:
                    check_enumerable(self._plan.game)
                if fingerprint := "+".join(_fingerprints(agent, entry)):
                    self.fingerprints[entry.name] = fingerprint
                if not isinstance(agent, AskedAgent):
                    self._others[entry.name] = agent
            except (TttEnvError, ImportError, OSError) as error:
                raise TournamentFileError(f"entry {entry.name!r} cannot play: {error}") from error

    def close(self) -> None:
        """End all programs."""
        self._end_all_but()
        for agent in self._kept.values():
            _end(agent)

    def _made(self, entry: Entry) -> Agent:
        if entry.kind != "command":
            return make_agent(str(entry.source), self._plan.game)
        settings: dict[str, Any] = {
            "timeout": entry.timeout,
            "folder": entry.folder,
            "memory": entry.memory,
            "startup": entry.startup,
        }
        return CommandAgent(self._plan.game, entry.source, **settings)

    def _table(self, name: str, agent: Agent) -> PolicyTable:
        """The agent's answers, each asked for once; those of a program are kept in a file, to go on from."""

        def tell(asked: Asked) -> None:
            self._say(f"asking {name}, {asked.positions:,} positions")

        if not isinstance(agent, AskedAgent):
            return PolicyTable.of(agent, progress=tell, complete=True)
        file = self._answers / f"{self.file_name(name)}.jsonl"
        return PolicyTable.of(agent, progress=tell, complete=True, answers=file)

    def file_name(self, name: str) -> str:
        """The beginning of the names of an entry's files: its number in the plan, and its name."""
        return f"{self._plan.names.index(name) + 1:03}-{as_file_name(name)}"

    def is_stationary(self, name: str) -> bool:
        """True if the results of an entry may be computed."""
        if name in self._given_up:
            return False
        return self._entries[name].is_stationary or (
            name in self._others and self._others[name].is_stationary
        )

    def give_up(self, name: str) -> None:
        """Compute nothing about an entry any more, as it could not be judged; it goes on playing games."""
        self._given_up.add(name)
        self._kept.pop(name, None)

    def lack_of_certificate(self, name: str) -> str:
        """The reason why an entry is not certified; empty if it is."""
        entry = self._entries[name]
        if entry.certify is not None:
            return "" if entry.certify else "its entry says certify = false"
        if not self.is_stationary(name):
            return "it may answer differently each time it is asked"
        game = self._plan.game
        if is_tabulated(game):
            return ""
        if is_enumerable(game):
            return f"{game.name} has many positions (certify = true takes the time)"
        return f"{game.name} has too many positions"

    def certificate(self, name: str) -> Certificate:
        """The certificate of an entry, made now. Raises as `certify` does."""
        if self.is_stationary(name):
            return certify(self._seated(name), complete=True)
        self._end_all_but(name)
        return certify(self._table(name, self._seated(name)))

    def tabulate(self, name: str) -> None:
        """Ask an entry that the plan calls fixed in all positions that it can meet, and end its program.

        In some of them it is asked again. Raises `TournamentFileError` if it answers otherwise there.
        """
        if self._entries[name].is_stationary:
            self._seated(name)

    def _checked_table(self, name: str, agent: Agent) -> PolicyTable:
        """The table of an entry that the plan calls fixed, after some questions that are asked again."""
        table = self._table(name, agent)
        if isinstance(agent, AskedAgent):
            for position, cell in _some_answers(table):
                if (again := answer_of(agent, position).cell) != cell:
                    raise TournamentFileError(
                        f"entry {name!r} is called fixed, but its answers differ: in {position} it played "
                        f"{cell}, and asked again {'nothing' if again is None else again}"
                    )
            agent.check_asked()
            _end(agent)
        return table

    def pair(self, one: str, other: str) -> tuple[Agent, Agent]:
        """The agents of two entries, ready to play; the programs of all others are ended."""
        self._end_all_but(one, other)
        return self._seated(one), self._seated(other)

    def _seated(self, name: str) -> Agent:
        entry = self._entries[name]
        if name not in self._kept and (name in self._others or self.is_stationary(name)):
            agent = self._others[name] if name in self._others else self._made(entry)
            if entry.is_stationary and self.is_stationary(name):
                agent = self._checked_table(name, agent)
            elif self.is_stationary(name) and is_tabulated(self._plan.game):
                agent = self._table(name, agent)
            self._kept[name] = agent
        if name in self._kept:
            return self._kept[name]
        if name not in self._programs:
            self._programs[name] = self._made(entry)
        return self._programs[name]

    def _end_all_but(self, *names: str) -> None:
        for name in set(self._programs) - set(names):
            _end(self._programs.pop(name))


def _some_answers(table: PolicyTable) -> Iterator[tuple[Position, int]]:
    """Up to two positions of each ply in which the player was asked, with the cells that it answered."""
    for first_ply, seat in enumerate(SEATS):
        for layer in table.layers(seat)[first_ply::2]:
            boards = layer.boards(np.unique(layer.open[[0, -1]] if len(layer.open) else layer.open))
            lost = {forfeit.position for forfeit in table.forfeits}
            for position in boards:
                if position not in lost:
                    yield position, int(table.policy(position).argmax())


def _end(agent: Agent) -> None:
    """End the processes of an agent, if it has any."""
    close = getattr(agent, "close", None)
    if close is not None:
        close()
