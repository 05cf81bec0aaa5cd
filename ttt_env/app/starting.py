"""`ttt new`: a bot to start from."""

import shlex
from importlib.util import find_spec
from pathlib import Path

from ttt_env.app.console import check_outputs, program_here
from ttt_env.errors import ParameterError
from ttt_env.rules import split_spec
from ttt_env.storage import write_atomically


def write_bot(path: Path) -> str:
    """Write the bot of `starter.py` to this file, and return what to do next.

    Raises `ParameterError` for a file that is there, or whose name no spec string or import could take, and
    `OSError` if it cannot be written; there is then no part of it.
    """
    if path.suffix != ".py" or split_spec(str(path)).name != str(path):
        raise ParameterError(f"{path}: give the name of a Python file without a colon, such as bot.py")
    if path.exists():
        raise ParameterError(f"{path} already exists: choose another name")
    if path.stem.isidentifier() and find_spec(path.stem) is not None:
        raise ParameterError(f"{path} would hide Python's module {path.stem}: choose another name")
    check_outputs(path)
    write_atomically(path, Path(__file__).with_name("starter.py").read_bytes())
    ttt, bot = program_here("ttt"), shlex.quote(str(path))
    following = {
        f"{ttt} certify {bot}": "prove that it is unbeatable, or see a game that beats it",
        f"{ttt} play {bot}": "play against it",
        f"{program_here('python')} {bot}": "let it judge itself",
    }
    width = max(map(len, following))
    lines = [f"  {command:{width}}   {what}" for command, what in following.items()]
    return "\n".join([f"Wrote {path}: a bot that plays tic-tac-toe, not well yet.", "", "What next", *lines])
