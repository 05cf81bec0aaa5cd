"""Every limit on the size of a game, in cells and by its use, and of a text.

A game has at most `n_placements(game)` positions, so the cost of enumerating it depends on its cells and
supports alone, not on its winning sets. The limits on it are given as the cells of a board on which every
cell may be played; a board with gravity has fewer positions, and may have more cells.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING

from ttt_env.errors import GameTooLargeError, brief

if TYPE_CHECKING:
    from ttt_env.rules.game import Game

BOARD_CELLS = 64  # of any game: a player's stones are the bits of one uint64
BOARD_SETS = 20_000  # winning sets of a game
NAME_LETTERS = 500  # of a game
TEXT_LETTERS = 10_000  # of a spec, a position or a game record
MAX_SEED = 2**32 - 1  # the largest seed of NumPy's global generator, which Stable-Baselines3 seeds
ENVS = 1 << 24  # sub-envs of a vector environment, whose arrays then take gigabytes
SPEC_DEPTH = 32  # nested colons and brackets of a spec, that is, agents inside of agents

CODE_CELLS = 40  # 3⁴⁰ is the last power of three below 2⁶⁴: base-3 codes of boards
SIGNED_CODE_CELLS = 39  # 3³⁹ is below 2⁶³
OWNERSHIP_TABLE_CELLS = 20  # who owns a winning set is looked up in a table of all masks
ENUMERABLE_CELLS = 18  # 8.7e7 placements; one number each is what the sweep stores
INTERACTIVE_CELLS = 16  # 1.0e7 placements: solved in seconds, while a visitor waits
TABLE_CELLS = 12  # 143,365 placements: whole policies as tables, some tens of megabytes and a second
INSTANT_CELLS = 9  # 6,046 placements: milliseconds


def n_placements(game: "Game", plies: Iterable[int] | None = None) -> int:
    """The number of ways to place the stones of these plies, by default of all, each on its support."""
    rows = n_rows(game.supports)
    counted = range(len(rows)) if plies is None else plies
    return sum(rows[ply] * comb(ply, ply // 2) for ply in counted)


@lru_cache(maxsize=64)
def n_rows(supports: Sequence[int | None]) -> tuple[int, ...]:
    """The number of sets of cells that stones may be on, for each number of stones, of whatever colour.

    >>> n_rows((None, None, 0))  # two cells, and one on the first of them
    (1, 2, 2, 1)
    """
    resting: list[list[int]] = [[] for _ in supports]
    for cell, support in enumerate(supports):
        if support is not None:
            resting[support].append(cell)

    def on(cells: list[int]) -> tuple[int, ...]:
        """The same for these cells and all that rest on them."""
        counts: tuple[int, ...] = (1,)
        for cell in cells:
            counts = _product(counts, (1, *on(resting[cell])))
        return counts

    return on([cell for cell, support in enumerate(supports) if support is None])


def _product(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """The coefficients of the product of two polynomials."""
    product = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            product[i + j] += a * b
    return tuple(product)


def _is_within(game: "Game", most: int) -> bool:
    """True if there are no more placements than on a board of `most` cells, each of which may be played."""
    return n_placements(game) <= _most_placements(most)


def _most_placements(n_cells: int) -> int:
    return sum(comb(n_cells, ply) * comb(ply, ply // 2) for ply in range(n_cells + 1))


def is_enumerable(game: "Game") -> bool:
    """True if the game has few enough positions to enumerate."""
    return _is_within(game, ENUMERABLE_CELLS)


def is_interactive(game: "Game") -> bool:
    """True if the game is solved in seconds, while the user waits."""
    return _is_within(game, INTERACTIVE_CELLS)


def is_tabulated(game: "Game") -> bool:
    """True if the positions are few enough to keep a policy for all of them, and to compute it often."""
    return _is_within(game, TABLE_CELLS)


def is_instant(game: "Game") -> bool:
    """True if enumerating all positions takes milliseconds, as in tic-tac-toe."""
    return _is_within(game, INSTANT_CELLS)


def _check_cells(game: "Game", most: int, purpose: str, instead: str = "") -> None:
    """Raise `GameTooLargeError` for a game of more positions than one of `most` cells may have."""
    if not _is_within(game, most):
        size, limit = f"{game.n_cells} cells", f"{most} cells are the limit"
        if game.has_gravity:  # it has fewer positions than its cells suggest
            size = f"up to {n_placements(game):,} positions"
            limit = f"{_most_placements(most):,} are the limit"
        raise GameTooLargeError(f"{game.name} has {size}, too many {purpose}; {limit}{instead}")


def check_board(name: str, n_cells: int) -> None:
    """Raise `GameTooLargeError` for a board with more cells than a game may have."""
    if n_cells > BOARD_CELLS:
        raise GameTooLargeError(
            f"{name} has {brief(n_cells)} cells; at most {BOARD_CELLS} are allowed: choose a smaller board"
        )


def check_enumerable(
    game: "Game",
    purpose: str = "to enumerate its positions",
    instead: str = "On larger boards `match` and `ttt bench` play games; `prove` and `ttt solve` search",
) -> None:
    """Raise `GameTooLargeError` for a game with too many positions to enumerate.

    The message says for which `purpose` they are too many, and what is possible `instead`.
    """
    _check_cells(game, ENUMERABLE_CELLS, purpose, f". {instead}")


def check_coded(game: "Game", most: int = CODE_CELLS, purpose: str = "for base-3 codes of boards") -> None:
    """Raise `GameTooLargeError` for more than `most` cells, which have no base-3 codes for the purpose."""
    if game.n_cells > most:
        raise GameTooLargeError(
            f"{game.name} has {game.n_cells} cells, too many {purpose}; {most} cells are the limit"
        )
