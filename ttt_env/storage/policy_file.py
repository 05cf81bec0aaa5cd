"""Policy files: `.npz` archives of arrays, which say for what game they were written.

All numbers that the package saves are in such files: tables of policies and of Q-values, networks,
tablebases. Files come from strangers, so nothing in one is ever run, and no array is read before its header
shows that it has the right type and size: a file of a few bytes cannot claim gigabytes.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttt_env.errors import GameError, GameTooLargeError, PolicyFileError
from ttt_env.rules import BOARD_CELLS, Game, cells_of, checked_rules
from ttt_env.rules.sizes import BOARD_SETS
from ttt_env.storage.files import file_errors, open_regular, reason, write_atomically

Arrays = dict[str, NDArray[Any]]
IDENTITY = frozenset({"game", "shape", "winning_masks", "misere"})  # the names of the arrays about the game
MOST_BYTES = 1 << 31  # the limit for the arrays of a file
SUPPORTS = "supports"  # in files of games with gravity, and in proofs of all games
_MAX_TEXT_LETTERS = 1000  # of a text, such as the name of a game
_BEGIN = 10  # bytes: NumPy's mark, version 1.0, the length of the text that follows
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|=]?[A-Za-z]\d{0,9})', 'fortran_order': (?:True|False), "
    rb"'shape': \(((?:\d{1,19}, ?)*(?:\d{1,19})?)\), \}\s*",
    re.DOTALL,
)
"""The header that NumPy writes before the numbers. Its own reader parses it as Python, which may fail."""


class ArraySpec(NamedTuple):
    """The required form of an array: its type, and its shape, in which None is any length up to `most`.

    Texts have the type `np.str_`; one alone, of the shape (), has up to `most` letters, of several each up to
    `letters`.
    """

    dtype: DTypeLike
    shape: tuple[int | None, ...] = ()
    most: int = 0
    letters: int = 0

    def admits(self, header: "_Header") -> bool:
        """True if an array with this header has the form."""
        if self.dtype is np.str_:
            is_typed = header.dtype.kind == "U" and header.dtype.itemsize <= 4 * (self.letters or self.most)
        else:
            is_typed = header.dtype == np.dtype(self.dtype)
        is_shaped = len(header.shape) == len(self.shape) and all(
            0 <= length <= self.most if expected is None else length == expected
            for length, expected in zip(header.shape, self.shape, strict=True)
        )
        return is_typed and is_shaped


class _Header(NamedTuple):
    """The type and the shape that an array in a file declares before its numbers."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def save_arrays(path: str | Path, game: Game, arrays: Arrays) -> None:
    """Write arrays and the game they are for to a compressed file, which replaces an old one when complete.

    Raises `PolicyFileError` if the file cannot be written, or the arrays hold more than `MOST_BYTES`.
    """
    content = {**_identity(game), **arrays}
    if (size := sum(array.nbytes for array in content.values())) > MOST_BYTES:
        raise PolicyFileError(f"{path} would hold {size:,} bytes; policy files hold up to {MOST_BYTES:,}")
    with file_errors(path, "written", PolicyFileError):
        write_atomically(path, lambda file: np.savez_compressed(file, **content))  # type: ignore[arg-type]


def read_arrays(
    path: str | Path, game: Game, kind: str, forms: Mapping[str, ArraySpec | tuple[ArraySpec, ...]]
) -> Arrays:
    """The arrays of these names, each of its form or one of several, from a file written for this game.

    Raises `PolicyFileError` for any other file; the message says that it is not a `kind`.
    """
    with _Archive.open(path, kind) as archive:
        if missing := {*_identity(game), *forms} - archive.names:
            raise archive.error(f"it lacks {', '.join(sorted(missing))}")
        if difference := archive.mismatch(game):
            raise PolicyFileError(
                f"{path} is a table of {archive.game_name()}, not of {game.name}: other {difference}"
            )
        archive.check(forms)
        return {name: archive.array(name) for name in forms}


def array_names(path: str | Path) -> frozenset[str]:
    """The names of the arrays of a file, without reading them; empty if it is not a policy file."""
    try:
        with _Archive.open(path, "policy file") as archive:
            return frozenset(archive.names)
    except PolicyFileError:
        return frozenset()


def is_for(path: str | Path, game: Game) -> bool:
    """True if a file was written for this game. Raises `PolicyFileError` if it is not a policy file."""
    with _Archive.open(path, "policy file") as archive:
        return archive.mismatch(game) is None


def game_name(path: str | Path) -> str:
    """The name of the game of a file. Raises `PolicyFileError` if it is not a policy file."""
    with _Archive.open(path, "policy file") as archive:
        return archive.game_name()


def text_in(path: str | Path, name: str) -> str | None:
    """The text in a file's array of this name, None if it has none. Raises as `game_name` does."""
    with _Archive.open(path, "policy file") as archive:
        return archive.text(name) if name in archive.names else None


