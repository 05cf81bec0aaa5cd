"""The errors a user can meet. All are `ValueError`s whose text names the input and what is allowed."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class TttEnvError(ValueError):
    """The base class of all errors of this package.

    >>> import ttt_env
    >>> try:
    ...     ttt_env.get_game("tictacto-v0")
    ... except ttt_env.TttEnvError as error:
    ...     print(str(error).partition("?")[0])
    unknown game 'tictacto-v0': did you mean tictactoe-v0
    """


class GameError(TttEnvError):
    """A game that cannot exist: winning sets outside the board, an empty shape and the like."""


class GameTooLargeError(TttEnvError):
    """A game with too many cells or positions for the computation."""


class UnknownGameError(TttEnvError):
    """No game of this id."""


class UnknownAgentError(TttEnvError):
    """No agent of this name."""


class ParameterError(TttEnvError, TypeError):
    """A parameter that does not exist here, or a value that it cannot take.

    Also a `TypeError`, which is what Python raises for an unexpected keyword.
    """


class PolicyError(TttEnvError):
    """A policy that is not a probability distribution over the legal cells, or is unknown in a position."""


class IllegalMoveError(TttEnvError):
    """A move that the rules do not allow in this position.

    >>> import ttt_env
    >>> try:
    ...     ttt_env.Position.parse("X../.../...").play(0)
    ... except ttt_env.IllegalMoveError as error:
    ...     print(error)
    cell 0 of X../.../... is taken; free are [1, 2, 3, 4, 5, 6, 7, 8]
    """


class CellError(IllegalMoveError, IndexError):
    """A cell that the board does not have.

    Also an `IndexError`, which is what Python raises for an index that is out of range.
    """


class NotationError(TttEnvError):
    """Text that is not a position or game record."""


class ImpossiblePositionError(NotationError):
    """Stones that no sequence of legal moves puts on the board."""


class EpisodeOrderError(TttEnvError, RuntimeError):
    """`step` before `reset`, or after the end of the episode."""


class FileError(TttEnvError):
    """A file that is missing, damaged, of another kind, game or version, or that cannot be written.

    Also text in the format of such a file.
    """


class ProofError(TttEnvError):
    """A proof whose strategy cannot be found, or cannot be written down."""


class WorkerError(TttEnvError, RuntimeError):
    """A worker process that died."""


class PlayerError(TttEnvError, RuntimeError):
    """A player that cannot be asked, such as a model whose endpoint refuses."""


class NoVerdictError(TttEnvError):
    """A player that gave no answer in a position, however often it was asked.

    `player` is its name, `reason` says what went wrong. `loses_by` is the outcome by which it loses a game:
    "timed out" or "crashed". It is None if only the machine failed, as when a program cannot be started or an
    endpoint is down: such a game does not count.
    """

    def __init__(self, player: str, position: object, reason: str, loses_by: str | None = None) -> None:
        where = "" if position is None else f" in position {position}"
        super().__init__(f"not judged: {player} {reason}{where}")
        self.player, self.position, self.reason, self.loses_by = player, position, reason, loses_by

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return NoVerdictError, (self.player, self.position, self.reason, self.loses_by)


class ForfeitError(IllegalMoveError):
    """An agent that makes no legal move, and so loses the game.

    `forfeit` is the `ttt_env.agent.Forfeit`: the position, the outcome and the text of the answer.
    """

    def __init__(self, message: str, forfeit: Any) -> None:
        super().__init__(message)
        self.forfeit = forfeit

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return ForfeitError, (str(self), self.forfeit)


def missing_extra(clause: str, extra: str) -> ImportError:
    """The error of a feature whose extra is not installed; `clause` says what needs it.

    >>> print(missing_extra("training needs", "train"))
    training needs the extra "train": pip install "ttt-env[train]", in a clone pip install ".[train]"
    """
    commands = f'pip install "ttt-env[{extra}]", in a clone pip install ".[{extra}]"'
    return ImportError(f'{clause} the extra "{extra}": {commands}')


@contextmanager
def extra_for(clause: str, extra: str) -> Iterator[None]:
    """Import a library of an extra in this block, which raises `missing_extra` if it is not installed."""
    try:
        yield
    except ImportError as error:
        raise missing_extra(clause, extra) from error


def brief(value: object) -> str:
    """The text of a value in a message: its `repr`, cut in the middle if long, or its type if `repr` fails.

    >>> brief("tictactoe"), brief(10**5000)
    ("'tictactoe'", '<an int without text>')
    """
    try:
        text = repr(value)
    except Exception:  # `repr` may be a user's code, and fails for an int of more than 4300 digits
        return f"<an {type(value).__name__} without text>"
    return text if len(text) <= 1000 else f"{text[:800]} … {text[-100:]}"


def unknown(kind: str, name: object, allowed: Iterable[str], listed_by: str | None = None) -> str:
    """The message for a name that is not in `allowed`, with the nearest one that is.

    The rest is listed, or named by the command that lists it.

    >>> unknown("playout", "blok", ["block", "random"])
    "unknown playout 'blok': did you mean block? Allowed: block, random"
    >>> unknown("agent", "minmax", ["minimax", "random"], listed_by="ttt agents")
    "unknown agent 'minmax': did you mean minimax? `ttt agents` lists all"
    >>> unknown("parameter of minimax", "dept", ["depth"])
    "unknown parameter 'dept' of minimax: did you mean depth? Allowed: depth"
    """
    kind, of, owner = kind.partition(" of ")
    names = sorted(allowed)
    near = nearest(name, names)
    hint = f": did you mean {near}?" if near else "."
    rest = f"`{listed_by}` lists all" if listed_by else f"Allowed: {', '.join(names) or 'none'}"
    return f"unknown {kind} {brief(name)}{of}{owner}{hint} {rest}"


def nearest(name: object, allowed: Iterable[str]) -> str | None:
    """The similar name in `allowed`, or the only one that `name` abbreviates; None if there is none.

    >>> nearest("dept", ["depth", "seed"]), nearest("lr", ["gamma", "learning_rate"])
    ('depth', 'learning_rate')
    """
    if not isinstance(name, str):
        return None
    names = list(allowed)
    similar = get_close_matches(name, names, n=1)
    abbreviated = [each for each in names if _abbreviates(name.lower(), each.lower())]
    return similar[0] if similar else abbreviated[0] if len(abbreviated) == 1 else None


def _abbreviates(short: str, name: str) -> bool:
    """True if `short` is `name`, or two or more letters of it in their order that begin with the first."""
    letters = iter(name)
    is_short = len(short) > 1 and short[0] == name[:1] and all(letter in letters for letter in short)
    return short == name or is_short
