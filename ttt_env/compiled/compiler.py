"""Functions compiled to machine code by numba, kept on disk under a digest of their sources.

Importing this module imports numba: import it where a search begins.

numba keeps a compiled function until its own file changes, and does not see when a function that it calls
from another file does. So what is compiled here is kept in a folder named by a digest of all sources of
compiled functions: those of this room, and `*_kernel.py` in the room of each idea. An edit of any of them
leads to another folder. Compiled code must use nothing from other files.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators
import gc
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
from numba.extending import overload as _numba_overload

Function = TypeVar("Function", bound=Callable[..., Any])

SILENT_SECONDS = 1.0  # of compiling before a message says so
_PACKAGE = Path(__file__).parents[1]
_KEPT_FOLDERS = 8  # one for each state of the sources and version of numba, the last used
_COST = "every process that uses it compiles it again, which takes some seconds"
_njit: Any = numba.njit  # its types know few of its options
_overload: Any = _numba_overload
_OPTIONS = {"nogil": True, "no_cfunc_wrapper": True}
_config: Any = numba.config
_lock = Lock()  # of numba's settings
_logger = logging.getLogger(__name__)


class _LinkedCode(JITCodeLibrary):
    """The code of a function that is linked into its callers, to be optimised and translated with theirs."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=False)
class _Link(LoweringPass):
    """Let callers find the function, which is not made ready to be called from Python."""

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
        state.library = _LinkedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        passes = DefaultPassBuilder.define_nopython_pipeline(state)
        passes.add_pass_after(_Link, NativeLowering)
        passes.finalize()
        return [passes]


_LINKED: dict[str, Any] = {"_nrt": False, "no_cpython_wrapper": True, "pipeline_class": _Linker, **_OPTIONS}


def inner(function: Function) -> Function:
    """The function as machine code for `compiled` functions alone, which are kept with all they call.

    So a call from Python loads one file, and processes that compile different callers at the same time never
    write the same file. numba neither makes a way to call it from Python nor translates it by itself, which
    took most of the time, and counts no references, which took up to nine tenths of the time of short
    functions that get many arrays: it must not make or return an array.
    """
    if _config.DISABLE_JIT:
        return function
    dispatcher = _njit(**_LINKED)(function)
    template = dispatcher.get_call_template

    def template_of_types(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template(tuple(map(_widest, args)), kws)

    dispatcher.get_call_template = template_of_types
    return cast(Function, dispatcher)


def _widest(argument: Any) -> Any:
    """One type for all signed numbers: else a function is compiled again for each size and each literal."""
    argument = numba.types.unliteral(argument)
    if argument in numba.types.signed_domain:
        return numba.types.int64
    return numba.types.float64 if argument == numba.types.float32 else argument


def inner_by_types(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """`inner` for a function whose code another one, which gets numba's types of its arguments, chooses."""
    # Not `strict`, which would compare annotations.
    return cast(Callable[[Function], Function], _overload(function, jit_options=_LINKED, strict=False))


def compiled(function: Function) -> Function:
    """The function as machine code, kept on disk where some folder can be written to; see `folder_for`."""
    with _lock:
        folder = None if _config.DISABLE_JIT else folder_for(_digest())
        if folder is not None:
            configured, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
            try:
                dispatcher = _njit(cache=True, **_OPTIONS)(function)
                if Path(dispatcher.stats.cache_path).is_relative_to(folder):
                    return cast(Function, dispatcher)
            except RuntimeError:  # numba finds no folder for this function
                pass
            finally:
                _config.CACHE_DIR = configured
            _say(f"numba does not keep the compiled code of ttt_env in {folder}: {_COST}")
        return cast(Function, _njit(**_OPTIONS)(function))


def ready(name: str, *calls: Callable[[], object]) -> None:
    """Make calls of compiled functions, so that these are compiled or loaded before anything is timed.

    Logs a warning if something is compiled for longer than `SILENT_SECONDS`, and if compiled code cannot be
    written to disk.
    """
    notice = _Notice(name)
    is_collecting = gc.isenabled()
    gc.disable()  # numba makes many objects and few cycles; to look for these takes a seventh of its time
    try:
        with install_listener("numba:compile", notice):
            for call in calls:
                _call_twice_if_not_written(call)
    finally:
        notice.timer.cancel()
        if is_collecting:
            gc.enable()


class _Notice(Listener):
    """A line that says that something is compiled: none where all is loaded from disk, or soon done."""

    def __init__(self, name: str) -> None:
        self.timer = Timer(SILENT_SECONDS, _say, [f"{name}: compiling, once on this machine"])
        self.timer.daemon = True

    def on_start(self, event: Event) -> None:
        if self.timer.ident is None:
            self.timer.start()

    def on_end(self, event: Event) -> None:
        pass


def _call_twice_if_not_written(call: Callable[[], object]) -> None:
    """Numba raises a disk's error, such as a full disk, after it has compiled: repeat the call."""
    try:
        call()
    except OSError as error:
        _say(f"the compiled code of ttt_env cannot be kept ({error}): {_COST}")
        call()


@cache
def folder_for(digest: str) -> Path | None:
    """The folder for what is compiled from the sources of this digest; None if none can be written to.

    It is in the folder that `NUMBA_CACHE_DIR` names, else beside the bytecode of this room, else in
    the user's cache folder. A warning names the places that had to be passed over when the folder is made.
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
    """The folders that may hold those of all digests, the best place first."""
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

    numba itself keeps versions of Python and processors apart. The digest is made anew for each function, so
    that a module that is loaded again after an edit is kept elsewhere.
    """
    digest = sha256(f"{numba.__version__} {llvmlite.__version__} {np.__version__}".encode())
    for source in sources():
        text = source.read_bytes()
        digest.update(f"\n{source.relative_to(_PACKAGE).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:16]


@cache
def _say(text: str) -> None:
    """Log a warning, once per process; without logging settings it goes to stderr."""
    _logger.warning(text)
