"""The file of a proof: its result, and the strategies that show it.

docs/reference/formats.md specifies the format.
"""

from collections.abc import Collection, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttt_env.errors import FileError, TttEnvError, brief
from ttt_env.proofs.strategy import MOST_POSITIONS, Strategy
from ttt_env.rules import BOARD_CELLS, SEATS, Game, Masks, Position, Seat
from ttt_env.rules.symmetry import automorphisms
from ttt_env.storage import Arrays, ArraySpec, array_names, read_arrays, save_arrays
from ttt_env.storage.archive import IDENTITY, game_of_file

if TYPE_CHECKING:
    from ttt_env.proofs.proof import Proof

KIND = "proof"
FORMAT = "ttt_env proof 1"
_FORMAT_2 = "ttt_env proof 2"  # with positions that have more of the other's stones than a game can lead to

_MOST_SEQUENCES = 100_000_000  # of all positions together
_MOST_NODES = (1 << 63) - 1
_RESULT = {
    "format": ArraySpec(np.str_, (), len(FORMAT)),
    "start": ArraySpec(np.uint64, (2,)),
    "bounds": ArraySpec(np.int8, (2,)),
    "automorphisms": ArraySpec(np.uint8, (None, None), 1 << 16),
    "principal_variation": ArraySpec(np.uint8, (None,), BOARD_CELLS),
    "nodes": ArraySpec(np.int64),
    "seconds": ArraySpec(np.float64),
}
_TABLE = {
    "positions": ArraySpec(np.uint64, (None, 2), MOST_POSITIONS),
    "moves": ArraySpec(np.uint8, (None,), MOST_POSITIONS),
    "n_sequences": ArraySpec(np.uint8, (None,), MOST_POSITIONS),
    "sequences": ArraySpec(np.uint8, (None, None), _MOST_SEQUENCES),
}


class ProofContents(NamedTuple):
    """The contents of a proof file: the fields of a proof, and its strategies."""

    position: Position
    bounds: tuple[int, int]
    principal_variation: tuple[int, ...]
    nodes: int
    seconds: float
    strategies: tuple[Strategy, ...]


def claims(position: Position, bounds: tuple[int, int]) -> list[tuple[Seat, bool]]:
    """The seats that need a strategy to show a value, each with True if it wins, False if it does not lose.

    There are none if the value is not known, or the game is over. The first player on an empty board of a
    monotone game cannot lose in any case (strategy stealing), and needs none.
    """
    mover, other = position.to_move, SEATS[1 - position.ply % 2]
    if bounds[0] != bounds[1] or position.is_over:
        return []
    if bounds[0] != 0:
        return [(mover if bounds[0] == 1 else other, True)]
    cannot_lose = position.ply == 0 and position.game.is_monotone
    return [(other, False)] if cannot_lose else [(other, False), (mover, False)]


def check_result(
    position: Position,
    bounds: tuple[int, int],
    principal_variation: tuple[int, ...],
    nodes: int,
    seconds: float,
) -> None:
    """Raise `ValueError`, which names the part, if these cannot be the result of a search on the position.

    The bounds are verified only in a position in which the game is over.
    """
    lower, upper = bounds
    if not -1 <= lower <= upper <= 1:
        raise ValueError(f"bounds {brief(lower)} and {brief(upper)}: expected −1, 0 or 1, the lowest first")
    if position.is_over and not lower == upper == _result(position):
        raise ValueError(f"bounds {lower} and {upper} are not those of {position!r}, where the game is over")
    if lower < 0 and position.ply == 0 and position.game.is_monotone:
        raise ValueError(f"bounds {lower} and {upper}: the first player does not lose on an empty board")
    if not 0 <= nodes <= _MOST_NODES:
        raise ValueError(f"nodes={brief(nodes)}: expected an integer from 0 to {_MOST_NODES}")
    if not 0 <= seconds < inf:
        raise ValueError(f"seconds={seconds}: expected a finite number ≥ 0")
    if principal_variation and lower != upper:
        raise ValueError("principal_variation: there is none where the value is not known")
    value = lower
    for cell in principal_variation:
        try:
            position, value = position.play(cell), -value
        except TttEnvError as error:
            raise ValueError(f"principal_variation: {error}") from error
    if position.is_over and lower == upper and value != _result(position):
        raise ValueError(f"principal_variation: it ends in {position!r}, which bounds {lower} do not allow")


def _result(position: Position) -> int:
    """The value, for the player to move, of a position in which the game is over."""
    return 0 if position.winner is None else 1 if position.winner == position.to_move else -1


