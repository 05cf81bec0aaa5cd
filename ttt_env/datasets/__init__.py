"""Data sets with exact values: positions, games and conversations.

Importing this package does not import pyarrow or mlcroissant; a name that needs them does, with an
`ImportError` that names the extra `data`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ttt_env.datasets.folder import write_dataset
    from ttt_env.datasets.positions import PositionTable

__all__ = ["PositionTable", "write_dataset"]
_ROOM_OF = {"PositionTable": "positions", "write_dataset": "folder"}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
