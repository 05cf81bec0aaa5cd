"""The command `ttt`, ended by Ctrl-C and SIGTERM at moments that it announces, and run by `python -OO`."""

import os
import re
import signal
import subprocess
import sys

import pytest

import ttt_env
from tests.support.documents import ROOT
from tests.support.marks import slow
from tests.support.running import ttt

SLOW = "mcts:simulations=1000000000,seed=0,solve=false"
BOT = """\
import json, sys
alive = open("alive", "w")  # a named pipe, whose reader sees its end when this program is gone
for line in sys.stdin:
    asked = json.loads(line)
    if asked["position"].count(".") < 9:
        print("asked", file=alive, flush=True)
        sys.stdin.read()
    print(json.dumps({"id": asked["id"], "cell": asked["legal"][0]}), flush=True)
"""
COMMAND = str(ROOT / "ttt_env" / "app" / "entry" / "ttt_command.py")
BOTH = pytest.mark.parametrize(
    ("number", "word"),
    [(signal.SIGINT, "interrupted"), slow(signal.SIGTERM, "terminated")],
    ids=["INT", "TERM"],
)


def start_ttt(*arguments, cwd=None, options=()):
    return subprocess.Popen(
        [sys.executable, *options, COMMAND, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=os.environ | {"TTT_ENV_GAMES": str(cwd / "games.sqlite") if cwd else ""},
    )


def read_until(stream, pattern):
    """Read lines until one matches this pattern."""
    lines = []
    for line in stream:
        lines.append(line)
        if re.search(pattern, line):
            return
    raise AssertionError("".join(lines))


def test_ctrl_c_during_imports_ends_in_one_line():
    with start_ttt("agents", options=["-X", "importtime"]) as run:
        read_until(run.stderr, r"\bnumpy\b")
        run.send_signal(signal.SIGINT)
        out, err = run.communicate()
    assert run.returncode == 130 and not out
    assert [line for line in err.splitlines() if not line.startswith("import time:")] == ["ttt: interrupted"]


@BOTH
@pytest.mark.parametrize(
    "command",
    [f"certify {SLOW}", slow(f"bench {SLOW} random"), slow(f"certify {SLOW} random")],
    ids=["certify", "bench", "certify two"],
)
def test_signal_during_computation_ends_in_one_line(command, number, word):
    with start_ttt(*command.split(), "--verbose") as run:
        read_until(run.stderr, " of ")
        run.send_signal(number)
        out, err = run.communicate()
    assert run.returncode == 128 + number and not out and "Traceback" not in err
    assert err.splitlines()[-1].startswith(f"ttt: {word}: no result for {command.split()[0]}")


@BOTH
@pytest.mark.slow
def test_interrupted_search_reports_proved_bounds(number, word):
    with start_ttt("solve", "--game", "qubic-v0", "--verbose") as run:
        read_until(run.stderr, " positions")
        run.send_signal(number)
        out, err = run.communicate()
    assert run.returncode == 128 + number and err.splitlines()[-1] == f"ttt: {word}"
    assert out.startswith("Undecided: the search was interrupted. X at least draws")


@BOTH
@pytest.mark.slow
def test_interrupted_training_reports_saved_model_and_how_to_resume(number, word, tmp_path):
    arguments = "train q-learning --steps 100000000 --until budget --out q.npz --game mnk-v0:m=3,n=2,k=2"
    with start_ttt(*arguments.split(), "--verbose", cwd=tmp_path) as run:
        for _ in range(2):  # the first model is saved before the second line
            read_until(run.stderr, r" s +[\d,]+ steps")
        run.send_signal(number)
        out, err = run.communicate()
    assert run.returncode == 128 + number and not out and "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith(f"ttt: {word}: the best model so far is q.npz. To resume: ttt train q-learning ")
    assert ttt_env.exploitability(f"q-learning:{tmp_path}/q.npz", "mnk-v0:m=3,n=2,k=2").exploitability >= 0
    _, *resume = last.partition("To resume: ")[2].replace("100000000", "1").split()
    run = ttt(*resume, cwd=tmp_path)
    assert run.returncode == 0 and "\nSaved as q.npz\n" in run.stdout, run.stderr


@BOTH
@pytest.mark.parametrize("command", [slow("tournament"), "certify"])
def test_signal_leaves_no_bot_running(command, number, word, tmp_path):
    (tmp_path / "bot.py").write_text(BOT)
    os.mkfifo(tmp_path / "alive")
    program = f"{sys.executable} -S bot.py"
    (tmp_path / "class.toml").write_text(
        'name = "Class"\ngame = "tictactoe-v0"\nexact = false\n'
        f'[[entry]]\nname = "Bot"\nagent = "process:{program},timeout=600"\n'
        '[[entry]]\nname = "random"\nagent = "random"\n'
    )
    arguments = ["class.toml"] if command == "tournament" else [f"process:{program},timeout=600"]
    with start_ttt(command, *arguments, cwd=tmp_path) as run, open(tmp_path / "alive") as alive:
        assert alive.readline() == "asked\n"
        run.send_signal(number)
        assert alive.read() == ""  # no process can write any more
        _, err = run.communicate()
    assert run.returncode == 128 + number and "Traceback" not in err
    assert err.splitlines()[-1].startswith(f"ttt: {word}: ")
    if command == "tournament":
        assert (tmp_path / "class-results" / "index.html").exists()


@BOTH
@pytest.mark.slow
def test_signal_ends_web_app(number, word, tmp_path):
    with start_ttt("web", "--port", "0", options=["-u"], cwd=tmp_path) as run:
        read_until(run.stdout, "Play at http")
        run.send_signal(number)
        _, err = run.communicate()
    assert run.returncode == 128 + number and err == f"ttt: {word}\n"


@pytest.mark.slow
def test_closed_output_is_not_reported_as_a_verdict():
    with start_ttt("certify", "minimax") as run:
        run.stdout.close()
        assert run.wait(120) == 141 and run.stderr.read() == ""


def test_help_and_prompts_survive_missing_docstrings(tmp_path):
    for arguments in ("-h", "certify -h", "agents mcts", "play minimax"):
        texts = []
        for options in ([], ["-OO"]):
            with start_ttt(*arguments.split(), options=options, cwd=tmp_path) as run:
                texts.append(run.communicate())
            assert run.returncode == 0, texts
        assert texts[0] == texts[1]
        assert "UCT" in texts[1][0] or arguments != "agents mcts"
