"""The address of a page: the game and its players, the moves, how they are shown, and who saw them made."""

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from cachetools import FIFOCache

from ttt_env.errors import NotationError, TttEnvError, unknown
from ttt_env.rules import SEATS, Game, GameRecord, Position, Seat, get_game, other_seat
from ttt_env.web.games import parse_game
from ttt_env.web.roster import PERSON, Roster, first_opponent, presets

_FLAGS = {
    "see": "sees",
    "pause": "is_paused",
    "unrecorded": "is_unrecorded",
    "whole": "is_whole",
    "review": "is_review",
    "changed": "is_changed",
    "resigned": "is_resigned",
}
"""The attribute of `Visit` for each flag of an address."""
PACES = {"slow": 1_500, "": 700, "fast": 150}
"""Milliseconds between two moves of agents that play each other, by the pace of the address."""


@dataclass(frozen=True)
class PlayTable:
    """A game between `x` and `o`: the cells played, of which the first `at` are on the board."""

    game: Game
    x: str = PERSON
    o: str = "minimax"
    cells: tuple[int, ...] = ()
    at: int = 0

    @property
    def record(self) -> GameRecord:
        """The moves on the board."""
        return GameRecord(self.game, self.cells[: self.at])

    @cached_property
    def position(self) -> Position:
        """The position on the board."""
        return self.record.positions()[-1]

    @property
    def last(self) -> int | None:
        """The cell of the last move."""
        return self.cells[self.at - 1] if self.at else None

    @property
    def mover(self) -> str:
        """The player to move."""
        return self._at(self.at)

    def player(self, seat: Seat) -> str:
        """The player on this seat: `person`, `model:name` or a spec string."""
        return self.x if seat == "X" else self.o

    def _at(self, ply: int) -> str:
        return self.player(SEATS[ply % 2])

    def played(self, cell: int) -> "PlayTable":
        """The table after a move; moves that were taken back are forgotten then.

        Raises `IllegalMoveError` for a cell that cannot be played.
        """
        self.position.play(cell)
        return replace(self, cells=(*self.cells[: self.at], int(cell)), at=self.at + 1)

    def undone(self) -> "PlayTable | None":
        """The table a move earlier; with a person at it, the last position in which a person was to move."""
        return self._nearest(range(self.at - 1, -1, -1))

    def redone(self) -> "PlayTable | None":
        """The table with the moves put back that `undone` took back."""
        return self._nearest(range(self.at + 1, len(self.cells) + 1))

    def _nearest(self, plies: range) -> "PlayTable | None":
        if not plies:
            return None
        of_person = (ply for ply in plies if self._at(ply) == PERSON)
        at = next(of_person, plies[-1]) if PERSON in (self.x, self.o) else plies[0]
        return replace(self, at=at)

    def at_move(self, at: int) -> "PlayTable":
        """The table after so many of the moves."""
        return replace(self, at=at)

    @property
    def is_back(self) -> bool:
        """True if there are moves that were taken back and are still known."""
        return self.at < len(self.cells)

    def fresh(self) -> "PlayTable":
        """A new game of the same two."""
        return replace(self, cells=(), at=0)

    def swapped(self) -> "PlayTable":
        """A new game, the seats swapped."""
        return PlayTable(self.game, self.o, self.x)

    def fields(self) -> dict[str, str]:
        """The table as the fields of an address."""
        fields = {"game": self.game.name, "x": self.x, "o": self.o, "moves": moves_text(self.cells)}
        return fields | ({"at": str(self.at)} if self.at < len(self.cells) else {})

    def query(self, **more: str) -> str:
        """`fields` and more as the query of an address; empty ones are left out."""
        fields = {key: text for key, text in (self.fields() | more).items() if text}
        return urlencode(fields, safe=":,=", quote_via=quote)


def moves_text(cells: tuple[int, ...]) -> str:
    """Cells as an address has them: `4.0.8`."""
    return ".".join(map(str, cells))


