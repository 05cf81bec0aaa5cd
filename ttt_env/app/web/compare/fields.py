"""The fields of an address of the Compare page, each within bounds."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ttt_env.app.web.compare.ladder import compared_game, compared_seat
from ttt_env.app.web.roster import Roster
from ttt_env.errors import ParameterError, TttEnvError, unknown
from ttt_env.rules.checks import as_seat

GAME, AGENT = "tictactoe-v0", "win-block"  # one that can be beaten has more to show
_LONGEST_NUMBER = 4  # digits

Reader = tuple[str, Callable[[str], Any]]
"""What a field is if nothing is said, and what makes a value of its text or raises a `TttEnvError`."""


def read(fields: Mapping[str, str], **readers: Reader) -> tuple[dict[str, Any], list[str]]:
    """The values of the fields by name, and what is wrong; where one is, the default stands."""
    found, complaints = {}, []
    for name, (default, parse) in readers.items():
        try:
            found[name] = parse(fields.get(name, default))
        except TttEnvError as error:
            complaints.append(str(error))
            found[name] = parse(default)
    return found, complaints


A_GAME: Reader = GAME, compared_game
A_SEAT: Reader = "X", as_seat


def an_agent(roster: Roster) -> Reader:
    """An agent of the roster."""
    return AGENT, partial(compared_seat, roster=roster)


def one_of(kind: str, allowed: Iterable[str]) -> Reader:
    """One of these texts, the first if nothing is said."""
    texts = list(allowed)

    def parse(text: str) -> str:
        if text not in texts:
            raise ParameterError(unknown(kind, text[:40], texts))
        return text

    return texts[0], parse


def a_number(name: str, most: int, default: int = 0) -> Reader:
    """An integer from 0 to `most`."""

    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
        if not (is_number and int(text) <= most):
            raise ParameterError(f"{name}={text[:20]!r}: integers from 0 to {most} are allowed")
        return int(text)

    return str(default), parse
