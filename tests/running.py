"""The command `ttt` in this process: a second faster than as a program of its own."""

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from typing import Any, NamedTuple
from unittest.mock import patch

from ttt_env.app.cli import main


class Run(NamedTuple):
    """The exit status of a command, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def ttt(*arguments: Any, cwd: Any = None, answers: str = "") -> Run:
    """Run the command in a folder, with these answers to what it asks."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        chdir(cwd or os.getcwd()),
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", ["ttt", *map(str, arguments)]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(answers.encode()), "utf-8")),
    ):
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    return Run(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]
