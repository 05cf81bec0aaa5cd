"""External players: functions of prompts, programs, and models behind an endpoint."""

import json
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import ttt_env
from tests.support import scripted_models
from tests.support.endpoint import KEY, Endpoint
from tests.support.faults import have_ended
from tests.support.games import TICTACTOE
from tests.support.marks import slow
from tests.support.running import ttt
from tests.support.scripted_models import MODELS
from ttt_env import Position
from ttt_env.analysis.asking import QueryCount
from ttt_env.analysis.dossier import Strength
from ttt_env.app.certifying import _progress_reporter
from ttt_env.app.console import ProgressLine
from ttt_env.app.scorecard import scorecard
from ttt_env.bots import ChatAgent, CommandAgent
from ttt_env.errors import NoVerdictError, ParameterError, PlayerError
from ttt_env.text import PromptAgent, TextEnv, prompt_text, refutation_text

PROGRAM = Path(scripted_models.__file__)
CERTIFY = [sys.executable, "-m", "ttt_env.app", "certify"]
MIDDLE = Position.parse("XO./.../...", TICTACTOE)


def program(name: str, *files: Path) -> list[str]:
    return [sys.executable, str(PROGRAM), name, *map(str, files)]


@pytest.mark.parametrize(
    ("name", "unbeatable", "outcomes"),
    [
        ("perfect", True, set()),
        slow("greedy", False, set()),
        slow("memoriser", False, set()),
        slow("rubbish", False, {"unreadable"}),
    ],
)
@pytest.mark.slow
def test_models_get_correct_certificates(name: str, unbeatable: bool, outcomes: set[str]) -> None:
    """As functions of prompts, and as programs."""
    certificate = ttt_env.certify(PromptAgent(TICTACTOE, MODELS[name]))
    assert certificate.unbeatable is unbeatable
    assert {forfeit.outcome for forfeit in certificate.forfeits} == outcomes
    assert (certificate.perfect_share == 1) is unbeatable
    with CommandAgent(TICTACTOE, program(name)) as bot:
        by_program = ttt_env.certify(bot, workers=2)
    assert by_program.refutations == certificate.refutations
    assert by_program.n_queries == certificate.n_queries and by_program.n_blunders == certificate.n_blunders
    assert by_program.inconsistent == certificate.inconsistent


