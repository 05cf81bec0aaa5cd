"""The modules and names that `import ttt_env` loads."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ttt_env

HEAVY = (
    *("torch", "numba", "pygame", "tkinter", "matplotlib", "stable_baselines3", "sb3_contrib"),
    *("typer", "rich", "pandas", "pyarrow", "PIL", "resvg_py"),
)
# Executed one after the other in one process.
STEPS = {
    "import": "import ttt_env",
    "data sets": "import ttt_env.datasets",
    "training": """
import ttt_env.training
from ttt_env.agents.learned import q_learning
from ttt_env.training import OpponentPool, StartDistribution""",
    "play": """
env = ttt_env.make("tictactoe-v0", opponent="minimax", render_mode="rgb_array")
env.reset(seed=0)
env.render()
env.position._repr_svg_()
import ttt_env.render.table, ttt_env.render.text
ttt_env.match("random", "minimax")""",
}


def test_no_heavy_package_is_loaded() -> None:
    scripts = [f"{text}\nprint({name!r}, *sys.modules, sep=',')" for name, text in STEPS.items()]
    script = "\n".join(
        ["import sys", *scripts, "ttt_env.envs.sb3.make_vec_env", "print('sb3', *sys.modules, sep=',')"]
    )
    command = [sys.executable, "-W", "error", "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {name: modules for name, *modules in (line.split(",") for line in run.stdout.splitlines())}
    assert list(loaded) == [*STEPS, "sb3"]
    for name, modules in loaded.items():
        assert not {module.partition(".")[0] for module in modules} & set(HEAVY), name
    assert "ttt_env" in loaded["import"] and "ttt_env.agents" not in loaded["import"]
    assert "ttt_env.agents" in loaded["play"]


def test_subpackages_import_from_public_modules() -> None:
    package = Path(ttt_env.__file__).parent
    offered = {room: vars(import_module(f"ttt_env.{room}")).keys() for room in ("rules", "agent", "storage")}
    imports = r"(?m)^ *from ttt_env\.(rules|agent|storage)\.\S+ import (\([^)]*\)|.*)$"
    passed_by = []
    for path in package.rglob("*.py"):
        at = path.relative_to(package)
        if len(at.parts) == 1 or at.parts[-2] == "rules":
            continue
        for room, names in re.findall(imports, path.read_text("utf-8")):
            named = {name.split()[0] for name in names.strip("()\n ,").split(",")}
            if room != at.parts[0] and named & offered[room]:
                passed_by.append((at, room, named & offered[room]))
    assert not passed_by


def test_top_level_shows_only_public_names() -> None:
    assert set(dir(ttt_env)) == {*ttt_env.__all__, "__doc__", "__version__", "envs", "errors"}
    assert all(hasattr(ttt_env, name) for name in dir(ttt_env)) and len(ttt_env.__all__) <= 50
    assert {name for name in ttt_env.__all__ if name.endswith("Error")} == {"IllegalMoveError", "TttEnvError"}


def test_unknown_name_of_training_is_refused() -> None:
    from ttt_env import training

    assert set(training.__all__) <= set(dir(training))
    assert training.SelfPlayCallback.__module__.startswith("ttt_env.training.")
    with pytest.raises(AttributeError, match="SelfPlai"):
        training.SelfPlai  # noqa: B018
