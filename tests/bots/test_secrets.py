"""A command line may hold a key after the names of its program and script: it is shown nowhere."""

import sys

import pytest

import ttt_env
from tests.support.running import ttt
from ttt_env.agent import named_agents
from ttt_env.storage.game_log import GameLog
from ttt_env.storage.models import label_of

KEY = "sk-secret"
FIRST_FREE = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "hangs" in sys.argv[0]:
        sys.exit(1)
    print(json.dumps({"id": asked["id"], "cell": asked["legal"][0]}), flush=True)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TTT_ENV_GAMES", str(tmp_path / "games.sqlite"))
    for name in ("bot.py", "hangs.py"):
        (tmp_path / name).write_text(FIRST_FREE)
    return tmp_path


def all_output(folder, *runs):
    """All that these runs have printed or written to the folder."""
    texts = [text for run in runs for text in (run.stdout, run.stderr)]
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "class.toml"]
    return "\n".join([*texts, *(path.read_bytes().decode("utf-8", "replace") for path in files)])


@pytest.mark.slow
def test_key_in_command_line_is_shown_nowhere(folder, monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.chdir(folder)
    python = f"{sys.executable} -I -S"
    bot, silent = (f"{python} {name} --key {KEY}" for name in ("bot.py", "hangs.py"))
    spec = f"process:{bot}"
    entries = "".join(
        f"[[entry]]\nname = '{name}'\nagent = '{agent}'\n"
        for name, agent in (
            ("a", spec),
            ("b", f"epsilon:({spec}),epsilon=0.1"),
            ("c", f"process:{silent}"),
            ("d", "minimax"),
        )
    )
    (folder / "class.toml").write_text(f"game = 'mnk-v0:m=2,n=2,k=2'\n{entries}")
    runs = [
        ttt("bench", spec, f"{spec}-2", "random", "--csv", "bench.csv", "--game", "mnk-v0:m=2,n=2,k=2"),
        ttt("bench", spec, f"process:{silent}", "random", "--json"),
        ttt("certify", spec, "--json", "--answers", "kept.jsonl", "--out", "c.json"),
        ttt("certify", spec, f"epsilon:({spec}),epsilon=0.5"),
        ttt("certify", f"process:{silent}"),
        ttt("certify", f"{spec},timeout=x"),
        ttt("play", spec, f"epsilon:({spec})", "--rounds", "1", "--record"),
        ttt("tournament", "class.toml"),
    ]
    assert [run.returncode for run in runs] == [0, 3, 1, 1, 3, 2, 0, 3], [run.stderr for run in runs]
    output = all_output(folder, *runs)
    assert label_of(spec) in output and "hangs.py" in output and KEY not in output
    with GameLog(folder / "games.sqlite") as log:
        (game,) = log.games("tictactoe-v0")
    assert (game.x, game.o) == (label_of(spec), f"epsilon:({label_of(spec)})")


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("minimax", "minimax"),
        ("ben.py:choose,timeout=3", "ben.py:choose,timeout=3"),
        (f"process:sh -c {KEY}", "process:sh"),
        (f"process:(sh bot.py {KEY},timeout=3),timeout=10", "process:sh bot.py"),
        (
            f"mixture:(process: sh --key ({KEY}))+(process:sh bot.py {KEY})",
            "mixture:(process:sh)+(process:sh bot.py)",
        ),
        (f"best-response:(process:sh -c 'print(1,2) {KEY}')", "best-response:(process:sh)"),
        (f"epsilon:process:sh --key ){KEY}", "epsilon:process:sh"),
        ("process:", "process:"),
    ],
)
def test_spec_is_labelled_by_its_programs(spec, label, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert label_of(spec) == label


def test_equal_labels_get_numbers(folder, monkeypatch):
    monkeypatch.chdir(folder)
    named = named_agents([f"process:sh bot.py {KEY}", "process:sh bot.py", "random"])
    assert list(named) == ["process:sh bot.py", "process:sh bot.py (2)", "random"]
    with pytest.raises(ttt_env.errors.ParameterError, match="two agents are called 'random'"):
        named_agents(["random", "random"])
