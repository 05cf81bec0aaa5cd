"""The explanation of an agent's move: plain data, to be printed, kept, or shown on a board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ttt_env.render.table import Column, Table
from ttt_env.render.words import percent, value_text
from ttt_env.rules import Position

Unit = Literal["chance", "value", "count", "number"]
"""The format of a number: a share in percent, a value from −1 to 1 with its sign, a count, or as it is."""

_MAX_NAMED = 4  # cells in a sentence


@dataclass(frozen=True)
class CellNumbers:
    """An agent's numbers for some of the cells, and their meaning in a few words.

    Attributes:
        meaning: The meaning, such as "value of the move".
        by_cell: The number of each cell; cells without one are missing.
        unit: The format of the numbers.

    Example:
        >>> CellNumbers("chance", {4: 0.75, 8: 0.25}, unit="chance").text(8)
        '25%'

    """

    meaning: str
    by_cell: Mapping[int, float]
    unit: Unit = "value"

    def text(self, cell: int) -> str:
        """The number of a cell as it is printed; empty if it has none.

        >>> CellNumbers("value of the move", {4: 0.98127}).text(4)
        '+0.9813'
        """
        if cell not in self.by_cell:
            return ""
        number = self.by_cell[cell]
        if self.unit == "chance":
            return percent(number)
        if self.unit == "value":
            return value_text(number)
        return f"{number:,.0f}" if self.unit == "count" else f"{number:,.6g}".replace("-", "−")


@dataclass(frozen=True)
class Explanation:
    """The reasons for an agent's move.

    Attributes:
        position: The position before the move.
        policy: The chance of each legal cell.
        reason: What decides, in whole sentences; `{cells}` in it is replaced by the cells that may be played.
        numbers: The agent's figures for the cells, the most telling first; cells without a figure are
            missing.
        facts: Further findings by name, each a text, a number or a list of them.
        sets: The winning sets that the reason refers to, as cells.
        parts: The explanations of the agents that this one is made of.

    Example:
        >>> from ttt_env import make_agent
        >>> explanation = make_agent("weights").explain(Position.parse("XX./OO./..."))
        >>> explanation.cells, explanation.reason
        ([2], 'Cell 2 completes a set of X: taken before all else.')

    """

    position: Position
    policy: Mapping[int, float]
    reason: str
    numbers: tuple[CellNumbers, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    sets: tuple[tuple[int, ...], ...] = ()
    parts: tuple[PartExplanation, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", self.reason.replace("{cells}", named_cells(self.cells)))

    @property
    def cells(self) -> list[int]:
        """The cells that may be played, the likeliest first."""
        return [cell for cell in self.ranked if self.policy[cell] > 0]

    @property
    def ranked(self) -> list[int]:
        """All legal cells, the likeliest first."""
        return sorted(self.policy, key=lambda cell: (-self.policy[cell], cell))

    @property
    def chances(self) -> CellNumbers:
        """`policy`, as numbers of the cells."""
        return CellNumbers("chance", self.policy, "chance")

    @property
    def figure(self) -> CellNumbers:
        """The numbers to write on the board, which are the most telling ones; without any, the chances."""
        return self.numbers[0] if self.numbers else self.chances

    @property
    def columns(self) -> tuple[CellNumbers, ...]:
        """All numbers of the cells, beginning with the chances."""
        return self.chances, *self.numbers

    def label(self, cell: int) -> str:
        """All numbers of a cell in words."""
        texts = ((column.meaning, column.text(cell)) for column in self.columns)
        return ", ".join(f"{meaning} {text}" for meaning, text in texts if text)

    def __str__(self) -> str:
        from ttt_env.render.text import draw_text

        position = self.position
        lines = [f"{position.to_move} to move in {position}. {self.reason}", ""]
        lines += [draw_text(position, numbers=True), "", *self.to_table().lines]
        if self.facts:
            lines += ["", *(f"{name}: {fact_text(fact)}" for name, fact in self.facts.items())]
        for part in self.parts:
            lines += [
                "",
                *(f"  {line}".rstrip() for line in (f"{part.title}:", *str(part.explanation).split("\n"))),
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.to_table().to_html()

    def to_table(self) -> Table:
        """The numbers of the cells, the likeliest first."""
        numbers = (
            Column(
                column.meaning,
                [cell if cell in column.by_cell else None for cell in self.ranked],
                column.text,
                column.by_cell.__getitem__,
            )
            for column in self.columns
        )
        notes = [f"{name}: {fact_text(fact)}" for name, fact in self.facts.items()]
        return Table((Column("cell", self.ranked), *numbers), f"{self.position}: {self.reason}", notes)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as dictionaries and lists for JSON; cells are keys of type int."""
        return {
            "position": str(self.position),
            "game": self.position.game.name,
            "policy": dict(self.policy),
            "reason": self.reason,
            "numbers": [vars(column) | {"by_cell": dict(column.by_cell)} for column in self.numbers],
            "facts": dict(self.facts),
            "sets": [list(cells) for cells in self.sets],
            "parts": [
                {"name": part.name, "share": part.share, "explanation": part.explanation.to_dict()}
                for part in self.parts
            ],
        }


@dataclass(frozen=True)
class PartExplanation:
    """The explanation of an agent inside another one; `share` is how often it plays, None for always."""

    name: str
    explanation: Explanation
    share: float | None = None

    @property
    def title(self) -> str:
        """The name, with the share."""
        return self.name if self.share is None else f"{self.name}, {percent(self.share)} of the moves"


def fact_text(fact: object) -> str:
    """A fact as text; lists with commas."""
    if isinstance(fact, list | tuple):
        return ", ".join(map(fact_text, fact))
    return f"{fact:,}" if isinstance(fact, int) and not isinstance(fact, bool) else str(fact)


def named_cells(cells: list[int]) -> str:
    """Cells in a sentence; if there are many, only their number.

    >>> named_cells([2]), named_cells([2, 6]), named_cells([0, 2, 6, 8, 4])
    ('cell 2', 'cell 2 or 6', 'any of 5 cells')
    """
    return (
        f"cell {' or '.join(map(str, cells))}" if len(cells) <= _MAX_NAMED else f"any of {len(cells)} cells"
    )
