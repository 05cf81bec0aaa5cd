"""`ttt web` as it is started: what it says, whom it lets in, how it ends."""

import re
import signal
import socket
import subprocess
import sys

import httpx2
import pytest

from tests.support.documents import ROOT
from tests.support.running import ttt
from ttt_env import get_game, make_agent
from ttt_env.agents.learned.lookup import Lookup
from ttt_env.app.web.start import PromptServer, config_of


@pytest.fixture
def started(tmp_path):
    """A function that starts `ttt web` and returns the process and what it says before it serves."""
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "ttt_env.app", "web", "--port", "0", *arguments]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        processes.append(process)
        said = ""
        for line in process.stdout:
            said += line
            if "Play at" in line:
                break
        return process, said

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_it_serves_this_machine_records_where_told_and_ends_by_ctrl_c(started, tmp_path):
    process, said = started("--games-file", "mine.sqlite")
    assert "recorded in mine.sqlite" in said and (tmp_path / "mine.sqlite").exists()
    url = re.search(r"http://127\.0\.0\.1:\d+", said)[0]
    # Who leaves amid a move leaves no trace.
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as visitor:
        visitor.sendall(
            b"POST /play/move?o=person HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ncell"
        )
    assert httpx2.get(f"{url}/play", timeout=300).status_code == 200
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=300)[0] == "" and process.returncode == 0


def test_it_says_that_it_is_there_once_it_has_made_the_first_page():
    asked = []

    async def app(scope, receive, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            asked.append(scope["path"])
            await send({"type": "http.response.body", "body": b""})

    def ready():
        assert asked == ["/play"]
        server.should_exit = True

    server = PromptServer(config_of(app, host="127.0.0.1", port=0, lifespan="off"), ready)
    server.run()
    assert server.started and asked


def test_a_running_search_does_not_keep_it_from_ending(started):
    process, said = started("--no-record")
    url = re.search(r"http://\S+", said)[0]
    with pytest.raises(httpx2.TimeoutException):
        httpx2.post(f"{url}/play/move?game=qubic-v0&x=mcts:seconds=30&o=person", timeout=0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 0


def test_another_address_is_opened_only_with_a_warning(started, tmp_path):
    _, said = started("--host", "0.0.0.0", "--no-record")
    assert "anyone on the network" in said and "no passwords" in said
    assert "recorded" not in said and not list(tmp_path.iterdir())


def test_models_and_proofs_of_the_command_line_play_under_their_name(started, tmp_path):
    Lookup.of("newell-simon").save(tmp_path / "mine.npz")
    proof = str(ROOT / "docs" / "proofs" / "qubic-v0.npz")
    _, said = started("--no-record", "--models", "mine.npz", "--models", proof)
    url = re.search(r"http://\S+", said)[0]
    page = httpx2.post(f"{url}/play/move?x=model:mine&o=person", follow_redirects=True, timeout=300)
    assert "moves=4" in str(page.url) and str(tmp_path) not in page.text
    strength = httpx2.get(f"{url}/play/strength?game=tictactoe-v0&player=model:mine", timeout=300)
    assert "gives nothing away" in strength.text
    query = "game=qubic-v0&x=model:qubic-v0&o=person"
    page = httpx2.post(f"{url}/play/move?{query}", follow_redirects=True, timeout=300)
    opening = re.search(r"moves=(\d+)", str(page.url))[1]
    strategy = make_agent(f"strategy:{proof}", "qubic-v0")
    assert strategy.policy(get_game("qubic-v0").start)[int(opening)] == 1.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--models", "absent.zip"], "no model 'absent.zip'"), (["--runs", "absent"], "no folder 'absent'")],
)  # fmt: skip
def test_what_is_not_there_is_named(arguments, told, tmp_path):
    run = ttt("web", "--port", "0", "--no-record", *arguments, cwd=tmp_path)
    assert run.returncode == 2 and told in run.stderr and not run.stdout


def test_a_port_that_is_taken_is_named_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = ttt("web", "--no-record", "--port", taken.getsockname()[1], cwd=tmp_path)
    said = run.stdout + run.stderr
    assert "in use" in said and said.count("\n") == 1 and run.returncode == 2
