"""Programs as players: every question has an id, and failures of a process are not answers of the bot."""

import contextlib
import copy
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.games import lowest
from tests.support.marks import slow
from tests.support.refusals import all_raise
from tests.support.running import ttt
from ttt_env import Position
from ttt_env.agent import Answer, make_agent, quote_reply, waiting
from ttt_env.agents.combining import Mixture
from ttt_env.analysis import asking
from ttt_env.analysis.asking import AnswerFile, answers_of
from ttt_env.app.console import ProgressLine
from ttt_env.bots import CommandAgent, process
from ttt_env.errors import FileError, ForfeitError, NoVerdictError, ParameterError, PlayerError

GAME = ttt_env.get_game("tictactoe-v0")
SMALL = "mnk-v0:m=2,n=2,k=2"
KEY = "sk-secret"
SECOND = GAME.start.play(0)
BOT = """
import json, os, signal, sys, time
def say(data):
    print(data if isinstance(data, str) else json.dumps(data), flush=True)
def hang():
    open("hangs", "w").close()
    time.sleep(1000)
def is_first():
    n = len(open("starts").read()) if os.path.exists("starts") else 0
    open("starts", "a").write("x")
    return n == 0
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked["id"], "cell": asked["legal"][0]}
"""


def bot(body: str, folder: Path, before: str = "", after: str = "", **settings: Any) -> CommandAgent:
    """A bot that runs these lines for each question, before the first question and after the last one."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    command = [sys.executable, "-I", "-S", "-c", f"{before}\n{BOT}{lines}{after}\n"]
    return CommandAgent(GAME, command, folder=folder, **settings)


@pytest.fixture
def timeout_on_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot times out once it has printed everything and calls `hang()`, on slow machines, too."""

    class Answers(SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            while not (tmp_path / "hangs").exists():
                with contextlib.suppress(Empty):
                    return super().get(timeout=0.01)
            (tmp_path / "hangs").unlink()
            return super().get(timeout=0.3)  # so that its output is read

    monkeypatch.setattr(process, "SimpleQueue", Answers)


def n_running(pids: str) -> int:
    """How many of these processes still run after some time to end."""
    left = [int(pid) for pid in pids.split()]
    for _ in range(500):
        left = [pid for pid in left if Path(f"/proc/{pid}/stat").exists() and is_alive(pid)]
        if not left:
            return 0
        time.sleep(0.01)
    return len(left)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class TestProtocol:
    @pytest.mark.parametrize(
        "body",
        [
            "say(answer)",
            "say('thinking')\nsay({'cell': 8})\nsay('')\nsay(answer)",  # its own output
            "say({'id': asked['id'] - 1, 'cell': 8})\nsay(answer)\nsay(answer)",  # late, and twice
            "say(answer)\nsay(dict(answer, cell=8))",  # the first answer counts
            "os.write(1, b'x' * 200_000 + b'\\n')\nsay(answer)",
            "os.write(2, b'x' * 2_000_000)\nsay(answer)",
            slow(
                "text = json.dumps(answer)\nos.write(1, text[:5].encode())\ntime.sleep(0.01)\nsay(text[5:])"
            ),
            "os.write(1, b'\\xef\\xbb\\xbf' + json.dumps(answer).encode() + b'\\r\\n')",
            "say(dict(answer, value=0.5))",
            "say({'id': True, 'cell': 8})\nsay({'id': str(asked['id']), 'cell': 8})\nsay([1])\nsay(answer)",
        ],
    )
    def test_other_lines_are_ignored(self, body: str, tmp_path: Path) -> None:
        with bot(body, tmp_path, before="print('hello', flush=True)", after="print('bye')") as agent:
            certificate = ttt_env.certify(agent)
            assert certificate.refutations == ttt_env.certify(lowest).refutations and not certificate.forfeits
            assert len(agent._processes) == 1

    @pytest.mark.parametrize(
        ("fields", "outcome", "reply"),
        [
            ({"cell": 0}, "taken", "0"),
            ({"cell": 9}, "no cell", "9"),
            ({"cell": -1}, "no cell", "-1"),
            ({"cell": "4"}, "unreadable", '{"cell": "4"}'),
            ({"cell": True}, "unreadable", '{"cell": true}'),
            ({"cell": 4.0}, "unreadable", '{"cell": 4.0}'),
            ({}, "unreadable", "{}"),
            ({"error": "no idea"}, "unreadable", "no idea"),
            ({"raised": "KeyError: 'x'"}, "raised", "KeyError: 'x'"),
        ],
    )
    def test_illegal_answer_loses(
        self, fields: dict[str, Any], outcome: str, reply: str, tmp_path: Path
    ) -> None:
        with bot(f"say({{'id': asked['id'], **{fields!r}}})", tmp_path) as agent:
            assert agent.answer(SECOND) == Answer(None, outcome, reply)  # type: ignore[arg-type]

    def test_question_is_as_documented(self, tmp_path: Path) -> None:
        with bot("open('asked', 'a').write(line)\nsay(answer)", tmp_path, timeout=7) as agent:
            agent.answer(SECOND)
            agent.answer(GAME.start)
        first, second = map(json.loads, (tmp_path / "asked").read_text().splitlines())
        assert [*first] == ["id", "game", "position", "to_move", "legal", "seconds"]
        assert first == {
            "id": 1, "game": "tictactoe-v0", "position": "X../.../...", "to_move": "O",
            "legal": [1, 2, 3, 4, 5, 6, 7, 8], "seconds": 7.0,
        }  # fmt: skip
        assert second["id"] == 2 and second["to_move"] == "X"

    def test_each_process_answers_one_question_at_a_time(self, tmp_path: Path) -> None:
        body = "open('pids', 'a').write(f'{os.getpid()} ')\ntime.sleep(0.002)\nsay(answer)"
        with bot(body, tmp_path) as agent:
            assert ttt_env.certify(agent, workers=3).n_queries == ttt_env.certify(lowest).n_queries
            pids = " ".join({*(tmp_path / "pids").read_text().split()})
            assert 1 <= len(pids.split()) <= 3
        assert not n_running(pids)


FAILURES = ["time.sleep(1000)", "os.kill(os.getpid(), signal.SIGKILL)", "os._exit(1)", "os.close(1)"]


class TestFailures:
    @pytest.mark.parametrize("failure", FAILURES)
    @pytest.mark.slow
    def test_fresh_process_is_asked_once_more(self, failure: str, tmp_path: Path) -> None:
        body = f"if asked['legal'][0] == 1 and is_first():\n    {failure}\nsay(answer)"
        with bot(body, tmp_path, timeout=0.5, startup=60) as agent:
            certificate = ttt_env.certify(agent, answers=tmp_path / "kept.jsonl")
        assert certificate.refutations == ttt_env.certify(lowest).refutations and not certificate.forfeits
        saved = (tmp_path / "kept.jsonl").read_text()
        assert "timed out" not in saved and "crashed" not in saved

    @pytest.mark.parametrize(
        ("failure", "outcome", "message"),
        [
            ("hang()", "timed out", r"timed out twice \(60 s each, and 60 s to start\)"),
            ("raise ValueError('lost')", "crashed", "crashed: exit status 1: .*ValueError: lost"),
            ("say({'cell': 4})\nhang()", "timed out", 'without the "id": 2 of the question'),
            ("say('hm')\nhang()", "timed out", "it said 'hm'"),
        ],
    )
    @pytest.mark.slow
    def test_second_failure_gives_no_verdict_and_loses_game(
        self, failure: str, outcome: str, message: str, tmp_path: Path, timeout_on_hang: None
    ) -> None:
        with bot(failure, tmp_path, timeout=60, startup=60) as agent:
            for judge in (agent.answer, lambda _: ttt_env.certify(agent)):
                with pytest.raises(
                    NoVerdictError, match=message if judge == agent.answer else outcome
                ) as caught:
                    judge(GAME.start)
                assert caught.value.loses_by == outcome and caught.value.position == GAME.start
            again = pickle.loads(pickle.dumps(caught.value))
            assert str(again) == str(caught.value)
            with pytest.raises(ForfeitError, match=outcome) as lost:
                agent.choose(GAME.start, np.random.default_rng(0))
            assert lost.value.forfeit.outcome == outcome
            with pytest.raises(NoVerdictError, match=outcome):
                ttt_env.certify(Mixture(GAME, [agent, "random"]))

    @pytest.mark.slow
    def test_bot_that_timed_out_twice_is_not_asked_again(self, tmp_path: Path, timeout_on_hang: None) -> None:
        with bot("is_first()\nhang()", tmp_path) as agent:
            played = ttt_env.match(agent, "random", games=10)
        assert played.score == -1 and (tmp_path / "starts").read_text() == "xx"
        assert {each.outcome for losses in played.forfeits for each in losses} == {"timed out"}

    @pytest.mark.slow
    def test_only_first_answer_gets_startup_time(self, tmp_path: Path) -> None:
        late = "import time; time.sleep(0.7)"
        body = "if asked['id'] == 2:\n    time.sleep(1000)\nsay(answer)"
        with bot(body, tmp_path, before=late, timeout=0.3, startup=60) as agent:
            assert agent.answer(GAME.start).cell == 0
            assert agent.answer(SECOND).cell == 1  # by a fresh process, after a time-out

    def test_progress_names_bot_that_is_waited_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(waiting, "_SLOW", 0.0)
        line = ProgressLine("certify it")
        line.say("3 answers")
        wait = "while not os.path.exists('on'):\n    time.sleep(0.01)"
        body = f"if is_first():\n    sys.exit(1)\n{wait}\nsay(answer)"
        with bot(body, tmp_path) as agent:
            thread = threading.Thread(target=agent.answer, args=(SECOND,))
            thread.start()
            while "try 2 of 2" not in line.text:
                assert thread.is_alive()
            text = line.text
            (tmp_path / "on").touch()
            thread.join()
        expected = rf"certify it: waiting for {agent.label} \(move 2, try 2 of 2, \d+\.\d s\)"
        assert re.fullmatch(expected, text) and line.text == "certify it: 3 answers"

    @pytest.mark.slow
    def test_bot_that_exits_after_each_answer_is_restarted(self, tmp_path: Path) -> None:
        with bot("say(answer)\nsys.exit()", tmp_path) as agent:
            assert ttt_env.match(agent, "random", games=4).forfeits == ((), ())

    def test_unstartable_bot_loses_no_game(self, tmp_path: Path) -> None:
        (tmp_path / "bot").write_bytes(b"\0")
        (tmp_path / "bot").chmod(0o755)
        spec = f"process:{tmp_path}/bot"
        with pytest.raises(NoVerdictError, match=r"cannot be started: .*Exec format error") as caught:
            ttt_env.match(spec, "random", games=2)
        assert caught.value.loses_by is None
        table = ttt_env.tournament(
            {"down": spec, "minimax": "minimax", "random": "random"}, SMALL, max_games=4
        )
        assert table.names == ("minimax", "random") and "cannot be started" in table.not_judged["down"]
        with pytest.raises(NoVerdictError, match="down leaves fewer than two agents to compare: "):
            ttt_env.tournament({"down": spec, "minimax": "minimax"}, SMALL, max_games=4)

    def test_command_reports_timeout_and_no_verdict(self, tmp_path: Path) -> None:
        run = ttt("certify", "process:sleep 1000,timeout=0.1,startup=0.1", cwd=tmp_path)
        assert run.returncode == 3 and not run.stdout
        assert "not judged: " in run.stderr and "timed out twice (0.1 s each" in run.stderr

    def test_first_of_two_errors_is_raised(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Results(SimpleQueue[Any]):
            def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
                super().put(item)
                if isinstance(item, tuple):
                    is_raised.set()

        def failing(position: Position) -> int:
            barrier.wait(60)
            if position.ply > 1:
                is_raised.wait(60)
            raise {1: ValueError("first"), 2: ValueError("second")}[position.ply]

        monkeypatch.setattr(asking, "SimpleQueue", Results)
        barrier, is_raised = threading.Barrier(2), threading.Event()
        positions = [SECOND, SECOND.play(1)]
        with pytest.raises(ValueError, match="first"):
            list(answers_of(make_agent(failing), positions, 2, None))


class TestSavedAnswers:
    @pytest.mark.parametrize("outcome", ["timed out", "crashed"])
    def test_saved_failures_are_asked_again(self, outcome: Any, tmp_path: Path) -> None:
        agent = make_agent(lowest)
        file = AnswerFile(tmp_path / "kept.jsonl", GAME, agent.label)
        file.add(GAME.start, Answer(None, outcome, "old"))
        assert not ttt_env.certify(agent, answers=tmp_path / "kept.jsonl").forfeits

    def test_other_forfeit_reason_is_other_answer(self, tmp_path: Path) -> None:
        path = tmp_path / "kept.jsonl"
        with bot("say({'id': asked['id'], 'raised': 'KeyError'})", tmp_path) as agent:
            file = AnswerFile(path, GAME, agent.label)
            file.add(GAME.start, Answer(None, "unreadable", "?"))
            message = r"answered unreadable in \.\.\./\.\.\./\.\.\., and raised now: name another file"
            with pytest.raises(FileError, match=message):
                ttt_env.certify(agent, answers=path)


class TestProcesses:
    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists processes as files")
    @pytest.mark.parametrize("ending", ["close", "timeout", "end of the agent", "end of Python"])
    @pytest.mark.slow
    def test_processes_end_with_all_children(self, ending: str, tmp_path: Path) -> None:
        body = "if asked['id'] > 1:\n    time.sleep(1000)\nsay(answer)"
        before = """
import os, subprocess
child = subprocess.Popen(["sh", "-c", "trap '' TERM HUP; sleep 1000"])
open("pids", "a").write(f"{os.getpid()} {child.pid} ")"""
        if ending == "end of Python":
            (tmp_path / "bot.py").write_text(f"{before}\n{BOT}    say(answer)\n")
            ask = "import ttt_env; a = ttt_env.make_agent('process:python3 bot.py'); a.answer(a.game.start)"
            assert subprocess.run([sys.executable, "-c", ask], cwd=tmp_path).returncode == 0
        else:
            agent = bot(body, tmp_path, before=before, startup=60)
            agent.answer(GAME.start)
            if ending == "timeout":
                agent.timeout = agent.startup = 0.1
                with pytest.raises(NoVerdictError):
                    agent.answer(GAME.start)
            elif ending == "close":
                agent.close()
            else:
                del agent
        pids = (tmp_path / "pids").read_text()
        assert len(pids.split()) >= 2 and not n_running(pids)

    @pytest.mark.slow
    def test_function_ends_when_caller_is_killed(self, tmp_path: Path) -> None:
        note = "import os\nopen('pid', 'w').write(str(os.getpid()))"
        (tmp_path / "loop.py").write_text(f"{note}\ndef choose(position):\n    while True: pass\n")
        ask = "import ttt_env; a = ttt_env.make_agent('loop.py'); a.answer(a.game.start)"
        with subprocess.Popen([sys.executable, "-c", ask], cwd=tmp_path) as asking:
            while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
                time.sleep(0.01)
            asking.kill()
        assert not n_running((tmp_path / "pid").read_text())

    def test_closing_ends_pending_questions(self, tmp_path: Path) -> None:
        agent, errors = bot("time.sleep(1000)", tmp_path), []

        def ask() -> None:
            with pytest.raises(PlayerError, match="closed") as caught:
                agent.answer(GAME.start)
            errors.append(caught.value)

        asking = [threading.Thread(target=ask) for _ in range(3)]
        for thread in asking:
            thread.start()
        while len(agent._processes) < 3:
            time.sleep(0.001)
        agent.close()
        for thread in asking:
            thread.join(20)
        assert len(errors) == 3 and not agent._processes
        with pytest.raises(PlayerError, match="closed"):
            agent.answer(GAME.start)

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
    def test_copies_run_their_own_programs(self, duplicate: Any, tmp_path: Path) -> None:
        with bot("say(answer)", tmp_path, timeout=30.0) as agent, duplicate(agent) as twin:
            assert twin.answer(SECOND) == agent.answer(SECOND)
            assert twin.label == agent.label and twin.timeout == 30.0

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
    def test_memory_is_limited(self, tmp_path: Path) -> None:
        body = "held = bytearray(1 << 30)\nsay(answer)"
        with bot(body, tmp_path, memory=512) as agent, pytest.raises(NoVerdictError, match="MemoryError"):
            agent.answer(GAME.start)

    def test_programs_run_in_their_folder_without_shell(self, tmp_path: Path) -> None:
        (tmp_path / "bot").write_text(f"#!{sys.executable} -IS\n{BOT}    say(answer)\n")
        (tmp_path / "bot").chmod(0o755)
        with CommandAgent(GAME, f"./bot '; touch {tmp_path}/x' $HOME", folder=tmp_path) as agent:
            assert agent.answer(GAME.start).cell == 0 and agent.label == "bot"
        assert not (tmp_path / "x").exists()
        with pytest.raises(ParameterError, match="no such folder"):
            CommandAgent(GAME, "./bot", folder=tmp_path / "nowhere")
        with pytest.raises(ParameterError, match=r"'\./bot' is not an executable program"):
            CommandAgent(GAME, "./bot", folder=tmp_path.parent)
        with pytest.raises(ParameterError, match=r"there is no file 'bot\.py' in the folder "):
            CommandAgent(GAME, "python3 -u bot.py", folder=tmp_path)

    def test_bad_commands_are_refused(self) -> None:
        bad: list[Any] = ["", " ", [], "no-such-program", "'", ["sh", 4], ["sh", "\0"], [""]]
        all_raise(ParameterError, "command: ", lambda command: CommandAgent(GAME, command), bad)

    def test_label_hides_arguments(self, tmp_path: Path) -> None:
        script = tmp_path / "bot.py"
        script.write_text("print(4)")
        first = CommandAgent(GAME, f"python3 {script} --key {KEY}")
        assert first.label == "python3 bot.py" and KEY not in repr(first) + first.label
        spec = f"best-response:(process:python3 {script} --key {KEY})"
        assert KEY not in make_agent(spec).label


FUNCTIONS = """
print("hello")
def choose(position):
    print("thinking")
    return position.legal_cells[0]
def several(position, rng):
    last = position.legal_cells[int(rng.integers(1)) - 1]
    policy = [1.0 if cell == last else 0 for cell in range(9)]
    return {0: last, 2: policy}.get(position.ply)
def policy(position):
    return several(position, None)
def fails(position):
    assert not input
def leaves(position):
    exit(3)
"""


class TestFunctionFiles:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "ben.py").write_text(FUNCTIONS)
        (tmp_path / "random.py").write_text("raise ImportError('not the one of Python')")
        monkeypatch.chdir(tmp_path)

    def test_functions_run_in_their_own_process(self) -> None:
        later = Position.parse("XO./.../...")
        for spec, cells in {"ben.py": (0, 2), "ben.py:several,timeout=9": (8, 8)}.items():
            with make_agent(spec) as agent:  # type: ignore[attr-defined]
                assert tuple(agent.answer(each).cell for each in (GAME.start, later)) == cells
                assert "ben.py:" in repr(agent) and "ben" not in sys.modules
                answer = agent.answer(later.play(2).play(3))
        assert answer == (None, "no cell", "returned None; return a cell, such as position.legal_cells[0]")
        assert agent.timeout == 9.0

    @pytest.mark.parametrize(
        ("function", "reply"),
        [("fails", "AssertionError (ben.py, line 13)"), ("leaves", "SystemExit: 3 (ben.py, line 15)")],
    )
    @pytest.mark.slow
    def test_exception_is_answer(self, function: str, reply: str) -> None:
        with make_agent(f"ben.py:{function}") as agent:  # type: ignore[attr-defined]
            assert agent.answer(GAME.start) == (None, "raised", reply)
            text = str(ttt_env.certify(agent))
            assert text.startswith(
                f"raised in all 10 positions: {reply}\ntictactoe-v0: BEATABLE as X and as O"
            )

    @pytest.mark.slow
    def test_custom_game_and_other_working_directory(self, monkeypatch: Any) -> None:
        game = ttt_env.Game("mine", (2, 2), [(0, 1), (2, 3)])
        Path("one.py").write_text("LIMIT = 3\n\ndef hasty(position):\n    return position.legal_cells[-1]\n")
        agent = make_agent("one.py", game)
        monkeypatch.chdir("/")
        with agent:  # type: ignore[attr-defined]
            assert agent.answer(game.start).cell == 3 and "one.py:hasty" in repr(agent)  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("no.py", r"there is no file 'no\.py'"),
            ("folder.py", r"folder\.py cannot be read: it is a folder"),
            ("device.py:choose", r"device\.py cannot be read: it is a pipe or a device"),
            ("ben.py:chose", r"ben\.py defines no function chose; found choose, several, policy, fails"),
            ("wrong.py", r"wrong\.py, line 2: "),
            (
                "empty.py",
                r"empty\.py defines no function at top level: .*; found none",
            ),
            ("cls.py", r"write def choose\(position\); found class Bot"),
            ("two.py", r"two\.py defines hasty, help: name one, as in two\.py:hasty"),
            ("numpi.py", r"numpi\.py, line 2: there is no module named nunpy"),
            ("ben.py:choose,timout=3", "did you mean timeout"),
        ],
    )
    def test_faulty_file_is_refused_before_it_runs(self, spec: str, message: str) -> None:
        Path("wrong.py").write_text("\ndef choose(:\n")
        Path("empty.py").write_text("x = 3\n")
        Path("cls.py").write_text("class Bot:\n    def choose(self, position): return 0\n")
        Path("two.py").write_text("def hasty(position): return 0\ndef help(position): return 1\n")
        Path("numpi.py").write_text("import ben\nimport nunpy as np\ndef choose(position): return 0\n")
        Path("folder.py").mkdir()
        Path("device.py").symlink_to(os.devnull)
        with pytest.raises(ParameterError, match=message):
            make_agent(spec)

    def test_commands_accept_function_files(self) -> None:
        run = ttt("play", "ben.py:fails", "random")
        assert "makes no legal move (raised) and loses:" in run.stdout
        assert "AssertionError (ben.py, line 13)" in run.stdout


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_documented_javascript_bot_works(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "bots.md").read_text("utf-8")
    (tmp_path / "bot.mjs").write_text(page.partition("```js\n")[2].partition("```")[0])
    with CommandAgent(GAME, "node bot.mjs", folder=tmp_path) as agent:
        certificate = ttt_env.certify(agent)
    assert certificate.refutations == ttt_env.certify(lambda position: position.legal_cells[-1]).refutations


TRACE = 'exit status 1: Traceback (most recent call last):\n  File "/home/ben/ben.py", line {}, in choose\n{}'


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TRACE.format(7, "    x()\n    ^^^\nNameError: no"), "exit status 1: ben.py, line 7: NameError: no"),
        (TRACE.format(7, "KeyError: 'a\x1b[2J'"), r"exit status 1: ben.py, line 7: KeyError: 'a\x1b[2J'"),
        ("exit status 3: no model", "exit status 3: no model"),
        ("exit status 0", "exit status 0"),
        ("", ""),
        ("a\nlong\n\nstory\n", "story"),
        ('  File "ben.py", line 3\n    def f(:\n   ^\nSyntaxError: x', "ben.py, line 3: SyntaxError: x"),
        (r'File "C:\me\ben.py", line 3', "ben.py, line 3"),
        ("x" * 2000, "…" + "x" * 299),
    ],
)  # fmt: skip
def test_crash_reasons_are_readable(error: str, expected: str) -> None:
    assert quote_reply(error, "crashed") == expected
