"""The five answers of `ttt web`: they agree with the package, and only the page itself may request them."""

import http.client
import json
from threading import Event
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from tests.support.games import DRAW, TICTACTOE, X_WINS
from tests.web.conftest import serving
from ttt_env import certify, get_game, make_agent, solve
from ttt_env.compiled.stopping import check_stopped
from ttt_env.rules import GameRecord, cells_of, symmetries
from ttt_env.storage.game_log import PERSON
from ttt_env.web import answers
from ttt_env.web.server import create_app

QUBIC, SEVEN = "qubic-v0", "mnk-v0:m=7,n=6,k=4"


# ---- The content of answers.


@pytest.mark.parametrize("agent", ["newell-simon", "softmax:temperature=0.3", "mcts:simulations=30,seed=1"])
def test_policy_equals_agent(agent, ask):
    position = GameRecord(TICTACTOE, (0, 4)).positions()[-1]
    answer = ask("policy", game="tictactoe-v0", moves=[0, 4], agent=agent)
    policy = make_agent(agent, TICTACTOE).policy(position)
    assert answer == {"moves": [[cell, policy[cell]] for cell in position.legal_cells], "isSample": False}


def test_nonstationary_agent_draws_new_move(ask):
    answers = [ask("policy", game="tictactoe-v0", moves=[], agent="mcts:simulations=2") for _ in range(40)]
    assert all(each["isSample"] and len(each["moves"]) == 1 for each in answers)
    assert len({each["moves"][0][0] for each in answers}) > 1


@pytest.mark.parametrize("moves", [[], [0], [0, 3, 1, 4], list(DRAW)])
def test_small_game_is_solved(moves, ask):
    answer = ask("evaluate", game="tictactoe-v0:misere=true", moves=moves, brief=False)
    position = GameRecord(get_game("tictactoe-v0:misere=true"), tuple(moves)).positions()[-1]
    sign = 1 if position.to_move == "X" else -1
    solution = solve(position.game)
    assert answer["value"] == sign * solution.value_of(position) and answer["basis"] == "solved"
    assert {each["cell"]: each["value"] for each in answer["moves"]} == solution.values_by_cell(position)


def test_qubic_is_won_by_proof_from_symmetric_cells(ask):
    answer = ask("evaluate", game=QUBIC, moves=[], brief=False)
    assert answer["value"] == 1 and answer["basis"] == "proved" and "Patashnik" in answer["source"]
    first = ask("policy", game=QUBIC, moves=[], agent="proof")["moves"]
    [cell] = [cell for cell, chance in first if chance]
    symmetric = {symmetry[cell] for symmetry in symmetries(get_game(QUBIC))}
    assert {each["cell"] for each in answer["moves"] if each["value"] == 1} == symmetric
    after = ask("evaluate", game=QUBIC, moves=[cell], brief=False)
    assert after["value"] == 1 and {each["value"] for each in after["moves"]} == {-1}


@pytest.mark.slow
def test_proved_values_are_not_estimated(ask):
    answer = ask("evaluate", game=SEVEN, moves=[10, 17], brief=False)
    assert answer["value"] == 1 and answer["basis"] == "proved" and "low" not in answer
    assert all("low" not in move for move in answer["moves"] if move["value"] is not None)
    assert ask("evaluate", game=SEVEN, moves=[10, 17], brief=True) == {
        "value": 1,
        "basis": "proved",
        "moves": [],
    }


def test_estimate_is_range_and_respects_symmetry(ask):
    answer = ask("evaluate", game=QUBIC, moves=[1], brief=False)
    assert answer["value"] is None and answer["basis"] == "estimated"
    assert -1 <= answer["low"] <= answer["high"] <= 1
    game = get_game(QUBIC)
    fixed = [symmetry for symmetry in symmetries(game) if symmetry[1] == 1]
    assert len(fixed) > 1
    ranges = {each["cell"]: (each["low"], each["high"]) for each in answer["moves"]}
    for cell, expected in ranges.items():
        assert all(ranges[symmetry[cell]] == expected for symmetry in fixed)


@pytest.mark.parametrize("agent", ["minimax", "win-block", "mcts:simulations=20,seed=0"])
@pytest.mark.slow
def test_verdict_equals_certify(agent, ask):
    answer, certificate = ask("certify", game="tictactoe-v0", agent=agent), certify(agent)
    assert answer["unbeatable"] == certificate.unbeatable
    for seat, record in certificate.refutations.items():
        refutation = answer["refutations"][seat]
        assert (refutation and refutation["moves"]) == (record and list(record.cells))
    assert any(f"Asked once in {certificate.n_queries:,} positions" in line for line in answer["lines"])


def test_training_streams_evaluations_and_verdict(shared_client):
    response = shared_client.post("/answers/train", json={"algorithm": "q-learning"})
    events = [json.loads(line) for line in response.text.splitlines()]
    assert len(events) > 2 and events[-1]["verdict"].startswith("UNBEATABLE, asked once in")
    curve = [event["exploitability"] for event in events[:-1]]
    assert curve[0] > 0.1 and curve[-1] == 0
    assert [event["steps"] for event in events[:-1]] == sorted(event["steps"] for event in events[:-1])


def test_failed_training_gives_reason(shared_client):
    response = shared_client.post("/answers/train", json={"algorithm": "magic"})
    assert "unknown algorithm 'magic'" in json.loads(response.text.splitlines()[-1])["error"]


# ---- Records.


@pytest.fixture
def recorder(log):
    with TestClient(create_app(log=log), base_url="http://localhost") as client:
        yield client, log


