"""Accidents of machines, which are asked again and never become results, and lines too many."""

import json
import os
import pickle
import sys
import time
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.games import lowest
from tests.support.marks import slow
from tests.support.running import ttt
from ttt_env import Position
from ttt_env.agent import Answer, AskedAgent, make_agent, quoted
from ttt_env.agents.combining import Mixture
from ttt_env.analysis.asking import AnswerFile, answers_of
from ttt_env.bots import CommandAgent
from ttt_env.bots.contest import Contest
from ttt_env.bots.documents import Documents, write_results
from ttt_env.bots.plan import read_plan
from ttt_env.errors import (
    ForfeitError,
    NoVerdictError,
    ParameterError,
    PlayerError,
    ResultFileError,
    UntrustedAnswersError,
)

GAME, SMALL = ttt_env.get_game("tictactoe-v0"), "mnk-v0:m=2,n=2,k=2"
PYTHON = [sys.executable, "-I", "-S", "-c"]
ANSWERS = """
import json, os, signal, sys, time
def say(data):
    print(json.dumps(data) if isinstance(data, dict) else data, flush=True)
def is_first():
    n = len(open("starts").read()) if os.path.exists("starts") else 0
    open("starts", "a").write("x")
    return n == 0
for line in sys.stdin:
    asked = json.loads(line)
    cell = {"cell": asked["legal"][0]}
"""


