"""Tickets prove that a game was played on this server: only such games go to the game log."""

import hmac
import secrets
from base64 import urlsafe_b64encode
from threading import Lock

from cachetools import FIFOCache

from ttt_env.app.web.table import PlayTable, moves_text

_MAX_REMEMBERED = 10_000


class Tickets:
    """Makes and checks tickets: each proves that this server saw every move of one game of two players.

    A ticket is a random number of the game and a code (HMAC) over it, the two players and the moves.
    """

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._recorded: FIFOCache[str, None] = FIFOCache(_MAX_REMEMBERED)
        self._lock = Lock()

    def holds(self, table: PlayTable, ticket: str) -> bool:
        """True if the ticket proves that the table's moves were made here. An empty board needs none."""
        number, _, _ = ticket.partition("-")
        fits = hmac.compare_digest(self._signed(table, number).encode(), ticket.encode())
        return fits or (not table.cells and not ticket)

    def next(self, before: PlayTable, ticket: str, after: PlayTable) -> str:
        """The ticket of a table a move later; empty if the ticket does not hold."""
        if not self.holds(before, ticket):
            return ""
        return self._signed(after, ticket.partition("-")[0] or secrets.token_urlsafe(6).replace("-", "_"))

    def spend(self, ticket: str) -> bool:
        """Mark this ticket's game as recorded; True the first time only, even if its end is taken back."""
        number = ticket.partition("-")[0]
        with self._lock:
            if number in self._recorded:
                return False
            self._recorded[number] = None
        return True

    def _signed(self, table: PlayTable, number: str) -> str:
        text = "\n".join((number, table.game.name, table.x, table.o, moves_text(table.cells)))
        code = hmac.digest(self._secret, text.encode(), "sha256")[:9]
        return f"{number}-{urlsafe_b64encode(code).decode()}"