class TestPromptAgent:
    def test_queries_each_position_once(self) -> None:
        prompts: Counter[str] = Counter()

        def counting(prompt: str) -> str:
            prompts[prompt] += 1
            return MODELS["perfect"](prompt)

        certificate = ttt_env.certify(PromptAgent(TICTACTOE, counting), workers=3)
        assert certificate.unbeatable and certificate.n_queries == len(prompts) <= 850
        assert set(prompts.values()) == {1}

    def test_prompt_equals_prompt_of_episode(self) -> None:
        prompts: list[str] = []
        agent = PromptAgent(
            "tictactoe-v0", lambda prompt: prompts.append(prompt) or "<3>", board="line", answer="<{cell}>"
        )
        assert agent.answer(MIDDLE) == (3, "played", "<3>")
        env = TextEnv(board="line", answer="<{cell}>")
        assert prompts == [env.reset(position=MIDDLE, play_as="X")]

    @pytest.mark.parametrize(
        ("reply", "cell", "outcome", "quoted"),
        [
            ("The centre [4]!", 4, "played", "The centre [4]!"),
            ("[0]", None, "taken", "[0]"),
            ("[9]", None, "no cell", "[9]"),
            ("[3] [4]", None, "several", "[3] [4]"),
            ("", None, "unreadable", ""),
            ("x" * 3_000_000, None, "unreadable", "x" * 1_000),
            ("\ud800", None, "unreadable", "?"),
            (None, None, "unreadable", "None"),
            (4, None, "unreadable", "4"),
        ],
        ids=["free", "taken", "none", "two", "empty", "long", "surrogate", "None", "int"],
    )
    def test_replies_are_parsed(self, reply: Any, cell: int | None, outcome: str, quoted: str) -> None:
        assert PromptAgent(TICTACTOE, lambda prompt: reply).answer(MIDDLE) == (cell, outcome, quoted)

    def test_any_reply_can_be_saved(self, tmp_path: Path) -> None:
        certificate = ttt_env.certify(PromptAgent(TICTACTOE, lambda prompt: "\ud800\x00\x1b[2J\u202e日本"))
        certificate.save(tmp_path / "c.json")
        assert ttt_env.Certificate.load(tmp_path / "c.json") == certificate
        card = scorecard(Strength(certificate.table), "it")
        for text in (str(certificate), refutation_text(certificate), card):
            assert not set(text.encode().decode()) & set("\x00\x1b\u202e")

    def test_error_of_function_is_raised(self) -> None:
        def failing(prompt: str) -> str:
            raise KeyError("weights")

        with pytest.raises(KeyError) as caught:
            PromptAgent(TICTACTOE, failing).answer(MIDDLE)
        assert caught.value.__notes__ == ["when it was asked in XO./.../... of tictactoe-v0"]

    @pytest.mark.parametrize(
        "failure", [TimeoutError("slow"), ConnectionResetError(), MemoryError()], ids=repr
    )
    def test_failure_is_not_an_answer(self, failure: Exception, tmp_path: Path) -> None:
        """Also if a library has wrapped it."""

        def cut_off(prompt: str) -> str:
            try:
                raise failure
            except Exception as error:
                raise RuntimeError("the library gave up") from error

        agent, answers = PromptAgent(TICTACTOE, cut_off), tmp_path / "answers.jsonl"
        with pytest.raises(
            NoVerdictError, match=r"gave no answer: RuntimeError.* in position XO\./.../..."
        ) as caught:
            agent.answer(MIDDLE)
        assert caught.value.position == MIDDLE and pickle.loads(pickle.dumps(caught.value)).position == MIDDLE
        with pytest.raises(NoVerdictError):
            ttt_env.certify(agent, answers=answers)
        assert not answers.exists() or len(answers.read_text().splitlines()) <= 1


