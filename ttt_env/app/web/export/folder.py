"""A folder of exported files that knows which files are its own."""

import json
from collections.abc import Mapping
from pathlib import Path

from ttt_env.errors import ParameterError
from ttt_env.storage import opened, reason, write_atomically

LIST = "exported.json"
_MAKER = "ttt web --export"


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make the folder hold these files, by name, and a list of them; an earlier export is replaced.

    Raises `ParameterError` for a folder that holds anything but an earlier export, or files that were put
    where one of these goes; then nothing is written. Other files beside an earlier export stay.
    """
    own = own_files(folder)
    for name in files:
        if name not in own and (folder / name).exists():
            raise ParameterError(f"{str(folder / name)!r} is not of an earlier export: choose another folder")
    listing = json.dumps({"made_by": _MAKER, "files": sorted(files)}, indent=1).encode() + b"\n"
    # The list says all that may be here before any of it is, so that an export that was killed can go on.
    both = json.dumps({"made_by": _MAKER, "files": sorted(own | set(files))}, indent=1).encode() + b"\n"
    _write(folder / LIST, both)
    for name in sorted(own - set(files)):
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        _write(folder / name, content)
    _write(folder / LIST, listing)


def _write(path: Path, content: bytes) -> None:
    write_atomically(path, lambda file: file.write(content))


def own_files(folder: Path) -> set[str]:
    """The files that an earlier export has written to the folder.

    Raises `ParameterError` for a folder that holds anything but an earlier export.
    """
    refusal = f"{str(folder)!r} is no folder of an earlier export, and not empty: choose another one"
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise ParameterError(f"{str(folder)!r} is no folder")
    if not any(folder.iterdir()):
        return set()
    try:
        with opened(folder / LIST) as file:
            listing = json.load(file)
    except OSError as error:
        raise ParameterError(f"{refusal} ({LIST}: {reason(error)})") from error
    except ValueError as error:
        raise ParameterError(refusal) from error
    if not isinstance(listing, dict) or listing.get("made_by") != _MAKER:
        raise ParameterError(refusal)
    names = listing.get("files")
    if not isinstance(names, list) or not all(isinstance(n, str) and n == Path(n).name for n in names):
        raise ParameterError(refusal)
    return set(names)
