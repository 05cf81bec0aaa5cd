"""The files of each kind of data: their names, how they are written, and what is said about them."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from ttt_env.datasets.chat import Chat, game_chats, position_chats, write_chats
from ttt_env.datasets.description import DataFile, parquet_file
from ttt_env.datasets.games import GameTable
from ttt_env.datasets.minari_sets import OPPONENT, write_minari
from ttt_env.datasets.order import DataKind, DatasetOrder
from ttt_env.datasets.players import EXPERT, NOVICES, Level
from ttt_env.storage import opened
from ttt_env.workers import Progress

POSITIONS, POSITION_CHATS, GAME_CHATS = "positions.parquet", "chat-positions.jsonl", "chat-games.jsonl"
GAMES: dict[Level, str] = {level: f"games-{level}.parquet" for level in get_args(Level)}
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
    """The positions of a file, in words."""
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
    begins = 'Beside its "messages" each line has what `TextEnv.reset` takes to begin it again.'
    yield _chats(
        folder, POSITION_CHATS, chats, f"{_which(order)}: its prompt, and as the answer {answers}. {begins}"
    )
    progress(1, 2)
    chats = game_chats(order.game, games=order.games, **words)
    about = f"Whole games, in which the assistant makes perfect moves against {_LEVELS['mixed']}"
    yield _chats(folder, GAME_CHATS, chats, f"{about}. {begins}")
    progress(2, 2)


def _chats(folder: Path, path: str, chats: Iterable[Chat], description: str) -> DataFile:
    write_chats(folder / path, chats)
    with opened(folder / path) as file:
        return DataFile(path, "application/jsonlines", description, sum(1 for _ in file))


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
