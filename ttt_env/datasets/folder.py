"""A data set of a game as a folder: its files, their description in Croissant, and a card to read."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from ttt_env.analysis.saved import game_to_dict, write_json
from ttt_env.analysis.workers import Progress
from ttt_env.datasets.card import card
from ttt_env.datasets.croissant import croissant
from ttt_env.datasets.files import DataFile, parquet_file
from ttt_env.datasets.positions import PositionTable
from ttt_env.errors import ParameterError, ResultFileError, shown
from ttt_env.rules.catalogue import get_game
from ttt_env.rules.checks import as_path, one_of
from ttt_env.rules.game import Game
from ttt_env.storage.files import opened, write_atomically
from ttt_env.text.wording import BoardStyle

Kind = Literal["positions"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DatasetProgress = Callable[[str, int, int], object]
"""Called with the kind of the data, and the numbers of those that are done and of all."""

_FORMAT = "ttt_env data set 1"
_MARKER, _CROISSANT, _CARD = "dataset.json", "croissant.json", "README.md"
_DATA = ("positions.parquet",)


@dataclass(frozen=True)
class DatasetOrder:
    """What a data set is to hold: see `write_dataset`. Raises its errors for what cannot be."""

    game: Game
    kinds: tuple[Kind, ...] | None = None
    one_per_class: bool = False
    finished: bool = False
    prompts: bool | None = None
    board: BoardStyle = "grid"
    answer: str = "[{cell}]"
    seed: int = 0
    published: date | None = None

    def __post_init__(self) -> None:
        for kind in self.kinds or ():
            one_of("kinds", kind, KINDS)
        if self.published is not None and type(self.published) is not date:
            raise ParameterError(f"published={shown(self.published)}: a datetime.date is needed")
        self.positions  # noqa: B018 - checks the rest

    @property
    def title(self) -> str:
        """The name of the data set."""
        return f"ttt_env {self.game.name}"

    @property
    def positions(self) -> PositionTable:
        """The table of the positions."""
        return PositionTable(
            self.game, self.one_per_class, self.finished, self.prompts, self.board, self.answer, self.seed
        )

    def settings(self) -> dict[str, Any]:
        """What was asked for beside the game, where it is not what one gets unasked."""
        asked = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "game"}
        return {name: value for name, value in asked.items() if value != DatasetOrder.__dict__[name]}

    @property
    def made_by(self) -> str:
        """The command that makes this data; for a game that has no id, the code."""
        settings = self.settings()
        if "winning_sets" in game_to_dict(self.game):
            given = "".join(f", {name}={value!r}" for name, value in settings.items())
            return f"ttt_env.datasets.write_dataset(game, 'DIR'{given})"
        words = ["ttt", "dataset", self.game.name, "--out", "DIR"]
        for name, value in settings.items():
            option = name.replace("_", "-")
            if name == "kinds":
                words += [word for kind in value for word in ("--kind", kind)]
            elif isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                words += [f"--{option}", str(value)]
        return shlex.join(words)


def write_dataset(
    game: Game | str,
    folder: str | Path,
    *,
    kinds: Sequence[Kind] | None = None,
    one_per_class: bool = False,
    finished: bool = False,
    prompts: bool | None = None,
    board: BoardStyle = "grid",
    answer: str = "[{cell}]",
    seed: int = 0,
    published: date | None = None,
    progress: DatasetProgress | None = None,
) -> None:
    """Write a data set of a game into a folder, which is made if it is missing.

    It has the files of the `kinds`, by default of all that the game can have:

    - "positions": `positions.parquet`, the rows of `PositionTable`, which takes `one_per_class`, `finished`,
      `prompts`, `board`, `answer` and `seed`.

    Beside them are `croissant.json`, which describes them for programs, `README.md`, which does for people,
    and `dataset.json`, which says what was asked for. Without a date at which they were `published` the
    description names none, so that the same call gives the same bytes.

    A data set that is there is replaced. Each file is there only when it is complete, and the description
    only when all files are.

    Needs the extra `data`. Raises `GameTooLargeError` for a game of more than 18 cells, `ParameterError` for
    what is not allowed, and `ResultFileError` for a folder that holds anything but a data set of this kind;
    nothing has been written then.
    """
    chosen = None if kinds is None else tuple(kinds)
    order = DatasetOrder(
        get_game(game), chosen, one_per_class, finished, prompts, board, answer, seed, published
    )
    folder = as_path("folder", folder, "a data set")
    _check_is_free(folder)
    _clear(folder)
    asked = {"format": _FORMAT, "game": game_to_dict(order.game), "settings": order.settings()}
    write_json(json.loads(json.dumps(asked, default=str)), folder / _MARKER)
    files: list[DataFile] = []
    for kind in order.kinds or KINDS:
        told = partial(progress, kind) if progress else lambda done, total: None
        files += _WRITERS[kind](order, folder, told)
    told_by = f"Exact data of the game {order.game.name}: see the card, README.md, in its folder."
    write_json(croissant(order.title, told_by, folder, files, published), folder / _CROISSANT)
    text = card(order.title, order.game, files, order.made_by)
    write_atomically(folder / _CARD, lambda file: file.write(text.encode()))


def _check_is_free(folder: Path) -> None:
    """Raise `ResultFileError` unless the folder is new, empty, or holds a data set that may be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        with opened(folder / _MARKER) as file:
            is_ours = json.load(file)["format"] == _FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise ResultFileError(
            f"{folder} holds something that is no data set: name a folder that is new or empty"
        )


def _clear(folder: Path) -> None:
    """Remove the files of the data set that is to be replaced, its description first, and torn off ones."""
    for name in (_CROISSANT, _CARD, *_DATA):
        (folder / name).unlink(missing_ok=True)
    for part in folder.glob(".*.part"):
        part.unlink(missing_ok=True)


def _write_positions(order: DatasetOrder, folder: Path, progress: Progress) -> list[DataFile]:
    name = "positions.parquet"
    order.positions.write(folder / name, progress)
    which = "position" if order.finished else "position in which the game goes on"
    told = f"every {which}, with the value of each move"
    if order.one_per_class:
        told += "; of positions that are the same but for turning and mirroring the board, one"
    return [parquet_file(folder, name, told)]


_WRITERS: dict[Kind, Callable[[DatasetOrder, Path, Progress], list[DataFile]]] = {
    "positions": _write_positions
}
