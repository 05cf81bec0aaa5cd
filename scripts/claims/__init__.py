"""Claims of others about these games and players, each with a function that checks it."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import ttt_env

CONFIRMED, IN_PART, NOT_CONFIRMED = "confirmed", "in part", "not confirmed"


class Finding(NamedTuple):
    """The result of checking a claim: our figure, and the verdict."""

    figure: str
    verdict: str


class Claim(NamedTuple):
    """A claim, who made it, and how it is checked."""

    system: str
    text: str
    who: str
    check: Callable[[], Finding]
    is_slow: bool

    @property
    def name(self) -> str:
        """The name by which `truth.py` calls it."""
        return self.check.__name__.replace("_", "-")

    def row(self, finding: Finding) -> tuple[str, ...]:
        """Its row in the table."""
        return self.text, self.who, finding.figure, finding.verdict, f"`{self.name}`"


CLAIMS: list[Claim] = []


def claim(
    system: str, who: str, text: str, *, is_slow: bool = False
) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
    """Add the claim that a function checks to `CLAIMS`."""

    def add(check: Callable[[], Finding]) -> Callable[[], Finding]:
        CLAIMS.append(Claim(system, text, who, check, is_slow))
        return check

    return add


def found(figure: str, holds: bool, partly: bool = False) -> Finding:
    """The verdict on a claim that holds, or holds partly, or does not."""
    return Finding(figure, CONFIRMED if holds else IN_PART if partly else NOT_CONFIRMED)


def same(figure: str, published: str, exactly: str = "") -> Finding:
    """The verdict on a published figure, which is not repeated if ours is the same; `exactly` follows."""
    is_same = figure == published
    return found(("the same" if is_same else figure) + exactly, is_same)


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


def fraction(number: float) -> str:
    """A number that is a fraction with a small denominator, as such."""
    near = Fraction(number).limit_denominator(100_000)
    if abs(near - number) > 1e-12:
        raise ValueError(f"{number!r} is not a fraction with a small denominator")
    return f"{near.numerator}/{near.denominator}" if near.denominator > 1 else str(near.numerator)


def cells_of(record: ttt_env.GameRecord | None) -> str:
    """The cells of a game."""
    return "no game" if record is None else f"`{' '.join(map(str, record.cells))}`"