def bot(body: str, folder: Path, before: str = "", after: str = "", **settings: Any) -> CommandAgent:
    """A bot that runs these lines for each question, before the first one and after the last one."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    script = f"{before}\n{ANSWERS}{lines}{after}\n"
    return CommandAgent(GAME, [*PYTHON, script], folder=folder, **settings)


def kept_in(file: Path, agent: CommandAgent) -> AnswerFile:
    return AnswerFile(file, GAME, agent.label)


JUDGES = [ttt_env.certify, slow(ttt_env.exploitability), slow(ttt_env.best_response)]
HANGS = {"timeout": 0.15, "startup": 0.5}
IN_CORNER = "at_corner = asked['position'].startswith('O')\n"


class TestOneAccident:
    @pytest.mark.parametrize(
        "accident",
        ["time.sleep(1000)", "os.kill(os.getpid(), signal.SIGKILL)", "os._exit(1)", "sys.exit(137)",
         slow("os.kill(os.getpid(), signal.SIGTERM)"), slow("os.close(1); time.sleep(1000)")],
    )  # fmt: skip
    def test_is_asked_again_and_leaves_no_trace(self, accident: str, tmp_path: Path) -> None:
        body = f"if asked['legal'][0] == 1 and is_first():\n    {accident}\nsay(cell)"
        with bot(body, tmp_path, timeout=0.4, startup=60) as agent:
            found = ttt_env.certify(agent, answers=tmp_path / "kept.jsonl")
        assert found.refutations == ttt_env.certify(lowest).refutations and not found.forfeits
        assert len((tmp_path / "starts").read_text()) > 1
        kept = (tmp_path / "kept.jsonl").read_text()
        assert "timed out" not in kept and "crashed" not in kept

    def test_slow_start_loses_nothing(self, tmp_path: Path) -> None:
        with bot("say(cell)", tmp_path, before="import time; time.sleep(0.7)", timeout=0.4) as agent:
            played = ttt_env.match(agent, "random", games=2)
        assert played.forfeits == ((), ())
        late = "import time; time.sleep(9)"
        with bot("say(cell)", tmp_path, before=late, timeout=0.05, startup=0.1) as agent:
            with pytest.raises(
                NoVerdictError, match=r"timed out 3 times \(0\.05 s each, and 0\.1 s to start\)"
            ):
                agent.answer(GAME.start)

    def test_only_the_first_answer_has_the_time_of_the_start(self, tmp_path: Path) -> None:
        body = "if asked['legal'][0] == 1:\n    time.sleep(0.9)\nsay(cell)"
        with bot(body, tmp_path, timeout=0.2, startup=60) as agent:
            assert agent.answer(GAME.start).cell == 0
            (program,) = agent._idle
            assert (
                agent.answer(Position.parse("X../.../...")).cell == 1
            )  # by a fresh process, after a time-out
            assert program.status is not None and len(agent._idle) == 1

    def test_a_crash_that_comes_again_is_its_answer(self, tmp_path: Path) -> None:
        with bot("if is_first() or True: raise ValueError('lost')", tmp_path) as agent:
            answer = agent.answer(GAME.start)
        assert answer.outcome == "crashed" and "ValueError: lost" in answer.reply
        assert len((tmp_path / "starts").read_text()) == 2

    def test_only_a_free_process_is_asked_again(self, tmp_path: Path) -> None:
        """Others of its processes, which are asked nothing now, may have broken by the same cause."""
        body = "say(cell) if asked['legal'][0] == 0 else os._exit(1)"
        with bot(body, tmp_path) as agent:
            ready = [agent._started() for _ in range(3)]
            agent._idle += ready
            assert agent.answer(GAME.start.play(0)).outcome == "crashed"
            assert len(agent._idle) == 2

    def test_crash_and_time_outs_are_not_an_answer(self, tmp_path: Path) -> None:
        body = "if is_first():\n    os._exit(3)\ntime.sleep(1000)"
        with bot(body, tmp_path, **HANGS) as agent:
            with pytest.raises(NoVerdictError, match="crashed once, timed out twice") as caught:
                agent.answer(GAME.start)
        assert caught.value.loses_by == "timed out"
        again = pickle.loads(pickle.dumps(caught.value))
        assert str(again) == str(caught.value) and again.position == GAME.start


HANGS_IN_CORNER = f"{IN_CORNER}if at_corner:\n    time.sleep(1000)\nsay(cell)"


class TestNotJudged:
    @pytest.mark.parametrize(
        "judge",
        [*JUDGES, lambda agent: ttt_env.match(agent, "minimax", exact=True), ttt_env.PolicyTable.of],
    )
    def test_analyses_end(self, judge: Any, tmp_path: Path) -> None:
        with bot("time.sleep(1000)", tmp_path, timeout=0.05, startup=0.05) as agent:
            with pytest.raises(NoVerdictError, match="timed out 3 times"):
                judged = judge(agent)
                judged.policy(GAME.start)

    def test_a_bot_that_hangs_where_it_would_lose_gains_nothing(self, tmp_path: Path) -> None:
        with bot(HANGS_IN_CORNER, tmp_path, **HANGS) as agent:
            with pytest.raises(NoVerdictError) as caught:
                ttt_env.certify(agent, answers=tmp_path / "kept.jsonl")
            position: Any = caught.value.position
            assert str(position).startswith("O")
            kept = kept_in(tmp_path / "kept.jsonl", agent)
            assert len(kept) and kept.get(position) is None
            with pytest.raises(ForfeitError, match="timed out") as lost:  # in a game that is played it loses
                agent.choose(position, np.random.default_rng(0))
            assert lost.value.forfeit.outcome == "timed out"

    @pytest.mark.parametrize("judge", JUDGES)
    def test_analyses_of_an_agent_that_holds_it_end_the_same_way(self, judge: Any, tmp_path: Path) -> None:
        with bot("time.sleep(1000)", tmp_path, timeout=0.05, startup=0.05) as inner:
            with pytest.raises(NoVerdictError, match="timed out 3 times"):
                judge(Mixture(GAME, [inner, "random"]))
            with pytest.raises(ForfeitError, match="timed out"):
                Mixture(GAME, [inner]).choose(GAME.start, np.random.default_rng(0))

    def test_an_answer_of_a_subclass_that_is_an_accident(self, tmp_path: Path) -> None:
        class Late(AskedAgent):
            def answer(self, position: Position) -> Answer:
                return Answer.failed("timed out", "")

        for workers in (1, 2):
            with pytest.raises(NoVerdictError):
                ttt_env.certify(Late(GAME), workers=workers, answers=tmp_path / "kept.jsonl")
        assert not (tmp_path / "kept.jsonl").read_text()

    def test_the_command_says_so(self, tmp_path: Path) -> None:
        run = ttt("certify", "--command", "sleep 1000", "--timeout", "0.1", "--startup", "0.1", cwd=tmp_path)
        assert run.returncode == 3 and not run.stdout
        assert "not judged: " in run.stderr and "timed out 3 times (0.1 s each" in run.stderr

    def test_what_cannot_be_started_loses_no_game(self, tmp_path: Path) -> None:
        (tmp_path / "bot").write_bytes(b"\0")
        (tmp_path / "bot").chmod(0o755)
        with pytest.raises(NoVerdictError, match="cannot be started 3 times") as caught:
            ttt_env.match(f"process:{tmp_path}/bot", "random", games=2)
        assert "cannot be run: [Errno 8] Exec format error" in caught.value.reason
        assert caught.value.loses_by is None
        table = ttt_env.tournament(
            {"down": f"process:{tmp_path}/bot", "minimax": "minimax", "random": "random"}, SMALL, max_games=4
        )
        assert table.names == ("minimax", "random") and "cannot be started" in table.not_judged["down"]
        assert "down is not in the table: not judged: " in str(table)
        assert ttt_env.Tournament.from_dict(table.to_dict()).not_judged == table.not_judged
        with pytest.raises(PlayerError, match="fewer than two agents can be judged: down: "):
            ttt_env.tournament({"down": f"process:{tmp_path}/bot", "minimax": "minimax"}, SMALL, max_games=4)


class TestLinesTooMany:
    @pytest.mark.parametrize(
        ("body", "after"),
        [
            ("say(cell)", "say('bye')"),
            ("say(cell)\nsay('')", ""),
            ("say(cell)\ntime.sleep(0.01)\nsay(cell)", ""),
            ("os.write(1, json.dumps(cell).encode() + b'\\n' + b'x' * 100_000)", ""),
            ("say('}' if asked['id'] > 1 else cell)\nos.write(1, b'{')", ""),
        ],
    )  # fmt: skip
    def test_nothing_is_believed_nor_kept(self, body: str, after: str, tmp_path: Path) -> None:
        file = tmp_path / "kept.jsonl"
        with bot(body, tmp_path, after=after) as agent:
            with pytest.raises(UntrustedAnswersError, match="has said a line too many"):
                ttt_env.certify(agent, answers=file)
            assert not len(kept_in(file, agent))
            with pytest.raises(UntrustedAnswersError):
                ttt_env.certify(agent)

    @pytest.mark.parametrize("judge", [ttt_env.exploitability, ttt_env.best_response, ttt_env.play_game])
    def test_nothing_can_be_said_of_such_a_bot(self, judge: Any, tmp_path: Path) -> None:
        with bot("say(cell)", tmp_path, after="say('bye')") as agent, pytest.raises(UntrustedAnswersError):
            judge(agent, "random") if judge is ttt_env.play_game else judge(agent)

    def test_answers_of_before_stay(self, tmp_path: Path) -> None:
        """Those of a run that has ended as it should; in the one after it a line too many is said."""
        file = tmp_path / "kept.jsonl"
        with bot("say(cell)", tmp_path, after="if not is_first(): say('bye')") as agent:
            ttt_env.PolicyTable.of(agent, seats="X", answers=file)
            n_kept = len(kept_in(file, agent))
            with pytest.raises(UntrustedAnswersError, match="bye"):
                ttt_env.PolicyTable.of(agent, seats="O", answers=file)
            kept = kept_in(file, agent)
        assert len(kept) == n_kept > 0 and kept.get(GAME.start) and not kept.get(GAME.start.play(4))
        assert "withdrawn" in file.read_text()

    def test_a_forfeit_by_a_late_line_is_none(self, tmp_path: Path) -> None:
        """Each line is said twice, so the second move of the game is taken: it is no answer to that."""
        with bot("say(cell)\ntime.sleep(0.05)\nsay(cell)", tmp_path) as agent:
            for _ in range(3):
                with pytest.raises(UntrustedAnswersError):
                    ttt_env.play_game(agent, lambda position: position.legal_cells[-1])

    @pytest.mark.parametrize("then", ["", "sys.exit(0)"], ids=["goes on", "ends"])
    def test_a_line_between_two_questions_is_told_before_the_next(self, then: str, tmp_path: Path) -> None:
        body = f"say(cell)\ntime.sleep(0.05)\nsay('bye')\nopen('said', 'w')\n{then}"
        with bot(body, tmp_path) as agent:
            assert agent.answer(GAME.start).cell == 0
            (program,) = agent._idle
            while not (tmp_path / "said").exists() or (then and program.status is None):
                time.sleep(0.01)
            with pytest.raises(UntrustedAnswersError, match="'bye'"):
                agent.answer(GAME.start)

    def test_late_lines_that_echo_their_question_harm_nobody(self, tmp_path: Path) -> None:
        body = """
