"""Archives of arrays (`.npz`), which say for what game they were written.

All numbers that the package saves are in such files: tables of policies and of Q-values, networks,
proofs. Nothing in one is ever run: pickled objects are refused.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import DTypeLike, NDArray

from ttt_env.errors import FileError, GameError, GameTooLargeError, TttEnvError
from ttt_env.rules import BOARD_CELLS, Game, cells_of, checked_rules
from ttt_env.rules.sizes import BOARD_SETS
from ttt_env.storage.files import file_errors, open_regular, write_atomically

Arrays = dict[str, NDArray[Any]]
IDENTITY = frozenset({"game", "shape", "winning_masks", "misere"})  # the names of the arrays about the game
MOST_BYTES = 1 << 31  # the limit for the arrays of a file
SUPPORTS = "supports"  # in files of games with gravity, and in proofs of all games
_MAX_TEXT_LETTERS = 1000  # of a text, such as the name of a game


class ArraySpec(NamedTuple):
    """The required form of an array: its type, and its shape, in which None is any length up to `most`.

    Texts have the type `np.str_`; one alone, of the shape (), has up to `most` letters, of several each up to
    `letters`.
    """

    dtype: DTypeLike
    shape: tuple[int | None, ...] = ()
    most: int = 0
    letters: int = 0

    def admits(self, array: NDArray[Any]) -> bool:
        """True if the array has the form."""
        if self.dtype is np.str_:
            is_typed = array.dtype.kind == "U" and array.dtype.itemsize <= 4 * (self.letters or self.most)
        else:
            is_typed = array.dtype == np.dtype(self.dtype)
        is_shaped = len(array.shape) == len(self.shape) and all(
            length <= self.most if expected is None else length == expected
            for length, expected in zip(array.shape, self.shape, strict=True)
        )
        return is_typed and is_shaped


def save_arrays(path: str | Path, game: Game, arrays: Arrays) -> None:
    """Write arrays and the game they are for to a compressed file, which replaces an old one when complete.

    Raises `FileError` if the file cannot be written, or the arrays hold more than `MOST_BYTES`.
    """
    content = {**_identity(game), **arrays}
    if (size := sum(array.nbytes for array in content.values())) > MOST_BYTES:
        raise FileError(f"{path} would hold {size:,} bytes; policy files hold up to {MOST_BYTES:,}")
    with file_errors(path, "written"):
        write_atomically(path, lambda file: np.savez_compressed(file, **content))  # type: ignore[arg-type]


def read_arrays(
    path: str | Path, game: Game, kind: str, forms: Mapping[str, ArraySpec | tuple[ArraySpec, ...]]
) -> Arrays:
    """The arrays of these names, each of its form or one of several, from a file written for this game.

    Raises `FileError` for any other file; the message says that it is not a `kind`.
    """
    with _Archive.open(path, kind) as archive:
        if missing := {*_identity(game), *forms} - archive.names:
            raise archive.error(f"it lacks {', '.join(sorted(missing))}")
        if difference := archive.mismatch(game):
            raise FileError(
                f"{path} is a table of {archive.text('game')}, not of {game.name}: other {difference}"
            )
        return {name: archive.array(name, form) for name, form in forms.items()}


def array_names(path: str | Path) -> frozenset[str]:
    """The names of the arrays of a file, without reading them; empty if it is not a policy file."""
    try:
        with _Archive.open(path, "policy file") as archive:
            return archive.names
    except FileError:
        return frozenset()


def is_for(path: str | Path, game: Game) -> bool:
    """True if a file was written for this game. Raises `FileError` if it is not a policy file."""
    with _Archive.open(path, "policy file") as archive:
        return archive.mismatch(game) is None


def game_name(path: str | Path) -> str:
    """The name of the game of a file. Raises `FileError` if it is not a policy file."""
    with _Archive.open(path, "policy file") as archive:
        return archive.text("game")


def text_in(path: str | Path, name: str) -> str | None:
    """The text in a file's array of this name, None if it has none. Raises as `game_name` does."""
    with _Archive.open(path, "policy file") as archive:
        return archive.text(name) if name in archive.names else None


