"""Files with an object of JSON on each line, such as published figures."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ttt_env.errors import FileError
from ttt_env.storage import parse_json, write_atomically

try:
    import fcntl
except ImportError:  # Windows, where files are not locked
    fcntl = None  # type: ignore[assignment]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of lines; none if there is no file.

    Raises `FileError`, which names the line, for one that is not an object.
    """
    lines = []
    for number, text in enumerate(path.read_text("utf-8").splitlines() if path.exists() else (), 1):
        try:
            line = parse_json(text)
        except FileError as error:
            raise FileError(f"{path}, line {number}: {error}") from error
        if not isinstance(line, dict):
            raise FileError(f"{path}, line {number}: it is not an object")
        lines.append(line)
    return lines


def change_lines(path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Write what `change` returns for the lines of a file, whole or not at all.

    Several processes may do so at once; the folder is made if it is missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if fcntl is not None:
            handle = os.open(path.parent, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in change(read_lines(path)))
        write_atomically(path, text.encode())