open('ids', 'a').write(f"{asked['id']} ")
if asked['id'] > 1:
    say(late[9:])
cell['id'] = asked['id']
say(cell | {'id': asked['id'] - 1, 'cell': 99})
say(cell)
say(cell)
late = json.dumps(cell | {'separator': '\\u2028'}, ensure_ascii=False)
say(late)
os.write(1, late[:9].encode())"""
        with bot(body, tmp_path, after="say(late[9:])") as agent:
            found = ttt_env.certify(agent)
        ids = [int(number) for number in (tmp_path / "ids").read_text().split()]
        assert ids == list(range(1, found.n_queries + 1))
        assert not found.forfeits and found.n_queries == ttt_env.certify(lowest).n_queries

    def test_an_untrusted_error_goes_before_another(self) -> None:
        """The first of two errors is raised, unless the other takes answers back."""

        class Failing(AskedAgent):
            def answer(self, position: Position) -> Answer:
                errors = {1: PlayerError("first"), 2: PlayerError("second"), 3: UntrustedAnswersError("x")}
                barrier.wait(20)
                time.sleep(0.3 * (position.ply > 1))
                raise errors[position.ply]

        for plies, told in (((1, 2), "first"), ((1, 3), "x")):
            barrier = Barrier(2)
            positions = [Position.parse(text) for text in (".../.X./...", "O../.X./...", "O../.X./..X")]
            asked = [positions[ply - 1] for ply in plies]
            with pytest.raises(PlayerError, match=told):
                list(answers_of(Failing(GAME), asked, 2, None))


def test_time_outs_in_answers_of_the_past_are_asked_again(tmp_path: Path) -> None:
    agent = make_agent(lowest)
    file = AnswerFile(tmp_path / "kept.jsonl", GAME, agent.label)
    file.add(GAME.start, Answer(None, "timed out", "old"))
    file.release()
    found = ttt_env.certify(agent, answers=tmp_path / "kept.jsonl")
    assert not found.forfeits


def test_another_reason_for_no_answer_is_another_answer(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    with bot("raise ValueError('lost')", tmp_path) as agent:
        file = AnswerFile(path, GAME, agent.label)
        file.add(GAME.start, Answer(None, "unreadable", "?"))
        file.release()
        told = (
            r"kept\.jsonl: .* answered unreadable in \.\.\./\.\.\./\.\.\., and crashed now: name another file"
        )
        with pytest.raises(ResultFileError, match=told):
            ttt_env.certify(agent, answers=path)


class TestContest:
    def results(self, folder: Path, *entries: str, head: str = "") -> dict[str, Any]:
        text = f'game = "tictactoe-v0"\ntimeout = 0.15\nstartup = 1\n{head}\n' + "\n".join(
            f"[[entry]]\n{entry}" for entry in entries
        )
        (folder / "class.toml").write_text(text)
        with Contest(read_plan(folder / "class.toml"), folder / "out") as contest:
            contest.play()
            self.results_ = Documents(contest)
            write_results(self.results_)
        found: dict[str, Any] = json.loads((folder / "out" / "results.json").read_text())
        return found

    MINIMAX = 'name = "best"\nspec = "minimax"'

    def test_goes_on_without_a_verdict_on_who_hangs(self, tmp_path: Path) -> None:
        hang = 'name = "hang"\ncommand = "sleep 1000"\nstartup = 0.1\nfixed = true\ncertify = true'
        found = self.results(tmp_path, self.MINIMAX, hang)
        entry = next(each for each in found["entries"] if each["name"] == "hang")
        assert entry["certificate"] is None and "timed out 3 times (0.15 s each" in entry["not_judged"]
        assert entry["proved"].startswith("not judged: timed out 3 times")
        (meeting,) = found["meetings"]
        assert not meeting["exact"] and {each["outcome"] for each in entry["forfeits"]} == {"timed out"}
        page = (tmp_path / "out" / "index.html").read_text()
        assert '<td class="verdict">not judged' in page and "timed out 3 times (0.15 s each" in page
        assert (
            "not judged: timed out" in self.results_.to_markdown()
            and ",not judged," in self.results_.to_csv()
        )

    def test_what_cannot_be_started_is_no_loser(self, tmp_path: Path) -> None:
        (tmp_path / "down").write_bytes(b"\0")
        (tmp_path / "down").chmod(0o755)
        found = self.results(
            tmp_path, self.MINIMAX, 'name = "down"\ncommand = "./down"', 'name = "r"\nspec = "random"'
        )
        assert not found["is_complete"]
        assert [(each["first"], each["second"]) for each in found["meetings"]] == [("best", "r")]
        assert {each["entry"] for each in found["meetings_not_judged"]} == {"down"}
        assert len(found["meetings_not_judged"]) == 2
        loaded = ttt_env.Tournament.from_dict(found)
        assert loaded.not_judged.keys() == {"down"} and loaded.names == ("best", "down", "r")
        assert "down could not be asked in all meetings: cannot be started 3 times" in str(loaded)
        assert "not all meetings are finished" in str(loaded)
        rows = zip(*(column.texts for column in self.results_.to_table().columns), strict=True)
        assert next(row for row in rows if "down" in row)[3] == "not judged"
        assert "as down could not be asked: cannot be started 3 times" in " ".join(self.results_.told())

    def test_a_line_too_many_loses_the_game_it_is_found_in(self, tmp_path: Path) -> None:
        (tmp_path / "bot.py").write_text(ANSWERS + "    say(cell)\nsay('bye')\n")
        entry = f'name = "talks"\ncommand = "{sys.executable} -I -S bot.py"\ntimeout = 60'
        found = self.results(tmp_path, 'name = "r"\nspec = "random"', entry)
        talks = next(each for each in found["entries"] if each["name"] == "talks")
        assert [each["outcome"] for each in talks["forfeits"]] == ["unreadable"]
        assert talks["points"] == 0 and "has said a line too many, 'bye'" in talks["forfeits"][0]["reply"]
        for game in found["games_played"]:
            assert game["winner"] == ("X" if game["x"] == "r" else "O")

    def test_the_table_of_beatable_entries(self, tmp_path: Path) -> None:
        self.results(tmp_path, self.MINIMAX, 'name = "r"\nspec = "random"')
        lines = self.results_.to_csv().splitlines()
        assert lines[0].split(",")[8] == "unbeatable"
        assert {line.split(",")[1]: line.split(",")[8] for line in lines[1:]} == {
            "best": "True",
            "r": "False",
        }


TRACE = 'exit status 1: Traceback (most recent call last):\n  File "/home/ben/ben.py", line {}, in choose\n{}'


@pytest.mark.parametrize(
    ("said", "shown"),
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
def test_reasons_are_readable(said: str, shown: str) -> None:
    assert quoted(said, "crashed") == shown


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
"""


