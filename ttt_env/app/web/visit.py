"""What an address says besides the table: what is shown, and whether the game goes on and is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ttt_env.app.web.roster import PERSON, Roster
from ttt_env.app.web.table import Table, read_table

_FLAGS = {"see": "sees", "pause": "is_paused", "unrecorded": "is_unrecorded"}


@dataclass(frozen=True)
class Visit:
    """A table, how it is shown, and the ticket that says that it was played here."""

    table: Table
    sees: bool = False
    is_paused: bool = False
    is_unrecorded: bool = False
    ticket: str = ""

    @property
    def query(self) -> str:
        """All of it as the query of an address."""
        flags = {name: "1" if getattr(self, attribute) else "" for name, attribute in _FLAGS.items()}
        return self.table.query(**flags, key=self.ticket)

    def url(self, path: str = "/play", **changes: Any) -> str:
        """The address of the same with these changes."""
        return f"{path}?{replace(self, **changes).query}"

    @property
    def shared_url(self) -> str:
        """The address to pass on: the table alone."""
        return f"/play?{self.table.query()}"

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.table.position.is_over

    @property
    def agent_to_move(self) -> str | None:
        """The agent whose turn it is."""
        return None if self.is_over or self.table.mover == PERSON else self.table.mover

    @property
    def is_watched(self) -> bool:
        """Whether agents play each other."""
        return PERSON not in (self.table.x, self.table.o)

    @property
    def status(self) -> str:
        """The state of the game in a line."""
        if self.is_over:
            return self._end()
        seat = self.table.position.to_move
        if self.agent_to_move:
            return f"{self.mover_name} ({seat}) is {'to move' if self.is_paused else 'thinking …'}"
        return f"{seat} to move" if self.table.x == self.table.o else f"Your turn: {seat}"

    @property
    def mover_name(self) -> str:
        """Who is to move, in short."""
        return short_name(self.table.mover)

    def _end(self) -> str:
        winner = self.table.position.winner
        if winner is None:
            return "A draw"
        name = self.table.player(winner)
        if name == PERSON:
            return f"{winner} wins" if self.table.x == self.table.o else f"You win as {winner}"
        return f"{short_name(name)} ({winner}) wins"


def short_name(seat: str) -> str:
    """Who sits there, without parameters."""
    name, _, rest = seat.partition(":")
    return rest if name == "model" else name


def read_visit(fields: Mapping[str, str], roster: Roster) -> tuple[Visit, list[str]]:
    """The visit that an address describes, and what is wrong with the address."""
    table, complaints = read_table(fields, roster)
    flags = {attribute: fields.get(name) == "1" for name, attribute in _FLAGS.items()}
    return Visit(table, ticket=fields.get("key", "")[:64], **flags), complaints
