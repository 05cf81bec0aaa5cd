"""Data sets with exact values: positions, games and conversations.

Importing this package does not import pyarrow or mlcroissant; a name that needs them does, with an
`ImportError` that names the extra `data`.
"""

from typing import TYPE_CHECKING

from ttt_env.lazy import lazy_names

if TYPE_CHECKING:
    from ttt_env.datasets.chat import game_chats, position_chats, write_chats
    from ttt_env.datasets.folder import write_dataset
    from ttt_env.datasets.minari_sets import reference_scores, write_minari
    from ttt_env.datasets.players import play_games
    from ttt_env.datasets.tables import GameTable, PositionTable

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "chat": ["game_chats", "position_chats", "write_chats"],
        "folder": ["write_dataset"],
        "minari_sets": ["reference_scores", "write_minari"],
        "players": ["play_games"],
        "tables": ["GameTable", "PositionTable"],
    },
)
