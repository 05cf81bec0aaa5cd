"""A data set of a game as a folder: the order, its files, their description in Croissant, and a card."""

import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import partial
from io import BufferedWriter
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from ttt_env.analysis.saved import write_json
from ttt_env.datasets.chat import Chat, Ties, game_chats, position_chats
from ttt_env.datasets.description import DataFile, card, croissant, parquet_file
from ttt_env.datasets.minari_sets import OPPONENT, import_minari, write_minari
from ttt_env.datasets.players import EXPERT, NOVICES, Level
from ttt_env.datasets.tables import Columns, GameTable, PositionTable, schema_of
from ttt_env.errors import ParameterError, ResultFileError, extra_for, shown
from ttt_env.rules import Game, as_callback, as_integer, as_path, get_game, one_of
from ttt_env.storage import game_to_dict, opened, parse_json, write_atomically
from ttt_env.text.wording import BoardStyle
from ttt_env.workers import Progress

with extra_for("a data set's tables need", "data"):
    import pyarrow as pa
    from pyarrow import parquet

DataKind = Literal["positions", "games", "chat", "minari"]
KINDS: tuple[DataKind, ...] = get_args(DataKind)


@dataclass(frozen=True)
class DatasetOrder:
    """The contents of a data set, with the parameters of `write_dataset`, whose errors it raises."""

    game: Game
    kinds: tuple[DataKind, ...] | None = None
    one_per_class: bool = False
    finished: bool = False
    prompts: bool | None = None
    board: BoardStyle = "grid"
    answer: str = "[{cell}]"
    ties: Ties = "all"
    games: int = 1000
    seed: int = 0
    published: date | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", self.positions.seed)  # which checks its parameters
        one_of("ties", self.ties, get_args(Ties))
        object.__setattr__(self, "games", as_integer("games", self.games, "a data set", 1))
        if self.published is not None and type(self.published) is not date:
            raise ParameterError(f"published={shown(self.published)}: a datetime.date is needed")
        for kind in self.kinds or ():
            if obstacle := self._obstacle(kind):
                raise ParameterError(f"kinds={shown(self.kinds)}: {self.game!r} {obstacle}")

    @property
    def has_id(self) -> bool:
        """True if the game is in the catalogue."""
        return "winning_sets" not in game_to_dict(self.game)

    @property
    def positions(self) -> PositionTable:
        """The table of the positions."""
        return PositionTable(
            self.game, self.one_per_class, self.finished, self.prompts, self.board, self.answer, self.seed
        )

    @property
    def chosen_kinds(self) -> tuple[DataKind, ...]:
        """The kinds of data that are asked for; by default, all that the game can have."""
        if self.kinds is not None:
            return self.kinds
        is_left_out = {"chat": not self.positions.has_texts}
        return tuple(kind for kind in KINDS if not is_left_out.get(kind) and not self._obstacle(kind))

    def _obstacle(self, kind: DataKind) -> str | None:
        """The reason why the game cannot have this kind of data, None if it can."""
        if kind == "minari" and not self.has_id:
            return "is not in the catalogue: Minari makes games again by their id"
        start = self.game.start
        if kind == "chat" and any(start.play(cell).is_over for cell in start.legal_cells):
            return "may be over after one move: in a chat O then has nothing to answer"
        return None

    def settings(self) -> dict[str, Any]:
        """The parameters, other than the game, that differ from their defaults."""
        asked = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: value for name, (value, default) in asked.items() if name != "game" and value != default
        }

    @property
    def made_by(self) -> str:
        """The command that makes this data; for a game that is not in the catalogue, the code."""
        settings = self.settings()
        if not self.has_id:
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


POSITIONS, POSITION_CHATS, GAME_CHATS = "positions.parquet", "chat-positions.parquet", "chat-games.parquet"
GAMES: dict[Level, str] = {level: f"games-{level}.parquet" for level in get_args(Level)}
_CHATS_AT_ONCE = 10_000  # conversations that are held in memory before they are written
MINARI = "minari"
"""The folder of Minari's data sets; the rest are names of files."""

_LEVELS: dict[Level, str] = {
    "expert": f"an expert (`{EXPERT}`), who draws each move among the perfect ones",
    "novice": f"novices (`{'`, `'.join(NOVICES)}`), who make mistakes",
    "mixed": "experts and novices",
}


def write_positions(order: DatasetOrder, folder: Path, progress: Progress) -> Iterator[DataFile]:
    """The table of positions."""
    order.positions.write(folder / POSITIONS, progress)
    which = _which(order, "" if order.finished else " in which the game goes on")
    yield parquet_file(folder, POSITIONS, f"{which}, with the value of each move.")


def _which(order: DatasetOrder, condition: str = " in which the game goes on") -> str:
    if order.one_per_class:
        return f"One position{condition} of each symmetry class"
    return f"Every position{condition}"


def write_games(order: DatasetOrder, folder: Path, progress: Progress) -> Iterator[DataFile]:
    """A table of games for each level."""
    for number, (level, path) in enumerate(GAMES.items(), 1):
        GameTable(order.game, level, order.games, order.seed).write(folder / path)
        progress(number, len(GAMES))
        yield parquet_file(folder, path, f"Games of {_LEVELS[level]}, with the value of every move.")


