"""The responses of a chat endpoint: tables of answers, losing answers, failures and refusals."""

import json
import socket
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttt_env
from tests.support.endpoint import KEY, Endpoint, Exchange, Fault, completion, serving
from tests.support.games import TICTACTOE
from ttt_env import Position
from ttt_env.bots import ChatAgent
from ttt_env.errors import ForfeitError, NoVerdictError, PlayerError
from ttt_env.text import AnswerFormat, PromptAgent

MIDDLE = Position.parse("XO./.../...", TICTACTOE)


def body(content: object, status: int = 200, **headers: str) -> Fault:
    return lambda exchange: exchange.send(status, content, **headers)


def reply_with(**message: Any) -> Fault:
    return body(completion(**message))


def reply_choice(**choice: object) -> Fault:
    return body({"choices": [choice]})


def drop_connection(exchange: Exchange) -> None:
    exchange.connection.shutdown(socket.SHUT_RDWR)


def cut_reply(exchange: Exchange) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Length", "1000")
    exchange.end_headers()
    exchange.wfile.write(json.dumps(completion(content="[4]")).encode())
    exchange.wfile.flush()
    drop_connection(exchange)


def reply_without_http(exchange: Exchange) -> None:
    exchange.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    drop_connection(exchange)


# Replies in the forms in which model servers give them, and the outcome of each in the position MIDDLE.
REPLIES = json.loads(Path(__file__).with_name("endpoint_replies.json").read_text("utf-8"))
ANSWERS: dict[str, Fault] = {
    "fields that nobody knows": body({"service_tier": [], "x": {}, **completion(content="[4]")}),
    "no field but those that are needed": reply_choice(message={"content": "[4]"}),
    "UTF-16": body(json.dumps(completion(content="[4]")).encode("utf-16")),
}
FAILURES: dict[str, Fault] = {
    "time-out there": (408, "slow"),
    "conflict": (409, "locked"),
    "queue": (429, "too many"),
    "queue until a date": body({"error": "full"}, 429, Retry_After="Sun, 06 Nov 1994 08:49:37 GMT"),
    "error": (500, "oh"),
    "bad gateway": body(b"<html>", 502),
    "overloaded": (529, "overloaded"),
    "dropped": drop_connection,
    "cut": cut_reply,
    "no HTTP": reply_without_http,
    "bad compression": body(b"no gzip", Content_Encoding="gzip"),
}
NO_COMPLETIONS: dict[str, Fault] = {
    "empty": body(b""),
    "HTML": body(b"<html><body>Bad gateway</body></html>", Content_Type="text/html"),
    "cut JSON": body(json.dumps(completion(content="[4]")).encode()[:-9]),
    "no UTF-8": body(b'{"choices": "\xff\xfe\xff'),
    "null": body(None),
    "list": body([completion(content="[4]")]),
    "no choices": body({"no": "choices"}),
    "choices are none": body({"choices": []}),
    "choices are null": body({"choices": None}),
    "choices are an object": body({"choices": {"0": {"message": {"content": "[4]"}}}}),
    "choice is a text": body({"choices": ["[4]"]}),
    "choice is empty": reply_choice(),
    "message is a text": reply_choice(message="[4]"),
    "message is empty": reply_choice(message={}),
    "content is a number": reply_with(content=4),
    "content is an object": reply_with(content={"text": "[4]"}),
    "part is a number": reply_with(content=[4]),
    "part has no text": reply_with(content=[{"type": "text"}]),
    "part has no kind": reply_with(content=[{"text": "[4]"}]),
    "failed half-way": body(completion("error", content="[4")),
    "error in a body": body({"error": {"message": "overloaded", "code": 503}}),
    "error in a text": body({"error": "overloaded"}),
    "no content": body(b"", 204),
}
REFUSALS: dict[str, tuple[Fault, str]] = {
    "no right": ((401, "wrong key"), "wrong key"),
    "no money": ((402, "pay"), "pay"),
    "forbidden": ((403, "not you"), "not you"),
    "no such model": ((404, "no such model"), "no such model"),
    "too long": ((413, "too long"), "too long"),
    "bad request": (body(b"<html>what?</html>", 400), "what"),
}


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Endpoint, ChatAgent]]:
    """A model that all tests of the tables share: creating one takes longer than its answer."""
    with pytest.MonkeyPatch.context() as patch, serving(patch) as server:
        with ChatAgent(TICTACTOE, server.url, "perfect", timeout=5, retries=1) as agent:
            yield server, agent


@pytest.fixture
def endpoint(shared: tuple[Endpoint, ChatAgent]) -> Endpoint:
    """The endpoint of `shared`, reset: without requests or faults."""
    server, _ = shared
    server.faults, server.lasting, server.requests = [], None, []
    return server


@pytest.mark.slow
def test_truncated_reply_is_requested_again_with_doubled_tokens(endpoint: Endpoint) -> None:
    cut_off = body(completion("length", content="[4]\nThis is"))
    with ChatAgent(TICTACTOE, endpoint.url, "perfect", max_tokens=50) as model:
        endpoint.faults = [cut_off, None]
        assert model.answer(TICTACTOE.start).outcome == "played"
        assert [request["max_tokens"] for request in endpoint.requests] == [50, 100]
        endpoint.faults = [cut_off] * 2
        with pytest.raises(NoVerdictError, match=r"the reply was .*\(100 tokens\)") as caught:
            ttt_env.certify(model)
        assert caught.value.loses_by == "unreadable"
        endpoint.faults = [cut_off] * 2
        with pytest.raises(ForfeitError, match="the reply was"):
            model.choose(TICTACTOE.start, np.random.default_rng(0))


