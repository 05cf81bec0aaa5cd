"""The players that this process waits for, for a line of progress while a program or a model is slow."""

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


_questions: list[_Question] = []  # pending questions, the oldest first


@contextmanager
def waiting_for(player: str, position: Position, tries: str = "") -> Iterator[None]:
    """Record that this player is asked for a move within the block; `tries` is the try, as "try 2 of 2"."""
    question = _Question(player, position.ply + 1, tries, monotonic())
    _questions.append(question)
    try:
        yield
    finally:
        _questions.remove(question)


def waiting_text() -> str:
    """The player that this process has been waiting for longest, if for more than a second; else empty.

    >>> waiting_text()
    ''
    """
    for player, move, tries, begin in _questions[:1]:
        if (seconds := monotonic() - begin) > _SLOW:
            details = ", ".join(filter(None, [f"move {move}", tries, f"{seconds:.1f} s"]))
            return f"waiting for {player} ({details})"
    return ""
