"""Connections on which no whole request comes."""

import socket
import threading
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.web.serving import Patient, Server, install
from ttt_env.web.server import create_app
from ttt_env.web.visitors import PromptConnection

WHOLE = b"GET /static/icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n"
BEGUN = [
    b"",
    b"GET /play HT",
    b"GET /play HTTP/1.1\r\nHost: localhost\r\n",
    b"POST /play/move HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\ncell",
    pytest.param(WHOLE + b"GET /pl", marks=pytest.mark.slow),
]


@pytest.fixture
def url(request, monkeypatch):
    """A server with little patience, or as many seconds of it as the test asks for."""
    monkeypatch.setattr(PromptConnection, "max_seconds", getattr(request, "param", 0.3))
    with Server(create_app()) as found:
        yield found


@pytest.mark.parametrize("begun", BEGUN)
def test_a_connection_without_a_whole_request_ends(begun, url):
    with socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=60) as visitor:
        visitor.sendall(begun)
        try:
            while visitor.recv(4096):
                pass
        except ConnectionResetError:
            pass


def test_a_letter_now_and_then_holds_no_connection(url):
    with socket.create_connection(("127.0.0.1", urlsplit(url).port), timeout=0.1) as visitor:
        visitor.sendall(b"GET /play HTTP/1.1\r\nX: ")
        for _ in range(1000):
            try:
                visitor.sendall(b"x")
                assert visitor.recv(10) == b""
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            break
        else:
            pytest.fail("after 1,000 letters the connection was still open")


def test_however_long_an_answer_takes_it_comes(monkeypatch):
    """One that takes longer than the patience, and one at once on the same connection."""
    monkeypatch.setattr(PromptConnection, "max_seconds", 3.0)
    install(monkeypatch, "patient", Patient)
    monkeypatch.setattr(Patient, "may_move", threading.Event())
    with Server(create_app({"patient": "patient"})) as url, httpx2.Client(timeout=300) as visitor:
        threading.Timer(3.5, Patient.may_move.set).start()
        for _ in range(2):
            moved = visitor.post(f"{url}/play/move?game=qubic-v0&x=model:patient&o=person")
            assert moved.status_code == 303


@pytest.mark.parametrize("url", [3.0], indirect=True)  # enough, also on a busy machine
def test_many_silent_visitors_keep_nobody_out(url):
    with ExitStack() as silent:
        for _ in range(200):
            silent.enter_context(socket.create_connection(("127.0.0.1", urlsplit(url).port)))
        assert httpx2.get(f"{url}/play", timeout=300).status_code == 200