@pytest.fixture
def model(shared: tuple[Endpoint, ChatAgent]) -> ChatAgent:
    return shared[1]


@pytest.mark.parametrize("fault", ANSWERS.values(), ids=ANSWERS)
def test_valid_responses_are_read(endpoint: Endpoint, model: ChatAgent, fault: Fault) -> None:
    endpoint.faults = [fault]
    answer = model.answer(MIDDLE)
    assert (answer.cell, answer.outcome) == (4, "played") and len(endpoint.requests) == 1


@pytest.mark.parametrize("recorded", REPLIES, ids=[each["about"] for each in REPLIES])
def test_outcome_of_recorded_reply(
    recorded: dict[str, Any], endpoint: Endpoint, model: ChatAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`becomes` is the cell, or the reason why there is none; a truncated reply is requested again."""
    monkeypatch.setattr(model, "answer_format", AnswerFormat(recorded.get("answer", "[{cell}]")))
    endpoint.faults = [reply_choice(**recorded["choice"])]
    outcome, reply = recorded["becomes"], recorded.get("said")
    if outcome == "cut off":
        endpoint.faults *= 2
        with pytest.raises(NoVerdictError, match="the reply was"):
            model.answer(MIDDLE)
        assert len(endpoint.requests) == 2
        return
    answer = model.answer(MIDDLE)
    assert len(endpoint.requests) == 1 and (reply is None or answer.reply == reply)
    assert answer[:2] == ((outcome, "played") if isinstance(outcome, int) else (None, outcome))


@pytest.mark.parametrize("fault", FAILURES.values(), ids=FAILURES)
def test_failures_are_retried_and_never_lose(endpoint: Endpoint, model: ChatAgent, fault: Fault) -> None:
    endpoint.faults = [fault]
    assert model.answer(MIDDLE).cell is not None and len(endpoint.requests) == 2
    endpoint.lasting = fault
    with pytest.raises(NoVerdictError, match="gave no answer: ") as caught:
        model.answer(MIDDLE)
    assert caught.value.position == MIDDLE and len(endpoint.requests) == 4
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("fault", NO_COMPLETIONS.values(), ids=NO_COMPLETIONS)
def test_other_bodies_are_no_answers(endpoint: Endpoint, model: ChatAgent, fault: Fault) -> None:
    endpoint.faults = [fault]
    with pytest.raises(NoVerdictError, match=r"no chat completion \(is /v1 missing") as caught:
        model.answer(MIDDLE)
    assert caught.value.position == MIDDLE and len(endpoint.requests) == 1


@pytest.mark.slow
def test_certificate_resumes_after_failures(endpoint: Endpoint, tmp_path: Path) -> None:
    """Every fault of the tables, one after each of the first questions."""
    faults = [*FAILURES.values(), *NO_COMPLETIONS.values()]
    answers = tmp_path / "answers.jsonl"
    with ChatAgent(TICTACTOE, endpoint.url, "echo", retries=0) as model:  # it always plays the centre
        for number, failure in enumerate(faults, 1):
            n_before = min(number - 1, 20) + 1  # the repeated questions, and a new one
            endpoint.faults = [*[None] * n_before, failure]
            with pytest.raises(NoVerdictError):
                ttt_env.certify(model, answers=answers)
            saved = [json.loads(line) for line in answers.read_text().splitlines()[1:]]
            assert len(saved) == number and {each["outcome"] for each in saved} <= {"played", "taken"}
        certificate = ttt_env.certify(model, answers=answers, workers=4)
    expected = ttt_env.certify(PromptAgent(TICTACTOE, lambda prompt: "[4]"))
    assert (
        certificate.n_queries == expected.n_queries > len(faults)
        and certificate.refutations == expected.refutations
    )
    assert {lost.outcome for lost in certificate.forfeits} == {"taken"}
    again = sum(min(number, 20) for number in range(len(faults) + 1))  # saved answers, in each run
    assert len(endpoint.requests) == certificate.n_queries + len(faults) + again


def test_queue_that_rejects_two_of_three_requests_loses_nothing(endpoint: Endpoint) -> None:
    full = FAILURES["queue"]
    endpoint.faults = [full, full, None] * 2000
    with ChatAgent(TICTACTOE, endpoint.url, "perfect", retries=2) as model:
        record = ttt_env.play_game(model, "minimax", rng=0)
    assert record.is_over and record.winner is None and len(endpoint.requests) == 3 * 5


@pytest.mark.parametrize(("fault", "message"), REFUSALS.values(), ids=REFUSALS)
def test_refusals_stop_at_once(
    endpoint: Endpoint, model: ChatAgent, fault: Fault, message: str, tmp_path: Path
) -> None:
    endpoint.faults = [None, fault]
    with pytest.raises(PlayerError, match=f"cannot be asked: .*{message}") as caught:
        ttt_env.certify(model, answers=tmp_path / "answers.jsonl")
    text = "".join(traceback.format_exception(caught.value))
    assert len(endpoint.requests) == 2 and KEY not in text and "when it was asked in" in text
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 2


def test_closed_model_is_not_asked(endpoint: Endpoint) -> None:
    model = ChatAgent(TICTACTOE, endpoint.url, "perfect")
    model.close()
    with pytest.raises(PlayerError, match="is closed"):
        model.answer(MIDDLE)
    model.close()