def read_table(fields: Mapping[str, str], roster: Roster) -> tuple[PlayTable, list[str]]:
    """The table that an address describes, and what is wrong with the address.

    What cannot be understood is left out: of the moves those from the first illegal one on.
    """
    complaints: list[str] = []
    table = PlayTable(get_game("tictactoe-v0"))
    readers: dict[str, Callable[[PlayTable, str], PlayTable]] = {
        "game": lambda table, text: _of_game(parse_game(text)),
        "x": lambda table, text: replace(table, x=roster.parse(text)),
        "o": lambda table, text: replace(table, o=roster.parse(text)),
        "moves": _with_moves,
        "at": _with_at,
    }
    for name, read in readers.items():
        try:
            table = read(table, fields[name]) if name in fields else table
        except TttEnvError as error:
            complaints.append(str(error))
            if name == "game":
                break
            if name == "moves":
                table = _with_legal_start(table, fields[name])
    return table, complaints


def _of_game(game: Game) -> PlayTable:
    """The empty board of a game, with the hardest opponent that can play it."""
    return PlayTable(game, o=presets(game)[-1].player)


def _with_moves(table: PlayTable, text: str) -> PlayTable:
    cells = GameRecord(table.game, tuple(parse_moves(text))).cells
    return replace(table, cells=cells, at=len(cells))


def _with_legal_start(table: PlayTable, text: str) -> PlayTable:
    """The table after the moves before the first that is not legal."""
    for part in text.split("."):
        try:
            table = table.played(parse_moves(part)[0])
        except (TttEnvError, IndexError):
            break
    return table


def parse_moves(text: str) -> list[int]:
    """The cells of `4.0.8`. Raises `NotationError` for text of another form."""
    parts = text.split(".") if text else []
    if not all(part.isascii() and part.isdecimal() and len(part) < 4 for part in parts):
        raise NotationError(f"moves={text[:60]!r} is no list of cells, such as 4.0.8")
    return [int(part) for part in parts]


def _with_at(table: PlayTable, text: str) -> PlayTable:
    if not (text.isascii() and text.isdecimal() and len(text) < 4 and int(text) <= len(table.cells)):
        raise NotationError(f"at={text[:20]!r}: numbers of moves from 0 to {len(table.cells)} are allowed")
    return replace(table, at=int(text))