class TestChatAgent:
    def test_request_holds_settings(self, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.setenv("MY_KEY", "another")
        settings: dict[str, Any] = {"temperature": 0.5, "max_tokens": 99, "system": "Be brief."}
        with ChatAgent(
            TICTACTOE, endpoint.url, "perfect", key_variable="MY_KEY", board="line", **settings
        ) as agent:
            assert agent.answer(MIDDLE).outcome == "played"
            with pickle.loads(pickle.dumps(agent)) as twin:
                assert twin.label == agent.label and b"another" not in pickle.dumps(agent)
                assert twin.answer(MIDDLE) == agent.answer(MIDDLE)
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": prompt_text(MIDDLE, "line")},
        ]
        request = {"model": "perfect", "messages": messages, "temperature": 0.5, "max_tokens": 99}
        assert endpoint.requests == [request] * 3 and endpoint.authorizations == {"Bearer another"}

    def test_concurrent_questions(self, endpoint: Endpoint) -> None:
        endpoint.barrier = threading.Barrier(4, timeout=20)  # passed only by four requests at the same time
        with ChatAgent(TICTACTOE, endpoint.url, "rubbish", retries=0) as agent:
            positions = [TICTACTOE.start.play(0).play(cell) for cell in (1, 2, 3, 4)]
            threads = [threading.Thread(target=agent.answer, args=(position,)) for position in positions]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
        assert not endpoint.barrier.broken and len(endpoint.requests) == 4

    def test_refused_connection_and_late_reply_give_no_verdict(self, endpoint: Endpoint) -> None:
        with (
            ChatAgent(TICTACTOE, "http://127.0.0.1:1/v1", "perfect", retries=0) as agent,
            pytest.raises(
                NoVerdictError, match=r"perfect at .*gave no answer: .*refused.*server running"
            ) as caught,
        ):
            agent.answer(MIDDLE)
        assert caught.value.position == MIDDLE
        endpoint.barrier = threading.Barrier(2)
        with ChatAgent(TICTACTOE, endpoint.url, "perfect", retries=0, timeout=0.05) as agent:
            with pytest.raises(NoVerdictError, match=r"no reply within 0\.05 seconds"):
                agent.answer(MIDDLE)
            endpoint.barrier.abort()

    def test_key_appears_in_no_text_or_file(self, endpoint: Endpoint, tmp_path: Path) -> None:
        with ChatAgent(TICTACTOE, endpoint.url, "echo") as agent:
            certificate = ttt_env.certify(agent, answers=tmp_path / "a.jsonl")
            texts = [repr(agent), str(agent), str(certificate), refutation_text(certificate)]
            texts += [json.dumps(certificate.to_dict()), str(pickle.dumps(agent))]
        assert endpoint.authorizations == {f"Bearer {KEY}"} and certificate.forfeits
        texts.append((tmp_path / "a.jsonl").read_text())
        assert "Bearer [key] [4]" in texts[-1] and not any(KEY in text for text in texts)

    @pytest.mark.parametrize("status", [200, 401, 500])
    @pytest.mark.parametrize(
        "body",
        [
            lambda key: f"{'x' * 150} Authorization: Bearer {key}".encode(),
            lambda key: json.dumps({"headers": {"Authorization": f"Bearer {key}"}}).encode(),
            lambda key: json.dumps({"error": {"message": repr({"headers": key})}}).encode(),
        ],
        ids=["text", "JSON", "repr in JSON"],
    )
    def test_errors_show_no_part_of_key(
        self, endpoint: Endpoint, status: int, body: Callable[[str], bytes], monkeypatch: Any
    ) -> None:
        key = "long-" + "0123456789abcdef" * 40
        monkeypatch.setenv("OPENAI_API_KEY", key)
        endpoint.lasting = lambda exchange: exchange.send(status, body(key))
        with ChatAgent(TICTACTOE, endpoint.url, "echo", retries=0) as agent:
            with pytest.raises((NoVerdictError, PlayerError)) as caught:
                agent.answer(MIDDLE)
        text = str(caught.value)
        assert "[key]" in text and not any(key[at : at + 6] in text for at in range(len(key) - 5))

    def test_missing_key_is_reported_only_on_refusal(
        self, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY")
        endpoint.faults = [(401, "who are you")]
        with ChatAgent(TICTACTOE, endpoint.url, "perfect") as agent:
            with pytest.raises(PlayerError, match="variable OPENAI_API_KEY is not set"):
                agent.answer(MIDDLE)
            assert agent.answer(MIDDLE).outcome == "played"
        message = {"role": "user", "content": prompt_text(MIDDLE)}
        assert endpoint.requests == [{"model": "perfect", "messages": [message]}] * 2

    @pytest.mark.parametrize(
        "url",
        [f"http://user:{KEY}@x/v1", f"http://{KEY}@x/v1", f"http://x/v1?key={KEY}", f"http://x/v1#{KEY}",
         f"ftp://x/{KEY}", f"http://[{KEY}@/v1", KEY, ""],
    )  # fmt: skip
    def test_bad_urls_are_not_shown(self, url: Any) -> None:
        with pytest.raises(ParameterError, match="not shown here") as caught:
            ChatAgent(TICTACTOE, url, "perfect")
        assert KEY not in "".join(traceback.format_exception(caught.value))

    def test_missing_library_names_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "openai", None)
        with pytest.raises(ImportError, match=r'the extra "llm": .*pip install "\.\[llm\]"'):
            ChatAgent(TICTACTOE, "http://127.0.0.1/v1", "perfect")

    def test_bad_keys_are_not_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\x07ü")
        with pytest.raises(ParameterError, match="OPENAI_API_KEY has letters that no key has"):
            ChatAgent(TICTACTOE, "http://127.0.0.1/v1", "perfect")


