"""Answers of agents that are asked for a move, and the games that they lose by them."""

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from ttt_env.errors import ForfeitError, IllegalMoveError, shown
from ttt_env.rules import Position, as_cell

if TYPE_CHECKING:
    from ttt_env.agent.interface import Agent

Outcome = Literal["played", "unreadable", "several", "no cell", "taken", "crashed", "timed out", "flooded"]
"""The outcome of a question: the cell of the answer was played; it names no cell in the agreed form; it names
different ones; its number is no cell of the board; the cell is taken; the player crashed, and did so again
when a fresh process was asked; it did not answer in time; it wrote far too much."""
TIMED_OUT: Outcome = "timed out"
"""The one outcome that is an accident and no answer: it can lose a game that is played, and is never kept."""

FORFEITS: tuple[Outcome, ...] = tuple(outcome for outcome in get_args(Outcome) if outcome != "played")
"""The outcomes that lose the game."""

_SAID = 1_000  # letters of an answer that are kept
_QUOTED = 60  # letters of each that are shown
_REASON = 300  # letters of the reason of a failure that are shown
_FAILURES = ("crashed", "timed out", "flooded")  # whose reason is at the end of the output
_STATUS = re.compile(r"(?:(exit status -?\d+)(?:: |$))?(.*)", re.DOTALL)
_TRACED = re.compile(r'File "([^"]*)", line (\d+)')


def read_cell(choice: object, position: Position) -> tuple[int | None, Outcome]:
    """The cell that is chosen, None if it may not be played, and what came of the choice."""
    try:
        cell = as_cell(choice, position.game)
    except IllegalMoveError:
        return None, "no cell"
    return (None, "taken") if position.occupied_mask >> cell & 1 else (cell, "played")


class Answer(NamedTuple):
    """The answer in a position: a free cell, or None with the reason in `outcome`.

    `said` is the answer itself, at most its first 1,000 letters.
    """

    cell: int | None
    outcome: Outcome
    said: str = ""

    @classmethod
    def of(cls, choice: object, position: Position, said: str | None = None) -> "Answer":
        """The answer that chooses this cell, or what is wrong with it. `said` is by default its text."""
        cell, outcome = read_cell(choice, position)
        return cls(cell, outcome, _kept(shown(choice) if said is None else said))

    @classmethod
    def failed(cls, outcome: Outcome, said: str) -> "Answer":
        """The answer that plays no cell, for this reason."""
        return cls(None, outcome, _kept(said))

    def refusal(self, agent: "Agent", position: Position) -> ForfeitError:
        """The error that ends the game in which this agent has answered so, and named no free cell."""
        legal = f"legal are {position.legal_cells}"
        if self.outcome in ("no cell", "taken"):
            message = f"{agent!r} plays {self.said} in {position}; {legal}"
        else:
            message = f"{agent!r} names no cell in {position} ({self.outcome}): {self.said!r}; {legal}"
        return ForfeitError(message, Forfeit(position, self.outcome, self.said))


def _kept(said: str) -> str:
    """The start of an answer, with question marks for halves of letters, which no file can keep."""
    return said[:_SAID].encode("utf-8", "replace").decode()


class Forfeit(NamedTuple):
    """A position in which an agent that was asked named no free cell, and so loses: why, and what it said."""

    position: Position
    outcome: Outcome
    said: str


def quoted(said: str, outcome: Outcome) -> str:
    """The start of an answer in quotes, or the reason of a failure, in one line, with no control characters.

    Of a traceback these are the last file and line, and the message.

    >>> quoted("I take the centre", "unreadable")
    "'I take the centre'"
    >>> quoted('exit status 1: File "/a/ben.py", line 7, in choose' + chr(10) + "NameError: no x", "crashed")
    'exit status 1: ben.py, line 7: NameError: no x'
    """
    if outcome in _FAILURES:
        return _reason_of(said)
    text = repr(said)
    return text if len(text) <= _QUOTED else f"{text[: _QUOTED - 1]}…"


def _reason_of(said: str) -> str:
    """The exit status, the place of an error and its message, as far as they are in the end of an output."""
    status, rest = _STATUS.fullmatch(said).groups("")  # type: ignore[union-attr]
    message = next((line.strip() for line in reversed(rest.splitlines()) if line.strip()), "")
    places = _TRACED.findall(rest)
    if places:
        path, line = places[-1]
        place = f"{PurePath(path.replace(chr(92), '/')).name}, line {line}"
        message = place if _TRACED.search(message) else f"{place}: {message}"
    reason = ": ".join(filter(None, [status, message]))
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in reason)
    return shown if len(shown) <= _REASON else f"…{shown[1 - _REASON :]}"
