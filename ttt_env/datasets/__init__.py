"""Positions and games with exact values, as Parquet files with a dataset card.

Importing this package does not import pyarrow, of the extra `data`; its function does.
"""

from typing import TYPE_CHECKING

from ttt_env.lazy import lazy_names

if TYPE_CHECKING:
    from ttt_env.datasets.writer import write_dataset

__all__, __getattr__, __dir__ = lazy_names(__name__, {"writer": ["write_dataset"]})
