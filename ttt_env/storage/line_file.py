"""Files of JSON lines that are only added to: what was written stays whole whenever a process is killed."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ttt_env.storage.files import opened


class LineFile:
    """A file of JSON objects, one a line. One run at a time may write to it.

    A line that was not finished, because its process was killed, is not read, and `cut` takes it away.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unfinished = b""
        """What `read` has found behind the last whole line."""
        self._whole = 0

    def read(self) -> list[bytes]:
        """The whole lines. Raises `OSError` if the file cannot be read."""
        with opened(self.path) as file:
            *lines, self.unfinished = file.read().split(b"\n")
        self._whole = sum(len(line) + 1 for line in lines)
        return lines

    def cut(self) -> None:
        """Take away what stands behind the last whole line that was read."""
        if self.unfinished:
            os.truncate(self.path, self._whole)
            self.unfinished = b""

    def add(self, data: Mapping[str, Any], is_synced: bool = False) -> None:
        """Add a line; folders that are missing are made. Raises `OSError` if it cannot be written.

        The line survives the end of the process; one that `is_synced` also that of the machine.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            file.write(json.dumps(data).encode() + b"\n")
            if is_synced:
                os.fsync(file.fileno())