class TestRefutationText:
    def test_text_of_lost_game(self) -> None:
        model = PromptAgent(TICTACTOE, MODELS["memoriser"])
        certificate = ttt_env.certify(model)
        assert not certificate.unbeatable and certificate.worst_case == {"X": -1, "O": -1}
        text, record = refutation_text(certificate), certificate.shortest_refutation
        assert record is not None and record.is_over
        solution, n_shown = ttt_env.solve(TICTACTOE), 0
        seat = "X" if certificate.refutations["X"] is record else "O"
        for position, cell in zip(record.positions(), record.cells, strict=False):
            assert position.to_move != seat or model.answer(position).cell == cell
            is_wrong = position.to_move == seat and cell not in solution.best_cells(position)
            n_shown += is_wrong
            best = " ".join(map(str, solution.best_cells(position)))
            assert (f"You answered {cell}. With best play the game was a draw" in text) >= is_wrong
            assert (f"Cells that keep the draw: {best}." in text) >= is_wrong
        assert n_shown == text.count("You answered ") > 0
        assert " ".join(map(str, record.cells)) in text and text.endswith("and you have lost.")

    def test_text_of_unreadable_answers(self) -> None:
        rubbish = refutation_text(ttt_env.certify(PromptAgent(TICTACTOE, MODELS["rubbish"])))
        assert (
            "which names no cell in the agreed form" in rubbish and "Cells that keep the draw: 0 1" in rubbish
        )
        assert "\x1b" not in rubbish and "\x00" not in rubbish  # escaped

    def test_text_of_draw_in_won_game(self) -> None:
        game = ttt_env.get_game("mnk-v0:m=4,n=1,k=2")  # X wins from one of the two cells in the middle
        winner = ttt_env.solve(game)

        def careless(position: Position) -> int:
            """Play best, except that a win becomes a draw where possible."""
            values = {cell: -winner.value_of(position.play(cell)) for cell in position.legal_cells}
            wasted = [cell for cell, value in values.items() if value == 0]
            return wasted[0] if max(values.values()) == 1 and wasted else max(values, key=lambda c: values[c])

        certificate = ttt_env.certify(careless, game)
        text = refutation_text(certificate)
        assert "the game is a win for you when you play X" in text and "your move made it a draw" in text
        assert "Cells that keep the win: " in text

    def test_text_of_perfect_player(self) -> None:
        text = refutation_text(ttt_env.certify("minimax"))
        assert text.startswith("No game of tictactoe-v0 refutes you.") and "give a part" not in text