def write_conversations(order: DatasetOrder, folder: Path, progress: Progress) -> Iterator[DataFile]:
    """Conversations about single positions, and about whole games."""
    words: dict[str, Any] = {"board": order.board, "answer": order.answer, "seed": order.seed}
    chats = position_chats(order.game, ties=order.ties, one_per_class=order.one_per_class, **words)
    of_all, of_one = "each perfect move, in a conversation of its own", "a perfect move, drawn from all"
    answers = of_all if order.ties == "all" else of_one
    begins = "Beside its `messages` each row has what `TextEnv.reset` takes to begin it again."
    yield _chats(
        folder,
        POSITION_CHATS,
        chats,
        _START_COLUMNS,
        f"{_which(order)}: its prompt, and as the answer {answers}. {begins}",
    )
    progress(1, 2)
    chats = game_chats(order.game, games=order.games, **words)
    about = f"Whole games, in which the assistant makes perfect moves against {_LEVELS['mixed']}"
    yield _chats(folder, GAME_CHATS, chats, _OPPONENT_COLUMNS, f"{about}. {begins}")
    progress(2, 2)


_TEXT = pa.string()
_CHAT_COLUMNS: Columns = {
    "messages": (
        pa.list_(pa.struct({"role": _TEXT, "content": _TEXT})),
        "The conversation, from the user's first message to the assistant's last.",
    ),
    "play_as": (_TEXT, "Which side the assistant has: X or O."),
}
_START_COLUMNS: Columns = {"position": (_TEXT, "The board that the conversation begins with.")}
_OPPONENT_COLUMNS: Columns = {
    "seed": (pa.int64(), "The seed of the opponent's replies."),
    "opponent": (_TEXT, "The opponent, as the text from which `make_agent` makes this player."),
}


def _chats(folder: Path, path: str, chats: Iterator[Chat], columns: Columns, description: str) -> DataFile:
    schema = schema_of(_CHAT_COLUMNS | columns)

    def fill(file: BufferedWriter) -> None:
        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            while rows := list(islice(chats, _CHATS_AT_ONCE)):
                writer.write_table(pa.Table.from_pylist(rows, schema))

    write_atomically(folder / path, fill)
    return parquet_file(folder, path, description)


def write_minari_sets(order: DatasetOrder, folder: Path, progress: Progress) -> Iterator[DataFile]:
    """A data set of Minari for each level."""
    for number, level in enumerate(GAMES, 1):
        name = write_minari(folder / MINARI, order.game, level, order.games, seed=order.seed)
        progress(number, len(GAMES))
        data = f"{MINARI}/{name}/data"
        about = f"of `{name}`, episodes against `{OPPONENT}` of {_LEVELS[level]}"
        told = f"The data {about}; `minari.load_dataset` loads it where MINARI_DATASETS_PATH is `{MINARI}`."
        yield DataFile(f"{data}/main_data.hdf5", "application/x-hdf5", told)
        yield DataFile(f"{data}/metadata.json", "application/json", f"The description {about}.")


Writer = Callable[[DatasetOrder, Path, Progress], Iterator[DataFile]]
WRITERS: dict[DataKind, Writer] = {
    "positions": write_positions,
    "games": write_games,
    "chat": write_conversations,
    "minari": write_minari_sets,
}
"""The functions that write the files of each kind into a folder, and yield a description of each file."""


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
    - "chat": `chat-positions.parquet`, the conversations of `position_chats`, which takes `ties`, and
      `chat-games.parquet`, those of `games` whole games; by default for games that have prompts by default.
      Games that the first move can end have none;
    - "minari": in the folder `minari` a data set for each level, of `games` games; by default for games
      of the catalogue.

    Beside them are `croissant.json`, which describes them for programs, `README.md`, which does so for
    people, and `dataset.json`, which says what was asked for. The description names a date only if there is
    one at which they are `published`. The same call gives the same bytes, with the same versions of the
    libraries.

    A data set that is there is replaced. Each file is there only when it is complete, and the description
    only when all files are.

    Needs the extra `data`. Raises `GameTooLargeError` for a game of more than 18 cells, `ParameterError` for
    what is not allowed, such as a kind that the game cannot have, and `ResultFileError` for a folder that
    holds anything but a data set of this kind; nothing has changed then. Raises `OSError`, which names the
    file, if one cannot be written.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from ttt_env.datasets import write_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dataset("tictactoe-v0", folder, kinds=["positions"])
    ...     print(sorted(path.suffix for path in Path(folder).rglob("*.*")))
    ['.json', '.json', '.md', '.parquet']
    """
    if kinds is not None:
        if not isinstance(kinds, list | tuple) or not kinds:
            raise ParameterError(f"kinds={shown(kinds)}: a list of some of {', '.join(KINDS)} is needed")
        kinds = tuple(dict.fromkeys(one_of("kind", kind, KINDS) for kind in kinds))
    tell = as_callback("progress", progress, "a data set") or (lambda kind, done, total: None)
    order = DatasetOrder(
        get_game(game),
        kinds,
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
        file for kind in order.chosen_kinds for file in WRITERS[kind](order, folder, partial(tell, kind))
    ]
    title = f"ttt_env {order.game.name}"
    about = f"Exact data of the game {order.game.name}: README.md beside this file says what it is."
    write_json(croissant(title, about, folder, files, published), folder / _CROISSANT)
    text = card(title, order.game, files, order.made_by)
    write_atomically(folder / _CARD, text.encode())


def _check_is_free(folder: Path) -> None:
    """Raise `ResultFileError` unless the folder is new, empty, or holds a data set that may be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        with opened(folder / _MARKER) as file:
            is_ours = parse_json(file.read())["format"] == _FORMAT
    except (OSError, ValueError, KeyError, TypeError):
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
