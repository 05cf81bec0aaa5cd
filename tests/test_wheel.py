"""The wheel, installed next to other packages with the same module names: both keep working."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason='building the wheel needs the extra "dev"')

ROOT = Path(__file__).parents[1]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

# Every name of an agent, with the parameters it needs without a file.
USE_OURS = """
import ttt_env, ttt_env.agents
assert ttt_env.__file__.startswith(sys.prefix), ttt_env.__file__
needs = {"best-response": ":minimax", "epsilon": ":random,epsilon=0.5", "mixture": ":random+minimax"}
needs |= {"chat": ":url=http://localhost,model=a", "process": ":sh", "symmetric": ":random"}
of_files = {"imitation", "onnx", "policy-table", "sb3", "strategy"}
for name in sorted(set(ttt_env.agent_names()) - of_files):
    ttt_env.make_agent(name + needs.get(name, ""))
for name in sorted(of_files):
    try:
        ttt_env.make_agent(name + ":no-such-file")
    except (ttt_env.TttEnvError, FileNotFoundError):
        pass
env = ttt_env.make("tictactoe-v0", opponent="minimax", play_as="X")
env.reset(seed=0)
assert env.step(4)[4]["action_mask"].sum() == 7
assert ttt_env.certify("minimax").unbeatable
"""
USE_THEIRS = """
import agents
assert agents.whose() == "the user's", agents.__file__
"""
OWN_FILE = 'def whose():\n    return "the user\'s"\n'


def build(kind: str, folder: Path) -> Path:
    """The wheel or the sdist of the sources, built by the backend of pyproject.toml."""
    code = f"import sys, hatchling.build as back; print(back.build_{kind}(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(folder)]
    run = subprocess.run(command, cwd=ROOT, env=CLEAN, capture_output=True, text=True, check=True)
    return folder / run.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


class Venv:
    """A fresh virtual environment; `borrow` adds the packages of this environment after its own."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self.python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        find = "import sysconfig; print(sysconfig.get_path('purelib'))"
        self.packages = Path(self._output([self.python, "-c", find]).strip())

    def borrow(self) -> None:
        ours = [path for path in sys.path if Path(path).name == "site-packages"]
        (self.packages / "borrowed.pth").write_text("\n".join(ours), encoding="utf-8")

    def install(self, *what: str | Path) -> None:
        self._output([self.python, "-m", "pip", "install", "--quiet", *what])

    def run(self, code: str, folder: Path) -> None:
        self._output([self.python, "-c", f"import sys\n{code}"], folder)

    def _output(self, command: Sequence[str | Path], folder: Path | None = None) -> str:
        run = subprocess.run(
            list(map(str, command)), cwd=folder, env=CLEAN, capture_output=True, text=True, encoding="utf-8"
        )
        assert run.returncode == 0, run.stderr
        return run.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Venv:
    fresh = Venv(tmp_path_factory.mktemp("venv"))
    fresh.install("--no-deps", "--no-index", wheel)
    fresh.borrow()
    return fresh


def test_wheel_has_package_and_entry_module(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    (metadata,) = tops - {"ttt_env", "ttt_command.py"}
    assert metadata.endswith(".dist-info")
    data = {"ttt_env/proofs/qubic-v0.npz", "ttt_env/web/static/main.js", "ttt_env/web/static/layout.json"}
    assert {"ttt_env/py.typed", "ttt_env/agents/__init__.py", *data} <= set(names)


@pytest.mark.slow  # `make wheel` builds the wheel from the sdist
def test_sdist_has_all_files_of_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.startswith("ttt_env/")}
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert shipped <= set(names) and len(set(names)) == len(names)
    assert not any(name.partition("/")[0] == "agents" for name in names)


@pytest.mark.slow  # `make wheel` checks something similar
@pytest.mark.parametrize("path", ["agents/__init__.py", "agents.py"])
def test_project_may_have_its_own_agents(installed: Venv, tmp_path: Path, path: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(OWN_FILE, encoding="utf-8")
    installed.run(USE_THEIRS + USE_OURS + USE_THEIRS, tmp_path)
    installed.run(USE_OURS + USE_THEIRS, tmp_path)
