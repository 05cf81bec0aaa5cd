"""Compiled code: never older than its sources, cached if possible, ready before a clock starts."""

import ast
import inspect
import os
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.dispatcher import Dispatcher

import ttt_env
from ttt_env.compiled import compiler, sets

PACKAGE = Path(ttt_env.__file__).parent
STRANGER = 54321  # An id that belongs to no user.
SOURCES = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in compiler.sources()]
MODULES = [import_module(name.removesuffix(".__init__")) for name in SOURCES]
GAMES = [
    *map(ttt_env.get_game, ["tictactoe-v0", "square-v0", "mnk-v0:m=5,n=4,k=3,misere=true", "qubic-v0"]),
    ttt_env.Game("lopsided", (3, 4), [(0, 1), (2, 5, 8), (1, 6, 11, 9), (3,), (0, 7, 8, 9)]),
]

# Two minimal functions in two files.
CALLED = """
from ttt_env.compiled.compiler import inner

@inner
def step():
    return {step}
"""
CALLER = """
from ttt_env.compiled.compiler import compiled
from ttt_env.compiled.called import step

@compiled
def stepped(n):
    return n + step()
"""
CALL = """
from ttt_env.agents.caller_kernel import stepped
print(stepped(1000), sum(stepped.stats.cache_hits.values()))
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the package with two more compiled functions in two folders; pass it to `run`."""
    shutil.copytree(PACKAGE, tmp_path / "ttt_env", ignore=shutil.ignore_patterns("__pycache__", "web"))
    write(tmp_path, "agents/caller_kernel", CALLER)
    write(tmp_path, "compiled/called", CALLED.format(step=1))
    return tmp_path


def write(copy, module, text):
    (copy / "ttt_env" / f"{module}.py").write_text(text, encoding="utf-8")


