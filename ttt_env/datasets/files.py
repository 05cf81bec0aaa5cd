"""What the files of a data set are: descriptions from which its card and its Croissant are worded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

EntryType = Literal["text", "integer", "boolean"]


@dataclass(frozen=True)
class Column:
    """A column of a table: what it has in each row, one entry of a type or a list of them."""

    name: str
    type: EntryType
    is_list: bool
    description: str


@dataclass(frozen=True)
class DataFile:
    """A file of a data set: its `path` in the folder, and what is in it.

    `columns` are those of a table, of which it has `n_rows`; none for a file of another kind.
    """

    path: str
    media_type: str
    description: str
    n_rows: int = 0
    columns: tuple[Column, ...] = ()

    @property
    def name(self) -> str:
        """The name of the file without its folder and ending."""
        return Path(self.path).stem


def parquet_file(folder: Path, path: str, description: str) -> DataFile:
    """The description of a Parquet file whose fields have a `description` among their metadata."""
    from pyarrow import parquet

    with parquet.ParquetFile(folder / path) as file:
        columns = tuple(map(_column, file.schema_arrow))
        return DataFile(path, "application/x-parquet", description, file.metadata.num_rows, columns)


def _column(field: Any) -> Column:
    from pyarrow import types

    is_list = types.is_list(field.type)
    entry = field.type.value_type if is_list else field.type
    entry_type: EntryType = (
        "text" if types.is_string(entry) else "boolean" if types.is_boolean(entry) else "integer"
    )
    return Column(field.name, entry_type, is_list, field.metadata[b"description"].decode())
