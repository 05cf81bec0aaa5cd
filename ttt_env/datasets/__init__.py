"""Positions and games with exact values, as Parquet files with a dataset card.

Importing this package does not import pyarrow, of the extra `data`; its function does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ttt_env.datasets.writer import write_dataset

__all__ = ["write_dataset"]


def __getattr__(name: str) -> Any:
    """The writer, imported when it is first asked for."""
    if name != "write_dataset":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ttt_env.datasets.writer import write_dataset

    return write_dataset
