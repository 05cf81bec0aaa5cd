"""Data sets described in Croissant, the form of JSON-LD in which catalogues and loaders look for them.

The format is that of MLCommons, https://docs.mlcommons.org/croissant/docs/croissant-spec.html, version 1.0.
"""

from collections.abc import Sequence
from datetime import date as Date
from datetime import datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any

try:
    import mlcroissant as mlc
except ImportError as error:
    raise ImportError(
        'a data set\'s description needs the extra "data": pip install "ttt-env[data]"'
    ) from error

from ttt_env.datasets.files import Column, DataFile
from ttt_env.storage.files import opened

LICENSE = "https://spdx.org/licenses/MIT.html"
VERSION = "1.0.0"
"""Of the columns and of how their entries are chosen: another one where they change."""

_TYPES = {"text": mlc.DataType.TEXT, "integer": mlc.DataType.INTEGER, "boolean": mlc.DataType.BOOL}


def croissant(
    name: str, description: str, folder: Path, files: Sequence[DataFile], published: Date | None
) -> dict[str, Any]:
    """The description of a data set as JSON-LD; tables can be read through it, a record for each row.

    The checksums are those of the files in the folder. Without a date of publication the description has
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
        record_sets=[_record_set(file) for file in files if file.columns],
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


def _record_set(file: DataFile) -> mlc.RecordSet:
    fields = [_field(file, column) for column in file.columns]
    return mlc.RecordSet(id=file.name, name=file.name, description=file.description, fields=fields)


def _field(file: DataFile, column: Column) -> mlc.Field:
    return mlc.Field(
        id=f"{file.name}/{column.name}",
        name=column.name,
        description=column.description,
        data_types=[_TYPES[column.type]],
        repeated=column.is_list or None,
        source=mlc.Source(file_object=file.path, extract=mlc.Extract(column=column.name)),
    )
