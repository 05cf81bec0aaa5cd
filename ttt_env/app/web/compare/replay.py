"""A finished game that is stepped through, each move with what it gave away."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from ttt_env.app.advice import MoveVerdict
from ttt_env.app.web.board import Board, board_of
from ttt_env.app.web.roster import PERSON
from ttt_env.app.web.table import Table
from ttt_env.app.web.visit import Visit, short_name
from ttt_env.rules.game import SEATS


def address(path: str, **fields: object) -> str:
    """The address of a page with these fields; those that are None are left out."""
    given = {name: str(value) for name, value in fields.items() if value is not None}
    return f"{path}?{urlencode(given, safe=':,=', quote_via=quote)}" if given else path


@dataclass(frozen=True)
class Replay:
    """A game after `table.at` of its moves, on the page `path` with these fields."""

    table: Table
    verdicts: tuple[MoveVerdict, ...]
    path: str
    fields: dict[str, object]

    def url(self, at: int) -> str:
        """Where the game is seen after so many moves."""
        return address(self.path, **self.fields, at=at)

    @property
    def play_url(self) -> str:
        """Where the game can be played on from here."""
        return Visit(self.table, is_paused=True).url()

    @property
    def board(self) -> Board:
        """The board after these moves."""
        return board_of(self.table.position, self.table.last)

    @property
    def status(self) -> str:
        """What the last move was, and what it was worth, in a line."""
        at, n_moves = self.table.at, len(self.table.cells)
        if not at:
            return f"The empty board, before {n_moves} moves"
        seat = SEATS[(at - 1) % 2]
        mover = self.table.player(seat)
        name = "its opponent" if mover == PERSON else short_name(mover)
        told = f"Move {at} of {n_moves}: {seat} ({name}) on {self.table.cells[at - 1]}"
        return told + (f". {self._end}" if self.table.position.is_over else "")

    @property
    def mistake(self) -> str:
        """What the last move gave away, in a sentence; empty if nothing."""
        return self.verdicts[self.table.at - 1].sentence if self.table.at else ""

    @property
    def _end(self) -> str:
        winner = self.table.position.winner
        return f"{winner} wins" if winner else "A draw"