def game_of_file(path: str | Path) -> Game:
    """The game that a file was written for, of the catalogue or of the user's own.

    Raises `FileError` if it is not a policy file, and for the name of a game with the rules of another.
    """
    with _Archive.open(path, "policy file") as archive:
        name = archive.text("game")
        shape = archive.array("shape", ArraySpec(np.int64, (None,), 6)).tolist()
        masks = archive.array("winning_masks", ArraySpec(np.uint64, (None,), BOARD_SETS)).tolist()
        misere = bool(archive.array("misere", ArraySpec(np.bool_)))
        supports = None
        if SUPPORTS in archive.names:
            numbers = archive.array(SUPPORTS, ArraySpec(np.int8, (None,), BOARD_CELLS)).tolist()
            supports = [None if cell == -1 else cell for cell in numbers]
        try:
            return checked_rules(Game(name, shape, map(cells_of, masks), misere, supports=supports))
        except (GameError, GameTooLargeError) as error:
            raise archive.error(str(error)) from error


class _Archive:
    """An open policy file, and the errors that name it."""

    def __init__(self, path: str | Path, kind: str, arrays: NpzFile) -> None:
        self.path, self.kind, self._arrays = path, kind, arrays
        self.names = frozenset(arrays.files)

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, kind: str) -> Iterator["_Archive"]:
        """The archive, for the time of a with statement, in which damaged bytes raise `FileError`."""
        with file_errors(path, "read"):
            stream = open_regular(path)
        with stream:
            try:
                arrays = np.load(stream, allow_pickle=False)
                if not isinstance(arrays, NpzFile):
                    raise FileError(f"{path} is not a {kind}: it holds one array alone")
                archive = cls(path, kind, arrays)
                if len(archive.names) < len(arrays.files):
                    raise archive.error("an array is there twice")
                size = sum(member.file_size for member in arrays.zip.infolist())  # type: ignore[union-attr,misc]
                if size > MOST_BYTES:
                    raise archive.error(f"it holds {size:,} bytes, of at most {MOST_BYTES:,}")
                yield archive
            except TttEnvError:
                raise
            except Exception as error:  # zipfile and NumPy fail in a dozen ways where bytes are damaged
                what = "damaged, or of something else than numbers"
                raise FileError(f"{path} is not a {kind}: it is {what}") from error

    def error(self, what: str) -> FileError:
        """The error that says what is wrong with the file."""
        return FileError(f"{self.path} is not a {self.kind}: {what}")

    def array(self, name: str, form: ArraySpec | tuple[ArraySpec, ...]) -> NDArray[Any]:
        """An array of this form. Raises `FileError` if there is none."""
        if name not in self.names:
            raise self.error(f"it lacks {name}")
        array: NDArray[Any] = self._arrays[name]
        if not any(each.admits(array) for each in ((form,) if isinstance(form, ArraySpec) else form)):
            raise self.error(f"its {name} has the wrong form, {array.dtype} of shape {array.shape}")
        if array.dtype.kind == "U":
            array.tolist()  # fails if a number in it is not a character
        return array

    def text(self, name: str) -> str:
        """The text in an array, one line."""
        text = str(self.array(name, ArraySpec(np.str_, (), _MAX_TEXT_LETTERS)).item())
        if not text.isprintable():
            raise self.error(f"its {name} cannot be printed")
        return text

    def mismatch(self, game: Game) -> str | None:
        """The array, such as shape, in which the game of the file differs first; None if none does."""
        expected_arrays = _identity(game)
        if SUPPORTS in self.names:
            expected_arrays[SUPPORTS] = supports_of(game)
        for name, expected in expected_arrays.items():
            if name == "game":
                continue
            if name not in self.names:
                raise self.error(f"it lacks {name}")
            array = self._arrays[name]
            if array.dtype != expected.dtype or not np.array_equal(_in_order(array), _in_order(expected)):
                return name
        return None


def _in_order(array: NDArray[Any]) -> NDArray[Any]:
    """Winning sets, which some files hold in ascending order, in that order; other arrays unchanged."""
    return np.sort(array) if array.dtype == np.uint64 else array


def _identity(game: Game) -> Arrays:
    """The arrays in a file that identify the game for which it was written."""
    identity = {
        "game": np.array(game.name),
        "shape": np.array(game.shape),
        "winning_masks": np.array(game.winning_masks, dtype=np.uint64),
        "misere": np.array(game.misere),
    }
    return identity | {SUPPORTS: supports_of(game)} if game.has_gravity else identity


def supports_of(game: Game) -> NDArray[np.int8]:
    """The supports of a game as in files, −1 for none."""
    return np.array([-1 if cell is None else cell for cell in game.supports], np.int8)
