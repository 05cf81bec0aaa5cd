"""The verdict of a strict type checker on code that uses the package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = '''
"""A user's project."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import ttt_env
from ttt_env import Agent, Match, Position

Planes = NDArray[np.int8]


class Corner(Agent):
    """Prefers the first corner."""

    def policy(self, position: Position) -> NDArray[np.float64]:
        policy = np.zeros(self.game.n_cells)
        policy[position.legal_cells[0]] = 1.0
        return policy


class Wrong(Agent):
    def policy(self, position: Position) -> str:  # EXPECTED: override
        return "the middle"


env = ttt_env.make("tictactoe-v0", opponent="minimax", play_as="X")
observation, info = env.reset(seed=0)
assert_type(observation, Planes)
assert_type(info["action_mask"], Planes)
observation, reward, terminated, truncated, info = env.step(np.flatnonzero(info["action_mask"])[0])
assert_type(observation, Planes)
assert_type(reward, float)
assert_type(terminated, bool)
reveal_type(env)
reveal_type(env.step(4))
reveal_type(info["seat"])
reveal_type(info.get("winner"))
reveal_type(env.position)
reveal_type(env.action_masks())
env.step("4")  # EXPECTED: arg-type

of_dicts = ttt_env.make("tictactoe-v0", Corner(env.game), observation="dict")
reveal_type(of_dicts.reset())
assert_type(of_dicts.step(4)[0]["observation"], Planes)

two_players = ttt_env.make("tictactoe-v0")
two_players.reset(seed=0)
reveal_type(two_players)
reveal_type(two_players.last())
reveal_type(two_players.observe("X"))
reveal_type(ttt_env.tictactoe_v0.env())
assert_type(two_players.infos["X"]["action_mask"], Planes)
two_players.step(4)
two_players.step(None)
assert_type(ttt_env.make("tictactoe-v0", observation="planes").observe("O"), Planes)

envs = ttt_env.make_vec("tictactoe-v0", num_envs=4, opponent=["random", "minimax"])
reveal_type(envs)
observations, rewards, over, truncations, told = envs.step([0, 1, 2, 3])
assert_type(observations, Planes)
assert_type(rewards, NDArray[np.float64])
assert_type(over, NDArray[np.bool_])
assert_type(ttt_env.make_vec("tictactoe-v0", observation="dict").reset()[0]["action_mask"], Planes)
assert_type(env.position.planes, Planes)

agent = ttt_env.make_agent("softmax:temperature=0.2", "tictactoe-v0")
assert_type(agent, Agent)
reveal_type(agent.policy(env.position))
reveal_type(agent.choose(env.position, np.random.default_rng(0)))
scores = ttt_env.make_agent(lambda planes: planes.reshape(len(planes), -1)[:, ::2], observation="planes")
reveal_type(scores)
match = ttt_env.match(Corner(env.game), lambda position: position.legal_cells[0], "tictactoe-v0")
assert_type(match, Match)
reveal_type(match.as_x)
reveal_type(match.score)
reveal_type(ttt_env.certify(agent))
'''
OF_NUMPY = r"numpy\.ndarray\[(tuple\[Any, \.\.\.\]|Any)"  # NumPy's own text for an array of any shape


@pytest.fixture(scope="module")
def mypy_output(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("project")
    (folder / "project.py").write_text(PROJECT, encoding="utf-8")
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\n", encoding="utf-8")
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MYPYPATH", "PYTHONPATH")
    }
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--show-error-codes", "project.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert not run.stderr, run.stderr
    return run.stdout


@pytest.mark.slow
def test_type_errors_are_found_exactly_where_expected(mypy_output: str) -> None:
    lines = PROJECT.splitlines()
    expected = {
        (at, line.partition("# EXPECTED: ")[2])
        for at, line in enumerate(lines, start=1)
        if "# EXPECTED: " in line
    }
    errors = re.findall(r"^project\.py:(\d+): error: .*\[([a-z-]+)\]$", mypy_output, re.MULTILINE)
    assert {(int(line), code) for line, code in errors} == expected, mypy_output


@pytest.mark.slow
def test_no_revealed_type_is_any(mypy_output: str) -> None:
    revealed = re.findall(r'Revealed type is "(.*)"', mypy_output)
    assert len(revealed) == PROJECT.count("reveal_type(")
    for text in revealed:
        assert not re.search(r"\bAny\b", re.sub(OF_NUMPY, "numpy.ndarray[", text)), text
