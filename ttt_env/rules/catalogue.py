"""The games of this package, by id.

A version, the `v0` of an id, changes when the behaviour of a game does: its rules, its defaults or
its cell numbers. Speed and drawing do not change it.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from inspect import Parameter
from itertools import product
from math import prod
from typing import Any

from ttt_env.errors import GameError, ParameterError, UnknownGameError, unknown
from ttt_env.rules.game import Game
from ttt_env.rules.specs import check_names, convert, parameters_of, split_spec

Cells = tuple[int, ...]


def runs(shape: Iterable[int], k: int) -> list[Cells]:
    """All straight runs of `k` cells, diagonals too, on a board of any number of axes.

    >>> len(runs((3, 3), 3)), len(runs((4, 4, 4), 4)), len(runs((15, 15), 5))
    (8, 76, 572)
    """
    shape = tuple(shape)
    directions = [d for d in product((-1, 0, 1), repeat=len(shape)) if d > (0,) * len(shape)]
    if k == 1:
        directions = directions[:1]
    return [run for d in directions for run in _runs_along(shape, d, k)]


def _runs_along(shape: Cells, direction: Cells, k: int) -> Iterator[Cells]:
    for corner in product(*map(range, shape)):
        last = [c + d * (k - 1) for c, d in zip(corner, direction, strict=True)]
        if all(0 <= c < size for c, size in zip(last, shape, strict=True)):
            run = [[c + d * i for c, d in zip(corner, direction, strict=True)] for i in range(k)]
            yield tuple(_cell(at, shape) for at in run)


def squares(n: int) -> list[Cells]:
    """The corners of every square on an n×n board, tilted squares too: n²(n²−1)/12 of them.

    >>> len(squares(4))
    20
    """
    # A square is its bounding box (corner r, c and side) and the offset of one corner along the top.
    return [
        tuple(
            r_ * n + c_
            for r_, c_ in ((r, c + t), (r + t, c + side), (r + side, c + side - t), (r + side - t, c))
        )
        for side in range(1, n)
        for r, c in product(range(n - side), repeat=2)
        for t in range(side)
    ]


def _cell(at: list[int], shape: Cells) -> int:
    return sum(c * prod(shape[axis + 1 :]) for axis, c in enumerate(at))


def tictactoe(misere: bool = False) -> Game:
    """Tic-tac-toe: 3×3, three in a row."""
    return Game(_name("tictactoe-v0", misere), (3, 3), runs((3, 3), 3), misere)


def square(n: int = 4, misere: bool = False) -> Game:
    """Square tic-tac-toe (Sundeep Agarwal): n×n, the corners of any square, tilted ones too."""
    _at_least("square-v0", n=(n, 2))
    name = "square-v0" if n == 4 else f"square-v0:n={n}"
    return Game(_name(name, misere), (n, n), squares(n), misere)


def mnk(m: int = 5, n: int = 5, k: int = 4, misere: bool = False) -> Game:
    """The m,n,k-game: k in a row on a board of m columns and n rows."""
    _at_least("mnk-v0", m=(m, 1), n=(n, 1), k=(k, 1))
    if k > max(m, n):
        raise GameError(f"mnk-v0 with m={m}, n={n}: k={k} does not fit, at most {max(m, n)} do")
    return Game(_name(f"mnk-v0:m={m},n={n},k={k}", misere), (n, m), runs((n, m), k), misere)


def qubic(misere: bool = False) -> Game:
    """Qubic: 4×4×4, four in a row in any of 76 ways. Cell = 16 · layer + 4 · row + column."""
    return Game(_name("qubic-v0", misere), (4, 4, 4), runs((4, 4, 4), 4), misere)


def _name(name: str, misere: bool) -> str:
    if not misere:
        return name
    return f"{name}{',' if ':' in name else ':'}misere=true"


def _at_least(game: str, **parameters: tuple[int, int]) -> None:
    for name, (value, least) in parameters.items():
        if value < least:
            raise ParameterError(f"{name}={value!r} of {game}: integers from {least} on are allowed")


CATALOGUE: dict[str, Callable[..., Game]] = {
    "tictactoe-v0": tictactoe,
    "square-v0": square,
    "mnk-v0": mnk,
    "qubic-v0": qubic,
}


def parameters_of_game(game: Game | str) -> dict[str, Parameter]:
    """The parameters that `get_game` takes for this game; none for a `Game` or an unknown id."""
    name = split_spec(game).name if isinstance(game, str) else ""
    return parameters_of(CATALOGUE[name]) if name in CATALOGUE else {}


def get_game(game: Game | str, **parameters: Any) -> Game:
    """The game of this id, or `game` itself if it is a `Game`.

    An id may carry its parameters: `mnk-v0:m=4,n=3,k=3` is `mnk-v0` with `m=4, n=3, k=3`.

    Raises `UnknownGameError` for an unknown id, `ParameterError` for a parameter that the game does
    not have or a value that it cannot take.
    """
    if isinstance(game, Game):
        check_names(game.name, parameters, {})
        return game
    if not isinstance(game, str):
        raise UnknownGameError(f"a game is an id or a ttt_env.Game, not {game!r}")
    spec = split_spec(game)
    if spec.name not in CATALOGUE:
        raise UnknownGameError(unknown("game", spec.name, CATALOGUE))
    build = CATALOGUE[spec.name]
    allowed = parameters_of(build)
    if spec.value is not None:
        raise ParameterError(unknown(f"parameter of {spec.name}", spec.value, allowed))
    check_names(spec.name, spec.keywords | parameters, allowed)
    parameters = convert(spec.name, build, spec.keywords) | parameters
    return _build(spec.name, tuple(sorted(_checked(spec.name, allowed, parameters).items())))


def _checked(name: str, allowed: dict[str, Parameter], parameters: dict[str, Any]) -> dict[str, Any]:
    for key, value in parameters.items():
        kind = type(allowed[key].default)
        is_integer = kind is int and hasattr(value, "__index__") and not isinstance(value, bool)
        if type(value) is not kind and not is_integer:
            raise ParameterError(f"{key}={value!r} of {name} is not a value of type {kind.__name__}")
    return {key: type(allowed[key].default)(value) for key, value in parameters.items()}


@lru_cache(maxsize=256)
def _build(name: str, parameters: tuple[tuple[str, Any], ...]) -> Game:
    return CATALOGUE[name](**dict(parameters))