@dataclass(frozen=True)
class Visit:
    """A table, how it is shown, and the ticket that says that it was played here.

    A whole visit has all that is known in the page itself, for browsers without JavaScript. In a review of a
    game the moves that were taken back are looked at, and none is made. `is_changed` says that a player was
    replaced in mid-game, so that the game is nobody's record. A person who has resigned may take that back.
    """

    table: PlayTable
    sees: bool = False
    is_paused: bool = False
    is_unrecorded: bool = False
    is_whole: bool = False
    is_review: bool = False
    is_changed: bool = False
    is_resigned: bool = False
    pace: str = ""
    ticket: str = ""

    @property
    def query(self) -> str:
        """The whole visit as the query of an address."""
        flags = {name: "1" if getattr(self, attribute) else "" for name, attribute in _FLAGS.items()}
        return self.table.query(**flags, pace=self.pace, key=self.ticket)

    def url(self, path: str = "/play", **changes: Any) -> str:
        """The address of this visit with these attributes changed."""
        return f"{path}?{replace(self, **changes).query}"

    def anew(self, table: PlayTable) -> "Visit":
        """The visit of a new game."""
        return replace(self, table=table, ticket="", is_review=False, is_changed=False, is_resigned=False)

    def reviewed(self, at: int) -> "Visit":
        """The visit that shows the board after so many moves, and makes none."""
        return replace(self, table=self.table.at_move(at), is_review=at < len(self.table.cells))

    def back(self) -> "Visit | None":
        """The visit after an undo, in a review a move earlier; None if there is nothing to take back."""
        return self._stepped(self.table.undone(), self.table.at - 1)

    def forth(self) -> "Visit | None":
        """The visit after a redo, in a review a move later; None if nothing was taken back."""
        return self._stepped(self.table.redone(), self.table.at + 1)

    def _stepped(self, table: PlayTable | None, at: int) -> "Visit | None":
        if table is None:
            return None
        return self.reviewed(at) if self.is_review else replace(self, table=table, is_resigned=False)

    def seated(self, x: str, o: str) -> "Visit":
        """The visit with these players, who play on from the position on the board."""
        if (x, o) == (self.table.x, self.table.o):
            return self
        table = replace(self.table, x=x, o=o)
        is_changed = self.is_changed or bool(self.table.cells and self.ticket)
        return replace(self, table=table, ticket="", is_changed=is_changed, is_resigned=False)

    @property
    def is_over(self) -> bool:
        """True if the game has ended, by a resignation or on the board."""
        return self.is_resigned or self.table.position.is_over

    @property
    def is_told(self) -> bool:
        """True if the moves are judged: with See, and once the game is over."""
        return bool(self.table.cells) and (self.sees or self.is_review or self.is_over)

    @property
    def winner(self) -> Seat | None:
        """The winner: if a person has resigned, the other player."""
        if not self.is_resigned:
            return self.table.position.winner
        persons = [seat for seat in SEATS if self.table.player(seat) == PERSON]
        loser = persons[0] if len(persons) == 1 else self.table.position.to_move
        return other_seat(loser)

    @property
    def can_resign(self) -> bool:
        """True if a person has a game to give up."""
        return bool(self.table.cells) and not (self.is_over or self.is_review or self.is_watched)

    @property
    def outcome(self) -> str:
        """`win`, `draw` or `loss` of a person against an agent; `X`, `draw` or `O` of two persons."""
        if self.winner is None:
            return "draw"
        if self.rival is None or self.table.x == self.table.o:
            return self.winner
        return "loss" if self.winner == self.rival else "win"

    @property
    def agent_to_move(self) -> str | None:
        """The agent whose turn it is."""
        nobody = self.is_over or self.is_review or self.table.mover == PERSON
        return None if nobody else self.table.mover

    @property
    def move_url(self) -> str | None:
        """The address for a person's move; None if no person may move."""
        can_move = not (self.is_over or self.is_review or self.agent_to_move)
        return self.url("/play/move") if can_move else None

    @property
    def is_waiting(self) -> bool:
        """True if an agent waits to be told to move: moves taken back are not made again by themselves."""
        return self.is_paused or self.table.is_back

    @property
    def is_watched(self) -> bool:
        """True if agents play each other."""
        return PERSON not in (self.table.x, self.table.o)

    @property
    def status(self) -> str:
        """The state of the game in a line."""
        if self.is_review:
            at, n_moves = self.table.at, len(self.table.cells)
            if not at:
                return f"Before the first of {n_moves} moves"
            return f"Move {at} of {n_moves}: {SEATS[(at - 1) % 2]} on {self.table.last}"
        if self.is_over:
            return self._end()
        seat = self.table.position.to_move
        if self.agent_to_move:
            return f"{self.mover_name} ({seat}) is {'to move' if self.is_waiting else 'thinking …'}"
        return f"{seat} to move" if self.table.x == self.table.o else f"Your turn: {seat}"

    @property
    def mover_name(self) -> str:
        """The name of the player to move, without parameters."""
        return self.name_of(self.table.mover)

    def name_of(self, player: str) -> str:
        """The name of a player; of a level whose spec says more than a name, the level."""
        levels = {preset.player: preset.level for preset in presets(self.table.game) if ":" in preset.player}
        return levels.get(player, short_name(player))

    @property
    def rival(self) -> Seat | None:
        """The seat whose player a person chooses right at the game; None where agents play each other."""
        return None if self.is_watched else "O" if self.table.x == PERSON else "X"

    @property
    def is_against_level(self) -> bool:
        """True if a person plays one of the levels of this game, or another person."""
        levels = [PERSON, *(preset.player for preset in presets(self.table.game))]
        return self.rival is not None and self.table.player(self.rival) in levels

    def against(self, player: str) -> "Visit":
        """The visit of a person with this player on the other seat."""
        return self.seated(player, self.table.o) if self.rival == "X" else self.seated(self.table.x, player)

    def lost_by(self, player: str, cells: tuple[int, ...]) -> str:
        """The address of a game that this player loses, before its first move."""
        return Visit(PlayTable(self.table.game, PERSON, player, cells), is_review=True).url()

    @property
    def winner_name(self) -> str:
        """The winner's name and seat; of a person the seat alone."""
        assert self.winner is not None
        player = self.table.player(self.winner)
        return self.winner if player == PERSON else f"{self.name_of(player)} ({self.winner})"

    def blame(self, number: int) -> str:
        """The headline for the mistake that decided the game, the move of this number."""
        seat = SEATS[(number - 1) % 2]
        player = self.table.player(seat)
        is_you = player == PERSON and self.table.x != self.table.o
        name = "You" if is_you else seat if player == PERSON else f"{self.name_of(player)} ({seat})"
        return f"{name} {'missed a win' if self.winner is None else 'lost it'} at move {number}"

    def shown_before(self, number: int) -> "Visit":
        """The visit that shows the position before the move of this number, with See."""
        return replace(self.reviewed(number - 1), sees=True)

    @property
    def rival_name(self) -> str:
        """The name of the agent against whom a person plays; empty where there is none."""
        player = PERSON if self.rival is None else self.table.player(self.rival)
        return "" if player == PERSON else self.name_of(player)

    def _end(self) -> str:
        winner = self.winner
        if winner is None:
            return "A draw"
        name = self.table.player(winner)
        if self.is_resigned:
            loser = "You have" if name != PERSON else f"{other_seat(winner)} has"
            return f"{loser} resigned: {self.winner_name} wins"
        if name == PERSON:
            return f"{winner} wins" if self.table.x == self.table.o else f"You win as {winner}"
        return f"{self.winner_name} wins"