class TestCommandLine:
    @pytest.mark.slow
    def test_certify_program(self, tmp_path: Path) -> None:
        log, command = tmp_path / "log", f"{sys.executable} {PROGRAM} crashing {tmp_path}/log"
        run = ttt("certify", f"process:{command}", "--workers", "2", cwd=tmp_path)
        assert run.returncode == 1, run.stderr
        assert ": BEATABLE as X." in run.stdout and "Asked once in 497 positions" in run.stdout
        assert "each a loss: 1.\n  X../.O./...  raised: " in run.stdout
        assert "Good moves in 99.8% of the positions" in run.stdout
        assert "in 136 of 151 classes of symmetric positions" in run.stdout
        assert "Shortest refutation as X: 0 4, then no legal move (raised: " in run.stdout
        assert list(tmp_path.iterdir()) == [log]
        queries = log.read_text().splitlines()
        assert len(set(queries)) == 497 == len(queries)
        with_answers = ["certify", f"process:{command}", "--json", "--answers", "kept.jsonl"]
        facts = json.loads(ttt(*with_answers, cwd=tmp_path).stdout)
        assert facts["n_queries"] == 497 and facts["forfeits"][0]["outcome"] == "raised"
        assert facts["refutation_text"].startswith("You can be beaten at tictactoe-v0.")
        n_asked = len(log.read_text().splitlines())
        again = json.loads(ttt(*with_answers, cwd=tmp_path).stdout)
        assert again.pop("origin").startswith("497 answers from kept.jsonl of ") and facts.pop("origin") == ""
        assert again == facts
        assert (
            20 <= len(log.read_text().splitlines()) - n_asked <= 21
        )  # only the consistency checks are asked again

    def test_certify_model(self, endpoint: Endpoint, tmp_path: Path) -> None:
        spec = f"chat:{endpoint.url},model=org/centre:1,temperature=0"
        with patch.dict(MODELS, {"org/centre:1": lambda prompt: "[4]"}):
            options = ["--workers", "4", "--answers", "a/b.jsonl", "--out", "c.json"]
            run = ttt("certify", spec, *options, cwd=tmp_path)
        assert run.returncode == 1, run.stderr
        assert f"org/centre:1 at {endpoint.url} on tictactoe-v0: BEATABLE" in run.stdout
        certificate = ttt_env.Certificate.load(tmp_path / "c.json")
        assert certificate.n_queries == len(endpoint.requests) and endpoint.requests[0]["temperature"] == 0
        texts = [run.stdout, run.stderr, *(path.read_text() for path in tmp_path.rglob("*.json*"))]
        assert len(texts) == 4 and not any(KEY in text for text in texts)

    def test_progress_shows_rate_and_remaining_positions(self) -> None:
        line = ProgressLine("certify it")
        say = _progress_reporter(PromptAgent(TICTACTOE, MODELS["perfect"]), line)
        time.sleep(0.01)
        say(QueryCount(1, 500))
        rate = float(line.text.split("answers, ")[1].split("/s")[0])
        assert 0 < rate <= 100 and line.text.endswith("at most 499 left")

    def test_refusing_endpoint_is_reported(self, endpoint: Endpoint, tmp_path: Path) -> None:
        endpoint.faults = [(401, "wrong key")]
        run = ttt("certify", f"chat:{endpoint.url},model=greedy", cwd=tmp_path)
        assert run.returncode == 2 and "wrong key" in run.stderr and "when it was asked in" in run.stderr
        assert KEY not in run.stdout + run.stderr and "Traceback" not in run.stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["chat:http://x/v1"], "model"),
            ([f"chat:http://x/v1?key={KEY},model=m"], "not shown here"),
            (["minimax", "--answers", "a"], "minimax is none of these"),
            (["minimax", "--workers", "2"], "minimax answers in batches"),
            (["minimax", "random", "--answers", "a"], "--answers is for one agent"),
            (["process:no-such-program"], "no-such-program"),
        ],
    )
    def test_conflicting_options_are_refused(
        self, arguments: list[str], message: str, tmp_path: Path
    ) -> None:
        run = ttt("certify", *arguments, cwd=tmp_path)
        assert run.returncode == 2 and message in run.stderr and not run.stdout and KEY not in run.stderr
        assert not list(tmp_path.iterdir())

    @pytest.mark.slow
    @pytest.mark.parametrize("kills", [1, 10])
    def test_killed_run_resumes(self, kills: int, tmp_path: Path) -> None:
        log, rng = tmp_path / "log", np.random.default_rng(kills)
        log.touch()
        command = f"{sys.executable} {PROGRAM} slow {log}"
        arguments = [*CERTIFY, f"process:{command}", "--workers", "2", "--answers", "models/kept.jsonl"]
        for _ in range(kills):
            answered, n_before = answers_in(tmp_path), len(log.read_text().splitlines())
            with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
                until = n_before + int(rng.integers(1, 400 // kills))
                while len(log.read_text().splitlines()) < until:
                    assert process.poll() is None
                    time.sleep(0.002)
                process.kill()
            assert len(answered & set(log.read_text().splitlines()[n_before:])) <= 20
        answered, n_before = answers_in(tmp_path), len(log.read_text().splitlines())
        run = ttt(*arguments[3:], cwd=tmp_path)
        assert len(answered & set(log.read_text().splitlines()[n_before:])) <= 20
        assert ": UNBEATABLE. " in run.stdout
        assert len(set(log.read_text().splitlines())) == len(answers_in(tmp_path)) == 507

    @pytest.mark.parametrize("workers", ["1", slow("3")])
    def test_ctrl_c_stops_programs_at_once(self, workers: str, tmp_path: Path) -> None:
        pids = tmp_path / "pids"
        pids.touch()
        (tmp_path / "bot.sh").write_text(f"echo $$ >> {pids}; sleep 1000")
        arguments = [*CERTIFY, "process:sh bot.sh", "--workers", workers]
        with subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE) as process:
            while not pids.read_text():
                assert process.poll() is None
                time.sleep(0.002)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=50)
        assert process.returncode == 130 and b"interrupted" in err
        assert have_ended(pids.read_text())


def answers_in(folder: Path) -> set[str]:
    """The positions with saved answers, from complete lines only."""
    lines = [line for file in folder.glob("models/*") for line in file.read_bytes().split(b"\n")[1:-1]]
    return {json.loads(line)["position"] for line in lines}
