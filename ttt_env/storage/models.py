"""Models on disk, as the command line accepts them: by a path alone, or by a spec string with one."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ttt_env.errors import ParameterError
from ttt_env.rules import Game, get_game, split_items, split_spec, strip_brackets
from ttt_env.storage.archive import array_names
from ttt_env.storage.game_file import load_game

_PATH_LETTERS = 4096  # of a path on Linux; other systems allow fewer
_OF_SUFFIX = {".zip": "sb3", ".onnx": "onnx"}
_OF_ARRAY = {  # of an .npz file
    "codes": "lookup",
    "positions": "q-learning",
    "view": "value-network",
    "policy_filter": "alphazero",
    "bounds": "strategy",
    "supports": "policy-table",
}
_OF_COMMAND = re.compile(r"(?<![\w.-])process\s*:")  # in a spec string
_AGENTS_WITH_FILES = {"ppo", "dqn", *_OF_SUFFIX.values(), *_OF_ARRAY.values()}


def game_of(text: str, folder: Path = Path()) -> Game:
    """The game of an id, or of a game's file relative to a folder.

    Raises as `get_game` and `load_game` do.
    """
    return load_game(folder / text) if text.endswith(".json") else get_game(text)


def spec_of(text: str) -> str:
    """The spec string of an agent, which may also be given as the path of a model's file.

    Text with a colon is a path if it begins with a drive, such as C:/, or if there is such a file. Raises
    `ParameterError` if that is a Python file, which a spec string cannot name.

    >>> spec_of("models/mine.zip"), spec_of("C:/models/mine.zip"), spec_of("minimax:depth=4")
    ('sb3:models/mine.zip', 'sb3:C:/models/mine.zip', 'minimax:depth=4')
    """
    suffix, is_path = Path(text).suffix, len(split_items(text, ":")) == 1
    if not is_path and os.path.isfile(text):
        if suffix == ".py":
            raise ParameterError(f"{text}: expected the path of a Python file without a colon in it")
        is_path = True
    if suffix not in (".npz", *_OF_SUFFIX) or not is_path or len(text) > _PATH_LETTERS:
        return text
    agent = _OF_SUFFIX.get(suffix)
    if agent is None:  # for an unknown file, the error of "lookup" says what is wrong
        arrays = array_names(text)
        agent = next((agent for array, agent in _OF_ARRAY.items() if array in arrays), "lookup")
    return f"{agent}:{text}"


def command_label(arguments: Sequence[str], folder: Path = Path()) -> str:
    """The name of a command in results: its program and its script, as in "python mybot.py".

    Other arguments are never shown, since some may be secret.
    """
    words = [argument for argument in arguments[1:] if not argument.startswith("-")]
    script = [word for word in words[:1] if os.path.isfile(folder / word)]
    return " ".join(Path(each).name for each in (arguments[0], *script))


def label_of(text: str) -> str:
    """The name of a spec string's agent in results: the spec itself, commands by their `command_label`.

    >>> label_of("epsilon:(process:sh -c 'KEY=secret exec bot',timeout=3),epsilon=0.1")
    'epsilon:(process:sh),epsilon=0.1'
    """
    label, at = "", 0
    while (match := _OF_COMMAND.search(text, at)) is not None:
        depth, end = 0, match.end()
        is_enclosed = text.count("(", 0, end) > text.count(")", 0, end)
        while end < len(text) and (depth > 0 or text[end] != ")" or not is_enclosed):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        items = split_items(strip_brackets(text[match.end() : end].strip()))
        command = strip_brackets(items[0].strip()) if items else ""
        try:
            words = shlex.split(command)
        except ValueError:  # a comma is inside of quotes
            words = command.split()
        label += text[at : match.end()] + (command_label(words) if words else "")
        at = end
    return label + text[at:]


def file_of(text: str) -> Path | None:
    """The model file that a spec string names; None if it names none."""
    spec = split_spec(text)
    path = spec.value or spec.keywords.get("path")
    return Path(path) if path and spec.name in _AGENTS_WITH_FILES else None
