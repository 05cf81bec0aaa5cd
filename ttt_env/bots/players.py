"""The agents of a tournament, made from its entries."""

from collections.abc import Callable

from ttt_env.agent import Agent, AskedAgent, agent_class, make_agent
from ttt_env.analysis.asking import QueryCount
from ttt_env.analysis.policy_table import PolicyTable
from ttt_env.bots import CommandAgent
from ttt_env.bots.plan import Entry, TournamentPlan
from ttt_env.errors import TttEnvError
from ttt_env.rules import split_spec, with_parameters
from ttt_env.storage.models import spec_of
from ttt_env.tournament.matches import judged_table

_MOST_RUNNING = 30  # programs, which take tens of MB each; enough for a class without restarts


class Players:
    """The agents of a plan, one for each entry that can play.

    On games of few positions the results are computed from one answer of each entry in every position that it
    can reach, if it declares itself stationary or is a bot that repeats its answers in twenty positions.

    An entry that cannot play, such as a file with an error in it, is in `set_aside`, with the reason.
    """

    def __init__(self, plan: TournamentPlan, say: Callable[[str], object]) -> None:
        self._plan, self._say = plan, say
        self._agents: dict[str, Agent] = {}
        self._tables: dict[str, PolicyTable] = {}
        self.set_aside: dict[str, str] = {}
        """The entries that cannot play, with the reason."""
        for entry in plan.entries:
            try:
                self._agents[entry.name] = self._make(entry)
            except (TttEnvError, ImportError, OSError) as error:
                self.set_aside[entry.name] = str(error)

    @property
    def names(self) -> tuple[str, ...]:
        """The entries that can play."""
        return tuple(self._agents)

    def close(self) -> None:
        """End all programs."""
        for agent in self._agents.values():
            if isinstance(agent, AskedAgent):
                agent.close()

    def _make(self, entry: Entry) -> Agent:
        spec = spec_of(entry.agent)
        if agent_class(split_spec(spec).name) is CommandAgent:
            spec = with_parameters(spec, self._plan.limits)
        return make_agent(spec, self._plan.game)

    def is_asked_agent(self, name: str) -> bool:
        """True for a program or a language model."""
        return isinstance(self._agents[name], AskedAgent)

    def table(self, name: str) -> PolicyTable | str:
        """The answers of an entry in all positions that it can reach, or the reason why it has to play games.

        Raises `NoVerdictError` or `PlayerError` for a bot that does not answer.
        """
        if name in self._tables:
            return self._tables[name]

        def report(queries: QueryCount) -> None:
            self._say(f"asking {name}, {queries.positions:,} positions")

        table = judged_table(self._agents[name], report)
        if isinstance(table, PolicyTable):
            self._tables[name] = table
        return table

    def players_of(self, one: str, other: str) -> tuple[Agent, Agent]:
        """The players of two entries; if many programs run, all others are ended."""
        others = [agent for name, agent in self._agents.items() if name not in (one, other)]
        programs = [agent for agent in others if isinstance(agent, CommandAgent) and agent.is_running]
        if len(programs) >= _MOST_RUNNING:
            for program in programs:
                program.end_idle()
        return self._player_of(one), self._player_of(other)

    def _player_of(self, name: str) -> Agent:
        return self._tables.get(name, self._agents[name]) if self._plan.exact else self._agents[name]
