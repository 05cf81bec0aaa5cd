"""Data sets with exact values: positions, games and conversations.

Importing this package does not import pyarrow or mlcroissant; a name that needs them does, with an
`ImportError` that names the extra `data`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ttt_env.datasets.chat import game_chats, position_chats, write_chats
    from ttt_env.datasets.folder import write_dataset
    from ttt_env.datasets.games import GameTable
    from ttt_env.datasets.minari_sets import reference_scores, write_minari
    from ttt_env.datasets.players import play_games
    from ttt_env.datasets.positions import PositionTable

__all__ = [
    "GameTable",
    "PositionTable",
    "game_chats",
    "play_games",
    "position_chats",
    "reference_scores",
    "write_chats",
    "write_dataset",
    "write_minari",
]
_ROOM_OF = {
    "GameTable": "games",
    "PositionTable": "positions",
    "game_chats": "chat",
    "play_games": "players",
    "position_chats": "chat",
    "reference_scores": "minari_sets",
    "write_chats": "chat",
    "write_dataset": "folder",
    "write_minari": "minari_sets",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
