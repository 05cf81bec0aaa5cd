"""Positions and games with exact values, as Parquet files with a dataset card."""

from ttt_env.datasets.writer import write_dataset

__all__ = ["write_dataset"]
