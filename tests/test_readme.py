"""Every block of the README runs."""

import importlib.util
import re

import pytest

import ttt_env
from tests.documents import ROOT, blocks_of, run_commands, run_session

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = blocks_of(ROOT / "README.md")


def blocks(kind):
    return [pytest.param(block.text, id=block.id) for block in BLOCKS if block.kind == kind]


def test_every_block_is_of_a_kind_that_runs():
    assert {kind for kind, _ in BLOCKS} == {"python", "pycon", "sh", "text"}


def run_block(text, folder, monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("sb3_contrib")
    monkeypatch.chdir(folder)
    threads = torch.get_num_threads()
    try:
        exec(compile(text, "README.md", "exec"), {})
    finally:
        torch.set_num_threads(threads)


# What takes long in a block, and in its place what shows in seconds that the block runs.
SHORTER = {
    "model.learn(2_000_000,": "model.learn(5_000,",
    'assert ttt_env.certify("sb3:ppo.zip").unbeatable': 'ttt_env.certify("sb3:ppo.zip")',
}


@pytest.mark.parametrize("text", blocks("python"))
def test_python(text, tmp_path, monkeypatch):
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    run_block(text, tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_block_that_takes_long_keeps_its_promise(tmp_path, monkeypatch):
    (text,) = {text for kind, text in BLOCKS for long in SHORTER if kind == "python" and long in text}
    assert all(text.count(long) == 1 for long in SHORTER)
    run_block(text, tmp_path, monkeypatch)


def test_sessions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for kind, text in BLOCKS:
        if kind == "pycon":
            run_session(text, namespace, "README.md")


def commands():
    """The shell blocks; one that trains until the agent is certified is a slow test."""
    slow = {True: [pytest.mark.slow], False: []}
    return [
        pytest.param(*block.values, id=block.id, marks=slow["certified unbeatable" in block.values[0]])
        for block in blocks("sh")
    ]


@pytest.mark.parametrize("text", commands())
def test_commands(text, tmp_path, monkeypatch):
    monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "games.sqlite"))
    for line, printed in run_commands(text, tmp_path):
        assert "certified unbeatable" not in line or "CERTIFIED UNBEATABLE" in printed


def ladder():
    spec = importlib.util.spec_from_file_location("ladder", ROOT / "scripts" / "ladder.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table_of(game):
    """The agents' rows of the README's table, without the times."""
    text = re.search(f"<!-- ladder {game} -->\n(.*?)<!-- end", README, re.DOTALL)[1]
    rows = [line.strip("| ").split(" | ")[:-1] for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row for row in rows[2:]}


def computed(game, agents):
    played = ttt_env.tournament(list(dict.fromkeys([*agents, *ladder().OPPONENTS])), game)
    return {row[0]: row for row in ladder().rows(played, agents, with_times=False)}


def test_table_of_3x3():
    assert computed("tictactoe-v0", list(ladder().AGENTS)) == table_of("tictactoe-v0")


@pytest.mark.slow
def test_a_row_of_4x4():
    assert computed("square-v0", ["weights"])["weights"] == table_of("square-v0")["weights"]


@pytest.mark.slow
@pytest.mark.parametrize("game", ["square-v0", "mnk-v0:m=4,n=4,k=4"])
def test_tables_of_4x4(game):
    table = table_of(game)
    assert computed(game, list(table)) == table


def test_pictures_are_there():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    assert [path for path in pictures if not (ROOT / path).is_file()] == []