def short_name(player: str) -> str:
    """The name of a player, without the parameters."""
    name, _, rest = player.partition(":")
    return rest if name == "model" else name


def read_visit(fields: Mapping[str, str], roster: Roster) -> tuple[Visit, list[str]]:
    """The visit that an address describes, and what is wrong with the address."""
    table, complaints = read_table(fields, roster)
    if "o" not in fields:
        table = replace(table, o=first_opponent(table.game))
    for name in _FLAGS:
        if fields.get(name, "1") not in ("", "1"):
            complaints.append(f"{name}={fields[name][:20]!r}: only 1 is allowed")
    flags = {attribute: fields.get(name) == "1" for name, attribute in _FLAGS.items()}
    flags["is_review"] = flags["is_review"] and table.is_back
    flags["is_resigned"] &= bool(table.cells) and PERSON in (table.x, table.o)
    pace = fields.get("pace", "")
    if pace not in PACES:
        complaints.append(unknown("pace", pace[:40], filter(None, PACES)))
        pace = ""
    visit = Visit(table, pace=pace, ticket=fields.get("key", "")[:64], **flags)
    return visit, complaints


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

    def give_back(self, ticket: str) -> None:
        """Let this ticket be spent again: its game could not be recorded."""
        with self._lock:
            self._recorded.pop(ticket.partition("-")[0], None)

    def _signed(self, table: PlayTable, number: str) -> str:
        text = "\n".join((number, table.game.name, table.x, table.o, moves_text(table.cells)))
        code = hmac.digest(self._secret, text.encode(), "sha256")[:9]
        return f"{number}-{urlsafe_b64encode(code).decode()}"