def write(path: str | Path, filed: "ProofContents | Proof") -> None:
    """Write a proof. Raises `FileError` if that fails."""
    position = filed.position
    arrays: Arrays = {
        "format": np.array(_FORMAT_2 if any(map(_has_added_stones, filed.strategies)) else FORMAT),
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
    save_arrays(path, position.game, arrays | joined_arrays(of_seats))


def read(path: str | Path, game: Game | None = None) -> ProofContents:
    """The proof in a file, by default of any game.

    Its parts fit each other, as `check_result` says; `extraction.check_strategy` verifies the strategies.

    Raises `FileError` for a file that is not a proof, or one of another game than asked for.
    """
    filed_game = game_of_file(path)
    game = filed_game if game is None else game
    if game.has_gravity:
        raise FileError(f"{path} is not a {KIND}: {game.name} has gravity, where there are no strategies")
    names = array_names(path)
    forms = _RESULT | specs_in(names, _TABLE)
    arrays = read_arrays(path, game, KIND, forms)
    if others := names - forms.keys() - IDENTITY:
        raise FileError(f"{path} is not a {KIND}: it also holds {brief(', '.join(sorted(others)))}")
    if str(arrays["format"]) not in (FORMAT, _FORMAT_2):
        raise FileError(f"{path} is not a {KIND}: its format is neither {FORMAT!r} nor {_FORMAT_2!r}")
    try:
        return _contents_of(game, arrays)
    except ValueError as error:
        raise FileError(f"{path} is not a {KIND}: {error}") from error


def _contents_of(game: Game, arrays: Arrays) -> ProofContents:
    """The contents of these arrays. Raises `ValueError` if they are not a proof."""
    x, o = arrays["start"].tolist()
    position = Position(game, *((o, x) if (x | o).bit_count() % 2 else (x, o))).checked()
    if position.is_over:
        raise ValueError("the game is over at its start")
    lower, upper = arrays["bounds"].tolist()
    line = tuple(arrays["principal_variation"].tolist())
    nodes, seconds = int(arrays["nodes"]), float(arrays["seconds"])
    check_result(position, (lower, upper), line, nodes, seconds)
    if arrays["automorphisms"].tolist() != [*map(list, automorphisms(game))]:
        raise ValueError(f"its automorphisms are not those by which positions of {game.name} are merged")
    of_seats, seat_claims = arrays_by_seat(arrays), claims(position, (lower, upper))
    if of_seats.keys() != {seat for seat, _ in seat_claims}:
        seats = [
            " and ".join(sorted(group)) or "nobody" for group in (of_seats, {seat for seat, _ in seat_claims})
        ]
        raise ValueError(
            f"it has a strategy of {seats[0]}, and bounds {lower} and {upper} need one of {seats[1]}"
        )
    strategies = tuple(_strategy(position, seat, wins, of_seats[seat]) for seat, wins in seat_claims)
    if str(arrays["format"]) == FORMAT and any(map(_has_added_stones, strategies)):
        raise ValueError(f"in one of its positions another seat is to move, which {FORMAT!r} does not allow")
    return ProofContents(position, (lower, upper), line, nodes, seconds, strategies)


def _strategy(start: Position, seat: Seat, wins: bool, arrays: Arrays) -> Strategy:
    """The strategy of these arrays.

    Raises `ValueError` if they are not a table of positions in which the seat is to move.
    """
    if arrays.keys() != _TABLE.keys():
        raise ValueError(f"of {seat} it holds {', '.join(sorted(arrays))} alone")
    game = start.game
    positions, moves, n_sequences, sequences = (arrays[name] for name in _TABLE)
    own, other = positions[:, 0], positions[:, 1]
    if (own & other).any() or ((own | other) & ~np.uint64(game.full_mask)).any():
        raise ValueError("stones of its positions are on the same cell, or outside of the board")
    n_added = _n_added_stones(seat, positions)
    if (n_added < 0).any() or ((wins or game.misere) and n_added.any()):
        raise ValueError(f"in one of its positions {seat} is not to move")
    if len(moves) != len(own) or (moves >= game.n_cells).any():
        raise ValueError("its moves are not one cell for each position")
    if ((own | other) >> moves.astype(np.uint64) & np.uint64(1)).any():
        raise ValueError("one of its moves is on a taken cell")
    if len(n_sequences) != len(own) or n_sequences.sum(dtype=np.int64) != len(sequences):
        raise ValueError("its sequences are not those of its positions")
    _check_sequences(game, wins, sequences)
    return Strategy(start, seat, wins, **arrays)


def _has_added_stones(strategy: Strategy) -> bool:
    return bool(_n_added_stones(strategy.seat, strategy.positions).any())


def _n_added_stones(seat: Seat, positions: Masks) -> NDArray[np.int64]:
    """The number of the other's stones beyond a real game in which the seat is to move, `[P]`."""
    own, other = np.bitwise_count(positions).astype(np.int64).T
    n_added: NDArray[np.int64] = other - own - (seat == "O")
    return n_added


def _check_sequences(game: Game, wins: bool, sequences: NDArray[np.uint8]) -> None:
    """Raise `ValueError` unless each row is of different cells, an even number of them if pairs, then 64s."""
    is_cell, ordered = sequences < BOARD_CELLS, np.sort(sequences, axis=1)
    if (is_cell & (sequences >= game.n_cells)).any() or (sequences > BOARD_CELLS).any():
        raise ValueError("a cell of its sequences is outside of the board")
    if (is_cell[:, 1:] & ~is_cell[:, :-1]).any():
        raise ValueError("one of its sequences has cells after its end")
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] < BOARD_CELLS)).any():
        raise ValueError("a cell is in one of its sequences twice")
    if not wins and (is_cell.sum(axis=1) % 2).any():
        raise ValueError("its sequences are not pairs")
    if game.misere and len(sequences):
        raise ValueError("it has sequences, and the game is misère")


def joined_arrays(of_seats: Mapping[Seat, Arrays]) -> Arrays:
    """The arrays of each seat under the names that they have in a file."""
    return {
        _prefix(seat) + name: array for seat, arrays in of_seats.items() for name, array in arrays.items()
    }


def specs_in(names: Collection[str], forms: Mapping[str, ArraySpec]) -> dict[str, ArraySpec]:
    """The forms of the arrays with these names in a file, the same for each seat."""
    of_seats = {_prefix(seat) + name: form for seat in SEATS for name, form in forms.items()}
    return {name: form for name, form in of_seats.items() if name in names}


def arrays_by_seat(arrays: Arrays) -> dict[Seat, Arrays]:
    """The arrays of each seat that has any in a file."""
    of_seats: dict[Seat, Arrays] = {}
    for seat in SEATS:
        for name, array in arrays.items():
            if name.startswith(_prefix(seat)):
                of_seats.setdefault(seat, {})[name.removeprefix(_prefix(seat))] = array
    return of_seats


def _prefix(seat: Seat) -> str:
    return f"{seat.lower()}_"
