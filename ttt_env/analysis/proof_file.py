"""The file of a proof: its result, and the strategies that show it; docs/proofs.md describes the format."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.analysis.seat_arrays import forms_in, joined, separated
from ttt_env.analysis.strategy import MOST_POSITIONS, Strategy
from ttt_env.errors import PolicyFileError
from ttt_env.rules.boards import Masks
from ttt_env.rules.game import Game, Position, Seat
from ttt_env.rules.sizes import MASK_CELLS
from ttt_env.rules.symmetry import automorphisms
from ttt_env.storage.policy_file import Arrays, Form, array_names, game_of_file, read_arrays, save_arrays

KIND = "proof"
FORMAT = "ttt_env proof 1"

_MOST_SEQUENCES = 100_000_000  # of all positions together
_RESULT = {
    "format": Form(np.str_, (), len(FORMAT)),
    "start": Form(np.uint64, (2,)),
    "bounds": Form(np.int8, (2,)),
    "principal_variation": Form(np.uint8, (None,), MASK_CELLS),
    "nodes": Form(np.int64),
    "seconds": Form(np.float64),
}
_TABLE = {
    "positions": Form(np.uint64, (None, 2), MOST_POSITIONS),
    "moves": Form(np.uint8, (None,), MOST_POSITIONS),
    "n_sequences": Form(np.uint8, (None,), MOST_POSITIONS),
    "sequences": Form(np.uint8, (None, None), _MOST_SEQUENCES),
}


class Filed(NamedTuple):
    """What a file says: the fields of a proof, and its strategies."""

    position: Position
    bounds: tuple[int, int]
    principal_variation: tuple[int, ...]
    nodes: int
    seconds: float
    strategies: tuple[Strategy, ...]


def write(path: str | Path, filed: Filed) -> None:
    """Write a proof. Raises `PolicyFileError` if that fails."""
    position = filed.position
    arrays: Arrays = {
        "format": np.array(FORMAT),
        "start": np.array([position.x_mask, position.o_mask], np.uint64),
        "bounds": np.array(filed.bounds, np.int8),
        "principal_variation": np.array(filed.principal_variation, np.uint8),
        "nodes": np.array(filed.nodes, np.int64),
        "seconds": np.array(filed.seconds),
        "automorphisms": np.array(automorphisms(position.game), np.uint8),
    }
    of_seats = {
        strategy.seat: {name: getattr(strategy, name) for name in _TABLE} for strategy in filed.strategies
    }
    save_arrays(path, position.game, arrays | joined(of_seats))


def read(path: str | Path, game: Game | None = None) -> Filed:
    """The proof in a file, by default of any game.

    Raises `PolicyFileError` for a file that is no proof, or one of another game than asked for.
    """
    game = game_of_file(path) if game is None else game
    forms = _RESULT | forms_in(array_names(path), _TABLE)
    arrays = read_arrays(path, game, KIND, forms)
    if str(arrays["format"]) != FORMAT:
        raise PolicyFileError(f"{path} is no {KIND}: its format is not {FORMAT!r}")
    try:
        return _filed(game, arrays)
    except ValueError as error:
        raise PolicyFileError(f"{path} is no {KIND}: {error}") from error


def _filed(game: Game, arrays: Arrays) -> Filed:
    """What these arrays say. Raises `ValueError` if they are no proof."""
    x, o = arrays["start"].tolist()
    position = Position(game, *((o, x) if (x | o).bit_count() % 2 else (x, o))).checked()
    lower, upper = arrays["bounds"].tolist()
    if not -1 <= lower <= upper <= 1:
        raise ValueError(f"its bounds are {lower} and {upper}")
    strategies = []
    for seat, own in separated(arrays).items():
        wins = lower == upper == (1 if seat == position.to_move else -1)
        strategies.append(_strategy(position, seat, wins, own))
    line = tuple(arrays["principal_variation"].tolist())
    nodes, seconds = int(arrays["nodes"]), float(arrays["seconds"])
    return Filed(position, (lower, upper), line, nodes, seconds, tuple(strategies))


def _strategy(start: Position, seat: Seat, wins: bool, arrays: Arrays) -> Strategy:
    """The strategy of these arrays. Raises `ValueError` if they are none."""
    if arrays.keys() != _TABLE.keys():
        raise ValueError(f"of {seat} it holds {', '.join(sorted(arrays))} alone")
    _check_table(start.game, seat, wins, **arrays)
    return Strategy(start, seat, wins, **arrays)


def _check_table(
    game: Game,
    seat: Seat,
    wins: bool,
    positions: Masks,
    moves: NDArray[np.uint8],
    n_sequences: NDArray[np.uint8],
    sequences: NDArray[np.uint8],
) -> None:
    """Raise `ValueError` for arrays that are no table of positions in which the seat is to move."""
    own, other = positions[:, 0], positions[:, 1]
    n_others = np.bitwise_count(own) + (seat == "O")
    if (own & other).any() or ((own | other) & ~np.uint64(game.full_mask)).any():
        raise ValueError("stones of its positions are on the same cell, or outside of the board")
    if (np.bitwise_count(other) != n_others).any():
        raise ValueError(f"in one of its positions {seat} is not to move")
    if len(moves) != len(own) or (moves >= game.n_cells).any():
        raise ValueError("its moves are not one cell for each position")
    if ((own | other) >> moves.astype(np.uint64) & np.uint64(1)).any():
        raise ValueError("one of its moves is on a taken cell")
    if len(n_sequences) != len(own) or n_sequences.sum(dtype=np.int64) != len(sequences):
        raise ValueError("its sequences are not those of its positions")
    if ((sequences >= game.n_cells) & (sequences != MASK_CELLS)).any():
        raise ValueError("a cell of its sequences is outside of the board")
    if not wins and not np.array_equal(sequences[:, ::2] < MASK_CELLS, sequences[:, 1::2] < MASK_CELLS):
        raise ValueError("its sequences are no pairs")