class TestFunctionFiles:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "ben.py").write_text(FUNCTIONS)
        (tmp_path / "random.py").write_text("raise ImportError('not the one of Python')")
        monkeypatch.chdir(tmp_path)

    def test_play_in_a_process_of_their_own(self) -> None:
        later = Position.parse("XO./.../...")
        for spec, cells in {"ben.py": (0, 2), "ben.py:several,timeout=9": (8, 8)}.items():
            with make_agent(spec) as agent:  # type: ignore[attr-defined]
                assert tuple(agent.answer(each).cell for each in (GAME.start, later)) == cells
                assert "ben.py:" in repr(agent) and "ben" not in sys.modules
                answer = agent.answer(later.play(2).play(3))
        assert answer.outcome == "unreadable" and "None" in answer.reply and agent.timeout == 9.0

    def test_the_only_function_needs_no_name_and_the_game_may_be_ones_own(self) -> None:
        game = ttt_env.Game("mine", (2, 2), [(0, 1), (2, 3)])
        Path("one.py").write_text("LIMIT = 3\n\ndef hasty(position):\n    return position.legal_cells[-1]\n")
        with make_agent("one.py", game) as agent:  # type: ignore[attr-defined]
            assert agent.answer(game.start).cell == 3 and "one.py:hasty" in repr(agent)
        Path("two.py").write_text("def hasty(position):\n    return 0\n\ndef help(position):\n    return 1\n")
        with pytest.raises(
            ParameterError, match=r"two\.py has no function choose or policy; it has hasty, help"
        ):
            make_agent("two.py")

    def test_the_file_is_its_identity(self) -> None:
        first = make_agent("ben.py").identity  # type: ignore[attr-defined]
        assert first == make_agent("ben.py:choose").identity  # type: ignore[attr-defined]
        Path("ben.py").write_text(FUNCTIONS + "\n")
        assert first != make_agent("ben.py").identity  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        ("spec", "why"),
        [
            ("no.py", r"there is no file 'no\.py'"),
            ("folder.py", r"folder\.py cannot be read: it is a folder"),
            ("device.py:choose", r"device\.py cannot be read: it is a pipe or a device"),
            ("ben.py:chose", r"ben\.py has no function chose; it has choose, several, policy, fails"),
            ("wrong.py", r"wrong\.py, line 2: "),
            ("none.py", r"none\.py has no function choose or policy; it has none"),
            ("ben.py:choose,timout=3", "did you mean timeout"),
        ],
    )
    def test_what_is_wrong_is_told(self, spec: str, why: str) -> None:
        Path("wrong.py").write_text("\ndef choose(:\n")
        Path("none.py").write_text("x = 3\n")
        Path("folder.py").mkdir()
        Path("device.py").symlink_to(os.devnull)
        with pytest.raises(ParameterError, match=why):
            make_agent(spec)

    def test_commands_take_them(self) -> None:
        run = ttt("play", "ben.py:fails", "random")
        assert "names no free cell (crashed) and loses:" in run.stdout
        assert "exit status 1: ben.py, line 13: AssertionError" in run.stdout