def test_finished_game_is_recorded(recorder):
    client, log = recorder
    game = {"game": "tictactoe-v0", "x": "person", "o": "minimax", "moves": list(DRAW)}
    assert client.post("/answers/record", json=game).json() == {"recorded": True}
    [logged] = log.games(TICTACTOE)
    assert (logged.record.cells, logged.x, logged.o) == (tuple(DRAW), PERSON, "minimax")


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"moves": [0, 0]}, "taken"), ({"moves": [0, 4]}, "not over"), ({"moves": [*X_WINS, 8]}, "over"),
     ({"o": "sb3:/etc/passwd"}, "arrived as data"), ({"game": "chess"}, "unknown game 'chess'")],
)  # fmt: skip
def test_unfinished_or_unknown_game_is_not_recorded(changed, message, recorder):
    client, log = recorder
    game = {"game": "tictactoe-v0", "x": "person", "o": "minimax", "moves": list(X_WINS)} | changed
    response = client.post("/answers/record", json=game)
    assert response.status_code == 400 and message in response.json()["error"]
    assert not log.counts()


def test_imitation_learns_from_recorded_game(recorder, monkeypatch):
    client, log = recorder
    monkeypatch.setenv("TTT_ENV_GAMES", str(log.path))
    question = {"game": "tictactoe-v0", "moves": [], "agent": "imitation"}
    before = client.post("/answers/policy", json=question).json()
    for _ in range(3):
        game = {"game": "tictactoe-v0", "x": "person", "o": "random", "moves": list(X_WINS)}
        assert client.post("/answers/record", json=game).status_code == 200
    assert client.post("/answers/policy", json=question).json() != before


# ---- Allowed requests.


@pytest.mark.parametrize(
    ("question", "message"),
    [({"agent": "nobody"}, "nobody"), ({"agent": "process:rm"}, "arrived as data"),
     ({"agent": "bot.py"}, "bot.py"), ({"agent": "person"}, "person"), ({"moves": [0, 0]}, "taken"),
     ({"game": "mnk-v0:m=9,n=9,k=5"}, "unknown game"), ({"moves": [9]}, "9"), ({"moves": "0"}, "moves"),
     ({"moves": list(DRAW)}, "over")],
)  # fmt: skip
def test_bad_question_gets_reason(question, message, refusal):
    whole = {"game": "tictactoe-v0", "moves": [], "agent": "minimax"} | question
    assert message in refusal("policy", **whole)


QUESTION = json.dumps({"game": "tictactoe-v0", "moves": [], "agent": "minimax"})
JSON = {"content-type": "application/json"}
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("headers", "status"),
    [(JSON, 200), (JSON | {"sec-fetch-site": "same-origin"}, 200),
     (JSON | {"origin": "http://localhost"}, 200), (JSON | {"sec-fetch-site": "cross-site"}, 403),
     (JSON | {"sec-fetch-site": "same-site"}, 403), (JSON | {"sec-fetch-site": "none"}, 403),
     (JSON | {"origin": "http://evil.example"}, 403), (JSON | {"origin": "null"}, 403),
     (JSON | {"origin": "http://localhost:1"}, 403), (JSON | {"host": "evil.example"}, 400),
     ({"content-type": "text/plain"}, 415), ({"content-type": FORM}, 415),
     ({"content-type": "multipart/form-data"}, 415)],
)  # fmt: skip
def test_only_page_itself_may_ask(headers, status, shared_client):
    assert shared_client.post("/answers/policy", content=QUESTION, headers=headers).status_code == status


def test_questions_must_be_posted_and_short(shared_client):
    assert shared_client.get("/answers/policy").status_code == 405
    long = json.dumps({"game": "x" * 20_000})
    assert shared_client.post("/answers/policy", content=long, headers=JSON).status_code == 413
    for content in ("", "[", "[]", "3", '{"game": 3}', '{"game": "tictactoe-v0"}'):
        assert shared_client.post("/answers/policy", content=content, headers=JSON).status_code == 400


def test_every_file_has_protective_headers(shared_client):
    for address in ("/", "/main.js", "/style.css", "/data/app.json"):
        headers = shared_client.get(address).headers
        assert headers["content-security-policy"] == "frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
    assert shared_client.get("/", headers={"host": "evil.example"}).status_code == 400
    assert shared_client.get("/../pyproject.toml").status_code == 404


def test_command_lines_do_not_reach_page(tmp_path):
    secret = tmp_path / "bot.py"
    secret.write_text("def choose(position):\n    return position.legal_cells[0]\n")
    with TestClient(
        create_app([f"process:python {secret} --key=hunter2"]), base_url="http://localhost"
    ) as client:
        app = client.get("/data/app.json").text
        assert "hunter2" not in app and str(tmp_path) not in app and "python-bot.py" in app


def test_computation_stops_when_client_disconnects(monkeypatch, shared_client):
    started, ended = Event(), Event()

    def endless(*arguments, **options):
        started.set()
        try:
            while True:
                check_stopped()
        finally:
            ended.set()

    monkeypatch.setattr(answers, "certify", endless)
    with serving(shared_client.app) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc)
        body = json.dumps({"game": "tictactoe-v0", "agent": "random"})
        connection.request("POST", "/answers/certify", body, JSON)
        assert started.wait(60)
        connection.close()
        assert ended.wait(60)


def test_proof_always_finds_winning_reply(ask):
    """Two games against the proof as X, by the first and by the last free cell."""
    for reply in (min, max):
        position = get_game(QUBIC).start
        moves: list[int] = []
        while not position.is_over:
            if position.to_move == "X":
                policy = ask("policy", game=QUBIC, moves=moves, agent="proof")["moves"]
                cell = max(policy, key=lambda each: each[1])[0]
            else:
                cell = reply(cells_of(position.legal_mask))
            moves.append(cell)
            position = position.play(cell)
        assert position.winner == "X"
