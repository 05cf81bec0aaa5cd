"""The games of this package, by id.

A version, the `v0` of an id, changes when the behaviour of a game does: its rules, its defaults or its cell
numbers. Speed and drawing do not change it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from ttt_env.errors import GameError, ParameterError, TttEnvError, UnknownGameError, brief, unknown
from ttt_env.rules.game import Game
from ttt_env.rules.parameters import Between, checked_value, declared, read
from ttt_env.rules.sizes import check_board
from ttt_env.rules.specs import check_names, key_of, read_items, split_spec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Cells = tuple[int, ...]
Length: TypeAlias = Annotated[int, Between(1)]  # in cells
_ID = re.compile(r"[A-Za-z][\w.-]*")


def tictactoe(misere: bool = False) -> Game:
    """Tic-tac-toe: 3×3, three in a row."""
    return _game("tictactoe-v0", (3, 3), Game.runs((3, 3), 3), misere)


def square(n: Annotated[int, Between(2)] = 4, tilted: bool = True, misere: bool = False) -> Game:
    """Square tic-tac-toe (Sundeep Agarwal): n×n up to 8×8, the corners of any square, tilted ones too.

    Without `tilted` only squares with sides along the axes count (T. Jenrich, arXiv 1109.2341).
    """
    check_board(f"square-v0 with n={brief(n)}", n * n)
    items = [f"n={n}"] * (n != 4) + ["tilted=false"] * (not tilted)
    name = f"square-v0:{','.join(items)}" if items else "square-v0"
    return _game(name, (n, n), Game.squares(n, tilted), misere)


def mnk(m: Length = 5, n: Length = 5, k: Length = 4, misere: bool = False) -> Game:
    """The m,n,k-game: k in a row on a board of m columns and n rows, of at most 64 cells."""
    check_board(f"mnk-v0 with m={brief(m)}, n={brief(n)}", m * n)
    if k > max(m, n):
        raise GameError(f"k={brief(k)} of mnk-v0:m={m},n={n}: expected at most {max(m, n)}")
    return _game(f"mnk-v0:m={m},n={n},k={k}", (n, m), Game.runs((n, m), k), misere)


def qubic(misere: bool = False) -> Game:
    """Qubic: 4×4×4, four in a row in any of 76 ways. Cell = 16 · layer + 4 · row + column."""
    return _game("qubic-v0", (4, 4, 4), Game.runs((4, 4, 4), 4), misere)


def connect_four(m: Length = 7, n: Length = 6, k: Length = 4, misere: bool = False) -> Game:
    """Connect Four: k in a row on m columns and n rows, where stones fall to the lowest free cell."""
    check_board(f"connect-four-v0 with m={brief(m)}, n={brief(n)}", m * n)
    if k > max(m, n):
        raise GameError(f"k={brief(k)} of connect-four-v0:m={m},n={n}: expected at most {max(m, n)}")
    name = "connect-four-v0" if (m, n, k) == (7, 6, 4) else f"connect-four-v0:m={m},n={n},k={k}"
    return _game(name, (n, m), Game.runs((n, m), k), misere, axis=0)


def score_four(k: Length = 4, h: Length = 4, misere: bool = False) -> Game:
    """Score Four: k in a row on k×k pegs that hold h beads each. Cell = k² · layer + k · row + column.

    Beads fall to the layer of the highest number.
    """
    check_board(f"score-four-v0 with k={brief(k)}, h={brief(h)}", k * k * h)
    name = "score-four-v0" if (k, h) == (4, 4) else f"score-four-v0:k={k},h={h}"
    return _game(name, (h, k, k), Game.runs((h, k, k), k), misere, axis=0)


def _game(name: str, shape: Cells, sets: list[Cells], misere: bool, axis: int | None = None) -> Game:
    """The game of an id, with gravity along an axis if one is given.

    The name is set last, because `Game` compares a game with the name of an id with this one.
    """
    game = Game("a game of the catalogue", shape, sets, misere)
    game = game if axis is None else game.with_gravity(axis)
    game.__dict__["name"] = f"{name}{',' if ':' in name else ':'}misere=true" if misere else name
    return game


CATALOGUE: dict[str, Callable[..., Game]] = {
    "tictactoe-v0": tictactoe,
    "square-v0": square,
    "mnk-v0": mnk,
    "qubic-v0": qubic,
    "connect-four-v0": connect_four,
    "score-four-v0": score_four,
}


ENTRY_POINT_GROUP = "ttt_env.games"
_registered: dict[str, Game] = {}


@cache
def _installed() -> dict[str, EntryPoint]:
    """The games of other packages."""
    from importlib.metadata import entry_points

    return {
        point.name: point for point in entry_points(group=ENTRY_POINT_GROUP) if point.name not in CATALOGUE
    }


def game_names() -> list[str]:
    """The ids of all games: of this package, of other installed packages, and those that were registered.

    >>> {"tictactoe-v0", "square-v0", "mnk-v0", "qubic-v0"} <= set(game_names())
    True
    """
    return list(dict.fromkeys([*CATALOGUE, *sorted(_installed()), *_registered]))


def register_game(game: Game) -> None:
    """Register a game of your own, so that functions that take an id know it by its name in this process.

    A package registers its games permanently by entry points of the group `ttt_env.games`, each a function
    that returns a `Game` and whose parameters have defaults.

    Args:
        game: The game; its name is the id.

    Raises:
        GameError: The name cannot be an id, another game has it, or `game` is not a `Game`.

    """
    if not isinstance(game, Game):
        raise GameError(f"{brief(game)} is not a ttt_env.Game")
    if not _ID.fullmatch(game.name):
        raise GameError(
            f"{brief(game.name)} is not an id: it begins with a letter, and has letters, digits, `_`, `-` "
            "and `.`, such as ring-v0"
        )
    if game.name in game_names() and get_game(game.name) != game:
        raise _name_is_taken(game)
    if game.name not in CATALOGUE and game.name not in _installed():  # their ids may have parameters
        _registered[game.name] = game


def _name_is_taken(game: Game) -> GameError:
    return GameError(f"there is another game {game.name} already: choose another name")


def builder(name: str) -> Callable[..., Game]:
    """The function that makes the game of an id. Raises `UnknownGameError` if there is none."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    if name in _registered:
        return lambda: _registered[name]
    if name not in _installed():
        raise UnknownGameError(unknown("game", name, game_names()))
    build: Callable[..., Game] = _installed()[name].load()
    return build