def start(copy, script, **environment):
    """Start a process in which the script uses the copy, with its own environment."""
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SYSTEMROOT")}
    env |= {"PYTHONPATH": os.pathsep.join([str(copy), *sys.path[1:]]), **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-W", "error", "-c", script], cwd=copy, env=env, **pipes)


def end(process):
    """Wait for the process; return the words on stdout and the lines on stderr."""
    out, messages = process.communicate(timeout=300)
    assert process.returncode == 0, messages
    return out.split(), messages.splitlines()


def run(copy, script=CALL, **options):
    return end(start(copy, script, **options))


def files_of_compiled_code(copy):
    """All cache files anywhere in the copy."""
    return sorted(path.relative_to(copy) for path in copy.rglob("*.nbc"))


@pytest.mark.slow
def test_edited_callee_recompiles_caller_and_old_cache_remains(copy):
    assert run(copy) == (["1001", "0"], [])
    assert run(copy) == (["1001", "1"], [])  # It was cached.
    write(copy, "compiled/called", CALLED.format(step=22))
    assert run(copy) == (["1022", "0"], [])
    files = files_of_compiled_code(copy)
    for step in (1, 22):
        write(copy, "compiled/called", CALLED.format(step=step))
        assert run(copy) == ([str(1000 + step), "1"], [])
    assert files_of_compiled_code(copy) == files


def imports_outside_digest(module):
    """The names that a compiled module imports from files that the digest does not cover."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ttt_env."):
            if node.module not in SOURCES:
                yield from (alias.asname or alias.name for alias in node.names)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_compiled_functions_use_only_digested_sources(module):
    foreign = set(imports_outside_digest(module))
    for function in vars(module).values():
        if isinstance(function, Dispatcher):
            assert function.py_func.__module__ in SOURCES
            if function.py_func.__module__ == module.__name__:
                assert not foreign & set(function.py_func.__code__.co_names), function


def test_old_cache_folders_are_removed(monkeypatch, tmp_path):
    monkeypatch.setattr(compiler, "_parents", lambda: [tmp_path])
    names = [f"sources {number}" for number in range(12)]
    for age, name in enumerate(reversed(names)):
        compiler.folder_for.__wrapped__(name)
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    compiler.folder_for.__wrapped__(names[3])  # This folder is used again.
    compiler.folder_for.__wrapped__("new sources")
    most = compiler._KEPT_FOLDERS
    assert {path.name for path in tmp_path.iterdir()} == {"new sources", names[3], *names[-most + 2 :]}


@pytest.mark.slow
def test_user_chosen_cache_folder_is_used(copy, tmp_path):
    chosen = str(tmp_path / "chosen")
    script = f"{CALL}\nimport numba\nprint(numba.config.CACHE_DIR)"  # Numba's own setting is unchanged.
    assert run(copy, script, NUMBA_CACHE_DIR=chosen) == (["1001", "0", chosen], [])
    assert run(copy, NUMBA_CACHE_DIR=chosen) == (["1001", "1"], [])
    assert all(path.parts[0] == "chosen" for path in files_of_compiled_code(copy))


def test_unwritable_folders_disable_cache_with_warning(monkeypatch, tmp_path, logged):
    (tmp_path / "file").touch()
    places = [tmp_path / "file", tmp_path / "file" / "below"]
    monkeypatch.setattr(compiler, "_parents", lambda: places)
    assert compiler.folder_for.__wrapped__("digest") is None
    (message,) = logged
    assert f"cannot be cached in {places[0]}, {places[1]}: " in message
    assert "compiles it again" in message


def block_cache_folder(copy):
    """Prevent caching beside the sources, even for root: a file takes the place of the folder."""
    path = copy / "ttt_env" / "compiled" / "__pycache__"
    path.touch()
    return path


@pytest.mark.slow
@pytest.mark.parametrize("is_chosen", [False, True], ids=["beside the sources", "chosen"])
def test_unwritable_folder_is_skipped(copy, is_chosen):
    path, environment = block_cache_folder(copy), {"XDG_CACHE_HOME": str(copy / "mine")}
    if is_chosen:
        path = path / "below"
        environment["NUMBA_CACHE_DIR"] = str(path)
    assert run(copy, **environment) == (["1001", "0"], [])
    assert run(copy, **environment) == (["1001", "1"], [])
    assert {path.parts[:2] for path in files_of_compiled_code(copy)} == {("mine", "ttt_env")}


TWICE = f"{CALL}\nimport ttt_env.agents.mcts.search_kernel"  # Many functions give one warning.


@pytest.mark.slow
def test_missing_cache_folder_warns_once(copy):
    path = block_cache_folder(copy)
    for _ in range(2):
        answer, messages = run(copy, TWICE, NUMBA_CACHE_DIR=str(path), HOME=str(path))
        assert answer == ["1001", "0"]
        assert len(messages) == 1
        assert "cannot be cached" in messages[0] and "compiles it again" in messages[0]
        assert messages[0].count(str(path)) == 3
    assert files_of_compiled_code(copy) == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be someone else")
def test_user_without_home_or_rights_gets_warning(copy):
    script = f"""
import os
from ttt_env.compiled import compiler
os.setuid({STRANGER})
print(compiler.folder_for("digest"), compiler.folder_for("digest"))
"""
    answer, messages = run(copy, script)
    assert answer == ["None", "None"]
    assert len(messages) == 1
    assert "cannot be cached" in messages[0] and "compiles it again" in messages[0]


@pytest.mark.slow
def test_processes_may_compile_at_once(copy):
    processes = [start(copy, CALL) for _ in range(3)]
    for process in processes:
        answer, messages = end(process)
        assert (answer[0], messages) == ("1001", [])
    assert run(copy) == (["1001", "1"], [])


@pytest.mark.slow
def test_disabled_jit_leaves_python_functions(copy):
    script = "from ttt_env.agents.caller_kernel import stepped\nprint(stepped(1000), type(stepped).__name__)"
    assert run(copy, script, NUMBA_DISABLE_JIT="1") == (["1001", "function"], [])


def test_only_long_compilation_is_logged(monkeypatch, logged):
    monkeypatch.setattr(compiler, "SILENT_SECONDS", 0.0)

    @njit
    def answer():
        return 42

    def compile_until_logged():
        answer()
        while not logged:
            pass

    compiler.ready("a name", compile_until_logged)
    compiler.ready("another name", lambda: (answer(), time.sleep(0.1)))
    (message,) = logged
    assert "a name: compiling" in message


TRAINING = "ttt_env.training.loop", "perf_counter"
START = "ttt_env.get_game('tictactoe-v0').start"
CLOCKS = {
    "cfr": (
        *TRAINING, "agents.learned.cfr_kernel", ["set_movers", "sweep"],
        "ttt_env.train(algo='cfr', seconds=1e-9)",
    ),
    "mcts": (
        "ttt_env.agents.mcts.search", "perf_counter", "agents.mcts.search_kernel", ["run", "begin_search"],
        f"ttt_env.make_agent('mcts:seconds=1e-9').policy({START})",
    ),
    "minimax": (
        "ttt_env.agents.planning.alphabeta", "time.monotonic", "agents.planning.alphabeta_kernel", ["search"],
        f"ttt_env.make_agent('minimax:seconds=1e-9').policy({START})",
    ),
    "proof": (
        "ttt_env.proofs.prover", "time.monotonic", "proofs.search_kernel", ["search"],
        "ttt_env.prove('tictactoe-v0', seconds=1e-9)",
    ),
    "q-learning": (
        *TRAINING, "agents.learned.q_learning_kernel", ["play_games"],
        "ttt_env.train(algo='q-learning', seconds=1e-9)",
    ),
    "value-network": (
        *TRAINING, "agents.learned.value_network_kernel", ["play_and_learn"],
        "ttt_env.train(algo='value-network', seconds=1e-9)",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("module", "clock", "kernel", "functions", "use"), CLOCKS.values(), ids=CLOCKS)
def test_clock_starts_after_compilation(module, clock, kernel, functions, use):
    script = f"""
import importlib, time
import ttt_env
kernel = importlib.import_module("ttt_env.{kernel}")
module = importlib.import_module("{module}")
functions = [getattr(kernel, name) for name in {functions}]
numbers = []
def clock():
    numbers.append([len(function.signatures) for function in functions])
    return time.perf_counter()
if "{clock}" == "time.monotonic":
    module.time = type("Time", (), dict(monotonic=staticmethod(clock)))
else:
    module.{clock} = clock
if hasattr(module, "Training"):
    module.Training.__init__.__kwdefaults__["clock"] = clock
assert not any(function.signatures for function in functions)
{use}
assert all(numbers[0]) and numbers[0] == numbers[-1], numbers
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[1:])}
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, env=environment, timeout=300)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_set_arrays_match_game(game):
    arrays = sets.winning_sets(game)
    assert int(arrays.full) == game.full_mask and arrays.misere == game.misere
    assert arrays.masks.tolist() == list(game.winning_masks)
    numbers, holds = sets.numbers_through(game), sets.set_incidence(game)
    masks = np.append(arrays.masks, np.uint64(0))
    for cell, expected in enumerate(game.winning_masks_through):
        assert arrays.through[arrays.first[cell] : arrays.first[cell + 1]].tolist() == list(expected)
        assert [mask for mask in masks[numbers[cell]].tolist() if mask] == list(expected)
        assert arrays.masks[holds[:, cell]].tolist() == list(expected)
