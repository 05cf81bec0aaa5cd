"""`ttt web` as it is started: what it says, whom it lets in, how it ends."""

import asyncio
import logging
import os
import re
import signal
import socket
import subprocess
import sys

import httpx2
import pytest

from tests.support.documents import ROOT
from tests.support.running import ttt
from tests.web.reading import cells_of
from ttt_env import get_game, make_agent
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.web.start import PromptServer, config_of

PROOF = ROOT / "docs" / "proofs" / "qubic-v0.npz"


@pytest.fixture
def started(tmp_path):
    """`ttt web` with a model, a proof and a file for games, and the text before it serves."""
    Lookup.of("newell-simon").save(tmp_path / "mine.npz")
    command = f"web --port 0 --models mine.npz --models {PROOF}".split()
    process = subprocess.Popen(
        [sys.executable, "-m", "ttt_env.app", *command],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "TTT_ENV_GAMES": str(tmp_path / "mine.sqlite")},
    )  # fmt: skip
    said = ""
    while "Play at" not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    yield process, said
    process.kill()
    process.wait()
    process.stdout.close()


def test_it_serves_this_machine_plays_models_records_where_told_and_ends_by_ctrl_c(started, tmp_path):
    process, said = started
    assert f"recorded in {tmp_path / 'mine.sqlite'}" in said and (tmp_path / "mine.sqlite").exists()
    url = re.search(r"http://127\.0\.0\.1:\d+", said)[0]
    # Who leaves amid a move leaves no trace.
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as visitor:
        visitor.sendall(
            b"POST /play/move?o=person HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ncell"
        )
    with httpx2.Client(base_url=url, follow_redirects=True, timeout=300) as client:
        page = client.post("/play/move?x=model:mine&o=person")
        assert "moves=4" in str(page.url) and str(tmp_path) not in page.text
        strength = client.get("/play/strength?game=tictactoe-v0&player=model:mine")
        assert "gives nothing away" in strength.text
        page = client.post("/play/move?game=qubic-v0&x=model:qubic-v0&o=person")
        strategy = make_agent(f"strategy:{PROOF}", "qubic-v0")
        assert strategy.policy(get_game("qubic-v0").start)[cells_of(page)[0]] == 1.0
        # A running search does not keep it from ending.
        with pytest.raises(httpx2.TimeoutException):
            client.post("/play/move?game=qubic-v0&x=mcts:seconds=30&o=person", timeout=0.5)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=300)[0]
    assert not said.replace("mcts: compiling, once on this machine\n", "") and process.returncode == 0


def test_it_says_that_it_is_there_once_it_has_made_the_first_page():
    asked = []

    async def app(scope, receive, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            asked.append(scope["path"])
            await send({"type": "http.response.body", "body": b""})

    def ready():
        assert asked == ["/play"]
        asyncio.get_running_loop().call_soon(setattr, server, "should_exit", True)

    server = PromptServer(config_of(app, host="127.0.0.1", port=0, lifespan="off"), ready)
    server.run()
    assert server.started and asked


def test_the_handlers_of_a_process_that_serves_stay_open(monkeypatch):
    handler = logging.StreamHandler()
    closed = []
    monkeypatch.setattr(handler, "close", lambda: closed.append(handler))
    config_of(lambda: None, log_level="warning")
    assert not closed


def test_another_address_is_opened_only_with_a_warning(tmp_path, monkeypatch):
    served = []
    monkeypatch.setattr(PromptServer, "run", lambda server, sockets: served.append(sockets))
    run = ttt("web", "--port", "0", "--host", "0.0.0.0", "--no-record", cwd=tmp_path)
    said = run.stdout + run.stderr
    assert "anyone on the network" in said and "no passwords" in said and served
    assert "recorded" not in said and not list(tmp_path.iterdir())
    assert "anyone" not in "".join(ttt("web", "--port", "0", "--no-record", cwd=tmp_path)[1:])


def test_a_port_that_is_taken_is_named_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = ttt("web", "--no-record", "--port", taken.getsockname()[1], cwd=tmp_path)
    said = run.stdout + run.stderr
    assert "in use" in said and said.count("\n") == 1 and run.returncode == 2
