"""A data set in words: its files and their columns, as a card for people and in Croissant for programs.

Croissant is the form of JSON-LD in which catalogues and loaders look for data sets: the format of MLCommons,
https://docs.mlcommons.org/croissant/docs/croissant-spec.html, version 1.0.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any

from ttt_env.errors import extra_for

with extra_for("a data set's description needs", "data"):
    import mlcroissant as mlc
    from pyarrow import parquet, types

from ttt_env.render.table import Table, as_markdown
from ttt_env.rules import Game
from ttt_env.storage import opened
from ttt_env.text.wording import rules_text

LICENSE = "https://spdx.org/licenses/MIT.html"
VERSION = "1.0.0"
"""The version of the columns and of how their entries are chosen; it changes with them."""

_TYPES = {"text": mlc.DataType.TEXT, "integer": mlc.DataType.INTEGER, "boolean": mlc.DataType.BOOL}
_DEFAULT = "\n  default: true"
_EXACT = """\
Every value here is exact: it was computed by backward induction over all positions of the game. Values are
for the player to move, unless it says otherwise: 1 a win, 0 a draw, -1 a loss. A *good* move keeps the value
of the position; a *perfect* move moreover wins as soon, or loses as late, as best play allows."""

_MADE = """\
This makes the same files again, byte for byte where the same versions of the libraries are installed:"""

_DESCRIBED = """\
`croissant.json` describes the files for programs, with their checksums and all columns, `dataset.json` says
what was asked for. The data may be used under the MIT licence."""


@dataclass(frozen=True)
class Column:
    """A column of a table: in each row one entry of a type (see `_TYPES`), or a list of them.

    An entry with `parts` is a record of texts that have these names.
    """

    name: str
    type: str
    is_list: bool
    description: str
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, field: Any) -> "Column":
        """The column of a field of Arrow, which has a `description` among its metadata."""
        is_list = types.is_list(field.type)
        entry = field.type.value_type if is_list else field.type
        kind = "text" if types.is_string(entry) else "boolean" if types.is_boolean(entry) else "integer"
        parts = tuple(part.name for part in entry) if types.is_struct(entry) else ()
        return cls(
            field.name, "record" if parts else kind, is_list, field.metadata[b"description"].decode(), parts
        )


@dataclass(frozen=True)
class DataFile:
    """A file of a data set: its `path` in the folder, and what is in it.

    `columns` are those of a table of `n_rows`; a file of another kind has none.
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
    """The description of a Parquet file."""
    with parquet.ParquetFile(folder / path) as file:
        columns = tuple(map(Column.of, file.schema_arrow))
        return DataFile(path, "application/x-parquet", description, file.metadata.num_rows, columns)


def card(title: str, game: Game, files: Sequence[DataFile], made_by: str) -> str:
    """The card as Markdown; `made_by` is the command or the code that makes the data again."""
    tables = [file for file in files if file.columns]
    configs = [
        f"- config_name: {file.name}\n  data_files: {file.path}{_DEFAULT * (file is tables[0])}"
        for file in tables
    ]
    paths: dict[tuple[Column, ...], list[str]] = {}  # of the files that have the same columns
    for file in files:
        paths.setdefault(file.columns, []).append(f"`{file.path}`")
    fence = "```" + max(re.findall("`+", made_by), default="")  # longer than any in the command
    parts = [
        "\n".join(["---", "license: mit", *(["configs:", *configs] if configs else []), "---"]),
        f"# {as_markdown(title)}",
        rules_text(game),
        _EXACT,
        "## Files",
        "\n".join(
            f"- `{file.path}`{f', {file.n_rows:,} rows' if file.columns else ''}: {file.description}"
            for file in files
        ),
        *[f"### {', '.join(names)}\n\n{_table(columns)}" for columns, names in paths.items() if columns],
        "## How it was made",
        _MADE,
        f"{fence}\n{made_by}\n{fence}",
        _DESCRIBED,
    ]
    return "\n\n".join(parts) + "\n"


def _table(columns: Sequence[Column]) -> str:
    rows = [
        (f"`{column.name}`", "list of " * column.is_list + column.type, column.description)
        for column in columns
    ]
    return Table.of(("column", "type", "what it is"), rows, "lll").to_markdown(is_markup=True)


def croissant(
    name: str, description: str, folder: Path, files: Sequence[DataFile], published: Date | None
) -> dict[str, Any]:
    """The description of a data set as JSON-LD; tables can be read through it, a record for each row.

    The checksums are computed from the files in the folder. Without a date of publication the description has
    none, and the same files give the same description.
    """
    metadata = mlc.Metadata(
        name=name,
        description=description,
        version=VERSION,
        license=[LICENSE],
        creators=[mlc.Organization(name="The ttt_env maintainers")],
        cite_as=f"The ttt_env maintainers: {name}, version {VERSION}",
        date_published=None if published is None else datetime.combine(published, datetime.min.time()),
        distribution=[_file_object(folder, file) for file in files],
        record_sets=[
            mlc.RecordSet(
                id=file.name,
                name=file.name,
                description=file.description,
                fields=[_field(file, column) for column in file.columns],
            )
            for file in files
            if file.columns
        ],
    )
    described: dict[str, Any] = metadata.to_json()
    return described


def _file_object(folder: Path, file: DataFile) -> mlc.FileObject:
    with opened(folder / file.path) as content:
        sha256 = file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
        size = content.tell()
    return mlc.FileObject(
        id=file.path,
        name=file.path,
        description=file.description,
        content_url=file.path,
        content_size=f"{size} B",
        encoding_formats=[file.media_type],
        sha256=sha256,
    )


def _field(file: DataFile, column: Column) -> mlc.Field:
    id = f"{file.name}/{column.name}"
    extract = mlc.Extract(column=column.name)

    def part(name: str) -> mlc.Field:
        transforms = [mlc.Transform(json_path=f"[*].{name}")]
        source = mlc.Source(file_object=file.path, extract=extract, transforms=transforms)
        return mlc.Field(
            id=f"{id}/{name}", name=name, data_types=[mlc.DataType.TEXT], repeated=True, source=source
        )

    return mlc.Field(
        id=id,
        name=column.name,
        description=column.description,
        data_types=[] if column.parts else [_TYPES[column.type]],
        repeated=column.is_list or None,
        source=mlc.Source(file_object=file.path, extract=extract),
        sub_fields=[part(name) for name in column.parts],
    )
