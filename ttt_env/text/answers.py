"""From the free text of a reply to a cell."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

from ttt_env.agent import Answer, Outcome
from ttt_env.errors import ParameterError, brief
from ttt_env.rules import Game, Position
from ttt_env.text.wording import answer_text, places

_LONGEST = 1_000_000  # letters of a reply that are read; the rest is ignored
Marks: TypeAlias = tuple[tuple[str, str], ...]
REASONING: Marks = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning")),
    *((f"<{name}>", f"</{name}>") for name in ("reflection", "scratchpad", "seed:think")),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis", "<|channel|>final"),
    ("analysis", "assistantfinal"),  # the same, with the special tokens skipped
)
"""The pairs of marks with which models begin and end their reasoning. Case is ignored, a tag may have
attributes, and a mark of letters alone counts only at the start of a reply."""

CUT_OFF = {
    "length": "the reply was cut off at the limit of tokens",
    "content_filter": "the reply was stopped by the endpoint's filter of contents",
}
"""The values of `finish_reason` in chat completions that say that a reply was cut off."""
_PLACE = re.compile(r"\{(cell|name|row|column)\}")
_PLACES = (["cell"], ["name"], ["column", "row"], ["column"])
_WORDS = {"name": "[0-9]{0,2}[a-z]{1,2}[0-9]{1,2}"}  # of the others, a number


def complete_reply(reply: str, finish_reason: str | None) -> str:
    """The reply, or an empty one if it was cut off.

    >>> complete_reply("If I play [3], O may", "length"), complete_reply("[3]", "stop")
    ('', '[3]')
    """
    return "" if finish_reason in CUT_OFF else reply


class Reading(NamedTuple):
    """The cell that a reply names, or the reason why it names none.

    >>> from ttt_env.rules.catalogue import get_game
    >>> AnswerFormat().read("Hm.", get_game("tictactoe-v0").start)
    Reading(cell=None, outcome='unreadable')
    """

    cell: int | None
    """The cell, or None."""
    outcome: Outcome
    """The reason why it names none; "played" if it names a cell of the board, which may be taken."""


@dataclass(frozen=True)
class AnswerFormat:
    r"""The form of an answer, a text with placeholders for a cell, such as `[{cell}]`.

    Every reply is read by this rule:

    1. Reasoning before the answer is ignored: blocks such as `<think>…</think>`, between the marks of
       `reasoning`. A block that is not closed extends to the end; one that is only closed, because it was
       opened by the prompt, begins at the start of the reply.
    2. In the rest, the last line that names a cell in this form decides. If it names different cells, the
       reply names "several".

    Anything may surround the form, and spaces and line breaks the placeholders. Case is ignored. Numbers are
    written with the digits 0 to 9.

    Args:
        template: The text. `{cell}` is the number of the cell, `{name}` its name in drawings, such as b2, and
            `{row}` and `{column}` count from 1 at the top left. `{column}` alone is for boards where stones
            fall: it names the cell where a stone would land. The prompt asks for an answer of this form.
        reasoning: The pairs of marks around reasoning; by default the marks of known models.

    Raises:
        ParameterError: The template has other placeholders or none, or contains a mark of reasoning.

    Example:
        >>> from ttt_env.rules.catalogue import get_game
        >>> form, start = AnswerFormat(), get_game("tictactoe-v0").start
        >>> form.read("<think>[0] or [1]? No.</think>\nNot [8].\nI play [4].", start)
        Reading(cell=4, outcome='played')
        >>> form.read("[0] or [1]", start).outcome
        'several'
        >>> AnswerFormat("<move>{cell}</move>").read("The centre: <move>4</move>", start)
        Reading(cell=4, outcome='played')
        >>> AnswerFormat("row {row}, column {column}").read("Row 2, column 3 it is.", start)
        Reading(cell=5, outcome='played')

    """

    template: str = "[{cell}]"
    reasoning: Marks = REASONING

    def __post_init__(self) -> None:
        is_text = isinstance(self.template, str)
        if not is_text or sorted(self._places) not in _PLACES or not all(self._texts[1:-1]):
            raise ParameterError(
                f"answer={brief(self.template)}: write a text with one {{cell}} in it, such as '[{{cell}}]', "
                "or one {name}, or one {row} and one {column} apart from each other, or one {column}"
            )
        if _marks(self.reasoning).search(self.template):
            raise ParameterError(f"answer={brief(self.template)}: marks of reasoning are not read in a reply")

    @property
    def _places(self) -> list[str]:
        return _PLACE.findall(self.template)

    @property
    def _texts(self) -> list[str]:
        """The texts around the placeholders."""
        return _PLACE.split(self.template)[::2]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        first, *middle, last = (r"\s*".join(map(re.escape, text.split())) for text in self._texts)
        # Next to a bare number there is no other letter, digit, sign or point: "14" and "-4" are not "4".
        # Space is looked for only next to a text, so that the time is linear in the length of the reply.
        left = rf"{first}\s*" if first else r"(?<![A-Za-z_\d.+\-\u2212])"
        right = rf"\s*{last}" if last else r"(?![A-Za-z_\d]|\.\d)"
        between = [rf"\s*{text}\s*" if text else r"\s+" for text in middle]
        groups = [f"({_WORDS.get(place, '[0-9]{1,18}')})" for place in self._places]
        pattern = "".join(map("".join, zip([left, *between], groups, strict=True))) + right
        return re.compile(pattern, re.IGNORECASE)

    def text_of(self, cell: int, game: Game) -> str:
        """A reply that names this cell.

        Raises:
            ParameterError: The form has rows and columns, and the board has layers.

        """
        return answer_text(self.template, cell, game)

    def read(self, reply: str, position: Position) -> Reading:
        """The cell that a reply names; nothing in it is ever run.

        A column names its cell that may be played in the position.

        Raises:
            ParameterError: The reply is not a str.

        """
        if not isinstance(reply, str):
            raise ParameterError(f"a reply is a str, not {brief(reply)}")
        names = self._cells_on_last_line(_without_reasoning(reply[:_LONGEST], self.reasoning))
        if len(names) != 1:
            return Reading(None, "several" if names else "unreadable")
        (name,) = names
        all_places = enumerate(places(position.game))
        cells = [cell for cell, at in all_places if name == tuple(map(at.get, self._places))]
        cells.sort(key=lambda cell: not position.legal_mask >> cell & 1)
        return Reading(cells[0], "played") if cells else Reading(None, "no cell")

    def _cells_on_last_line(self, text: str) -> set[tuple[str, ...]]:
        """The cells on the last line that names any; a match belongs to the line on which it ends."""
        names = [
            (match.end(), tuple(map(_normalised, match.groups()))) for match in self._pattern.finditer(text)
        ]
        if not names:
            return set()
        last_end = names[-1][0]
        start = 1 + max(text.rfind("\n", 0, last_end), text.rfind("\r", 0, last_end))
        return {name for end, name in names if end > start}

    def answer(self, reply: str, position: Position) -> Answer:
        """The answer of a reply in a position, with its cell if it is free, else the reason.

        Raises:
            ParameterError: The reply is not a str.

        """
        reading = self.read(reply, position)
        if reading.cell is None:
            return Answer.failure(reading.outcome, reply)
        return Answer.of(reading.cell, position, reply)


def _normalised(text: str) -> str:
    """A number without leading zeros, a name in small letters."""
    return str(int(text)) if text.isdigit() else text.lower()


@lru_cache(maxsize=8)
def _marks(pairs: Marks) -> re.Pattern[str]:
    """The marks, an opening one of pair n in the group `on`, a closing one in `cn`."""
    patterns = []
    for number, (opening, closing) in enumerate(pairs):
        begin = re.escape(opening)
        if opening.isalpha():
            begin = rf"(?<![\S\s]){begin}"
        elif opening.startswith("<") and opening.endswith(">") and "|" not in opening:
            begin = rf"{begin[:-1]}(?:\s[^<>]*)?>"
        patterns += [f"(?P<o{number}>{begin})", f"(?P<c{number}>{re.escape(closing)})"]
    firsts = re.escape("".join({mark[0] for pair in pairs for mark in pair}))
    return re.compile(
        f"(?=[{firsts}])(?:{'|'.join(patterns)})", re.IGNORECASE
    )  # hardly any letter begins one


def _without_reasoning(reply: str, pairs: Marks) -> str:
    """The reply without its blocks of reasoning, by the rule of `AnswerFormat`."""
    parts: list[str] = []
    start, opened = 0, ""
    for mark in _marks(pairs).finditer(reply):
        kind, number = (mark.lastgroup or "")[0], (mark.lastgroup or "")[1:]
        if kind == "o" and not opened:
            parts.append(reply[start : mark.start()])
            opened = number
        elif kind == "c" and opened in ("", number):
            if not opened:
                parts = []
            start, opened = mark.end(), ""
    return "\n".join(parts if opened else [*parts, reply[start:]])
