"""Functions as machine code by numba, kept on disk under the digest of what they were made from.

Importing this module imports numba: import it where a search begins.

numba keeps a compiled function until its own file changes, and does not see when a function that it calls
from another file does. So what is compiled here is kept in a folder named by a digest of all sources of this
room: an edit anywhere in it leads to another folder. Compiled code therefore takes nothing from other rooms.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryFile
from threading import Lock, Timer
from typing import Any, TypeVar, cast

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

SILENT_SECONDS = 1.0  # of compiling without a word
_KEPT_FOLDERS = 8  # of as many states of the sources and versions of numba, the last that were used
_COST = "every process that uses it compiles it again, which takes some seconds"
_config: Any = numba.config
_lock = Lock()  # of numba's settings
_logger = logging.getLogger(__name__)


def inner(function: Function) -> Function:
    """The function as machine code for `compiled` functions, which are kept together with what they call.

    So a call from Python loads one file, and processes that compile different callers at once write none that
    is the same.
    """
    return cast(Function, numba.njit(nogil=True)(function))


def compiled(function: Function) -> Function:
    """The function as machine code, kept on disk where some folder can be written to; see `folder_for`."""
    with _lock:
        folder = None if _config.DISABLE_JIT else folder_for(_digest())
        return inner(function) if folder is None else _kept_in(folder, function)


def _kept_in(folder: Path, function: Function) -> Function:
    named, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
    try:
        kept: Any = numba.njit(cache=True, nogil=True)(function)
        if Path(kept.stats.cache_path).is_relative_to(folder):
            return cast(Function, kept)
    except RuntimeError:  # numba finds no folder for this function
        pass
    finally:
        _config.CACHE_DIR = named
    _say(f"numba does not keep the compiled code of ttt_env in {folder}: {_COST}")
    return inner(function)


def ready(name: str, *calls: Callable[[], object]) -> None:
    """Make calls of compiled functions, so that these are compiled or loaded before a clock is started.

    Says so if it takes longer than `SILENT_SECONDS`, and if what was compiled cannot be written to disk.
    """
    text = f"{name}: preparing the compiled code, which takes longest the first time"
    notice = Timer(SILENT_SECONDS, _say, [text])
    notice.daemon = True
    notice.start()
    try:
        for call in calls:
            _call_twice_if_not_written(call)
    finally:
        notice.cancel()


def _call_twice_if_not_written(call: Callable[[], object]) -> None:
    """Numba raises what the disk does, full or over a quota, after it has compiled."""
    try:
        call()
    except OSError as error:
        _say(f"the compiled code of ttt_env cannot be kept ({error}): {_COST}")
        call()


@cache
def folder_for(digest: str) -> Path | None:
    """The folder for what is compiled from the sources of this digest; None if none can be written to.

    It is in the folder that `NUMBA_CACHE_DIR` names, else beside the bytecode of this room, else in
    the user's folder of caches. What had to be passed over is said when the folder is made.
    """
    refusals = []
    for parent in _parents():
        folder = parent / digest
        try:
            is_new = not folder.is_dir()
            folder.mkdir(parents=True, exist_ok=True)
            os.utime(folder)
            TemporaryFile(dir=folder).close()
        except OSError as error:
            refusals.append(f"{parent} ({error.strerror})")
            continue
        if is_new:
            _remove_oldest(parent)
            if refusals:
                _say(f"the compiled code of ttt_env is kept in {folder}, not in {', '.join(refusals)}")
        return folder
    _say(
        f"the compiled code of ttt_env cannot be kept in {', '.join(refusals)}: {_COST}. "
        "Name a folder that can be written to as NUMBA_CACHE_DIR."
    )
    return None


def _parents() -> Iterator[Path]:
    """Where the folders of all digests may be, the best place first."""
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR).absolute() / "ttt_env"
    yield Path(cache_from_source(__file__)).parent / "numba"
    try:
        yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "ttt_env"
    except RuntimeError:  # there is no home
        return


def _remove_oldest(parent: Path) -> None:
    """Remove the folders that have not been used for longest; who uses one just then compiles again."""
    with suppress(OSError):  # another process does the same
        folders = sorted(parent.iterdir(), key=lambda each: -each.stat().st_mtime)
        for old in folders[_KEPT_FOLDERS:]:
            rmtree(old, ignore_errors=True)


def _digest() -> str:
    """What the sources of this room and the compiler are, in a few letters.

    numba itself tells apart Pythons and processors. The digest is made for each function, so that a module
    that is loaded again after an edit is kept elsewhere.
    """
    digest = sha256(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        text = source.read_bytes()
        digest.update(f"\n{source.name} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


@cache
def _say(text: str) -> None:
    """Log a warning, which without any settings goes to stderr: once in a process."""
    _logger.warning(text)