def game_of_file(path: str | Path) -> Game:
    """The game that a file was written for, of the catalogue or of the user's own.

    Raises `PolicyFileError` if it is not a policy file, and for the name of a game with the rules of another.
    """
    forms = {
        "shape": ArraySpec(np.int64, (None,), 6),
        "winning_masks": ArraySpec(np.uint64, (None,), BOARD_SETS),
        "misere": ArraySpec(np.bool_),
    }
    with _Archive.open(path, "policy file") as archive:
        name = archive.game_name()
        if SUPPORTS in archive.names:
            forms[SUPPORTS] = ArraySpec(np.int8, (None,), BOARD_CELLS)
        archive.check(forms)
        arrays = {key: archive.array(key) for key in forms}
        numbers = arrays.get(SUPPORTS)
        supports = None if numbers is None else [None if cell == -1 else cell for cell in numbers.tolist()]
        sets = [cells_of(mask) for mask in arrays["winning_masks"].tolist()]
        try:
            return checked_rules(
                Game(name, arrays["shape"].tolist(), sets, bool(arrays["misere"]), supports=supports)
            )
        except (GameError, GameTooLargeError) as error:
            raise archive.error(str(error)) from error


class _Archive:
    """An open policy file: its arrays, their headers, and the errors that name it."""

    def __init__(self, path: str | Path, kind: str, zipped: ZipFile) -> None:
        self.path, self.kind, self._zipped = path, kind, zipped
        self.names = {name.removesuffix(".npy") for name in zipped.namelist() if name.endswith(".npy")}

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, kind: str) -> Iterator["_Archive"]:
        """The archive, for the time of a with statement."""
        with file_errors(path, "read", PolicyFileError):
            stream = open_regular(path)
        with stream:
            with _archive_errors(path, kind):
                zipped = ZipFile(stream)
            archive = cls(path, kind, zipped)
            names = [name.removesuffix(".npy") for name in zipped.namelist()]
            if len(names) != len({*names}):
                raise archive.error("an array is there twice")
            yield archive

    def error(self, what: str) -> PolicyFileError:
        """The error that says what is wrong with the file."""
        return PolicyFileError(f"{self.path} is not a {self.kind}: {what}")

    def game_name(self) -> str:
        """The name of the game that it was written for."""
        return self.text("game")

    def text(self, name: str) -> str:
        """The text in an array, one line."""
        self.check({name: ArraySpec(np.str_, (), _MAX_TEXT_LETTERS)})
        text = str(self.array(name).item())
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
            is_same = self.header(name) == _Header(expected.dtype, expected.shape)
            if not is_same or not np.array_equal(_in_order(self.array(name)), _in_order(expected)):
                return name
        return None

    def check(self, forms: Mapping[str, ArraySpec | tuple[ArraySpec, ...]]) -> None:
        """Raise `PolicyFileError` if one of these arrays is not of its form, or all are too large."""
        size = 0
        for name, form in forms.items():
            header = self.header(name)
            if not any(each.admits(header) for each in ((form,) if isinstance(form, ArraySpec) else form)):
                raise self.error(f"its {name} has the wrong form, {header.dtype} of shape {header.shape}")
            size += _size(header)
        if size > MOST_BYTES:
            raise self.error(f"it holds {size:,} bytes, of at most {MOST_BYTES:,}")

    def header(self, name: str) -> _Header:
        """The header of an array. Raises `PolicyFileError` if there is none, or its size is wrong."""
        info = self._member(name)
        with _archive_errors(self.path, self.kind), self._zipped.open(info) as file:
            begin = file.read(_BEGIN)
            begin += file.read(int.from_bytes(begin[-2:], "little"))
            if not (match := _HEADER.fullmatch(begin)):
                raise ValueError("an array does not begin with the header that NumPy writes")
            dtype = np.dtype(match[1].decode())
            shape = tuple(int(length) for length in match[2].split(b",") if length.strip())
        if dtype.hasobject:
            raise self.error("it holds pickled objects, which are never loaded")
        header = _Header(dtype, shape)
        if len(begin) + _size(header) != info.file_size:
            raise self.error(f"damaged, {name} is not of the size that it declares")
        return header

    def array(self, name: str) -> NDArray[Any]:
        """An array whose header has been checked."""
        info = self._member(name)
        with _archive_errors(self.path, self.kind), self._zipped.open(info) as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            if array.dtype.kind == "U":
                array.tolist()  # fails if a number in it is not a character
            return array

    def _member(self, name: str) -> ZipInfo:
        try:
            info = self._zipped.getinfo(f"{name}.npy")
        except KeyError:
            raise self.error(f"it lacks {name}") from None
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise self.error(f"damaged, {name} is compressed in another way than NumPy does")
        return info


@contextmanager
def _archive_errors(path: str | Path, kind: str) -> Iterator[None]:
    """Turn every error inside into a `PolicyFileError` that names the file.

    Only for calls of `zipfile` and NumPy's format, which fail in a dozen ways where bytes are damaged.
    """
    try:
        yield
    except OSError as error:
        raise PolicyFileError(f"{path} cannot be read: {reason(error)}") from error
    except MemoryError as error:
        raise PolicyFileError(f"{path} needs more memory than available") from error
    except Exception as error:
        raise PolicyFileError(f"{path} is not a {kind}: damaged, {reason(error)}") from error


def _size(header: _Header) -> int:
    return prod(header.shape) * header.dtype.itemsize


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
