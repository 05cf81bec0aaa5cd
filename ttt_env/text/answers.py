"""From the free text of a reply to a cell."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ttt_env.agent import Answer, Outcome
from ttt_env.errors import ParameterError, shown
from ttt_env.rules.game import Game, Position

_LONGEST = 1_000_000  # letters of a reply that are looked at: what a model says after them is no answer


class Reading(NamedTuple):
    """What a reply says: the cell that it names, or why it names none."""

    cell: int | None
    """The cell, or None."""
    outcome: Outcome
    """Why it names none; "played" says here that the cell may be played as far as the form goes."""


@dataclass(frozen=True)
class AnswerFormat:
    """How a reply names its cell: a text in which `{cell}` stands for the number, such as `[{cell}]`.

    Anything may stand around it, and space and line breaks around the number; it may come several times if
    the cell is the same. Numbers are written with the digits 0 to 9. Raises `ParameterError` for a form
    without exactly one `{cell}`.

    >>> from ttt_env.rules.catalogue import get_game
    >>> AnswerFormat("<move>{cell}</move>").read("The centre: <move>4</move>", get_game("tictactoe-v0"))
    Reading(cell=4, outcome='played')
    """

    template: str = "[{cell}]"

    def __post_init__(self) -> None:
        if not isinstance(self.template, str) or self.template.count("{cell}") != 1:
            raise ParameterError(
                f"answer={shown(self.template)}: a text with one {{cell}} in it is needed: '[{{cell}}]'"
            )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        before, after = (part.strip() for part in self.template.split("{cell}"))
        # Next to a bare number there is no other letter, digit, sign or point: "14" and "-4" are not "4".
        # Space is looked for only next to a text, so that the time is linear in the length of the reply.
        left = re.escape(before) + r"\s*" if before else r"(?<![A-Za-z_\d.+\-\u2212])"
        right = r"\s*" + re.escape(after) if after else r"(?![A-Za-z_\d]|\.\d)"
        return re.compile(f"{left}([0-9]{{1,18}}){right}")

    def text_of(self, cell: int) -> str:
        """A reply that names this cell."""
        return self.template.replace("{cell}", str(cell))

    def read(self, reply: str, game: Game) -> Reading:
        """The cell that a reply names; nothing in it is ever run. Raises `ParameterError` for no str."""
        if not isinstance(reply, str):
            raise ParameterError(f"a reply is a str, not {shown(reply)}")
        numbers = {int(number) for number in self._pattern.findall(reply[:_LONGEST])}
        if len(numbers) != 1:
            return Reading(None, "several" if numbers else "unreadable")
        cell = numbers.pop()
        return Reading(cell, "played") if cell < game.n_cells else Reading(None, "no cell")

    def answer(self, reply: str, position: Position) -> Answer:
        """The reply in a position: its cell if it is free, else why it plays none. Raises as `read`."""
        reading = self.read(reply, position.game)
        if reading.cell is None:
            return Answer.failed(reading.outcome, reply)
        return Answer.of(reading.cell, position, reply)
