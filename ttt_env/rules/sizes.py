"""Every limit on the size of a game, in cells and by the use made of it, and of a text.

A game of `n` cells has at most `n_placements(n)` positions, so what enumerating it costs depends on the cells
alone, whatever its winning sets are.
"""

from collections.abc import Iterable
from math import comb
from typing import TYPE_CHECKING

from ttt_env.errors import GameTooLargeError, brief

if TYPE_CHECKING:
    from ttt_env.rules.game import Game

BOARD_CELLS = 64  # of any game: a player's stones are the bits of one uint64
BOARD_SETS = 20_000  # winning sets of a game
NAME_LETTERS = 500  # of a game
TEXT_LETTERS = 10_000  # of a spec, a position or a game record
MAX_SEED = 2**32 - 1  # NumPy's global generator, which Stable-Baselines3 seeds, takes no larger one
ENVS = 1 << 24  # of a vector environment, whose arrays take gigabytes then
SPEC_DEPTH = 32  # colons and brackets of a spec around one of its letters: agents inside of agents

CODE_CELLS = 40  # 3⁴⁰ is the last power of three below 2⁶⁴: base-3 codes of boards
SIGNED_CODE_CELLS = 39  # 3³⁹ is below 2⁶³
OWNERSHIP_TABLE_CELLS = 20  # who owns a winning set is looked up in a table of all masks
ENUMERABLE_CELLS = 18  # 8.7e7 placements; one number each is what the sweep stores
INTERACTIVE_CELLS = 16  # 1.0e7 placements: solved in seconds, while a visitor waits
TABLE_CELLS = 12  # 143,365 placements: whole policies as tables, some tens of megabytes and a second
INSTANT_CELLS = 9  # 6,046 placements: milliseconds


def n_placements(n_cells: int, plies: Iterable[int] | None = None) -> int:
    """The number of ways to place the stones of these plies, by default of all, on so many cells."""
    counted = range(n_cells + 1) if plies is None else plies
    return sum(comb(n_cells, ply) * comb(ply, ply // 2) for ply in counted)


def is_enumerable(game: "Game") -> bool:
    """True if the positions of the game are few enough to look at each of them."""
    return game.n_cells <= ENUMERABLE_CELLS


def is_tabulated(game: "Game") -> bool:
    """True if the positions are few enough to keep a policy for all of them, and to compute it often."""
    return game.n_cells <= TABLE_CELLS


def is_instant(game: "Game") -> bool:
    """True if going through all positions takes milliseconds, as in tic-tac-toe."""
    return game.n_cells <= INSTANT_CELLS


def _check_cells(game: "Game", most: int, purpose: str, instead: str = "") -> None:
    """Raise `GameTooLargeError` for a game of more than `most` cells: the one wording of these errors."""
    if game.n_cells > most:
        raise GameTooLargeError(
            f"{game.name} has {game.n_cells} cells, too many {purpose}; {most} cells are the limit{instead}"
        )


def check_board(name: str, n_cells: int) -> None:
    """Raise `GameTooLargeError` for a board of more cells than a game may have."""
    if n_cells > BOARD_CELLS:
        raise GameTooLargeError(
            f"{name} has {brief(n_cells)} cells; at most {BOARD_CELLS} are allowed: choose a smaller board"
        )


def check_enumerable(
    game: "Game",
    purpose: str = "to look at each position",
    instead: str = "On larger boards `match` and `ttt bench` play games, `prove` and `ttt solve` search",
) -> None:
    """Raise `GameTooLargeError` for a game of too many positions to look at each of them.

    The message says for which `purpose` they are too many, and what is possible `instead`.
    """
    _check_cells(game, ENUMERABLE_CELLS, purpose, f". {instead}")


def check_tabulated(game: "Game", purpose: str) -> None:
    """Raise `GameTooLargeError` for a game of too many positions to keep a policy for all of them."""
    _check_cells(game, TABLE_CELLS, purpose)


def check_coded(game: "Game") -> None:
    """Raise `GameTooLargeError` for a game of more than 40 cells, whose boards have no base-3 codes."""
    _check_cells(game, CODE_CELLS, "for base-3 codes of boards")
