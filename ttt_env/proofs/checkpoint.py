"""The state of an unfinished proof, in a file from which another run continues."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ttt_env.errors import FileError
from ttt_env.proofs.file import arrays_by_seat, joined_arrays, specs_in
from ttt_env.rules import Position, Seat
from ttt_env.storage import Arrays, ArraySpec, array_names, read_arrays, save_arrays

_KIND = "checkpoint of a proof"
_FORMAT = "ttt_env checkpoint of a proof 4"
_MOST = 1 << 28  # positions
_HEAD = {
    "format": ArraySpec(np.str_, (), len(_FORMAT)),
    "start": ArraySpec(np.uint64, (2,)),
    "nodes": ArraySpec(np.int64),
    "seconds": ArraySpec(np.float64),
}
_QUESTION = {  # of a seat: does it win?
    "table_bits": ArraySpec(np.int64),
    "table": ArraySpec(np.uint64, (None, None), _MOST),  # two or three words an answer
}


def write(path: Path, start: Position, nodes: int, seconds: float, of_seats: Mapping[Seat, Arrays]) -> None:
    """Write the table of each seat. Raises `FileError` if that fails."""
    arrays: Arrays = {
        "format": np.array(_FORMAT),
        "start": np.array([start.x_mask, start.o_mask], np.uint64),
        "nodes": np.array(nodes, np.int64),
        "seconds": np.array(seconds),
    }
    save_arrays(path, start.game, arrays | joined_arrays(of_seats))


def read(path: Path, start: Position) -> tuple[int, float, dict[Seat, Arrays]]:
    """The nodes and seconds of the runs so far, and the table of each seat.

    Raises `FileError` for a file that is not a checkpoint, or one of another game or another position.
    """
    forms = _HEAD | specs_in(array_names(path), _QUESTION)
    arrays = read_arrays(path, start.game, _KIND, forms)
    x, o = arrays["start"].tolist()
    if str(arrays["format"]) != _FORMAT:
        raise FileError(f"{path} is not a {_KIND}: its format is not {_FORMAT!r}")
    if (x, o) != (start.x_mask, start.o_mask):
        raise FileError(f"{path} is the checkpoint of another position than {start!r}")
    of_seats = arrays_by_seat(arrays)
    for seat, parts in of_seats.items():
        if parts.keys() != _QUESTION.keys():
            raise FileError(f"{path} is not a {_KIND}: a part about {seat} is missing")
    return int(arrays["nodes"]), float(arrays["seconds"]), of_seats
