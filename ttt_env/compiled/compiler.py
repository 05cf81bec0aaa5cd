"""Functions compiled to machine code by numba, cached on disk under a digest of their sources.

Importing this module imports numba: import it where a search begins.

numba caches a compiled function until its own file changes, and does not notice when a function that it calls
from another file does. So the compiled code is cached in a folder named by a digest of all sources of
compiled functions: those of this room, and `*_kernel.py` in the room of each idea. An edit of any of them
leads to another folder. Compiled code must use nothing from other files.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators
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
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.event import Event, Listener, install_listener
from numba.core.typed_passes import NativeLowering

Function = TypeVar("Function", bound=Callable[..., Any])

SILENT_SECONDS = 1.0  # of compiling before a message is logged
_PACKAGE = Path(__file__).parents[1]
_KEPT_FOLDERS = 8  # the last used; one for each state of the sources and version of numba
_njit: Any = numba.njit  # its type stubs lack most options
_OPTIONS = {"nogil": True, "no_cfunc_wrapper": True}
_config: Any = numba.config
_lock = Lock()  # of numba's settings
_logger = logging.getLogger(__name__)


# numba makes each function callable from Python and from C, and translates it by itself; then it links it
# into each caller, and translates it again as a part of that. A function of `inner` has only compiled
# callers: it is not callable otherwise, and translated only as a part of them. `_Linker` adds `_Link` to
# numba's own passes, which tells numba where callers find the function; `_Code` skips the translation.
# With plain `njit` the first calls of searches take two to four times as long, which is why private parts of
# numba are used here.


class _Code(JITCodeLibrary):
    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=False)
class _Link(LoweringPass):
    _name = "link"

    def __init__(self) -> None:  # numba's own is abstract
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        function = state.cr.fndesc
        key = [].index  # type: ignore[var-annotated]  # numba wants a function of C; a call of this one fails
        state.library.finalize()
        state.targetctx.insert_user_function(key, function, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class _Linker(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.flags.no_compile = True
        state.library = _Code(state.targetctx.codegen(), state.func_id.func_qualname)
        passes = DefaultPassBuilder.define_nopython_pipeline(state)
        passes.add_pass_after(_Link, NativeLowering)
        passes.finalize()
        return [passes]


def inner(function: Function) -> Function:
    """The function as machine code for `compiled` functions alone, which are cached with all they call.

    It must not make or return an array: numba counts no references in it, which took up to nine tenths of the
    time of short functions that take many arrays.
    """
    options = {"_nrt": False, "no_cpython_wrapper": True, "pipeline_class": _Linker, **_OPTIONS}
    return function if _config.DISABLE_JIT else cast(Function, _njit(**options)(function))


def compiled(function: Function) -> Function:
    """The function as machine code, cached on disk where some folder can be written to; see `folder_for`."""
    with _lock:
        folder = None if _config.DISABLE_JIT else folder_for(_digest())
        configured = _config.CACHE_DIR
        _config.CACHE_DIR = configured if folder is None else str(folder)
        try:
            return cast(Function, _njit(cache=folder is not None, **_OPTIONS)(function))
        finally:
            _config.CACHE_DIR = configured


def ready(name: str, *calls: Callable[[], object]) -> None:
    """Make calls of compiled functions, so that these are compiled or loaded before anything is timed.

    Logs a warning if something is compiled for longer than `SILENT_SECONDS`.
    """
    notice = _Notice(name)
    try:
        with install_listener("numba:compile", notice):
            for call in calls:
                call()
    finally:
        notice.timer.cancel()


class _Notice(Listener):
    """Logs that something is compiled, unless all is loaded from disk, or soon done."""

    def __init__(self, name: str) -> None:
        self.timer = Timer(SILENT_SECONDS, _logger.warning, [f"{name}: compiling, once on this machine"])
        self.timer.daemon = True

    def on_start(self, event: Event) -> None:
        if self.timer.ident is None:
            self.timer.start()

    def on_end(self, event: Event) -> None:
        pass


@cache
def folder_for(digest: str) -> Path | None:
    """The folder for what is compiled from the sources of this digest; None if none can be written to.

    It is in the folder that `NUMBA_CACHE_DIR` names, else beside the bytecode of this room, else in the
    user's cache folder.
    """
    for parent in _parents():
        folder = parent / digest
        with suppress(OSError):
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                _remove_oldest(parent)
            os.utime(folder)
            TemporaryFile(dir=folder).close()
            return folder
    _logger.warning(
        "the compiled code of ttt_env cannot be cached in %s: every process compiles it again, "
        "which takes some seconds. Set NUMBA_CACHE_DIR to a writable folder.",
        ", ".join(map(str, _parents())),
    )
    return None


def _parents() -> Iterator[Path]:
    """The folders that may hold the cache folders, the best place first."""
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR).absolute() / "ttt_env"
    yield Path(cache_from_source(__file__)).parent / "numba"
    try:
        yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "ttt_env"
    except RuntimeError:  # there is no home
        return


def _remove_oldest(parent: Path) -> None:
    """Remove the folders unused for longest; a process that is about to use one of them compiles again."""
    with suppress(OSError):  # another process does the same
        folders = sorted(parent.iterdir(), key=lambda folder: -folder.stat().st_mtime)
        for old in folders[_KEPT_FOLDERS:]:
            rmtree(old, ignore_errors=True)


def sources() -> list[Path]:
    """All files with compiled functions."""
    return sorted({*_PACKAGE.glob("compiled/*.py"), *_PACKAGE.glob("**/*_kernel.py")})


def _digest() -> str:
    """A digest of the sources of compiled functions and of the versions of the compiler, 16 letters.

    numba itself distinguishes versions of Python and processors. The digest is computed for each function, so
    that a module that is reloaded after an edit gets another folder.
    """
    digest = sha256(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    for source in sources():
        text = source.read_bytes()
        digest.update(f"\n{source.relative_to(_PACKAGE).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]