def parameters_of_game(game: Game | str) -> dict[str, Parameter]:
    """The parameters that `get_game` takes for this game; none for a `Game` or an unknown id."""
    if not isinstance(game, str):
        return {}
    with suppress(UnknownGameError):
        return declared(builder(split_spec(game).name))
    return {}


def get_game(game: Game | str, **parameters: Any) -> Game:
    """The game of an id.

    Args:
        game: An id, which may carry its parameters: `mnk-v0:m=4,n=3,k=3` is `mnk-v0` with `m=4, n=3, k=3`,
            and `tictactoe-v0:misere` is `tictactoe-v0` with `misere=True`. A `Game` is returned as it is.
        **parameters: The parameters by name.

    Returns:
        The game.

    Raises:
        UnknownGameError: There is no game of this id.
        ParameterError: The game does not have this parameter, or it cannot take this value.
        GameTooLargeError: The board has more than 64 cells.
        GameError: A `Game` has the name of a registered one and other rules.

    Example:
        >>> get_game("mnk-v0:m=4,n=3,k=3") == get_game("mnk-v0", m=4, n=3, k=3)
        True
        >>> get_game("square-v0").shape
        (4, 4)

    """
    if isinstance(game, Game):
        check_names(game.name, parameters, {})
        if game.name in _registered and _registered[game.name] != game:
            raise _name_is_taken(game)
        return game
    if not isinstance(game, str):
        raise UnknownGameError(f"a game is an id or a ttt_env.Game, not {brief(game)}")
    spec = split_spec(game)
    build = builder(spec.name)
    allowed = declared(build)
    texts, others = read_items(spec, allowed)
    check_names(spec.name, [*(key_of(item) or item.strip() for item in others), *parameters], allowed)
    if others:
        raise ParameterError(f"{spec.name} needs a value of {others[0].strip()}: {others[0].strip()}=…")
    values = read(spec.name, texts, allowed) | {
        key: checked_value(spec.name, key, value, allowed[key].annotation)
        for key, value in parameters.items()
    }
    return _build(spec.name, tuple(sorted(values.items())))


def checked_rules(game: Game) -> Game:
    """The game, if its name is its own or if it has the rules that its name implies; then with its drawing.

    Raises `GameError` for an id with other rules than its own, for one that is not written as `get_game`
    writes it, and for a name that begins as an id of this package and is not one. For an id of this package
    `Game` itself raises it, so that no result is ever of such a game.
    """
    stem = stem_of(game.name)
    if not (stem in CATALOGUE or stem in _registered or stem in _installed()):
        return game
    try:
        named = get_game(game.name)
    except TttEnvError as error:
        if stem in CATALOGUE:
            raise GameError(f"{brief(game.name)} is not the name of a game: {error}") from error
        return game
    if named != game:
        raise GameError(
            f"the name {brief(game.name)} or its rules differ from those of {named.name}: choose another name"
        )
    return named if game.coordinates is None else game


def stem_of(name: str) -> str:
    """The part of a game's name before a colon, which is the id if the game is of the catalogue."""
    return name.partition(":")[0].strip()


@lru_cache(maxsize=256)
def _build(name: str, parameters: tuple[tuple[str, Any], ...]) -> Game:
    return builder(name)(**dict(parameters))
