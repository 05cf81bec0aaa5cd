"""Specs that arrive as data can name only plain agents of this package, at every entry point."""

import ast
import os
import re
import site
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ttt_env
from tests.support.games import TICTACTOE
from ttt_env.agent import make_agent
from ttt_env.errors import ParameterError
from ttt_env.integrations.trl import GameEnvironment
from ttt_env.text import TextEnv
from ttt_env.web.players import Players

CODE = [
    "process:touch PWNED",
    "process:command=touch PWNED",
    "sb3:evil.zip",
    "bot.py",
    "bot.py:choose",
    "lookup:evil.npz",
    "imitation:evil.sqlite",
    "onnx:evil.onnx",
    "alphazero:path=evil.npz",
    "epsilon:process:touch PWNED",
    "epsilon:(process:touch PWNED),epsilon=0.5",
    "mixture:minimax+(process:touch PWNED)",
    "mixture:minimax+(epsilon:(symmetric:(sb3:evil.zip)))",
    "imitation:fallback=(bot.py:choose)",
    "mcts:evaluate=(value-network:evil.npz)",
]
PLAIN = [
    "minimax:prefer=fast",
    "epsilon:softmax:temperature=0.2,epsilon=0.3",
    "mixture:(epsilon:minimax,epsilon=0.2)+rules,weights=1+2",
    "mcts:simulations=20,seed=1,playout=win-block",
    "mcts:simulations=20,evaluate=value-network",
    "rules:win+block",
    "safe-exploit",
    "lookup",
    "imitation:fallback=minimax",
]


def text_env_row(spec: object) -> object:
    return TextEnv(TICTACTOE).reset(position=None, play_as="O", seed=0, opponent=spec)


def trl_row(spec: object) -> object:
    return GameEnvironment(TICTACTOE).reset(position=None, play_as="O", seed=0, opponent=spec)


def page_opponent(spec: str) -> object:
    return Players().make(spec, TICTACTOE)


ENTRY_POINTS: dict[str, Callable[[str], object]] = {
    "text/env.py": text_env_row,
    "integrations/trl.py": trl_row,
    "web/players.py": page_opponent,
}
"""The modules that make agents from specs that arrive as data."""

TYPED = """
    agents/combining.py agents/learned/imitation.py agents/mcts/agent.py
    proofs/agent.py analysis/dossier.py analysis/evaluation.py
    analysis/certificate.py analysis/play.py analysis/policy_table.py agents/learned/lookup.py
    app/certifying.py
    app/terminal/play.py datasets/writer.py
    envs/board.py envs/single.py envs/two_player.py envs/vector/env.py
    integrations/kaggle.py integrations/openenv.py integrations/rllib.py
    integrations/textarena.py tournament/matches.py bots/players.py training/pool.py
""".split()
"""The modules that make agents from specs that a person wrote: in Python, on the command line, in a plan."""


@pytest.mark.slow
def test_every_module_that_makes_agents_is_listed():
    folder = Path(ttt_env.__file__).parent
    makers = {"make_agent", "OpponentMix"}
    calling = [
        str(file.relative_to(folder).as_posix())
        for file in sorted(folder.rglob("*.py"))
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in makers
    ]
    assert set(calling) == {*TYPED, *ENTRY_POINTS} - {"integrations/trl.py"}  # It calls TextEnv.


@pytest.mark.parametrize("entry_point", ENTRY_POINTS.values(), ids=ENTRY_POINTS)
@pytest.mark.parametrize("spec", CODE)
def test_data_cannot_name_file_or_command(spec, entry_point, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.py").write_text("open('PWNED', 'w').close()\ndef choose(position): return 0\n")
    (tmp_path / "evil.zip").write_bytes(b"PK")
    with pytest.raises(ParameterError, match="arrived as data"):
        entry_point(spec)
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("spec", PLAIN)
def test_data_can_name_plain_agents(spec):
    text_env_row(spec)
    assert repr(make_agent(spec, TICTACTOE, trusted=False)) == repr(make_agent(spec, TICTACTOE))


def test_data_cannot_name_agents_of_other_packages(monkeypatch):
    from ttt_env.agent import making

    monkeypatch.setattr(making, "is_of_package", lambda name: False)
    with pytest.raises(ParameterError, match="arrived as data"):
        make_agent("random", TICTACTOE, trusted=False)


def test_function_objects_are_always_accepted():
    TextEnv(TICTACTOE).reset(play_as="X", seed=0, opponent=lambda position: position.legal_cells[0])


def test_tests_named_by_security_page_exist():
    root = Path(__file__).parents[2]
    named = re.findall(r"`(tests/\S+\.py)`", (root / "SECURITY.md").read_text())
    assert len(named) > 5
    assert all((root / name).is_file() for name in named)


def test_older_interpreter_reads_agent_signatures(tmp_path):
    """Debian 12's Python 3.11.2 takes an inherited `__new__` for the signature of a class."""
    python = "/usr/bin/python3"
    versions = [
        subprocess.run(
            [interpreter, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True
        ).stdout
        for interpreter in (python, sys.executable)
        if Path(interpreter).exists()
    ]
    if len(set(versions)) != 1 or len(versions) != 2:
        pytest.skip("needs a second interpreter of the same minor version")
    code = (
        "from ttt_env import make_agent\n"
        "assert make_agent('process:sh -c \"exit 3\"').label\n"
        "assert make_agent('minimax:prefer=fast')\n"
        "make_agent('epsilon:ppo,epsilon=0.5')"
    )
    path = os.pathsep.join([str(Path(ttt_env.__file__).parents[1]), *site.getsitepackages()])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([python, "-c", code], check=True, env=environment)
