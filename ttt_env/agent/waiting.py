"""Whom this process waits for: what a line of progress says while a program or a model is slow."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple

from ttt_env.rules import Position

_SLOW = 1.0  # seconds


class _Question(NamedTuple):
    player: str
    move: int
    tries: str
    begin: float


_questions: list[_Question] = []  # that have no answer yet, the oldest first


@contextmanager
def waiting_for(player: str, position: Position, tries: str = "") -> Iterator[None]:
    """Ask somebody for a move within the block; `tries` says which try it is, as in "try 2 of 2"."""
    question = _Question(player, position.ply + 1, tries, monotonic())
    _questions.append(question)
    try:
        yield
    finally:
        _questions.remove(question)


def waiting_text() -> str:
    """Whom this process has been waiting for longest, if for more than a second; else nothing.

    >>> waiting_text()
    ''
    """
    for player, move, tries, begin in _questions[:1]:
        if (seconds := monotonic() - begin) > _SLOW:
            details = ", ".join(filter(None, [f"move {move}", tries, f"{seconds:.1f} s"]))
            return f"waiting for {player} ({details})"
    return ""
