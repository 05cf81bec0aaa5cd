"""A data set of a game as a folder: its files, their description in Croissant, and a card to read."""

import json
import shutil
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from ttt_env.analysis.saved import write_json
from ttt_env.datasets.chat import Ties
from ttt_env.datasets.description import card, croissant
from ttt_env.datasets.kinds import GAME_CHATS, GAMES, MINARI, POSITION_CHATS, POSITIONS, WRITERS
from ttt_env.datasets.minari_sets import import_minari
from ttt_env.datasets.order import DataKind, DatasetOrder, as_kinds
from ttt_env.errors import ResultFileError
from ttt_env.rules import Game, as_path, get_game
from ttt_env.storage import game_to_dict, opened, write_atomically
from ttt_env.text.wording import BoardStyle

DatasetProgress = Callable[[str, int, int], object]
"""Called with the kind of the data, and with how many of its parts are done and of all."""

_FORMAT = "ttt_env data set 1"
_MARKER, _CROISSANT, _CARD = "dataset.json", "croissant.json", "README.md"


def write_dataset(
    game: Game | str,
    folder: str | Path,
    *,
    kinds: Sequence[DataKind] | None = None,
    one_per_class: bool = False,
    finished: bool = False,
    prompts: bool | None = None,
    board: BoardStyle = "grid",
    answer: str = "[{cell}]",
    ties: Ties = "all",
    games: int = 1000,
    seed: int = 0,
    published: date | None = None,
    progress: DatasetProgress | None = None,
) -> None:
    """Write a data set of a game into a folder, which is made if it is missing.

    It has the files of the `kinds`, by default of all that the game can have:

    - "positions": `positions.parquet`, the rows of `PositionTable`, which takes `one_per_class`, `finished`,
      `prompts`, `board`, `answer` and `seed`;
    - "games": `games-expert.parquet`, `games-novice.parquet` and `games-mixed.parquet`, the rows of
      `GameTable`, `games` games in each;
    - "chat": `chat-positions.jsonl`, the conversations of `position_chats`, which takes `ties`, and
      `chat-games.jsonl`, those of `games` whole games; by default for games that have prompts by default;
    - "minari": in the folder `minari` a data set for each level, of `games` games; by default for games
      of the catalogue.

    Beside them are `croissant.json`, which describes them for programs, `README.md`, which does so for
    people, and `dataset.json`, which says what was asked for. The description names a date only if there is
    one at which they are `published`. The same call gives the same bytes, with the same versions of the
    libraries.

    A data set that is there is replaced. Each file is there only when it is complete, and the description
    only when all files are.

    Needs the extra `data`. Raises `GameTooLargeError` for a game of more than 18 cells, `ParameterError` for
    what is not allowed, and `ResultFileError` for a folder that holds anything but a data set of this kind;
    nothing has changed then.
    """
    order = DatasetOrder(
        get_game(game),
        as_kinds(kinds),
        one_per_class,
        finished,
        prompts,
        board,
        answer,
        ties,
        games,
        seed,
        published,
    )
    folder = as_path("folder", folder, "a data set")
    if "minari" in order.chosen_kinds:
        import_minari()  # before anything is written
    _check_is_free(folder)
    _clear(folder)
    settings = {
        name: str(value) if name == "published" else value for name, value in order.settings().items()
    }
    asked = {"format": _FORMAT, "game": game_to_dict(order.game), "settings": settings}
    write_json(asked, folder / _MARKER)
    files = [
        file
        for kind in order.chosen_kinds
        for file in WRITERS[kind](order, folder, partial(progress or _say_nothing, kind))
    ]
    title = f"ttt_env {order.game.name}"
    about = f"Exact data of the game {order.game.name}: README.md beside this file says what it is."
    write_json(croissant(title, about, folder, files, published), folder / _CROISSANT)
    text = card(title, order.game, files, order.made_by)
    write_atomically(folder / _CARD, lambda file: file.write(text.encode()))


def _say_nothing(kind: str, done: int, total: int) -> None:
    """The progress of a caller who does not ask for it."""


def _check_is_free(folder: Path) -> None:
    """Raise `ResultFileError` unless the folder is new, empty, or holds a data set that may be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        with opened(folder / _MARKER) as file:
            is_ours = json.load(file)["format"] == _FORMAT
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        is_ours = False
    if not is_ours:
        raise ResultFileError(f"{folder} holds something that is no data set of ttt_env: name a new folder")


def _clear(folder: Path) -> None:
    """Remove the data set that is to be replaced, its description first, and what was left half written."""
    for name in (_CROISSANT, _CARD, POSITIONS, *GAMES.values(), POSITION_CHATS, GAME_CHATS):
        (folder / name).unlink(missing_ok=True)
    if (folder / MINARI).exists():
        shutil.rmtree(folder / MINARI)
    for part in folder.glob(".*.part"):
        part.unlink(missing_ok=True)
