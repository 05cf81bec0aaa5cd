"""A function in a Python file as a bot: `python -P -m MODULE FILE FUNCTION [GAME]`, where this is the module.

The file is imported by a process of its own, which answers the questions of `docs/guide/bots.md`. What it
prints goes to standard error. The function is `choose(position)`, `choose(position, rng)`, or `policy` with
the same arguments, which returns the probability of each cell. GAME is a game of one's own as JSON.
"""

import ast
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from traceback import extract_tb
from typing import Any

import numpy as np

from ttt_env.agent import Agent, chosen_cell, takes_rng
from ttt_env.bots.protocol import read_question
from ttt_env.errors import ParameterError, brief
from ttt_env.rules import Game, Position
from ttt_env.rules.checks import integer_of
from ttt_env.storage import game_from_dict, open_regular, reason

MODULE = "ttt_env.bots"
FUNCTIONS = ("choose", "policy")
"""The default functions: the first of these in the file, else its only function."""


def function_in(path: Path, name: str) -> str:
    """The name of the function to call, from the file without running it; "" names none.

    Raises `ParameterError` for a file that does not exist, cannot be read, such as a pipe, or is not Python,
    and for a function that it does not have.
    """
    try:
        with open_regular(path) as file:
            tree = ast.parse(file.read(), path.name)
    except FileNotFoundError:
        raise ParameterError(f"there is no file {str(path)!r} in the folder {Path.cwd()}") from None
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {reason(error)}") from None
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ParameterError(f"{path.name}{line}: {message}") from None
    for at, module in _imports_of(tree):
        if not _module_exists(module, path.parent):
            raise ParameterError(f"{path.name}, line {at}: there is no module named {module}")
    names = list(_names_in(tree.body))
    for each in [name] if name else FUNCTIONS:
        if each in names or "*" in names:
            return each
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not name and len(functions) == 1:
        return functions[0]
    definitions = ", ".join(
        [*functions, *(f"class {each.name}" for each in tree.body if isinstance(each, ast.ClassDef))]
    )
    if functions and not name:
        raise ParameterError(f"{path.name} defines {definitions}: name one, as in {path.name}:{functions[0]}")
    lack = f"no function {name}" if name else "no function at top level: write def choose(position)"
    raise ParameterError(f"{path.name} defines {lack}; found {definitions or 'none'}")


def _imports_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the name of each module that a file imports when it is loaded."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module


def _module_exists(module: str, folder: Path) -> bool:
    package = module.partition(".")[0]
    return find_spec(package) is not None or any(folder.glob(f"{package}.*")) or (folder / package).is_dir()


def _names_in(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements of a module define."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        else:
            for each in ast.walk(node):
                if isinstance(each, ast.FunctionDef):
                    yield each.name
                elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    yield each.id


def main(path: str, function: str, game: str = "") -> None:
    """Answer questions until the input ends."""
    game_of_bot: Game | None = game_from_dict(json.loads(game)) if game else None
    questions, say = _bot_streams()
    choose = _import_function(Path(path), function)
    is_random, rng = takes_rng(choose), np.random.default_rng()
    for line in questions:
        position, _, number = read_question(line, game_of_bot)
        try:
            answer = _read(choose(position, rng) if is_random else choose(position), position, rng)
        except BaseException as error:  # of a pupil's code, which may also have called `exit`
            answer = {"raised": _error_line(error, Path(path).name)}
        say(json.dumps({"id": number, **answer}))


def _read(choice: object, position: Position, rng: np.random.Generator) -> dict[str, Any]:
    """The answer for the returned value, a cell, or probabilities from which a cell is drawn."""
    if isinstance(choice, list | tuple | np.ndarray) and np.ndim(choice) == 1:
        return {"cell": chosen_cell(_FixedPolicy(position.game, choice), position, rng)}
    if (cell := integer_of(choice)) is not None:
        return {"cell": cell}
    return {"returned": f"returned {brief(choice)}; return a cell, such as position.legal_cells[0]"}


def _error_line(error: BaseException, file: str) -> str:
    """The error in a line, with the line of the file in which it was raised."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if Path(frame.filename).name == file]
    place = f" ({file}, line {lines[-1]})" if lines else ""
    return f"{': '.join(filter(None, [type(error).__name__, str(error)]))}{place}"


class _FixedPolicy(Agent):
    """An agent with the same policy in every position."""

    def __init__(self, game: Game, probabilities: Any) -> None:
        super().__init__(game)
        self._probabilities = probabilities

    def __repr__(self) -> str:
        return "the function"

    def policy(self, position: Position) -> Any:
        return np.asarray(self._probabilities)


def _bot_streams() -> tuple[Iterator[str], Callable[[str], object]]:
    """The lines of standard input, and a function that writes a line; other code gets other streams.

    When the input ends, the process ends, even in the middle of a call of the function.
    """
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    lines: SimpleQueue[str] = SimpleQueue()

    def read() -> None:
        for line in open(questions, encoding="utf-8"):
            lines.put(line)
        os._exit(0)

    Thread(target=read, daemon=True).start()
    return iter(lines.get, None), lambda line: os.write(answers, line.encode() + b"\n")


def _import_function(path: Path, function: str) -> Callable[..., object]:
    sys.path.insert(0, str(path.absolute().parent))
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    attribute: Callable[..., object] = getattr(module, function)
    return attribute
